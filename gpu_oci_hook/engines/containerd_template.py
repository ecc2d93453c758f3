"""The templates from which k3s and RKE2 make containerd's configuration at each start: no TOML, so ours goes below."""

from __future__ import annotations

import re
from typing import Any

from gpu_oci_hook.core.findings import note
from gpu_oci_hook.engines.change import Change
from gpu_oci_hook.engines.containerd_config import CRI
from gpu_oci_hook.engines.containerd_layouts import Layout
from gpu_oci_hook.engines.errors import EngineError
from gpu_oci_hook.engines.request import Plan, Request
from gpu_oci_hook.engines.toml_edit import MARK
from gpu_oci_hook.engines.toml_text import tables

COMMENT = "uninstall with: gpu-oci-hook uninstall containerd"
END = f"{MARK} end\n"
# k3s' own part, since v1.24.17, v1.25.13, v1.26.8, v1.27.5 and v1.28.1 (k3s-io/docs#213); RKE2 likewise.
START = b'{{ template "base" . }}\n'
OURS = re.compile(r'runtimes\.("?)([^".\]]+)\1\.options\]\s*\n\s*BinaryName = "[^"]*/gpu-oci-runtime"')


def add(plan: Plan, request: Request, layout: Layout, version: int, entry: dict[str, Any]) -> None:
    """Add the change that puts our runtime below what is there. Raises EngineError for the default runtime."""
    if request.set_default:
        raise EngineError(
            f"{layout.name} writes the default runtime itself, and a second table of it would stop containerd",
            f"use its own option, default-runtime: {request.runtime_name}, in its config.yaml",
        )
    before = request.read(layout.file)
    keys = ("plugins", CRI[version], "containerd", "runtimes", request.runtime_name)
    block = "\n".join([f"{MARK} {COMMENT}", *tables(keys, entry), END])
    kept = _without_block(before if before is not None else START)
    gap = b"" if kept.endswith(b"\n\n") else b"\n"
    plan.changes.append(Change(layout.file, before, kept + gap + block.encode()))
    if before is None:
        message = f"{layout.name} fills in this template; releases before September 2023 do not know base"
        hint = f"with an older {layout.name}, which would not start, copy its config.toml to config.toml.tmpl first"
        plan.findings.append(note("template-base", layout.file, message, hint))


def remove(request: Request, layout: Layout) -> list[Change]:
    """The change that takes our part away; none if there is none."""
    content = request.read(layout.file)
    if content is None or _without_block(content) == content:
        return []
    return [Change(layout.file, content, _without_block(content))]


def registered(request: Request, layout: Layout) -> dict[str, bool]:
    """The runtimes in a template that start our wrapper."""
    text = (request.read(layout.file) or b"").decode("utf-8", "replace")
    return {name: f'default_runtime_name = "{name}"' in text for _, name in OURS.findall(text)}


def _without_block(content: bytes) -> bytes:
    start = content.find(MARK.encode())
    end = content.find(END.encode(), start)
    if start < 0 or end < 0:
        return content
    head = content[:start]
    return (head[:-1] if head.endswith(b"\n\n") else head) + content[end + len(END) :]
