"""The demonstration: GPUs that plain runc loses at a reload, and that a container started through the wrapper keeps."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from demo.table import Table
from tests.lab.bundle import make_bundle
from tests.lab.container import RUNC, Container
from tests.lab.gpus import NODES, make_nodes
from tests.lab.installation import WRAPPER, put, stage
from tests.lab.machine import LabError, Machine, UnavailableError, missing
from tests.lab.runtimes import loses_without_links
from tests.lab.triggers import daemon_reload

GIVEN = ["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"]


def say(text: str = "") -> None:
    """Print a line at once, also into a pipe."""
    print(text, flush=True)


def cgroup_version() -> tuple[str, str]:
    """Return the version to show, v2 where both can be had, or "" and the reason why neither can."""
    reasons = {version: missing(version) for version in ("v2", "v1")}
    for version, reason in reasons.items():
        if not reason:
            return version, ""
    return "", reasons["v2"]


def on_real_systemd(version: str, staged: str) -> bool:
    """Show loss and survival, and return whether both were seen; `staged` is where a copy was installed for the lab."""
    started = time.monotonic()
    with Machine(version) as machine:
        make_nodes(machine)
        put(machine, staged)
        systemd = machine.run(["systemctl", "--version"]).stdout.split("\n")[0]
        runtime = machine.run([RUNC, "--version"]).stdout.split("\n")[0]
        say(f"Booted {systemd} as PID 1 of its own namespaces, cgroup {version}, with {runtime}.")
        say("The nodes have no driver behind them: where systemd lets a container open one, the kernel says ENXIO.\n")
        # In this order: the links that the wrapper makes would serve the other container too.
        left = Container(make_bundle(machine, "plain-runc", devices=GIVEN)).start()
        right = Container(make_bundle(machine, "gpu-oci-runtime", devices=GIVEN), WRAPPER).start()
        table = Table("plain runc", "through gpu-oci-runtime")
        before = left.probe(GIVEN), right.probe(GIVEN)
        table.access("at start", GIVEN, *before)
        daemon_reload(left)
        after = left.probe(GIVEN), right.probe(GIVEN)
        table.access("after systemctl daemon-reload", GIVEN, *after)
        paths = [f"/dev/char/{major}:{minor}" for major, minor in (NODES[node] for node in GIVEN)]
        table.entries("the unit's DeviceAllow", paths, left.device_allow(), right.device_allow())
        say(table.text())
        loses = loses_without_links(machine, RUNC)
    if not loses:
        say("\nThis runc loses nothing when the rules are in the spec; 1.1.3 to 1.1.6 do, as Debian 12's does.")
    say(f"\nTook {time.monotonic() - started:.1f} s; the systemd, its cgroups and files are gone again.")
    return set(after[0].values()) == {"denied" if loses else "open"} and set(after[1].values()) == {"open"}


def make_sample_host(root: str) -> str:
    """Make a small host below `root`, with nodes where the rights allow them, and return the path of a bundle."""
    bundle = os.path.join(root, "bundle")
    shutil.copytree(os.path.join(os.path.dirname(os.path.abspath(__file__)), "sample"), bundle)
    os.makedirs(os.path.join(root, "dev", "char"))
    for node in GIVEN:
        with contextlib.suppress(PermissionError):
            os.mknod(f"{root}{node}", 0o20666, os.makedev(*NODES[node]))
    return bundle


def on_sample_bundle(directory: str, reason: str) -> bool:
    """Show what the commands say about a bundle; `reason` is why no systemd could be booted."""
    say(f"No throw-away systemd here: {reason}.\nThe commands on a sample bundle instead:\n")
    prefix, root = os.path.join(directory, "prefix"), os.path.join(directory, "host")
    stage("", prefix)
    bundle = make_sample_host(root)
    codes = []
    for name in ("validate", "plan", "apply", "plan"):
        say(f"$ gpu-oci-hook {name} BUNDLE")
        codes.append(
            subprocess.run([f"{prefix}/bin/gpu-oci-hook", "--root", root, name, bundle], check=False).returncode
        )
        say(f"(exit {codes[-1]})\n")
    return set(codes) <= {0, 1}


def demonstrate(directory: str) -> bool:
    """Show the real thing, or else the commands; return whether what was to be seen was seen."""
    version, reason = cgroup_version()
    if not version:
        return on_sample_bundle(directory, reason)
    say("Installing a copy with make install …")
    staged = os.path.join(directory, "staged")
    stage(staged)
    try:
        return on_real_systemd(version, staged)
    except UnavailableError as error:
        return on_sample_bundle(directory, str(error))


def main() -> int:
    """Exit 0 if the demonstration showed what it is to show, else 1."""
    with tempfile.TemporaryDirectory(prefix="gpu-oci-demo-") as directory:
        try:
            return 0 if demonstrate(directory) else 1
        except LabError as error:
            print(f"demo: {error}", file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main())
