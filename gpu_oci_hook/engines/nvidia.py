"""NVIDIA's own runtime: our wrapper first among those that it starts. There it sees the final spec."""

from __future__ import annotations

import os
from typing import Any

from gpu_oci_hook.core.findings import Finding, warning
from gpu_oci_hook.engines import toml_edit
from gpu_oci_hook.engines.change import Change
from gpu_oci_hook.engines.engine import Engine
from gpu_oci_hook.engines.errors import EngineError
from gpu_oci_hook.engines.request import Plan, is_wrapper
from gpu_oci_hook.engines.toml_text import decode, get, parse
from gpu_oci_hook.host.paths import below

CONFIG = "/etc/nvidia-container-runtime/config.toml"
# Where the GPU operator's toolkit container puts its own copy; it writes that anew at each start.
OPERATOR = "/usr/local/nvidia/toolkit/.config/nvidia-container-runtime/config.toml"
SECTION = ("nvidia-container-runtime",)
KEY = (*SECTION, "runtimes")
# The toolkit's default since 1.13; older ones have docker-runc before it, which nobody installs any more.
DEFAULT = ["runc", "crun"]


class Nvidia(Engine):
    """Its runtime reads the file at each start of a container, so nothing must be restarted."""

    name = "nvidia"

    def config_file(self) -> str:
        if self.request.config_path:
            return self.request.config_path
        found = [path for path in (CONFIG, OPERATOR) if os.path.exists(below(self.request.root, path))]
        if len(found) > 1:
            raise EngineError(
                f"there are two configurations of NVIDIA's runtime here: {', '.join(found)}",
                "choose with --config-path; the GPU operator uses the second",
            )
        return found[0] if found else CONFIG

    def plan_install(self) -> Plan:
        if self.request.set_default:
            raise EngineError("nvidia has no default runtime to set", "leave out --set-default")
        path = self.config_file()
        content, text, values = self._read(path)
        runtimes = self._runtimes(path, values)
        others = [name for name in runtimes if not is_wrapper(name)]
        wanted = [self.request.wrapper, *others]
        if get(values, KEY) is None:
            text = toml_edit.set_value(path, text, KEY, wanted)
        elif runtimes != wanted:
            text = self._without_ours(path, text, runtimes)
            text = toml_edit.put_first(path, text, KEY, self.request.wrapper)
        findings = [*self._compared(path, others), *self._operator(path)]
        return Plan([Change(path, content, text.encode())], findings)

    def plan_removal(self) -> Plan:
        path = self.config_file()
        content, text, values = self._read(path)
        runtimes = get(values, KEY, [])
        if content is None or not any(map(is_wrapper, runtimes)):
            return Plan()
        return Plan([Change(path, content, self._without_ours(path, text, runtimes).encode())])

    def registered(self) -> dict[str, bool]:
        """The one name is that of NVIDIA's own runtime; ours counts while it is the first in the list."""
        path = self.config_file()
        runtimes = get(self._read(path)[2], KEY, [])
        return {"nvidia": is_wrapper(runtimes[0])} if any(map(is_wrapper, runtimes)) else {}

    def _read(self, path: str) -> tuple[bytes | None, str, dict[str, Any]]:
        content = self.request.read(path)
        text = decode(path, content or b"")
        return content, text, parse(path, text)

    def _runtimes(self, path: str, values: dict[str, Any]) -> list[str]:
        runtimes = get(values, KEY, DEFAULT)
        if not isinstance(runtimes, list) or not all(isinstance(name, str) for name in runtimes):
            raise EngineError(f"{path}: {'.'.join(KEY)} is no list of names", "correct it first; it was left as it is")
        return runtimes

    def _without_ours(self, path: str, text: str, runtimes: list[str]) -> str:
        for name in runtimes:
            if is_wrapper(name):
                text = toml_edit.remove_item(path, text, KEY, name)
        return text

    def _compared(self, path: str, others: list[str]) -> list[Finding]:
        """A runtime of the administrator's own before runc and crun would not be reached any more."""
        first = next((name for name in others if name != "docker-runc"), "runc")
        if first in self.request.runtimes[:1]:
            return []
        message = f"NVIDIA's runtime starts {first} first, our wrapper {self.request.runtimes[0]}"
        hint = f'put it first in the settings: runtimes = ["{first}", ...]'
        return [warning("other-real-runtime", path, message, hint)]

    def _operator(self, path: str) -> list[Finding]:
        if path != OPERATOR:
            return []
        message = "the GPU operator writes this file anew whenever its toolkit container starts"
        return [warning("config-rewritten", path, message, "run this again after the operator, or from its hook")]
