"""The administrator's settings in compiled form, compiled anew when they have changed."""

from __future__ import annotations

from gpu_oci_hook.host.settings import Settings, exists, read_compiled


def current_settings(run_dir: str, source: str) -> tuple[Settings, str]:
    """The settings of a TOML file, or the defaults, and what is wrong with the file if they had to be the defaults."""
    if not exists(source):
        return Settings(), ""
    compiled = read_compiled(run_dir, source)
    if compiled:
        return compiled, ""
    import site

    site.main()  # we run with -S; a distribution's own packages of the libraries are found only so
    from gpu_oci_hook.host.lock import Lock
    from gpu_oci_hook.host.settings_toml import SettingsError, compile_settings

    try:
        with Lock(f"{run_dir}/lock"):  # after a boot a hundred containers may start at once: one of them reads the TOML
            return read_compiled(run_dir, source) or compile_settings(source, run_dir), ""
    except SettingsError as error:
        return Settings(), f"{error.message}; the defaults are used"
