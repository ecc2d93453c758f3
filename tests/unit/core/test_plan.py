"""What a plan says, on a host given as plain values (no machine is touched)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpu_oci_hook.core.devices import NVIDIA, Family, Node
from gpu_oci_hook.core.links import BLOCKED, DANGLING, MISSING, RIGHT, WRONG, Link
from gpu_oci_hook.core.plan import Plan, make_plan
from gpu_oci_hook.core.request import Context
from gpu_oci_hook.core.spec import parse_spec

NODES = {"/dev/nvidia0": (195, 0), "/dev/nvidia1": (195, 1), "/dev/nvidiactl": (195, 255), "/dev/nvidia-uvm": (509, 0)}
DENY_ALL = {"allow": False, "access": "rwm"}
ALLOW_ALL = {"allow": True, "access": "rwm"}


class ValueHost:
    """A host made of values, for the core's rules alone."""

    def __init__(self, nodes: dict[str, tuple[int, int]] = NODES, majors: dict[int, str] | None = None) -> None:
        self.by_path = {path: Node(path, path, "c", *number, family=_family(path)) for path, number in nodes.items()}
        self.majors = {195: "nvidia", 509: "nvidia-uvm"} if majors is None else majors
        self.links: dict[Any, Link] = {}

    def node(self, path: str) -> Node | None:
        return self.by_path.get(path)

    def nodes(self) -> list[Node]:
        return [node for node in self.by_path.values() if node.family]

    def by_number(self, number: Any) -> Node | None:
        return next((node for node in self.nodes() if node.number == number), None)

    def family_of(self, number: Any) -> str:
        named = self.majors.get(number[1], "") if number[0] == "c" else ""
        return "nvidia" if NVIDIA.owns_driver(named) else ""

    def drivers(self) -> list[tuple[str, int, str]]:
        return [("c", major, name) for major, name in self.majors.items()]

    def owns_path(self, path: str) -> bool:
        return NVIDIA.owns_path(path)

    def link(self, number: Any) -> Link:
        return self.links.get(number, Link(MISSING))

    def read(self, path: str) -> str:
        return ""


def _family(path: str) -> str:
    return "nvidia" if NVIDIA.owns_path(path) else ""


def plan_for(host: ValueHost, nodes: Any = (), rules: Any = (DENY_ALL,), access: str = "rw") -> Plan:
    devices = [dict(zip(("path", "type", "major", "minor"), node)) for node in nodes]
    text = json.dumps({"linux": {"devices": devices, "resources": {"devices": list(rules)}}})
    return make_plan(parse_spec(text), Context(host, access))


def edits(plan: Plan) -> list[str]:
    return [edit.describe() for edit in plan.changes]


def codes(plan: Plan) -> list[str]:
    return [finding.code for finding in plan.findings]


GPU0 = ("/dev/nvidia0", "c", 195, 0)
CTL = ("/dev/nvidiactl", "c", 195, 255)


def allow(major: int, minor: Any, access: str = "rw") -> dict[str, Any]:
    rule = {"allow": True, "type": "c", "major": major, "access": access}
    return rule if minor is None else {**rule, "minor": minor}


def test_nodes_without_rules_get_both() -> None:
    assert edits(plan_for(ValueHost(), [GPU0, CTL])) == [
        "create /dev/char/195:0 -> ../nvidia0",
        "create /dev/char/195:255 -> ../nvidiactl",
        "allow c 195:0 rw",
        "allow c 195:255 rw",
    ]


def test_rules_that_are_there_get_the_link_only() -> None:
    for rule in (allow(195, 0), allow(195, 0, "rwm"), allow(195, None), ALLOW_ALL):
        assert edits(plan_for(ValueHost(), [GPU0], [DENY_ALL, rule])) == ["create /dev/char/195:0 -> ../nvidia0"]


def test_a_rule_without_a_node_gets_the_link() -> None:
    assert edits(plan_for(ValueHost(), [], [DENY_ALL, allow(195, 1)])) == ["create /dev/char/195:1 -> ../nvidia1"]


def test_rules_about_many_or_about_creating_name_no_device() -> None:
    for rule in (allow(195, None), allow(195, 0, "m"), allow(195, 0, "r"), {"allow": True, "type": "c", "access": "m"}):
        assert edits(plan_for(ValueHost(), [], [DENY_ALL, rule])) == []


def test_other_nodes_get_nothing() -> None:
    host = ValueHost({**NODES, "/dev/fuse": (10, 229)})
    plan = plan_for(
        host, [("/dev/fuse", "c", 10, 229), ("/dev/zero", "c", 1, 5), ("/dev/x", "b", 195, 0), ("/p", "p", 0, 0)]
    )
    assert (plan.devices, edits(plan), codes(plan)) == ([], [], [])


def test_once_done_nothing_is_left() -> None:
    host = ValueHost()
    host.links[("c", 195, 0)] = Link(RIGHT, "/dev/nvidia0")
    plan = plan_for(host, [GPU0], [DENY_ALL, allow(195, 0)])
    assert (edits(plan), codes(plan)) == ([], [])
    assert [link.describe() for link in plan.links] == ["keep /dev/char/195:0 -> /dev/nvidia0"]


@pytest.mark.parametrize(("state", "action"), [(WRONG, "replace"), (DANGLING, "replace"), (BLOCKED, "skip")])
def test_links_that_are_not_right(state: str, action: str) -> None:
    host = ValueHost()
    host.links[("c", 195, 0)] = Link(state, "a directory")
    plan = plan_for(host, [GPU0])
    assert [link.action for link in plan.links] == [action]
    assert codes(plan) == (["link-blocked"] if state == BLOCKED else [])
    assert "allow c 195:0 rw" in edits(plan)


def test_a_stale_number_gets_no_rule_and_the_real_node_its_link() -> None:
    """Field report R41: the CDI file says 510, after the reboot the driver has 509."""
    plan = plan_for(ValueHost(), [("/dev/nvidia-uvm", "c", 510, 0)], [DENY_ALL, allow(510, 0, "rwm")])
    assert edits(plan) == ["create /dev/char/509:0 -> ../nvidia-uvm"]
    assert codes(plan) == ["stale-number"]
    assert plan.findings[0].path == "linux.devices[0]"


def test_a_stale_number_that_is_another_nvidia_driver_today() -> None:
    host = ValueHost(
        {**NODES, "/dev/nvidia-caps/nvidia-cap1": (510, 1)}, {195: "nvidia", 509: "nvidia-uvm", 510: "nvidia-caps"}
    )
    plan = plan_for(host, [("/dev/nvidia-uvm", "c", 510, 1)])
    assert [device.number for device in plan.devices] == []
    assert codes(plan) == ["stale-number"]


def test_a_device_may_have_another_name_in_the_container() -> None:
    assert "allow c 195:1 rw" in edits(plan_for(ValueHost(), [("/dev/nvidia0", "c", 195, 1)]))
    assert "allow c 195:1 rw" in edits(plan_for(ValueHost(), [("/dev/gpu", "c", 195, 1)]))


def test_numbers_left_to_the_host() -> None:
    """Field report R66: nodes without numbers, and no resources at all."""
    spec = parse_spec('{"linux":{"devices":[{"path":"/dev/nvidia0","type":"c"}],"resources":null}}')
    assert "allow c 195:0 rw" in edits(make_plan(spec, Context(ValueHost())))


def test_crun_restricts_nothing_without_rules_so_none_is_added() -> None:
    spec = parse_spec('{"linux":{"devices":[{"path":"/dev/nvidia0","type":"c"}],"resources":{"devices":[]}}}')
    plan = make_plan(spec, Context(ValueHost(), next_runtime="/usr/bin/crun"))
    assert edits(plan) == ["create /dev/char/195:0 -> ../nvidia0"]
    assert codes(plan) == ["unrestricted"]
    assert "allow c 195:0 rw" in edits(make_plan(spec, Context(ValueHost(), next_runtime="/usr/sbin/runc")))


def test_no_node_on_the_host_but_the_driver_is_there() -> None:
    """Field report R80: HAMi on nodes with a driver container."""
    plan = plan_for(ValueHost({}), [CTL])
    assert edits(plan) == ["allow c 195:255 rw"]
    assert codes(plan) == ["no-host-node"]


def test_no_node_and_no_driver_is_no_device() -> None:
    plan = plan_for(ValueHost({}, {}), [("/dev/nvidia-uvm", "c", 510, 0), CTL, GPU0])
    assert edits(plan) == []
    assert codes(plan) == ["driver-not-loaded"]
    assert "/dev/nvidia-uvm, /dev/nvidiactl, /dev/nvidia0" in plan.findings[0].message


def test_the_operators_word() -> None:
    deny = {"allow": False, "type": "c", "major": 195, "minor": 0, "access": "rwm"}
    plan = plan_for(ValueHost(), [GPU0], [DENY_ALL, deny])
    assert edits(plan) == ["create /dev/char/195:0 -> ../nvidia0"]
    assert codes(plan) == ["explicit-deny"]
    plan = plan_for(ValueHost(), [GPU0], [DENY_ALL, allow(195, 0, "r")])
    assert codes(plan) == ["partial-access"]


def test_a_hole_is_reported() -> None:
    deny = {"allow": False, "type": "c", "major": 195, "minor": 0, "access": "rwm"}
    assert codes(plan_for(ValueHost(), [GPU0], [DENY_ALL, allow(195, None), deny])) == ["rule-refused"]


def test_the_same_number_twice_is_one_device() -> None:
    plan = plan_for(ValueHost(), [GPU0, ("/dev/nvidia-0", "c", 195, 0)])
    assert [device.path for device in plan.devices] == ["/dev/nvidia0"]
    assert edits(plan) == ["create /dev/char/195:0 -> ../nvidia0", "allow c 195:0 rw"]


def test_access_is_a_setting() -> None:
    assert "allow c 195:0 rwm" in edits(plan_for(ValueHost(), [GPU0], access="rwm"))


def test_access_stops_at_what_is_denied_by_name() -> None:
    deny = {"allow": False, "type": "c", "major": 195, "minor": 0, "access": "m"}
    assert "allow c 195:0 rw" in edits(plan_for(ValueHost(), [GPU0], [DENY_ALL, deny], access="rwm"))


def test_numbers_that_no_device_has_get_no_rule() -> None:
    for minor in (1 << 20, (1 << 32) - 1):
        assert edits(plan_for(ValueHost(), [("/dev/nvidia9", "c", 195, minor)])) == []


def test_a_node_without_a_number_is_of_the_type_that_it_says() -> None:
    spec = parse_spec('{"linux":{"devices":[{"path":"/dev/nvidia0","type":"b"}]}}')
    assert edits(make_plan(spec, Context(ValueHost()))) == []


def test_a_node_left_from_an_earlier_boot_is_another_drivers() -> None:
    host = ValueHost(majors={195: "nvidia", 509: "aux"})
    plan = plan_for(host, [("/dev/nvidia-uvm", "c", 509, 0), GPU0])
    assert edits(plan) == ["create /dev/char/195:0 -> ../nvidia0", "allow c 195:0 rw"]
    assert codes(plan) == ["stale-node"]


def test_a_driver_root_has_relative_links_too() -> None:
    host = ValueHost()
    host.by_path["/dev/nvidia0"].file = "/run/nvidia/driver/dev/nvidia0"
    assert "create /dev/char/195:0 -> ../../run/nvidia/driver/dev/nvidia0" in edits(plan_for(host, [GPU0]))


def test_families_own_nodes_and_drivers() -> None:
    assert NVIDIA.owns_driver("nvidia-frontend")
    assert not NVIDIA.owns_driver("nvme")
    assert Family("kgpu", ["/dev/kgpu[0-9]*"]).owns_path("/dev/kgpu0")
