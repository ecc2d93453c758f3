"""The table of requests in tests/cases/requests: reading a case, building its host and its spec."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from gpu_oci_hook.core.devices import NVIDIA, Family
from gpu_oci_hook.core.links import BLOCKED, MISSING, RIGHT, WRONG, Link
from gpu_oci_hook.core.request.mounts import clean
from gpu_oci_hook.host.inventory import Inventory
from gpu_oci_hook.host.paths import real_path
from tests.unit.conftest import DENY_ALL, REPOSITORY

FOLDER = REPOSITORY / "tests/cases"
HOOK = {"path": "/usr/bin/nvidia-container-runtime-hook", "args": ["nvidia-container-runtime-hook", "prestart"]}
ANYWHERE = "/usr/bin/runc"


def names() -> list[str]:
    return sorted(file.stem for file in (FOLDER / "requests").glob("*.json"))


class Case:
    """One file of the table.

    ``host`` is a file of tests/cases/hosts, less what is ``gone``, and with ``nodes``, ``files`` and ``links`` on top.
    ``spec`` gives the parts of config.json that differ from a container without GPUs. ``rules``, ``made_links`` and
    ``findings`` are what must come out; without ``made_links`` each rule's device gets one and nothing else does.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.value: dict[str, Any] = json.loads((FOLDER / f"requests/{name}.json").read_text())
        base = json.loads((FOLDER / f"hosts/{self.value['host']}.json").read_text())
        gone = self.value.get("gone", [])
        for part in ("nodes", "files", "links"):
            kept = {path: text for path, text in base.get(part, {}).items() if not _is_below(path, gone)}
            setattr(self, part, {**kept, **self.value.get(part, {})})

    nodes: dict[str, str]
    files: dict[str, str]
    links: dict[str, str]

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.value.get("settings", {}))

    @property
    def next_runtime(self) -> str:
        return str(self.value.get("next_runtime", ANYWHERE))

    @property
    def rules(self) -> list[str]:
        return sorted(self.value["rules"])

    @property
    def made_links(self) -> dict[str, str]:
        expected = self.value.get("made_links")
        if expected is not None:
            return dict(expected)
        return {rule.split()[1]: "" for rule in self.rules}

    @property
    def findings(self) -> list[str]:
        return sorted(self.value.get("findings", []))

    def spec(self) -> dict[str, Any]:
        """The whole config.json."""
        given = self.value["spec"]
        if "config" in given:
            return dict(given["config"])
        devices = [
            {"path": path, "type": kind, "major": a, "minor": b} for path, kind, a, b in given.get("devices", [])
        ]
        spec: dict[str, Any] = {
            "ociVersion": "1.0.2",
            "process": {
                "args": ["true"],
                "env": ["PATH=/bin", *_expanded(given.get("env", []))],
                "capabilities": {"bounding": given.get("bounding", ["CAP_CHOWN"])},
            },
            "linux": {"devices": devices, "resources": {"devices": [DENY_ALL, *given.get("rules", [])]}},
        }
        if given.get("hook"):
            spec["hooks"] = {"prestart": [HOOK]}
        for key in ("hooks", "mounts", "annotations"):
            if key in given:
                spec[key] = given[key]
        return spec

    def build(self, root: Path) -> None:
        """Lay out the host below root: nodes are real ones for root, empty files for others."""
        for path, text in self.files.items():
            _make_room(root, path).write_text(text)
        for path, number in self.nodes.items():
            kind, major, minor = parse_number(number)
            file = _make_room(root, path)
            if os.geteuid() == 0:
                os.mknod(file, 0o666 | (0o060000 if kind == "b" else 0o020000), os.makedev(major, minor))
            else:
                file.touch()
        (root / "dev/char").mkdir(parents=True, exist_ok=True)
        for path, target in self.links.items():
            _make_room(root, path).symlink_to(target)

    def inventory(self, root: Path) -> Inventory:
        settings = self.settings
        families = [NVIDIA, *(Family(other["name"], other["nodes"]) for other in settings.get("device_family", []))]
        driver_roots = settings.get("driver_roots", ["/", "/run/nvidia/driver"])
        if os.geteuid() == 0:
            return Inventory(str(root), driver_roots, families)
        return StandIn(str(root), driver_roots, families, self.nodes)


class StandIn(Inventory):
    """An inventory for people who may not make nodes: what stat would say of them is taken from the case."""

    def __init__(self, root: str, driver_roots: list[str], families: list[Family], numbers: dict[str, str]) -> None:
        super().__init__(root, driver_roots, families)
        self.numbers = {path: parse_number(number) for path, number in numbers.items()}

    def _number(self, file: str) -> Any:
        try:
            return self.numbers.get(clean(real_path(self.root, file)))
        except OSError:
            return None

    def link(self, number: Any) -> Link:
        path = f"/dev/char/{number[1]}:{number[2]}"
        if not os.path.lexists(self.root + path):
            return Link(MISSING)
        if not os.path.islink(self.root + path):
            return Link(BLOCKED)
        return Link(RIGHT if self._number(path) == number else WRONG, os.readlink(self.root + path))


def parse_number(text: str) -> tuple[str, int, int]:
    """``c 195:0`` → ("c", 195, 0)."""
    kind, _, pair = text.partition(" ")
    major, _, minor = pair.partition(":")
    return kind, int(major), int(minor)


def _is_below(path: str, places: list[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def _make_room(root: Path, path: str) -> Path:
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def _expanded(entries: list[Any]) -> list[str]:
    """Texts as they are; ``[prefix, text, count]`` for long lists: prefix, and text with its number count times."""
    return [entry if isinstance(entry, str) else _long(*entry) for entry in entries]


def _long(prefix: str, text: str, count: int) -> str:
    return prefix + ",".join(text.replace("#", str(i)) for i in range(count))
