"""For any spec and any host: nothing that the container's own stack does not name, and twice is once."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_oci_hook.core.cdi import CdiFile, Registry
from gpu_oci_hook.core.devices import NVIDIA, Node
from gpu_oci_hook.core.links import MISSING, RIGHT, Link
from gpu_oci_hook.core.plan import make_plan
from gpu_oci_hook.core.request import Context, Policy
from gpu_oci_hook.core.rules import DENIED, FULL, Emulator
from gpu_oci_hook.core.spec import parse_spec, splice_rules
from tests.unit.core.request.cases import HOOK

UVM, CAPS = 510, 236
Number = tuple[str, int, int]


class Host:
    """A host without files: GPUs in PCI order by their minors, MIG instances by GPU minor."""

    def __init__(self, minors: list[int], instances: dict[int, int], missing: set[str], tell_minors: bool) -> None:
        self.minors = minors
        self.instances = {minor: count for minor, count in instances.items() if minor in minors}
        self.tell_minors = tell_minors
        self.paths: dict[str, Number] = {f"/dev/nvidia{minor}": ("c", 195, minor) for minor in minors}
        self.paths["/dev/nvidiactl"] = ("c", 195, 255)
        self.paths["/dev/nvidia-modeset"] = ("c", 195, 254)
        self.paths["/dev/nvidia-uvm"] = ("c", UVM, 0)
        self.paths["/dev/nvidia-uvm-tools"] = ("c", UVM, 1)
        self.paths["/dev/fuse"] = ("c", 10, 229)
        self.paths["/dev/sda"] = ("b", 8, 0)
        for minor in range(1, 80):
            self.paths[f"/dev/nvidia-caps/nvidia-cap{minor}"] = ("c", CAPS, minor)
        for path in missing:
            self.paths.pop(path, None)
        self.linked: set[Number] = set()

    def uuid(self, index: int) -> str:
        return f"GPU-00000000-0000-0000-0000-{index:012d}"

    def capabilities(self, minor: int, instance: int) -> tuple[int, int]:
        """The two capability minors of a MIG instance."""
        return 10 + minor * 8 + instance * 2, 11 + minor * 8 + instance * 2

    def node(self, path: str) -> Node | None:
        number = self.paths.get(path)
        return Node(path, path, *number, family="nvidia" if self.owns_path(path) else "") if number else None

    def nodes(self) -> list[Node]:
        return [node for node in map(self.node, self.paths) if node and node.family]

    def by_number(self, number: Number) -> Node | None:
        return next((node for node in self.nodes() if node.number == number), None)

    def family_of(self, number: Number) -> str:
        return "nvidia" if number[:2] in (("c", 195), ("c", UVM), ("c", CAPS)) else ""

    def link(self, number: Number) -> Link:
        return Link(RIGHT if number in self.linked else MISSING)

    def owns_path(self, path: str) -> bool:
        return NVIDIA.owns_path(path)

    def drivers(self) -> list[tuple[str, int, str]]:
        return [("c", 10, "misc"), ("c", 195, "nvidia"), ("c", UVM, "nvidia-uvm"), ("c", CAPS, "nvidia-caps")]

    def device_names(self, folder: str) -> list[str]:
        return self.listing(folder)

    def listing(self, path: str) -> list[str]:
        if path == "/proc/driver/nvidia/gpus":
            return [f"0000:{index:02x}:00.0" for index in range(len(self.minors))]
        if path == "/proc/driver/nvidia/capabilities":
            return ["mig", *(f"gpu{minor}" for minor in self.minors)]
        for minor, count in self.instances.items():
            folder = f"/proc/driver/nvidia/capabilities/gpu{minor}/mig"
            if path == folder:
                return [f"gi{i}" for i in range(count)]
            if path.startswith(f"{folder}/gi"):
                return ["ci0"]
        return [name[len(path) + 1 :] for name in self.paths if name.startswith(f"{path}/")]

    def read(self, path: str) -> str:
        if path == "/proc/driver/nvidia-caps/mig-minors":
            lines = ["config 1", "monitor 2"]
            for minor, count in self.instances.items():
                for i in range(count):
                    graphics, compute = self.capabilities(minor, i)
                    lines += [f"gpu{minor}/gi{i}/access {graphics}", f"gpu{minor}/gi{i}/ci0/access {compute}"]
            return "\n".join(lines)
        if path.endswith("/information"):
            index = int(path.split(":")[1], 16)
            minor = f"Device Minor: {self.minors[index]}\n" if self.tell_minors else ""
            return f"GPU UUID: {self.uuid(index)}\n{minor}"
        return ""

    def cdi(self, kinds: set[str]) -> Registry:
        devices = [
            {"name": str(i), "containerEdits": {"deviceNodes": [{"path": f"/dev/nvidia{minor}"}]}}
            for i, minor in enumerate(self.minors)
        ]
        edits = {"deviceNodes": [{"path": "/dev/nvidiactl"}]}
        file = CdiFile("/etc/cdi/x.json", 0, {"kind": "nvidia.com/gpu", "devices": devices, "containerEdits": edits})
        return Registry([file] if file.kind in kinds else [], [])

    def nvml(self) -> list[Any]:
        return []


hosts = st.builds(
    Host,
    st.permutations(range(8)).flatmap(lambda minors: st.integers(0, 5).map(lambda count: list(minors)[:count])),
    st.dictionaries(st.integers(0, 7), st.integers(1, 3), max_size=3),
    st.sets(st.sampled_from(["/dev/nvidia0", "/dev/nvidia3", "/dev/nvidia-uvm", "/dev/nvidia-modeset"]), max_size=2),
    st.sampled_from([True, True, False]),
)
items = st.one_of(
    st.integers(0, 6).map(str),
    st.integers(0, 4).map(lambda i: f"GPU-00000000-0000-0000-0000-{i:012d}"),
    st.integers(0, 4).map(lambda i: f"0:{i}:0.0"),
    st.tuples(st.integers(0, 4), st.integers(0, 2)).map(lambda pair: f"{pair[0]}:{pair[1]}"),
    st.sampled_from(["", " ", "bogus", "nvidia.com/gpu=0", "runtime.nvidia.com/gpu=1", "MIG-x"]),
    st.text(max_size=5).map(lambda text: text.replace("\0", "")),  # NUL is a SpecError
)
lists = st.one_of(
    st.lists(items, min_size=1, max_size=3).map(",".join),
    st.lists(st.integers(0, 3).map(str), min_size=1, max_size=2).map(",".join),
    st.sampled_from(["all", "none", "void", ""]),
)
numbers = st.one_of(
    st.tuples(st.just("c"), st.just(195), st.integers(0, 7)),
    st.sampled_from([("c", 195, 255), ("c", UVM, 0), ("c", 10, 229), ("c", CAPS, 10), ("b", 8, 0)]),
)
access = st.sampled_from(["r", "w", "m", "rw", "rwm", "rm"])
rules = st.one_of(
    st.builds(
        lambda allow, number, perms: {
            "allow": allow,
            "type": number[0],
            "major": number[1],
            "minor": number[2],
            "access": perms,
        },
        st.booleans(),
        numbers,
        access,
    ),
    st.builds(lambda allow, perms: {"allow": allow, "type": "c", "major": 195, "access": perms}, st.booleans(), access),
    st.sampled_from(
        [{"allow": False, "access": "rwm"}, {"allow": False, "access": "rwm"}, {"allow": True, "access": "rwm"}]
    ),
)
PATHS = [*(f"/dev/nvidia{i}" for i in range(8)), "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/fuse", "/dev/nothing"]


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """A config.json with any of the sources in it, or none."""
    env = [f"NVIDIA_VISIBLE_DEVICES={value}" for value in draw(st.lists(lists, max_size=2))]
    env += draw(
        st.lists(st.sampled_from(["CUDA_VERSION=8", "NVIDIA_REQUIRE_CUDA=x", "NVIDIA_GDS=enabled"]), max_size=2)
    )
    env += [
        f"NVIDIA_DRIVER_CAPABILITIES={value}"
        for value in draw(st.lists(st.sampled_from(["all", "utility"]), max_size=1))
    ]
    nodes = draw(st.lists(st.tuples(st.sampled_from(PATHS), st.one_of(st.none(), numbers)), max_size=3))
    told = draw(st.lists(st.sampled_from(["0", "1", "all", "cdi/nvidia.com/gpu/0"]), max_size=2))
    binds = draw(st.lists(st.sampled_from(PATHS), max_size=2))
    folder = "/var/run/nvidia-container-devices"
    spec: dict[str, Any] = {
        "process": {"env": env, "capabilities": {"bounding": draw(st.sampled_from([[], ["CAP_SYS_ADMIN"]]))}},
        "mounts": [{"source": "/dev/null", "destination": f"{folder}/{name}"} for name in told]
        + [{"source": path, "destination": path} for path in binds],
        "annotations": draw(
            st.dictionaries(st.just("cdi.k8s.io/a"), st.sampled_from(["nvidia.com/gpu=0", "0"]), max_size=1)
        ),
        "linux": {
            "devices": [_node(path, number) for path, number in nodes],
            "resources": {"devices": draw(st.lists(rules, max_size=4))},
        },
    }
    if draw(st.integers(0, 3)):
        spec["hooks"] = {"prestart": [HOOK]}
    return spec


def _node(path: str, number: Number | None) -> dict[str, Any]:
    if number is None:
        return {"path": path, "type": "c"}
    return {"path": path, "type": number[0], "major": number[1], "minor": number[2]}


policies = st.builds(
    Policy,
    st.sampled_from(["auto", "always", "never"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.just(()),
    st.sampled_from(["report", "grant"]),
)


def named(spec: dict[str, Any], host: Host, policy: Policy) -> set[Number]:
    """All that the spec's own stack names, worked out generously and by other means than the package's."""
    allowed: set[Number] = set()
    for node in spec["linux"]["devices"]:
        if "major" in node:
            allowed.add((node["type"], node["major"], node["minor"]))
        if node["path"] in host.paths:
            allowed.add(host.paths[node["path"]])
    if policy.bind_mounts == "grant":
        allowed |= {host.paths[mount["source"]] for mount in spec["mounts"] if mount["source"] in host.paths}
    texts = set(spec["annotations"].values()) if policy.annotations else set()
    if policy.env == "always" or "hooks" in spec:
        if policy.env != "never":
            last = [entry.partition("=")[2] for entry in spec["process"]["env"] if entry.startswith("NVIDIA_VIS")][-1:]
            legacy = "CUDA_VERSION=8" in spec["process"]["env"] and not last
            texts |= set(",".join(last).split(",")) | ({"all"} if legacy else set())
        if policy.mounts:
            texts |= {mount["destination"].rpartition("/")[2] for mount in spec["mounts"]}
    texts = {text.strip().rpartition("=")[2] for text in texts}
    for index, minor in enumerate(host.minors):
        words = {str(index), host.uuid(index), f"0:{index}:0.0", "all"}
        pairs = {f"{index}:{i}" for i in range(host.instances.get(minor, 0))}
        if texts & (words | pairs):
            minors = [minor] if host.tell_minors else host.minors
            allowed |= {("c", 195, each) for each in minors}
            allowed.add(("c", 195, 255))
            if "NVIDIA_DRIVER_CAPABILITIES=utility" not in spec["process"]["env"]:
                allowed |= {("c", 195, 254), ("c", UVM, 0), ("c", UVM, 1)}
            for i in range(host.instances.get(minor, 0)):
                if texts & {"all", f"{index}:{i}"}:
                    allowed |= {("c", CAPS, each) for each in host.capabilities(minor, i)}
    return allowed


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no fault
@given(specs(), hosts, policies)
def test_never_wider_nothing_else_and_twice_is_once(spec: dict[str, Any], host: Host, policy: Policy) -> None:
    text = json.dumps(spec)
    parsed = parse_spec(text)
    context = Context(host, "rw", policy, "/usr/bin/runc")
    plan = make_plan(parsed, context)
    before = Emulator(parsed.rules)
    allowed = named(spec, host, policy)
    for edit in plan.rules:
        number = (edit.rule.type, edit.rule.major, edit.rule.minor)
        assert edit.rule.allow and edit.rule.exact and edit.rule.access == "rw"
        assert number in allowed
        assert before.access(number) not in (FULL, DENIED)

    after = splice_rules(parsed.document, [edit.rule for edit in plan.rules]) if plan.rules else text
    value = json.loads(after)
    known = spec["linux"]["resources"]["devices"]
    assert value["linux"]["resources"]["devices"][: len(known)] == known
    value["linux"]["resources"]["devices"] = known
    assert value == spec

    host.linked |= {edit.number for edit in plan.links}
    assert make_plan(parse_spec(after), context).changes == []
