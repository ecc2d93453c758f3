"""The installed wrapper beside the real runc and crun, called directly: same exit code, same words."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gpu_oci_hook.core.argv import find_command
from tests.unit.conftest import Installed

SHAPES = [
    ["--version"],
    ["-v"],
    ["--help"],
    ["help"],
    ["state"],
    ["state", "none"],
    ["state", "create"],
    ["kill", "none", "KILL"],
    ["delete", "none"],
    ["delete", "--force", "create"],
    ["exec", "none", "true"],
    ["exec", "none", "create", "--bundle", "/x"],
    ["list"],
    ["ps", "none"],
    ["pause", "run"],
    ["--bogus"],
    ["--bogus", "create"],
    ["bogus"],
    ["--log-format", "json", "state", "none"],
    ["--log-format=json", "state", "none"],
    ["-log-format", "json", "state", "none"],
    ["--log-format", "nonsense", "state", "none"],
    ["--debug", "state", "none"],
    ["--root"],
    ["--log"],
    ["create"],
    ["create", "--bundle"],
    ["create", "--bundle", "/no/such/bundle", "c"],
    ["create", "-b", "/no/such/bundle", "c"],
    ["create", "--bundle=/no/such/bundle", "c"],
    ["create", "--bundle", "/a", "--bundle", "/no/such/bundle", "c"],
    ["create", "--bogus", "c"],
    ["run", "--bundle", "/no/such/bundle", "create"],
    ["create", "a/b"],
    ["start", "create"],
    [],
    [""],
]


@pytest.mark.parametrize("name", ["runc", "crun"])
@pytest.mark.parametrize("shape", SHAPES, ids=" ".join)
def test_same_words_and_same_code(installed: Installed, tmp_path: Path, name: str, shape: list[str]) -> None:
    runtime = shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    if runtime is None:
        if os.environ.get("CI"):
            pytest.fail(f"{name} is missing: apt-get install {name}")
        pytest.skip(f"needs the real {name}: apt-get install {name}")
    environment = installed.settings(tmp_path, None, [runtime])
    args = shape if shape[:1] == ["--root"] else ["--root", str(tmp_path / "state"), *shape]
    ours, theirs = (
        subprocess.run([program, *args], env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
        for program in (str(installed.runtime), runtime)
    )
    assert ours.returncode == theirs.returncode
    assert _timeless(ours.stdout) == _timeless(theirs.stdout)
    said = [line for line in ours.stderr.splitlines(keepends=True) if not line.startswith("gpu-oci-runtime: ")]
    assert _timeless("".join(said)) == _timeless(theirs.stderr)
    own_words = len(ours.stderr.splitlines()) - len(said)
    at = find_command(args)
    assert own_words == (args[at : at + 1] in (["create"], ["run"]))  # there is no such bundle


def _timeless(text: str) -> str:
    """Log lines without their time; crun's have nanoseconds, runc's seconds."""
    return re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+Z?(\+\d\d:\d\d)?", "TIME", text)
