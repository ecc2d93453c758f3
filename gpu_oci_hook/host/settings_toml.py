"""Settings as the administrator writes them: TOML, checked against a schema, then compiled for the create path."""

from __future__ import annotations

import json
import os
from typing import Any

from gpu_oci_hook import schemas
from gpu_oci_hook.core.shortcut import shortcut_for
from gpu_oci_hook.host.lock import make_folder
from gpu_oci_hook.host.settings import DEFAULT_PATH, HEADER, Settings, compiled_path, identity

ENVIRONMENT = "GPU_OCI_HOOK_CONFIG"


class SettingsError(Exception):
    """The settings cannot be used; ``message`` names the file and the key, ``hint`` what helps."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def settings_path(given: str | None = None) -> str:
    """Where the settings are: ``--config``, the environment, or the default place."""
    return given or os.environ.get(ENVIRONMENT) or DEFAULT_PATH


def load(given: str | None = None) -> Settings:
    """The settings for an administrator's command.

    Raises SettingsError for a file that was named but is not there, for what is not TOML, and for every unknown key or
    wrong type, all in one message.
    """
    path = settings_path(given)
    if path == DEFAULT_PATH and not given and not os.path.exists(path):
        return Settings()
    return Settings(read_values(path))


def read_values(path: str) -> dict[str, Any]:
    """A settings file's checked content. Raises SettingsError."""
    import toml

    try:
        with open(path, encoding="utf-8") as file:
            values: dict[str, Any] = toml.load(file)
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}", "name another file with --config") from error
    except (ValueError, IndexError, TypeError, KeyError, AttributeError) as error:  # what the toml parser raises
        raise SettingsError(f"{path} is not TOML: {error}", "gpu-oci-hook schema settings lists all keys") from error
    problems = check(values)
    if problems:
        raise SettingsError(f"{path}: {'; '.join(problems)}", "gpu-oci-hook schema settings lists all keys")
    return values


def check(values: dict[str, Any]) -> list[str]:
    """What is wrong with settings, one text per problem, each beginning with the key's path."""
    import jsonschema

    validator = jsonschema.Draft7Validator(schemas.load("settings"))
    errors = sorted(validator.iter_errors(values), key=lambda error: [str(part) for part in error.absolute_path])
    return [f"{_place(error.absolute_path)}{error.message}" for error in errors]


def _place(path: Any) -> str:
    parts = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return f"{parts.lstrip('.')}: " if parts else ""


def compile_settings(source: str, run_dir: str) -> tuple[Settings, str]:
    """Read a settings file, and leave its compiled form in run_dir if that can be written; gives back both.

    Raises SettingsError for a file that cannot be used.
    """
    state = identity(source)
    values = read_values(source)
    settings = Settings(values)
    for_launcher = [*(f"runtime {name}" for name in settings.runtimes), f"on_error {settings.on_error}"]
    shortcut = shortcut_for(settings.families, settings.swarm_resources)
    for_launcher += [f"words {'|'.join(shortcut.words)}", f"majors {'|'.join(map(str, shortcut.majors))}"]
    lines = [HEADER, state, *for_launcher, f"json {json.dumps(values)}"]
    text = "\n".join(lines) + "\n"
    try:
        _write_compiled(run_dir, text, os.stat(source).st_mtime_ns)
    except OSError:
        pass  # not root, or a read-only /run: the TOML is then read each time
    return settings, text


def _write_compiled(run_dir: str, text: str, mtime: int) -> None:
    make_folder(run_dir)
    temporary = f"{compiled_path(run_dir)}.{os.getpid()}"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o644)  # whatever root's umask is: rootless engines read it too
            file.write(text)
        os.utime(temporary, ns=(mtime, mtime))
        os.replace(temporary, compiled_path(run_dir))
    except OSError:
        os.unlink(temporary)
        raise
