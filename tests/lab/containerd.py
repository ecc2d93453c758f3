"""containerd in the lab: no image, no network, driven by ctr with a whole spec."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.lab.bundle import ROOT_FILESYSTEM, make_root_filesystem
from tests.lab.container import PROBE, read_answers
from tests.lab.installation import COMMAND
from tests.lab.machine import CHECKOUT, LabError, Machine

ROOT, STATE, SOCKET = "/var/lib/lab/containerd", "/run/lab-containerd", "/run/lab-containerd/containerd.sock"
CONFIG = "/etc/lab-containerd.toml"
SETTINGS = f"""version = 2
root = "{ROOT}"
state = "{STATE}"
[grpc]
address = "{SOCKET}"
"""
WITHOUT_CRI = 'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n'


def base_runtime_spec() -> Any:
    """Return containerd-config/base-runtime-spec.json, with the lab's path of the program in it."""
    with open(f"{CHECKOUT}/containerd-config/base-runtime-spec.json", encoding="utf-8") as source:
        return json.loads(source.read().replace("/usr/local/bin/gpu-oci-hook", COMMAND))


@contextmanager
def containerd(machine: Machine, settings: str = WITHOUT_CRI + SETTINGS) -> Iterator[Containerd]:
    """Run containerd in the lab, and take all of it away again."""
    make_root_filesystem(machine)
    machine.run(["mkdir", "-p", ROOT])
    machine.run(["mount", "-t", "tmpfs", "containerd", ROOT])
    machine.write(CONFIG, settings)
    quiet = subprocess.DEVNULL
    server = machine.popen(["/usr/bin/containerd", "--config", CONFIG], stdin=quiet, stdout=quiet, stderr=quiet)
    engine = Containerd(machine)
    try:
        engine.await_start()
        yield engine
        for name in engine.names:
            engine.ctr("task", "delete", "--force", name, check=False)
            engine.ctr("container", "delete", name, check=False)
    finally:
        server.terminate()
        server.wait(30)
        machine.run(["sh", "-c", f"umount -l {ROOT}; rm -rf {STATE} {CONFIG}"], check=False)


class Containerd:
    """Containers by name; each is in the scope ctr-NAME.scope."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.names: list[str] = []

    def ctr(self, *arguments: str, check: bool = True) -> str:
        """Call ctr and return what it printed."""
        done = self.machine.run(["/usr/bin/ctr", "--address", SOCKET, *arguments], check=check)
        return done.stdout

    def await_start(self) -> None:
        """Wait until it answers; raises LabError after ten seconds."""
        for _ in range(100):
            if "Server" in self.ctr("version", check=False):
                return
            time.sleep(0.1)
        raise LabError("containerd does not start")

    def start(self, name: str, spec: Any, script: str = "", env: tuple[str, ...] = ()) -> None:
        """Start a container from a base spec, completed as an engine completes it."""
        spec["root"] = {"path": ROOT_FILESYSTEM, "readonly": True}
        spec["process"]["args"] = ["/bin/sh", "-c", f"{script}\nexec /bin/sleep 100000"]
        spec["process"]["env"] = ["PATH=/bin", *env]
        spec["linux"]["cgroupsPath"] = f"system.slice:ctr:{name}"
        path = f"{STATE}/{name}.json"
        self.machine.write(path, json.dumps(spec))
        self.names.append(name)
        driver = ["--runc-systemd-cgroup", "--cgroup", spec["linux"]["cgroupsPath"]]
        self.ctr("run", "--detach", *driver, "--config", path, name)

    def probe(self, name: str, nodes: dict[str, str]) -> dict[str, str]:
        """Open each node from inside, as Container.probe does."""
        text = self.ctr("task", "exec", "--exec-id", "probe", name, "/bin/sh", "-c", PROBE, "probe", *nodes)
        return read_answers(text, nodes)
