from __future__ import annotations

import time
from pathlib import Path

import pytest

from gpu_oci_hook.core.versions import Version
from gpu_oci_hook.host import elf, runtime_facts
from tests.unit.host import elf_files


def script(folder: Path, body: str, name: str = "runtime") -> str:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return str(file)


def test_nothing_is_run_unless_allowed(tmp_path: Path) -> None:
    path = script(tmp_path, f"touch {tmp_path}/ran; echo runc version 1.1.5")
    found = runtime_facts.runtime_facts(path)
    assert (found.kind, found.version) == (elf.SCRIPT, None)
    assert found.reason
    assert not (tmp_path / "ran").exists()


def test_a_wrapper_passes_the_question_on(tmp_path: Path) -> None:
    path = script(tmp_path, "echo runc version 1.1.5+ds1; env >&2")
    found = runtime_facts.runtime_facts(path, run=True)
    assert (found.kind, found.version, found.how) == ("runc", Version((1, 1, 5)), "its --version")


def test_the_environment_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "")
    monkeypatch.setenv("SECRET", "x")
    path = script(tmp_path, f'env > {tmp_path}/env; echo "$0" "$@" > {tmp_path}/args')
    runtime_facts.runtime_facts(path, run=True)
    assert "SECRET" not in (tmp_path / "env").read_text()
    assert (tmp_path / "args").read_text().split() == [path, "--version"]


@pytest.mark.parametrize("body", ["exit 3", "echo hello", "echo runc version unknown", "printf 'runc version \\377'"])
def test_an_answer_that_says_nothing(body: str, tmp_path: Path) -> None:
    found = runtime_facts.runtime_facts(script(tmp_path, body), run=True)
    assert found.version is None
    assert found.reason


def test_a_program_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_facts, "TIMEOUT", 0.2)
    started = time.monotonic()
    found = runtime_facts.runtime_facts(script(tmp_path, "exec sleep 20"), run=True)
    assert time.monotonic() - started < 5
    assert "longer" in found.reason


def test_the_files_own_word_needs_no_run(tmp_path: Path) -> None:
    file = tmp_path / "runc"
    file.write_bytes(elf_files.go_inline(elf.RUNC_MODULE, "v1.3.6"))
    found = runtime_facts.runtime_facts(str(file), run=True)  # it could not even be run
    assert (found.kind, found.version, found.how) == ("runc", Version((1, 3, 6)), "its ELF file")


def test_finding_the_real_runtime(tmp_path: Path) -> None:
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/local/bin").mkdir(parents=True)
    script(tmp_path / "usr/local/bin", "exec /usr/bin/runc", "runc")  # a wrapper under the runtime's name
    real = tmp_path / "usr/bin/runc"
    real.write_bytes(elf_files.go_inline(elf.RUNC_MODULE))
    real.chmod(0o755)
    assert runtime_facts.find_runtime(["crun", "runc"], str(tmp_path)) == str(real)
    assert runtime_facts.find_runtime(["/usr/bin/runc"], str(tmp_path)) == str(real)
    assert runtime_facts.find_runtime(["crun"], str(tmp_path)) == ""


def test_systemd_of_another_root_is_read_only(tmp_path: Path) -> None:
    (tmp_path / "lib/systemd").mkdir(parents=True)
    (tmp_path / "lib/systemd/systemd").write_bytes(elf_files.needing("libsystemd-shared-247.so"))
    found = runtime_facts.systemd_facts(str(tmp_path), run=True)
    assert (found.version, found.how) == (Version((247,)), "its ELF file")
    assert runtime_facts.systemd_facts(str(tmp_path / "x")).reason
