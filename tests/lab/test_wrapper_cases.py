"""What the wrapper does with each kind of container and host, on real parts; a reload follows in each case."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.lab.bundle import Bundle, make_bundle, node, rule
from tests.lab.container import CRUN, RUNC, Container
from tests.lab.gpus import GPUS, links, make_link
from tests.lab.installation import WRAPPER, settings
from tests.lab.machine import Machine
from tests.lab.runtimes import cannot_run
from tests.lab.triggers import daemon_reload

NODES = ["/dev/nvidia0", "/dev/nvidiactl"]
OPEN = dict.fromkeys(NODES, "open")
DENIED = dict.fromkeys(NODES, "denied")


def start_and_reload(bundle: Bundle, runtime: str = WRAPPER) -> Container:
    container = Container(bundle, runtime).start()
    daemon_reload(container)
    return container


def added_rules(bundle: Bundle, before: Any) -> list[tuple[int, int, str]]:
    """Return the rules at the end that were not there, after checking that all else is as it was."""
    after = bundle.spec()
    count = len(before["linux"]["resources"]["devices"])
    added = after["linux"]["resources"]["devices"][count:]
    del after["linux"]["resources"]["devices"][count:]
    assert after == before
    assert all(item["allow"] and item["type"] == "c" for item in added)
    return [(item["major"], item["minor"], item["access"]) for item in added]


def test_container_without_gpus_is_untouched(installed: Machine) -> None:
    bundle = make_bundle(installed, "plain", devices=["/dev/labcard0"], env=["NVIDIA_VISIBLE_DEVICES=all"])
    text, status = bundle.text(), os.stat(installed.path(bundle.config))
    entries = sorted(os.listdir(installed.path("/dev/char")))
    start_and_reload(bundle)
    after = os.stat(installed.path(bundle.config))
    assert bundle.text() == text
    assert (after.st_ino, after.st_mtime_ns) == (status.st_ino, status.st_mtime_ns)
    assert sorted(os.listdir(installed.path("/dev/char"))) == entries


def test_nodes_but_no_rules(installed: Machine) -> None:
    bundle = make_bundle(installed, "ruleless", devices=NODES, rules=[])
    before = bundle.spec()
    container = start_and_reload(bundle)
    assert added_rules(bundle, before) == [(195, 0, "rw"), (195, 255, "rw")]
    assert links(installed) == ["195:0", "195:255"]
    assert container.probe(NODES) == OPEN


def test_rules_but_no_links(installed: Machine) -> None:
    lost = start_and_reload(make_bundle(installed, "lost", devices=NODES), RUNC)
    assert lost.probe(NODES) == DENIED
    bundle = make_bundle(installed, "linkless", devices=NODES)
    text = bundle.text()
    container = start_and_reload(bundle)
    assert bundle.text() == text
    assert links(installed) == ["195:0", "195:255"]
    assert os.readlink(installed.path("/dev/char/195:0")) == "../nvidia0"
    assert container.probe(NODES) == OPEN


@pytest.mark.parametrize("target", ["../nvidia0", "/dev/nvidia0"])
def test_rules_and_links(installed: Machine, target: str) -> None:
    make_link(installed, "/dev/nvidiactl")
    link = installed.path("/dev/char/195:0")
    os.symlink(target, link)
    before = os.lstat(link)
    bundle = make_bundle(installed, "complete", devices=NODES)
    text = bundle.text()
    container = start_and_reload(bundle)
    assert bundle.text() == text
    assert os.readlink(link) == target
    assert os.lstat(link).st_ino == before.st_ino
    assert container.probe(NODES) == OPEN


@pytest.mark.parametrize("target", ["../nvidia1", "../nvidia9", "/run/nvidia/driver/dev/nvidia0"])
def test_wrong_or_dangling_link_is_replaced(installed: Machine, target: str) -> None:
    os.symlink(target, installed.path("/dev/char/195:0"))
    container = start_and_reload(make_bundle(installed, "relink", devices=NODES))
    assert os.readlink(installed.path("/dev/char/195:0")) == "../nvidia0"
    assert container.probe(NODES) == OPEN


def test_privileged_container(installed: Machine) -> None:
    bundle = make_bundle(installed, "privileged", devices=[*NODES, "/dev/labcard0"], privileged=True)
    text = bundle.text()
    container = start_and_reload(bundle)
    assert bundle.text() == text
    assert container.probe([*NODES, "/dev/labcard0"]) == {**OPEN, "/dev/labcard0": "open"}
    assert container.property("DevicePolicy") == ["auto"]
    assert container.device_allow() == set()


def test_stale_major_gets_no_rule(installed: Machine) -> None:
    stale = node("/dev/nvidia-uvm", (509, 0))
    bundle = make_bundle(installed, "stale", devices=[*NODES, stale], rules=[])
    before = bundle.spec()
    container = start_and_reload(bundle)
    assert added_rules(bundle, before) == [(195, 0, "rw"), (195, 255, "rw")]
    assert "/dev/nvidia-uvm" in container.log()
    assert "510:0" in container.log()
    assert container.probe([*NODES, "/dev/nvidia-uvm"]) == {**OPEN, "/dev/nvidia-uvm": "denied"}


def test_directory_where_the_link_should_be(installed: Machine) -> None:
    os.makedirs(installed.path("/dev/char/195:0/keep"))
    container = start_and_reload(make_bundle(installed, "blocked", devices=NODES))
    assert os.path.isdir(installed.path("/dev/char/195:0/keep"))
    assert "/dev/char/195:0" in container.log()
    assert container.probe(["/dev/nvidiactl"]) == {"/dev/nvidiactl": "open"}


@pytest.mark.parametrize(("rules", "expected"), [([], DENIED), (NODES, OPEN)], ids=["no-rules", "rules"])
def test_read_only_bundle(installed: Machine, rules: list[str], expected: dict[str, str]) -> None:
    """A spec that cannot be written is passed on; where it has the rules, the links alone keep the GPUs."""
    bundle = make_bundle(installed, "readonly", devices=NODES, rules=rules)
    text = bundle.text()
    installed.run(["mount", "--bind", bundle.path, bundle.path])
    installed.run(["mount", "-o", "remount,bind,ro", bundle.path])
    try:
        container = start_and_reload(bundle)
        assert bundle.text() == text
        assert container.probe(NODES) == expected
        assert (bundle.config in container.log()) == (not rules)
    finally:
        installed.run(["umount", bundle.path])


def test_no_dev_char_at_all(installed: Machine) -> None:
    installed.run(["mv", "/dev/char", "/dev/char.away"])
    try:
        container = start_and_reload(make_bundle(installed, "charless", devices=NODES))
        assert links(installed) == ["195:0", "195:255"]
        assert container.probe(NODES) == OPEN
    finally:
        installed.run(["rm", "-rf", "/dev/char"])
        installed.run(["mv", "/dev/char.away", "/dev/char"])


def test_other_devices_get_nothing(installed: Machine) -> None:
    bundle = make_bundle(installed, "others", devices=[*NODES, "/dev/labcard0"], rules=[])
    before = bundle.spec()
    container = start_and_reload(bundle)
    assert added_rules(bundle, before) == [(195, 0, "rw"), (195, 255, "rw")]
    assert links(installed) == ["195:0", "195:255"]
    assert container.probe([*NODES, "/dev/labcard0"]) == {**OPEN, "/dev/labcard0": "denied"}


def test_two_of_eight(installed: Machine) -> None:
    given = ["/dev/nvidia2", "/dev/nvidia5", "/dev/nvidiactl", "/dev/nvidia-uvm"]
    container = Container(make_bundle(installed, "two", devices=given, rules=[]), WRAPPER).start()
    others = [path for path in GPUS if path not in given]
    make = "; ".join(f"mknod {path} c {GPUS[path][0]} {GPUS[path][1]}" for path in others)
    container.call("exec", container.bundle.id, "/bin/sh", "-c", make)
    expected = {**dict.fromkeys(given, "open"), **dict.fromkeys(others, "denied")}
    assert container.probe(expected) == expected
    daemon_reload(container)
    assert container.probe(expected) == expected
    numbers = {entry.split()[0] for entry in container.device_allow()}
    assert {path for path in numbers if path.startswith(("/dev/char/195:", "/dev/char/51"))} == {
        "/dev/char/195:2",
        "/dev/char/195:5",
        "/dev/char/195:255",
        "/dev/char/510:0",
    }
    assert links(installed) == ["195:2", "195:255", "195:5", "510:0"]


def test_explicit_deny_is_kept(installed: Machine) -> None:
    bundle = make_bundle(
        installed, "denied", devices=NODES, rules=["/dev/nvidiactl", rule("/dev/nvidia0", "rwm", allow=False)]
    )
    text = bundle.text()
    container = start_and_reload(bundle)
    assert bundle.text() == text
    assert container.probe(NODES) == {"/dev/nvidia0": "denied", "/dev/nvidiactl": "open"}


def test_crun_without_any_rule_stays_unrestricted(installed: Machine) -> None:
    """The first rule would close the other devices on v2 (crun applies a list only if there is one)."""
    reason = cannot_run(installed, CRUN)
    if reason:
        pytest.skip(reason)
    settings(installed, f'runtimes = ["{CRUN}"]')
    bundle = make_bundle(installed, "norules", devices=[*NODES, "/dev/labcard0"])
    spec = bundle.spec()
    spec["linux"]["resources"]["devices"] = []
    installed.write(bundle.config, json.dumps(spec))
    container = start_and_reload(bundle)
    assert bundle.spec() == spec
    assert container.probe([*NODES, "/dev/labcard0"]) == {**OPEN, "/dev/labcard0": "open"}
