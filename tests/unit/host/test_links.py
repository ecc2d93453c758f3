from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_oci_hook.core.links import BLOCKED, DANGLING, MISSING, RIGHT, WRONG, target_for
from gpu_oci_hook.host import links
from tests.unit.conftest import REPOSITORY, FakeHost, needs_mknod

pytestmark = needs_mknod
GPU0 = ("c", 195, 0)


def state(host: FakeHost) -> str:
    return links.judge(str(host.root), GPU0).state


@pytest.mark.parametrize("text", ["../nvidia0", "/dev/nvidia0", "../../dev/nvidia0", "../first"])
def test_right_in_any_form(host: FakeHost, text: str) -> None:
    os.symlink("nvidia0", host.path("/dev/first"))
    host.link("195:0", text)
    assert state(host) == RIGHT


def test_right_below_a_driver_root(host: FakeHost) -> None:
    host.node("/run/nvidia/driver/dev/nvidia0", 195, 0)
    host.link("195:0", "/run/nvidia/driver/dev/nvidia0")
    assert state(host) == RIGHT


def test_a_node_itself_is_right_too(empty_host: FakeHost) -> None:
    empty_host.node("/dev/char/195:0", 195, 0)
    assert state(empty_host) == RIGHT


def test_missing_dangling_wrong_blocked(host: FakeHost) -> None:
    assert state(host) == MISSING
    place = host.path("/dev/char/195:0")
    for text, expected in (("../gone", DANGLING), ("../nvidia1", WRONG), ("../../proc", WRONG), ("195:0", DANGLING)):
        os.symlink(text, place)
        assert state(host) == expected, text
        place.unlink()
    place.mkdir()
    assert state(host) == BLOCKED
    place.rmdir()
    place.write_text("")
    assert state(host) == BLOCKED


def test_absolute_links_stay_below_the_root(empty_host: FakeHost) -> None:
    """A container that has the host at /host must not look at its own /dev."""
    empty_host.link("1:3", "/dev/null")
    assert links.judge(str(empty_host.root), ("c", 1, 3)).state == DANGLING


def test_makes_replaces_and_keeps(host: FakeHost) -> None:
    root = str(host.root)
    links.make(root, GPU0, "../nvidia0")
    assert host.links() == {"195:0": "../nvidia0"}
    host.path("/dev/char/195:0").unlink()
    host.link("195:0", "../nvidia1")
    links.make(root, GPU0, "../nvidia0")
    assert host.links() == {"195:0": "../nvidia0"}
    host.path("/dev/char/195:0").unlink()
    host.link("195:0", "/dev/nvidia0")
    links.make(root, GPU0, "../nvidia0")
    assert host.links() == {"195:0": "/dev/nvidia0"}


def test_makes_the_folder(host: FakeHost) -> None:
    host.path("/dev/char").rmdir()
    links.make(str(host.root), GPU0, "../nvidia0")
    assert host.links() == {"195:0": "../nvidia0"}


def test_a_dangling_folder_is_an_error_not_a_circle(host: FakeHost) -> None:
    host.path("/dev/char").rmdir()
    host.path("/dev/char").symlink_to("../nowhere")
    with pytest.raises(OSError):
        links.make(str(host.root), GPU0, "../nvidia0")


def test_a_directory_in_the_way_is_an_error_and_nothing_is_left(host: FakeHost) -> None:
    (host.path("/dev/char/195:0") / "x").mkdir(parents=True)
    with pytest.raises(OSError):
        links.make(str(host.root), GPU0, "../nvidia0")
    assert host.links() == {"195:0": "not a link"}


MAKER = """
import sys
sys.path.insert(0, sys.argv[1])
from gpu_oci_hook.host import links
for _ in range(50):
    links.make(sys.argv[2], ("c", 195, 0), "../nvidia0")
"""


def test_many_at_once_never_leave_a_gap(host: FakeHost) -> None:
    root = str(host.root)
    host.link("195:0", "../nvidia1")
    arguments = [sys.executable, "-I", "-S", "-c", MAKER, str(REPOSITORY), root]
    workers = [subprocess.Popen(arguments) for _ in range(8)]
    while any(worker.poll() is None for worker in workers):
        assert os.path.lexists(host.path("/dev/char/195:0"))
    assert [worker.wait() for worker in workers] == [0] * 8
    assert host.links() == {"195:0": "../nvidia0"}


def test_targets_are_relative(tmp_path: Path) -> None:
    assert target_for("/dev/nvidia-caps/nvidia-cap1") == "../nvidia-caps/nvidia-cap1"
    assert target_for("/run/nvidia/driver/dev/nvidia0") == "../../run/nvidia/driver/dev/nvidia0"
