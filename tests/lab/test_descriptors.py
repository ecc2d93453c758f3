"""What an engine hands to the runtime reaches it and the container through the wrapper, with the real runc."""

from __future__ import annotations

import json

from tests.lab.bundle import BUNDLES, make_bundle
from tests.lab.installation import WRAPPER
from tests.lab.machine import Machine

NODES = ["/dev/nvidia0"]
# An engine's side of --console-socket: accept one connection and print what the descriptor sent over it is.
RECEIVER = """
import array, os, socket, subprocess, sys
path, command = sys.argv[1], sys.argv[2:]
server = socket.socket(socket.AF_UNIX); server.bind(path); server.listen(1)
done = subprocess.run(command, stdin=subprocess.DEVNULL)
connection, _ = server.accept()
_, ancillary, _, _ = connection.recvmsg(4096, socket.CMSG_SPACE(4))
[descriptor] = array.array("i", ancillary[0][2])
print(done.returncode, os.isatty(descriptor))
"""


def test_preserved_descriptors_reach_the_container(installed: Machine) -> None:
    bundle = make_bundle(installed, "fds", devices=NODES, arguments=["/bin/sh", "-c", "cat <&3; cat <&4"])
    runtime = f"{WRAPPER} --systemd-cgroup run --preserve-fds 2 -b {bundle.path} fds"
    command = f"exec 3</etc/hostname-a 4</etc/hostname-b; exec {runtime}"
    installed.write("/etc/hostname-a", "first\n")
    installed.write("/etc/hostname-b", "second\n")
    assert installed.run(["sh", "-c", command]).stdout == "first\nsecond\n"


def test_listen_fds_reach_the_container(installed: Machine) -> None:
    """runc passes them on if LISTEN_PID is its own process: the wrapper must not have become a parent."""
    bundle = make_bundle(
        installed, "listen", devices=NODES, arguments=["/bin/sh", "-c", "echo $LISTEN_FDS $LISTEN_PID; cat <&3"]
    )
    installed.write("/etc/socket", "activated\n")
    command = (
        f"exec 3</etc/socket; LISTEN_PID=$$ LISTEN_FDS=1 exec {WRAPPER} --systemd-cgroup run -b {bundle.path} listen"
    )
    assert installed.run(["sh", "-c", command]).stdout == "1 1\nactivated\n"


def test_a_console_socket_gets_the_terminal(installed: Machine) -> None:
    bundle = make_bundle(installed, "console", devices=NODES)
    spec = bundle.spec()
    spec["process"]["terminal"] = True
    installed.write(bundle.config, json.dumps(spec))
    socket = f"{BUNDLES}/console.sock"
    command = [WRAPPER, "--systemd-cgroup", "create", "-b", bundle.path, "--console-socket", socket, "console"]
    done = installed.run(["python3", "-c", RECEIVER, socket, *command])
    assert done.stdout == "0 True\n"
    assert bundle.spec()["linux"]["resources"]["devices"]


def test_exit_codes_and_signals_are_the_containers(installed: Machine) -> None:
    bundle = make_bundle(installed, "code", devices=NODES, arguments=["/bin/sh", "-c", "exit 43"])
    done = installed.run([WRAPPER, "--systemd-cgroup", "run", "-b", bundle.path, "code"], check=False)
    assert done.returncode == 43
    bundle = make_bundle(
        installed,
        "term",
        devices=NODES,
        arguments=["/bin/sh", "-c", "trap 'exit 44' TERM; echo up; while :; do sleep 1; done"],
    )
    command = (
        f"{WRAPPER} --systemd-cgroup run -b {bundle.path} term >/tmp/term.out & "
        "until [ -s /tmp/term.out ]; do sleep 0.05; done; kill -TERM $!; wait $!"
    )
    assert installed.run(["sh", "-c", command], check=False).returncode == 44
