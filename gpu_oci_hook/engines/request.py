"""What the administrator asks for, and what an engine module answers."""

from __future__ import annotations

import dataclasses
from typing import Any

from gpu_oci_hook.core.findings import Finding
from gpu_oci_hook.engines import files
from gpu_oci_hook.engines.change import Change

WRAPPER_NAME = "gpu-oci-runtime"


@dataclasses.dataclass(frozen=True)
class Request:
    """One call of install, uninstall or status.

    ``wrapper`` and ``config_path`` are paths as the host names them, ``root`` is where the host is seen from here.
    ``runtimes`` are the settings' own: what the wrapper starts after its work.
    """

    wrapper: str
    runtime_name: str = "gpu"
    set_default: bool = False
    config_path: str = ""
    root: str = "/"
    runtimes: tuple[str, ...] = ("runc", "crun")

    def read(self, path: str) -> bytes | None:
        """A file of the host; None if there is none. Raises EngineError."""
        return files.read(self.root, path)


@dataclasses.dataclass
class Plan:
    """The changes that an engine module wants, and what it noticed on the way."""

    changes: list[Change] = dataclasses.field(default_factory=list)
    findings: list[Finding] = dataclasses.field(default_factory=list)


def is_wrapper(program: Any) -> bool:
    """Tell whether a configured program is our wrapper, wherever it was installed."""
    return isinstance(program, str) and program.rpartition("/")[2] == WRAPPER_NAME
