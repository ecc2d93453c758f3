"""The man page and the completions say what the parser says; make generate writes them anew."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest

from tests.unit.conftest import REPOSITORY


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="argparse words its help differently in each version")
def test_generated_files_are_current() -> None:
    command = [sys.executable, str(REPOSITORY / "packaging/generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run: make generate\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("path", ["man/gpu-oci-hook.8", "man/gpu-oci-runtime.8"])
def test_man_pages_are_well_formed(path: str) -> None:
    man = shutil.which("man")
    if man is None:
        pytest.skip("needs man: apt-get install man-db")
    environment = {"PATH": "/usr/bin:/bin", "MANWIDTH": "100", "LC_ALL": "C.UTF-8"}
    command = [man, "--warnings", "-l", str(REPOSITORY / path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stderr == ""
    assert "EXIT STATUS" in done.stdout
    assert re.search(r"\nNAME\n +gpu-oci-\w+ +- +\w", done.stdout), "apropos finds a page by the line below NAME"


def test_completions_are_shell() -> None:
    subprocess.run(["bash", "-n", str(REPOSITORY / "completions/gpu-oci-hook.bash")], check=True)
