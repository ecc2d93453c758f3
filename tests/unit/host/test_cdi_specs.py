"""Reading CDI specs: what is parsed, and what is not."""

from __future__ import annotations

import sys

import pytest

from gpu_oci_hook.host.cdi import read_registry
from tests.unit.conftest import FakeHost

SPEC = "kind: nvidia.com/gpu\ndevices:\n- name: '0'\n  containerEdits: {deviceNodes: [{path: /dev/nvidia0}]}\n"
KINDS = {"nvidia.com/gpu"}


def test_yaml_is_not_imported_for_files_of_other_kinds(empty_host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    empty_host.write("/etc/cdi/net.yaml", "kind: vendor.com/net\n")
    registry = read_registry(str(empty_host.root), KINDS)
    assert (registry.files, registry.problems) == ([], [])


def test_yaml_without_pyyaml_is_a_problem_of_that_file(empty_host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    empty_host.write("/etc/cdi/nvidia.yaml", SPEC)
    registry = read_registry(str(empty_host.root), KINDS)
    assert registry.files == []
    assert [path for path, _ in registry.problems] == ["/etc/cdi/nvidia.yaml"]
    assert "PyYAML" in registry.problems[0][1]


def test_both_folders_and_both_forms(empty_host: FakeHost) -> None:
    empty_host.write("/etc/cdi/nvidia.yaml", SPEC)
    empty_host.write("/var/run/cdi/nvidia.json", '{"kind": "nvidia.com/gpu", "devices": []}')
    empty_host.write("/var/run/cdi/other.json", '{"kind": "vendor.com/net", "devices": []}')
    registry = read_registry(str(empty_host.root), KINDS)
    assert [(file.path, file.priority) for file in registry.files] == [
        ("/etc/cdi/nvidia.yaml", 0),
        ("/var/run/cdi/nvidia.json", 1),
    ]
    nodes = registry.find("nvidia.com/gpu=0")
    assert nodes is not None
    assert [node.path for node in nodes] == ["/dev/nvidia0"]


@pytest.mark.parametrize(
    "text", ["nvidia.com/gpu: [", "- nvidia.com/gpu", "kind: !!python/object:os.system nvidia.com/gpu"]
)
def test_bad_yaml_is_a_problem_and_no_code_runs(empty_host: FakeHost, text: str) -> None:
    empty_host.write("/etc/cdi/nvidia.yaml", text)
    registry = read_registry(str(empty_host.root), KINDS)
    assert (registry.files, len(registry.problems)) == ([], 1)
