"""A blocking D-Bus connection whose every step has a deadline.

jeepney gives the wire format. Its own blocking connection says Hello, and sends, without any time limit (0.6 to 0.9,
jeepney/io/blocking.py): a hung bus would hang a container's start with it.
"""

from __future__ import annotations

import socket
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from jeepney.auth import BEGIN, make_auth_external
from jeepney.bus_messages import message_bus
from jeepney.low_level import HeaderFields, MessageType, Parser

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jeepney.low_level import Message

# dbus-daemon lets one connection wait for 128 replies on the system bus (max_replies_per_connection before 1.11).
BATCH = 100


class BusError(Exception):
    """A call to systemd failed; ``message`` says how, ``hint`` what may help."""

    code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NoBusError(BusError):
    """Nobody listens: no such socket, or it refuses us."""


class BusTimeoutError(BusError):
    """No answer within the deadline."""


class BusGoneError(BusError):
    """The connection broke; whether a call that was on its way took effect is not known."""


class RefusedError(BusError):
    """An error reply. ``name`` is its D-Bus name, such as org.freedesktop.systemd1.NoSuchUnit."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message or name, name)
        self.name = name


class Bus:
    """One connection. Not for use by several threads."""

    def __init__(self, path: str, hello: bool, timeout: float) -> None:
        """Connect to the socket at ``path``; a message bus wants a hello, systemd's private socket none.

        Raises NoBusError, BusTimeoutError or BusGoneError.
        """
        self.path = path
        self.signals: deque[Message] = deque(maxlen=10000)
        self._parser = Parser()
        self._serial = 0
        self._socket = socket.socket(socket.AF_UNIX)
        deadline = time.monotonic() + timeout
        try:
            self._connect(deadline)
            if hello:
                self.call(message_bus.Hello(), deadline - time.monotonic())
        except BaseException:
            self._socket.close()
            raise

    def _connect(self, deadline: float) -> None:
        try:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            self._socket.connect(self.path)
        except OSError as error:
            raise NoBusError(
                f"{self.path}: {error.strerror or error}", "is systemd running, and are you root?"
            ) from error
        # BEGIN goes along, as sd-bus clients send it: an sd-bus server (systemd's private socket) that reads BEGIN
        # together with the first call leaves that call lying until more data comes (systemd 252, bus-socket.c).
        self._send(b"\0" + make_auth_external() + BEGIN, deadline)
        answer = b""
        while not answer.endswith(b"\r\n"):
            answer += self._receive(deadline)
        if not answer.startswith(b"OK "):
            raise NoBusError(f"{self.path}: the bus refuses this user", "run it as root")

    def call(self, message: Message, timeout: float) -> tuple[Any, ...]:
        """Send a method call and give back the body of its reply.

        Raises RefusedError for an error reply, BusTimeoutError, BusGoneError.
        """
        body = self.call_all([message], timeout)[0]
        if isinstance(body, RefusedError):
            raise body
        return body

    def call_all(self, messages: Sequence[Message], timeout: float) -> list[tuple[Any, ...] | RefusedError]:
        """Send many calls before waiting for their replies, which come in the calls' order.

        An error reply stands in its place as a RefusedError. Raises BusTimeoutError, BusGoneError.
        """
        deadline = time.monotonic() + timeout
        bodies: list[tuple[Any, ...] | RefusedError] = []
        for start in range(0, len(messages), BATCH):
            bodies += self._call_batch(messages[start : start + BATCH], deadline)
        return bodies

    def _call_batch(self, messages: Sequence[Message], deadline: float) -> list[tuple[Any, ...] | RefusedError]:
        first = self._serial + 1
        self._serial += len(messages)
        data = b"".join(message.serialise(serial=first + i) for i, message in enumerate(messages))
        self._send(data, deadline)
        replies: dict[int, tuple[Any, ...] | RefusedError] = {}
        while len(replies) < len(messages):
            message = self._next_message(deadline)
            serial = message.header.fields.get(HeaderFields.reply_serial, 0)
            if message.header.message_type is MessageType.signal:
                self.signals.append(message)
            elif first <= serial <= self._serial:  # an earlier one answers a call that was given up
                replies[serial - first] = _body(message)
        return [replies[i] for i in range(len(messages))]

    def next_signal(self, timeout: float) -> Message | None:
        """The next signal, or None if there is none within ``timeout`` seconds. Raises BusGoneError."""
        deadline = time.monotonic() + timeout
        while not self.signals:
            try:
                message = self._next_message(deadline)
            except BusTimeoutError:
                return None
            if message.header.message_type is MessageType.signal:
                self.signals.append(message)
        return self.signals.popleft()

    def _next_message(self, deadline: float) -> Message:
        message = self._parser.get_next_message()
        while message is None:
            self._parser.add_data(self._receive(deadline))
            message = self._parser.get_next_message()
        return message

    def _send(self, data: bytes, deadline: float) -> None:
        try:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            self._socket.sendall(data)
        except socket.timeout as error:
            raise BusTimeoutError(f"{self.path}: the bus takes no more data") from error
        except OSError as error:
            raise BusGoneError(f"{self.path}: the connection broke ({error.strerror})") from error

    def _receive(self, deadline: float) -> bytes:
        try:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            data = self._socket.recv(65536)
        except socket.timeout as error:
            raise BusTimeoutError(
                f"{self.path}: no answer in time", "systemd may be busy or hung; try again"
            ) from error
        except OSError as error:
            raise BusGoneError(f"{self.path}: the connection broke ({error.strerror})") from error
        if not data:
            raise BusGoneError(
                f"{self.path}: the connection was closed", "the bus or systemd is being restarted; try again"
            )
        return data

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()


def _body(message: Message) -> tuple[Any, ...] | RefusedError:
    if message.header.message_type is not MessageType.error:
        return tuple(message.body)
    text = message.body[0] if message.body and isinstance(message.body[0], str) else ""
    return RefusedError(message.header.fields.get(HeaderFields.error_name, ""), text)
