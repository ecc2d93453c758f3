"""A fake org.freedesktop.systemd1 on a dbus-daemon of its own, for what a real systemd does not do on demand.

Errors, slow answers, broken connections, and the property types of old versions. What systemd does with devices is
tested in the lab, against the real one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from jeepney.auth import BEGIN, make_auth_external
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import DBusConnection
from jeepney.low_level import HeaderFields, Message, MessageType
from jeepney.wrappers import DBusAddress, new_error, new_method_return, new_signal

from gpu_oci_hook.host import systemd

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={socket}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_destination="*" eavesdrop="true"/>
<allow eavesdrop="true"/></policy></busconfig>
"""


class FakeSystemd:
    """``root`` is the host root under which its bus is found.

    Set before a call: ``units`` (name → properties as (signature, value)), ``pids`` (pid → unit), ``errors`` (method →
    (D-Bus error name, text)), ``delay`` in seconds, ``vanish_on`` (the method at which the bus dies). ``calls`` has
    what was called, as (method, arguments).
    """

    def __init__(self, root: pathlib.Path) -> None:
        self.root = str(root)
        self.version = "252.39-1~deb12u1"
        self.units: dict[str, dict[str, tuple[str, Any]]] = {}
        self.pids: dict[int, str] = {}
        self.errors: dict[str, tuple[str, str]] = {}
        self.delay = 0.0
        self.vanish_on = ""
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        directory = root / "run/dbus"
        directory.mkdir(parents=True)
        self.socket = str(directory / "system_bus_socket")
        config = root / "bus.conf"
        config.write_text(CONFIG.format(socket=self.socket))
        program = shutil.which("dbus-daemon")
        assert program
        self.daemon = subprocess.Popen([program, "--nofork", f"--config-file={config}"], stderr=subprocess.DEVNULL)
        self.connection = _connect(self.socket)
        self.connection.send_and_get_reply(message_bus.RequestName(systemd.SERVICE))
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def add_scope(self, name: str, allow: list[tuple[str, str]], policy: str = "strict", pid: int = 0) -> None:
        self.units[name] = {"DeviceAllow": ("a(ss)", allow), "DevicePolicy": ("s", policy), "BPFProgram": ("a(ss)", [])}
        if pid:
            self.pids[pid] = name

    def emit(self, name: str, signature: str, *arguments: Any) -> None:
        """Send one of the manager's signals."""
        emitter = DBusAddress(systemd.MANAGER_PATH, systemd.SERVICE, f"{systemd.SERVICE}.Manager")
        self.connection.send(new_signal(emitter, name, signature, arguments))

    def end_bus(self) -> None:
        """The bus dies, with all its connections."""
        self.daemon.kill()
        self.daemon.wait()

    def hang(self) -> None:
        """The bus takes connections and answers nothing."""
        os.kill(self.daemon.pid, signal.SIGSTOP)

    def close(self) -> None:
        self.end_bus()
        self.thread.join(5)
        self.connection.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                message = self.connection.receive()
                if message.header.message_type is MessageType.method_call:
                    self._answer(message)

    def _answer(self, message: Message) -> None:
        method = message.header.fields[HeaderFields.member]
        self.calls.append((method, message.body))
        if method == self.vanish_on:
            self.end_bus()
            return
        time.sleep(self.delay)
        error = self.errors.get(method)
        if error:
            self.connection.send(new_error(message, error[0], "s", (error[1],)))
            return
        try:
            signature, body = getattr(self, f"_on_{method}")(message)
        except KeyError:
            text = f"Unit {message.body} not loaded."
            self.connection.send(new_error(message, systemd.NO_SUCH_UNIT, "s", (text,)))
        else:
            self.connection.send(new_method_return(message, signature, body))

    def _on_Get(self, message: Message) -> tuple[str, tuple[Any, ...]]:
        path = message.header.fields[HeaderFields.path]
        interface, name = message.body
        if interface.endswith(".Manager"):
            return "v", (("s", self.version),)
        return "v", (self.units[systemd.unit_name(path)][name],)

    def _on_GetUnit(self, message: Message) -> tuple[str, tuple[str]]:
        self.units[message.body[0]]
        return "o", (systemd.unit_object(message.body[0]),)

    def _on_GetUnitByPID(self, message: Message) -> tuple[str, tuple[str]]:
        return "o", (systemd.unit_object(self.pids[message.body[0]]),)

    def _on_Subscribe(self, message: Message) -> tuple[str, tuple[()]]:
        return "", ()

    def _on_SetUnitProperties(self, message: Message) -> tuple[str, tuple[()]]:
        """As dbus-cgroup.c: an empty list resets, the same path takes new permissions, others are put in front."""
        name, _, properties = message.body
        unit = self.units[name]
        for key, (signature, value) in properties:
            old = dict(unit[key][1]) if key == "DeviceAllow" and value else {}
            if key != "DeviceAllow":
                unit[key] = (signature, value)
                continue
            for path, permissions in value:
                old = {path: permissions, **old} if path not in old else {**old, path: permissions}
            unit[key] = ("a(ss)", list(old.items()))
        return "", ()


def _connect(path: str) -> DBusConnection:
    """Connect once dbus-daemon listens, which is a moment after its socket has appeared."""
    for _ in range(500):
        with contextlib.suppress(OSError):
            return DBusConnection(_authenticated(path))
        time.sleep(0.01)
    raise TimeoutError("dbus-daemon does not start")


def _authenticated(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    connection.sendall(b"\0" + make_auth_external())
    assert connection.recv(1024).startswith(b"OK ")
    connection.sendall(BEGIN)
    return connection


@pytest.fixture
def fake_systemd(tmp_path: pathlib.Path) -> Iterator[FakeSystemd]:
    if not shutil.which("dbus-daemon"):
        pytest.skip("dbus-daemon is not installed")
    fake = FakeSystemd(tmp_path)
    try:
        yield fake
    finally:
        fake.close()
