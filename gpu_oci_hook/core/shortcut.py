"""What the launcher needs to tell specs about no GPU from others without Python (bin/plain-spec.awk)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpu_oci_hook.core.devices import NVIDIA, Family

# NVIDIA's node paths, variables, mounts and hooks all hold the first word; GDRCopy's node, annotations of CDI, and
# images from before NVIDIA_REQUIRE_CUDA the others.
NVIDIA_WORDS = ("nvidia", "gdrdrv", "cdi[.]k8s[.]io", "cuda_version")
# mem, tty, misc and pts (the kernel's devices.txt): what engines allow every container, and no family's. But a family
# of the settings may have a misc device.
COMMON_MAJORS = (1, 5, 10, 136)
MISC_MAJOR = 10
SHORTEST = 3  # letters; shorter words are in every text


class Shortcut(NamedTuple):
    """``words``: each spec that gives a container a device of ours holds one of them, in whatever case, or a major that
    is not in ``majors``. No words: there is no telling.
    """

    words: tuple[str, ...]
    majors: tuple[int, ...]


def shortcut_for(families: Sequence[Family], swarm_resources: Iterable[str]) -> Shortcut:
    """The shortcut for settings' families (NVIDIA's among them) and names of swarm resources."""
    others = [family for family in families if family is not NVIDIA]
    words = [word_of(pattern) for family in others for pattern in family.nodes]
    words += [name.lower() if re.fullmatch(r"[A-Za-z0-9_]+", name) else "" for name in swarm_resources]
    majors = tuple(major for major in COMMON_MAJORS if major != MISC_MAJOR or not others)
    return Shortcut((*NVIDIA_WORDS, *words) if all(words) else (), majors)


def word_of(pattern: str) -> str:
    """The longest word that every path fitting a pattern holds, in lower case; empty if there is none of use.

    ``/dev/kgpu[0-9]*`` → ``kgpu``. Sets of letters and everything but letters, digits, ``-`` and ``_`` end a word.
    """
    fixed = re.sub(r"\[[^]]*\]?", "*", pattern.removeprefix("/dev/"))
    words = re.findall(r"[A-Za-z0-9_-]+", fixed)
    longest: str = max(words, key=len, default="")
    return longest.lower() if len(longest) >= SHORTEST else ""
