"""Hierarchies and a process's cgroups, below a small fake root."""

from __future__ import annotations

import pathlib

import pytest

from gpu_oci_hook.host import cgroup

V2 = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
V1 = """30 23 0:25 / /sys/fs/cgroup rw - tmpfs tmpfs rw
31 30 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
32 30 0:27 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
33 30 0:28 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices
34 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
"""
BOTH = "5:devices:/d/x.scope/sub\n1:name=systemd:/system.slice/x.scope\n0::/system.slice/x.scope\n"


def host(root: pathlib.Path, mountinfo: str, text: str = BOTH) -> cgroup.Hierarchies:
    for pid, name, content in ((1, "mountinfo", mountinfo), (77, "cgroup", text)):
        (root / f"proc/{pid}").mkdir(parents=True)
        (root / f"proc/{pid}/{name}").write_text(content)
    return cgroup.hierarchies(str(root))


def test_v2_ignores_hierarchies_that_nobody_mounts(tmp_path: pathlib.Path) -> None:
    where = host(tmp_path, V2)
    found = cgroup.of_process(77, where)
    assert (found.version, found.unit, found.slice) == (2, "x.scope", "system.slice")
    assert found.directory == f"{tmp_path}/sys/fs/cgroup/system.slice/x.scope"


def test_v1_unit_and_devices_may_name_different_cgroups(tmp_path: pathlib.Path) -> None:
    found = cgroup.of_process(77, host(tmp_path, V1))
    assert (found.version, found.unit, found.unit_path) == (1, "x.scope", "/system.slice/x.scope")
    assert found.directory == f"{tmp_path}/sys/fs/cgroup/devices/d/x.scope/sub"


def test_cgroupfs_driver_has_no_unit(tmp_path: pathlib.Path) -> None:
    found = cgroup.of_process(77, host(tmp_path, V2, "0::/docker/1f\n"))
    assert (found.unit, found.unit_path) == ("", "")
    assert found.directory.endswith("/docker/1f")


def test_a_process_that_is_gone(tmp_path: pathlib.Path) -> None:
    with pytest.raises(cgroup.ProcessGoneError):
        cgroup.of_process(78, host(tmp_path, V2))


def test_a_cgroup_outside_of_the_namespace(tmp_path: pathlib.Path) -> None:
    with pytest.raises(cgroup.CgroupError, match="outside of this cgroup namespace"):
        cgroup.of_process(77, host(tmp_path, V2, "0::/../system.slice/x.scope\n"))


def test_no_cgroups_at_all(tmp_path: pathlib.Path) -> None:
    with pytest.raises(cgroup.CgroupError, match="no cgroup hierarchy"):
        host(tmp_path, "1 1 0:1 / / rw - ext4 /dev/vda rw\n")
