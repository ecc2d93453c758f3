"""A throw-away host: a real systemd as PID 1 of its own namespaces, on cgroup v1 or v2, over an overlay of a root."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from types import TracebackType
from typing import Any

from tests.lab import inside
from tests.lab.hierarchies import Hierarchy, cgroup_names, make_cgroups, mounted_hierarchies, remove_cgroups

PREFIX = "gpu-hook-lab"
CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = "/src"  # where the lab sees the checkout, writable, without changing it

PROGRAMS = ("unshare", "nsenter", "mount", "pivot_root")
# What the lab's root filesystem needs, with the Debian package that brings it.
PARTS = {
    "/lib/systemd/systemd": "systemd",
    "/usr/bin/dbus-daemon": "dbus",
    "/usr/sbin/runc": "runc",
    "/usr/bin/crun": "crun",
    "/bin/busybox": "busybox-static",
}
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LC_ALL": "C.UTF-8",
}
JOIN_CGROUPS = """n=$1; shift; while [ "$n" -gt 0 ]; do echo $$ >"$1/cgroup.procs" || exit 1; shift; n=$((n-1)); done
exec "$@" """
# A command that comes from outside is in a cgroup that the lab cannot name; runc would refuse it.
ENTER_CGROUP = """cd /; for slice in /sys/fs/cgroup/systemd/system.slice /sys/fs/cgroup/system.slice; do
[ -d "$slice" ] && mkdir -p "$slice/lab-shell.service" && echo $$ >"$slice/lab-shell.service/cgroup.procs" && break
done; exec "$@" """


class LabError(Exception):
    """The lab did not do what was asked."""


class UnavailableError(LabError):
    """No such lab can be had here; the text says why."""


def missing(version: str, root_filesystem: str = "/") -> str:
    """Return why this machine cannot boot a lab on `version` ("v1" or "v2"), or an empty string."""
    if not sys.platform.startswith("linux"):
        return "the lab needs Linux"
    if os.geteuid() != 0:
        return "the lab needs root (it mounts, makes device nodes and boots a systemd in namespaces)"
    programs = [name for name in PROGRAMS if shutil.which(name) is None]
    if programs:
        return f"missing programs: {' '.join(programs)} (Debian: util-linux mount)"
    packages = [package for path, package in PARTS.items() if not os.path.exists(root_filesystem.rstrip("/") + path)]
    if packages:
        return f"missing in {root_filesystem}; install: apt-get install {' '.join(packages)}"
    if not _wanted(version):
        return f"this machine mounts no cgroup {version} hierarchy" + (" with devices" if version == "v1" else "")
    return ""


def _wanted(version: str) -> list[Hierarchy]:
    if version == "v2":
        return [hierarchy for hierarchy in mounted_hierarchies() if hierarchy.version == 2]
    found = [hierarchy for hierarchy in mounted_hierarchies() if hierarchy.version == 1]
    return found if any("devices" in hierarchy.options.split(",") for hierarchy in found) else []


def start_time(process: int) -> str | None:
    """Return when a process started, in ticks since boot (proc(5), stat field 22), or None if it is gone."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[19]
    except OSError:
        return None


def name_prefix() -> str:
    """Return how the names of this PID namespace's labs begin: another's PIDs mean nothing here."""
    return f"{PREFIX}-{os.stat('/proc/self/ns/pid').st_ino}-"


def sweep() -> list[str]:
    """Kill and remove the labs whose maker is dead (their names carry its PID and start time); return their names."""
    swept = []
    prefix = name_prefix()
    scratch = {name for name in os.listdir(tempfile.gettempdir()) if name.startswith(prefix)}
    for name in sorted(scratch | set(cgroup_names(prefix))):
        maker, started, _ = name[len(prefix) :].split("-")
        if start_time(int(maker)) == started:
            continue
        remove_cgroups(name)
        shutil.rmtree(os.path.join(tempfile.gettempdir(), name), ignore_errors=True)
        swept.append(name)
    return swept


class Machine:
    """A lab, booted by `with Machine("v1") as machine:` and gone afterwards whatever happened.

    Raises UnavailableError where the machine cannot have one, LabError where it does not boot within `timeout` seconds.
    """

    _numbers = itertools.count()

    def __init__(self, version: str, root_filesystem: str = "/", timeout: float = 60.0) -> None:
        self.version = version
        self.root_filesystem = root_filesystem
        self.timeout = timeout
        self.name = f"{name_prefix()}{os.getpid()}-{start_time(os.getpid())}-{next(self._numbers)}"
        self.directory = os.path.join(tempfile.gettempdir(), self.name)
        self.init = 0
        self._starter: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Machine:
        reason = missing(self.version, self.root_filesystem)
        if reason:
            raise UnavailableError(reason)
        sweep()
        try:
            self._boot()
        except OSError as error:
            self.stop()
            raise UnavailableError(f"this machine does not allow it: {error}") from error
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _boot(self) -> None:
        os.makedirs(self.directory, mode=0o755)
        # In every hierarchy, also those of the other version: killing what is in them then reaches all of the lab.
        cgroups = make_cgroups(self.name, mounted_hierarchies())
        hierarchies = [hierarchy.options for hierarchy in _wanted(self.version) if hierarchy.options]
        command = ["sh", "-c", JOIN_CGROUPS, "lab", str(len(cgroups)), *cgroups]
        command += ["setsid", "unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]
        command += ["--cgroup", "--uts", "--ipc", "--net", sys.executable, "-I", os.path.abspath(inside.__file__)]
        command += [self.version, self.directory, self.root_filesystem, CHECKOUT, *hierarchies]
        # In the directory, over which the lab mounts its own files in its own namespace: we still see the log.
        with open(f"{self.directory}/log", "wb") as log:
            self._starter = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._await_systemd()

    def _await_systemd(self) -> None:
        assert self._starter is not None
        deadline = time.monotonic() + self.timeout
        while time.monotonic() < deadline:
            if self._starter.poll() is not None:
                last = self.console().strip().rpartition("\n")[2]
                raise UnavailableError(f"this machine does not let the lab begin: {last}")
            self.init = self.init or _first_child(self._starter.pid)
            if self.init and os.path.exists(self.path("/run/systemd/private")):
                state = self.run(["systemctl", "is-system-running"], check=False).stdout.strip()
                if state in ("running", "degraded"):
                    return
            time.sleep(0.05)
        raise LabError(f"{self.name} did not boot within {self.timeout:g} s:\n{self.console()}")

    def stop(self) -> None:
        """Kill the lab and remove its cgroups and files; safe to call twice."""
        remove_cgroups(self.name)
        if self._starter is not None:
            self._starter.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def console(self) -> str:
        """Return what systemd and the boot wrote."""
        with open(f"{self.directory}/log", encoding="utf-8", errors="replace") as log:
            return log.read()

    def command(self, arguments: list[str]) -> list[str]:
        """Return the command line that runs `arguments` inside the lab."""
        enter = ["nsenter", "-t", str(self.init), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w"]
        return [*enter, "sh", "-c", ENTER_CGROUP, "lab", *arguments]

    def run(
        self,
        arguments: list[str],
        check: bool = True,
        timeout: float = 60.0,
        env: dict[str, str] | None = None,
        **options: Any,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside, its output captured as text; raises LabError with it if `check` is set and it fails."""
        options.setdefault("stdin", subprocess.DEVNULL if "input" not in options else None)
        if "input" in options:
            del options["stdin"]
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        done = subprocess.run(
            self.command(arguments),
            check=False,
            text=True,
            timeout=timeout,
            env={**ENVIRONMENT, **(env or {})},
            **options,
        )
        if check and done.returncode != 0:
            raise LabError(f"{' '.join(arguments)}: exit {done.returncode}\n{done.stdout or ''}{done.stderr or ''}")
        return done

    def popen(self, arguments: list[str], env: dict[str, str] | None = None, **options: Any) -> subprocess.Popen[Any]:
        """Start a command inside; what it leaves behind ends with the lab."""
        return subprocess.Popen(self.command(arguments), env={**ENVIRONMENT, **(env or {})}, **options)

    def path(self, inner: str) -> str:
        """Return the lab's path `inner` as seen from outside (an absolute symlink on the way would leave the lab)."""
        return f"/proc/{self.init}/root{inner}"

    def read(self, inner: str) -> str:
        """Return a file's text."""
        with open(self.path(inner), encoding="utf-8") as source:
            return source.read()

    def write(self, inner: str, text: str, mode: int = 0o644) -> None:
        """Write a file, making its directories."""
        os.makedirs(os.path.dirname(self.path(inner)), exist_ok=True)
        with open(self.path(inner), "w", encoding="utf-8") as target:
            target.write(text)
        os.chmod(self.path(inner), mode)


def _first_child(process: int) -> int:
    try:
        with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as children:
            return int((children.read().split() or ["0"])[0])
    except OSError:
        return 0
