"""Devices mounted into a container: numbers come from the host's own nodes."""

from __future__ import annotations

import os
import pathlib

from gpu_oci_hook.host.device_mounts import DeviceMount, HostFilesystems, device_mounts
from tests.unit.conftest import needs_mknod

HOST = """25 1 0:6 / /dev rw - devtmpfs udev rw
26 25 0:30 / /dev/shm rw - tmpfs tmpfs rw
40 1 0:50 /inner /run/nvidia/driver/dev rw - tmpfs tmpfs rw
1 0 8:1 / / rw - ext4 /dev/vda rw
"""
CONTAINER = """100 99 0:77 / / rw - overlay overlay rw
101 100 0:78 / /dev rw - tmpfs tmpfs rw
102 101 0:6 /nvidia0 /dev/nvidia0 rw - devtmpfs udev rw
103 101 0:6 /null /dev/null rw - devtmpfs udev rw
104 101 0:50 /inner/nvidia-uvm /dev/other-name rw - tmpfs tmpfs rw
105 101 0:78 /nvidia1 /dev/nvidia1 rw - tmpfs tmpfs rw
106 101 0:6 /gone /dev/gone rw - devtmpfs udev rw
107 101 0:50 /nvidia0 /dev/outside rw - tmpfs tmpfs rw
"""


@needs_mknod
def test_only_mounts_of_the_hosts_nodes_count(tmp_path: pathlib.Path) -> None:
    for pid, text in ((1, HOST), (77, CONTAINER)):
        (tmp_path / f"proc/{pid}").mkdir(parents=True)
        (tmp_path / f"proc/{pid}/mountinfo").write_text(text)
    for path, (major, minor) in {
        "dev/nvidia0": (195, 0),
        "dev/nvidia1": (195, 1),
        "dev/null": (1, 3),
        "run/nvidia/driver/dev/nvidia-uvm": (510, 0),
        "run/nvidia/driver/dev/nvidia0": (195, 9),
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        os.mknod(tmp_path / path, 0o20666, os.makedev(major, minor))
    host = HostFilesystems(str(tmp_path), ["/dev", "/run/nvidia/driver/dev"])
    assert device_mounts(77, host) == [
        DeviceMount("/dev/nvidia0", ("c", 195, 0)),
        DeviceMount("/dev/null", ("c", 1, 3)),
        DeviceMount("/dev/other-name", ("c", 510, 0)),
    ]
    assert device_mounts(78, host) == []
