"""make install and make uninstall: all of it below PREFIX, and all of it gone again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.unit.conftest import REPOSITORY


def make(*arguments: str) -> None:
    subprocess.run(["make", "-s", "-C", str(REPOSITORY), *arguments], check=True, capture_output=True)


def files(folder: Path) -> list[str]:
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)


def test_everything_is_below_prefix_and_goes_again(tmp_path: Path) -> None:
    prefix = tmp_path / "prefix"
    options = [f"PREFIX={prefix}", f"RUN_DIR={tmp_path}/run", f"PYTHON={sys.executable}", "BUNDLE=no"]
    make("install", *options)
    outside = [name for name in files(prefix) if not name.startswith("lib/gpu-oci-hook/")]
    assert outside == [
        "bin/gpu-oci-hook",
        "bin/gpu-oci-runtime",
        "lib/systemd/system/gpu-oci-hook-audit.service",
        "lib/systemd/system/gpu-oci-hook-audit.timer",
        "lib/systemd/system/gpu-oci-hook-watch.service",
        "share/bash-completion/completions/gpu-oci-hook",
        "share/man/man8/gpu-oci-hook.8",
        "share/man/man8/gpu-oci-runtime.8",
        "share/zsh/site-functions/_gpu-oci-hook",
    ]
    for program in ("bin/gpu-oci-hook", "bin/gpu-oci-runtime"):
        assert "='@" not in (prefix / program).read_text()
    unit = (prefix / "lib/systemd/system/gpu-oci-hook-watch.service").read_text()
    assert f"ExecStart={prefix}/bin/gpu-oci-hook watch" in unit
    done = subprocess.run([str(prefix / "bin/gpu-oci-hook"), "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("gpu-oci-hook ")
    make("uninstall", *options)
    assert files(prefix) == []


def test_destdir_stands_before_prefix_only(tmp_path: Path) -> None:
    make("install", "PREFIX=/opt/x", f"DESTDIR={tmp_path}", f"PYTHON={sys.executable}", "BUNDLE=no")
    launcher = (tmp_path / "opt/x/bin/gpu-oci-runtime").read_text()
    assert "our_lib='/opt/x/lib/gpu-oci-hook'" in launcher
    assert str(tmp_path) not in launcher
