"""The one file of the create path's modules: it is what runs, and without it the plain modules do the same."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.conftest import Bundle, FakeHost, Installed, needs_mknod
from tests.unit.test_import_budget import OURS

NOT_LOADED = {"typing", "re", "enum", "os", "site", "json", "dataclasses", "__future__"}


@pytest.fixture
def library(installed: Installed, tmp_path: Path) -> Path:
    return Path(shutil.copytree(installed.prefix / "lib/gpu-oci-hook", tmp_path / "lib"))


def the_file(library: Path) -> Path:
    return library / f"create-path.{sys.implementation.cache_tag}"


def run(library: Path, script: str, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", "-X", "utf8", str(library / script), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def loaded(library: Path) -> set[str]:
    """What is in sys.modules when the wrapper's main function is called."""
    text = (library / "prepare.py").read_text()
    (library / "look.py").write_text(text.replace("main(sys.argv[1:])", "print(*sys.modules)"))
    return set(run(library, "look.py").stdout.split())


def test_it_holds_the_import_budget_and_no_search_is_made(library: Path) -> None:
    shutil.rmtree(library / "gpu_oci_hook")
    modules = loaded(library)
    assert {name for name in modules if name.partition(".")[0] == "gpu_oci_hook"} == OURS
    assert not modules & NOT_LOADED


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "of another kind"])
def test_without_it_the_plain_modules_do_the_same(library: Path, damage: str) -> None:
    content = the_file(library).read_bytes()
    the_file(library).write_bytes({"empty": b"", "cut": content[:5000]}.get(damage, b"\xe9\x05\x00\x00\x00"))
    if damage == "missing":
        the_file(library).unlink()
    assert {name for name in loaded(library) if name.partition(".")[0] == "gpu_oci_hook"} == OURS


@needs_mknod
@pytest.mark.parametrize("one_file", [True, False])
def test_modules_that_are_imported_later(
    installed: Installed, library: Path, host: FakeHost, bundle: Bundle, tmp_path: Path, one_file: bool
) -> None:
    """The environment's requests and the log's line come from modules beyond the first ones."""
    if one_file:
        shutil.rmtree(library / "gpu_oci_hook")
    else:
        the_file(library).unlink()
    host.write("/proc/driver/nvidia/gpus/0000:01:00.0/information", "Device Minor: \t 0\n")
    bundle.write(
        {
            "process": {"env": ["NVIDIA_VISIBLE_DEVICES=0,7"]},
            "annotations": {"cdi.k8s.io/x": "vendor.com/gpu=0"},
            "linux": {"resources": {"devices": []}},
        }
    )
    source = installed.settings(tmp_path, host, ["runc"], '[request]\nenv = "always"\n')["GPU_OCI_HOOK_CONFIG"]
    compiled = run(installed.prefix / "lib/gpu-oci-hook", "prepare.py", "--compile", str(tmp_path / "run"), source)
    assert compiled.returncode == 0, compiled.stderr
    arguments = [str(tmp_path / "run"), source, "/usr/sbin/runc", "create", "--bundle", str(bundle.folder), "c"]
    done = run(library, "prepare.py", *arguments)
    assert done.returncode == 0, done.stderr
    assert (195, 0) in {(rule["major"], rule["minor"]) for rule in bundle.rules()}
    assert "vendor.com/gpu=0" in done.stderr
    assert json.loads(bundle.config.read_text())["process"] == {"env": ["NVIDIA_VISIBLE_DEVICES=0,7"]}
