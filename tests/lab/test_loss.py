"""The fault itself, without us: what is in the spec works at first and is gone after systemd looks at the unit."""

from __future__ import annotations

import pytest

from tests.lab.bundle import make_bundle
from tests.lab.container import CRUN, RUNC, Container
from tests.lab.gpus import make_link
from tests.lab.machine import Machine
from tests.lab.runtimes import cannot_run, loses_without_links
from tests.lab.triggers import TRIGGERS

NODES = ["/dev/nvidia0", "/dev/nvidiactl"]
ENTRIES = {"/dev/char/195:0 rwm", "/dev/char/195:255 rwm"}
every_trigger = pytest.mark.parametrize("trigger", TRIGGERS)
both_runtimes = pytest.mark.parametrize("runtime", [RUNC, CRUN], ids=["runc", "crun"])


@both_runtimes
@every_trigger
def test_rules_without_links_are_lost(lab: Machine, runtime: str, trigger: str) -> None:
    reason = cannot_run(lab, runtime)
    if reason:
        pytest.skip(reason)
    container = Container(make_bundle(lab, "plain", devices=NODES), runtime).start()
    assert container.probe(NODES) == dict.fromkeys(NODES, "open")
    TRIGGERS[trigger](container)
    if loses_without_links(lab, runtime):
        assert container.property("Delegate") == ["yes"]  # field report R89: it is about cgroups below the unit's own
        assert not ENTRIES & container.device_allow()
        assert container.probe(NODES) == dict.fromkeys(NODES, "denied")
    else:
        assert container.probe(NODES) == dict.fromkeys(NODES, "open")


@every_trigger
def test_rules_with_links_are_kept(lab: Machine, trigger: str) -> None:
    for path in NODES:
        make_link(lab, path)
    container = Container(make_bundle(lab, "linked", devices=NODES)).start()
    TRIGGERS[trigger](container)
    assert container.device_allow() >= ENTRIES
    assert container.probe(NODES) == dict.fromkeys(NODES, "open")


def test_nodes_without_rules_never_open(lab: Machine) -> None:
    container = Container(make_bundle(lab, "ruleless", devices=NODES, rules=[])).start()
    assert container.probe([*NODES, "/dev/nvidia1"]) == {**dict.fromkeys(NODES, "denied"), "/dev/nvidia1": "absent"}
