"""The options that dockerd is started with: its unit, the unit's drop-ins, and the files that those read."""

from __future__ import annotations

import glob
import os
import re

from gpu_oci_hook.host.paths import below, read_text

UNIT_FOLDERS = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
)
UNIT = "docker.service"
# Debian's and Red Hat's; a unit names them by EnvironmentFile=.
ENVIRONMENT_FILES = ("/etc/default/docker", "/etc/sysconfig/docker")
FLAG = re.compile(r"(--[a-z][a-z-]*)(?:[= ]\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'-][^\s\"']*)))?")


def daemon_flags(root: str) -> dict[str, str]:
    """Options and their values (empty for those without), as the files say."""
    flags: dict[str, str] = {}
    for text in _texts(root):
        for line in text.replace("\\\n", " ").splitlines():
            if not line.lstrip().startswith(("#", ";")):
                for name, *values in FLAG.findall(line):
                    flags[name] = "".join(values)
    return flags


def _texts(root: str) -> list[str]:
    """The unit (the first that is found, as systemd does), its drop-ins, and environment files that it reads."""
    units = [f"{folder}/{UNIT}" for folder in (*UNIT_FOLDERS, "/lib/systemd/system")]
    found = next((path for path in units if os.path.exists(below(root, path))), "")
    texts = [read_text(below(root, found))] if found else []
    for folder in UNIT_FOLDERS:
        texts += [read_text(path) for path in sorted(glob.glob(below(root, f"{folder}/{UNIT}.d/*.conf")))]
    named = "".join(texts)
    texts += [read_text(below(root, path)) for path in ENVIRONMENT_FILES if path in named]
    return texts
