"""The lab itself: it cannot touch the machine, and nothing of it remains, also after the test process was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile

import pytest

from tests.lab.bundle import make_bundle
from tests.lab.container import Container
from tests.lab.hierarchies import mounted_hierarchies, processes_in
from tests.lab.machine import CHECKOUT, SOURCE, Machine, sweep

BOOT_AND_WAIT = """
import sys, time
from tests.lab.bundle import make_bundle
from tests.lab.container import Container
from tests.lab.gpus import make_nodes
from tests.lab.machine import Machine
with Machine(sys.argv[1]) as machine:
    make_nodes(machine)
    Container(make_bundle(machine, "orphan", devices=["/dev/nvidia0"])).start()
    print(machine.name, flush=True)
    time.sleep(600)
"""


def cgroups(name: str) -> list[str]:
    return [path for path in (f"{each.mount_point}/{name}" for each in mounted_hierarchies()) if os.path.exists(path)]


def processes(name: str) -> set[int]:
    return {process for path in cgroups(name) for process in processes_in(path)}


def files(name: str) -> list[str]:
    return [entry for entry in os.listdir(tempfile.gettempdir()) if entry.startswith(name)]


def mounts() -> str:
    with open("/proc/self/mounts", encoding="utf-8") as lines:
        return lines.read()


def test_nothing_remains(lab: Machine) -> None:
    before = mounts()
    with Machine(lab.version) as machine:
        make_bundle(machine, "one")
        assert processes(machine.name)
        assert cgroups(machine.name)
    assert not processes(machine.name)
    assert not cgroups(machine.name)
    assert not files(machine.name)
    assert mounts() == before


def test_nothing_remains_after_a_failure(lab: Machine) -> None:
    machine = Machine(lab.version)
    with pytest.raises(ZeroDivisionError), machine:
        raise ZeroDivisionError
    assert not cgroups(machine.name)
    assert not files(machine.name)


def test_boot_that_fails_is_cleaned_up(lab: Machine) -> None:
    machine = Machine(lab.version, timeout=0.0)
    with pytest.raises(Exception, match="did not boot within 0 s"), machine:
        pass
    assert not cgroups(machine.name)
    assert not files(machine.name)


def test_sweep_removes_what_a_killed_run_left(lab: Machine) -> None:
    command = [sys.executable, "-c", BOOT_AND_WAIT, lab.version]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        name = run.stdout.readline().strip()
        assert name
        assert name not in sweep()  # its maker lives
        assert processes(name)
        run.send_signal(signal.SIGKILL)
    assert len(processes(name)) > 2
    # Another test process that boots at this moment may be the one that sweeps; what counts is that it is gone.
    sweep()
    assert not processes(name)
    assert not cgroups(name)
    assert not files(name)


def test_the_machine_is_not_touched(lab: Machine) -> None:
    before = sorted(os.listdir("/dev")), sorted(os.listdir("/etc"))
    lab.run(["touch", "/etc/lab-was-here", "/lab-was-here", "/dev/lab-was-here"])
    lab.write(f"{SOURCE}/lab-was-here", "")
    Container(make_bundle(lab, "here", devices=["/dev/nvidia0"])).start()
    assert (sorted(os.listdir("/dev")), sorted(os.listdir("/etc"))) == before
    assert not os.path.exists("/lab-was-here")
    assert not os.path.exists(f"{CHECKOUT}/lab-was-here")
    lab.run(["rm", "/etc/lab-was-here", "/lab-was-here", "/dev/lab-was-here", f"{SOURCE}/lab-was-here"])


def test_run_passes_input_output_and_status(lab: Machine) -> None:
    done = lab.run(["sh", "-c", "cat; echo $WORD >&2; exit 7"], check=False, input="text", env={"WORD": "said"})
    assert (done.returncode, done.stdout, done.stderr) == (7, "text", "said\n")


def test_files(lab: Machine) -> None:
    lab.write("/etc/lab/one", "text", mode=0o600)
    assert lab.read("/etc/lab/one") == "text"
    assert lab.run(["stat", "-c", "%a", "/etc/lab/one"]).stdout == "600\n"


def test_chroot_is_refused(lab: Machine) -> None:
    begin = f"mount --rbind / /mnt && exec chroot /mnt python3 -I {SOURCE}/tests/lab/inside.py v2 /tmp/none / {SOURCE}"
    done = lab.run(["unshare", "--mount", "sh", "-c", begin], check=False)
    assert done.returncode == 1
    assert "this is a chroot" in done.stderr
    assert not os.path.exists(lab.path("/tmp/none"))
