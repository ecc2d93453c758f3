"""Podman, from install to uninstall."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import pytest

from tests.lab.engines import (
    DENIED,
    NODES,
    OPEN,
    PROBING,
    RUNC_LAB,
    answers,
    daemon_reload,
    hook_json,
    need,
    put_runtime,
)
from tests.lab.images import make_archive
from tests.lab.installation import COMMAND
from tests.lab.machine import CHECKOUT, Machine

FILES = {
    "/etc/containers/containers.conf": f"""[containers]
pids_limit = 0
[engine]
cgroup_manager = "systemd"
events_logger = "file"
hooks_dir = ["/etc/containers/oci/hooks.d"]
runtime = "runc-lab"
[engine.runtimes]
runc-lab = ["{RUNC_LAB}"]
""",
    "/etc/containers/storage.conf": """[storage]
driver = "vfs"
runroot = "/run/containers/storage"
graphroot = "/var/lib/containers/storage"
""",
}
DROP_IN = "/etc/containers/containers.conf.d/gpu-oci-hook.conf"
_numbers = itertools.count()


@pytest.fixture
def podman(installed: Machine) -> Iterator[Machine]:
    """Give a machine with podman configured and holding the image."""
    need("/usr/bin/podman", "/usr/bin/conmon")
    put_runtime(installed)
    for path, text in FILES.items():
        installed.write(path, text)
    os.makedirs(installed.path("/etc/containers/oci/hooks.d"), exist_ok=True)
    installed.run(["podman", "load", "--input", make_archive(installed)])
    yield installed
    installed.run(["podman", "rm", "--force", "--all", "--time", "0"], check=False)
    hook_json(installed, "uninstall", "podman")
    for path in FILES:
        os.unlink(installed.path(path))


def run(machine: Machine, *options: str) -> tuple[dict[str, str], dict[str, str]]:
    """What a container can open before and after a reload."""
    name = f"lab-{next(_numbers)}"
    devices = [f"--device={node}" for node in NODES]
    command = ["podman", *options, "run", "--detach", "--name", name, "--network=host", *devices, "localhost/gpu-lab:1"]
    # Not a pipe: conmon keeps its end, and reading it would never finish.
    with open(machine.path("/var/lib/lab/podman.out"), "w", encoding="utf-8") as output:
        done = machine.run(command, check=False, stdout=output, stderr=output)
    assert done.returncode == 0, machine.read("/var/lib/lab/podman.out")
    before = _exec(machine, name)
    daemon_reload(machine)
    return before, _exec(machine, name)


def _exec(machine: Machine, name: str) -> dict[str, str]:
    done = machine.run(["podman", "exec", name, *PROBING])
    return answers(done.stdout + done.stderr)


def test_lost_without_and_kept_with_us(podman: Machine) -> None:
    assert run(podman) == (OPEN, DENIED)
    answer = hook_json(podman, "install", "podman")
    assert answer["applied"]
    assert answer["checked"]
    assert run(podman, "--runtime=gpu") == (OPEN, OPEN)


def test_uninstall_gives_the_plain_runtime_back(podman: Machine) -> None:
    assert hook_json(podman, "install", "podman", "--set-default")["checked"]
    assert run(podman) == (OPEN, OPEN)
    podman.run(["podman", "rm", "--force", "--all", "--time", "0"])
    podman.run(["sh", "-c", "rm -f /dev/char/195:*"])

    assert hook_json(podman, "uninstall", "podman")["checked"]
    assert not os.path.exists(podman.path(DROP_IN))
    assert run(podman) == (OPEN, DENIED)


def test_the_ready_made_hook_does_without_another_runtime(podman: Machine) -> None:
    """At precreate the spec is edited before any runtime reads it. The folder is read because hooks_dir names it."""
    assert run(podman) == (OPEN, DENIED)
    with open(f"{CHECKOUT}/hooks.d/podman/99-gpu-oci-hook-precreate.json", encoding="utf-8") as file:
        hook = file.read().replace("/usr/local/bin/gpu-oci-hook", COMMAND)
    path = "/etc/containers/oci/hooks.d/99-gpu-oci-hook-precreate.json"
    podman.write(path, hook)
    try:
        assert run(podman) == (OPEN, OPEN)
    finally:
        os.unlink(podman.path(path))
