"""host/systemd.py and host/bus.py against a fake on a real dbus-daemon: what goes wrong with a bus."""

from __future__ import annotations

import time

import pytest

from gpu_oci_hook.host import bus, systemd
from tests.fake_systemd import FakeSystemd, fake_systemd

__all__ = ["fake_systemd"]
UNIT = "docker-0a1b.scope"
GPU = [("/dev/char/195:0", "rw"), ("/dev/char/195:255", "rw")]


def manager(fake: FakeSystemd, timeout: float = 5.0) -> systemd.Manager:
    return systemd.Manager(fake.root, timeout)


def test_properties_of_a_unit(fake_systemd: FakeSystemd) -> None:
    fake_systemd.add_scope(UNIT, [("/dev/char/1:3", "rwm"), ("char-pts", "rwm")], pid=4711)
    with manager(fake_systemd) as systemd_:
        assert systemd_.version() == "252.39-1~deb12u1"
        assert systemd_.unit_of(4711) == UNIT
        assert systemd_.devices(UNIT) == systemd.UnitDevices(
            UNIT, "strict", (("/dev/char/1:3", "rwm"), ("char-pts", "rwm")), ()
        )
        assert systemd_.is_loaded(UNIT)
        assert not systemd_.is_loaded("gone.scope")


def test_many_units_in_one_go_keep_their_order(fake_systemd: FakeSystemd) -> None:
    names = [f"docker-{i}.scope" for i in range(250)]
    for i, name in enumerate(names):
        fake_systemd.add_scope(name, [(f"/dev/char/195:{i}", "rw")])
    with manager(fake_systemd) as systemd_:
        found = systemd_.devices_of([*names[:100], "gone.scope", *names[100:]])
    assert isinstance(found.pop(100), bus.RefusedError)
    assert [unit.allow[0][0] for unit in found if isinstance(unit, systemd.UnitDevices)] == [
        f"/dev/char/195:{i}" for i in range(250)
    ]


def test_bpf_program_is_asked_for_where_there_is_no_list(fake_systemd: FakeSystemd) -> None:
    fake_systemd.add_scope(UNIT, [], "auto")
    fake_systemd.units[UNIT]["BPFProgram"] = ("a(ss)", [("device", "/sys/fs/bpf/crun/x_scope")])
    with manager(fake_systemd) as systemd_:
        assert systemd_.devices(UNIT).bpf_programs == (("device", "/sys/fs/bpf/crun/x_scope"),)


def test_systemd_without_bpf_program(fake_systemd: FakeSystemd) -> None:
    """Systemd < 249 has no such property."""
    fake_systemd.add_scope(UNIT, [], "auto")
    del fake_systemd.units[UNIT]["BPFProgram"]
    with manager(fake_systemd) as systemd_:
        assert systemd_.devices(UNIT).bpf_programs == ()


def test_set_device_allow_is_one_call_without_policy(fake_systemd: FakeSystemd) -> None:
    fake_systemd.add_scope(UNIT, [("char-pts", "rwm")])
    with manager(fake_systemd) as systemd_:
        systemd_.set_device_allow(UNIT, GPU)
        assert set(systemd_.devices(UNIT).allow) == {*GPU, ("char-pts", "rwm")}
    calls = [arguments for method, arguments in fake_systemd.calls if method == "SetUnitProperties"]
    assert calls == [(UNIT, True, [("DeviceAllow", ("a(ss)", GPU))])]


def test_an_empty_list_is_never_sent(fake_systemd: FakeSystemd) -> None:
    with manager(fake_systemd) as systemd_, pytest.raises(ValueError, match="empty DeviceAllow"):
        systemd_.set_device_allow(UNIT, [])
    assert "SetUnitProperties" not in [method for method, _ in fake_systemd.calls]


def test_error_reply(fake_systemd: FakeSystemd) -> None:
    fake_systemd.errors["SetUnitProperties"] = ("org.freedesktop.DBus.Error.AccessDenied", "Permission denied")
    with manager(fake_systemd) as systemd_, pytest.raises(bus.RefusedError, match="Permission denied") as caught:
        systemd_.set_device_allow(UNIT, GPU)
    assert caught.value.name == "org.freedesktop.DBus.Error.AccessDenied"


def test_unit_that_is_gone(fake_systemd: FakeSystemd) -> None:
    with manager(fake_systemd) as systemd_, pytest.raises(bus.RefusedError) as caught:
        systemd_.set_device_allow(UNIT, GPU)
    assert caught.value.name == systemd.NO_SUCH_UNIT


def test_slow_answer_ends_at_the_deadline_and_does_not_answer_the_next_call(fake_systemd: FakeSystemd) -> None:
    fake_systemd.add_scope(UNIT, GPU)
    with manager(fake_systemd, 0.2) as systemd_:
        fake_systemd.delay = 0.5
        start = time.monotonic()
        with pytest.raises(bus.BusTimeoutError):
            systemd_.version()
        assert time.monotonic() - start < 0.4
        fake_systemd.delay = 0.0
        systemd_.timeout = 5.0
        assert systemd_.devices(UNIT).policy == "strict"


def test_hung_bus_is_noticed_when_connecting(fake_systemd: FakeSystemd) -> None:
    fake_systemd.hang()
    start = time.monotonic()
    with pytest.raises(bus.BusTimeoutError):
        manager(fake_systemd, 0.2)
    assert time.monotonic() - start < 1


def test_bus_that_dies_in_the_middle_of_a_call(fake_systemd: FakeSystemd) -> None:
    fake_systemd.vanish_on = "SetUnitProperties"
    with manager(fake_systemd) as systemd_, pytest.raises(bus.BusGoneError):
        systemd_.set_device_allow(UNIT, GPU)


def test_no_bus_at_all(tmp_path) -> None:
    with pytest.raises(bus.NoBusError, match="systemd cannot be reached") as caught:
        systemd.Manager(str(tmp_path))
    assert "root" in caught.value.hint


def test_signals(fake_systemd: FakeSystemd) -> None:
    with manager(fake_systemd) as systemd_:
        systemd_.subscribe(["Reloading"])
        fake_systemd.emit("UnitNew", "so", "a.scope", "/a")
        fake_systemd.emit("Reloading", "b", True)
        assert systemd_.next_signal(5) == ("Reloading", (True,))
        assert systemd_.next_signal(0.05) is None
        fake_systemd.emit("Reloading", "b", False)
        systemd_.version()  # a signal that comes between call and reply is kept
        assert systemd_.next_signal(0) == ("Reloading", (False,))


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("docker-0a.scope", "docker_2d0a_2escope"),
        ("0a.scope", "_30a_2escope"),
        ("a@b.service", "a_40b_2eservice"),
        ("ü.scope", "_c3_bc_2escope"),
        ("a_b.slice", "a_5fb_2eslice"),
    ],
)
def test_object_paths(name: str, label: str) -> None:
    """Taken from systemd 252's own answers to GetUnit."""
    assert systemd.unit_object(name) == systemd.UNIT_PATH + label
    assert systemd.unit_name(systemd.UNIT_PATH + label) == name
