"""Units and slices from cgroup paths, as systemd reads them; mountinfo with its escapes."""

from __future__ import annotations

import pytest

from gpu_oci_hook.core import process


@pytest.mark.parametrize(
    ("path", "unit", "own", "slice_"),
    [
        ("/system.slice/docker-1f.scope", "docker-1f.scope", "/system.slice/docker-1f.scope", "system.slice"),
        ("/system.slice/docker-1f.scope/container", "docker-1f.scope", "/system.slice/docker-1f.scope", "system.slice"),
        (
            "/kubepods.slice/kubepods-pod1.slice/cri-containerd-2.scope",
            "cri-containerd-2.scope",
            "/kubepods.slice/kubepods-pod1.slice/cri-containerd-2.scope",
            "kubepods-pod1.slice",
        ),
        # kubelet in a container (kind): the host's systemd owns the outer scope only.
        (
            "/system.slice/docker-1f.scope/kubelet.slice/kubepods.slice/cri-containerd-2.scope",
            "docker-1f.scope",
            "/system.slice/docker-1f.scope",
            "system.slice",
        ),
        # rootless: a user manager's scope is not the system manager's.
        (
            "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-a.scope",
            "user@1000.service",
            "/user.slice/user-1000.slice/user@1000.service",
            "user-1000.slice",
        ),
        ("/docker/1f", "", "", "-.slice"),  # the cgroupfs driver
        ("/kubepods/burstable/pod1/2", "", "", "-.slice"),
        ("/kubepods.slice/2", "", "", "kubepods.slice"),
        ("/system.slice/_cgroup.service", "cgroup.service", "/system.slice/_cgroup.service", "system.slice"),
        # R79: Slurm's own scope; what it has below is not systemd's.
        (
            "/system.slice/slurmstepd.scope/job_12/step_0/user/task_0",
            "slurmstepd.scope",
            "/system.slice/slurmstepd.scope",
            "system.slice",
        ),
        ("/init.scope", "init.scope", "/init.scope", "-.slice"),
        ("/", "", "", "-.slice"),
        ("/..", "", "", "-.slice"),
    ],
)
def test_unit_of_path(path: str, unit: str, own: str, slice_: str) -> None:
    assert process.unit_of_path(path) == unit
    assert process.unit_path(path) == own
    assert process.slice_of_path(path) == slice_


def test_cgroup_of_a_hybrid_host() -> None:
    text = (
        "12:devices:/system.slice/a.scope\n4:cpu,cpuacct:/x:y\n1:name=systemd:/system.slice/b.scope\n0::/c\nnonsense\n"
    )
    assert process.parse_cgroup(text) == {
        "devices": "/system.slice/a.scope",
        "cpu": "/x:y",
        "cpuacct": "/x:y",
        "name=systemd": "/system.slice/b.scope",
        "": "/c",
    }


def test_mountinfo_with_escapes_and_optional_fields() -> None:
    line = r"36 35 0:5 /nvidia\0400 /a\040b\134c rw,nosuid shared:1 master:2 - devtmpfs udev rw,size=4k"
    (mount,) = process.parse_mountinfo(f"{line}\nnonsense\n\n")
    assert (mount.device, mount.root, mount.point, mount.filesystem) == ("0:5", "/nvidia 0", "/a b\\c", "devtmpfs")
    assert "nosuid" in mount.options
    assert "size=4k" in mount.super_options


def test_a_backslash_that_looks_like_an_escape() -> None:
    r"""The kernel writes ``\134040`` for a backslash followed by 040."""
    (mount,) = process.parse_mountinfo(r"36 35 0:5 / /a\134040 rw - tmpfs t rw")
    assert mount.point == r"/a\040"
