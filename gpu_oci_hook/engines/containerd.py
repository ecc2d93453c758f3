"""containerd: a runtime of the CRI plugin whose shim starts our wrapper."""

from __future__ import annotations

import re
from typing import Any

from gpu_oci_hook.core.findings import note
from gpu_oci_hook.engines import containerd_layouts, containerd_template, programs
from gpu_oci_hook.engines.change import Change
from gpu_oci_hook.engines.containerd_config import (
    CRI,
    RUNC_V2,
    ConfigFile,
    covers,
    default_of,
    make_entry,
    program_of,
    read_config,
    runtimes_of,
    with_imports,
    without_zeros,
)
from gpu_oci_hook.engines.engine import Engine, NotAskedError, refuse_taken_name
from gpu_oci_hook.engines.errors import EngineError
from gpu_oci_hook.engines.real_runtime import check_program, refuse_nvidia_default
from gpu_oci_hook.engines.request import Plan, Request, is_wrapper
from gpu_oci_hook.engines.toml_edit import add_table, remove_table, set_value, without_empty
from gpu_oci_hook.engines.toml_text import decode, get, parse, put

DROP_IN = "/etc/containerd/conf.d/gpu-oci-hook.toml"


class Containerd(Engine):
    """Reads the main file and all that it imports; edits the one whose CRI section counts."""

    name = "containerd"

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.layout = containerd_layouts.find(request.root, request.config_path)
        self.units = self.layout.units
        self.own_names = {request.runtime_name, *self.registered()}

    def config_file(self) -> str:
        return self._target()[0]

    def plan_install(self) -> Plan:
        plan = Plan()
        path, file, version = self._target()
        self._refuse_disabled()
        entry = self._entry(plan, file)
        if self.layout.kind == containerd_layouts.TEMPLATE:
            containerd_template.add(plan, self.request, self.layout, version, entry)
            return plan
        text = file.text if file else ""
        plan.changes.append(self._change(path, file, self._registered_text(path, text, version, entry)))
        self._notice(plan)
        return plan

    def plan_removal(self) -> Plan:
        plan = Plan()
        if self.layout.kind == containerd_layouts.TEMPLATE:
            return Plan(containerd_template.remove(self.request, self.layout))
        for file in self._files():
            text = file.text
            for name, runtime in runtimes_of(file).items():
                if is_wrapper(program_of(runtime)):
                    text = remove_table(file.path, text, (*file.cri, "containerd", "runtimes", name))
                    if default_of(file) == name:
                        keys = (*file.cri, "containerd", "default_runtime_name")
                        text = set_value(file.path, text, keys, self._old_default(file, name))
            if text != file.text:
                ours = file.path in (DROP_IN, containerd_layouts.K0S_DROP_IN) and _is_bare(parse(file.path, text))
                plan.changes.append(Change(file.path, file.text.encode(), None if ours else text.encode()))
        return plan

    def _old_default(self, file: ConfigFile, name: str) -> str | None:
        """What was the default in a file before, if that is known and not ours."""
        old = self.originals.get(file.path)
        if old is None:
            return None
        text = decode(file.path, old)
        before = default_of(ConfigFile(file.path, text, parse(file.path, text)))
        return before if before not in ("", name) else None

    def registered(self) -> dict[str, bool]:
        if self.layout.kind == containerd_layouts.TEMPLATE:
            return containerd_template.registered(self.request, self.layout)
        default = self._default_name()
        runtimes = [item for file in self._files() for item in runtimes_of(file).items()]
        return {name: name == default for name, value in runtimes if is_wrapper(program_of(value))}

    def effective(self) -> Any:
        if not self.layout.asks:
            raise NotAskedError(f"{self.layout.name} makes containerd's configuration when it starts")
        program = programs.find(self.request.root, "containerd")
        # Without a file containerd starts with its default configuration, but dump fails (1.7).
        exists = self.request.read(self.layout.file) is not None
        question = ["--config", self.layout.file, "config", "dump"] if exists else ["config", "default"]
        return parse("containerd's answer", programs.ask(self.request.root, [program, *question]))

    def seen(self, effective: Any) -> bool:
        containerd = _cri(effective).get("containerd", {})
        runtime = get(containerd, ("runtimes", self.request.runtime_name), {})
        is_default = containerd.get("default_runtime_name") == self.request.runtime_name
        program = program_of(runtime)
        if runtime and not runtime.get("options"):  # 1.4 prints no runtime's options: what the file says must do
            program = program_of(self._runtimes().get(self.request.runtime_name))
        return program == self.request.wrapper and (is_default or not self.request.set_default)

    def others(self, effective: Any) -> Any:
        """Versions and imports differ by the way of registering; what they bring about is compared."""
        cri = _cri(effective)
        runtimes = get(cri, ("containerd", "runtimes"), {})
        kept = {name: without_zeros(value) for name, value in runtimes.items() if name not in self.own_names}
        cri = put(cri, ("containerd", "runtimes"), kept)
        if self.request.set_default or not self.registered():
            cri = put(cri, ("containerd", "default_runtime_name"), None)
        plugins = {name: value for name, value in effective.get("plugins", {}).items() if name != _cri_name(effective)}
        rest = {key: value for key, value in effective.items() if key not in ("version", "imports", "plugins")}
        return {**rest, "plugins": {**plugins, "cri": cri}}

    def _files(self) -> list[ConfigFile]:
        """All files that count, in the order in which they are read."""
        main = read_config(self.request.root, self.layout.file)
        if main:
            return with_imports(self.request.root, main, self._default_imports())
        drop_in = read_config(self.request.root, DROP_IN) if self.layout.asks else None
        return [drop_in] if drop_in else []

    def _effective_file(self) -> list[ConfigFile]:
        """The files from which the runtime beside ours is taken."""
        if self.layout.effective == self.layout.file:
            return self._files()
        made = read_config(self.request.root, self.layout.effective)
        return [made] if made else []

    def _engine_version(self) -> tuple[int, ...]:
        """The installed containerd's version; empty if it is not known."""
        if not self.layout.asks:
            return ()
        try:
            program = programs.find(self.request.root, "containerd")
            done = programs.call(self.request.root, [program, "--version"])
        except NotAskedError:
            return ()
        found = re.search(r" v?(\d+)\.(\d+)\.", done.stdout)
        return tuple(map(int, found.groups())) if found else ()

    def _default_imports(self) -> list[str]:
        """What containerd imports where its configuration does not say: nothing up to 2.1, conf.d later."""
        if self._engine_version() < (2, 0):
            return []
        program = programs.find(self.request.root, "containerd")
        values = parse("containerd config default", programs.ask(self.request.root, [program, "config", "default"]))
        return [item for item in values.get("imports", []) if isinstance(item, str)]

    def _target(self) -> tuple[str, ConfigFile | None, int]:
        """The file to edit, its content if it is there, and the version to write in."""
        if self.layout.kind != containerd_layouts.TOML:
            made = read_config(self.request.root, self.layout.effective)
            version = 3 if "-v3." in self.layout.file or (made and made.version == 3) else 2
            own = read_config(self.request.root, self.layout.file) if self.layout.kind != "template" else None
            return self.layout.file, own, version
        main = read_config(self.request.root, self.layout.file)
        engine = self._engine_version()
        newer = (main is not None and main.version == 3) or engine >= (2, 0)
        if newer and self.layout.asks and covers(main, self._default_imports(), DROP_IN):
            return DROP_IN, read_config(self.request.root, DROP_IN), (main.version if main and main.values else 3)
        if main is None or not main.values:
            return self.layout.file, main, 3 if newer else 2
        if not newer:
            main = _owner(self._files())
        return main.path, main, main.version

    def _runtimes(self) -> dict[str, Any]:
        """All runtimes that the files name; of the same name, the last."""
        runtimes: dict[str, Any] = {}
        for file in self._effective_file():
            runtimes.update(runtimes_of(file))
        return runtimes

    def _default_name(self) -> str:
        own = [] if self.layout.kind == containerd_layouts.TEMPLATE else self._files()
        names = [default_of(file) for file in [*self._effective_file(), *own]]
        return next((name for name in reversed(names) if name), "runc")

    def _entry(self, plan: Plan, file: ConfigFile | None) -> dict[str, Any]:
        """Our runtime, beside the default one (or runc, if the default one is ours)."""
        runtimes = self._runtimes()
        taken = runtimes.get(self.request.runtime_name)
        if taken is None and file is not None:
            taken = runtimes_of(file).get(self.request.runtime_name)
        if taken is not None and not is_wrapper(program_of(taken)):
            refuse_taken_name(self.name, self.request.runtime_name, program_of(taken) or taken.get("runtime_type"))
        if not runtimes:
            runtimes = self._default_runtimes()
        default = self._default_name()
        beside = default if default in runtimes and not is_wrapper(program_of(runtimes[default])) else "runc"
        sibling = runtimes.get(beside, {})
        refuse_nvidia_default(self.request, default, program_of(runtimes.get(default)))
        plan.findings += check_program(self.request, beside, program_of(sibling) or "runc", self.layout.file)
        return make_entry(sibling, self.request.wrapper)

    def _default_runtimes(self) -> dict[str, Any]:
        """What containerd has while the files name no runtime: they are gone as soon as the files name one."""
        try:
            runtimes = get(_cri(self.effective()), ("containerd", "runtimes"), {})
        except NotAskedError:
            return {"runc": {"runtime_type": RUNC_V2}}
        return {name: without_zeros(value) for name, value in runtimes.items()}

    def _registered_text(self, path: str, text: str, version: int, entry: dict[str, Any]) -> str:
        if not parse(path, text).get("version") and version > 1:
            text = set_value(path, text, ("version",), version)
        name = self.request.runtime_name
        runtimes = ("plugins", CRI[version], "containerd", "runtimes")
        if self.request.set_default:
            text = set_value(path, text, (*runtimes[:-1], "default_runtime_name"), name)
        old = get(parse(path, text), (*runtimes, name))
        if old is not None and old != entry:
            text = remove_table(path, text, (*runtimes, name))
        if self.layout.kind == containerd_layouts.TOML and not any(map(runtimes_of, self._files())):
            for default, values in self._default_runtimes().items():
                text = add_table(path, text, (*runtimes, default), values, "containerd's own, which a list replaces")
        if old != entry:
            text = add_table(path, text, (*runtimes, name), entry, containerd_template.COMMENT)
        return text

    def _change(self, path: str, file: ConfigFile | None, text: str) -> Change:
        return Change(path, file.text.encode() if file else None, text.encode())

    def _refuse_disabled(self) -> None:
        for file in self._effective_file():
            disabled = file.values.get("disabled_plugins", [])
            if any(name in disabled for name in CRI.values()):
                raise EngineError(
                    f"{file.path} disables containerd's CRI plugin, so nothing would use a runtime there",
                    "for Docker: gpu-oci-hook install docker; for Kubernetes take cri out of disabled_plugins first",
                )

    def _notice(self, plan: Plan) -> None:
        if not self.request.set_default:
            message = f"pods use it through a RuntimeClass with handler: {self.request.runtime_name}"
            plan.findings.append(note("runtime-class", "", message, "or make it the default with --set-default"))


def _owner(files: list[ConfigFile]) -> ConfigFile:
    """In containerd 1 an imported file replaces a plugin's whole section (containerd#5837): the last one counts."""
    with_cri = [file for file in files if get(file.values, file.cri) is not None]
    return with_cri[-1] if with_cri else files[0]


def _cri_name(effective: Any) -> str:
    plugins = effective.get("plugins", {})
    return next((CRI[version] for version in (3, 2, 1) if "containerd" in plugins.get(CRI[version], {})), CRI[2])


def _cri(effective: Any) -> dict[str, Any]:
    found = effective.get("plugins", {}).get(_cri_name(effective), {})
    return found if isinstance(found, dict) else {}


def _is_bare(values: dict[str, Any]) -> bool:
    """Nothing but a version is left (tables without members do not count)."""
    return set(without_empty(values)) <= {"version"}
