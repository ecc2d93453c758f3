"""A release's root filesystem with a writable layer over it, for programs that are asked by chroot. Needs root."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def overlay(lower: str) -> Iterator[str]:
    """Give a directory that shows `lower` and takes writes; both are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="gpu-oci-engines-") as directory:
        subprocess.run(["mount", "-t", "tmpfs", "engines", directory], check=True)
        try:
            for name in ("upper", "work", "root"):
                os.mkdir(f"{directory}/{name}")
            options = f"lowerdir={lower},upperdir={directory}/upper,workdir={directory}/work"
            subprocess.run(["mount", "-t", "overlay", "-o", options, "overlay", f"{directory}/root"], check=True)
            try:
                yield f"{directory}/root"
            finally:
                subprocess.run(["umount", f"{directory}/root"], check=True)
        finally:
            subprocess.run(["umount", directory], check=True)
