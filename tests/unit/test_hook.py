"""The hook's manners: input of every kind, output, exit code, and its launcher when Python fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gpu_oci_hook.hook import REFUSE, Hook
from gpu_oci_hook.hooks.state import StateError, parse_state
from gpu_oci_hook.host.settings import Settings
from tests.unit.conftest import DENY_ALL, REPOSITORY, Bundle, FakeHost, Installed, needs_mknod

NODES = [("/dev/nvidia0", 195, 0), ("/dev/nvidiactl", 195, 255)]
BROKEN_STATES = [b"", b" \n", b"{", b"[]", b"null", b"\xff", b'{"id":"c1"}', b'{"bundle":7}', b'{"bundle":"/gone"}']


@pytest.mark.parametrize("key", ["bundle", "bundlePath"])
def test_state_of_runc_and_of_old_docker(key: str) -> None:
    state = parse_state(json.dumps({"ociVersion": "1.0", "id": "c1", "pid": 10, "root": "/b/rootfs", key: "/b"}))
    assert (state.id, state.pid, state.bundle) == ("c1", 10, "/b")


@pytest.mark.parametrize("pid", [0, -1, "7", True, None])
def test_state_without_a_process(pid: Any) -> None:
    assert parse_state(json.dumps({"bundle": "/b", "pid": pid})).pid == 0


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"bundle":""}', '{"bundle":"a\\u0000"}', '{"bundle":"/b","bundle":"/c"}']
)
def test_states_that_name_no_container(text: str) -> None:
    with pytest.raises(StateError):
        parse_state(text)


@pytest.mark.parametrize("given", BROKEN_STATES)
@pytest.mark.parametrize("stage", ["prestart", "createRuntime", "poststart"])
def test_unusable_input_is_one_line_and_no_failure(stage: str, given: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    hook = Hook(stage, Settings())
    assert hook.run(given) == b""
    assert hook.code == 0
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith(f"gpu-oci-hook: error: {stage}: ")


@pytest.mark.parametrize("given", BROKEN_STATES)
def test_unusable_input_with_on_error_fail(given: bytes) -> None:
    hook = Hook("poststart", Settings({"on_error": "fail"}))
    hook.run(given)
    assert hook.code == REFUSE


def test_log_file_has_the_line_too(tmp_path: Path) -> None:
    log = tmp_path / "log"
    Hook("prestart", Settings({"log_file": str(log)})).run(b"")
    assert json.loads(log.read_text())["msg"].startswith("gpu-oci-hook: prestart: ")


class Called:
    """The installed hook, as an engine calls it."""

    def __init__(self, installed: Installed, host: FakeHost | None, folder: Path) -> None:
        self.installed, self.host, self.folder = installed, host, folder

    def __call__(
        self, stage: str, given: bytes, *options: str, extra: str = "", program: Path | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        environment = self.installed.settings(self.folder, self.host, ["/bin/true"], extra)
        command = [str(program or self.installed.hook), "hook", stage, *options]
        return subprocess.run(command, input=given, env=environment, capture_output=True, timeout=60, check=False)


@pytest.fixture
def called(installed: Installed, host: FakeHost, tmp_path: Path) -> Called:
    return Called(installed, host, tmp_path)


def spec(devices: Any = NODES, **more: Any) -> dict[str, Any]:
    nodes = [{"path": path, "type": "c", "major": major, "minor": minor} for path, major, minor in devices]
    return {"ociVersion": "1.0.2", "linux": {"devices": nodes, "resources": {"devices": [DENY_ALL]}}, **more}


@needs_mknod
class TestPrecreate:
    def test_rules_and_links(self, called: Called) -> None:
        given = json.dumps(spec(annotations={"number": "18446744073709551615"}), indent=3).encode()
        done = called("precreate", given)
        assert done.returncode == 0
        assert done.stderr == b""
        value = json.loads(done.stdout)
        rules = value["linux"]["resources"].pop("devices")
        assert [(rule["major"], rule["minor"]) for rule in rules[1:]] == [(195, 0), (195, 255)]
        assert value["annotations"] == {"number": "18446744073709551615"}
        assert sorted(called.host.links()) == ["195:0", "195:255"]

    def test_what_comes_out_goes_in_again_unchanged(self, called: Called) -> None:
        once = called("precreate", json.dumps(spec()).encode()).stdout
        assert called("precreate", once).stdout == once

    @pytest.mark.parametrize(
        "given",
        [
            b'{"linux": {} }\n\n',
            b' {"x": 1e2, "y":18446744073709551615, "z":"\\ud83d\\ude00 \xc3\xa9"}\n',
            b"{}",
            b"null",
            b"[1]\n",
            b"",
            b"{",
            b'{"linux":{},"linux":{}}',
            b'{"a":"\xff"}',
            b"not json at all\n\n\n",
        ],
    )
    @pytest.mark.parametrize("extra", ["", 'on_error = "fail"\n'], ids=["continue", "fail"])
    def test_nothing_to_add_or_anything_wrong_gives_back_the_same_bytes(
        self, called: Called, given: bytes, extra: str
    ) -> None:
        done = called("precreate", given, extra=extra)
        assert done.stdout == given
        assert done.stderr.count(b"\n") <= 1
        assert done.returncode == (1 if extra and done.stderr else 0)

    def test_unwritable_dev(self, called: Called) -> None:
        called.host.path("/dev/char").rmdir()
        called.host.write("/dev/char", "a file")
        done = called("precreate", json.dumps(spec()).encode())
        assert done.returncode == 0
        assert b"cannot be made" in done.stderr
        assert len(json.loads(done.stdout)["linux"]["resources"]["devices"]) == 3

    def test_large_spec(self, called: Called) -> None:
        given = json.dumps(spec(annotations={f"key{i}": "x" * 1000 for i in range(2000)})).encode()
        done = called("precreate", given)
        assert len(json.loads(done.stdout)["annotations"]) == 2000

    def test_by_the_administrators_way(self, called: Called) -> None:
        """With options the call goes through the command line's parser; what it does is the same."""
        given = json.dumps(spec()).encode()
        done = called("precreate", given, "--root", str(called.host.root))
        assert done.stdout == called("precreate", given).stdout
        assert done.returncode == 0


@needs_mknod
def test_installed_hook_without_any_bus(called: Called, bundle: Bundle) -> None:
    bundle.spec(NODES)
    called.host.write("/proc/1/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    called.host.write(f"/proc/{os.getpid()}/cgroup", "0::/system.slice/runc-c1.scope\n")
    state = json.dumps({"id": "c1", "pid": os.getpid(), "bundle": str(bundle.folder)}).encode()
    done = called("createRuntime", state)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.count(b"\n") == 1
    assert b"systemd cannot be reached" in done.stderr
    assert len(bundle.rules()) == 3
    assert called("createRuntime", state, extra='on_error = "fail"\n').returncode == 1


def test_container_without_gpus_loads_no_library(host: FakeHost, bundle: Bundle) -> None:
    """What every container of every node pays for."""
    bundle.spec([("/dev/fuse", 10, 229)])
    program = (
        f"import sys; sys.path.insert(0, {str(REPOSITORY)!r}); from gpu_oci_hook.hook import Hook\n"
        f"from gpu_oci_hook.host.settings import Settings\n"
        f"hook = Hook('poststart', Settings({{'host_root': {str(host.root)!r}}}))\n"
        "hook.run(sys.stdin.buffer.read()); heavy = {'os', 're', 'json', 'typing', 'socket', 'jeepney', 'ctypes'}\n"
        "print(sorted(heavy & set(sys.modules)), hook.code)"
    )
    state = json.dumps({"id": "c1", "pid": os.getpid(), "bundle": str(bundle.folder)}).encode()
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], input=state, capture_output=True, check=False)
    assert done.stdout == b"[] 0\n", done.stderr
    assert done.stderr == b""


def test_unknown_stage_is_a_mistake_of_the_caller(called: Called) -> None:
    assert called("poststop", b"").returncode == 2


class TestPythonFails:
    """The launcher's own care: no interpreter, a package half unpacked, a process that is killed."""

    @pytest.fixture(params=["no interpreter", "no package", "killed"])
    def broken(self, request: pytest.FixtureRequest, installed: Installed, tmp_path: Path) -> Path:
        text = installed.hook.read_text()
        library = str(installed.prefix / "lib/gpu-oci-hook")
        if request.param == "no interpreter":
            text = text.replace(f"python='{sys.executable}'", "python='/nonexistent/python3'")
        elif request.param == "no package":
            text = text.replace(f"lib='{library}'", f"lib='{tmp_path}'")
        else:
            killer = tmp_path / "killer"
            killer.write_text("#!/bin/sh\nkill -9 $$\n")
            killer.chmod(0o755)
            text = text.replace(f"python='{sys.executable}'", f"python='{killer}'")
        assert text != installed.hook.read_text()
        program = tmp_path / "gpu-oci-hook"
        program.write_text(text)
        program.chmod(0o755)
        return program

    def test_container_starts(self, called: Called, broken: Path) -> None:
        done = called("poststart", b"{}", program=broken)
        assert (done.returncode, done.stdout) == (0, b"")
        assert b"the container is not protected" in done.stderr

    def test_spec_passes_through(self, called: Called, broken: Path) -> None:
        given = json.dumps(spec(), indent=2).encode() + b"\n\n"
        done = called("precreate", given, program=broken)
        assert (done.returncode, done.stdout) == (0, given)

    def test_refused_with_on_error_fail(self, called: Called, broken: Path) -> None:
        called("poststart", b"", extra='on_error = "fail"\n')  # settings are compiled by a call that works
        environment = {"GPU_OCI_HOOK_CONFIG": str(called.folder / "config.toml"), "PATH": "/usr/bin:/bin"}
        assert subprocess.run([str(broken), "hook", "poststart"], input=b"", env=environment).returncode == 1
        os.utime(called.folder / "config.toml")  # the file has changed since: what was compiled says nothing about it
        assert subprocess.run([str(broken), "hook", "poststart"], input=b"", env=environment).returncode == 0


def test_deadline(installed: Installed, tmp_path: Path) -> None:
    """An engine that never closes our standard input: the hook ends by itself, and the container starts."""
    environment = installed.settings(tmp_path, None, ["/bin/true"])
    library = installed.prefix / "lib/gpu-oci-hook"
    program = f"import sys; sys.path.insert(0, {str(library)!r}); import gpu_oci_hook.hook as h; h.DEADLINE = 1; "
    program += "h.main(['createRuntime', '/nonexistent', '/nonexistent'])"
    reader, writer = os.pipe()
    start = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", program], stdin=reader, env=environment, capture_output=True, timeout=30
        )
    finally:
        os.close(reader)
        os.close(writer)
    assert time.monotonic() - start < 5
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"not done within 1 s" in done.stderr
