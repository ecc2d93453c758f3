"""containerd with our base_runtime_spec, through ctr: lost without the hook in it, kept with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conftest import unavailable
from tests.lab.bundle import legacy_hook
from tests.lab.containerd import SETTINGS, Containerd, base_runtime_spec, containerd
from tests.lab.machine import CHECKOUT, Machine
from tests.lab.test_hook import ENVIRONMENT, LOST, MAKE_NODES, NODES, WORKS, one_gpu

__all__ = ["one_gpu"]
TRIGGERS: dict[str, Callable[[Machine, str], list[str]]] = {
    "daemon-reload": lambda *_: ["systemctl", "daemon-reload"],
    "daemon-reexec": lambda *_: ["systemctl", "daemon-reexec"],
    "set-property": lambda machine, unit: [
        *("systemctl", "set-property", "--runtime", unit),
        "CPUShares=512" if machine.version == "v1" else "CPUWeight=50",
    ],
}


@pytest.fixture
def engine(one_gpu: Machine) -> Iterator[Containerd]:
    if one_gpu.run(["test", "-x", "/usr/bin/ctr"], check=False).returncode != 0:
        unavailable("containerd is missing: apt-get install --no-install-recommends containerd")
    with containerd(one_gpu) as engine:
        yield engine


def with_legacy_hook(spec: Any) -> Any:
    return {**spec, "hooks": {**legacy_hook(NODES), **spec.get("hooks", {})}}


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_lost_without_and_kept_with_our_base_spec(engine: Containerd, trigger: str) -> None:
    plain = base_runtime_spec()
    del plain["hooks"]
    engine.start("without", with_legacy_hook(plain), MAKE_NODES, tuple(ENVIRONMENT))
    engine.start("with", with_legacy_hook(base_runtime_spec()), MAKE_NODES, tuple(ENVIRONMENT))
    assert engine.probe("without", WORKS) == engine.probe("with", WORKS) == WORKS
    for name in ("without", "with"):
        engine.machine.run(TRIGGERS[trigger](engine.machine, f"ctr-{name}.scope"))
    assert engine.probe("without", WORKS) == LOST
    assert engine.probe("with", WORKS) == WORKS


def test_base_spec_is_ctrs_own_and_the_hook(engine: Containerd) -> None:
    """So that it can be made anew for another version: ctr oci spec, and the hook added."""
    ours = base_runtime_spec()
    del ours["hooks"]
    assert ours.keys() == json.loads(engine.machine.run(["ctr", "oci", "spec"]).stdout).keys()


def test_cri_plugin_takes_it(one_gpu: Machine) -> None:
    """containerd reads a base_runtime_spec when its CRI plugin starts, which fails if it cannot be used."""
    with open(f"{CHECKOUT}/containerd-config/base-runtime-spec.toml", encoding="utf-8") as source:
        table = source.read().replace("version = 2", "")
    path = "/etc/containerd/gpu-oci-hook-base-runtime-spec.json"
    one_gpu.write(path, json.dumps(base_runtime_spec()))
    cri = '[plugins."io.containerd.grpc.v1.cri".containerd]\nsnapshotter = "native"\n'
    states = {}
    try:
        for name, text in (("there", None), ("broken", "{")):
            if text is not None:
                one_gpu.write(path, text)
            with containerd(one_gpu, SETTINGS + cri + table) as engine:
                lines = engine.ctr("plugins", "ls", "id==cri").splitlines()
                states[name] = lines[-1].split()[-1]
    finally:
        one_gpu.run(["rm", "-f", path])
    assert states == {"there": "ok", "broken": "error"}
