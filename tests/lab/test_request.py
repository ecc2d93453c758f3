"""Fault A cured: an environment-only container keeps through every trigger what NVIDIA's hook gave it, and no more.

The hook is a stand-in (legacy_hook.py): the real one needs a GPU. The driver's /proc files are laid over the lab's own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab.bundle import Bundle, legacy_hook, make_bundle
from tests.lab.container import RUNC, Container
from tests.lab.installation import WRAPPER
from tests.lab.machine import Machine
from tests.lab.triggers import TRIGGERS

# Index 0 is the GPU of minor 2 (google/gvisor#9389).
MINORS = {"0000:0f:00.0": 2, "0000:15:00.0": 3, "0000:51:00.0": 0, "0000:54:00.0": 1}
GIVEN = ["/dev/nvidia2", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"]
OTHERS = ["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia3"]
PROBED = [*GIVEN, *OTHERS]
MAKE_NODES = "".join(
    f"mknod {path} c {number};"
    for path, number in {
        **{f"/dev/nvidia{minor}": f"195 {minor}" for minor in range(4)},
        "/dev/nvidiactl": "195 255",
        "/dev/nvidia-uvm": "510 0",
        "/dev/nvidia-uvm-tools": "510 1",
    }.items()
)
WORKS = {**dict.fromkeys(GIVEN, "open"), **dict.fromkeys(OTHERS, "denied")}
NOTHING = dict.fromkeys(PROBED, "denied")


@pytest.fixture
def driver(installed: Machine) -> Iterator[Machine]:
    """Lay the driver's /proc files over the lab's /proc/driver."""
    installed.run(["mount", "-t", "tmpfs", "lab", "/proc/driver"])
    for address, minor in MINORS.items():
        text = f"GPU UUID: \t GPU-00000000-0000-0000-0000-00000000000{minor}\nDevice Minor: \t {minor}\n"
        installed.write(f"/proc/driver/nvidia/gpus/{address}/information", text)
    yield installed
    installed.run(["umount", "/proc/driver"])


def start(bundle: Bundle, runtime: str) -> Container:
    """Start a container and make all nodes in it, as NVIDIA's hook and its libraries do."""
    container = Container(bundle, runtime).start()
    container.call("exec", bundle.id, "/bin/sh", "-c", MAKE_NODES)
    return container


@pytest.mark.parametrize(
    ("trigger", "value"),
    [
        *((trigger, "0") for trigger in TRIGGERS),
        ("daemon-reload", "GPU-00000000-0000-0000-0000-000000000002"),
        ("daemon-reload", "0000:0f:00.0"),
    ],
)
def test_environment_only_is_lost_without_and_kept_with_the_wrapper(driver: Machine, trigger: str, value: str) -> None:
    env = [f"NVIDIA_VISIBLE_DEVICES={value}"]
    # In this order: the links that the wrapper makes would serve the other container too.
    without = start(make_bundle(driver, "without", env=env, hooks=legacy_hook(GIVEN)), RUNC)
    with_wrapper = start(make_bundle(driver, "with", env=env, hooks=legacy_hook(GIVEN)), WRAPPER)
    assert without.probe(PROBED) == with_wrapper.probe(PROBED) == WORKS
    TRIGGERS[trigger](without)
    TRIGGERS[trigger](with_wrapper)
    assert without.probe(PROBED) == NOTHING
    assert with_wrapper.probe(PROBED) == WORKS


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_an_image_that_asks_for_all_gets_nothing_by_that(driver: Machine, trigger: str) -> None:
    bundle = make_bundle(driver, "image", env=["NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=all"])
    before = bundle.text()
    container = start(bundle, WRAPPER)
    assert bundle.text() == before
    assert container.probe(PROBED) == NOTHING
    TRIGGERS[trigger](container)
    assert container.probe(PROBED) == NOTHING
