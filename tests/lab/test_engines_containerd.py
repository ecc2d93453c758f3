"""containerd, from install to uninstall: a GPU is lost by its own runtime and kept by the registered one."""

from __future__ import annotations

import itertools
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
from tests.lab.images import IMAGE, make_archive
from tests.lab.installation import WRAPPER
from tests.lab.machine import Machine

CONFIG = "/etc/containerd/config.toml"
# native: the lab's own root is an overlay, over which there can be no other. The score: nothing here may lower it.
TEXT = f"""# the lab's own
version = 2
[plugins."io.containerd.grpc.v1.cri"]
restrict_oom_score_adj = true
sandbox_image = "{IMAGE}"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
BinaryName = "{RUNC_LAB}"
SystemdCgroup = true # as kubelet's
"""
_numbers = itertools.count()


@pytest.fixture
def containerd(installed: Machine) -> Iterator[Machine]:
    """Give a machine with containerd configured, running, and holding the image."""
    need("/usr/bin/containerd", "/usr/bin/ctr")
    before = installed.read(CONFIG)
    put_runtime(installed)
    installed.write(CONFIG, TEXT)
    installed.run(["systemctl", "restart", "containerd"])
    load(installed)
    yield installed
    hook_json(installed, "uninstall", "containerd")
    installed.run(["systemctl", "stop", "containerd"], check=False)
    installed.write(CONFIG, before)


def load(machine: Machine) -> None:
    archive = make_archive(machine)
    for namespace in ("default", "k8s.io"):
        machine.run(["ctr", "--namespace", namespace, "images", "import", "--snapshotter", "native", archive])


def in_pod(machine: Machine, runtime: str) -> tuple[dict[str, str], dict[str, str]]:
    """What a container in a pod of that runtime can open before and after a reload."""
    from tests.lab.cri import Cri

    cri = Cri(machine)
    pod, config = cri.run_pod(f"pod-{next(_numbers)}", runtime, "kubepods.slice")
    try:
        container = cri.start_container(pod, config, IMAGE, NODES, ["/bin/sleep", "1000000"])
        before = answers(cri.execute(container, PROBING))
        daemon_reload(machine)
        return before, answers(cri.execute(container, PROBING))
    finally:
        cri.remove_pod(pod)


def by_ctr(machine: Machine, program: str) -> tuple[dict[str, str], dict[str, str]]:
    """The same by ctr and the shim, whose runtime is that program."""
    id = f"task-{next(_numbers)}"
    command = ["ctr", "run", "--detach", "--snapshotter", "native", "--runtime", "io.containerd.runc.v2"]
    command += ["--runc-systemd-cgroup", "--runc-binary", program, "--cgroup", f"system.slice:lab:{id}"]
    machine.run([*command, *(word for node in NODES for word in ("--device", node)), IMAGE, id])
    try:
        before = _exec(machine, id, "before")
        daemon_reload(machine)
        return before, _exec(machine, id, "after")
    finally:
        machine.run(["ctr", "tasks", "kill", "--signal", "SIGKILL", id], check=False)
        machine.run(["ctr", "containers", "delete", id], check=False)


def _exec(machine: Machine, id: str, name: str) -> dict[str, str]:
    done = machine.run(["ctr", "tasks", "exec", "--exec-id", name, id, *PROBING])
    return answers(done.stdout + done.stderr)


def test_lost_without_and_kept_with_us_in_a_pod(containerd: Machine) -> None:
    pytest.importorskip("grpc", reason="grpcio is not installed: pip install -e .[dev]")
    assert in_pod(containerd, "") == (OPEN, DENIED)

    answer = hook_json(containerd, "install", "containerd", "--restart")
    assert answer["applied"]
    assert answer["checked"]
    assert answer["restarted"]
    assert in_pod(containerd, "gpu") == (OPEN, OPEN)


def test_uninstall_gives_the_plain_runtime_back(containerd: Machine) -> None:
    pytest.importorskip("grpc", reason="grpcio is not installed: pip install -e .[dev]")
    hook_json(containerd, "install", "containerd", "--set-default", "--restart")
    assert in_pod(containerd, "") == (OPEN, OPEN)
    remove_links(containerd)

    answer = hook_json(containerd, "uninstall", "containerd", "--restart")
    assert answer["checked"]
    assert containerd.read(CONFIG) == TEXT
    assert in_pod(containerd, "") == (OPEN, DENIED)


def test_ctr_with_the_shim(containerd: Machine) -> None:
    assert by_ctr(containerd, RUNC_LAB) == (OPEN, DENIED)
    assert by_ctr(containerd, WRAPPER) == (OPEN, OPEN)


def test_status_follows(containerd: Machine) -> None:
    assert status(containerd) == {"registered": False, "runtimes": [], "seen": None, "edited": False}
    hook_json(containerd, "install", "containerd")
    runtimes = [{"name": "gpu", "default": False}]
    assert status(containerd) == {"registered": True, "runtimes": runtimes, "seen": True, "edited": False}
    containerd.write(CONFIG, containerd.read(CONFIG) + "# somebody else\n")
    assert status(containerd) == {"registered": True, "runtimes": runtimes, "seen": True, "edited": True}


def status(machine: Machine) -> dict[str, object]:
    (engine,) = hook_json(machine, "status", "containerd")["engines"]
    return {key: engine[key] for key in ("registered", "runtimes", "seen", "edited")}


def remove_links(machine: Machine) -> None:
    """The links that our wrapper made serve every other container too."""
    machine.run(["sh", "-c", "rm -f /dev/char/195:*"])
