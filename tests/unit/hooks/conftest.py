"""A fake host with a container in a scope, and a fake systemd on a real bus; what the kernel allows is scripted."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gpu_oci_hook.hook import Hook
from gpu_oci_hook.host import access_check
from gpu_oci_hook.host.settings import Settings
from tests.fake_systemd import FakeSystemd
from tests.unit.conftest import Bundle, FakeHost

if TYPE_CHECKING:
    from gpu_oci_hook.core.devices import Number

PID = 4711
UNIT = "runc-c1.scope"
BASE = [("/dev/char/1:3", "rwm"), ("char-pts", "rwm"), ("char-*", "m"), ("block-*", "m")]
GPU0, CTL = ("/dev/char/195:0", "rw"), ("/dev/char/195:255", "rw")
V2 = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
V1 = """32 30 0:27 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
33 30 0:28 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices
"""


class Container:
    """A container `c1` on a fake host; ``open`` has the numbers that the kernel lets it open."""

    def __init__(self, host: FakeHost, bundle: Bundle, systemd: FakeSystemd) -> None:
        self.host, self.bundle, self.systemd = host, bundle, systemd
        self.open: set[Number] = {("c", 195, 0), ("c", 195, 255)}
        self.checks: list[list[Number]] = []
        self.values: dict[str, Any] = {"host_root": str(host.root)}
        self.state = {"ociVersion": "1.0.2", "id": "c1", "pid": PID, "bundle": str(bundle.folder)}
        self.place("0::/system.slice/runc-c1.scope\n")
        systemd.add_scope(UNIT, list(BASE), pid=PID)

    def place(self, text: str, mounts: str = V2) -> None:
        """Where the container's process is, by /proc/PID/cgroup."""
        self.host.write("/proc/1/mountinfo", mounts)
        self.host.write(f"/proc/{PID}/cgroup", text)
        path = text.splitlines()[0].rpartition(":")[2]
        folder = "/sys/fs/cgroup/devices" if mounts == V1 else "/sys/fs/cgroup"
        self.cgroup = f"{folder}{path}"
        self.host.write(f"{self.cgroup}/cgroup.procs", "")

    def on_v1(self, devices_list: str) -> None:
        self.place("3:devices:/system.slice/runc-c1.scope\n1:name=systemd:/system.slice/runc-c1.scope\n", V1)
        self.host.write(f"{self.cgroup}/devices.list", devices_list)

    def check(self, directory: str, numbers: Any, timeout: float = 5.0) -> access_check.Answer:
        asked = list(numbers)
        self.checks.append(asked)
        return access_check.Answer({number: number in self.open for number in asked})

    def call(self, stage: str = "poststart", **state: Any) -> Hook:
        hook = Hook(stage, Settings(self.values))
        assert hook.run(json.dumps({**self.state, **state}).encode()) == b""
        return hook

    def sent(self) -> list[list[tuple[str, str]]]:
        """What each SetUnitProperties had for DeviceAllow; anything else in it is an error."""
        calls = [arguments for method, arguments in self.systemd.calls if method == "SetUnitProperties"]
        for unit, runtime, properties in calls:
            assert (unit, runtime, [name for name, _ in properties]) == (UNIT, True, ["DeviceAllow"])
        return [sorted(call[2][0][1][1]) for call in calls]


@pytest.fixture
def empty_host() -> Iterator[FakeHost]:
    """In a folder with a short name: a socket's path may have 107 characters, and pytest's own are longer."""
    with tempfile.TemporaryDirectory(prefix="hook") as folder:
        yield FakeHost(Path(folder))


@pytest.fixture
def systemd(host: FakeHost) -> Iterator[FakeSystemd]:
    fake = FakeSystemd(host.root)
    try:
        yield fake
    finally:
        fake.close()


@pytest.fixture
def container(host: FakeHost, bundle: Bundle, systemd: FakeSystemd, monkeypatch: pytest.MonkeyPatch) -> Container:
    """A container with two nodes in its spec and no rules for them."""
    bundle.spec([("/dev/nvidia0", 195, 0), ("/dev/nvidiactl", 195, 255)])
    made = Container(host, bundle, systemd)
    monkeypatch.setattr(access_check, "check", made.check)
    return made
