"""What every engine module offers."""

from __future__ import annotations

import abc
from typing import Any

from gpu_oci_hook.engines.errors import EngineError
from gpu_oci_hook.engines.request import Plan, Request


class NotAskedError(Exception):
    """The engine's own program could not be asked; the text says why."""


class Engine(abc.ABC):
    """One engine on one host. Functions only read; engines/transaction.py writes."""

    name: str
    units: tuple[str, ...] = ()  # systemd units that read the configuration, first that exists
    reload_verb = "restart"  # what makes them read what was added
    removal_verb = "restart"  # and see that something is gone

    def __init__(self, request: Request) -> None:
        self.request = request
        self.originals: dict[str, bytes] = {}  # files as they were before our first write, where that is known

    @abc.abstractmethod
    def config_file(self) -> str:
        """The file in which a registration stands or would stand. Raises EngineError where that is not clear."""

    @abc.abstractmethod
    def plan_install(self) -> Plan:
        """The changes that register our wrapper; files that are right already are in it with action keep.

        Raises EngineError for a configuration that cannot be read, or where the name belongs to somebody else.
        """

    @abc.abstractmethod
    def plan_removal(self) -> Plan:
        """The changes that take away every entry that refers to our wrapper, whoever wrote it."""

    @abc.abstractmethod
    def registered(self) -> dict[str, bool]:
        """The runtime names that start our wrapper, as the files say, and for each whether it is the default."""

    def effective(self) -> Any:
        """The whole configuration as the engine itself understands it, in plain values.

        Raises NotAskedError if its program is not here or has no such question, EngineError if it refuses the files.
        """
        raise NotAskedError(f"{self.name} has no program that shows its configuration")

    def seen(self, effective: Any) -> bool:
        """Tell whether an effective configuration has our wrapper under the asked name (and as default, if asked)."""
        raise NotImplementedError

    def others(self, effective: Any) -> Any:
        """An effective configuration without what install may change: equal before and after."""
        raise NotImplementedError


def refuse_taken_name(engine: str, name: str, program: Any) -> None:
    """Raises EngineError for a runtime name that is not ours to change."""
    raise EngineError(
        f"{engine} has a runtime named {name} already, which starts {program or 'another program'}",
        "choose another name with --runtime-name",
    )
