"""podman in the lab: no image, no network, storage on a tmpfs, hooks from a hooks.d of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from tests.lab.bundle import ROOT_FILESYSTEM, make_root_filesystem
from tests.lab.container import PROBE, read_answers
from tests.lab.installation import COMMAND
from tests.lab.machine import CHECKOUT, SOURCE, Machine

PODMAN = "/usr/bin/podman"
HOOKS = "/etc/containers/oci/hooks.d"
STORAGE = "/var/lib/lab/podman"
STORAGE_CONF = f'[storage]\ndriver = "vfs"\nrunroot = "/run/lab-podman"\ngraphroot = "{STORAGE}"\n'
# v2 labs have no controllers, so no limit may be set.
CONTAINERS_CONF = f"""[containers]
pids_limit = 0
log_driver = "none"
[engine]
cgroup_manager = "systemd"
events_logger = "none"
hooks_dir = ["{HOOKS}"]
"""


@contextmanager
def podman(machine: Machine) -> Iterator[Podman]:
    """Set podman up in the lab, and take all of it away again."""
    make_root_filesystem(machine)
    machine.run(["mkdir", "-p", STORAGE, HOOKS])
    machine.run(["mount", "-t", "tmpfs", "podman", STORAGE])
    machine.write("/etc/containers/storage.conf", STORAGE_CONF)
    machine.write("/etc/containers/containers.conf", CONTAINERS_CONF)
    try:
        yield Podman(machine)
    finally:
        machine.run([PODMAN, "rm", "--all", "--force", "--time", "0"], check=False)
        machine.run(["umount", "-l", STORAGE], check=False)
        machine.run(["rm", "-rf", HOOKS, "/run/lab-podman", "/etc/containers/storage.conf"])
        machine.run(["rm", "-f", "/etc/containers/containers.conf"])


class Podman:
    """Containers by name, each with the runtime it was started with."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def add_legacy_hook(self, numbers: Sequence[str]) -> None:
        """Register the stand-in for NVIDIA's hook as NVIDIA's own package does (oci-nvidia-hook.json)."""
        program = f"{SOURCE}/tests/lab/legacy_hook.py"
        hook = {"path": program, "args": ["nvidia-container-runtime-hook", *numbers]}
        self._register("oci-nvidia-hook.json", hook, "prestart")

    def add_our_hook(self, file: str) -> None:
        """Register one of the definitions that we ship, with the lab's path of the program in it."""
        with open(os.path.join(CHECKOUT, "hooks.d", file), encoding="utf-8") as source:
            text = source.read()
        self.machine.write(f"{HOOKS}/{os.path.basename(file)}", text.replace("/usr/local/bin/gpu-oci-hook", COMMAND))

    def _register(self, name: str, hook: Mapping[str, object], stage: str) -> None:
        definition = {"version": "1.0.0", "hook": hook, "when": {"always": True}, "stages": [stage]}
        self.machine.write(f"{HOOKS}/{name}", json.dumps(definition))

    def remove_our_hooks(self) -> None:
        """Take our definitions away again."""
        self.machine.run(["sh", "-c", f"rm -f {HOOKS}/*gpu-oci-hook*"])

    def start(self, name: str, runtime: str, *options: str, script: str = "") -> str:
        """Run a container and return what podman said; raises LabError if it does not start."""
        command = [PODMAN, "--runtime", runtime, "run", "--detach", "--name", name, "--network", "none"]
        command += ["--cap-add", "MKNOD", *options, "--rootfs", ROOT_FILESYSTEM]
        done = self.machine.run([*command, "/bin/sh", "-c", f"{script}\nexec /bin/sleep 100000"])
        return done.stdout + done.stderr

    def probe(self, name: str, nodes: Iterable[str]) -> dict[str, str]:
        """Open each node from inside, as Container.probe does."""
        wanted = list(nodes)
        text = self.machine.run([PODMAN, "exec", name, "/bin/sh", "-c", PROBE, "probe", *wanted]).stdout
        return read_answers(text, wanted)

    def unit(self, name: str) -> str:
        """Return the container's scope."""
        id = self.machine.run([PODMAN, "inspect", "--format", "{{.Id}}", name]).stdout.strip()
        return f"libpod-{id}.scope"
