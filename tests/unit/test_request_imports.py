"""What a request costs in imports: nothing for those who ask for nothing, and no library for the others but PyYAML."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.unit.conftest import REPOSITORY
from tests.unit.core.request.cases import HOOK

PROGRAM = """
import sys; sys.path.insert(0, sys.argv[1])
import gpu_oci_hook.runtime
from gpu_oci_hook.core.devices import NVIDIA
from gpu_oci_hook.core.request import Context, find_devices
from gpu_oci_hook.core.spec import parse_spec
from gpu_oci_hook.host.inventory import Inventory
before = set(sys.modules)
find_devices(parse_spec(sys.argv[2]), Context(Inventory(sys.argv[3], ["/"], [NVIDIA])))
print("\\n".join(sorted(set(sys.modules) - before)))
"""
ALL = ["NVIDIA_VISIBLE_DEVICES=all"]
JUDGING = {"stack", "acting", "nvidia_config"}


def imported(spec: dict[str, Any], root: str) -> set[str]:
    """The last parts of the names of what judging a spec imports, ours without their package."""
    arguments = [sys.executable, "-I", "-S", "-c", PROGRAM, str(REPOSITORY), json.dumps({**spec, "linux": {}}), root]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    return {name.replace("gpu_oci_hook.core.request.", "") for name in done.stdout.split()}


@pytest.mark.parametrize("spec", [{}, {"process": {"env": ["A=b", "NVIDIA_VISIBLE_DEVICES=void"]}}, {"mounts": []}])
def test_asking_for_nothing_imports_nothing(spec: dict[str, Any], tmp_path: Any) -> None:
    assert imported(spec, str(tmp_path)) == set()


def test_a_request_that_does_not_count_is_judged_only(tmp_path: Any) -> None:
    assert imported({"process": {"env": ALL}}, str(tmp_path)) == JUDGING


def test_a_request_that_counts_needs_no_library(tmp_path: Any) -> None:
    found = imported({"process": {"env": ALL}, "hooks": {"prestart": [HOOK]}}, str(tmp_path))
    assert found - {name for name in found if name.startswith("gpu_oci_hook.")} - JUDGING == {
        "cdi_nodes",
        "features",
        "gpu_nodes",
        "granted",
        "selection",
    }


def test_cdi_in_json_needs_no_library(tmp_path: Any) -> None:
    folder = tmp_path / "etc/cdi"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text('{"kind": "nvidia.com/gpu", "devices": []}')
    (folder / "b.yaml").write_text("kind: vendor.com/net\n")
    found = imported({"annotations": {"cdi.k8s.io/a": "nvidia.com/gpu=0"}}, str(tmp_path))
    assert not {"yaml", "re", "json", "os"} & found
