"""How an engine stands: registered or not, seen by the engine or not, changed since by somebody else or not."""

from __future__ import annotations

import dataclasses
from typing import Any

from gpu_oci_hook.core.findings import Finding, error, warning
from gpu_oci_hook.engines import files
from gpu_oci_hook.engines.change import Change
from gpu_oci_hook.engines.engine import Engine, NotAskedError
from gpu_oci_hook.engines.errors import EngineError
from gpu_oci_hook.engines.records import Record
from gpu_oci_hook.engines.registry import engine_named
from gpu_oci_hook.engines.request import Request


@dataclasses.dataclass
class State:
    """``names`` are the registered runtimes, true for the default one; ``seen`` is None where the engine was not asked.

    ``changes`` are what others changed in our files since we wrote them.
    """

    engine: str
    config_file: str = ""
    names: dict[str, bool] = dataclasses.field(default_factory=dict)
    seen: bool | None = None
    changes: list[Change] = dataclasses.field(default_factory=list)
    findings: list[Finding] = dataclasses.field(default_factory=list)

    def describe(self) -> str:
        if not self.names:
            return "not registered"
        shown = ", ".join(f"{name} (default)" if default else name for name, default in self.names.items())
        return f"registered: {shown}{', confirmed by the engine' if self.seen else ''}"

    def as_json(self) -> dict[str, Any]:
        runtimes = [{"name": name, "default": default} for name, default in self.names.items()]
        return {
            "engine": self.engine,
            "config_file": self.config_file,
            "registered": bool(self.names),
            "runtimes": runtimes,
            "seen": self.seen,
            "edited": bool(self.changes),
        }


def look(name: str, request: Request) -> State:
    """Look at one engine. What stands in the way becomes a finding."""
    state = State(name)
    try:
        engine = engine_named(name, request)
        state.config_file = engine.config_file()
        state.names = engine.registered()
        state.changes = _edited(engine)
        if state.names:
            _look_closer(engine, state)
    except EngineError as problem:
        state.findings.append(error("engine-config", state.config_file, problem.message, problem.hint))
    return state


def _look_closer(engine: Engine, state: State) -> None:
    request = dataclasses.replace(engine.request, runtime_name=next(iter(state.names)), set_default=False)
    if not files.is_program(request.root, request.wrapper):
        state.findings.append(
            warning(
                "wrapper-missing",
                request.wrapper,
                f"{engine.name} starts our wrapper, and there is no such program",
                f"install it again, or: gpu-oci-hook uninstall {engine.name}",
            )
        )
    try:
        asked = engine_named(engine.name, request)
        state.seen = asked.seen(asked.effective())
    except NotAskedError:
        return
    if not state.seen:
        state.findings.append(
            warning(
                "not-seen",
                state.config_file,
                f"{engine.name} itself does not see the registration",
                f"another file sets the same; try: gpu-oci-hook install {engine.name}",
            )
        )


def _edited(engine: Engine) -> list[Change]:
    """What was changed in our files since we wrote them."""
    found = []
    for entry in Record(engine.request.root, engine.name).files.values():
        now = files.read(engine.request.root, entry.path)
        if now != entry.written:
            found.append(Change(entry.path, entry.written, now))
    return found
