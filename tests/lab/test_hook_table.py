"""The table of docs/hooks.md, measured: what each place to stand in saves, on plain runc, over a daemon-reload."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.lab.bundle import Bundle, legacy_hook, make_bundle
from tests.lab.container import RUNC, Container
from tests.lab.gpus import make_nodes
from tests.lab.installation import COMMAND, WRAPPER, settings
from tests.lab.machine import CHECKOUT, Machine
from tests.lab.our_hook import our_hook
from tests.lab.runtimes import loses_without_links
from tests.lab.test_hook import MAKE_NODES, one_gpu

__all__ = ["one_gpu"]
NODES = ["/dev/nvidia0", "/dev/nvidiactl"]
PLACES = ("nothing", "wrapper", "precreate", "prestart", "createRuntime", "poststart")
BIND = [{"destination": path, "source": path, "type": "bind", "options": ["bind"]} for path in NODES]
HOOK = ["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"]
# What docs/hooks.md calls them: what make_bundle is given, whether NVIDIA's hook (its stand-in) is in the spec.
CASES: dict[str, tuple[dict[str, Any], bool]] = {
    "asked for by the environment, granted by NVIDIA's hook": ({"env": ["NVIDIA_VISIBLE_DEVICES=all"]}, True),
    "mounted and granted by a hook, not to be told from the spec": (
        {"env": ["NVIDIA_VISIBLE_DEVICES=0"], "mounts": BIND},
        True,
    ),
    "rule in the spec, no link, runc 1.1.3 to 1.1.6": ({"devices": NODES}, False),
    "node in the spec, no rule": ({"devices": NODES, "rules": []}, False),
}


def documented() -> dict[tuple[str, str], list[str]]:
    """Return the manual's rows: (case, cgroup version) → one word for each place."""
    rows = {}
    with open(f"{CHECKOUT}/docs/hooks.md", encoding="utf-8") as lines:
        for line in lines:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) == len(PLACES) + 2 and cells[1] in ("v1", "v2"):
                rows[(cells[0], cells[1])] = cells[2:]
    return rows


def start(bundle: Bundle, place: str) -> Container:
    machine = bundle.machine
    if place == "precreate":
        done = machine.run([COMMAND, "hook", "precreate"], input=bundle.text())
        machine.write(bundle.config, done.stdout)
    return Container(bundle, WRAPPER if place == "wrapper" else RUNC).start()


def outcome(container: Container) -> str:
    container.call("exec", container.bundle.id, "/bin/sh", "-c", f"({MAKE_NODES}) 2>/dev/null || true")
    if "denied" in container.probe(NODES).values():
        return "never"
    container.machine.run(["systemctl", "daemon-reload"])
    return "lost" if "denied" in container.probe(NODES).values() else "kept"


def remove_links(machine: Machine) -> None:
    for number in ("195:0", "195:255", "510:0", "510:1"):
        if os.path.lexists(machine.path(f"/dev/char/{number}")):
            os.unlink(machine.path(f"/dev/char/{number}"))


@pytest.mark.parametrize("case", CASES)
def test_the_manuals_table(one_gpu: Machine, case: str) -> None:
    if not loses_without_links(one_gpu, RUNC):
        pytest.skip("the manual's table was measured with runc 1.1.5")
    settings(one_gpu, 'runtimes = ["/usr/sbin/runc"]')
    options, granted = CASES[case]
    if "0" in options.get("env", [""])[0]:
        make_nodes(one_gpu)  # which of several GPUs "0" is cannot be told in a lab
    measured = []
    for i, place in enumerate(PLACES):
        remove_links(one_gpu)
        hooks: dict[str, Any] = dict(legacy_hook(HOOK)) if granted else {}
        if place in ("prestart", "createRuntime", "poststart"):
            hooks.setdefault(place, []).append(our_hook(place))
        measured.append(outcome(start(make_bundle(one_gpu, f"table{i}", hooks=hooks, **options), place)))
    assert documented()[(case, one_gpu.version)] == measured
