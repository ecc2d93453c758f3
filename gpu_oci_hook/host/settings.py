"""Settings, in the form that the create path reads.

The administrator writes TOML (host/settings_toml.py). Reading that costs 30 ms and more, so its checked content is kept
in a compiled file: lines for the launcher in sh, then one line of JSON. It is current as long as the TOML's time of
change and size are those written in it; the file's own time of change equals the TOML's, which is what sh can compare.
"""

from __future__ import annotations

import posix

from gpu_oci_hook.core import jsontext
from gpu_oci_hook.core.devices import NVIDIA, Family
from gpu_oci_hook.core.request.claim import Policy
from gpu_oci_hook.host.paths import read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULT_PATH = "/etc/gpu-oci-hook/config.toml"
HEADER = "gpu-oci-hook-settings 2"


class Settings:
    """The settings of interface.md, with their defaults."""

    __slots__ = (
        "access",
        "annotations",
        "bind_mounts",
        "driver_roots",
        "env",
        "env_when_unprivileged",
        "families",
        "host_root",
        "log_file",
        "mounts",
        "on_error",
        "runtimes",
        "swarm_resources",
    )

    def __init__(self, values: dict[str, Any] | None = None) -> None:
        values = values or {}
        request = values.get("request", {})
        self.runtimes: list[str] = values.get("runtimes", ["runc", "crun"])
        self.host_root: str = values.get("host_root", "/")
        self.driver_roots: list[str] = values.get("driver_roots", ["/", "/run/nvidia/driver"])
        self.on_error: str = values.get("on_error", "continue")
        self.access: str = values.get("access", "rw")
        self.log_file: str = values.get("log_file", "")
        self.env: str = request.get("env", "auto")
        self.env_when_unprivileged: bool = request.get("env_when_unprivileged", True)
        self.mounts: bool = request.get("mounts", True)
        self.annotations: bool = request.get("annotations", True)
        self.swarm_resources: list[str] = request.get("swarm_resources", [])
        self.bind_mounts: str = request.get("bind_mounts", "report")
        others = values.get("device_family", [])
        self.families = [NVIDIA, *(Family(other["name"], other["nodes"]) for other in others)]

    @property
    def policy(self) -> Policy:
        """The settings under [request], as core/request wants them."""
        return Policy(
            self.env,
            self.env_when_unprivileged,
            self.mounts,
            self.annotations,
            self.swarm_resources,
            self.bind_mounts,
        )


def compiled_path(run_dir: str) -> str:
    return f"{run_dir}/settings"


def read_compiled(run_dir: str, source: str) -> Settings | None:
    """The settings compiled from the TOML file ``source``, if they are current; None otherwise."""
    lines = read_text(compiled_path(run_dir)).splitlines()
    if len(lines) < 3 or lines[0] != HEADER or lines[1] != identity(source) or not lines[-1].startswith("json "):
        return None
    try:
        return Settings(jsontext.parse(lines[-1][len("json ") :]).value)
    except (jsontext.JsonTextError, TypeError, AttributeError, KeyError):
        return None


def identity(source: str) -> str:
    """A settings file's state in one line; empty when there is none."""
    try:
        state = posix.stat(source)
    except OSError:
        return ""
    return f"source {source} {state.st_size} {state.st_mtime_ns}"


def exists(source: str) -> bool:
    return bool(identity(source))


def seems_current(run_dir: str, source: str) -> bool:
    """Whether compiled settings look current to the launcher, which sees times only, and are not.

    Then the file's size has changed and its time has not (all files of some systems have the same).
    """
    lines = read_text(compiled_path(run_dir)).splitlines()
    wanted = identity(source).rsplit(" ", 2)
    found = lines[1].rsplit(" ", 2) if len(lines) > 1 else []
    return len(found) == len(wanted) == 3 and found[0] == wanted[0] and found[2] == wanted[2] and found[1] != wanted[1]
