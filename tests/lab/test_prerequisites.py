"""Where a lab cannot be had: the reason is said, and where CI is set that is no excuse."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.conftest import unavailable
from tests.lab.machine import CHECKOUT, missing


def test_without_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "needs root" in missing("v1")


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "apt-get install systemd dbus runc crun busybox-static" in missing("v2", str(tmp_path))


def test_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no lab here"):
        unavailable("no lab here")


def test_failure_where_ci_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no lab here"):
        unavailable("no lab here")


def test_no_usable_python_is_said() -> None:
    command = ["sh", f"{CHECKOUT}/tests/prerequisites.sh", "venv", ""]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "make PYTHON=" in done.stderr
