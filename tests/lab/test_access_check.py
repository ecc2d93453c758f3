"""The access check and the D-Bus calls against the real kernel and systemd, from where the commands run: the lab."""

from __future__ import annotations

import json

import pytest

from tests.lab.bundle import make_bundle
from tests.lab.container import CRUN, RUNC, Container
from tests.lab.installation import PREFIX
from tests.lab.machine import Machine
from tests.lab.runtimes import cannot_run

PROGRAM = f"""
import json, os, sys
sys.path.insert(0, "{PREFIX}/lib/gpu-oci-hook")
from gpu_oci_hook.host import access_check, cgroup, systemd
pid, numbers = json.loads(sys.argv[1])
where = cgroup.hierarchies()
found = cgroup.of_process(pid, where)
dev_before, cgroup_before = os.listdir("/dev"), open("/proc/self/cgroup").read()
answer = access_check.check(found.directory, [tuple(number) for number in numbers])
gone = access_check.check(found.directory + "-gone", [("c", 1, 3)])
assert os.listdir("/dev") == dev_before and open("/proc/self/cgroup").read() == cgroup_before
with systemd.Manager() as manager:
    unit = manager.unit_of(pid)
    print(json.dumps({{"version": where.version, "unit": found.unit, "by_systemd": unit, "path": found.unit_path,
        "control_group": manager.property(unit, "ControlGroup"), "allow": sorted(manager.devices(unit).allow),
        "policy": manager.devices(unit).policy, "answers": list(answer.allowed.values()), "gone": gone.gone,
        "left": cgroup.processes(found.directory)}}))
"""
NUMBERS = [("c", 195, 0), ("c", 195, 1), ("c", 195, 255), ("c", 1, 3), ("c", 1, 1), ("b", 7, 0)]


@pytest.mark.parametrize("runtime", [RUNC, CRUN], ids=["runc", "crun"])
def test_answers_agree_with_an_open_from_inside(installed: Machine, runtime: str) -> None:
    reason = cannot_run(installed, runtime)
    if reason:
        pytest.skip(reason)
    nodes = ["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl"]
    container = Container(make_bundle(installed, "asked", nodes, ["/dev/nvidia0", "/dev/nvidiactl"]), runtime).start()
    pid = json.loads(container.call("state", container.bundle.id))["pid"]
    done = installed.run(["python3", "-c", PROGRAM, json.dumps([pid, NUMBERS])])
    said = json.loads(done.stdout)
    assert container.probe(nodes) == dict(zip(nodes, ("open", "denied", "open")))
    assert said["answers"] == [True, False, True, True, False, False]
    assert said["gone"]
    assert said["version"] == int(installed.version[1])
    assert said["unit"] == said["by_systemd"] == container.bundle.unit
    assert said["path"] == said["control_group"]
    assert {f"{path} {permissions}" for path, permissions in said["allow"]} == container.device_allow()
    assert said["policy"] == container.property("DevicePolicy")[0]
    assert pid in said["left"]
    assert len(said["left"]) == 1
