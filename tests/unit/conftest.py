"""Small fake hosts below a temporary root, and an installed copy of the programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpu_oci_hook.core.devices import NVIDIA
from gpu_oci_hook.host.inventory import Inventory

REPOSITORY = Path(__file__).resolve().parents[2]
needs_mknod = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: makes character nodes below a temporary root")

DRIVERS = """Character devices:
  1 mem
195 nvidia
195 nvidiactl
240 nvidia-caps
509 nvidia-uvm

Block devices:
  7 loop
"""
TWO_GPUS = {
    "/dev/nvidia0": (195, 0),
    "/dev/nvidia1": (195, 1),
    "/dev/nvidiactl": (195, 255),
    "/dev/nvidia-uvm": (509, 0),
    "/dev/nvidia-uvm-tools": (509, 1),
    "/dev/null": (1, 3),
    "/dev/fuse": (10, 229),
}
DENY_ALL = {"allow": False, "access": "rwm"}


class FakeHost:
    """A directory that looks like a host: nodes by mknod, /proc files as text."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "dev/char").mkdir(parents=True)
        self.write("/proc/devices", DRIVERS)

    def path(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def write(self, path: str, text: str) -> Path:
        file = self.path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def node(self, path: str, major: int, minor: int, kind: int = 0o020000) -> None:
        file = self.path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        os.mknod(file, 0o666 | kind, os.makedev(major, minor))

    def link(self, number: str, text: str) -> None:
        os.symlink(text, self.path(f"/dev/char/{number}"))

    def links(self) -> dict[str, str]:
        """Names and texts of all that lies in /dev/char."""
        folder = self.path("/dev/char")
        names = sorted(os.listdir(folder)) if folder.is_dir() else []
        return {name: os.readlink(folder / name) if (folder / name).is_symlink() else "not a link" for name in names}

    def inventory(self, *families: Any, driver_roots: tuple[str, ...] = ("/", "/run/nvidia/driver")) -> Inventory:
        return Inventory(str(self.root), driver_roots, families or (NVIDIA,))


@pytest.fixture
def empty_host(tmp_path: Path) -> FakeHost:
    return FakeHost(tmp_path / "host")


@pytest.fixture
def host(empty_host: FakeHost) -> FakeHost:
    """A host with two GPUs, their control nodes, and no links."""
    for path, (major, minor) in TWO_GPUS.items():
        empty_host.node(path, major, minor)
    return empty_host


class Bundle:
    """A bundle folder; the spec is made from devices (path, major, minor) and rules."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    @property
    def config(self) -> Path:
        return self.folder / "config.json"

    def write(self, value: Any, **layout: Any) -> Bundle:
        self.config.write_text(value if isinstance(value, str) else json.dumps(value, **layout))
        return self

    def spec(self, devices: Any = (), rules: Any = (DENY_ALL,), **linux: Any) -> Bundle:
        nodes = [{"path": path, "type": "c", "major": major, "minor": minor} for path, major, minor in devices]
        return self.write(
            {
                "ociVersion": "1.0.2",
                "process": {"args": ["true"]},
                "linux": {"devices": nodes, "resources": {"devices": list(rules)}, **linux},
            }
        )

    def rules(self) -> list[dict[str, Any]]:
        rules: list[dict[str, Any]] = json.loads(self.config.read_text())["linux"]["resources"]["devices"]
        return rules


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return Bundle(tmp_path / "bundle")


class Installed:
    """An installed copy below a temporary PREFIX, with settings that point at a fake host and a fake runtime."""

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        self.runtime = prefix / "bin/gpu-oci-runtime"
        self.hook = prefix / "bin/gpu-oci-hook"

    def settings(self, folder: Path, host: FakeHost | None, runtimes: list[str], extra: str = "") -> dict[str, str]:
        """Write settings, and the environment that makes the programs use them."""
        file = folder / "config.toml"
        root = f'host_root = "{host.root}"\n' if host else ""
        file.write_text(f"version = 1\n{root}runtimes = {json.dumps(runtimes)}\n{extra}")
        return {"GPU_OCI_HOOK_CONFIG": str(file), "PATH": "/usr/bin:/bin"}


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    prefix = tmp_path_factory.mktemp("prefix")
    options = [f"PREFIX={prefix}", f"RUN_DIR={prefix}/run", f"PYTHON={sys.executable}", "BUNDLE=no"]
    subprocess.run(["make", "-s", "-C", str(REPOSITORY), "install", *options], check=True, capture_output=True)
    return Installed(prefix)
