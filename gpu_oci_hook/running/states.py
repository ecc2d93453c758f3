"""What runtimes and engines left on disk about their containers: ids, bundles, init processes.

Runtimes keep a folder for each container: runc ``ID/state.json`` (libcontainer/state.go, containerd calls runc with a
root of its own for each namespace, docker likewise), crun ``ID/status``. Nothing here is needed to find a container;
it gives it a name and a spec.
"""

from __future__ import annotations

import glob
import json
import os
from typing import NamedTuple

from gpu_oci_hook.host.paths import below, read_text

LIMIT = 4 << 20

# Folders with one folder for each container, as the host names them; the engine is known by its root.
RUNTIME_ROOTS = (
    ("docker", "/run/docker/runtime-*/*"),
    ("containerd", "/run/containerd/runc/*"),
    ("containerd", "/run/containerd/crun/*"),
    ("containerd", "/run/k3s/containerd/runc/*"),
    ("containerd", "/run/k0s/containerd/runc/*"),
    ("", "/run/runc"),  # CRI-O, podman and plain runc
    ("", "/run/runc-*"),
    ("", "/run/crun"),
)
# Bundles of containerd's shims hold config.json; the folder's name is the container's id.
BUNDLE_ROOTS = (
    "/run/containerd/io.containerd.runtime.v2.task/*",
    "/run/k3s/containerd/io.containerd.runtime.v2.task/*",
)
# How engines name their scopes: prefix-ID.scope.
ENGINES = {
    "docker": "docker",
    "cri-containerd": "containerd",
    "nerdctl": "containerd",
    "crio": "cri-o",
    "libpod": "podman",
}


class State(NamedTuple):
    """One container as its runtime knows it. ``bundle`` is a path of the host, or empty; ``pid`` its init."""

    id: str
    engine: str
    bundle: str
    pid: int


class States:
    """The containers that runtimes know on the host below ``root``, read one by one when asked for."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._folders: dict[str, list[tuple[str, str]]] = {}
        self._by_pid: dict[int, State] | None = None
        for engine, pattern in RUNTIME_ROOTS:
            for folder in sorted(glob.glob(below(root, pattern))):
                for id_ in _names(folder):
                    self._folders.setdefault(id_, []).append((engine, f"{folder}/{id_}"))

    def find(self, unit: str, pid: int) -> State | None:
        """The container whose init is ``pid``: by its scope's name, which ends in the id, or else by all states."""
        prefix, id_ = split_unit(unit, self._folders)
        for engine, folder in self._folders.get(id_, ()):
            state = self._read(id_, engine or ENGINES.get(prefix, ""), folder)
            if state and state.pid == pid:
                return state
        return self._all().get(pid)

    def _all(self) -> dict[int, State]:
        if self._by_pid is None:
            self._by_pid = {}
            for id_, places in self._folders.items():
                for engine, folder in places:
                    state = self._read(id_, engine, folder)
                    if state:
                        self._by_pid[state.pid] = state
        return self._by_pid

    def _read(self, id_: str, engine: str, folder: str) -> State | None:
        for name, reader, runtime in (("state.json", _from_runc, "runc"), ("status", _from_crun, "crun")):
            try:
                pid, bundle = reader(json.loads(read_text(f"{folder}/{name}", LIMIT)))
            except (ValueError, TypeError, KeyError, AttributeError):
                continue
            return State(id_, engine or runtime, bundle or self._bundle_of(id_), pid)
        return None

    def _bundle_of(self, id_: str) -> str:
        for pattern in BUNDLE_ROOTS:
            for folder in glob.glob(below(self.root, f"{pattern}/{glob.escape(id_)}")):
                return folder[len(below(self.root, "/")) - 1 :]
        return ""


def split_unit(unit: str, known: dict[str, list[tuple[str, str]]]) -> tuple[str, str]:
    """Prefix and id of a scope's name ``prefix-ID.scope``. Both may hold dashes, so known ids decide."""
    name = unit.rpartition(".")[0]
    parts = name.split("-")
    for i in range(1, len(parts)):
        if "-".join(parts[i:]) in known:
            return "-".join(parts[:i]), "-".join(parts[i:])
    prefix, _, id_ = name.rpartition("-")
    return prefix, id_


def _from_runc(state: dict[str, object]) -> tuple[int, str]:
    config = state["config"]
    labels = config.get("labels") if isinstance(config, dict) else None
    bundles = [label[len("bundle=") :] for label in labels or () if str(label).startswith("bundle=")]
    return _pid(state["init_process_pid"]), bundles[0] if bundles else ""


def _from_crun(state: dict[str, object]) -> tuple[int, str]:
    return _pid(state["pid"]), str(state.get("bundle") or "")


def _pid(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(value)
    return value


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
