"""What makes systemd apply a container's device rules anew."""

from __future__ import annotations

import itertools

from tests.lab.container import Container

_numbers = itertools.count()


def daemon_reload(container: Container) -> None:
    """Reload: systemd 235 and later apply the cgroup settings of every unit again."""
    container.machine.run(["systemctl", "daemon-reload"])


def reload_and_start_unit(container: Container) -> None:
    """Reload, then start something in the slice: systemd 257 applies the settings only then."""
    daemon_reload(container)
    unit = f"lab-other-{next(_numbers)}.service"
    container.machine.run(["systemd-run", "--quiet", "--wait", "--slice=system.slice", f"--unit={unit}", "/bin/true"])


def daemon_reexec(container: Container) -> None:
    """Reexec: systemd executes itself anew and reads every unit back from files."""
    container.machine.run(["systemctl", "daemon-reexec"])


def set_property(container: Container) -> None:
    """Set the CPU shares as kubelet and engines do; devices are applied along with them."""
    setting = "CPUShares=512" if container.machine.version == "v1" else "CPUWeight=50"
    container.machine.run(["systemctl", "set-property", "--runtime", container.bundle.unit, setting])


def runtime_update(container: Container) -> None:
    """Update through the runtime: it sends no devices (runc since 1.0.0), but systemd applies them along with the rest.

    In a v2 lab the machine's v1 hierarchies hold the cpu controller: the call to systemd is made, and the write to the
    missing cpu.weight after it fails. So the exit code says nothing there.
    """
    on_version_1 = container.machine.version == "v1"
    container.call("update", "--cpu-share", "512", container.bundle.id, check=on_version_1)


TRIGGERS = {
    "daemon-reload": daemon_reload,
    "reload-and-start": reload_and_start_unit,
    "daemon-reexec": daemon_reexec,
    "set-property": set_property,
    "update": runtime_update,
}
