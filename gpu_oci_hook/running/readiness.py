"""The host's own readiness for GPU containers: links, control nodes, systemd's version, engines that are registered."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.devices import spell
from gpu_oci_hook.core.forecast.rederivation import RELOAD, lazily, rederives
from gpu_oci_hook.core.links import RIGHT
from gpu_oci_hook.core.versions import parse_systemd
from gpu_oci_hook.host.paths import below, read_text

if TYPE_CHECKING:
    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.running.host import Host

# Without these CUDA fails with the very words of a lost GPU (mozilla/translations#1117); made by nvidia-modprobe.
CONTROL = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
# Where engines would name our wrapper or hook. What registers it is gpu-oci-hook install.
ENGINES = {
    "containerd": ("/etc/containerd/config.toml",),
    "docker": ("/etc/docker/daemon.json",),
    "crio": ("/etc/crio/crio.conf",),
    "podman": (
        "/etc/containers/containers.conf",
        "/etc/containers/oci/hooks.d/99-gpu-oci-hook-precreate.json",
        "/usr/share/containers/oci/hooks.d/99-gpu-oci-hook-precreate.json",
    ),
    "nvidia": ("/etc/nvidia-container-runtime/config.toml",),
}
PROGRAMS = {"containerd": "containerd", "docker": "dockerd", "crio": "crio", "podman": "podman"}
OURS = ("gpu-oci-runtime", "gpu-oci-hook")


def readiness(host: Host, systemd: str) -> list[Finding]:
    """What an administrator should put right before the next container starts, and notes about the rest."""
    return [*_nodes(host), *_links(host), *_systemd(systemd), *_engines(host)]


def _nodes(host: Host) -> list[Finding]:
    if not host.names:
        if host.inventory.node("/dev/dxg"):
            return [say.note("not-applicable", "/dev/dxg", "this host is WSL2: its GPUs do not go through such nodes")]
        return [
            say.note("no-gpu-nodes", "/dev", "this host has no GPU node", "load the driver: nvidia-modprobe -u -c 0")
        ]
    if not any(name.startswith("/dev/nvidia") for name in host.names.values()):
        return []
    missing = [path for path in CONTROL if not host.inventory.node(path)]
    hint = "run nvidia-modprobe -u -c 0, or nvidia-smi, at boot before any container starts"
    return [say.warning("control-node-missing", path, f"the host has no {path}", hint) for path in missing]


def _links(host: Host) -> list[Finding]:
    states = ((node, host.inventory.link(node.number)) for node in host.inventory.nodes())
    return [
        say.warning(
            "link-missing",
            f"/dev/char/{node.major}:{node.minor}",
            f"the link for {node.path} ({spell(node.number)}) is {link.state}",
            "gpu-oci-hook links",
        )
        for node, link in states
        if link.state != RIGHT and node.type == "c"
    ]


def _systemd(text: str) -> list[Finding]:
    version = parse_systemd(text) if text else None
    if version is None:
        return [say.note("systemd-unknown", "", "systemd was not reached, or its version is not understood")]
    if lazily(version):
        return [
            say.note(
                "systemd-lazy",
                "",
                f"systemd {version.major} applies device lists some time after a reload: GPUs are lost later, by the "
                "next start in the same slice or a change of a property",
            )
        ]
    if rederives(RELOAD, version) is None:
        return [say.note("systemd-unmeasured", "", f"how systemd {text} applies device lists was not measured")]
    return []


def _engines(host: Host) -> list[Finding]:
    findings = []
    for engine, files in ENGINES.items():
        texts = [read_text(below(host.root, path)) for path in files]
        if any(name in text for text in texts for name in OURS):
            findings.append(say.note("engine-registered", files[0], f"{engine} knows gpu-oci-hook"))
        elif any(texts) or (host.root == "/" and shutil.which(PROGRAMS.get(engine, ""))):
            hint = f"gpu-oci-hook install {engine}"
            findings.append(say.note("engine-not-registered", files[0], f"{engine} does not know gpu-oci-hook", hint))
    return findings
