"""repair on a real systemd: loss without us, survival with us, and nothing else changed."""

from __future__ import annotations

import json

import jsonschema
import pytest

from gpu_oci_hook import schemas
from tests.lab.bundle import ROOT_FILESYSTEM, legacy_hook, make_bundle
from tests.lab.container import RUNC, Container
from tests.lab.gpus import links, make_link
from tests.lab.installation import COMMAND
from tests.lab.machine import SOURCE, Machine
from tests.lab.running import (
    DENIED,
    GPUS,
    OPEN,
    applies_late,
    audit,
    call,
    device_cgroup,
    mount_hook,
    pid,
    start_scope,
    verdicts,
)
from tests.lab.runtimes import loses_without_links
from tests.lab.triggers import TRIGGERS

ALL = [*GPUS, "/dev/nvidia1"]
ALL_OPEN = {**OPEN, "/dev/nvidia1": "absent"}
LISTED = {"/dev/char/195:0 rw", "/dev/char/195:255 rw"}
LABCARD = "/dev/labcard0"


def behind(machine: Machine, id: str) -> Container:
    """A container whose GPUs were granted behind the runtime's back (fault A)."""
    return Container(make_bundle(machine, id, GPUS, [], hooks=legacy_hook(GPUS))).start()


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_repaired_before_the_loss(installed: Machine, trigger: str) -> None:
    right = behind(installed, "right")
    unit_before = right.device_allow()
    marked = right.property("NeedDaemonReload")
    code, result = call(installed, "repair", "right")
    jsonschema.validate(result, schemas.load("repair"))
    assert (code, [each["id"] for each in result["repaired"]], result["failed"]) == (0, ["right"], [])
    assert right.device_allow() == unit_before | LISTED
    assert right.property("NeedDaemonReload") == marked
    assert set(links(installed)) == {"195:0", "195:255"}
    left = behind(installed, "left")  # only now: on systemd 257 a sibling at risk is repaired along
    TRIGGERS[trigger](left)
    TRIGGERS[trigger](right)
    if not (applies_late(installed) and trigger in ("daemon-reload", "daemon-reexec")):
        assert left.probe(GPUS) == DENIED
    assert right.probe(ALL) == ALL_OPEN


def test_lost_is_healed_and_stays(installed: Machine) -> None:
    container = behind(installed, "healed")
    TRIGGERS["reload-and-start"](container)
    assert container.probe(GPUS) == DENIED
    assert call(installed, "repair", "--all")[0] == 0
    assert container.probe(ALL) == ALL_OPEN
    assert verdicts(installed) == {"healed": "ok"}
    for trigger in TRIGGERS.values():
        trigger(container)
        assert container.probe(ALL) == ALL_OPEN
    assert call(installed, "repair", "--all")[1]["repaired"] == []


def test_mounts_of_the_host_s_nodes_are_evidence(installed: Machine) -> None:
    """An environment-only container as NVIDIA's legacy hook leaves it: no node and no rule in the spec."""
    hooks = legacy_hook(GPUS)
    hooks["prestart"].append(mount_hook(installed, ROOT_FILESYSTEM, GPUS))
    container = Container(make_bundle(installed, "mounted", hooks=hooks)).start()
    own = "mknod /dev/nvidia5 c 195 5"  # a node that the container makes for itself proves nothing
    container.call("exec", "mounted", "/bin/sh", "-c", own)
    TRIGGERS["reload-and-start"](container)
    assert container.probe(GPUS) == DENIED
    assert [each["path"] for each in audit(installed)["mounted"]["devices"]] == GPUS
    assert call(installed, "repair", "mounted")[0] == 0
    assert container.probe([*GPUS, "/dev/nvidia5"]) == {**OPEN, "/dev/nvidia5": "denied"}


def test_dry_run_changes_nothing(installed: Machine) -> None:
    container = behind(installed, "dry")
    before = container.device_allow()
    code, result = call(installed, "repair", "--all", "--dry-run")
    assert code == 0
    assert result["repaired"][0]["call"] == (
        "SetUnitProperties(lab-dry.scope, runtime=true, DeviceAllow=[(/dev/char/195:0 rw), (/dev/char/195:255 rw)])"
    )
    assert container.device_allow() == before
    assert links(installed) == []


def test_what_is_live_and_missing_in_the_unit_is_kept(installed: Machine) -> None:
    """runc 1.1.3 to 1.1.6 left other devices out as well: a call that lists the GPU alone takes them."""
    if not loses_without_links(installed, RUNC):
        pytest.skip("this runc does not drop rules without links")
    nodes = [*GPUS, LABCARD]
    naive, ours = (Container(make_bundle(installed, id, nodes)).start() for id in ("naive", "ours"))
    assert naive.probe(nodes) == ours.probe(nodes) == dict.fromkeys(nodes, "open")
    installed.run(["systemctl", "set-property", "--runtime", naive.bundle.unit, "DeviceAllow=/dev/char/195:0 rw"])
    assert naive.probe([LABCARD]) == {LABCARD: "denied"}
    assert call(installed, "repair", "ours")[0] == 0
    assert ours.probe(nodes) == dict.fromkeys(nodes, "open")
    TRIGGERS["reload-and-start"](ours)
    assert ours.probe(nodes) == dict.fromkeys(nodes, "open")


def test_child_cgroup_that_denies_on_v1(installed: Machine) -> None:
    if installed.version != "v1":
        pytest.skip("on v2 a child has no list")
    for path in GPUS:
        make_link(installed, path)
    container = Container(make_bundle(installed, "parent", GPUS)).start()
    child = device_cgroup(installed, pid(container)) + "/inner"
    script = f"mkdir {child} && echo 'c 195:0 rwm' >{child}/devices.deny && echo {pid(container)} >{child}/cgroup.procs"
    installed.run(["sh", "-c", script])
    assert verdicts(installed) == {"parent": "lost"}
    trace = ["strace", "-f", "-e", "trace=openat,open,creat", "-o", "/tmp/trace", COMMAND, "repair", "parent"]
    installed.run(trace)
    # Field report R28: a denial first, even for a moment, is felt by every process of the container (runc#2474).
    written = {
        line.split('"')[1].rpartition("/")[2]
        for line in installed.read("/tmp/trace").splitlines()
        if "O_WRONLY" in line and "/devices." in line
    }
    assert written == {"devices.allow"}
    assert verdicts(installed) == {"parent": "ok"}
    assert "c 195:0 rw" in installed.read(f"{child}/devices.list")


def test_parent_that_denies_on_v1_is_said_and_the_rest_goes_on(installed: Machine) -> None:
    if installed.version != "v1":
        pytest.skip("on v2 there is no parent's list")
    refused = make_bundle(installed, "refused", GPUS, [])
    spec = refused.spec()
    spec["linux"]["cgroupsPath"] = "labdenied.slice:lab:refused"
    installed.write(refused.config, json.dumps(spec))
    container = Container(refused).start()
    other = behind(installed, "other")
    TRIGGERS["reload-and-start"](other)
    assert other.probe(GPUS) == DENIED
    installed.run(["sh", "-c", "echo 'c 195:* rwm' >/sys/fs/cgroup/devices/labdenied.slice/devices.deny"])
    code, result = call(installed, "repair", "--all")
    assert code == 1
    assert [each["id"] for each in result["repaired"]] == ["other"]
    assert [each["id"] for each in result["failed"]] == ["refused"]
    assert "a parent cgroup" in result["failed"][0]["reason"]
    assert other.probe(GPUS) == OPEN
    container.delete()


def test_recreate_where_the_runtime_s_own_program_denies(installed: Machine) -> None:
    """The layout of crun: processes below the scope, with a device program of their own."""
    if installed.version != "v2":
        pytest.skip("v1 has no programs")
    for path in GPUS:
        make_link(installed, path)
    container = Container(make_bundle(installed, "again", GPUS)).start()
    child = device_cgroup(installed, pid(container)) + "/container"
    attach = f"""
import sys; sys.path.insert(0, {SOURCE!r})
from tests.lab.legacy_hook import grant_v2
grant_v2({child!r}, [])
"""
    installed.run(["sh", "-c", f"mkdir {child} && echo {pid(container)} >{child}/cgroup.procs"])
    assert verdicts(installed) == {"again": "ok"}
    installed.run(["python3", "-c", attach])
    assert verdicts(installed) == {"again": "recreate"}
    code, result = call(installed, "repair", "again")
    assert (code, result["repaired"]) == (1, [])
    assert "program" in result["failed"][0]["reason"]


def test_narrow_closes_what_was_not_given(installed: Machine) -> None:
    container = Container(make_bundle(installed, "narrow", GPUS)).start()
    start_scope(installed, "lab-wide.scope", pid(container))
    assert verdicts(installed) == {"narrow": "wider"}
    assert call(installed, "repair", "--all")[1]["repaired"] == []
    code, result = call(installed, "repair", "--all", "--narrow")
    assert (code, result["failed"]) == (0, [])
    assert verdicts(installed) == {"narrow": "ok"}
    TRIGGERS["daemon-reload"](container)
    assert verdicts(installed) == {"narrow": "ok"}
    assert installed.run(["systemctl", "show", "-P", "NeedDaemonReload", "lab-wide.scope"]).stdout.strip() == "no"


def test_siblings_are_repaired_together(installed: Machine) -> None:
    """On systemd 257 a call on one unit takes the GPU from its at-risk siblings."""
    first, second = behind(installed, "first"), behind(installed, "second")
    TRIGGERS["daemon-reload"](first)
    if first.probe(GPUS) == DENIED:
        pytest.skip("this systemd applies lists at the reload itself")
    installed.run(["systemctl", "set-property", "--runtime", first.bundle.unit, "DeviceAllow=/dev/char/195:0 rw"])
    assert second.probe(GPUS) == DENIED
    first.delete()
    second.delete()
    third, fourth = behind(installed, "third"), behind(installed, "fourth")
    TRIGGERS["daemon-reload"](third)
    assert third.probe(GPUS) == fourth.probe(GPUS) == OPEN
    assert call(installed, "repair", "third")[0] == 0
    assert third.probe(GPUS) == fourth.probe(GPUS) == OPEN
    TRIGGERS["reload-and-start"](third)
    assert third.probe(GPUS) == fourth.probe(GPUS) == OPEN


def test_names_and_all_are_asked_for(installed: Machine) -> None:
    assert installed.run([COMMAND, "repair"], check=False).returncode == 2
    done = installed.run([COMMAND, "repair", "nosuch"], check=False)
    assert done.returncode != 0
    assert "no running container is called nosuch" in done.stderr
