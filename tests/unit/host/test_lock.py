from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gpu_oci_hook.host.lock import Lock
from tests.unit.conftest import REPOSITORY

COUNTER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from gpu_oci_hook.host.lock import Lock
for _ in range(20):
    with Lock(sys.argv[2] + "/run/lock"):
        value = int(open(sys.argv[2] + "/count").read())
        time.sleep(0.001)
        open(sys.argv[2] + "/count", "w").write(str(value + 1))
"""


def test_one_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")
    workers = [subprocess.Popen([sys.executable, "-c", COUNTER, str(REPOSITORY), str(tmp_path)]) for _ in range(4)]
    assert [worker.wait(60) for worker in workers] == [0] * 4
    assert (tmp_path / "count").read_text() == "80"


def test_everybody_goes_in_where_no_lock_can_be_made(tmp_path: Path) -> None:
    with Lock(str(tmp_path / "no/such/folder/lock")):
        pass
