"""audit and explain: every verdict by a real situation, on a real systemd."""

from __future__ import annotations

import json

import jsonschema
import pytest

from gpu_oci_hook import schemas
from tests.lab.bundle import legacy_hook, make_bundle
from tests.lab.container import CRUN, RUNC, Container
from tests.lab.gpus import make_link
from tests.lab.installation import COMMAND
from tests.lab.machine import Machine
from tests.lab.running import DENIED, GPUS, OPEN, audit, call, pid, start_scope, verdicts
from tests.lab.runtimes import cannot_run, loses_without_links
from tests.lab.triggers import TRIGGERS


def explain(machine: Machine, id: str) -> str:
    return machine.run([COMMAND, "explain", id], check=False).stdout


def test_ok_survives(installed: Machine) -> None:
    for path in GPUS:
        make_link(installed, path)
    container = Container(make_bundle(installed, "fine", GPUS)).start()
    assert verdicts(installed) == {"fine": "ok"}
    assert "look elsewhere" in explain(installed, "fine")
    TRIGGERS["reload-and-start"](container)
    assert container.probe(GPUS) == OPEN
    assert verdicts(installed) == {"fine": "ok"}


def test_fault_b_is_at_risk_and_then_lost(installed: Machine) -> None:
    if not loses_without_links(installed, RUNC):
        pytest.skip("this runc does not drop rules without links")
    container = Container(make_bundle(installed, "dropped", GPUS)).start()
    assert container.probe(GPUS) == OPEN
    before = audit(installed)["dropped"]
    assert (before["verdict"], before["fault"]) == ("at-risk", "B")
    assert "at the next daemon-reload" in before["cause"]
    assert [(each["minor"], each["live"], each["unit"]) for each in before["devices"]] == [
        (0, True, False),
        (255, True, False),
    ]
    TRIGGERS["reload-and-start"](container)
    assert container.probe(GPUS) == DENIED
    after = audit(installed)["dropped"]
    assert (after["verdict"], after["fault"]) == ("lost", "B")
    assert not any(each["live"] for each in after["devices"])
    text = explain(installed, "dropped")
    assert "Fault B" in text
    assert "gpu-oci-hook repair dropped" in text


def test_fault_a_is_at_risk_and_then_lost_whatever_the_links(installed: Machine) -> None:
    for path in GPUS:
        make_link(installed, path)
    bundle = make_bundle(installed, "behind", GPUS, [], hooks=legacy_hook(GPUS))
    container = Container(bundle).start()
    assert container.probe(GPUS) == OPEN
    before = audit(installed)["behind"]
    assert (before["verdict"], before["fault"]) == ("at-risk", "A")
    TRIGGERS["reload-and-start"](container)
    assert container.probe(GPUS) == DENIED
    after = audit(installed)["behind"]
    assert (after["verdict"], after["fault"]) == ("lost", "A")
    assert "Fault A" in explain(installed, "behind")


def test_no_gpu_and_privileged(installed: Machine) -> None:
    plain = Container(make_bundle(installed, "plain")).start()
    privileged = Container(make_bundle(installed, "privileged", GPUS, privileged=True)).start()
    for _ in range(2):
        assert verdicts(installed) == {"plain": "no-gpu", "privileged": "not-affected"}
        assert privileged.probe(GPUS) == OPEN
        TRIGGERS["reload-and-start"](plain)


def test_cgroupfs_driver_is_not_affected(installed: Machine) -> None:
    bundle = make_bundle(installed, "plaincgroup", GPUS)
    spec = bundle.spec()
    spec["linux"]["cgroupsPath"] = "/lab-cgroupfs/plaincgroup"
    installed.write(bundle.config, json.dumps(spec))
    installed.run(["sh", "-c", f"exec {RUNC} run -d --bundle {bundle.path} {bundle.id} >/run/out 2>&1"])
    container = Container(bundle)
    assert verdicts(installed) == {"plaincgroup": "not-affected"}
    TRIGGERS["daemon-reload"](container)
    assert container.probe(GPUS) == OPEN
    assert audit(installed)["plaincgroup"]["unit"] == ""


def test_wider(installed: Machine) -> None:
    """A scope without a policy around a container's process opens everything."""
    container = Container(make_bundle(installed, "opened", ["/dev/nvidia0"])).start()
    assert container.probe(["/dev/nvidia0"]) == {"/dev/nvidia0": "open"}
    assert verdicts(installed)["opened"] in ("at-risk", "ok")
    start_scope(installed, "lab-opened-again.scope", pid(container))
    said = audit(installed)["opened"]
    assert said["unit"] == "lab-opened-again.scope"
    assert said["verdict"] == "wider"


def test_wider_by_a_runtime_without_policy(installed: Machine) -> None:
    """crun before 1.8 sets no DevicePolicy: on v1 all is open after a reload."""
    version = installed.run([CRUN, "--version"]).stdout.split()[2]
    if installed.version != "v1" or not version.startswith("0."):
        pytest.skip(f"crun {version} on {installed.version} keeps an exact list")
    container = Container(make_bundle(installed, "loose", GPUS), CRUN).start()
    assert container.probe(GPUS) == OPEN
    before = audit(installed)["loose"]
    assert before["verdict"] == "wider"
    assert "at the next daemon-reload" in before["cause"]
    TRIGGERS["daemon-reload"](container)
    assert "Every device of the host is open" in audit(installed)["loose"]["cause"]
    assert call(installed, "repair", "loose", "--narrow")[0] == 0
    assert verdicts(installed) == {"loose": "ok"}
    TRIGGERS["daemon-reload"](container)
    assert container.probe(GPUS) == OPEN
    assert verdicts(installed) == {"loose": "ok"}


def test_crun_s_own_cgroup(installed: Machine) -> None:
    """Its rules are exact below the scope: what the spec has stays, what it has not only a new container gets."""
    reason = cannot_run(installed, CRUN)
    if reason:
        pytest.skip(reason)
    fine = Container(make_bundle(installed, "fine", GPUS), CRUN).start()
    denied = Container(make_bundle(installed, "denied", GPUS, []), CRUN).start()
    if installed.run([CRUN, "--version"]).stdout.split()[2].startswith("0."):
        pytest.skip("crun before 1.8 has no cgroup of its own")
    expected = {"fine": "ok", "denied": "recreate" if installed.version == "v2" else "lost"}
    assert verdicts(installed) == expected
    TRIGGERS["reload-and-start"](fine)
    assert fine.probe(GPUS) == OPEN
    assert denied.probe(GPUS) == DENIED
    assert verdicts(installed) == expected


def test_unknown_while_paused_or_without_systemd(installed: Machine) -> None:
    container = Container(make_bundle(installed, "still", GPUS)).start()
    if installed.version == "v2":
        container.call("pause", "still")
        assert verdicts(installed) == {"still": "unknown"}
        container.call("resume", "still")
    else:  # v1 has a freezer of its own, which the check does not enter
        container.call("pause", "still")
        assert verdicts(installed)["still"] != "unknown"
        container.call("resume", "still")
    done = installed.run(
        [
            "unshare",
            "-m",
            "sh",
            "-c",
            f"mount -t tmpfs none /run/systemd; mount -t tmpfs none /run/dbus; {COMMAND} audit --json",
        ],
        check=False,
    )
    report = json.loads(done.stdout)
    assert [each["verdict"] for each in report["containers"]] == ["unknown"]
    assert "systemd cannot be reached" in report["host"]["problem"]


def test_the_original_report(installed: Machine) -> None:
    """Two GPU containers, a strict scope without a list made around one of them, a reload: both are lost."""
    if not loses_without_links(installed, RUNC):
        pytest.skip("this runc does not drop rules without links")
    first = Container(make_bundle(installed, "first", GPUS)).start()
    second = Container(make_bundle(installed, "second", GPUS)).start()
    assert first.probe(GPUS) == second.probe(GPUS) == OPEN
    assert verdicts(installed) == {"first": "at-risk", "second": "at-risk"}
    start_scope(installed, "gpu-test.scope", pid(first), "DevicePolicy", "s", "strict")
    TRIGGERS["reload-and-start"](second)
    assert second.probe(GPUS) == DENIED
    assert verdicts(installed) == {"first": "lost", "second": "lost"}
    assert "moved into gpu-test.scope" in explain(installed, "first")

    code, result = call(installed, "repair", "--all")
    assert (code, result["failed"]) == (0, [])
    assert second.probe(GPUS) == OPEN
    assert verdicts(installed) == {"first": "ok", "second": "ok"}
    TRIGGERS["reload-and-start"](second)
    assert second.probe(GPUS) == OPEN
    assert verdicts(installed) == {"first": "ok", "second": "ok"}


def test_output_keeps_its_schema_and_exit_code(installed: Machine) -> None:
    assert call(installed, "audit")[0] == 0
    Container(make_bundle(installed, "judged", GPUS, [])).start()
    code, report = call(installed, "audit", "--host")
    jsonschema.validate(report, schemas.load("audit"))
    assert code == 1
    assert {finding["code"] for finding in report["findings"]} >= {"link-missing"}
    installed.run([COMMAND, "audit", "--metrics", "/run/gpu.prom"], check=False)
    assert 'gpu_oci_hook_containers{verdict="lost"} 1' in installed.read("/run/gpu.prom")
    done = installed.run([COMMAND, "audit", "nosuch"], check=False)
    assert done.returncode != 0
    assert "no running container is called nosuch" in done.stderr
