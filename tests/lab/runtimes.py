"""What is known about the runtimes of the lab's root filesystem."""

from __future__ import annotations

import re

from tests.lab.bundle import make_bundle
from tests.lab.container import CRUN, RUNC, Container
from tests.lab.machine import LabError, Machine


def runc_version(machine: Machine) -> tuple[int, int, int]:
    """Return runc's version: "runc version 1.1.5+ds1" is (1, 1, 5)."""
    text = machine.run([RUNC, "--version"]).stdout
    found = re.match(r"runc version (\d+)\.(\d+)\.(\d+)", text)
    if not found:
        raise LabError(f"no version in: {text}")
    return int(found[1]), int(found[2]), int(found[3])


def loses_without_links(machine: Machine, runtime: str) -> bool:
    """Tell whether a rule in the spec is dropped when /dev/char has no entry for it.

    runc 1.1.3 to 1.1.6 look for the path before they tell systemd (opencontainers/runc#3708); from 1.1.7 on they leave
    it to systemd >= 240. crun keeps an exact list on a cgroup below the scope, where systemd does not write.
    """
    return runtime == RUNC and (1, 1, 3) <= runc_version(machine) < (1, 1, 7)


def applies_at_once(machine: Machine, trigger: str) -> bool:
    """Tell whether systemd applies the unit's device rules within the trigger itself.

    systemd 256 and 257 wait after a reload or reexec until something else happens in the slice (measured; 255 and 262
    do not wait).
    """
    version = int(machine.run(["systemctl", "--version"]).stdout.split()[1].partition("~")[0].partition(".")[0])
    return version not in (256, 257) or trigger not in ("daemon-reload", "daemon-reexec")


def cannot_run(machine: Machine, runtime: str) -> str:
    """Return why `runtime` cannot start a container here though it is installed, or an empty string: by trying it."""
    if runtime != CRUN or machine.version == "v1":
        return ""
    container = Container(make_bundle(machine, "trial"), runtime)
    try:
        container.start()
    except LabError as error:
        # crun < 1.9 raises RLIMIT_MEMLOCK before it loads its device program and gives up if it may not.
        if "RLIM_MEMLOCK" not in str(error):
            raise
        version = machine.run([CRUN, "--version"]).stdout.splitlines()[0]
        return f"{version} on cgroup v2 must raise RLIMIT_MEMLOCK, which this machine does not allow"
    container.delete()
    return ""
