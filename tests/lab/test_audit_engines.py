"""audit finds the containers of real engines by itself: which engine, which id, which unit, and how they fare."""

from __future__ import annotations

from typing import Any

import pytest

from tests.lab.engines import NODES, RUNC_LAB, daemon_reload, hook_json
from tests.lab.images import IMAGE
from tests.lab.machine import Machine
from tests.lab.test_engines_containerd import containerd
from tests.lab.test_engines_docker import CLIENT, docker
from tests.lab.test_engines_podman import podman

__all__ = ["containerd", "docker", "podman"]  # fixtures

DEVICES = [f"--device={node}" for node in NODES]


def audited(machine: Machine) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = hook_json(machine, "audit")["containers"]
    return [each for each in found if each["verdict"] != "no-gpu"]


def check(machine: Machine, engine: str, id: str, unit: str) -> None:
    """At risk before a reload, lost after it, and the engine's own names for the container."""
    [before] = audited(machine)
    assert (before["engine"], before["id"], before["unit"]) == (engine, id, unit)
    assert before["verdict"] == "at-risk"
    daemon_reload(machine)
    [after] = audited(machine)
    assert (after["id"], after["verdict"]) == (id, "lost")
    repaired = hook_json(machine, "repair", "--all")
    assert [each["id"] for each in repaired["repaired"]] == [id]
    assert [each["verdict"] for each in audited(machine)] == ["ok"]
    daemon_reload(machine)
    assert [each["verdict"] for each in audited(machine)] == ["ok"]


def test_docker(docker: Machine) -> None:
    id = docker.run([CLIENT, "run", "--detach", "--network=host", *DEVICES, "gpu-lab:1"]).stdout.strip()
    check(docker, "docker", id, f"docker-{id}.scope")


def test_podman(podman: Machine) -> None:
    with open(podman.path("/var/lib/lab/podman.out"), "w", encoding="utf-8") as output:  # conmon would keep a pipe
        command = ["podman", "run", "--detach", "--network=host", *DEVICES, "localhost/gpu-lab:1"]
        podman.run(command, stdout=output)
    id = podman.read("/var/lib/lab/podman.out").strip()
    check(podman, "podman", id, f"libpod-{id}.scope")


def test_containerd_by_ctr(containerd: Machine) -> None:
    command = ["ctr", "run", "--detach", "--snapshotter", "native", "--runtime", "io.containerd.runc.v2"]
    command += ["--runc-systemd-cgroup", "--runc-binary", RUNC_LAB, "--cgroup", "system.slice:lab:task"]
    containerd.run([*command, *(word for node in NODES for word in ("--device", node)), IMAGE, "task"])
    try:
        check(containerd, "containerd", "task", "lab-task.scope")
    finally:
        containerd.run(["ctr", "tasks", "kill", "--signal", "SIGKILL", "task"], check=False)
        containerd.run(["ctr", "containers", "delete", "task"], check=False)


def test_containerd_by_cri(containerd: Machine) -> None:
    pytest.importorskip("grpc", reason="grpcio is not installed: pip install -e .[dev]")
    from tests.lab.cri import Cri

    cri = Cri(containerd)
    pod, config = cri.run_pod("audited", "", "kubepods.slice")
    try:
        id = cri.start_container(pod, config, IMAGE, NODES, ["/bin/sleep", "1000000"])
        check(containerd, "containerd", id, f"cri-containerd-{id}.scope")
    finally:
        cri.remove_pod(pod)
