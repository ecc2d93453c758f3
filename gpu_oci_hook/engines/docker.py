"""Docker: a runtime in daemon.json."""

from __future__ import annotations

from typing import Any

from gpu_oci_hook.core.findings import note
from gpu_oci_hook.engines import json_edit, programs
from gpu_oci_hook.engines.change import Change
from gpu_oci_hook.engines.docker_flags import daemon_flags
from gpu_oci_hook.engines.engine import Engine, NotAskedError, refuse_taken_name
from gpu_oci_hook.engines.errors import EngineError
from gpu_oci_hook.engines.real_runtime import check_program, refuse_nvidia_default
from gpu_oci_hook.engines.request import Plan, is_wrapper

DAEMON_JSON = "/etc/docker/daemon.json"
RESERVED = "runc"  # docker/for-linux#144; dockerd: "runtime name 'runc' is reserved"
# A key in daemon.json that is a flag of dockerd too keeps it from starting (nvidia-docker#712).
FLAGS = {"runtimes": "--add-runtime", "default-runtime": "--default-runtime"}


class Docker(Engine):
    """Dockerd takes runtimes over on SIGHUP, without a restart; but of keys that are gone it keeps the old values."""

    name = "docker"
    units = ("docker.service",)
    reload_verb = "reload"

    def config_file(self) -> str:
        return self.request.config_path or self._flags().get("--config-file", DAEMON_JSON)

    def plan_install(self) -> Plan:
        name = self.request.runtime_name
        if name == RESERVED or name.startswith("io.containerd."):
            raise EngineError(f"docker keeps the runtime name {name} for itself", "choose another with --runtime-name")
        path = self.config_file()
        content = self.request.read(path)
        text = _decode(path, content)
        values = json_edit.read(path, text)
        self._refuse_conflicts(values, path)
        runtimes = self._runtimes(values, path)
        taken = runtimes.get(name)
        if taken is not None and not is_wrapper(_program(taken)):
            refuse_taken_name(self.name, name, _program(taken))
        plan = Plan(findings=self._compared(values, runtimes, path))
        if _program(taken) != self.request.wrapper:
            text = json_edit.set_member(path, text, ("runtimes", name, "path"), self.request.wrapper)
        if self.request.set_default and values.get("default-runtime") != name:
            text = json_edit.set_member(path, text, ("default-runtime",), name)
        plan.changes.append(Change(path, content, text.encode() if content is None or text else content))
        return plan

    def plan_removal(self) -> Plan:
        path = self.config_file()
        content = self.request.read(path)
        plan = Plan()
        if content is None:
            return plan
        text = _decode(path, content)
        values = json_edit.read(path, text)
        for name in self.registered():
            text = json_edit.remove_member(path, text, ("runtimes", name))
            if values.get("default-runtime") == name:
                text = self._with_old_default(path, text, name)
        if text != content.decode() and json_edit.read(path, text).get("runtimes") == {}:
            text = json_edit.remove_member(path, text, ("runtimes",))
        plan.changes.append(Change(path, content, text.encode()))
        return plan

    def _with_old_default(self, path: str, text: str, name: str) -> str:
        """What was the default before, if that is known and not ours; else dockerd's own."""
        old = self.originals.get(path)
        before = json_edit.read(path, _decode(path, old)).get("default-runtime") if old is not None else None
        if isinstance(before, str) and before != name:
            return json_edit.set_member(path, text, ("default-runtime",), before)
        return json_edit.remove_member(path, text, ("default-runtime",))

    def registered(self) -> dict[str, bool]:
        path = self.config_file()
        values = json_edit.read(path, _decode(path, self.request.read(path)))
        default = values.get("default-runtime")
        runtimes = self._runtimes(values, path)
        return {name: name == default for name, value in runtimes.items() if is_wrapper(_program(value))}

    def effective(self) -> Any:
        """Docker has no question that prints its configuration; that it accepts the file is what it can say."""
        path = self.config_file()
        program = programs.find(self.request.root, "dockerd")
        content = self.request.read(path)
        values = json_edit.read(path, _decode(path, content))
        if content is not None and content.strip():
            self._validate(program, path)
        return values

    def _validate(self, program: str, path: str) -> None:
        if "--validate" not in programs.call(self.request.root, [program, "--help"]).stdout:
            raise NotAskedError("this dockerd has no --validate (Docker 23.0 and later have)")
        programs.ask(self.request.root, [program, "--validate", "--config-file", path])

    def seen(self, effective: Any) -> bool:
        runtime = effective.get("runtimes", {}).get(self.request.runtime_name)
        is_default = effective.get("default-runtime") == self.request.runtime_name
        return _program(runtime) == self.request.wrapper and (is_default or not self.request.set_default)

    def others(self, effective: Any) -> Any:
        runtimes = {
            name: value for name, value in effective.get("runtimes", {}).items() if not is_wrapper(_program(value))
        }
        rest = {key: value for key, value in effective.items() if key not in ("runtimes", "default-runtime")}
        return {**rest, "runtimes": runtimes}

    def _flags(self) -> dict[str, str]:
        return daemon_flags(self.request.root)

    def _refuse_conflicts(self, values: dict[str, Any], path: str) -> None:
        flags = self._flags()
        keys = ["runtimes", *(["default-runtime"] if self.request.set_default else [])]
        for key in keys:
            if key not in values and FLAGS[key] in flags:
                raise EngineError(
                    f"dockerd is started with {FLAGS[key]}, so it would not start with {key} in {path} as well",
                    f"move that flag's value into {path}, then run this again",
                )

    def _runtimes(self, values: dict[str, Any], path: str) -> dict[str, Any]:
        runtimes = values.get("runtimes", {})
        if not isinstance(runtimes, dict):
            raise EngineError(f"{path}: runtimes is no object", "correct it first; it was left as it is")
        return runtimes

    def _compared(self, values: dict[str, Any], runtimes: dict[str, Any], path: str) -> list[Any]:
        default = values.get("default-runtime", RESERVED)
        program = _program(runtimes.get(default)) or RESERVED
        refuse_nvidia_default(self.request, str(default), program)
        findings = check_program(self.request, str(default), program, path)
        if not self.request.set_default:
            name = self.request.runtime_name
            hint = "or make it the default with --set-default"
            findings.append(note("runtime-option", "", f"containers use it with docker run --runtime={name}", hint))
        return findings


def _decode(path: str, content: bytes | None) -> str:
    try:
        return (content or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise EngineError(f"{path} is not UTF-8 text: byte {error.start}", "it was left as it is") from error


def _program(runtime: Any) -> str:
    path = runtime.get("path", "") if isinstance(runtime, dict) else ""
    return path if isinstance(path, str) else ""
