"""The create path in instructions (instruction_budget.json, in millions): counted, not timed.

Raise a number only with a reason in the commit's body; `make bench` shows what the milliseconds are.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import instructions
from gpu_oci_hook.core.shortcut import COMMON_MAJORS, NVIDIA_WORDS
from tests.conftest import unavailable
from tests.unit.conftest import REPOSITORY, Bundle, FakeHost, Installed, needs_mknod

BUDGET = json.loads((Path(__file__).parent / "instruction_budget.json").read_text())
GPUS = [("/dev/nvidia0", 195, 0), ("/dev/nvidiactl", 195, 255), ("/dev/nvidia-uvm", 509, 0)]


@pytest.fixture(autouse=True)
def valgrind() -> None:
    if not instructions.available():
        unavailable("instructions are counted by valgrind: apt-get install valgrind")


def preparation(installed: Installed, bundle: Bundle, environment: dict[str, str]) -> int:
    """Instructions beyond the bare interpreter's; the settings are compiled already."""
    library = str(installed.prefix / "lib/gpu-oci-hook")
    run_dir, source = str(installed.prefix / "run"), environment["GPU_OCI_HOOK_CONFIG"]
    command = instructions.preparation(sys.executable, library, run_dir, source, str(bundle.folder))
    subprocess.run(command, check=True)  # compiles the settings, makes the links
    shutil.copy(bundle.folder / "original", bundle.config)
    return instructions.count(command) - instructions.interpreter(sys.executable)


def within(name: str, counted: int) -> None:
    millions = counted / 1e6
    assert millions <= BUDGET[name], f"{name}: {millions:.2f} million instructions, budget {BUDGET[name]}"
    assert millions > BUDGET[name] / 2, f"{name}: {millions:.2f} million instructions; lower the budget"


@needs_mknod
@pytest.mark.parametrize(
    ("name", "devices", "env"),
    [("without GPUs", [], []), ("GPUs in the spec", GPUS, []), ("environment", [], ["NVIDIA_VISIBLE_DEVICES=all"])],
)
def test_preparing_a_container(
    installed: Installed, host: FakeHost, bundle: Bundle, tmp_path: Path, name: str, devices: Any, env: list[str]
) -> None:
    bundle.spec(devices)
    value = json.loads(bundle.config.read_text())
    value["process"]["env"] = env
    bundle.write(value)
    shutil.copy(bundle.config, bundle.folder / "original")
    host.write("/proc/driver/nvidia/gpus/0000:01:00.0/information", "GPU UUID: GPU-1\nDevice Minor: 0\n")
    environment = installed.settings(tmp_path, host, ["runc"], '[request]\nenv = "always"\n')
    within(name, preparation(installed, bundle, environment))
    assert bool(bundle.rules()[1:]) is bool(devices or env)


def test_telling_that_a_spec_is_about_no_gpu() -> None:
    awk = shutil.which("mawk") or unavailable("the budget is mawk's: apt-get install mawk")
    values = ["-v", f"words={'|'.join(NVIDIA_WORDS)}", "-v", f"majors={'|'.join(map(str, COMMON_MAJORS))}"]
    command = [awk, *values, "-f", str(REPOSITORY / "bin/plain-spec.awk")]
    spec = str(REPOSITORY / "tests/cases/plain/podman.json")
    within("plain-spec.awk", instructions.count(command, {**os.environ, "LC_ALL": "C"}, stdin=spec))
