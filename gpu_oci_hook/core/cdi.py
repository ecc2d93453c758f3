"""CDI specs: which nodes a name such as ``nvidia.com/gpu=0`` stands for (cncf-tags/container-device-interface)."""

from __future__ import annotations

from gpu_oci_hook.core.procfs import is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpu_oci_hook.core.devices import Number


class CdiError(ValueError):
    """A CDI spec is not as its schema wants it."""


class CdiNode:
    """A device node of a CDI spec. ``path`` is the host's; ``number`` is None where the host decides."""

    __slots__ = ("number", "path", "permissions")

    def __init__(self, path: str, number: Number | None, permissions: str) -> None:
        self.path = path
        self.number = number
        self.permissions = permissions


class CdiFile:
    """One CDI spec. Of files with the same device, the one from the folder of higher priority counts."""

    __slots__ = ("kind", "path", "priority", "value")

    def __init__(self, path: str, priority: int, value: Any) -> None:
        """Raises CdiError for what is no CDI spec."""
        kind = value.get("kind") if isinstance(value, dict) else None
        if not isinstance(kind, str):
            raise CdiError("it has no kind")
        self.path = path
        self.priority = priority
        self.kind = kind
        self.value: dict[str, Any] = value

    def nodes(self, name: str) -> list[CdiNode] | None:
        """The nodes of one device and those that come with every device of this spec; None if it is not in here.

        Raises CdiError for entries of wrong types.
        """
        for device in _objects(self.value, "devices"):
            if device.get("name") == name:
                return [*_nodes(self.value), *_nodes(device)]
        return None


class Registry:
    """What was read of the host's CDI specs; ``problems`` are pairs of a file and what is wrong with it."""

    def __init__(self, files: list[CdiFile], problems: list[tuple[str, str]]) -> None:
        self.files = files
        self.problems = problems

    def find(self, qualified: str) -> list[CdiNode] | None:
        """The nodes that a qualified name stands for; None if no spec has it, or if two of the same priority do.

        Raises CdiError where the spec that has it is broken.
        """
        kind, _, name = qualified.partition("=")
        found = [(file, file.nodes(name)) for file in self.files if file.kind == kind]
        having = [(file.priority, nodes) for file, nodes in found if nodes is not None]
        best = [nodes for priority, nodes in having if priority == max(other for other, _ in having)]
        return best[0] if len(best) == 1 else None


def is_qualified(name: str) -> bool:
    """Whether an item is a CDI name: ``vendor.com/class=name``."""
    kind, _, device = name.partition("=")
    vendor, _, class_ = kind.partition("/")
    return bool(vendor and class_ and device)


def vendor_of(name: str) -> str:
    return name.partition("/")[0]


def _objects(parent: dict[str, Any], key: str) -> list[dict[str, Any]]:
    value = parent.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise CdiError(f"{key} is not a list of objects")
    return value


def _nodes(parent: dict[str, Any]) -> list[CdiNode]:
    edits = parent.get("containerEdits")
    if edits is None:
        return []
    if not isinstance(edits, dict):
        raise CdiError("containerEdits is not an object")
    return [_node(entry) for entry in _objects(edits, "deviceNodes") if entry.get("type") != "p"]


def _node(entry: dict[str, Any]) -> CdiNode:
    path = entry.get("hostPath") or entry.get("path")
    type_, major, minor = entry.get("type") or "c", entry.get("major") or 0, entry.get("minor") or 0
    permissions = entry.get("permissions") or "rwm"
    if not (isinstance(path, str) and isinstance(permissions, str) and type_ in ("c", "u", "b")):
        raise CdiError("a device node has no path, or a type that does not exist")
    if not (is_number(str(major)) and is_number(str(minor))):
        raise CdiError(f"{path}: its number is no number")
    # Without a major the number is the host's; CDI's own reader asks for type and major (container-edits_unix.go).
    number = ("b" if type_ == "b" else "c", int(major), int(minor)) if major else None
    return CdiNode(path, number, permissions)
