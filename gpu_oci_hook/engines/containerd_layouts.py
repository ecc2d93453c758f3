"""Where containerd's configuration stands: distributions of Kubernetes have places and habits of their own."""

from __future__ import annotations

import dataclasses
import os

from gpu_oci_hook.engines.errors import EngineError
from gpu_oci_hook.engines.files import read
from gpu_oci_hook.host.paths import below

TOML, TEMPLATE, DROP_IN = "toml", "template", "drop-in"


@dataclasses.dataclass(frozen=True)
class Layout:
    """One place.

    ``file`` is what a registration edits; ``kind`` how: TOML in place, a template of which only the end is ours, or a
    drop-in of our own. ``effective`` is the finished configuration that its containerd reads, ``asks`` whether the
    installed containerd program can be asked about it.
    """

    name: str
    file: str
    kind: str
    effective: str
    units: tuple[str, ...]
    asks: bool = False


STANDARD = Layout(
    "containerd", "/etc/containerd/config.toml", TOML, "/etc/containerd/config.toml", ("containerd.service",), asks=True
)
RANCHER = {
    "k3s": ("k3s.service", "k3s-agent.service"),
    "rke2": ("rke2-server.service", "rke2-agent.service"),
}
MICROK8S = Layout(
    "microk8s",
    "/var/snap/microk8s/current/args/containerd-template.toml",
    TOML,
    "/var/snap/microk8s/current/args/containerd-template.toml",
    ("snap.microk8s.daemon-containerd.service",),
)
# k0s makes the configuration itself and merges the CRI parts of the files in containerd.d into it; a file there must
# not import others (k0sproject/k0s#6547). Its own containerd.toml begins with this line as long as nobody took it over.
K0S_FILE, K0S_MANAGED = "/etc/k0s/containerd.toml", b"# k0s_managed=true"
K0S_UNITS = ("k0sworker.service", "k0scontroller.service")
K0S_DROP_IN = "/etc/k0s/containerd.d/gpu-oci-hook.toml"


def find(root: str, config_path: str) -> Layout:
    """The layout of this host, or of the file that was named. Raises EngineError if several are there."""
    if config_path:
        return _of_file(config_path)
    found = [layout for layout in _present(root) if layout]
    if len(found) > 1:
        names = ", ".join(f"{layout.name} ({layout.file})" for layout in found)
        raise EngineError(f"there are several configurations of containerd here: {names}", "choose with --config-path")
    return found[0] if found else STANDARD


def _of_file(path: str) -> Layout:
    name = path.rpartition("/")[2]
    if name.endswith(".tmpl"):
        rancher = "rke2" if "/rke2/" in path else "k3s"
        return Layout(rancher, path, TEMPLATE, f"{os.path.dirname(path)}/config.toml", RANCHER[rancher])
    if name == "containerd-template.toml":
        return dataclasses.replace(MICROK8S, file=path, effective=path)
    if path == K0S_FILE:
        return Layout("k0s", path, TOML, path, K0S_UNITS, asks=False)
    if os.path.dirname(path) == os.path.dirname(K0S_DROP_IN):
        return Layout("k0s", path, DROP_IN, "/run/k0s/containerd-cri.toml", K0S_UNITS)
    return dataclasses.replace(STANDARD, file=path, effective=path)


def _present(root: str) -> list[Layout | None]:
    standard = os.path.exists(below(root, STANDARD.file))
    microk8s = os.path.exists(below(root, MICROK8S.file))
    return [
        STANDARD if standard else None,
        *(_rancher(root, name) for name in RANCHER),
        MICROK8S if microk8s else None,
        _k0s(root),
    ]


def _rancher(root: str, name: str) -> Layout | None:
    """k3s and RKE2 write config.toml at each start: from config-v3.toml.tmpl, from config.toml.tmpl, or their own.

    config-v3.toml.tmpl counts with containerd 2 only and goes before the other.
    """
    folder = f"/var/lib/rancher/{name}/agent/etc/containerd"
    if not os.path.isdir(below(root, folder)):
        return None
    made = f"{folder}/config.toml"
    new, old = f"{folder}/config-v3.toml.tmpl", f"{folder}/config.toml.tmpl"
    version_3 = b"version = 3" in (read(root, made) or b"")
    exists = [path for path in (new, old) if os.path.exists(below(root, path))]
    if new in exists and not version_3 and old in exists:
        exists.remove(new)
    return Layout(name, (exists or [new if version_3 else old])[0], TEMPLATE, made, RANCHER[name])


def _k0s(root: str) -> Layout | None:
    if not os.path.isdir(below(root, "/etc/k0s")):
        return None
    content = read(root, K0S_FILE)
    if content is not None and not content.startswith(K0S_MANAGED):
        return Layout("k0s", K0S_FILE, TOML, K0S_FILE, K0S_UNITS)
    return Layout("k0s", K0S_DROP_IN, DROP_IN, "/run/k0s/containerd-cri.toml", K0S_UNITS)
