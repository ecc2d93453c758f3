"""Plain runc with hooks in config.json: what NVIDIA's hook grants is lost without ours, and kept with it."""

from __future__ import annotations

import os

import pytest

from tests.lab.bundle import legacy_hook, make_bundle, rule
from tests.lab.container import RUNC, Container
from tests.lab.gpus import GPUS, OTHER, links
from tests.lab.machine import Machine
from tests.lab.our_hook import AFTER, BEFORE, both_hooks
from tests.lab.runtimes import loses_without_links
from tests.lab.triggers import TRIGGERS

NODES = ["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"]
NOT_GIVEN = "/dev/nvidia1"
ENTRIES = {"/dev/char/195:0 rw", "/dev/char/195:255 rw", "/dev/char/510:0 rw", "/dev/char/510:1 rw"}
WORKS = {**dict.fromkeys(NODES, "open"), NOT_GIVEN: "denied"}
LOST = dict.fromkeys(WORKS, "denied")
# Not "0": an index takes the driver's own files in /proc, which no lab has. Of the GPUs only one is left in /dev.
ENVIRONMENT = ["NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility"]
# NVIDIA's hook mounts the nodes, the stand-in does not: they are made from inside.
MAKE_NODES = "; ".join(
    f"mknod {path} c {numbers}"
    for path, numbers in zip([*NODES, NOT_GIVEN], ("195 0", "195 255", "510 0", "510 1", "195 1"))
)
stages = pytest.mark.parametrize(
    ("stage", "order"),
    [("prestart", BEFORE), ("prestart", AFTER), ("createRuntime", AFTER), ("poststart", AFTER)],
)


@pytest.fixture
def one_gpu(installed: Machine) -> Machine:
    for path in GPUS:
        if path != "/dev/nvidia0":
            os.unlink(installed.path(path))
    return installed


def start(machine: Machine, id: str, hooks: dict[str, list[object]], **more: object) -> Container:
    container = Container(make_bundle(machine, id, env=ENVIRONMENT, hooks=hooks, **more)).start()  # type: ignore[arg-type]
    container.call("exec", id, "/bin/sh", "-c", MAKE_NODES)
    return container


@stages
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_lost_without_and_kept_with_our_hook(one_gpu: Machine, trigger: str, stage: str, order: str) -> None:
    without = start(one_gpu, "without", dict(legacy_hook(NODES)))
    ours = start(one_gpu, "with", both_hooks(NODES, stage, order))
    assert without.probe(WORKS) == ours.probe(WORKS) == WORKS
    TRIGGERS[trigger](without)
    TRIGGERS[trigger](ours)
    assert without.probe(WORKS) == LOST
    assert ours.probe(WORKS) == WORKS
    assert ours.device_allow() >= ENTRIES
    for other in TRIGGERS.values():
        other(ours)
    assert ours.probe(WORKS) == WORKS


def test_spec_and_links_are_brought_in_line(one_gpu: Machine) -> None:
    container = start(one_gpu, "inline", both_hooks(NODES, "createRuntime"))
    given = [(r["major"], r["minor"]) for r in container.bundle.spec()["linux"]["resources"]["devices"] if r["allow"]]
    assert sorted(given) == [(195, 0), (195, 255), (510, 0), (510, 1)]
    assert links(one_gpu) == ["195:0", "195:255", "510:0", "510:1"]
    assert container.property("DevicePolicy") == ["strict"]


@pytest.mark.parametrize("stage", ["createRuntime", "poststart"])
def test_other_devices_of_the_container_survive_our_call(one_gpu: Machine, stage: str) -> None:
    others = {"/dev/fuse": (10, 229), "/dev/net/tun": (10, 200), **OTHER}
    entries = [{"type": "c", "major": number[0], "minor": number[1]} for number in others.values()]
    nodes = [{"path": path, "fileMode": 0o666, **entry} for path, entry in zip(others, entries)]
    rules = [{"allow": True, "access": "rwm", **entry} for entry in entries]
    hooks = both_hooks(NODES, stage)
    # On v2 the stand-in's program knows its own numbers only; NVIDIA's keeps what runc's program allows.
    hooks["prestart"][0]["args"] += [f"{major}:{minor}" for major, minor in others.values()]
    naive = start(one_gpu, "naive", {"prestart": hooks["prestart"]}, devices=nodes, rules=rules)
    works = naive.probe(others)
    assert "denied" not in works.values()
    if loses_without_links(one_gpu, RUNC):
        only_gpu = "DeviceAllow=/dev/char/195:0 rw"
        one_gpu.run(["systemctl", "set-property", "--runtime", naive.bundle.unit, only_gpu])
        # runc 1.1.3 to 1.1.6 told systemd nothing of a device without link and without sysfs entry.
        assert naive.probe(["/dev/labcard0"]) == {"/dev/labcard0": "denied"}

    container = start(one_gpu, "others", hooks, devices=nodes, rules=rules)
    assert container.device_allow() >= ENTRIES  # our call was made
    assert container.probe(others) == works
    for trigger in TRIGGERS.values():
        trigger(container)
    assert container.probe(others) == works
    assert container.probe(WORKS) == WORKS


def test_what_another_vendors_hook_granted_survives_our_call_on_v1(one_gpu: Machine) -> None:
    if one_gpu.version != "v1":
        pytest.skip("v2 has no list that could be read; what is mounted there counts (unit tests)")
    hooks = both_hooks(NODES, "createRuntime")
    hooks["prestart"].append({**hooks["prestart"][0], "args": ["ascend-docker-hook", "240:7"]})
    container = start(one_gpu, "vendor", hooks)
    container.call("exec", "vendor", "/bin/mknod", "/dev/labcard0", "c", "240", "7")
    assert container.probe(["/dev/labcard0"]) == {"/dev/labcard0": "open"}
    for trigger in TRIGGERS.values():
        trigger(container)
    assert container.probe(["/dev/labcard0"]) == {"/dev/labcard0": "open"}


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_poststart_completes_what_was_mounted(installed: Machine, trigger: str) -> None:
    """Which device "0" is cannot be told here, but two nodes of the host are mounted, and can be opened."""
    given = NODES[:2]
    mounts = [{"destination": path, "source": path, "type": "bind", "options": ["bind"]} for path in given]
    environment = ["NVIDIA_VISIBLE_DEVICES=0"]
    hooks = {name: both_hooks(given, name) for name in ("poststart", "createRuntime")}
    works, lost = dict.fromkeys(given, "open"), dict.fromkeys(given, "denied")
    late = Container(make_bundle(installed, "late", env=environment, mounts=mounts, hooks=hooks["poststart"])).start()
    early = Container(make_bundle(installed, "early", env=environment, mounts=mounts, hooks=hooks["createRuntime"]))
    early.start()
    assert early.probe(given) == late.probe(given) == works
    TRIGGERS[trigger](early)
    TRIGGERS[trigger](late)
    assert early.probe(given) == lost  # the limit of the stages before: they know what the spec says, no more
    assert late.probe(given) == works


def test_self_made_nodes_are_given_nothing(one_gpu: Machine) -> None:
    """A container that makes nodes of all GPUs itself: the hook at poststart gives it those it was given."""
    script = f"{MAKE_NODES}; exec /bin/sleep 1000000"
    bundle = make_bundle(
        one_gpu,
        "greedy",
        env=ENVIRONMENT,
        hooks=both_hooks(NODES, "poststart"),
        rules=[rule("/dev/nvidiactl")],
        arguments=["/bin/sh", "-c", script],
    )
    container = Container(bundle).start()
    assert container.probe(WORKS) == WORKS
    numbers = {entry.split()[0] for entry in container.device_allow()}
    assert {path for path in numbers if path.startswith("/dev/char/195:")} == {"/dev/char/195:0", "/dev/char/195:255"}


def test_container_without_gpus_is_left_alone(one_gpu: Machine) -> None:
    hooks = both_hooks([], "poststart")
    hooks["prestart"] = []
    bundle = make_bundle(one_gpu, "plain", hooks=hooks, env=["NVIDIA_VISIBLE_DEVICES=all"])
    text = bundle.text()
    container = Container(bundle).start()
    assert bundle.text() == text
    assert links(one_gpu) == []
    assert not any("195" in entry for entry in container.device_allow())
