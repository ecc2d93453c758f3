"""The wrapper's main job on real parts: GPUs lost with plain runc are kept, in every way systemd looks at the unit."""

from __future__ import annotations

import pytest

from tests.lab.bundle import make_bundle
from tests.lab.container import CRUN, RUNC, Container
from tests.lab.installation import WRAPPER, settings
from tests.lab.machine import Machine
from tests.lab.runtimes import cannot_run, loses_without_links
from tests.lab.triggers import TRIGGERS

NODES = ["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"]
PATHS = {"/dev/char/195:0", "/dev/char/195:255", "/dev/char/510:0"}
OPEN = dict.fromkeys(NODES, "open")
DENIED = dict.fromkeys(NODES, "denied")


@pytest.mark.parametrize("runtime", [RUNC, CRUN], ids=["runc", "crun"])
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_lost_without_and_kept_with_the_wrapper(installed: Machine, runtime: str, trigger: str) -> None:
    reason = cannot_run(installed, runtime)
    if reason:
        pytest.skip(reason)
    settings(installed, f'runtimes = ["{runtime}"]')
    # In this order: the links that the wrapper makes would serve the other container too.
    without = Container(make_bundle(installed, "without", devices=NODES), runtime).start()
    with_wrapper = Container(make_bundle(installed, "with", devices=NODES), WRAPPER).start()
    assert without.probe(NODES) == with_wrapper.probe(NODES) == OPEN

    TRIGGERS[trigger](without)
    TRIGGERS[trigger](with_wrapper)

    lost = loses_without_links(installed, runtime)
    assert without.probe(NODES) == (DENIED if lost else OPEN)
    assert with_wrapper.probe(NODES) == OPEN
    if runtime == RUNC:  # crun < 1.18 tells systemd nothing, and loses nothing
        assert {entry.split()[0] for entry in with_wrapper.device_allow()} >= PATHS
        assert not (lost and {entry.split()[0] for entry in without.device_allow()} & PATHS)


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_nodes_without_rules_get_rules(installed: Machine, trigger: str) -> None:
    without = Container(make_bundle(installed, "without", devices=NODES, rules=[])).start()
    assert without.probe(NODES) == DENIED
    container = Container(make_bundle(installed, "with", devices=NODES, rules=[]), WRAPPER).start()
    assert container.probe(NODES) == OPEN
    TRIGGERS[trigger](container)
    assert container.probe(NODES) == OPEN
