"""An installed copy of this project, as `make install` lays it out."""

from __future__ import annotations

import os
import shutil
import subprocess

from tests.lab.machine import CHECKOUT, LabError, Machine

PREFIX = "/opt/gpu-oci-hook"
WRAPPER = f"{PREFIX}/bin/gpu-oci-runtime"
COMMAND = f"{PREFIX}/bin/gpu-oci-hook"
SETTINGS = "/etc/gpu-oci-hook/config.toml"


def stage(directory: str, prefix: str = PREFIX) -> None:
    """Install for `prefix` below `directory` (DESTDIR), outside of the lab, which has no network for pip."""
    command = ["make", "--no-print-directory", "-C", CHECKOUT, "install", f"PREFIX={prefix}", f"DESTDIR={directory}"]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise LabError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}")


def put(machine: Machine, directory: str) -> None:
    """Copy what `stage` made into the lab, once."""
    if not os.path.isdir(machine.path(PREFIX)):
        shutil.copytree(f"{directory}{PREFIX}", machine.path(PREFIX), symlinks=True)


def settings(machine: Machine, text: str) -> None:
    """Write the administrator's settings; the lab fixture takes them away again."""
    machine.write(SETTINGS, f"version = 1\n{text}\n")
