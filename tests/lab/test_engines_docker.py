"""Docker, from install to uninstall."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator

import pytest

from tests.lab.engines import DENIED, NODES, OPEN, PROBING, answers, daemon_reload, hook_json, need
from tests.lab.images import make_archive
from tests.lab.machine import Machine

CONFIG = "/etc/docker/daemon.json"
TEXT = """{
  "exec-opts": ["native.cgroupdriver=systemd"],
  "storage-driver": "vfs",
  "bridge": "none", "iptables": false, "ip6tables": false
}
"""
CLIENT = "/usr/bin/docker"
_numbers = itertools.count()


@pytest.fixture
def docker(installed: Machine) -> Iterator[Machine]:
    """Give a machine with dockerd running and holding the image."""
    need("/usr/sbin/dockerd", CLIENT)
    installed.write(CONFIG, TEXT)
    installed.run(["systemctl", "restart", "docker"])
    installed.run([CLIENT, "load", "--input", make_archive(installed)])
    yield installed
    installed.run(["sh", "-c", f"{CLIENT} ps -aq | xargs -r {CLIENT} rm -f"], check=False)
    hook_json(installed, "uninstall", "docker")
    installed.run(["systemctl", "stop", "docker.socket", "docker", "containerd"], check=False)
    os.unlink(installed.path(CONFIG))


def run(machine: Machine, *options: str) -> tuple[dict[str, str], dict[str, str]]:
    """What a container can open before and after a reload."""
    name = f"lab-{next(_numbers)}"
    devices = [f"--device={node}" for node in NODES]
    machine.run([CLIENT, "run", "--detach", "--name", name, "--network=host", *options, *devices, "gpu-lab:1"])
    before = _exec(machine, name)
    daemon_reload(machine)
    return before, _exec(machine, name)


def _exec(machine: Machine, name: str) -> dict[str, str]:
    done = machine.run([CLIENT, "exec", name, *PROBING])
    return answers(done.stdout + done.stderr)


def test_lost_without_and_kept_with_us(docker: Machine) -> None:
    assert run(docker) == (OPEN, DENIED)
    answer = hook_json(docker, "install", "docker", "--restart")
    assert answer["applied"]
    assert answer["restarted"]
    assert json.loads(docker.run([CLIENT, "info", "--format", "{{json .Runtimes}}"]).stdout)["gpu"]
    assert run(docker, "--runtime=gpu") == (OPEN, OPEN)


def test_uninstall_gives_the_plain_runtime_back(docker: Machine) -> None:
    hook_json(docker, "install", "docker", "--set-default", "--restart")
    assert run(docker) == (OPEN, OPEN)
    docker.run(["sh", "-c", "rm -f /dev/char/195:*"])

    answer = hook_json(docker, "uninstall", "docker", "--restart")
    assert docker.read(CONFIG) == TEXT
    assert [finding["code"] for finding in answer["findings"] if finding["severity"] == "warning"] == ["still-referred"]
    assert run(docker) == (OPEN, DENIED)
