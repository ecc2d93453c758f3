"""What the tests of engines share: the installed command in the lab, probing, and the trigger."""

from __future__ import annotations

import json
import os
from typing import Any

from tests.conftest import unavailable
from tests.lab.container import ANSWERS, PROBE
from tests.lab.installation import COMMAND, settings
from tests.lab.machine import Machine

NODES = ["/dev/nvidia0", "/dev/nvidiactl"]
OPEN, DENIED = dict.fromkeys(NODES, "open"), dict.fromkeys(NODES, "denied")
PROBING = ["/bin/sh", "-c", PROBE, "probe", *NODES]


def hook_json(machine: Machine, *arguments: str) -> Any:
    """What our installed command prints as JSON."""
    return json.loads(machine.run([COMMAND, *arguments, "--json"], check=False).stdout)


def answers(text: str) -> dict[str, str]:
    """What the probing command printed: node → "open", "denied", or what else was said."""
    lines = [line.strip().partition(" ") for line in text.splitlines() if line.startswith("/dev/")]
    return {path: ANSWERS.get(said.rpartition(": ")[2], said) for path, _, said in lines}


def daemon_reload(machine: Machine) -> None:
    machine.run(["systemctl", "daemon-reload"])


# On cgroup v2 the lab has no controllers (the machine's v1 hierarchies hold them), and engines set CPU shares all the
# same. So the real runtime here is runc behind this: devices stay, other resources go.
RUNC_LAB = "/usr/local/bin/runc-lab"
RUNC_LAB_TEXT = """#!/usr/bin/python3 -I
import json, os, sys
if "create" in sys.argv:
    path = sys.argv[sys.argv.index("--bundle") + 1] + "/config.json"
    with open(path) as file:
        spec = json.load(file)
    resources = spec["linux"].get("resources", {})
    for name in set(resources) - {"devices"}:
        del resources[name]
    with open(path, "w") as file:
        json.dump(spec, file)
os.execv("/usr/sbin/runc", ["runc", *sys.argv[1:]])
"""


def put_runtime(machine: Machine) -> None:
    """Put the lab's real runtime in, and have our wrapper start it."""
    machine.write(RUNC_LAB, RUNC_LAB_TEXT, 0o755)
    settings(machine, f'runtimes = ["{RUNC_LAB}"]')


def need(*programs: str) -> None:
    """Skip (fail where CI is set) if an engine is not installed."""
    lacking = [program for program in programs if not os.path.exists(program)]
    if lacking:
        unavailable(f"not installed: {' '.join(lacking)} (Debian: containerd docker.io podman, without recommends)")
