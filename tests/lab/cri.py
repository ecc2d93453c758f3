"""A small client of the Container Runtime Interface, as kubelet is one: gRPC on containerd's socket, version v1.

Messages are plain dicts {field number: value}; the numbers are those of cri-api's api.proto (kubernetes/cri-api v0.25).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import grpc

from tests.lab.machine import Machine

SOCKET = "/run/containerd/containerd.sock"
# containerd tells systemd that it is ready before its CRI plugin is, and the plugin refuses calls with these words.
NOT_YET = "server is not initialized yet"
START = 30.0  # seconds
NODE = 2  # NamespaceMode.NODE: the host's own network, so that no CNI plugin is needed
Message = dict[int, Any]


class Cri:
    """containerd's CRI plugin in a lab; a socket with a path can be reached from outside of its network namespace."""

    def __init__(self, machine: Machine) -> None:
        self.channel = grpc.insecure_channel(f"unix:{machine.path(SOCKET)}")

    def call(self, method: str, message: Message) -> dict[int, Any]:
        """Call one method; the answer's fields, nested messages as bytes. Raises grpc.RpcError."""
        function = self.channel.unary_unary(
            f"/runtime.v1.RuntimeService/{method}", request_serializer=encode, response_deserializer=decode
        )
        until = time.monotonic() + START
        while True:
            try:
                answer: dict[int, Any] = function(message, timeout=60, wait_for_ready=True)
            except grpc.RpcError as error:
                if NOT_YET not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.1)
            else:
                return answer

    def run_pod(self, name: str, runtime: str, cgroup_parent: str) -> tuple[str, Message]:
        """Start a pod's sandbox with a runtime (empty: the default one); its id and its configuration."""
        config: Message = {
            1: {1: name, 2: f"uid-{name}", 3: "default"},
            3: f"/var/log/pods/{name}",
            8: {1: cgroup_parent, 2: {1: {1: NODE, 2: 1, 3: 1}}},
        }
        answer = self.call("RunPodSandbox", {1: config, 2: runtime})
        return str(answer[1], "utf-8"), config

    def start_container(self, pod: str, pod_config: Message, image: str, devices: list[str], command: list[str]) -> str:
        """Create and start a container in a pod, with devices as a device plugin gives them (permissions rw)."""
        config = {
            1: {1: "main"},
            2: {1: image},
            3: command,
            8: [{1: path, 2: path, 3: "rw"} for path in devices],
            11: "main.log",
            15: {},
        }
        created = str(self.call("CreateContainer", {1: pod, 2: config, 3: pod_config})[1], "utf-8")
        self.call("StartContainer", {1: created})
        return created

    def execute(self, container: str, command: list[str]) -> str:
        """Run a command in a container; both its outputs."""
        answer = self.call("ExecSync", {1: container, 2: command, 3: 30})
        return b"".join((answer.get(1, b""), answer.get(2, b""))).decode()

    def remove_pod(self, pod: str) -> None:
        self.call("StopPodSandbox", {1: pod})
        self.call("RemovePodSandbox", {1: pod})


def encode(message: Message) -> bytes:
    """A message in protobuf's wire format: integers as varints, text and messages with their length before them."""
    return b"".join(
        _field(number, each)
        for number, value in message.items()
        for each in (value if isinstance(value, list) else [value])
    )


def _field(number: int, value: Any) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = encode(value) if isinstance(value, dict) else value.encode()
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def decode(data: bytes) -> dict[int, Any]:
    """The fields of a message; of a number that stands more than once, the last."""
    found: dict[int, Any] = {}
    rest = iter(data)
    for tag in _varints(rest):
        value = next(_varints(rest))
        found[tag >> 3] = bytes(next(rest) for _ in range(value)) if tag & 7 == 2 else value
    return found


def _varints(rest: Iterator[int]) -> Iterator[int]:
    for byte in rest:
        value, shift = byte & 0x7F, 7
        while byte & 0x80:
            byte = next(rest)
            value |= (byte & 0x7F) << shift
            shift += 7
        yield value
