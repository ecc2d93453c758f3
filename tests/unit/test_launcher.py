"""bin/gpu-oci-runtime, installed: whatever is said to it reaches the runtime, which takes its very place."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.conftest import REPOSITORY, Bundle, Installed
from tests.unit.core.test_argv import SHAPES

# A stand-in for runc that says what it was given. The real ones are called in tests/lab.
FAKE = """#!{python}
import json, os, signal, sys
sys.stderr.write("to stderr\\n")
print(json.dumps({{
    "argv": sys.argv[1:],
    "stdin": sys.stdin.read() if not sys.stdin.isatty() else "",
    "pid": os.getpid(),
    "fds": sorted(int(fd) for fd in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + fd)),
    "environment": {{k: v for k, v in os.environ.items() if k.startswith(("LISTEN_", "MARK"))}},
    "cwd": os.getcwd(),
}}))
sys.stdout.flush()
if "wait" in sys.argv:
    signal.pause()
sys.exit(37)
"""

# awk can tell that a spec is about no GPU, and then Python is not started.
GPU = [("/dev/nvidia0", 195, 0)]
both_ways = pytest.mark.parametrize("devices", [(), GPU], ids=["by awk", "by Python"])


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    file = tmp_path / "real-runtime"
    file.write_text(FAKE.format(python=sys.executable))
    file.chmod(0o755)
    return file


@pytest.fixture
def environment(installed: Installed, tmp_path: Path, fake: Path) -> dict[str, str]:
    return installed.settings(tmp_path, None, [str(fake)])


def call(program: Path, *args: str, environment: dict[str, str], **options: Any) -> subprocess.CompletedProcess[str]:
    options.setdefault("input", "")
    return subprocess.run([str(program), *args], env=environment, capture_output=True, text=True, timeout=30, **options)


@pytest.mark.parametrize("text", [shape[0] for shape in SHAPES])
def test_all_shapes_reach_the_runtime_as_they_are(
    installed: Installed, environment: dict[str, str], fake: Path, tmp_path: Path, text: str
) -> None:
    args = [str(tmp_path / "l") if arg == "/l" else arg for arg in text.split()]
    ours = call(installed.runtime, *args, environment=environment, cwd=tmp_path)
    theirs = call(fake, *args, environment=environment, cwd=tmp_path)
    said, wanted = json.loads(ours.stdout), json.loads(theirs.stdout)
    assert (said["argv"], said["cwd"], said["fds"]) == (wanted["argv"], wanted["cwd"], wanted["fds"])
    assert ours.returncode == theirs.returncode == 37


def test_pass_through_adds_nothing_to_the_output(installed: Installed, environment: dict[str, str]) -> None:
    done = call(installed.runtime, "state", "c1", environment=environment, input="spec on stdin")
    assert done.stderr == "to stderr\n"
    assert json.loads(done.stdout)["stdin"] == "spec on stdin"


def test_arguments_with_blanks_and_newlines(installed: Installed, environment: dict[str, str]) -> None:
    args = ["exec", "c 1", "", "a\nb", "*", "$(x)", "é"]
    assert json.loads(call(installed.runtime, *args, environment=environment).stdout)["argv"] == args


@both_ways
def test_create_keeps_stdin_for_the_runtime(
    installed: Installed, environment: dict[str, str], bundle: Bundle, devices: Any
) -> None:
    bundle.spec(devices)
    done = call(installed.runtime, "create", "-b", str(bundle.folder), "c", environment=environment, input="console")
    assert json.loads(done.stdout)["stdin"] == "console"
    assert done.stderr == "to stderr\n"


@both_ways
def test_descriptors_are_inherited(
    installed: Installed, environment: dict[str, str], bundle: Bundle, devices: Any
) -> None:
    """--preserve-fds, a console socket, LISTEN_FDS: descriptors from 3 on are the runtime's."""
    bundle.spec(devices)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        os.set_inheritable(theirs.fileno(), True)
        done = call(
            installed.runtime, "create", "--preserve-fds", "1", "-b", str(bundle.folder), "c",
            environment={**environment, "LISTEN_FDS": "1", "LISTEN_FDNAMES": "x", "MARK": "m"},
            pass_fds=[theirs.fileno()],
        )  # fmt: skip
        said = json.loads(done.stdout)
        assert theirs.fileno() in said["fds"]
    assert said["environment"] == {"LISTEN_FDS": "1", "LISTEN_FDNAMES": "x", "MARK": "m"}


@pytest.mark.parametrize("command", ["state", "create"])
def test_the_runtime_has_our_process_number_and_gets_signals(
    installed: Installed, environment: dict[str, str], bundle: Bundle, command: str
) -> None:
    bundle.spec()
    args = [str(installed.runtime), command, "-b", str(bundle.folder), "wait"]
    with subprocess.Popen(args, env=environment, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert said["pid"] == process.pid
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == -signal.SIGTERM


def test_no_runtime_is_127(installed: Installed, tmp_path: Path) -> None:
    environment = installed.settings(tmp_path, None, [str(tmp_path / "none"), "no-such-runtime"])
    done = call(installed.runtime, "state", "c", environment=environment)
    assert done.returncode == 127
    assert "no real runtime was found" in done.stderr
    assert "no-such-runtime" in done.stderr


def test_the_first_usable_candidate_wins(installed: Installed, tmp_path: Path, fake: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("not executable")
    candidates = [str(tmp_path / "none"), str(tmp_path / "folder"), str(tmp_path / "plain"), str(fake)]
    done = call(installed.runtime, "state", "c", environment=installed.settings(tmp_path, None, candidates))
    assert done.returncode == 37


def test_names_are_looked_up_on_path_and_never_globbed(installed: Installed, tmp_path: Path, fake: Path) -> None:
    folder = tmp_path / "with blank"
    folder.mkdir()
    shutil.copy(fake, folder / "my runtime")
    environment = installed.settings(tmp_path, None, ["*", "my runtime"])
    environment["PATH"] = f"/nowhere:{folder}:{environment['PATH']}"
    assert call(installed.runtime, "state", "c", environment=environment).returncode == 37


def test_under_the_runtimes_name_it_goes_on_to_the_next(installed: Installed, tmp_path: Path, fake: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    os.symlink(installed.runtime, tmp_path / "a/runc")
    shutil.copy(fake, tmp_path / "b/runc")
    environment = installed.settings(tmp_path, None, ["runc"])
    environment["PATH"] = f"{tmp_path}/a:{tmp_path}/b:/usr/bin:/bin"
    assert call(tmp_path / "a/runc", "state", "c", environment=environment).returncode == 37


def test_copies_and_circles_end(installed: Installed, tmp_path: Path, fake: Path) -> None:
    copies = [tmp_path / "copy1", tmp_path / "copy2"]
    for copy in copies:
        shutil.copy(installed.runtime, copy)
    circle = tmp_path / "other-wrapper"
    circle.write_text(f'#!/bin/sh\nexec {installed.runtime} "$@"\n')
    circle.chmod(0o755)
    candidates = [str(circle), *map(str, copies)]
    environment = installed.settings(tmp_path, None, candidates)
    assert call(installed.runtime, "state", "c", environment=environment).returncode == 127
    environment = installed.settings(tmp_path, None, [*candidates, str(fake)])
    assert call(installed.runtime, "state", "c", environment=environment).returncode == 37


def test_a_child_that_inherits_the_chain_is_not_in_it(installed: Installed, environment: dict[str, str]) -> None:
    environment["GPU_OCI_RUNTIME_CHAIN"] = f"{os.getpid()} 9"
    assert call(installed.runtime, "state", "c", environment=environment).returncode == 37


@pytest.mark.parametrize(
    ("python", "reason"),
    [("/no/such/python", "status 127"), ("/bin/false", "status 1"), ("/bin/sh -c 'kill -9 $$' sh", "status")],
)
def test_a_broken_interpreter_does_not_stop_the_container(
    installed: Installed, environment: dict[str, str], tmp_path: Path, bundle: Bundle, python: str, reason: str
) -> None:
    wrapper = tmp_path / "python"
    wrapper.write_text(f"#!/bin/sh\nexec {python}\n")
    wrapper.chmod(0o755)
    call(installed.runtime, "state", "c", environment=environment)  # compiles the settings
    broken = tmp_path / "gpu-oci-runtime"
    broken.write_text(
        installed.runtime.read_text().replace(f"our_python='{sys.executable}'", f"our_python='{wrapper}'")
    )
    broken.chmod(0o755)
    bundle.spec(GPU)
    done = call(broken, "create", "-b", str(bundle.folder), "c", environment=environment)
    assert done.returncode == 37
    assert reason in done.stderr
    environment = installed.settings(tmp_path, None, [str(tmp_path / "real-runtime")], 'on_error = "fail"\n')
    call(installed.runtime, "state", "c", environment=environment)
    assert call(broken, "create", "-b", str(bundle.folder), "c", environment=environment).returncode == 1


def test_settings_that_cannot_be_used_are_one_warning(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("runtimes = 7")
    environment = {"GPU_OCI_HOOK_CONFIG": str(tmp_path / "config.toml"), "PATH": "/nowhere"}
    done = call(installed.runtime, "--version", environment=environment)
    assert done.stderr.count("the defaults are used") == 1
    assert done.returncode in (0, 127)  # the machine's own runc, where it has one


def test_the_runtimes_environment_is_the_callers(installed: Installed, tmp_path: Path) -> None:
    """A sh exports a variable that it was given with the value it has now: ours must have names of their own."""
    show = tmp_path / "show"
    show.write_text("#!/bin/sh\nexec env\n")
    show.chmod(0o755)
    words = (
        "_ name value key source found command settings runtime newline lib python status spec bundle words argument"
    )
    given = dict.fromkeys(words.split(), "mine")
    environment = {**installed.settings(tmp_path, None, [str(show)]), **given}
    bare = call(show, environment=environment).stdout.splitlines()
    ours = call(installed.runtime, "state", environment=environment).stdout.splitlines()
    own = [line for line in ours if line.startswith("GPU_OCI_RUNTIME_CHAIN=")]
    assert sorted(set(ours) - set(own)) == sorted(bare)


class TestSettingsThatChange:
    """The launcher takes the runtimes of the settings as they are now, whoever may write the compiled form."""

    @pytest.fixture
    def runtimes(self, tmp_path: Path) -> list[str]:
        for name in ("first", "second"):
            (tmp_path / name).write_text(f"#!/bin/sh\necho {name}\n")
            (tmp_path / name).chmod(0o755)
        return [str(tmp_path / "first"), str(tmp_path / "second")]

    def answer(self, program: Path, environment: dict[str, str], *args: str) -> str:
        done = call(program, *(args or ("state",)), environment=environment)
        assert done.stderr == ""
        return done.stdout.strip()

    def test_two_files_with_the_same_time(self, installed: Installed, tmp_path: Path, runtimes: list[str]) -> None:
        environments = []
        for name, runtime in zip("ab", runtimes):
            (tmp_path / name).mkdir()
            environments.append(installed.settings(tmp_path / name, None, [runtime]))
            os.utime(environments[-1]["GPU_OCI_HOOK_CONFIG"], (10**9, 10**9))
        for _ in range(2):
            assert [self.answer(installed.runtime, each) for each in environments] == ["first", "second"]

    def test_the_same_time_and_another_size(
        self, installed: Installed, tmp_path: Path, runtimes: list[str], bundle: Bundle
    ) -> None:
        """sh sees times only; a create notices, and all that follows."""
        bundle.spec([("/dev/nvidia0", 195, 0)])
        for runtime, extra in ((runtimes[0], ""), (runtimes[1], "# longer\n")):
            environment = installed.settings(tmp_path, None, [runtime], extra)
            os.utime(environment["GPU_OCI_HOOK_CONFIG"], (10**9, 10**9))
            if not extra:
                assert self.answer(installed.runtime, environment) == "first"
        create = call(installed.runtime, "create", "-b", str(bundle.folder), "c", environment=environment)
        assert create.stdout == "second\n"
        assert self.answer(installed.runtime, environment) == "second"

    def test_a_run_dir_that_cannot_be_written(self, installed: Installed, tmp_path: Path, runtimes: list[str]) -> None:
        launcher = tmp_path / "gpu-oci-runtime"
        text = installed.runtime.read_text()
        (tmp_path / "run/settings").mkdir(parents=True)
        launcher.write_text(text.replace(f"our_run_dir='{installed.prefix}/run'", f"our_run_dir='{tmp_path}/run'"))
        launcher.chmod(0o755)
        environment = installed.settings(tmp_path, None, [runtimes[1]])
        assert self.answer(launcher, environment) == "second"
        assert sorted(os.listdir(tmp_path / "run")) == ["lock", "settings"]
        assert self.answer(launcher, environment) == "second"

    def test_a_lock_that_nobody_gives_back(self, installed: Installed, tmp_path: Path, runtimes: list[str]) -> None:
        environment = installed.settings(tmp_path, None, [runtimes[1]])
        (installed.prefix / "run").mkdir(exist_ok=True)
        with open(installed.prefix / "run/lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert self.answer(installed.runtime, environment) == "second"

    def test_a_named_file_that_is_not_there_is_said(self, installed: Installed, tmp_path: Path) -> None:
        environment = {"GPU_OCI_HOOK_CONFIG": str(tmp_path / "none.toml"), "PATH": "/nowhere"}
        assert call(installed.runtime, "--version", environment=environment).stderr.count("is not there") == 1


def test_bad_settings_are_one_line_for_a_create_too(installed: Installed, tmp_path: Path, bundle: Bundle) -> None:
    (tmp_path / "config.toml").write_text("runtimes = 7")
    environment = {"GPU_OCI_HOOK_CONFIG": str(tmp_path / "config.toml"), "PATH": "/nowhere"}
    bundle.spec([("/dev/null", 1, 3)])
    done = call(installed.runtime, "create", "-b", str(bundle.folder), "a\x1b[31mb", environment=environment)
    assert done.stderr.count("the defaults are used") == 1


def test_a_caller_that_ignores_alarms_does_not_take_the_deadline_away(installed: Installed) -> None:
    lib = installed.prefix / "lib/gpu-oci-hook"
    program = (
        "import signal, sys; signal.signal(signal.SIGALRM, signal.SIG_IGN)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])\n"
        f"sys.path.insert(0, {str(lib)!r})\nimport gpu_oci_hook.runtime as runtime\n"
        "runtime.DEADLINE = 1\nruntime._set_deadline()\nsignal.pause()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=20, check=False)
    assert done.returncode == -signal.SIGALRM


def test_a_missing_library_is_one_line_and_the_defaults(installed: Installed, tmp_path: Path) -> None:
    """BUNDLE=no on a host without the distribution's packages: an interpreter that has none of the libraries."""
    prefix = tmp_path / "prefix"
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    options = [f"PREFIX={prefix}", f"RUN_DIR={tmp_path}/run", f"PYTHON={bare}/bin/python", "BUNDLE=no"]
    made = subprocess.run(
        ["make", "-s", "-C", str(REPOSITORY), "install", *options], capture_output=True, text=True, check=True
    )
    assert "does not have all libraries" in made.stderr
    environment = installed.settings(tmp_path, None, ["/no/such/runtime"])
    done = call(prefix / "bin/gpu-oci-runtime", "--version", environment=environment)
    assert "library toml is missing; the defaults are used" in done.stderr
    assert "Traceback" not in done.stderr
    done = call(prefix / "bin/gpu-oci-hook", "plan", str(tmp_path), environment=environment)
    assert "error: the Python library toml is missing" in done.stderr
    assert "BUNDLE=yes" in done.stderr
