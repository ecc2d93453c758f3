"""Settings that are current, for programs that engines start: compiled ones, or else the TOML itself."""

from __future__ import annotations

from gpu_oci_hook.host.lock import Lock
from gpu_oci_hook.host.paths import read_text
from gpu_oci_hook.host.settings import Settings, compiled_path, exists, read_compiled


def current_settings(run_dir: str, source: str) -> tuple[Settings, str]:
    """The settings, and what is wrong with the file if they are the defaults for that reason."""
    if not source or not exists(source):
        return Settings(), ""
    compiled = read_compiled(run_dir, source)
    if compiled:
        return compiled, ""
    with Lock(f"{run_dir}/lock"):  # after a boot a hundred containers may start at once: one of them reads the TOML
        compiled = read_compiled(run_dir, source)
        settings, _, problem = (compiled, "", "") if compiled else _compile(run_dir, source)
    return settings, problem


def compiled_text(run_dir: str, source: str) -> tuple[str, str]:
    """The settings in compiled form, and what is wrong with the file if there are none for that reason."""
    with Lock(f"{run_dir}/lock"):
        if read_compiled(run_dir, source):
            return read_text(compiled_path(run_dir)), ""
        _, text, problem = _compile(run_dir, source)
    return text, problem


def _compile(run_dir: str, source: str) -> tuple[Settings, str, str]:
    """The settings, their compiled form, and a problem with the file. What that needs is imported only here."""
    from gpu_oci_hook.host.libraries import reach

    reach()
    from gpu_oci_hook.host.settings_toml import SettingsError, compile_settings

    try:
        return (*compile_settings(source, run_dir), "")
    except SettingsError as error:
        problem = error.message
    except ImportError as error:  # installed with BUNDLE=no, and without the distribution's packages
        problem = f"{source} cannot be read: the Python library {error.name} is missing"
    return Settings(), "", f"{problem}; the defaults are used"
