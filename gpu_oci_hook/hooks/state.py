"""The state that a runtime gives a hook on standard input (OCI runtime-spec, runtime.md "State")."""

from __future__ import annotations

from gpu_oci_hook.core import jsontext
from gpu_oci_hook.core.rules import kind


class StateError(ValueError):
    """There is no state that says which container is meant; ``message`` is a sentence."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class State:
    """A container as its runtime describes it. ``pid`` is its init, 0 when there is none (any more)."""

    __slots__ = ("bundle", "id", "pid")

    def __init__(self, id: str, pid: int, bundle: str) -> None:
        self.id = id
        self.pid = pid
        self.bundle = bundle


def parse_state(text: str) -> State:
    """Read a state; old Docker's ``bundlePath`` stands for ``bundle``. Raises StateError."""
    if not text.strip():
        raise StateError("standard input is empty; a runtime gives the container's state there")
    try:
        value = jsontext.parse(text).value
    except jsontext.JsonTextError as error:
        raise StateError(f"the state on standard input is not JSON: {error.message}") from error
    if not isinstance(value, dict):
        raise StateError(f"the state on standard input is {kind(value)}, an object is wanted")
    bundle = value.get("bundle") or value.get("bundlePath")
    if not isinstance(bundle, str) or not bundle or "\0" in bundle:
        raise StateError("the state on standard input names no bundle")
    id_, pid = value.get("id"), value.get("pid")
    return State(
        id_ if isinstance(id_, str) else "",
        pid if isinstance(pid, int) and not isinstance(pid, bool) and pid > 0 else 0,
        bundle,
    )
