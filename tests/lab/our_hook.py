"""Our OCI hook in the lab: in a bundle's spec, beside the stand-in for NVIDIA's, in either order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.lab.bundle import legacy_hook
from tests.lab.installation import COMMAND

BEFORE, AFTER = "before-nvidia", "after-nvidia"


def our_hook(stage: str) -> dict[str, Any]:
    """Return one entry of a spec's hooks."""
    return {"path": COMMAND, "args": ["gpu-oci-hook", "hook", stage], "timeout": 10}


def both_hooks(paths: Sequence[str], stage: str, order: str = AFTER) -> dict[str, list[Any]]:
    """Return NVIDIA's prestart hook for these nodes and ours; within prestart the order is the list's."""
    hooks: dict[str, list[Any]] = dict(legacy_hook(paths))
    entries = hooks.setdefault(stage, [])
    entries.insert(0 if order == BEFORE else len(entries), our_hook(stage))
    return hooks
