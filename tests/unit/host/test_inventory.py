from __future__ import annotations

from gpu_oci_hook.core.devices import NVIDIA, Family
from tests.unit.conftest import FakeHost, needs_mknod

pytestmark = needs_mknod


def paths(host: FakeHost, *families: Family) -> list[str]:
    return [node.file for node in host.inventory(*families).nodes()]


def test_nodes_are_found_under_all_driver_roots_each_number_once(host: FakeHost) -> None:
    host.node("/run/nvidia/driver/dev/nvidia0", 195, 0)
    host.node("/run/nvidia/driver/dev/nvidia-modeset", 195, 254)
    assert paths(host) == [
        "/dev/nvidia0",
        "/dev/nvidia1",
        "/run/nvidia/driver/dev/nvidia-modeset",
        "/dev/nvidiactl",
        "/dev/nvidia-uvm",
        "/dev/nvidia-uvm-tools",
    ]


def test_only_devices_count(host: FakeHost) -> None:
    host.write("/dev/nvidia7", "a file")
    host.path("/dev/nvidia8").mkdir()
    host.path("/dev/nvidia9").symlink_to("nvidia0")
    assert "/dev/nvidia7" not in paths(host)
    assert "/dev/nvidia8" not in paths(host)
    assert host.inventory().node("/dev/nvidia9").number == ("c", 195, 0)


def test_a_host_without_proc_or_dev(empty_host: FakeHost) -> None:
    empty_host.path("/proc/devices").unlink()
    empty_host.path("/dev/char").rmdir()
    empty_host.path("/dev").rmdir()
    assert paths(empty_host) == []
    assert empty_host.inventory().family_of(("c", 195, 0)) == "nvidia"
    assert empty_host.inventory().family_of(("c", 510, 0)) == ""


def test_families_by_driver_and_by_node(host: FakeHost) -> None:
    host.node("/dev/kgpu0", 555, 0)
    host.node("/dev/kgpu/unit3", 555, 3)
    kgpu = Family("kgpu", ["/dev/kgpu[0-9]*", "/dev/kgpu/*"])
    inventory = host.inventory(NVIDIA, kgpu)
    assert inventory.family_of(("c", 509, 0)) == "nvidia"
    assert inventory.family_of(("c", 555, 3)) == "kgpu"
    assert inventory.family_of(("c", 10, 229)) == ""
    assert inventory.by_number(("c", 555, 3)).path == "/dev/kgpu/unit3"
    assert inventory.by_number(("c", 195, 7)) is None


def test_195_of_another_driver_is_not_ours(host: FakeHost) -> None:
    host.write("/proc/devices", "Character devices:\n195 other\n")
    assert host.inventory().family_of(("c", 195, 0)) == ""


def test_large_numbers(empty_host: FakeHost) -> None:
    empty_host.node("/dev/nvidia-caps-imex-channels/channel2047", 511, (1 << 20) - 1)
    [node] = empty_host.inventory().nodes()
    assert node.number == ("c", 511, (1 << 20) - 1)
