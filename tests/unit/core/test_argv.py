from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gpu_oci_hook.core.argv import find_command, parse

LAUNCHER = Path(__file__).resolve().parents[3] / "bin/gpu-oci-runtime"

# (arguments, subcommand, bundle, container, log file)
SHAPES = [
    ("create --bundle /b c1", "create", "/b", "c1", ""),
    ("create -b /b c1", "create", "/b", "c1", ""),
    ("create --bundle=/b c1", "create", "/b", "c1", ""),
    ("create -b=/b c1", "create", "/b", "c1", ""),
    ("create -bundle /b c1", "create", "/b", "c1", ""),
    ("create -bundle=/b c1", "create", "/b", "c1", ""),
    ("create -b/b c1", "create", "/b", "c1", ""),
    ("create c1 --bundle /b", "create", "/b", "c1", ""),
    ("create c1", "create", ".", "c1", ""),
    ("create --bundle /a --bundle /b c1", "create", "/b", "c1", ""),
    ("create --bundle= c1", "create", ".", "c1", ""),
    ("create c1 --bundle", "create", ".", "c1", ""),
    ("create", "create", ".", "", ""),
    ("run --detach --bundle /b --pid-file create run", "run", "/b", "run", ""),
    ("run -d --pid-file /p -b /b create", "run", "/b", "create", ""),
    ("create --bundle create create", "create", "create", "create", ""),
    ("create --console-socket create --bundle /b c1", "create", "/b", "c1", ""),
    ("create --preserve-fds 3 --bundle /b c1", "create", "/b", "c1", ""),
    ("create --no-pivot --bundle /b -- c1", "create", "/b", "c1", ""),
    ("--log /l create --bundle /b c1", "create", "/b", "c1", "/l"),
    ("--log=/l create --bundle /b c1", "create", "/b", "c1", "/l"),
    ("-log /l create --bundle /b c1", "create", "/b", "c1", "/l"),
    ("-log=/l create --bundle /b c1", "create", "/b", "c1", "/l"),
    ("--root create --log /l state c1", "state", ".", "c1", "/l"),
    ("--root=create state c1", "state", ".", "c1", ""),
    ("--root create delete c1", "delete", ".", "c1", ""),
    (
        "--root /r --log /l --log-format json --systemd-cgroup create --bundle /b --pid-file /p c1",
        "create",
        "/b",
        "c1",
        "/l",
    ),
    ("--debug --systemd-cgroup create --bundle /b c1", "create", "/b", "c1", ""),
    ("--criu create kill c1", "kill", ".", "c1", ""),
    ("--rootless false create -b /b c1", "create", "/b", "c1", ""),
    ("--cgroup-manager systemd --log-level run create -b /b c1", "create", "/b", "c1", ""),
    ("exec c1 create --bundle /b", "exec", "/b", "c1", ""),
    ("update --resources=- create", "update", ".", "create", ""),
    ("restore --bundle /b create", "restore", "/b", "create", ""),
    ("-- create --bundle /b c1", "create", "/b", "c1", ""),
    ("--version", "", ".", "", ""),
    ("", "", ".", "", ""),
    ("--log", "", ".", "", ""),
    ("--unknown create -b /b c1", "create", "/b", "c1", ""),
    ("- create", "-", ".", "create", ""),
]


@pytest.mark.parametrize(("text", "command", "bundle", "container", "log"), SHAPES, ids=[shape[0] for shape in SHAPES])
def test_shapes(text: str, command: str, bundle: str, container: str, log: str) -> None:
    line = parse(text.split())
    assert (line.command, line.bundle, line.container, line.log) == (command, bundle, container, log)


def test_the_launcher_finds_the_same_subcommand() -> None:
    """The sh twin of find_command, taken out of the launcher as it stands."""
    text = LAUNCHER.read_text()
    function = text[text.index("find_command() {") : text.index("\n}\n", text.index("find_command() {")) + 3]
    program = f"our_command=''\n{function}\nfind_command \"$@\"; printf '%s' \"$our_command\""
    for shape in SHAPES:
        args = shape[0].split()
        done = subprocess.run(["sh", "-c", program, "sh", *args], capture_output=True, text=True, check=True)
        at = find_command(args)
        assert done.stdout == (args[at] if at < len(args) else ""), shape[0]


def test_crun_names_the_spec_itself() -> None:
    assert parse(["run", "--config", "/x/spec.json", "-b", "/b", "c"]).config_path() == "/x/spec.json"
    assert parse(["run", "-f", "spec.json", "c"]).config_path() == "spec.json"
    assert parse(["run", "-b", "/b", "c"]).config_path() == "/b/config.json"
    assert parse(["run", "--config", "config.json", "-b", "/b", "c"]).config_path() == "/b/config.json"


def test_log_format() -> None:
    assert parse(["--log-format", "json", "create", "c"]).log_format == "json"
    assert parse(["create", "c"]).log_format == "text"
