"""Containers whose devices are not systemd's list's business: crun's own program, the cgroupfs driver, no systemd."""

from __future__ import annotations

import json
import time

import pytest

from tests.lab.bundle import Bundle, make_bundle
from tests.lab.container import Container
from tests.lab.installation import COMMAND
from tests.lab.machine import SOURCE, Machine
from tests.lab.test_hook import ENVIRONMENT, one_gpu

__all__ = ["one_gpu"]
NODES = ["/dev/nvidia0", "/dev/nvidiactl"]
PINNED = "/sys/fs/bpf/lab_device"
PIN = f"""
import ctypes, struct, sys
sys.path.insert(0, {SOURCE!r})
from tests.lab.legacy_hook import bpf, load, program
path = ctypes.create_string_buffer({PINNED.encode()!r})
bpf(6, struct.pack("<QII", ctypes.addressof(path), load(program([(195, 0), (195, 255)])), 0))  # BPF_OBJ_PIN
"""


def call(bundle: Bundle, pid: int, stage: str = "poststart") -> str:
    state = json.dumps({"ociVersion": "1.0.2", "id": bundle.id, "pid": pid, "bundle": bundle.path})
    done = bundle.machine.run([COMMAND, "hook", stage], input=state)
    assert done.stdout == ""
    return done.stderr


def main_process(machine: Machine, directory: str) -> int:
    for _ in range(100):
        found = machine.run(["cat", f"{directory}/cgroup.procs"], check=False).stdout.split()
        if found:
            return int(found[0])
        time.sleep(0.05)
    raise TimeoutError(directory)


def test_bpf_program_is_left_alone(one_gpu: Machine) -> None:
    """As crun >= 1.23 sets it, which Debian 12 has not: a scope with BPFProgram= of a real systemd, made by hand."""
    if one_gpu.version != "v2":
        pytest.skip("device programs are v2's")
    one_gpu.run(["python3", "-c", PIN])
    bundle = make_bundle(one_gpu, "bpf", devices=NODES)
    command = ["systemd-run", "--quiet", "--scope", "--slice=system.slice", f"--unit={bundle.unit}"]
    scope = one_gpu.popen([*command, f"--property=BPFProgram=device:{PINNED}", "/bin/sleep", "1000000"])
    try:
        pid = main_process(one_gpu, f"/sys/fs/cgroup/system.slice/{bundle.unit}")
        said = call(bundle, pid)
        show = ["systemctl", "show", "--property=BPFProgram,DeviceAllow,DevicePolicy", bundle.unit]
        properties = one_gpu.run(show).stdout
    finally:
        scope.terminate()
        scope.wait()
        one_gpu.run(["rm", "-f", PINNED])
    assert f"{bundle.unit} was left as it is: crun's own program decides (BPFProgram={PINNED})" in said
    assert said.count("\n") == 1
    assert "DevicePolicy=auto" in properties
    assert "DeviceAllow=/" not in properties


def test_cgroupfs_driver(one_gpu: Machine) -> None:
    bundle = make_bundle(one_gpu, "cgroupfs", devices=NODES)
    spec = bundle.spec()
    spec["linux"]["cgroupsPath"] = "/lab/cgroupfs"
    one_gpu.write(bundle.config, json.dumps(spec))
    with open(one_gpu.path("/tmp/output"), "w", encoding="utf-8") as output:
        command = ["/usr/sbin/runc", "run", "--detach", "--bundle", bundle.path, bundle.id]
        one_gpu.run(command, stdout=output, stderr=output)
    said = call(bundle, json.loads(one_gpu.run(["/usr/sbin/runc", "state", bundle.id]).stdout)["pid"])
    assert "cgroupfs driver" in said
    assert said.count("\n") == 1


def test_process_that_has_exited(one_gpu: Machine) -> None:
    said = call(make_bundle(one_gpu, "gone", env=ENVIRONMENT, devices=NODES), 4194303)
    assert "has exited already" in said


def test_unit_of_another(one_gpu: Machine) -> None:
    """PID 1's unit is none of the container's, whatever a state says."""
    said = call(make_bundle(one_gpu, "other", devices=NODES), 1)
    assert "not its own unit" in said
    assert "195" not in one_gpu.run(["systemctl", "show", "--property=DeviceAllow", "init.scope"]).stdout


def test_deaf_bus(one_gpu: Machine) -> None:
    """Sockets on which nobody answers: the container has started within the hook's own time limit."""
    bundle = make_bundle(one_gpu, "deaf", devices=NODES)
    program = (
        "import os, socket, sys, time\n"
        "for path in sys.argv[1:]:\n"
        "    os.rename(path, path + '.away')\n"
        "    globals()[path] = listener = socket.socket(socket.AF_UNIX); listener.bind(path); listener.listen()\n"
        "print(flush=True); time.sleep(1000)"
    )
    sockets = ["/run/systemd/private", "/run/dbus/system_bus_socket"]
    container = Container(bundle).start()
    pid = json.loads(container.call("state", bundle.id))["pid"]
    impostor = one_gpu.popen(["python3", "-c", program, *sockets], stdout=-1)
    assert impostor.stdout
    try:
        impostor.stdout.readline()
        start = time.monotonic()
        said = call(bundle, pid)
        took = time.monotonic() - start
    finally:
        impostor.kill()
        impostor.wait()
        for path in sockets:
            one_gpu.run(["sh", "-c", f"mv {path}.away {path}"], check=False)
    assert took < 8
    assert "its unit was not completed" in said
