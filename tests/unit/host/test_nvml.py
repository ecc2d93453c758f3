"""NVML is asked in a child. The library is a stand-in: the real one needs a GPU."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from gpu_oci_hook.core.request.claim import Item
from gpu_oci_hook.core.request.selection import select
from gpu_oci_hook.host import nvml
from gpu_oci_hook.host.inventory import Inventory
from tests.unit.conftest import FakeHost, needs_mknod

LIBRARY = """
import types
class NVMLError(Exception): pass
def nvmlInit(): {init}
def nvmlDeviceGetCount(): return 2
def nvmlDeviceGetHandleByIndex(i): return i
def nvmlDeviceGetUUID(h): return {uuids}[h]
def nvmlDeviceGetMinorNumber(h): return 1 - h
def nvmlDeviceGetPciInfo(h): return types.SimpleNamespace(busId=b"00000000:%02X:00.0" % h)
def nvmlDeviceGetMaxMigDeviceCount(h): return 7
def nvmlDeviceGetMigDeviceHandleByIndex(h, i):
    if h or i > 1: raise NVMLError
    return "m%d" % i
def nvmlDeviceGetGpuInstanceId(m): return int(m[1]) + 1
def nvmlDeviceGetComputeInstanceId(m): return 0
"""
UUIDS = '{0: "GPU-a", 1: b"GPU-b", "m0": "MIG-x", "m1": "MIG-y"}'


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns a function that puts the stand-in where the child finds it, with what nvmlInit does."""

    def put(init: str = "pass") -> None:
        (tmp_path / "pynvml.py").write_text(LIBRARY.format(init=init, uuids=UUIDS))
        monkeypatch.syspath_prepend(str(tmp_path))

    return put


def test_all_is_told_in_the_order_of_the_index(library: Any) -> None:
    library()
    assert nvml.ask() == [
        ("GPU-a", 1, "00000000:00:00.0", [("MIG-x", 1, 0), ("MIG-y", 2, 0)]),
        ("GPU-b", 0, "00000000:01:00.0", []),
    ]


def test_not_installed_is_nothing() -> None:
    assert nvml.ask() == []


def test_a_failure_is_nothing(library: Any, capfd: pytest.CaptureFixture[str]) -> None:
    library("raise NVMLError")
    assert nvml.ask() == []
    assert capfd.readouterr() == ("", "")


def test_a_library_that_hangs_costs_its_time_limit(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "SECONDS", 1)
    library("import time; time.sleep(60)")
    start = time.monotonic()
    assert nvml.ask() == []
    assert time.monotonic() - start < 3


def test_another_hosts_gpus_are_not_asked_for(library: Any, tmp_path: Path) -> None:
    library()
    assert Inventory(str(tmp_path), ["/"], []).nvml() == []


@needs_mknod
def test_a_mig_uuid_is_found_through_nvml_only(empty_host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    for minor in (0, 1):
        empty_host.node(f"/dev/nvidia{minor}", 195, minor)
        empty_host.write(f"/proc/driver/nvidia/gpus/0000:0{minor}:00.0/information", f"Device Minor: {1 - minor}\n")
    for instance in (1, 2):
        empty_host.write(f"/proc/driver/nvidia/capabilities/gpu1/mig/gi{instance}/ci0/access", "")
    inventory = empty_host.inventory()
    asked: list[int] = []

    def tell() -> list[Any]:
        asked.append(1)
        return [("GPU-a", 1, "0:0:0.0", [("MIG-x", 1, 0), ("MIG-Y", 2, 0)]), ("GPU-b", 0, "0:1:0.0", [])]

    monkeypatch.setattr(inventory, "nvml", tell)
    assert list(select(inventory, [Item("0", "")]).gpus) == [1]
    assert asked == []
    selection = select(inventory, [Item("MIG-y", "")])
    assert (list(selection.gpus), list(selection.instances)) == ([1], [(1, 2, 0)])
    assert asked == [1]
    assert [item.text for item in select(inventory, [Item("MIG-z", "")]).unknown] == ["MIG-z"]
