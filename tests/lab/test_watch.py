"""watch on a real systemd, as its own unit runs it: lost without it, kept or healed with it."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator

import pytest

from tests.lab.bundle import legacy_hook, make_bundle
from tests.lab.container import Container
from tests.lab.gpus import links, remove_link
from tests.lab.installation import COMMAND, PREFIX
from tests.lab.machine import CHECKOUT, Machine
from tests.lab.running import DENIED, GPUS, OPEN, verdicts
from tests.lab.test_scale import start_many
from tests.lab.triggers import TRIGGERS

UNIT = "gpu-oci-hook-watch.service"
FILE = f"/run/systemd/system/{UNIT}"
HEALED = int(os.environ.get("GPU_OCI_LAB_HEALED", "100"))
LISTED = {"/dev/char/195:0 rw", "/dev/char/195:255 rw"}
# Takes the GPUs from the lists of all scopes, as if the guard had never been there, and waits for each to be back.
TAKE_AND_TIME = """
import json, subprocess, sys, time
sys.path.insert(0, sys.argv[1])
from gpu_oci_hook.host import access_check, cgroup, systemd
units = sys.argv[2:]
numbers = (("c", 195, 0), ("c", 195, 255))
where = cgroup.hierarchies()
base = where.devices or where.unified
questions = [access_check.Question(f"{base}/system.slice/{unit}", numbers) for unit in units]
with systemd.Manager() as manager:
    for found in manager.devices_of(units):
        rest = [entry for entry in found.allow if "/195:" not in entry[0]]
        manager.set_all([(found.unit, [("DeviceAllow", ("a(ss)", [])), ("DeviceAllow", ("a(ss)", rest))])])
    # The guard looks again at scopes that are young, and may have healed one already.
    lost = [not any(answer.allowed.values()) for answer in access_check.check_all(questions)]
start = time.monotonic()
subprocess.run(["systemctl", "daemon-reload"], check=True)
reloaded = time.monotonic()
times, left = {}, {unit: question for unit, question, is_lost in zip(units, questions, lost) if is_lost}
while left and time.monotonic() - reloaded < 20:
    answers = access_check.check_all(list(left.values()))
    now = time.monotonic()
    for unit, answer in zip(list(left), answers):
        if all(answer.allowed.values()):
            times[unit] = now - reloaded
            del left[unit]
    time.sleep(0.005)
print(json.dumps({"lost": sum(lost), "reload": reloaded - start, "times": sorted(times.values()), "left": len(left)}))
"""


@pytest.fixture
def guard(installed: Machine) -> Iterator[Callable[[], None]]:
    """Give a function that starts the guard as its unit does."""
    with open(os.path.join(CHECKOUT, "deploy", UNIT), encoding="utf-8") as source:
        text = source.read().replace("/usr/local/bin/gpu-oci-hook", COMMAND)

    def start() -> None:
        installed.write(FILE, text)
        installed.run(["systemctl", "daemon-reload"])
        installed.run(["systemctl", "start", UNIT])

    yield start
    installed.run(["systemctl", "stop", UNIT], check=False)
    installed.run(["rm", "-f", FILE])
    installed.run(["systemctl", "daemon-reload"])


def behind(machine: Machine, id: str) -> Container:
    return Container(make_bundle(machine, id, GPUS, [], hooks=legacy_hook(GPUS))).start()


def eventually(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def journal(machine: Machine) -> str:
    return machine.run(["journalctl", "-u", UNIT, "-o", "cat", "--no-pager"]).stdout


def main_pid(machine: Machine) -> str:
    return machine.run(["systemctl", "show", "-P", "MainPID", UNIT]).stdout.strip()


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_new_containers_are_completed(installed: Machine, guard: Callable[[], None], trigger: str) -> None:
    alone = behind(installed, "alone")
    assert alone.probe(GPUS) == OPEN
    TRIGGERS[trigger](alone)
    assert alone.probe(GPUS) == DENIED
    alone.delete()
    guard()
    watched = behind(installed, "watched")
    assert eventually(lambda: watched.device_allow() >= LISTED)
    TRIGGERS[trigger](watched)
    assert watched.probe([*GPUS, "/dev/nvidia1"]) == {**OPEN, "/dev/nvidia1": "absent"}
    assert verdicts(installed) == {"watched": "ok"}


def test_what_was_lost_before_is_healed_at_the_start_and_after_a_reload(
    installed: Machine, guard: Callable[[], None]
) -> None:
    container = behind(installed, "early")
    TRIGGERS["reload-and-start"](container)
    assert container.probe(GPUS) == DENIED
    guard()
    assert eventually(lambda: container.probe(GPUS) == OPEN)
    installed.run(["systemctl", "set-property", "--runtime", container.bundle.unit, "DeviceAllow="])
    assert container.probe(GPUS) == DENIED
    TRIGGERS["reload-and-start"](container)
    assert eventually(lambda: container.probe(GPUS) == OPEN)
    fields = json.loads(
        installed.run(["journalctl", "-o", "json", "-n", "1", "CONTAINER_ID=early", "--no-pager"]).stdout
    )
    assert fields["OBJECT_SYSTEMD_UNIT"] == "lab-early.scope"
    assert "completed, and checked" in fields["MESSAGE"]


def test_links_follow_the_nodes(installed: Machine, guard: Callable[[], None]) -> None:
    guard()
    assert eventually(lambda: {"195:0", "510:0"} <= set(links(installed)))
    remove_link(installed, "195:0")
    installed.run(["sh", "-c", "rm /dev/nvidia-uvm && mknod -m 666 /dev/nvidia-uvm c 509 0"])
    assert eventually(lambda: os.path.lexists(installed.path("/dev/char/509:0")))
    assert eventually(lambda: "195:0" in links(installed))
    installed.run(["rm", "-f", "/dev/char/509:0"])


def test_reexec_bus_restart_bad_settings_and_a_storm(installed: Machine, guard: Callable[[], None]) -> None:
    guard()
    process = main_pid(installed)
    installed.write("/etc/gpu-oci-hook/config.toml", "version = 1\naccess = 5\n")
    installed.run(["systemctl", "reload", UNIT])
    assert eventually(lambda: "the old ones stay" in journal(installed))
    installed.run(["rm", "/etc/gpu-oci-hook/config.toml"])
    installed.run(["systemctl", "daemon-reexec"])
    installed.run(["systemctl", "restart", "dbus.service"], check=False)
    containers = [behind(installed, f"storm{i}") for i in range(5)]
    for _ in range(20):
        installed.run(["systemctl", "daemon-reload"])
    assert eventually(lambda: all(each.device_allow() >= LISTED for each in containers), 20.0)
    assert eventually(lambda: all(each.probe(GPUS) == OPEN for each in containers))
    containers[0].delete()
    assert eventually(lambda: set(verdicts(installed).values()) == {"ok"})
    assert main_pid(installed) == process
    memory = installed.run(["ps", "-o", "rss=", "-p", process]).stdout
    print(f"\nthe guard's memory, {installed.version}: {int(memory) // 1024} MB")
    assert int(memory) < 60 * 1024


def test_time_until_healed(installed: Machine, guard: Callable[[], None]) -> None:
    guard()
    ids = start_many(installed, HEALED)
    assert eventually(lambda: list(verdicts(installed).values()) == ["ok"] * HEALED, 30.0)
    units = [f"lab-{id}.scope" for id in ids]
    medians = []
    for _ in range(3):
        done = installed.run(["python3", "-c", TAKE_AND_TIME, f"{PREFIX}/lib/gpu-oci-hook", *units])
        said = json.loads(done.stdout)
        assert said["left"] == 0
        assert said["lost"] > HEALED / 2
        medians.append(statistics.median(said["times"]))
        print(
            f"\n{HEALED} containers, {installed.version}: healed after {medians[-1] * 1000:.0f} ms (median), "
            f"{said['times'][-1] * 1000:.0f} ms (last); the reload itself {said['reload'] * 1000:.0f} ms"
        )
    # 250 ms is the aim on a quiet machine; no test holds a busy one to it.
    assert min(medians) < 2.5
