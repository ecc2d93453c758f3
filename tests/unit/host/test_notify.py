"""sd_notify and the journal's fields, against a socket of our own."""

from __future__ import annotations

import pathlib
import socket

import pytest

from gpu_oci_hook.host import notify


@pytest.fixture
def listener(tmp_path: pathlib.Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.bind(str(tmp_path / "socket"))
    listening.settimeout(1)
    return listening


def test_notify(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", listener.getsockname())
    notify.notify("READY=1", "STATUS=watching")
    assert listener.recv(1024) == b"READY=1\nSTATUS=watching"
    notify.reloading()
    assert listener.recv(1024).startswith(b"RELOADING=1\nMONOTONIC_USEC=")


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "/nonexistent/socket")
    notify.notify("READY=1")
    monkeypatch.delenv("NOTIFY_SOCKET")
    notify.notify("READY=1")


def test_journal_lines_have_fields_and_no_more_lines_than_fields(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notify, "JOURNAL", listener.getsockname())
    monkeypatch.setenv("JOURNAL_STREAM", "1:2")
    notify.log(notify.WARNING, "two\nlines", CONTAINER_ID="a\nPRIORITY=0")
    assert listener.recv(1024).decode().splitlines() == [
        "MESSAGE=two lines",
        "PRIORITY=4",
        "SYSLOG_IDENTIFIER=gpu-oci-hook",
        "CONTAINER_ID=a PRIORITY=0",
    ]
    monkeypatch.delenv("JOURNAL_STREAM")
    notify.log(notify.INFO, "by hand")
    assert capsys.readouterr().err == "by hand\n"
