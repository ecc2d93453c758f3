"""What the commands say is so: counts, names, hints, and a host's root that is not there."""

from __future__ import annotations

import errno
import io
from pathlib import Path
from typing import Any, Callable

import pytest

from gpu_oci_hook.cli.audit import print_report
from gpu_oci_hook.cli.main import main
from gpu_oci_hook.cli.render import Style
from gpu_oci_hook.host import links
from gpu_oci_hook.running.audit import Audited, Report
from gpu_oci_hook.running.judge import NO_GPU, Verdict
from tests.unit.conftest import FakeHost, needs_mknod
from tests.unit.running.conftest import make_facts  # noqa: F401  (a fixture)


@needs_mknod
def test_a_link_that_failed_is_not_counted_as_made(
    host: FakeHost, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    host.link("195:0", "../nvidia0")

    def fail(*_: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(links, "make", fail)
    assert main(["links", "--root", str(host.root)]) == 1
    text = capsys.readouterr().out
    assert "0 links made, 1 right already." in text
    assert "create" not in text
    assert "error: /dev/char/195:255: the link cannot be made: Read-only file system" in text


@pytest.mark.parametrize("command", [["links"], ["status"], ["audit"], ["plan", "bundle"], ["install", "docker"]])
def test_a_root_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    root = str(tmp_path / "typo")
    assert main([*command, "--root", root]) == 2
    assert f"--root {root} is no folder" in capsys.readouterr().err


def test_the_hook_stops_no_container_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main(["hook", "createRuntime", "--root", str(tmp_path / "typo")]) == 0
    assert capfd.readouterr().out == ""


def test_a_wrapper_that_is_missing_is_missing_below_the_root(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", "docker", "--root", str(tmp_path), "--wrapper", "/opt/w"]) == 2
    text = capsys.readouterr().err
    assert f"there is no program /opt/w below {tmp_path}," in text
    assert f"make install DESTDIR={tmp_path}" in text


def test_a_container_without_an_id_is_named_by_its_process(
    make_facts: Callable[..., Any],  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    facts = make_facts()
    facts = facts._replace(container=facts.container._replace(id=""))
    report = Report("", 2, [Audited(facts, Verdict(NO_GPU, "Nothing gives it a GPU."))])
    print_report(report, True, Style(io.StringIO()))
    text = capsys.readouterr().out
    assert "no-gpu   pid 4711" in text
    assert "1 container on systemd not reached" in text
