"""bin/plain-spec.awk beside Python: what it calls plain, Python has nothing to do for and nothing to say about."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_oci_hook.core.devices import NVIDIA, Family
from gpu_oci_hook.core.findings import NOTE
from gpu_oci_hook.core.jsontext import JsonTextError
from gpu_oci_hook.core.plan import make_plan
from gpu_oci_hook.core.request.claim import Context, Policy
from gpu_oci_hook.core.rules import SpecError
from gpu_oci_hook.core.shortcut import shortcut_for, word_of
from gpu_oci_hook.core.spec import parse_spec
from gpu_oci_hook.host.inventory import Inventory
from tests.unit.conftest import DENY_ALL, REPOSITORY, TWO_GPUS, FakeHost, needs_mknod

CASES = REPOSITORY / "tests/cases/plain"
KGPU = Family("kgpu", ["/dev/kgpu[0-9]*", "/dev/kgpuctl"])
SWARM = ["DOCKER_RESOURCE_ACCELERATOR"]
AWKS = [[path] for path in map(shutil.which, ("mawk", "gawk", "original-awk")) if path]
AWKS += [["/bin/busybox", "awk"]] if os.path.exists("/bin/busybox") else []


def is_plain(text: str, families: list[Family] | None = None, awk: list[str] | None = None) -> bool:
    shortcut = shortcut_for(families or [NVIDIA], SWARM)
    values = ["-v", f"words={'|'.join(shortcut.words)}", "-v", f"majors={'|'.join(map(str, shortcut.majors))}"]
    program = [*(awk or ["awk"]), *values, "-f", str(REPOSITORY / "bin/plain-spec.awk")]
    content = text.encode("utf-8", "surrogatepass")
    return subprocess.run(program, input=content, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).returncode == 0


@pytest.mark.parametrize("awk", AWKS, ids=" ".join)
@pytest.mark.parametrize("name", sorted(os.listdir(CASES)))
def test_engines_specs_without_gpus_are_plain(name: str, awk: list[str]) -> None:
    """Specs that the engines wrote (docker-rules: moby's default rules in containerd's spec). original-awk gives up."""
    text = (CASES / name).read_text()
    wanted = "original-awk" not in awk[0]
    assert is_plain(text, awk=awk) is wanted
    assert is_plain(json.dumps(json.loads(text)), awk=awk) is wanted
    assert is_plain(json.dumps(json.loads(text), separators=(",", ":")), awk=awk) is wanted
    assert is_plain(json.dumps(json.loads(text), indent="\t"), awk=awk) is wanted


NOT_PLAIN = {
    "empty": "",
    "a list": '[{"linux":{}}]',
    "truncated": '{"linux":{"devices":[',
    "two values": "{} {}",
    "a key twice": '{"linux":{},"linux":{}}',
    "another case": '{"Linux":{}}',
    "a blank before the colon": '{"linux" :{"resources":{"devices":[{"allow":true,"type":"c","major":510}]}}}',
    "a literal cut by a string": '{"linux":fal""se}',
    "numbers side by side": '{"a":1 2}',
    "a leading zero": '{"a":01}',
    "a newline in a string": '{"a":"b\n"}',
    "a control character": '{"a":"b\x01"}',
    "beyond ASCII": '{"a":"é"}',
    "an escape that may spell a word": '{"a":"\\u006evidia"}',
    "a half escape": '{"a":"\\u00"}',
    "a variable": '{"process":{"env":["NVIDIA_VISIBLE_DEVICES=all"]}}',
    "a number in the environment": '{"process":{"env":["A=b",1]}}',
    "a swarm resource": '{"process":{"env":["DOCKER_RESOURCE_ACCELERATOR=0"]}}',
    "an image of old": '{"process":{"env":["CUDA_VERSION=8"]}}',
    "an annotation": '{"annotations":{"cdi.k8s.io/x":"vendor.com/gpu=0"}}',
    "an annotation that is no text": '{"annotations":{"a":1}}',
    "a node": '{"linux":{"devices":[{"path":"/dev/nvidia0","type":"c"}]}}',
    "a node of another name": '{"linux":{"devices":[{"path":"/dev/x","type":"c","major":195,"minor":0}]}}',
    "a dynamic major": '{"linux":{"devices":[{"path":"/dev/x","type":"c","major":509,"minor":0}]}}',
    "a rule": '{"linux":{"resources":{"devices":[{"allow":true,"type":"c","major":195,"minor":0,"access":"rw"}]}}}',
    "a rule in another order": '{"linux":{"resources":{"devices":[{"major":195,"allow":true,"access":"rw"}]}}}',
    "a rule with a float": '{"linux":{"resources":{"devices":[{"allow":true,"type":"c","major":1e2,"access":"r"}]}}}',
    "a rule without access": '{"linux":{"resources":{"devices":[{"allow":true,"type":"c","major":1,"minor":3}]}}}',
    "a rule that is a number": '{"linux":{"resources":{"devices":[1]}}}',
    "a list of nodes that is none": '{"linux":{"devices":{}}}',
    "a mount": '{"mounts":[{"destination":"/dev/x","source":"/dev/nvidia0"}]}',
    "a mount that is a text": '{"mounts":["a"]}',
}


@pytest.mark.parametrize("name", NOT_PLAIN)
@pytest.mark.parametrize("awk", AWKS, ids=" ".join)
def test_doubtful_specs_are_not_plain(name: str, awk: list[str]) -> None:
    assert not is_plain(NOT_PLAIN[name], awk=awk)
    assert not is_plain(" " * 300_000 + "{}", awk=awk)


def test_names_of_families_are_words() -> None:
    assert word_of("/dev/kgpu[0-9]*") == "kgpu"
    assert word_of("/dev/dri/renderD*") == "renderd"
    assert word_of("/dev/[kx]gpu_[0-9]") == "gpu_"
    assert word_of("/dev/gp*") == word_of("/dev/*") == word_of("/dev/[abc]*") == ""
    assert shortcut_for([NVIDIA, Family("any", ["/dev/*"])], []).words == ()
    assert shortcut_for([NVIDIA], ["a.*"]).words == ()
    assert "kgpu" in shortcut_for([NVIDIA, KGPU], []).words
    assert 10 not in shortcut_for([NVIDIA, KGPU], []).majors


PATHS = st.sampled_from([*TWO_GPUS, "/dev/kgpu0", "/dev/kgpuctl", "/dev/renamed", "/dev/missing", "/dev/net/tun"])
MAJORS = st.sampled_from([1, 5, 10, 136, 195, 509, 555, 240, 0, -1, 3])
MINORS = st.sampled_from([0, 1, 3, 5, 200, 229, 255])
ACCESS = st.sampled_from(["rwm", "rw", "r", "m", ""])


def some_of(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with these members, in order, now and then one less."""
    whole = st.fixed_dictionaries(fields)
    return st.tuples(whole, st.sampled_from([None] * 6 + list(fields))).map(
        lambda drawn: {key: value for key, value in drawn[0].items() if key != drawn[1]}
    )


RULES = st.one_of(
    st.just(DENY_ALL),
    st.just({"allow": True, "access": "rwm"}),
    st.sampled_from([(1, 3), (1, 8), (5, 0), (10, 200)]).map(
        lambda number: {"allow": True, "type": "c", "major": number[0], "minor": number[1], "access": "rwm"}
    ),
    some_of({"allow": st.booleans(), "type": st.just("c"), "major": MAJORS, "minor": MINORS, "access": ACCESS}),
)
NODES = some_of({"path": PATHS, "type": st.sampled_from("ccccup"), "major": MAJORS, "minor": MINORS})
ENV = st.sampled_from(
    [
        "PATH=/bin",
        "A=b && c <d>",
        "NVIDIA_VISIBLE_DEVICES=all",
        "nvidia_visible_devices=all",
        "CUDA_VERSION=9.0",
        'B=é\\"/',
        "NVIDIA_REQUIRE_CUDA=1",
        "DOCKER_RESOURCE_ACCELERATOR=0",
        "NVIDIA_VISIBLE_DEVICES=0,1",
        "C=\t\n",
    ]
)
MOUNTS = some_of(
    {
        "destination": st.sampled_from(["/proc", "/dev/nvidia0", "/var/run/nvidia-container-devices/all", "/data"]),
        "type": st.sampled_from(["proc", "bind"]),
        "source": st.sampled_from(["proc", "/dev/null", "/dev/nvidia1", "/dev/./kgpu0", "/data/../dev/kgpu0", "/data"]),
    }
)
ANNOTATIONS = st.dictionaries(
    st.sampled_from(["a", "cdi.k8s.io/x", "org.systemd.property.X"]),
    st.sampled_from(["b", "nvidia.com/gpu=0", "vendor.com/kgpu=0"]),
    max_size=2,
)
FEW = {"max_size": 2}
SPECS = st.fixed_dictionaries(
    {
        "ociVersion": st.just("1.0.2"),
        "process": st.fixed_dictionaries({"args": st.just(["sh", "-c", 'a && "b"']), "env": st.lists(ENV, **FEW)}),
        "mounts": st.lists(MOUNTS, **FEW),
        "annotations": ANNOTATIONS,
        "linux": st.fixed_dictionaries(
            {"devices": st.lists(NODES, max_size=1), "resources": st.fixed_dictionaries({"devices": st.lists(RULES)})}
        ),
    }
)
LAYOUTS = st.sampled_from(
    [{}, {"separators": (",", ":")}, {"indent": 1}, {"indent": "\t"}, {"separators": (" ,", " : ")}]
)


@st.composite
def texts(draw: Any) -> str:
    """A spec's text: of some layout, now and then with an escape, another case, a character more or less."""
    text: str = json.dumps(draw(SPECS), ensure_ascii=draw(st.booleans()), **draw(LAYOUTS))
    change = draw(st.sampled_from(["", "", "", "html", "escape", "case", "cut", "double", "insert"]))
    at = draw(st.integers(0, len(text) - 1))
    char = text[at]
    if change == "html":
        return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003E")
    if change == "escape" and char.isalnum():
        return f"{text[:at]}\\u{ord(char):04x}{text[at + 1 :]}"
    if change == "case":
        return text[:at] + char.swapcase() + text[at + 1 :]
    if change == "cut":
        return text[:at] + text[at + 1 :]
    if change == "double":
        return text[: at + 1] + text[at:]
    return text[:at] + draw(st.sampled_from(' \n\t"{}[],:01')) + text[at:] if change == "insert" else text


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> FakeHost:
    """A host with GPUs of both families, and no links."""
    host = FakeHost(tmp_path_factory.mktemp("crowded"))
    for path, (major, minor) in {**TWO_GPUS, "/dev/kgpu0": (555, 0), "/dev/kgpuctl": (555, 3)}.items():
        host.node(path, major, minor)
    host.write("/etc/cdi/vendor.json", json.dumps(CDI))
    return host


CDI = {
    "cdiVersion": "0.5.0",
    "kind": "vendor.com/kgpu",
    "devices": [{"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/kgpu0"}]}}],
}


def python_is_silent(text: str, host: FakeHost, families: list[Family]) -> bool:
    """Whether the create path would change nothing and say nothing."""
    inventory = Inventory(str(host.root), ["/"], families)
    policy = Policy(env="always", swarm_resources=tuple(SWARM))
    try:
        plan = make_plan(parse_spec(text), Context(inventory, "rw", policy, "/usr/bin/nvidia-container-runtime"))
    except (JsonTextError, SpecError):
        return False
    return not plan.changes and all(finding.severity == NOTE for finding in plan.findings)


@needs_mknod
@pytest.mark.parametrize("families", [[NVIDIA], [NVIDIA, KGPU]], ids=["nvidia", "kgpu too"])
def test_what_is_plain_leaves_python_nothing(crowded: FakeHost, families: list[Family]) -> None:
    seen = {True: 0, False: 0}

    @settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
    @given(texts())
    def compare(text: str) -> None:
        plain = is_plain(text, families)
        seen[plain] += 1
        assert not plain or python_is_silent(text, crowded, families), text

    compare()
    assert min(seen.values()) > 20, seen  # both answers were given
