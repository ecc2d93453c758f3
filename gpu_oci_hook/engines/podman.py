"""Podman: a runtime in a drop-in of containers.conf."""

from __future__ import annotations

import glob
import json
import os
from typing import Any

from gpu_oci_hook.core.findings import note
from gpu_oci_hook.engines import programs
from gpu_oci_hook.engines.drop_in import put_table, take_out
from gpu_oci_hook.engines.engine import Engine, refuse_taken_name
from gpu_oci_hook.engines.errors import EngineError
from gpu_oci_hook.engines.request import Plan, is_wrapper
from gpu_oci_hook.engines.toml_text import Keys, decode, get, parse
from gpu_oci_hook.host.paths import below

FOLDER = "/etc/containers/containers.conf.d"
DROP_IN = f"{FOLDER}/gpu-oci-hook.conf"
MAIN_FILES = ("/usr/share/containers/containers.conf", "/etc/containers/containers.conf")
RUNTIMES: Keys = ("engine", "runtimes")
DEFAULT: Keys = ("engine", "runtime")


class Podman(Engine):
    """Has no daemon: what is written counts for the next container."""

    name = "podman"

    def config_file(self) -> str:
        return self.request.config_path or DROP_IN

    def plan_install(self) -> Plan:
        name = self.request.runtime_name
        taken = self._runtimes()[0].get(name)
        if taken is not None and not _is_ours(taken):
            refuse_taken_name(self.name, name, ", ".join(map(str, taken)))
        if name in ("runc", "crun", "kata", "runsc", "youki", "krun"):
            raise EngineError(f"podman knows {name} as another runtime's name", "choose another with --runtime-name")
        path = self.config_file()
        own = get(self._values(path), RUNTIMES, {})
        wanted = {**own, name: [self.request.wrapper]}
        findings = []
        if not self.request.set_default:
            hint = "or make it the default with --set-default"
            findings.append(note("runtime-option", "", f"containers use it with podman --runtime={name} run", hint))
        return Plan([put_table(self.request, path, RUNTIMES, wanted, DEFAULT, self.name)], findings)

    def plan_removal(self) -> Plan:
        changes = []
        for path in self._files():
            names = [name for name, value in get(self._values(path), RUNTIMES, {}).items() if _is_ours(value)]
            whole = len(names) == len(get(self._values(path), RUNTIMES, {}))
            change = take_out(
                self.request,
                path,
                [RUNTIMES] if names and whole else [(*RUNTIMES, name) for name in names],
                DEFAULT,
                list(self.registered()),
            )
            if change:
                changes.append(change)
        return Plan(changes)

    def registered(self) -> dict[str, bool]:
        runtimes, default = self._runtimes()
        return {name: name == default for name, value in runtimes.items() if _is_ours(value)}

    def effective(self) -> Any:
        """What podman info says about the runtime: of the default one, and of ours where it is registered."""
        program = programs.find(self.request.root, "podman")
        found = {"default": self._host([program]), "ours": {}}
        for name in self.registered():
            found["ours"][name] = self._host([program, "--runtime", name])
        return found

    def _host(self, command: list[str]) -> dict[str, Any]:
        host = json.loads(programs.ask(self.request.root, [*command, "info", "--format", "json"]))["host"]
        kept = ("ociRuntime", "cgroupManager", "eventLogger", "networkBackend", "logDriver", "conmon")
        return {key: host[key] for key in kept if key in host}

    def seen(self, effective: Any) -> bool:
        name = self.request.runtime_name
        path = get(effective, ("ours", name, "ociRuntime", "path"))
        default = get(effective, ("default", "ociRuntime", "name"))
        return bool(path == self.request.wrapper and (default == name or not self.request.set_default))

    def others(self, effective: Any) -> Any:
        rest = dict(effective["default"])
        if self.request.set_default or is_wrapper(get(rest, ("ociRuntime", "path"))) or not self.registered():
            rest.pop("ociRuntime", None)
        return rest

    def _files(self) -> list[str]:
        cut = len(below(self.request.root, "/")) - 1
        found = [path[cut:] for path in sorted(glob.glob(below(self.request.root, f"{FOLDER}/*.conf")))]
        named = [self.request.config_path] if self.request.config_path else []
        return [
            path
            for path in dict.fromkeys((*MAIN_FILES, *found, *named))
            if os.path.isfile(below(self.request.root, path))
        ]

    def _values(self, path: str) -> dict[str, Any]:
        return parse(path, decode(path, self.request.read(path) or b""))

    def _runtimes(self) -> tuple[dict[str, Any], str]:
        runtimes: dict[str, Any] = {}
        default = ""
        for path in self._files():
            values = self._values(path)
            runtimes.update(get(values, RUNTIMES, {}))
            default = get(values, DEFAULT) or default
        return runtimes, default


def _is_ours(candidates: Any) -> bool:
    return isinstance(candidates, list) and any(map(is_wrapper, candidates))
