from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from gpu_oci_hook.host.bundle import SIZE_MAX, BundleError, ChangedError, read_spec, replace_spec
from tests.unit.conftest import REPOSITORY

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts a small filesystem, changes owners")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "config.json"
    file.write_text('{"old":1}')
    return file


def test_replaces_with_the_same_mode(config: Path) -> None:
    config.chmod(0o640)
    replace_spec(read_spec(str(config)), '{"new":2}')
    assert config.read_text() == '{"new":2}'
    assert config.stat().st_mode & 0o7777 == 0o640
    assert os.listdir(config.parent) == ["config.json"]


@as_root
def test_keeps_owner_and_attributes(config: Path) -> None:
    os.chown(config, 12, 34)
    try:
        os.setxattr(config, "user.mark", b"x")
    except OSError:
        pytest.skip("this filesystem has no user attributes")
    replace_spec(read_spec(str(config)), "{}")
    assert (config.stat().st_uid, config.stat().st_gid) == (12, 34)
    assert os.getxattr(config, "user.mark") == b"x"


def test_the_remains_of_a_killed_process_are_no_obstacle(config: Path) -> None:
    (config.parent / f".config.json.gpu-oci-hook-{os.getpid()}").write_text("half")
    replace_spec(read_spec(str(config)), "{}")
    assert os.listdir(config.parent) == ["config.json"]


def test_a_link_stays_a_link(config: Path, tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    link = tmp_path / "bundle/config.json"
    link.symlink_to("../config.json")
    replace_spec(read_spec(str(link)), "{}")
    assert link.is_symlink()
    assert config.read_text() == "{}"


def test_somebody_elses_change_is_not_overwritten(config: Path) -> None:
    file = read_spec(str(config))
    config.write_text('{"theirs":1}')
    with pytest.raises(ChangedError):
        replace_spec(file, "{}")
    assert config.read_text() == '{"theirs":1}'
    assert os.listdir(config.parent) == ["config.json"]


@pytest.mark.parametrize(
    ("prepare", "part"),
    [
        (lambda file: file.unlink(), "No such file"),
        (lambda file: (file.unlink(), file.mkdir()), "not a regular file"),
        (lambda file: (file.unlink(), os.mkfifo(file)), "not a regular file"),
        (lambda file: file.write_bytes(b'{"a":"\xff"}'), "byte 6 is 0xff"),
        (lambda file: os.truncate(file, SIZE_MAX + 1), "larger than 32 MB"),
        (lambda file: (file.unlink(), file.symlink_to(file.name)), "Too many levels"),
    ],
)
def test_unreadable(config: Path, prepare: Any, part: str) -> None:
    prepare(config)
    with pytest.raises(BundleError) as caught:
        read_spec(str(config))
    assert part in caught.value.message


@as_root
def test_a_full_filesystem_leaves_the_old_file(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "small", str(tmp_path)], check=True)
    try:
        config = tmp_path / "config.json"
        config.write_text('{"old":1}')
        with pytest.raises(OSError):
            replace_spec(read_spec(str(config)), "x" * 100_000)
        assert config.read_text() == '{"old":1}'
        assert os.listdir(tmp_path) == ["config.json"]
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@as_root
def test_a_read_only_filesystem_leaves_the_old_file(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "small", str(tmp_path)], check=True)
    try:
        config = tmp_path / "config.json"
        config.write_text('{"old":1}')
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path)], check=True)
        with pytest.raises(OSError):
            replace_spec(read_spec(str(config)), "{}")
        assert config.read_text() == '{"old":1}'
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


AS_NOBODY = """
import os, sys
sys.path.insert(0, sys.argv[1])
from gpu_oci_hook.host.bundle import read_spec, replace_spec
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    replace_spec(read_spec(sys.argv[2]), "{}")
except PermissionError as error:
    sys.exit(error.errno)
"""


@as_root
def test_a_folder_that_may_not_be_written_leaves_the_old_file() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        config = Path(folder) / "config.json"
        config.write_text('{"old":1}')
        done = subprocess.run([sys.executable, "-c", AS_NOBODY, str(REPOSITORY), str(config)], check=False)
        assert done.returncode == errno.EACCES
        assert config.read_text() == '{"old":1}'
        assert os.listdir(folder) == ["config.json"]


WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from gpu_oci_hook.host.bundle import read_spec, replace_spec
texts = ["a" * 300_000, "b" * 300_000]
print("ready", flush=True)
while True:
    for text in texts:
        replace_spec(read_spec(sys.argv[2]), text)
"""


def test_killed_at_any_instant_it_is_the_old_or_the_new_one(config: Path) -> None:
    config.write_text("a" * 300_000)
    chance = random.Random(7)
    seen = set()
    for _ in range(25):
        arguments = [sys.executable, "-I", "-S", "-c", WRITER, str(REPOSITORY), str(config)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(chance.random() / 100)
            writer.send_signal(signal.SIGKILL)
        text = config.read_text()
        assert text in ("a" * 300_000, "b" * 300_000)
        seen.add(text[0])
    assert seen == {"a", "b"}
