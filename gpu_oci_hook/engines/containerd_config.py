"""containerd's configuration: its three versions, the files that it imports, and the entry that we put in."""

from __future__ import annotations

import dataclasses
import fnmatch
import glob
import os
from typing import Any

from gpu_oci_hook.engines.files import read
from gpu_oci_hook.engines.toml_text import Keys, decode, get, parse
from gpu_oci_hook.host.paths import below

# The name of the CRI plugin by version of the configuration (containerd docs/PLUGINS.md; version 3 came with 2.0).
CRI = {1: "cri", 2: "io.containerd.grpc.v1.cri", 3: "io.containerd.cri.v1.runtime"}
RUNC_V2 = "io.containerd.runc.v2"
# What only the old shims read (io.containerd.runtime.v1.linux): the name of a program and where it keeps its state.
OLD_KEYS = ("runtime_engine", "runtime_root")
IMPORTS_DEPTH = 8


@dataclasses.dataclass(frozen=True)
class ConfigFile:
    """One file: its text as it is, and its values."""

    path: str
    text: str
    values: dict[str, Any]

    @property
    def version(self) -> int:
        """The version it is written in; without the key that is 1."""
        version = self.values.get("version", 1)
        return version if version in CRI else 1

    @property
    def cri(self) -> Keys:
        """Where the CRI plugin's section is."""
        return ("plugins", CRI[self.version])

    @property
    def imports(self) -> list[str] | None:
        imports = self.values.get("imports")
        return [item for item in imports if isinstance(item, str)] if isinstance(imports, list) else None


def read_config(root: str, path: str) -> ConfigFile | None:
    """A file of containerd's; None if it is not there. Raises EngineError with line and column if it is no TOML."""
    content = read(root, path)
    if content is None:
        return None
    text = decode(path, content)
    return ConfigFile(path, text, parse(path, text))


def with_imports(root: str, main: ConfigFile, default: list[str], depth: int = 0) -> list[ConfigFile]:
    """A file and those that it imports, in the order in which containerd reads them."""
    found = [main]
    for path in matching(root, main, default):
        imported = read_config(root, path)
        if imported and imported.path != main.path and depth < IMPORTS_DEPTH:
            found += with_imports(root, imported, [], depth + 1)
    return found


def matching(root: str, main: ConfigFile, default: list[str]) -> list[str]:
    """The files that exist and are imported; relative names count from the file's own folder."""
    patterns = main.imports if main.imports is not None else default
    found: list[str] = []
    for pattern in patterns:
        absolute = os.path.join(os.path.dirname(main.path), pattern)
        cut = len(below(root, "/")) - 1
        found += [path[cut:] for path in sorted(glob.glob(below(root, absolute)))]
    return found


def covers(main: ConfigFile | None, default: list[str], path: str) -> bool:
    """Tell whether a file at that path would be imported."""
    patterns = main.imports if main is not None and main.imports is not None else default
    folder = os.path.dirname(main.path if main else path)
    return any(
        os.path.dirname(os.path.join(folder, pattern)) == os.path.dirname(path)
        and fnmatch.fnmatch(os.path.basename(path), os.path.basename(pattern))
        for pattern in patterns
    )


def runtimes_of(file: ConfigFile) -> dict[str, Any]:
    found = get(file.values, (*file.cri, "containerd", "runtimes"), {})
    return found if isinstance(found, dict) else {}


def default_of(file: ConfigFile) -> str:
    name = get(file.values, (*file.cri, "containerd", "default_runtime_name"), "")
    return name if isinstance(name, str) else ""


def make_entry(sibling: dict[str, Any], wrapper: str) -> dict[str, Any]:
    """Our runtime: what stands in the one beside it, with our wrapper as the shim's program.

    The options of shims other than runc's mean nothing here, so nothing is taken over from those.
    """
    kind = sibling.get("runtime_type", RUNC_V2)
    if kind not in (RUNC_V2, "io.containerd.runc.v1", ""):
        sibling = {}
    kept = {key: value for key, value in sibling.items() if key not in ("runtime_type", "options", *OLD_KEYS)}
    options = sibling.get("options")
    others = {key: value for key, value in (options or {}).items() if key != "BinaryName"}
    return {"runtime_type": RUNC_V2, **kept, "options": {"BinaryName": wrapper, **others}}


def without_zeros(runtime: Any) -> Any:
    """A runtime without values that say no more than their absence: containerd's dump lists all that there are."""
    if not isinstance(runtime, dict):
        return runtime
    members = {key: without_zeros(value) for key, value in runtime.items()}
    return {key: value for key, value in members.items() if value not in ("", 0, [], {}, None)}


def program_of(runtime: Any) -> str:
    """The program that a runtime's shim starts; empty for the shim's own default, runc."""
    name = get(runtime, ("options", "BinaryName"), "")
    return name if isinstance(name, str) else ""
