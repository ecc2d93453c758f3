"""What a program is, from its ELF file: runc, crun, NVIDIA's wrapper, a script; and systemd's version. Runs nothing.

Every file is taken as foreign: whatever is wrong with it makes the answer "unknown", with the reason.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any, NamedTuple

from gpu_oci_hook.core.versions import Version, parse_version
from gpu_oci_hook.host.go_build import GoBuild, go_build
from gpu_oci_hook.host.paths import LINKS_MAX, below

if TYPE_CHECKING:
    from collections.abc import Iterator

RUNC_MODULE = "github.com/opencontainers/runc"
NVIDIA_PROGRAM = "github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-container-runtime"
# crun is C. Its library's name stands in its messages (src/libcrun/error.c, cgroup-systemd.c) or in DT_NEEDED.
CRUN_MARKS = (b"[libcrun:%s]", b"libcrun container", b"libcrun_container_")
SIZE_MAX = 512 << 20
TAGS_MAX = 4096
SYSTEMD = ("/usr/lib/systemd/systemd", "/lib/systemd/systemd")
SHARED = "libsystemd-shared-"

RUNC, CRUN, NVIDIA, GO, OTHER, SCRIPT, UNKNOWN = "runc", "crun", "nvidia", "go", "other", "script", "unknown"


class Program(NamedTuple):
    """``kind`` is one of the words above; ``version`` is there only where the file itself says it; ``reason`` is why
    the kind is unknown, or what a script is run by.
    """

    path: str
    kind: str
    version: Version | None = None
    machine: str = ""
    module: str = ""
    reason: str = ""


def examine(path: str) -> Program:
    """What the program at a path is. Never raises for anything that a file may hold."""
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                return Program(path, UNKNOWN, reason="it is no regular file")
            if state.st_size > SIZE_MAX:
                return Program(path, UNKNOWN, reason=f"it is larger than {SIZE_MAX >> 20} MB")
            return _examine(path, file)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        return Program(path, UNKNOWN, reason=getattr(error, "strerror", None) or str(error))
    except Exception as error:
        # pyelftools raises what its parts raise (struct.error, KeyError, AssertionError, UnicodeDecodeError …).
        return Program(path, UNKNOWN, reason=f"its ELF structure is damaged ({type(error).__name__})")


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO in the place of a program must not hang us


def _examine(path: str, file: Any) -> Program:
    head = file.read(256)
    if head.startswith(b"#!"):
        interpreter = head[2:].partition(b"\n")[0].decode("utf-8", "replace").strip()
        return Program(path, SCRIPT, reason=f"it is run by {interpreter}")
    if not head.startswith(b"\x7fELF"):
        return Program(path, UNKNOWN, reason="it is neither an ELF file nor a script" if head else "it is empty")
    from elftools.elf.elffile import ELFFile

    elf = ELFFile(file)
    machine = str(elf.get_machine_arch())
    if elf["e_type"] not in ("ET_EXEC", "ET_DYN"):
        return Program(path, UNKNOWN, machine=machine, reason="it is no executable")
    build = go_build(elf)
    if build:
        return _go_program(path, machine, build)
    return Program(path, CRUN if _is_crun(elf) else OTHER, machine=machine)


def _go_program(path: str, machine: str, build: GoBuild) -> Program:
    if build.path == RUNC_MODULE:
        return Program(path, RUNC, _module_version(build.version), machine, build.module or build.path)
    kind = NVIDIA if build.path.startswith(NVIDIA_PROGRAM) else GO
    return Program(path, kind, None, machine, build.module or build.path)


def _module_version(text: str) -> Version | None:
    """A Go module's version. ``(devel)`` and pseudo-versions (with a 14-digit time) say nothing about the release."""
    timed = any(len(word) >= 14 and word.isdecimal() for word in text.replace("-", ".").split("."))
    return None if timed or "dirty" in text else parse_version(text)


def _is_crun(elf: Any) -> bool:
    if any(name.startswith("libcrun.so") for name in needed(elf)):
        return True
    section = elf.get_section_by_name(".rodata")
    return bool(section) and not section.compressed and any(mark in section.data() for mark in CRUN_MARKS)


def needed(elf: Any) -> Iterator[str]:
    """The names of the libraries that an ELF file asks for."""
    section = elf.get_section_by_name(".dynamic")
    if section is None or section.header["sh_type"] != "SHT_DYNAMIC":
        return
    for _, tag in zip(range(TAGS_MAX), section.iter_tags()):
        if tag.entry.d_tag == "DT_NEEDED":
            yield str(tag.needed)


def systemd_version(root: str = "/") -> Version | None:
    """The version of the systemd installed below a root, from the name of its private library.

    The library's name has the release, on Fedora the whole package version; systemd 219 has no such library: None.
    """
    for path in SYSTEMD:
        try:
            file_path = resolve_below(root, path)
            with open(file_path, "rb", opener=_open_at_once) as file:
                from elftools.elf.elffile import ELFFile

                names = list(needed(ELFFile(file)))
        except Exception:  # noqa: S112 as in examine(): a damaged or missing file is no answer
            continue
        for name in names:
            if name.startswith(SHARED) and name.endswith(".so"):
                return parse_version(name[len(SHARED) : -len(".so")])
    return None


def resolve_below(root: str, path: str) -> str:
    """Where a path of the host is, as seen from here, with every link on the way taken below the root.

    Raises OSError for a path that does not exist or goes in circles.
    """
    parts = path.split("/")
    resolved = ""
    links = 0
    while parts:
        part = parts.pop(0)
        if part in ("", "."):
            continue
        if part == "..":
            resolved = resolved.rpartition("/")[0]
            continue
        full = below(root, f"{resolved}/{part}")
        if not stat.S_ISLNK(os.lstat(full).st_mode):
            resolved += f"/{part}"
            continue
        links += 1
        if links > LINKS_MAX:
            raise OSError(40, "too many levels of symbolic links", path)
        text = os.readlink(full)
        resolved = "" if text.startswith("/") else resolved
        parts = [*text.split("/"), *parts]
    return below(root, resolved or "/")
