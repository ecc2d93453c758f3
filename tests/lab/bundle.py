"""OCI bundles for the lab: a spec as an engine would write it, over a root filesystem of busybox alone."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from tests.lab.gpus import NODES, OTHER
from tests.lab.machine import SOURCE, Machine

BUNDLES = "/var/lib/lab/bundles"
ROOT_FILESYSTEM = "/var/lib/lab/busybox"
DENY_ALL = {"allow": False, "access": "rwm"}
ALLOW_ALL = {"allow": True, "access": "rwm"}
MOUNTS = [
    {"destination": "/proc", "type": "proc", "source": "proc"},
    {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=65536k"]},
    {"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": ["newinstance", "ptmxmode=0666"]},
]
CAPABILITIES = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_KILL", "CAP_MKNOD"]
PRIVILEGED = [*CAPABILITIES, "CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_SYS_RAWIO"]


@dataclasses.dataclass(frozen=True)
class Bundle:
    """A bundle in the lab; `unit` is the scope that a runtime with the systemd driver makes for it."""

    machine: Machine
    id: str
    unit: str

    @property
    def path(self) -> str:
        """Return the directory, as the lab sees it."""
        return f"{BUNDLES}/{self.id}"

    @property
    def config(self) -> str:
        """Return config.json's path, as the lab sees it."""
        return f"{self.path}/config.json"

    def text(self) -> str:
        """Return config.json as it is now."""
        return self.machine.read(self.config)

    def spec(self) -> Any:
        """Return config.json as it is now, parsed."""
        return json.loads(self.text())


def node(path: str, number: tuple[int, int] | None = None) -> dict[str, Any]:
    """Return a linux.devices entry for one of the lab's nodes; `number` where the spec is to say another one."""
    major, minor = number or {**NODES, **OTHER}[path]
    return {"path": path, "type": "c", "major": major, "minor": minor, "fileMode": 0o666, "uid": 0, "gid": 0}


def rule(path: str, access: str = "rw", allow: bool = True) -> dict[str, Any]:
    """Return a linux.resources.devices entry for one of the lab's nodes."""
    major, minor = {**NODES, **OTHER}[path]
    return {"allow": allow, "type": "c", "major": major, "minor": minor, "access": access}


def legacy_hook(paths: Sequence[str]) -> dict[str, Any]:
    """Return hooks that grant nodes as NVIDIA's legacy hook does, by its stand-in (legacy_hook.py)."""
    numbers = [f"{major}:{minor}" for major, minor in (NODES[path] for path in paths)]
    program = f"{SOURCE}/tests/lab/legacy_hook.py"
    return {"prestart": [{"path": program, "args": ["nvidia-container-runtime-hook", *numbers]}]}


def make_bundle(
    machine: Machine,
    id: str,
    devices: Sequence[str | dict[str, Any]] = (),
    rules: Sequence[str | dict[str, Any]] | None = None,
    env: Sequence[str] = (),
    privileged: bool = False,
    mounts: Sequence[Mapping[str, Any]] = (),
    hooks: Mapping[str, Any] | None = None,
    annotations: Mapping[str, str] | None = None,
    arguments: Sequence[str] = ("/bin/sleep", "1000000"),
) -> Bundle:
    """Write a bundle into the lab.

    `devices` are nodes (paths, or whole entries), `rules` what follows the deny-all (the same forms; None means
    one for each device, as engines do). `privileged` gives an allow-all rule and the capabilities that go with it.
    """
    make_root_filesystem(machine)
    entries = [node(device) if isinstance(device, str) else device for device in devices]
    allowed: list[Any] = [ALLOW_ALL] if privileged else [_rule_of(entry) for entry in entries]
    if rules is not None:
        allowed = [rule(item) if isinstance(item, str) else item for item in rules]
    capabilities = PRIVILEGED if privileged else CAPABILITIES
    spec: dict[str, Any] = {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": list(arguments),
            "env": ["PATH=/bin", *env],
            "cwd": "/",
            "capabilities": dict.fromkeys(("bounding", "effective", "permitted"), capabilities),
        },
        "root": {"path": ROOT_FILESYSTEM, "readonly": True},
        "hostname": "lab",
        "mounts": [*MOUNTS, *mounts],
        "linux": {
            "cgroupsPath": f"system.slice:lab:{id}",
            "namespaces": [{"type": type} for type in ("pid", "ipc", "uts", "mount")],
            "devices": entries,
            "resources": {"devices": [DENY_ALL, *allowed]},
        },
    }
    if hooks:
        spec["hooks"] = dict(hooks)
    if annotations:
        spec["annotations"] = dict(annotations)
    bundle = Bundle(machine, id, f"lab-{id}.scope")
    machine.write(bundle.config, json.dumps(spec, indent=1))
    return bundle


def _rule_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"allow": True, "type": entry["type"], "major": entry["major"], "minor": entry["minor"], "access": "rwm"}


def make_root_filesystem(machine: Machine) -> None:
    """Make the root filesystem that all bundles share; read-only in the containers."""
    root = machine.path(ROOT_FILESYSTEM)
    if os.path.isdir(root):
        return
    for directory in ("bin", "dev", "proc", "tmp", "run", "var/run"):
        os.makedirs(f"{root}/{directory}")
    shutil.copy(machine.path("/bin/busybox"), f"{root}/bin/busybox")
    for program in ("sh", "sleep", "cat", "ls", "mknod", "stat", "true"):
        os.symlink("busybox", f"{root}/bin/{program}")
