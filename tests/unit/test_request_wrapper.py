"""The table of requests once more, end to end: the installed launcher, a runtime that records, real nodes and links."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import toml

from tests.unit.conftest import Installed, needs_mknod
from tests.unit.core.request.cases import Case, names

RECORDER = '#!/bin/sh\nprintf "%s\\n" "$@" >"$0.called"\n'


def by_settings(name: str) -> str:
    """Cases of the same settings follow one another: each change of settings is compiled anew."""
    case = Case(name)
    return json.dumps(case.settings) + case.next_runtime


class Desk:
    """One settings file for each combination, and one host_root that is a link to the host of the case at hand."""

    def __init__(self, folder: Path, installed: Installed) -> None:
        self.folder = folder
        self.installed = installed
        self.root = folder / "root"

    def prepare(self, case: Case, root: Path) -> tuple[Path, dict[str, str]]:
        """Returns the recording runtime and the environment for a case whose host lies at root."""
        self.root.unlink(missing_ok=True)
        self.root.symlink_to(root)
        runtime = self.folder / case.next_runtime.rpartition("/")[2]
        if not runtime.exists():
            runtime.write_text(RECORDER)
            runtime.chmod(0o755)
        Path(f"{runtime}.called").unlink(missing_ok=True)
        text = toml.dumps({"version": 1, "host_root": str(self.root), "runtimes": [str(runtime)], **case.settings})
        settings = self.folder / f"{abs(hash(text)):x}.toml"
        if not settings.exists():
            settings.write_text(text)
        return runtime, {"GPU_OCI_HOOK_CONFIG": str(settings), "PATH": "/usr/bin:/bin"}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, installed: Installed) -> Desk:
    return Desk(tmp_path_factory.mktemp("desk"), installed)


@needs_mknod
@pytest.mark.parametrize("name", sorted(names(), key=by_settings))
def test_case(name: str, desk: Desk, tmp_path: Path) -> None:
    case = Case(name)
    root, bundle = tmp_path / "host", tmp_path / "bundle"
    root.mkdir()
    bundle.mkdir()
    case.build(root)
    before = case.spec()
    (bundle / "config.json").write_text(json.dumps(before))
    links = _links(root)
    runtime, environment = desk.prepare(case, root)
    arguments = ["--log", str(tmp_path / "log"), "create", "--bundle", str(bundle), "c1"]
    done = subprocess.run([desk.installed.runtime, *arguments], env=environment, capture_output=True, text=True)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert Path(f"{runtime}.called").read_text().split("\n")[:-1] == arguments
    after = json.loads((bundle / "config.json").read_text())
    assert _without_rules(after) == _without_rules(before)
    known = _rules(before)
    assert _rules(after)[: len(known)] == known
    assert sorted(_spell(rule) for rule in _rules(after)[len(known) :]) == case.rules
    made = {number: text for number, text in _links(root).items() if links.get(number) != text}
    assert set(made) == set(case.made_links)
    assert all(made[number] == text for number, text in case.made_links.items() if text)


def _links(root: Path) -> dict[str, str]:
    folder = root / "dev/char"
    return {name: os.readlink(folder / name) for name in os.listdir(folder) if (folder / name).is_symlink()}


def _rules(spec: dict) -> list[dict]:
    return ((spec["linux"].get("resources") or {}).get("devices")) or []


def _without_rules(spec: dict) -> dict:
    return {**spec, "linux": {**spec["linux"], "resources": None}}


def _spell(rule: dict) -> str:
    assert rule["allow"] is True
    return f"{rule['type']} {rule['major']}:{rule['minor']} {rule['access']}"


@needs_mknod
@pytest.mark.parametrize(
    ("spec", "place"),
    [
        ({"process": {"env": "NVIDIA_VISIBLE_DEVICES=all"}}, "process.env"),
        ({"process": {"env": [7]}}, "process.env[0]"),
        ({"mounts": {}}, "mounts"),
        ({"annotations": {"cdi.k8s.io/a": 1}}, "annotations.cdi.k8s.io/a"),
        ({"process": {"env": ["NVIDIA_VISIBLE_DEVICES=all"]}, "hooks": []}, "hooks"),
        (
            {"process": {"env": ["NVIDIA_VISIBLE_DEVICES=all"], "capabilities": ["CAP_SYS_ADMIN"]}},
            "process.capabilities",
        ),
    ],
)
def test_a_wrong_type_leaves_the_spec_as_it_is(spec: dict, place: str, desk: Desk, tmp_path: Path) -> None:
    case = Case("R66-no-numbers")
    root, bundle = tmp_path / "host", tmp_path / "bundle"
    root.mkdir()
    bundle.mkdir()
    case.build(root)
    text = json.dumps({**case.spec(), **spec})
    (bundle / "config.json").write_text(text)
    runtime, environment = desk.prepare(case, root)
    arguments = ["--log", str(tmp_path / "log"), "create", "--bundle", str(bundle), "c1"]
    done = subprocess.run([desk.installed.runtime, *arguments], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert Path(f"{runtime}.called").exists()
    assert (bundle / "config.json").read_text() == text
    lines = (tmp_path / "log").read_text().splitlines()
    assert len(lines) == 1
    assert f"c1: {place}:" in lines[0]
