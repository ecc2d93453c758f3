"""CDI specs that are not as they should be, and which of several counts."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_oci_hook.core.cdi import CdiError, CdiFile, Registry, is_qualified


def file_of(nodes: Any, priority: int = 0, **more: Any) -> CdiFile:
    device = {"name": "0", "containerEdits": {"deviceNodes": nodes}}
    return CdiFile("/etc/cdi/x.json", priority, {"kind": "v.com/gpu", "devices": [device], **more})


@pytest.mark.parametrize("value", [None, [], "x", {}, {"kind": 1}])
def test_what_has_no_kind_is_no_spec(value: Any) -> None:
    with pytest.raises(CdiError):
        CdiFile("/etc/cdi/x.json", 0, value)


@pytest.mark.parametrize(
    "nodes",
    [
        {},
        ["/dev/nvidia0"],
        [{}],
        [{"path": 1}],
        [{"path": "/dev/x", "type": "z"}],
        [{"path": "/dev/x", "major": "195"}, {"path": "/dev/x", "major": -1}],
        [{"path": "/dev/x", "major": 1.5}],
        [{"path": "/dev/x", "permissions": 7}],
        [{"path": "/dev/x", "minor": True, "major": 1}],
    ],
)
def test_wrong_nodes_are_an_error(nodes: Any) -> None:
    with pytest.raises(CdiError):
        Registry([file_of(nodes)], []).find("v.com/gpu=0")


def test_wrong_edits_are_an_error() -> None:
    with pytest.raises(CdiError):
        file_of([], containerEdits=[]).nodes("0")


def test_numbers_and_types() -> None:
    nodes = [
        {"path": "/dev/a", "hostPath": "/run/driver/dev/a"},
        {"path": "/dev/b", "type": "b", "major": 8, "minor": 1},
        {"path": "/dev/u", "type": "u", "major": 9, "permissions": "r"},
        {"path": "/dev/pipe", "type": "p"},
    ]
    found = Registry([file_of(nodes)], []).find("v.com/gpu=0")
    assert found is not None
    assert [(node.path, node.number, node.permissions) for node in found] == [
        ("/run/driver/dev/a", None, "rwm"),
        ("/dev/b", ("b", 8, 1), "rwm"),
        ("/dev/u", ("c", 9, 0), "r"),
    ]


def test_priority_and_conflict() -> None:
    low, high = file_of([{"path": "/dev/low"}]), file_of([{"path": "/dev/high"}], 1)
    found = Registry([high, low], []).find("v.com/gpu=0")
    assert found is not None
    assert [node.path for node in found] == ["/dev/high"]
    assert Registry([low, low, high], []).find("v.com/gpu=0") is not None
    assert Registry([low, low], []).find("v.com/gpu=0") is None
    assert Registry([low], []).find("other.com/gpu=0") is None


@pytest.mark.parametrize("name", ["0", "", "=", "v.com/gpu", "v.com/gpu=", "/gpu=0", "v.com/=0", "v.com=0"])
def test_names_that_are_not_qualified(name: str) -> None:
    assert not is_qualified(name)
