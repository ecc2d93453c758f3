"""The system's systemd over D-Bus: which unit a process is in, its device properties, and changing them.

Interface: org.freedesktop.systemd1(5), src/core/dbus-manager.c, dbus-cgroup.c. All calls have a deadline. jeepney is
imported when a Manager is made, so that who needs no systemd does not pay for it.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from jeepney.low_level import Message

    from gpu_oci_hook.host.bus import Bus

    Properties = Sequence[tuple[str, tuple[str, Any]]]  # (name, (signature, value)), in the order of their setting

# As systemctl does it for root: systemd's own socket first, which needs no bus and takes half the time of the bus
# (500 units' properties: 0.19 s against 0.35 s, systemd 252); then the system bus.
SOCKETS = (("/run/systemd/private", False), ("/run/dbus/system_bus_socket", True))
SERVICE = "org.freedesktop.systemd1"
MANAGER_PATH = "/org/freedesktop/systemd1"
UNIT_PATH = f"{MANAGER_PATH}/unit/"
NO_SUCH_UNIT = f"{SERVICE}.NoSuchUnit"
TIMEOUT = 5.0  # seconds; a daemon-reload keeps systemd busy for up to 0.9 s with 200 scopes
MANAGER_SIGNALS = ("Reloading", "JobRemoved", "UnitNew", "UnitRemoved")


class UnitDevices(NamedTuple):
    """What a unit says about devices, as loaded now.

    ``allow`` has (path or group, permissions) in systemd's order; ``bpf_programs`` (attach type, bpffs path), empty on
    systemd < 249, which has no such property.
    """

    unit: str
    policy: str
    allow: tuple[tuple[str, str], ...]
    bpf_programs: tuple[tuple[str, str], ...]


class Manager:
    """A connection to the systemd of the host below ``root``.

    Its methods raise bus.BusError: bus.BusTimeoutError, bus.BusGoneError (the connection broke; make a new Manager),
    bus.RefusedError (an error of systemd's; ``name`` NO_SUCH_UNIT when the unit has gone).
    """

    def __init__(self, root: str = "/", timeout: float = TIMEOUT, for_signals: bool = False) -> None:
        """Connect. ``timeout`` in seconds is for this and for each call.

        ``for_signals``: by the system bus if there is one, which passes on only what is subscribed to.
        Raises bus.NoBusError where neither a system bus nor systemd listens, BusTimeoutError, BusGoneError.
        """
        self.timeout = timeout
        self.bus, self.has_bus = _connect(root, timeout, SOCKETS[::-1] if for_signals else SOCKETS)

    def __enter__(self) -> Manager:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.bus.close()

    def version(self) -> str:
        """As systemd says it: ``252.39-1~deb12u1``, ``219``, ``v245.4``."""
        return str(self._property(MANAGER_PATH, f"{SERVICE}.Manager", "Version"))

    def unit_of(self, pid: int) -> str:
        """The unit of a process, by systemd's own books. Raises bus.RefusedError (no such process, or no unit)."""
        path = self._call(MANAGER_PATH, f"{SERVICE}.Manager", "GetUnitByPID", "u", (pid,))[0]
        return unit_name(path)

    def is_loaded(self, unit: str) -> bool:
        """Whether systemd has the unit. Asking for a property of one that is gone would load an empty one."""
        from gpu_oci_hook.host import bus

        try:
            self._call(MANAGER_PATH, f"{SERVICE}.Manager", "GetUnit", "s", (unit,))
        except bus.RefusedError as error:
            if error.name == NO_SUCH_UNIT:
                return False
            raise
        return True

    def devices(self, unit: str) -> UnitDevices:
        """The device properties of a unit. Raises bus.RefusedError for a unit that has none, such as a target."""
        found = self.devices_of([unit])[0]
        if isinstance(found, UnitDevices):
            return found
        raise found

    def devices_of(self, units: Sequence[str]) -> list[UnitDevices | Exception]:
        """The device properties of many units in one go; a bus.RefusedError stands for a unit that cannot be asked."""
        policies = self._get_all(units, "DevicePolicy")
        lists = self._get_all(units, "DeviceAllow")
        # crun >= 1.23 sets BPFProgram in place of DeviceAllow; where there is a list, one question less is asked.
        bare = [unit for unit, allow in zip(units, lists) if allow == []]
        programs = dict(zip(bare, self._get_all(bare, "BPFProgram")))
        return [
            _unit_devices(unit, policy, allow, programs.get(unit, []))
            for unit, policy, allow in zip(units, policies, lists)
        ]

    def lists_of(self, units: Sequence[str]) -> list[tuple[tuple[str, str], ...]]:
        """DeviceAllow alone of many units in one go; empty for one that cannot be asked."""
        answers = self._get_all(units, "DeviceAllow")
        return [() if isinstance(answer, Exception) else _pairs(answer) for answer in answers]

    def _get_all(self, units: Sequence[str], name: str) -> list[Any]:
        """One property of many units; a bus.RefusedError in the place of one that has no such property."""
        messages = [
            self._message(unit_object(unit), "org.freedesktop.DBus.Properties", "Get", "ss", (interface(unit), name))
            for unit in units
        ]
        answers = self.bus.call_all(messages, self.timeout)
        return [answer if isinstance(answer, Exception) else answer[0][1] for answer in answers]

    def property(self, unit: str, name: str) -> Any:
        """One property of a unit's own interface (``Delegate``, ``ControlGroup``, ``Slice``)."""
        return self._property(unit_object(unit), interface(unit), name)

    def set_device_allow(self, unit: str, entries: Sequence[tuple[str, str]]) -> None:
        """Add entries to a unit's DeviceAllow, at run time only, in one call; systemd applies them before it answers.

        Entries are (path or group, permissions); those of the unit stay, the same path takes the new permissions
        (src/core/dbus-cgroup.c). DevicePolicy is not sent: before DeviceAllow it makes systemd ask for a daemon-reload
        (systemd >= 230), and it does not change. An empty list would reset the unit's; ValueError.
        On systemd < 240 an entry whose path cannot be stat'ed is taken, kept, and not applied: check first, and after.
        """
        problem = self.set_all([(unit, device_allow(entries))])[0]
        if problem:
            raise problem

    def set_all(self, changes: Sequence[tuple[str, Properties]]) -> list[Exception | None]:
        """SetUnitProperties(unit, runtime=true, properties) for many units, sent together, answered in their order.

        A bus.RefusedError stands in the place of a unit that systemd refused to change.
        """
        messages = [
            self._message(
                MANAGER_PATH, f"{SERVICE}.Manager", "SetUnitProperties", "sba(sv)", (unit, True, list(properties))
            )
            for unit, properties in changes
        ]
        answers = self.bus.call_all(messages, self.timeout)
        return [answer if isinstance(answer, Exception) else None for answer in answers]

    def subscribe(self, signals: Sequence[str] = MANAGER_SIGNALS) -> None:
        """From now on let systemd send these of its signals.

        A reload sends UnitRemoved and UnitNew for every unit of the host; who waits for Reloading alone should say so.
        """
        from jeepney.bus_messages import MatchRule, message_bus

        if self.has_bus:
            for member in signals:
                rule = MatchRule(
                    type="signal", sender=SERVICE, interface=f"{SERVICE}.Manager", member=member, path=MANAGER_PATH
                )
                self.bus.call(message_bus.AddMatch(rule), self.timeout)
        self._call(MANAGER_PATH, f"{SERVICE}.Manager", "Subscribe")

    def next_signal(self, timeout: float) -> tuple[str, tuple[Any, ...]] | None:
        """The next of the manager's signals as (name, arguments); None if none came within ``timeout`` seconds."""
        from jeepney.low_level import HeaderFields

        deadline = time.monotonic() + timeout
        while True:
            message = self.bus.next_signal(max(0.0, deadline - time.monotonic()))
            if message is None:
                return None
            name = message.header.fields.get(HeaderFields.member, "")
            if name in MANAGER_SIGNALS:
                return name, tuple(message.body)

    def _property(self, path: str, interface_name: str, name: str) -> Any:
        return self._call(path, "org.freedesktop.DBus.Properties", "Get", "ss", (interface_name, name))[0][1]

    def _call(
        self, path: str, interface_name: str, method: str, signature: str = "", body: tuple[Any, ...] = ()
    ) -> tuple[Any, ...]:
        return self.bus.call(self._message(path, interface_name, method, signature, body), self.timeout)

    def _message(
        self, path: str, interface_name: str, method: str, signature: str = "", body: tuple[Any, ...] = ()
    ) -> Message:
        from jeepney.wrappers import DBusAddress, new_method_call

        address = DBusAddress(path, SERVICE, interface_name)
        return new_method_call(address, method, signature or None, body)


def device_allow(entries: Sequence[tuple[str, str]]) -> Properties:
    """The property DeviceAllow with entries to add. Raises ValueError for none: that would empty the unit's list."""
    if not entries:
        raise ValueError("an empty DeviceAllow takes all devices from the unit")
    return [("DeviceAllow", ("a(ss)", list(entries)))]


def _connect(root: str, timeout: float, sockets: Sequence[tuple[str, bool]]) -> tuple[Bus, bool]:
    from gpu_oci_hook.host import bus

    deadline = time.monotonic() + timeout
    problems: list[bus.BusError] = []
    for path, hello in sockets:
        try:
            socket = os.path.join(root, path.lstrip("/"))
            return bus.Bus(socket, hello, max(0.001, deadline - time.monotonic())), hello
        except bus.BusError as error:
            problems.append(error)
    for problem in problems:
        if not isinstance(problem, bus.NoBusError):
            raise problem
    raise bus.NoBusError(
        "systemd cannot be reached: " + "; ".join(problem.message for problem in problems),
        "without systemd no container loses its GPUs by a reload; otherwise run this as root on the host",
    )


def _unit_devices(unit: str, policy: Any, allow: Any, programs: Any) -> UnitDevices | Exception:
    for answer in (policy, allow):
        if isinstance(answer, Exception):
            return answer
    return UnitDevices(unit, str(policy), _pairs(allow), () if isinstance(programs, Exception) else _pairs(programs))


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    return tuple((str(first), str(second)) for first, second in value)


def interface(unit: str) -> str:
    """The D-Bus interface with a unit's cgroup properties: ``org.freedesktop.systemd1.Scope`` for a scope."""
    return f"{SERVICE}.{unit.rpartition('.')[2].capitalize()}"


def unit_object(unit: str) -> str:
    """A unit's object path (sd-bus' bus_label_escape: all but letters and digits as _XX, a leading digit as well)."""
    escaped = "".join(
        character if character.isalnum() and character.isascii() and (i or not character.isdigit()) else _hex(character)
        for i, character in enumerate(unit)
    )
    return UNIT_PATH + (escaped or "_")


def _hex(character: str) -> str:
    return "".join(f"_{byte:02x}" for byte in character.encode())


def unit_name(path: str) -> str:
    """The unit that an object path stands for."""
    label = path.rpartition("/")[2]
    first, *rest = label.split("_")
    data = first.encode() + b"".join(bytes([int(part[:2], 16)]) + part[2:].encode() for part in rest if part)
    return data.decode("utf-8", "replace")
