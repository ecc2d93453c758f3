"""Fault A: a hook grants what the spec does not say. It works at first and is lost, with or without links."""

from __future__ import annotations

import pytest

from tests.lab.bundle import legacy_hook, make_bundle
from tests.lab.container import RUNC, Container
from tests.lab.gpus import make_link
from tests.lab.machine import Machine
from tests.lab.runtimes import applies_at_once
from tests.lab.triggers import TRIGGERS

NODES = ["/dev/nvidia0", "/dev/nvidiactl"]
OTHER = "/dev/nvidia1"
MAKE_NODES = "mknod /dev/nvidia0 c 195 0; mknod /dev/nvidiactl c 195 255; mknod /dev/nvidia1 c 195 1"


@pytest.mark.parametrize("linked", [False, True], ids=["no-links", "links"])
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_what_a_hook_grants_is_lost(lab: Machine, trigger: str, linked: bool) -> None:
    if linked:
        for path in NODES:
            make_link(lab, path)
    bundle = make_bundle(lab, "env-only", env=["NVIDIA_VISIBLE_DEVICES=0"], hooks=legacy_hook(NODES))
    container = Container(bundle, RUNC).start()
    container.call("exec", bundle.id, "/bin/sh", "-c", MAKE_NODES)
    before = {**dict.fromkeys(NODES, "open"), OTHER: "denied"}
    assert container.probe(before) == before
    TRIGGERS[trigger](container)
    after = dict.fromkeys(before, "denied") if applies_at_once(lab, trigger) else before
    assert container.probe(before) == after
