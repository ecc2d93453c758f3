"""Parts of config.json that only some sources look at, each checked for its types when it is looked at.

A wrong type anywhere that we look stops the whole preparation and leaves the spec as it is: every runtime refuses such
a spec, and says better what is wrong with it.
"""

from __future__ import annotations

from gpu_oci_hook.core.rules import SpecError, check_spelling, kind
from gpu_oci_hook.core.spec import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gpu_oci_hook.core.spec import Spec

HOOK_STAGES = ("prestart", "createRuntime")


class Mount:
    """One entry of mounts. Paths are as written."""

    __slots__ = ("destination", "index", "source")

    def __init__(self, source: str, destination: str, index: int) -> None:
        self.source = source
        self.destination = destination
        self.index = index

    @property
    def place(self) -> str:
        return f"mounts[{self.index}]"


def environment(spec: Spec) -> list[str]:
    """process.env as it is. Raises SpecError, as all of these do."""
    return _strings(_member(spec.value, "process"), "env", "process.env")


def bounding_set(spec: Spec) -> list[str]:
    """The capabilities of the bounding set: ``CAP_SYS_ADMIN``."""
    capabilities = _object(_member(spec.value, "process"), "capabilities", "process.capabilities")
    return _strings(capabilities, "bounding", "process.capabilities.bounding")


def mounts(spec: Spec) -> list[Mount]:
    check_spelling(spec.value, ("mounts",), "config.json")
    found = []
    for index, value in enumerate(_list(spec.value, "mounts", "mounts")):
        place = f"mounts[{index}]"
        entry = _as_object(value, place)
        check_spelling(entry, ("source", "destination"), place)
        source, destination = (text(entry.get(key), f"{place}.{key}") for key in ("source", "destination"))
        found.append(Mount(source, destination, index))
    return found


def annotation_texts(spec: Spec) -> dict[str, str]:
    found = _member(spec.value, "annotations")
    return {key: text(value, f"annotations.{key}") for key, value in found.items()}


def hook_commands(spec: Spec) -> list[list[str]]:
    """The path and the arguments of every hook that runs before the container's process does, on the host's side."""
    hooks = _member(spec.value, "hooks")
    found = []
    for stage in HOOK_STAGES:
        for index, value in enumerate(_list(hooks, stage, f"hooks.{stage}")):
            place = f"hooks.{stage}[{index}]"
            entry = _as_object(value, place)
            found.append([text(entry.get("path"), f"{place}.path"), *_strings(entry, "args", f"{place}.args")])
    return found


def _member(parent: dict[str, Any], key: str) -> dict[str, Any]:
    check_spelling(parent, (key,), "config.json")
    return _object(parent, key, key)


def _object(parent: dict[str, Any], key: str, place: str) -> dict[str, Any]:
    value = parent.get(key)
    return {} if value is None else _as_object(value, place)


def _as_object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SpecError(place, f"an object is wanted, {kind(value)} was found")
    return value


def _list(parent: dict[str, Any], key: str, place: str) -> list[Any]:
    value = parent.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise SpecError(place, f"a list is wanted, {kind(value)} was found")
    return value


def _strings(parent: dict[str, Any], key: str, place: str) -> list[str]:
    check_spelling(parent, (key,), place.rpartition(".")[0])
    return [text(value, f"{place}[{index}]") for index, value in enumerate(_list(parent, key, place))]
