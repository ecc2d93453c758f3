"""poststart: devices that a hook has mounted count if the container can open them, and only then."""

from __future__ import annotations

import pytest

from tests.unit.conftest import needs_mknod
from tests.unit.hooks.conftest import CTL, GPU0, PID, Container

pytestmark = needs_mknod
DEV = "21 1 0:5 / /dev rw - devtmpfs udev rw\n"


@pytest.fixture
def mounted(container: Container) -> Container:
    """An environment-only container, into which NVIDIA's hook has mounted two nodes, and somebody a third."""
    container.bundle.config.unlink()
    container.bundle.spec()
    container.place("0::/system.slice/runc-c1.scope\n", DEV + container.host.path("/proc/1/mountinfo").read_text())
    lines = [
        f"{60 + i} 50 0:5 /{name} /dev/{name} rw - devtmpfs udev rw"
        for i, name in enumerate(("nvidia0", "nvidiactl", "nvidia1", "fuse"))
    ]
    container.host.write(f"/proc/{PID}/mountinfo", "\n".join(lines) + "\n")
    return container


def test_mounts_that_can_be_opened_are_completed(mounted: Container) -> None:
    mounted.call()
    assert mounted.sent() == [[GPU0, CTL]]
    assert [(r["major"], r["minor"]) for r in mounted.bundle.rules() if r["allow"]] == [(195, 0), (195, 255)]
    assert sorted(mounted.host.links()) == ["195:0", "195:255"]


def test_other_vendors_mounts_go_along(mounted: Container) -> None:
    mounted.open.add(("c", 10, 229))
    mounted.call()
    assert mounted.sent() == [[("/dev/char/10:229", "rw"), GPU0, CTL]]


@pytest.mark.parametrize("stage", ["prestart", "createRuntime"])
def test_mounts_count_at_poststart_only(mounted: Container, stage: str) -> None:
    mounted.call(stage)
    assert mounted.systemd.calls == []


def test_what_the_container_made_itself_is_no_mount_of_the_hosts(mounted: Container) -> None:
    """A node that it made with mknod stands on a filesystem of its own, and is no mount at all."""
    own = "70 50 0:99 /nvidia1 /dev/nvidia1 rw - tmpfs tmpfs rw\n"
    mounted.host.write(f"/proc/{PID}/mountinfo", own)
    mounted.open.add(("c", 195, 1))
    text = mounted.bundle.config.read_text()
    mounted.call()
    assert mounted.systemd.calls == []
    assert mounted.bundle.config.read_text() == text


def test_explicit_deny_is_kept(mounted: Container) -> None:
    deny = {"allow": False, "type": "c", "major": 195, "minor": 0, "access": "rwm"}
    mounted.bundle.spec(rules=[{"allow": False, "access": "rwm"}, deny])
    mounted.call()
    assert mounted.sent() == [[CTL]]
