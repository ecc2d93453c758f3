"""Containers in the lab: start one with a runtime, see what it can open and what systemd was told about it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

from tests.lab.bundle import BUNDLES, Bundle
from tests.lab.machine import LabError, Machine

RUNC = "/usr/sbin/runc"
CRUN = "/usr/bin/crun"
# From inside: busybox names the errno in words. The subshell is there because a failed redirection of ":" ends the
# shell, and the test because "<>" makes a file that is not there.
PROBE = 'for node; do [ -e "$node" ] && echo "$node $( (: <>"$node") 2>&1)" || echo "$node absent"; done'
ANSWERS = {
    "": "open",
    "No such device or address": "open",  # ENXIO: past the cgroup, and no driver there
    "Operation not permitted": "denied",
}


def read_answers(text: str, wanted: Collection[str]) -> dict[str, str]:
    """Return what PROBE printed as node → answer; raises LabError if it is not about the wanted nodes."""
    answers = {}
    for line in text.splitlines():
        path, _, said = line.partition(" ")
        answers[path] = ANSWERS.get(said.rpartition(": ")[2], said)
    if sorted(answers) != sorted(wanted):
        raise LabError(f"probing {wanted} answered:\n{text}")
    return answers


class Container:
    """A detached container; `runtime` is the program an engine would call, with the systemd cgroup driver."""

    def __init__(self, bundle: Bundle, runtime: str = RUNC, env: dict[str, str] | None = None) -> None:
        self.bundle = bundle
        self.runtime = runtime
        self.env = env
        self.machine = bundle.machine
        self.log_path = f"{BUNDLES}/{bundle.id}.log"

    def call(self, *arguments: str, check: bool = True) -> str:
        """Call the runtime and return what it printed; raises LabError with its words if it fails."""
        done = self.machine.run([self.runtime, "--systemd-cgroup", *arguments], check=check, env=self.env)
        return done.stdout + done.stderr

    def start(self) -> Container:
        """Run the bundle detached; raises LabError with what the runtime said."""
        output = f"{BUNDLES}/{self.bundle.id}.output"  # beside the bundle, which may be read-only
        # Not a pipe: the container keeps its end and reading it would never finish.
        with open(self.machine.path(output), "w", encoding="utf-8") as target:
            command = [self.runtime, "--systemd-cgroup", "--log", self.log_path]
            command += ["run", "--detach", "--bundle", self.bundle.path, self.bundle.id]
            done = self.machine.run(command, check=False, env=self.env, stdout=target, stderr=target)
        if done.returncode != 0:
            raise LabError(f"{' '.join(command)}: exit {done.returncode}\n{self.machine.read(output)}{self.log()}")
        return self

    def log(self) -> str:
        """Return the runtime's --log file, or an empty string."""
        return self.machine.read(self.log_path) if os.path.exists(self.machine.path(self.log_path)) else ""

    def probe(self, nodes: Iterable[str]) -> dict[str, str]:
        """Open each node from inside: "open", "denied", "absent", or what else was said."""
        wanted = list(nodes)
        text = self.call("exec", self.bundle.id, "/bin/sh", "-c", PROBE, "probe", *wanted)
        return read_answers(text, wanted)

    def property(self, name: str) -> list[str]:
        """Return a property of the container's scope, one string for each value systemctl prints."""
        shown = self.machine.run(["systemctl", "show", "--property", name, self.bundle.unit]).stdout
        return [line.partition("=")[2] for line in shown.splitlines() if line.startswith(f"{name}=")]

    def device_allow(self) -> set[str]:
        """Return the scope's DeviceAllow entries, as "/dev/char/195:0 rw"."""
        return {value for value in self.property("DeviceAllow") if value}

    def delete(self) -> None:
        """Kill and delete the container."""
        self.call("delete", "--force", self.bundle.id)


def remove_containers(machine: Machine) -> None:
    """Delete every container of either runtime, and the bundles."""
    for runtime, state in ((RUNC, "/run/runc"), (CRUN, "/run/crun")):
        if os.path.isdir(machine.path(state)):
            for id in os.listdir(machine.path(state)):
                machine.run([runtime, "delete", "--force", id], check=False)
    machine.run(["rm", "-rf", BUNDLES])
    machine.run(["systemctl", "reset-failed"], check=False)
