"""The unit over D-Bus: what is sent, when nothing is, and what goes wrong with a bus."""

from __future__ import annotations

import json
import time

import pytest

from tests.unit.conftest import DENY_ALL, DRIVERS, needs_mknod
from tests.unit.hooks.conftest import BASE, CTL, GPU0, PID, UNIT, Container

pytestmark = needs_mknod
FUSE_RULE = {"allow": True, "type": "c", "major": 10, "minor": 229, "access": "rwm"}


@pytest.mark.parametrize("stage", ["prestart", "createRuntime", "poststart"])
def test_what_is_missing_is_sent_in_one_call(
    container: Container, stage: str, capfd: pytest.CaptureFixture[str]
) -> None:
    hook = container.call(stage)
    assert container.sent() == [[GPU0, CTL]]
    assert hook.code == 0
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert f"{UNIT} was given /dev/char/195:0, /dev/char/195:255, and access was checked" in said.err
    assert dict(container.systemd.units[UNIT]["DeviceAllow"][1]) == dict([*BASE, GPU0, CTL])


def test_links_and_the_spec_are_brought_in_line_too(container: Container) -> None:
    container.call("createRuntime")
    assert container.host.links() == {"195:0": "../nvidia0", "195:255": "../nvidiactl"}
    assert [(rule["major"], rule["minor"]) for rule in container.bundle.rules() if rule["allow"]] == [
        (195, 0),
        (195, 255),
    ]


def test_twice_is_once(container: Container, capfd: pytest.CaptureFixture[str]) -> None:
    container.call("createRuntime")
    text = container.bundle.config.read_text()
    capfd.readouterr()
    container.checks.clear()
    container.call("poststart")
    assert len(container.sent()) == 1
    assert container.checks == []  # nothing is missing, so the kernel need not be asked
    assert container.bundle.config.read_text() == text
    assert capfd.readouterr().err == ""


def test_permissions_that_differ_are_left(container: Container, capfd: pytest.CaptureFixture[str]) -> None:
    container.systemd.add_scope(UNIT, [("/dev/char/195:255", "r"), *BASE])
    container.open = {("c", 195, 0)}
    container.call()
    assert container.sent() == [[GPU0]]
    assert "c 195:255 is not protected: the unit's list has /dev/char/195:255 r" in capfd.readouterr().err


def test_only_the_missing_one_is_sent(container: Container) -> None:
    container.systemd.add_scope(UNIT, [("/dev/char/195:0", "rwm"), *BASE])
    container.call()
    assert container.sent() == [[CTL]]


def test_a_group_that_covers_is_enough(container: Container) -> None:
    container.systemd.add_scope(UNIT, [("char-195", "rw"), *BASE])
    container.call()
    assert container.sent() == []


def test_container_without_gpus_costs_no_bus(container: Container, capfd: pytest.CaptureFixture[str]) -> None:
    container.bundle.config.unlink()
    container.bundle.spec([("/dev/fuse", 10, 229)], [DENY_ALL, FUSE_RULE])
    container.call()
    assert container.systemd.calls == []
    assert container.checks == []
    assert capfd.readouterr().err == ""


def test_other_rules_of_the_spec_go_along(container: Container) -> None:
    spec = json.loads(container.bundle.config.read_text())
    spec["linux"]["resources"]["devices"].append(FUSE_RULE)
    container.bundle.write(spec)
    container.call()
    assert container.sent() == [[("/dev/char/10:229", "rwm"), GPU0, CTL]]


def test_for_other_devices_alone_no_unit_is_touched(container: Container) -> None:
    spec = json.loads(container.bundle.config.read_text())
    spec["linux"]["resources"]["devices"].append(FUSE_RULE)
    container.bundle.write(spec)
    container.systemd.add_scope(UNIT, [GPU0, CTL, *BASE])
    container.call()
    assert container.sent() == []


def test_v1_what_works_now_goes_along(container: Container, capfd: pytest.CaptureFixture[str]) -> None:
    """systemd writes the whole list anew there: tun, and what another vendor's hook has granted, would be lost."""
    container.host.write("/proc/devices", DRIVERS.replace("195 nvidia\n", "136 pts\n195 nvidia\n"))
    container.open |= {("c", 1, 3), ("c", 10, 200), ("c", 241, 1)}
    container.on_v1("c *:* m\nb *:* m\nc 1:3 rwm\nc 136:* rwm\nc 10:200 rwm\nc 241:1 rw\nc 195:7 rw\n")
    container.call()
    assert "checked" in capfd.readouterr().err
    assert container.sent() == [[("/dev/char/10:200", "rwm"), GPU0, CTL, ("/dev/char/241:1", "rw")]]


def test_stale_numbers_are_not_carried_on(container: Container) -> None:
    stale = {"allow": True, "type": "c", "major": 508, "minor": 0, "access": "rw"}
    container.bundle.spec([("/dev/nvidia0", 195, 0), ("/dev/nvidia-uvm", 508, 0)], [DENY_ALL, stale])
    container.on_v1("c 508:0 rw\n")
    container.call()
    assert container.sent() == [[GPU0]]


@pytest.mark.parametrize("version", ["219", "239 (239-58.el8)", "v245.4", "252.39-1~deb12u1", "258~rc1"])
def test_links_are_made_before_the_call(container: Container, version: str) -> None:
    container.systemd.version = version
    container.call()
    assert container.sent() == [[GPU0, CTL]]


def test_old_systemd_gets_the_node_where_the_link_is_blocked(container: Container) -> None:
    container.systemd.version = "239"
    container.host.write("/dev/char/195:0/keep", "")
    container.host.link("1:3", "../null")
    container.call()
    assert container.sent() == [[CTL, ("/dev/nvidia0", "rw")]]


def test_old_systemd_gets_no_call_that_takes_a_device_away(
    container: Container, capfd: pytest.CaptureFixture[str]
) -> None:
    """A device that works, whose number systemd 239 cannot find: with any call on the unit it would be gone."""
    spec = json.loads(container.bundle.config.read_text())
    spec["linux"]["resources"]["devices"].append({**FUSE_RULE, "minor": 77})
    container.bundle.write(spec)
    container.systemd.version = "239"
    container.open.add(("c", 10, 77))
    container.call()
    assert container.sent() == []
    assert "any change of it would take c 10:77 away" in capfd.readouterr().err


def test_unit_that_systemd_does_not_restrict(container: Container) -> None:
    """crun < 1.18, runc < rc91, privileged containers: a list would begin to restrict them."""
    container.systemd.add_scope(UNIT, [], "auto")
    container.call()
    assert container.sent() == []


def test_bpf_program_is_left_alone_and_said(container: Container, capfd: pytest.CaptureFixture[str]) -> None:
    container.systemd.add_scope(UNIT, [], "auto")
    container.systemd.units[UNIT]["BPFProgram"] = ("a(ss)", [("device", "/sys/fs/bpf/crun/runc-c1_scope")])
    container.call()
    assert container.sent() == []
    assert "BPFProgram=/sys/fs/bpf/crun/runc-c1_scope" in capfd.readouterr().err


def test_deny_list_is_left_alone_and_said(container: Container, capfd: pytest.CaptureFixture[str]) -> None:
    rules = [{"allow": True, "access": "rwm"}, {**FUSE_RULE, "allow": False}]
    container.bundle.spec([("/dev/nvidia0", 195, 0)], rules)
    container.call()
    assert container.sent() == []
    assert "systemd's list cannot say" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("0::/docker/1f\n", "cgroupfs driver"),
        ("0::/system.slice/containerd.service/c1\n", "not its own unit"),
        ("0::/system.slice/docker-outer.scope/docker/c1\n", "not its own unit"),
        ("0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-1.scope\n", "rootless"),
        ("0::/../x.scope\n", "outside of this cgroup namespace"),
    ],
)
def test_units_of_others_are_not_touched(
    container: Container, capfd: pytest.CaptureFixture[str], place: str, said: str
) -> None:
    container.place(place)
    container.call()
    assert container.systemd.calls == []
    text = capfd.readouterr().err
    assert said in text
    assert text.count("\n") == 1


def test_v1_devices_of_another_cgroup_than_the_units(container: Container, capfd: pytest.CaptureFixture[str]) -> None:
    """Measured once per version on 252 and 257: the first container of a fresh slice sits in the slice's own list."""
    container.on_v1("a *:* rwm\n")
    text = "3:devices:/system.slice\n1:name=systemd:/system.slice/runc-c1.scope\n"
    container.host.write(f"/proc/{PID}/cgroup", text)
    container.call()
    assert container.sent() == []
    assert "its devices are those of /system.slice" in capfd.readouterr().err


def test_container_that_has_exited(container: Container, capfd: pytest.CaptureFixture[str]) -> None:
    assert container.call(pid=99).code == 0
    assert "has exited already" in capfd.readouterr().err


def test_siblings_on_systemd_257(container: Container, capfd: pytest.CaptureFixture[str]) -> None:
    container.systemd.version = "257.7-1"
    container.host.write("/sys/fs/cgroup/system.slice/docker-other.scope/cgroup.procs", "")
    container.call()
    text = capfd.readouterr().err
    assert "1 other scopes of system.slice" in text
    assert "watch" in text


def test_not_as_root(container: Container, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert container.call().code == 0
    assert container.systemd.calls == []
    assert "rootless" in capfd.readouterr().err


def test_runtimes_program_that_denies_is_said(container: Container, capfd: pytest.CaptureFixture[str]) -> None:
    """v2: runc's own program stands beside systemd's, and both must allow."""
    container.open = {("c", 195, 255)}
    container.call("createRuntime")
    assert "recreate" not in capfd.readouterr().err
    container.systemd.add_scope(UNIT, list(BASE))
    container.call("poststart")
    assert "c 195:0 stays denied by the runtime's own program" in capfd.readouterr().err


def test_device_that_the_call_took_away_is_an_error(container: Container, capfd: pytest.CaptureFixture[str]) -> None:
    container.values["on_error"] = "fail"
    asked = container.check

    def check(directory, numbers, timeout=5.0):
        if container.sent():
            container.open = set()
        return asked(directory, numbers)

    container.check = check  # type: ignore[method-assign]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpu_oci_hook.host.access_check.check", check)
        assert container.call().code == 3
    assert "is denied now" in capfd.readouterr().err


class TestBus:
    """No bus, a dead one, a hung one: the container starts, and one line says that it is not protected."""

    @staticmethod
    def outcome(container: Container, capfd: pytest.CaptureFixture[str], within: float = 3.0) -> str:
        start = time.monotonic()
        assert container.call().code == 0
        assert time.monotonic() - start < within
        text = capfd.readouterr().err
        assert text.count("\n") == 1
        assert "its unit was not completed" in text
        return text

    def test_error_reply(self, container: Container, capfd: pytest.CaptureFixture[str]) -> None:
        container.systemd.errors["SetUnitProperties"] = ("org.freedesktop.DBus.Error.AccessDenied", "not for you")
        assert "not for you" in self.outcome(container, capfd)

    def test_gone_unit(self, container: Container, capfd: pytest.CaptureFixture[str]) -> None:
        del container.systemd.units[UNIT]
        self.outcome(container, capfd)

    def test_slow_answers_end_at_two_seconds(self, container: Container, capfd: pytest.CaptureFixture[str]) -> None:
        container.systemd.delay = 0.9
        self.outcome(container, capfd)
        assert container.sent() == []

    def test_hung_bus(self, container: Container, capfd: pytest.CaptureFixture[str]) -> None:
        container.systemd.hang()
        self.outcome(container, capfd)

    def test_dead_bus(self, container: Container, capfd: pytest.CaptureFixture[str]) -> None:
        container.systemd.end_bus()
        self.outcome(container, capfd, 1.0)

    @pytest.mark.parametrize("method", ["Get", "SetUnitProperties"])
    def test_bus_that_dies_in_a_call(
        self, container: Container, capfd: pytest.CaptureFixture[str], method: str
    ) -> None:
        container.systemd.vanish_on = method
        self.outcome(container, capfd)

    def test_refused_with_on_error_fail(self, container: Container) -> None:
        container.values["on_error"] = "fail"
        container.systemd.end_bus()
        assert container.call().code == 3

    def test_property_types_of_another_version(self, container: Container, capfd: pytest.CaptureFixture[str]) -> None:
        container.systemd.units[UNIT]["DeviceAllow"] = ("as", ["/dev/char/195:0"])
        assert container.call().code == 0
        assert container.sent() == []
        assert capfd.readouterr().err.count("\n") == 1
