"""The files for people who configure by hand: equal to what install writes, and valid."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from gpu_oci_hook.engines import transaction
from gpu_oci_hook.engines.containerd_config import CRI
from gpu_oci_hook.engines.registry import engine_named
from gpu_oci_hook.engines.request import Request
from gpu_oci_hook.hook import STAGES
from tests.unit.conftest import REPOSITORY
from tests.unit.engines.cases import WRAPPER, put_wrapper

HOOKS = sorted((REPOSITORY / "hooks.d").glob("*.json"))


@pytest.mark.parametrize("version", CRI)
def test_containerd_entries_are_what_install_writes(version: int, tmp_path: pathlib.Path) -> None:
    root = str(tmp_path)
    put_wrapper(root)
    file = tmp_path / "etc/containerd/config.toml"
    file.parent.mkdir(parents=True)
    key = f'plugins."{CRI[version]}".containerd.runtimes.runc'
    before = (
        f'version = {version}\n[{key}]\nruntime_type = "io.containerd.runc.v2"\n[{key}.options]\nSystemdCgroup = true\n'
    )
    file.write_text(before)
    transaction.install(engine_named("containerd", Request(WRAPPER, root=root)))
    ready = (REPOSITORY / f"containerd-config/runtime-v{version}.toml").read_text()
    _, _, entry = ready.partition("\n\n")
    assert file.read_text() == f"{before}\n{entry}"


@pytest.mark.parametrize("path", HOOKS, ids=lambda path: path.name)
def test_hooks_are_valid(path: pathlib.Path) -> None:
    """The rules of containers/common pkg/hooks 1.0.0; podman and CRI-O start nothing while a file is against them."""
    hook: dict[str, Any] = json.loads(path.read_text())
    assert set(hook) == {"version", "hook", "when", "stages"}
    assert hook["version"] == "1.0.0"
    assert hook["hook"]["path"].startswith("/")
    assert hook["hook"]["args"][0] == hook["hook"]["path"].rpartition("/")[2]
    assert hook["hook"]["timeout"] > 0
    assert hook["when"] == {"always": True}
    (stage,) = hook["stages"]
    assert hook["hook"]["args"][1:] == ["hook", stage]
    assert stage in STAGES


def test_only_podman_gets_the_stage_that_others_refuse() -> None:
    """CRI-O knows no precreate: to it that is an unknown stage, and an error."""
    assert [path.name for path in HOOKS if "precreate" in path.read_text()] == ["gpu-oci-hook-podman.json"]
