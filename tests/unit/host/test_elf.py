from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from gpu_oci_hook.core.versions import Version
from gpu_oci_hook.host import elf
from tests.unit.host import elf_files


def write(folder: Path, content: bytes, name: str = "program") -> str:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    file.chmod(0o755)
    return str(file)


@pytest.mark.parametrize("make", [elf_files.go_inline, elf_files.go_pointers])
@pytest.mark.parametrize(
    ("path", "version", "kind", "expected"),
    [
        (elf.RUNC_MODULE, "", elf.RUNC, None),
        (elf.RUNC_MODULE, "(devel)", elf.RUNC, None),
        (elf.RUNC_MODULE, "v1.3.6", elf.RUNC, Version((1, 3, 6))),
        (elf.RUNC_MODULE, "v1.1.6-0.20230401120000-0123456789ab", elf.RUNC, None),
        (elf.RUNC_MODULE, "v1.1.6+dirty", elf.RUNC, None),
        (elf.NVIDIA_PROGRAM, "v1.14.3", elf.NVIDIA, None),
        (f"{elf.NVIDIA_PROGRAM}.cdi", "", elf.NVIDIA, None),
        ("github.com/containers/podman/v5/cmd/podman", "v5.0.0", elf.GO, None),
    ],
)
def test_go_programs(
    make: object, path: str, version: str, kind: str, expected: Version | None, tmp_path: Path
) -> None:
    program = elf.examine(write(tmp_path, make(path, version)))  # type: ignore[operator]
    assert (program.kind, program.version, program.machine) == (kind, expected, "x64")
    assert program.module == path


@pytest.mark.parametrize(
    ("content", "kind", "reason"),
    [
        (b"", elf.UNKNOWN, "empty"),
        (b"MZ", elf.UNKNOWN, "neither"),
        (b"#!/bin/sh\nexec runc\n", elf.SCRIPT, "/bin/sh"),
        (b"#!", elf.SCRIPT, "run by"),
        (b"\x7fELF", elf.UNKNOWN, "damaged"),
        (elf_files.elf_file({}, type_=1), elf.UNKNOWN, "no executable"),
        (elf_files.elf_file({}), elf.OTHER, ""),
        (elf_files.elf_file({".rodata": b"\0[libcrun:%s]\0"}), elf.CRUN, ""),
        (elf_files.elf_file({".rodata": b"\0crun\0"}), elf.OTHER, ""),
        (elf_files.needing("libc.so.6", "libcrun.so.0"), elf.CRUN, ""),
    ],
)
def test_other_files(content: bytes, kind: str, reason: str, tmp_path: Path) -> None:
    program = elf.examine(write(tmp_path, content))
    assert program.kind == kind
    assert reason in program.reason


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path, tmp_path / "missing", "/dev/null", "/x\0y"):
        program = elf.examine(str(path))
        assert program.kind == elf.UNKNOWN
        assert program.reason


def test_too_large(tmp_path: Path) -> None:
    with open(tmp_path / "large", "wb") as file:
        file.truncate(elf.SIZE_MAX + 1)
    assert "larger" in elf.examine(str(tmp_path / "large")).reason


@pytest.mark.parametrize(("name", "kind"), [("runc", elf.RUNC), ("crun", elf.CRUN), ("bash", elf.OTHER)])
def test_installed_programs(name: str, kind: str) -> None:
    path = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if not path or elf.examine(path).kind == elf.SCRIPT:
        pytest.skip(f"{name} is not installed")
    assert elf.examine(path).kind == kind


SAMPLES = {
    "inline": elf_files.go_inline(elf.RUNC_MODULE, "v1.3.0"),
    "pointers": elf_files.go_pointers(elf.RUNC_MODULE, "v1.3.0"),
    "needing": elf_files.needing("libsystemd-shared-252.so"),
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_damaged_files_never_raise(sample: str, tmp_path: Path) -> None:
    """Every truncation of a small file, and random bytes changed in it."""
    content = SAMPLES[sample]
    chance = random.Random(sample)
    damaged = [content[:end] for end in range(len(content))]
    for _ in range(300):
        changed = bytearray(content)
        for _ in range(chance.randint(1, 8)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        damaged.append(bytes(changed))
    kinds = set()
    for each in damaged:
        program = elf.examine(write(tmp_path, each))
        kinds.add(program.kind)
        assert program.kind != elf.UNKNOWN or program.reason
        elf.systemd_version(str(tmp_path))
    assert elf.UNKNOWN in kinds


def test_a_damaged_real_program_never_raises(tmp_path: Path) -> None:
    source = next((path for path in ("/usr/bin/crun", "/bin/true") if os.path.exists(path)), "")
    if not source:
        pytest.skip("no program to damage")
    content = Path(source).read_bytes()
    chance = random.Random(7)
    for _ in range(60):
        changed = bytearray(content[: chance.randrange(len(content))])
        for _ in range(40):
            if changed:  # headers first and last: that is where the structure is
                changed[chance.randrange(min(len(changed), 4096))] = chance.randrange(256)
        program = elf.examine(write(tmp_path, bytes(changed)))
        assert program.kind != elf.UNKNOWN or program.reason


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("libsystemd-shared-252.so", Version((252,))),
        ("libsystemd-shared-257.9-1.fc42.so", Version((257, 9))),
        ("libsystemd-shared-main.so", None),
        ("libc.so.6", None),
    ],
)
def test_systemd(library: str, expected: Version | None, tmp_path: Path) -> None:
    write(tmp_path, elf_files.needing("libc.so.6", library), "usr/lib/systemd/systemd")
    assert elf.systemd_version(str(tmp_path)) == expected


def test_links_stay_below_the_root(tmp_path: Path) -> None:
    write(tmp_path, elf_files.needing("libsystemd-shared-249.so"), "opt/lib/systemd/systemd")
    (tmp_path / "lib").symlink_to("/opt/../../../opt/lib")  # absolute, and out of the root if the kernel followed it
    assert elf.systemd_version(str(tmp_path)) == Version((249,))
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="too many levels"):
        elf.resolve_below(str(tmp_path), "/loop/x")
    assert elf.systemd_version(str(tmp_path / "nowhere")) is None
