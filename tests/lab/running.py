"""What the tests of running containers share: our commands in the lab, and the scenes that they are about."""

from __future__ import annotations

import json
from typing import Any

from tests.lab.container import Container
from tests.lab.installation import COMMAND
from tests.lab.machine import Machine

GPUS = ["/dev/nvidia0", "/dev/nvidiactl"]
OPEN = dict.fromkeys(GPUS, "open")
DENIED = dict.fromkeys(GPUS, "denied")
# prestart, before pivot_root: a bind mount of the host's node, as nvidia-container-cli makes it.
MOUNT = """#!/bin/sh
pid=$(sed 's/.*"pid":\\([0-9]*\\).*/\\1/')
exec nsenter -t "$pid" -m sh -c 'for node; do : >"$0$node"; mount --bind "$node" "$0$node"; done' "$@"
"""


def call(machine: Machine, *arguments: str) -> tuple[int, Any]:
    """Run one of our commands with --json; return its exit code and what it printed, parsed."""
    done = machine.run([COMMAND, *arguments, "--json"], check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def audit(machine: Machine) -> dict[str, Any]:
    """Return the audit's containers by id."""
    return {each["id"]: each for each in call(machine, "audit")[1]["containers"]}


def verdicts(machine: Machine) -> dict[str, str]:
    """Return verdicts by container."""
    return {id: each["verdict"] for id, each in audit(machine).items()}


def pid(container: Container) -> int:
    """Return the PID of a container's init, as the lab sees it."""
    return int(json.loads(container.call("state", container.bundle.id))["pid"])


def start_scope(machine: Machine, name: str, process: int, *properties: str) -> None:
    """Make a transient scope around a process, as the original report does; properties as busctl wants them."""
    busctl = ["busctl", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1"]
    busctl += ["org.freedesktop.systemd1.Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))", name, "fail"]
    count = str(1 + len(properties) // 3)
    machine.run([*busctl, count, "PIDs", "au", "1", str(process), *properties, "0"])
    assert machine.run(["systemctl", "is-active", name]).stdout.strip() == "active"


def mount_hook(machine: Machine, root: str, paths: list[str]) -> dict[str, Any]:
    """Return a prestart hook that mounts the host's nodes below a container's root."""
    machine.write("/run/lab-mount-hook", MOUNT, 0o755)
    return {"path": "/run/lab-mount-hook", "args": ["hook", root, *paths]}


def device_cgroup(machine: Machine, process: int) -> str:
    """Return the directory of the cgroup that decides about a process's devices."""
    files = [line.split(":", 2) for line in machine.run(["cat", f"/proc/{process}/cgroup"]).stdout.splitlines()]
    wanted, base = ("devices", "/sys/fs/cgroup/devices") if machine.version == "v1" else ("", "/sys/fs/cgroup")
    return base + next(path for _, controllers, path in files if wanted in controllers.split(","))


def applies_late(machine: Machine) -> bool:
    """Whether this systemd applies device lists some time after a reload (256 and 257)."""
    return machine.run(["systemctl", "--version"]).stdout.split()[1] in ("256", "257")
