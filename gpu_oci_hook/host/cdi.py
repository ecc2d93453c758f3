"""Reading the host's CDI specs: JSON with what the create path has, YAML with PyYAML where nothing else will do.

Importing yaml and reading a spec of 40 KB costs more than all the rest of a create. So a YAML file is read only if it
mentions the kind that is asked for, and that is asked only for containers that name CDI devices.
"""

from __future__ import annotations

import posix

from gpu_oci_hook.core.cdi import CdiError, CdiFile, Registry
from gpu_oci_hook.core.jsontext import JsonTextError, parse
from gpu_oci_hook.host.libraries import reach
from gpu_oci_hook.host.paths import below, join, read_text, real_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SIZE_MAX = 8 << 20


def read_registry(root: str, kinds: set[str]) -> Registry:
    """The CDI specs of these kinds below root, from /etc/cdi and /var/run/cdi; the later folder has priority."""
    files: list[CdiFile] = []
    problems: list[tuple[str, str]] = []
    for priority, folder in enumerate(("/etc/cdi", f"{_run(root)}/cdi")):
        for name in _names(below(root, folder)):
            path = join(folder, name)
            text = read_text(below(root, path), SIZE_MAX)
            try:
                if name.endswith(".json"):
                    files.append(CdiFile(path, priority, parse(text).value))
                elif any(kind in text for kind in kinds):
                    files.append(CdiFile(path, priority, _yaml(text)))
            except (CdiError, JsonTextError) as error:
                problems.append((path, str(error)))
    return Registry([file for file in files if file.kind in kinds], problems)


def _run(root: str) -> str:
    """/var/run, which is a link to /run: an absolute one must not be followed from here, below another root."""
    try:
        return real_path(root, "/var/run")
    except OSError:
        return "/run"


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in posix.listdir(folder) if name.endswith((".json", ".yaml")))
    except OSError:
        return []


def _yaml(text: str) -> Any:
    reach()
    try:
        import yaml
    except ImportError:
        raise CdiError("reading YAML needs PyYAML, which is not installed") from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        return loader.get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CdiError(f"it is not YAML: {' '.join(str(error).split())[:200]}") from error
