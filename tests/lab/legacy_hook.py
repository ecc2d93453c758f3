#!/usr/bin/python3
"""Stand-in for NVIDIA's legacy prestart hook: grants devices behind the runtime's back, as nvidia-container-cli does.

An OCI prestart hook: the state is on standard input, the arguments are the numbers to grant ("195:0"). On cgroup v1 it
writes each to devices.allow of the container's cgroup. On v2 it replaces the device programs of that cgroup by one that
allows the numbers and runc's default devices. It makes no nodes and loads no driver, unlike the real one.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import struct
import sys

BPF_PROG_LOAD, BPF_PROG_ATTACH, BPF_PROG_DETACH = 5, 8, 9
BPF_PROG_GET_FD_BY_ID, BPF_PROG_QUERY = 13, 16
BPF_PROG_TYPE_CGROUP_DEVICE, BPF_CGROUP_DEVICE, BPF_F_ALLOW_MULTI = 15, 6, 2
SYSCALL = {"x86_64": 321, "aarch64": 280}
# What runc allows in every container, here for any minor of the majors: memory devices, tty and ptmx, pts.
DEFAULT_MAJORS = (1, 5, 136)

Number = tuple[int, int]


def bpf(command: int, attributes: bytes) -> tuple[int, bytes]:
    """Ask the kernel, by bpf in man section 2; return its result and the attributes as the kernel left them."""
    library = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes.ljust(128, b"\0"), 128)
    result = library.syscall(SYSCALL[platform.machine()], command, buffer, ctypes.c_uint(len(attributes)))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"bpf command {command}: {os.strerror(ctypes.get_errno())}")
    return result, buffer.raw


def instruction(code: int, destination: int, source: int, jump: int, value: int) -> bytes:
    """Encode one eBPF instruction (Linux: struct bpf_insn)."""
    return struct.pack("<BBhi", code, (source << 4) | destination, jump, value)


def program(numbers: list[Number]) -> bytes:
    """Return the code: 1 (allow) for the numbers, the default majors and any mknod, 0 (deny) for all else."""
    allow = instruction(0xB7, 0, 0, 0, 1) + instruction(0x95, 0, 0, 0, 0)
    # struct bpf_cgroup_dev_ctx: access_type, major, minor, 32 bits each; r1 points to it.
    code = instruction(0x61, 2, 1, 4, 0) + instruction(0x61, 3, 1, 8, 0)
    # The access is in the upper half of access_type; runc allows mknod (1) of everything.
    code += instruction(0x61, 4, 1, 0, 0) + instruction(0x77, 4, 0, 0, 16) + instruction(0x55, 4, 0, 2, 1) + allow
    for major in DEFAULT_MAJORS:
        code += instruction(0x55, 2, 0, 2, major) + allow
    for major, minor in numbers:
        code += instruction(0x55, 2, 0, 3, major) + instruction(0x55, 3, 0, 2, minor) + allow
    return code + instruction(0xB7, 0, 0, 0, 0) + instruction(0x95, 0, 0, 0, 0)


def load(code: bytes) -> int:
    """Load a device program and return its descriptor."""
    text, license = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(b"GPL")
    attributes = struct.pack(
        "<IIQQ", BPF_PROG_TYPE_CGROUP_DEVICE, len(code) // 8, ctypes.addressof(text), ctypes.addressof(license)
    )
    return bpf(BPF_PROG_LOAD, attributes)[0]


def attached(cgroup: int) -> list[int]:
    """Return descriptors of the device programs that are attached to a cgroup."""
    identifiers = (ctypes.c_uint32 * 64)()
    attributes = struct.pack("<IIIIQI", cgroup, BPF_CGROUP_DEVICE, 0, 0, ctypes.addressof(identifiers), 64)
    _, answer = bpf(BPF_PROG_QUERY, attributes)
    count = struct.unpack_from("<I", answer, 24)[0]
    return [bpf(BPF_PROG_GET_FD_BY_ID, struct.pack("<III", identifiers[i], 0, 0))[0] for i in range(count)]


def grant_v2(cgroup_path: str, numbers: list[Number]) -> None:
    """Replace the cgroup's device programs; all that are attached must allow, so one more would widen nothing."""
    cgroup = os.open(cgroup_path, os.O_RDONLY | os.O_DIRECTORY)
    old = attached(cgroup)
    new = load(program(numbers))
    bpf(BPF_PROG_ATTACH, struct.pack("<IIII", cgroup, new, BPF_CGROUP_DEVICE, BPF_F_ALLOW_MULTI))
    for descriptor in old:
        bpf(BPF_PROG_DETACH, struct.pack("<III", cgroup, descriptor, BPF_CGROUP_DEVICE))


def grant_v1(cgroup_path: str, numbers: list[Number]) -> None:
    """Add each number to the cgroup's list, with the access that NVIDIA's hook gives."""
    for major, minor in numbers:
        with open(f"{cgroup_path}/devices.allow", "w", encoding="ascii") as allow:
            allow.write(f"c {major}:{minor} rw")


def cgroup_of(process: int) -> tuple[str, str]:
    """Return "v1" or "v2" and the directory of a process's cgroup, the one that decides about devices."""
    with open(f"/proc/{process}/cgroup", encoding="utf-8") as lines:
        entries = [line.rstrip("\n").split(":", 2) for line in lines]
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        return "v2", "/sys/fs/cgroup" + next(path for _, controllers, path in entries if controllers == "")
    path = next(path for _, controllers, path in entries if "devices" in controllers.split(","))
    return "v1", "/sys/fs/cgroup/devices" + path


def main() -> None:
    """Read the state and grant what the arguments name."""
    process = json.load(sys.stdin)["pid"]
    numbers = [(int(major), int(minor)) for major, _, minor in (argument.partition(":") for argument in sys.argv[1:])]
    version, path = cgroup_of(process)
    (grant_v1 if version == "v1" else grant_v2)(path, numbers)


if __name__ == "__main__":
    main()
