"""podman with hooks.d: an environment-only container loses its GPU without our hooks, and keeps it with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.conftest import unavailable
from tests.lab.container import CRUN, RUNC
from tests.lab.gpus import GPUS, links
from tests.lab.installation import settings
from tests.lab.machine import Machine
from tests.lab.podman import PODMAN, Podman, podman
from tests.lab.runtimes import cannot_run
from tests.lab.test_hook import ENVIRONMENT, LOST, MAKE_NODES, WORKS

NUMBERS = ["195:0", "195:255", "510:0", "510:1"]
DEFINITIONS = {
    "precreate": ["podman/99-gpu-oci-hook-precreate.json"],
    "createRuntime": ["crio/99-gpu-oci-hook-createruntime.json"],
    "poststart": ["podman/99-gpu-oci-hook-poststart.json"],
    "precreate and poststart": [
        "podman/99-gpu-oci-hook-precreate.json",
        "podman/99-gpu-oci-hook-poststart.json",
    ],
}
OPTIONS = [part for variable in ENVIRONMENT for part in ("--env", variable)]


@pytest.fixture
def engine(installed: Machine) -> Iterator[Podman]:
    if installed.run(["test", "-x", PODMAN], check=False).returncode != 0:
        unavailable("podman is missing: apt-get install --no-install-recommends podman")
    for path in GPUS:
        if path != "/dev/nvidia0":
            installed.run(["rm", path])
    settings(installed, 'log_file = "/run/hook.log"')
    with podman(installed) as engine:
        engine.add_legacy_hook(NUMBERS)
        yield engine
    installed.run(["rm", "-f", "/run/hook.log"])


def set_property(engine: Podman, name: str) -> None:
    value = "CPUShares=512" if engine.machine.version == "v1" else "CPUWeight=50"
    engine.machine.run(["systemctl", "set-property", "--runtime", engine.unit(name), value])


TRIGGERS: dict[str, Callable[[Podman, str], object]] = {
    "daemon-reload": lambda engine, _: engine.machine.run(["systemctl", "daemon-reload"]),
    "daemon-reexec": lambda engine, _: engine.machine.run(["systemctl", "daemon-reexec"]),
    "set-property": set_property,
}


@pytest.mark.parametrize("runtime", [RUNC, CRUN], ids=["runc", "crun"])
@pytest.mark.parametrize("stage", DEFINITIONS)
def test_lost_without_and_kept_with_hooks_d(engine: Podman, stage: str, runtime: str) -> None:
    reason = cannot_run(engine.machine, runtime)
    if reason:
        pytest.skip(reason)
    for name in TRIGGERS:
        engine.start(f"without-{name}", runtime, *OPTIONS, script=MAKE_NODES)
    for file in DEFINITIONS[stage]:
        engine.add_our_hook(file)
    for name in TRIGGERS:
        said = engine.start(f"with-{name}", runtime, *OPTIONS, script=MAKE_NODES)
        assert "error" not in said
    for name in TRIGGERS:
        assert engine.probe(f"with-{name}", WORKS) == WORKS
    for name, trigger in TRIGGERS.items():
        if name != "set-property":  # a reload takes it from all of them, so this one is looked at on its own
            continue
        assert engine.probe(f"without-{name}", WORKS) == WORKS
        trigger(engine, f"without-{name}")
        trigger(engine, f"with-{name}")
        # crun < 1.18 tells systemd nothing, and loses nothing.
        assert engine.probe(f"without-{name}", WORKS) == (LOST if runtime == RUNC else WORKS)
        assert engine.probe(f"with-{name}", WORKS) == WORKS
    for name in ("daemon-reload", "daemon-reexec"):
        TRIGGERS[name](engine, f"with-{name}")
        assert engine.probe(f"without-{name}", WORKS) == (LOST if runtime == RUNC else WORKS)
        assert engine.probe(f"with-{name}", WORKS) == WORKS
    assert links(engine.machine) == ["195:0", "195:255", "510:0", "510:1"]


def test_annotated_definition_calls_us_for_annotated_containers_only(engine: Podman) -> None:
    engine.add_our_hook("annotated/99-gpu-oci-hook-poststart.json")
    engine.start("plain", RUNC, *OPTIONS, script=MAKE_NODES)
    engine.start("annotated", RUNC, *OPTIONS, "--annotation", "gpu-oci-hook=yes", script=MAKE_NODES)
    log = engine.machine.read("/run/hook.log")
    assert log.count("was given") == 1
    assert engine.unit("annotated") in log
    engine.machine.run(["systemctl", "daemon-reload"])
    assert engine.probe("plain", WORKS) == LOST
    assert engine.probe("annotated", WORKS) == WORKS


def test_container_without_gpus_starts_as_ever(engine: Podman) -> None:
    for files in DEFINITIONS.values():
        for file in files:
            engine.add_our_hook(file)
    said = engine.start("plain", RUNC)
    assert "gpu-oci-hook" not in said
    assert engine.probe("plain", ["/dev/null"]) == {"/dev/null": "open"}
