"""CRI-O: a runtime in a drop-in below /etc/crio/crio.conf.d, the only folder that it reads."""

from __future__ import annotations

import glob
import os
from typing import Any

from gpu_oci_hook.core.findings import note
from gpu_oci_hook.engines import programs
from gpu_oci_hook.engines.drop_in import put_table, take_out
from gpu_oci_hook.engines.engine import Engine, refuse_taken_name
from gpu_oci_hook.engines.real_runtime import check_program
from gpu_oci_hook.engines.request import Plan, is_wrapper
from gpu_oci_hook.engines.toml_text import Keys, decode, get, parse
from gpu_oci_hook.host.paths import below

MAIN, FOLDER = "/etc/crio/crio.conf", "/etc/crio/crio.conf.d"
DROP_IN = f"{FOLDER}/99-gpu-oci-hook.conf"  # files are read in the order of their names; a later one wins
RUNTIMES: Keys = ("crio", "runtime", "runtimes")
DEFAULT: Keys = ("crio", "runtime", "default_runtime")


class Crio(Engine):
    """Reads crio.conf and all drop-ins; writes one drop-in of its own."""

    name = "crio"
    units = ("crio.service",)

    def config_file(self) -> str:
        return self.request.config_path or DROP_IN

    def plan_install(self) -> Plan:
        runtimes, default = self._runtimes()
        name = self.request.runtime_name
        taken = runtimes.get(name)
        if taken is not None and not is_wrapper(taken.get("runtime_path")):
            refuse_taken_name(self.name, name, taken.get("runtime_path"))
        own = is_wrapper(runtimes.get(default, {}).get("runtime_path"))
        sibling = runtimes.get("runc" if own else default, {})
        keys = (*RUNTIMES, name)
        change = put_table(self.request, self.config_file(), keys, self._entry(sibling), DEFAULT, self.name)
        findings = check_program(self.request, default, sibling.get("runtime_path") or default, self.config_file())
        if not self.request.set_default:
            message = f"pods use it through a RuntimeClass with handler: {name}"
            findings.append(note("runtime-class", "", message, "or make it the default runtime with --set-default"))
        return Plan([change], findings)

    def plan_removal(self) -> Plan:
        changes = []
        for path in self._files():
            names = [name for name, value in self._in_file(path).items() if is_wrapper(value.get("runtime_path"))]
            tables = [(*RUNTIMES, name) for name in names]
            change = take_out(self.request, path, tables, DEFAULT, names or list(self.registered()))
            if change:
                changes.append(change)
        return Plan(changes)

    def registered(self) -> dict[str, bool]:
        runtimes, default = self._runtimes()
        return {name: name == default for name, value in runtimes.items() if is_wrapper(value.get("runtime_path"))}

    def effective(self) -> Any:
        program = programs.find(self.request.root, "crio")
        options = ["--config", MAIN] if self.request.read(MAIN) is not None else []
        text = programs.ask(self.request.root, [program, *options, "--config-dir", FOLDER, "config"])
        return parse("crio config", text)

    def seen(self, effective: Any) -> bool:
        path = get(effective, (*RUNTIMES, self.request.runtime_name, "runtime_path"))
        is_default = get(effective, DEFAULT) == self.request.runtime_name
        return bool(path == self.request.wrapper and (is_default or not self.request.set_default))

    def others(self, effective: Any) -> Any:
        runtime = dict(get(effective, RUNTIMES[:-1], {}))
        runtimes = runtime.pop("runtimes", {})
        runtime["runtimes"] = {
            name: value for name, value in runtimes.items() if not is_wrapper(value.get("runtime_path"))
        }
        if self.request.set_default or not self.registered():
            runtime.pop("default_runtime", None)
        return {**effective, "crio": {**effective.get("crio", {}), "runtime": runtime}}

    def _entry(self, sibling: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in sibling.items() if key not in ("runtime_path", "runtime_type")}
        return {"runtime_path": self.request.wrapper, "runtime_type": "oci", **kept}

    def _files(self) -> list[str]:
        """The files that exist, in the order in which CRI-O reads them."""
        cut = len(below(self.request.root, "/")) - 1
        found = [path[cut:] for path in sorted(glob.glob(below(self.request.root, f"{FOLDER}/*")))]
        extra = [self.request.config_path] if self.request.config_path else []
        return [path for path in (MAIN, *found, *extra) if os.path.isfile(below(self.request.root, path))]

    def _in_file(self, path: str) -> dict[str, Any]:
        values = parse(path, decode(path, self.request.read(path) or b""))
        return {name: value for name, value in get(values, RUNTIMES, {}).items() if isinstance(value, dict)}

    def _runtimes(self) -> tuple[dict[str, Any], str]:
        runtimes: dict[str, Any] = {}
        default = ""
        for path in self._files():
            runtimes.update(self._in_file(path))
            values = parse(path, decode(path, self.request.read(path) or b""))
            default = get(values, DEFAULT) or default
        return runtimes, default or "runc"
