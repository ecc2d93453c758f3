from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpu_oci_hook.host.settings import Settings, read_compiled
from gpu_oci_hook.host.settings_toml import SettingsError, compile_settings, load

FULL = """
version = 1
runtimes = ["/opt/runc", "crun"]
host_root = "/host"
driver_roots = ["/"]
on_error = "fail"
access = "rwm"
log_file = "/var/log/gpu-oci-hook.log"

[request]
env = "always"
env_when_unprivileged = false
mounts = false
annotations = false
swarm_resources = ["DOCKER_RESOURCE_GPU"]
bind_mounts = "grant"

[[device_family]]
name = "kgpu"
nodes = ["/dev/kgpu[0-9]*", "/dev/kgpuctl"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "config.toml"
    file.write_text(FULL)
    return file


def flat(settings: Settings) -> dict[str, object]:
    values = {name: getattr(settings, name) for name in Settings.__slots__}
    values["families"] = [(family.name, family.nodes) for family in settings.families]
    return values


def test_all_keys_are_read(file: Path) -> None:
    settings = load(str(file))
    assert settings.runtimes == ["/opt/runc", "crun"]
    assert (settings.host_root, settings.driver_roots, settings.on_error) == ("/host", ["/"], "fail")
    assert (settings.access, settings.log_file) == ("rwm", "/var/log/gpu-oci-hook.log")
    assert (settings.env, settings.env_when_unprivileged, settings.mounts) == ("always", False, False)
    assert (settings.annotations, settings.swarm_resources) == (False, ["DOCKER_RESOURCE_GPU"])
    assert settings.bind_mounts == "grant"
    assert [family.name for family in settings.families] == ["nvidia", "kgpu"]


def test_the_compiled_form_says_the_same(file: Path, tmp_path: Path) -> None:
    run_dir = str(tmp_path / "run")
    assert read_compiled(run_dir, str(file)) is None
    compile_settings(str(file), run_dir)
    compiled = read_compiled(run_dir, str(file))
    assert compiled is not None
    assert (tmp_path / "run/settings").stat().st_mode & 0o777 == 0o644
    assert flat(compiled) == flat(load(str(file)))


def test_the_compiled_form_is_stale_after_any_change(file: Path, tmp_path: Path) -> None:
    run_dir = str(tmp_path / "run")
    compile_settings(str(file), run_dir)
    other = tmp_path / "other.toml"
    other.write_text(FULL)
    assert read_compiled(run_dir, str(other)) is None
    times = file.stat()
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns - 10**9))  # an older file put in its place
    assert read_compiled(run_dir, str(file)) is None


@pytest.mark.parametrize("content", ["", "x", "gpu-oci-hook-settings 1\n", "gpu-oci-hook-settings 1\nsource\njson {"])
def test_a_broken_compiled_file_is_no_settings(file: Path, tmp_path: Path, content: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/settings").write_text(content)
    assert read_compiled(str(tmp_path / "run"), str(file)) is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('runtime = ["runc"]', "runtime"),
        ("runtimes = 1", "runtimes: "),
        ('runtimes = ["a/b"]', "runtimes[0]: "),
        ('host_root = "host"', "host_root: "),
        ('on_error = "stop"', "on_error: "),
        ("[request]\nenv = true", "request.env: "),
        ('[request]\nenvs = "auto"', "request: "),
        ('[[device_family]]\nname = "x"', "device_family[0]: "),
        ('[[device_family]]\nname = "x"\nnodes = ["nvidia"]', "device_family[0].nodes[0]: "),
        ("version = 2", "version: "),
        ("runtimes = [", "runtimes"),
        ("= 1", "is not TOML"),
        ('a = "\\x"', "is not TOML"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str, place: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load(str(file))
    assert place in caught.value.message
    assert "gpu-oci-hook schema settings" in caught.value.hint


def test_all_problems_at_once(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("runtimes = 1\naccess = 2\n[request]\nenv = 3\n")
    with pytest.raises(SettingsError) as caught:
        load(str(file))
    assert all(key in caught.value.message for key in ("runtimes", "access", "request.env"))


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        load(str(tmp_path / "none.toml"))
