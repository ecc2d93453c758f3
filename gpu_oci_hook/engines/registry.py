"""The engines by name."""

from __future__ import annotations

from gpu_oci_hook.engines.engine import Engine
from gpu_oci_hook.engines.errors import EngineError
from gpu_oci_hook.engines.request import Request

NAMES = ("containerd", "docker", "crio", "podman", "nvidia")


def engine_named(name: str, request: Request) -> Engine:
    """The module for an engine. Raises EngineError for another name, and where its configuration is ambiguous."""
    if name == "containerd":
        from gpu_oci_hook.engines.containerd import Containerd

        return Containerd(request)
    if name == "docker":
        from gpu_oci_hook.engines.docker import Docker

        return Docker(request)
    if name == "crio":
        from gpu_oci_hook.engines.crio import Crio

        return Crio(request)
    if name == "podman":
        from gpu_oci_hook.engines.podman import Podman

        return Podman(request)
    if name == "nvidia":
        from gpu_oci_hook.engines.nvidia import Nvidia

        return Nvidia(request)
    raise EngineError(f"there is no engine named {name}", f"there are: {', '.join(NAMES)}")
