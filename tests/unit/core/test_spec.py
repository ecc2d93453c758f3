from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_oci_hook.core.jsontext import JsonTextError
from gpu_oci_hook.core.rules import Rule, SpecError
from gpu_oci_hook.core.spec import parse_spec, splice_rules

NEW = [Rule(True, "c", 195, 0, "rw"), Rule(True, "c", 195, 255, "rw")]
ENTRIES = [
    {"allow": True, "type": "c", "major": 195, "minor": 0, "access": "rw"},
    {"allow": True, "type": "c", "major": 195, "minor": 255, "access": "rw"},
]


@pytest.mark.parametrize(
    "linux",
    [
        {"resources": {"devices": [{"allow": False, "access": "rwm"}]}},
        {"resources": {"devices": []}},
        {"resources": {"devices": None}},
        {"resources": {}},
        {"resources": {"pids": {"limit": 1}}},
        {"resources": None},
        {},
        {"devices": [], "namespaces": [{"type": "pid"}]},
    ],
)
@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_splice_adds_the_rules_and_nothing_else(linux: Any, indent: Any) -> None:
    value = {"ociVersion": "1.0.2", "linux": linux, "huge": 18446744073709551615, "annotations": {"é": "\u2028"}}
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    spliced = splice_rules(parse_spec(text).document, NEW)
    expected = json.loads(text)
    resources = expected["linux"].get("resources") or {}
    resources["devices"] = (resources.get("devices") or []) + ENTRIES
    expected["linux"]["resources"] = resources
    assert json.loads(spliced) == expected


def test_splice_keeps_every_character() -> None:
    before = (
        '{ "linux" : {"x":1.0e+2,"resources":{ "devices" : [\n  {"allow":false}\n ] , "z":1} },"a":"\\u0041\\/" }\n'
    )
    after = splice_rules(parse_spec(before).document, NEW[:1])
    entry = '{"allow":true,"type":"c","major":195,"minor":0,"access":"rw"}'
    assert after == before.replace('{"allow":false}', '{"allow":false},\n  ' + entry)


def test_splice_keeps_the_blanks_of_an_empty_list() -> None:
    before = '{"linux":{"resources":{"devices":[ \n ]}}}'
    after = splice_rules(parse_spec(before).document, NEW[:1])
    assert after == before.replace("[", '[{"allow":true,"type":"c","major":195,"minor":0,"access":"rw"}')


def test_there_is_no_place_without_linux() -> None:
    with pytest.raises(SpecError):
        splice_rules(parse_spec('{"vm":{}}').document, NEW)


@pytest.mark.parametrize(
    ("node", "number"),
    [
        ({"path": "/dev/a", "type": "c", "major": 195, "minor": 7}, ("c", 195, 7)),
        ({"path": "/dev/a", "type": "u", "major": 195, "minor": 7}, ("c", 195, 7)),
        ({"path": "/dev/a", "type": "b", "major": 7, "minor": 1}, ("b", 7, 1)),
        ({"path": "/dev/a", "type": "c", "major": 195}, ("c", 195, 0)),
        ({"path": "/dev/a", "type": "c"}, None),
        ({"path": "/dev/a", "type": "c", "major": 0, "minor": 0}, None),
        ({"path": "/dev/a", "type": "c", "major": None, "minor": None}, None),
        ({"path": "/dev/a", "type": "c", "major": 0, "minor": 5}, ("c", 0, 5)),
        ({"path": "/dev/a"}, None),
    ],
)
def test_node_numbers(node: Any, number: Any) -> None:
    assert parse_spec(json.dumps({"linux": {"devices": [node]}})).nodes[0].number == number


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ([], "config.json"),
        ("x", "config.json"),
        (None, "config.json"),
        ({"linux": []}, "linux"),
        ({"linux": "x"}, "linux"),
        ({"linux": {"resources": 1}}, "linux.resources"),
        ({"linux": {"resources": {"devices": {}}}}, "linux.resources.devices"),
        ({"linux": {"devices": {}}}, "linux.devices"),
        ({"linux": {"devices": ["/dev/nvidia0"]}}, "linux.devices[0]"),
        ({"linux": {"devices": [{"path": 1}]}}, "linux.devices[0].path"),
        ({"linux": {"devices": [{"path": "/dev/a\0"}]}}, "linux.devices[0].path"),
        ({"linux": {"devices": [{"path": "/dev/a", "type": "z"}]}}, "linux.devices[0].type"),
        ({"linux": {"devices": [{"path": "/dev/a", "major": "195"}]}}, "linux.devices[0].major"),
        ({"linux": {"devices": [{"path": "/dev/a", "major": 1.5}]}}, "linux.devices[0].major"),
        ({"linux": {"devices": [{"path": "/dev/a", "major": False}]}}, "linux.devices[0].major"),
        ({"linux": {"devices": [{"path": "/dev/a", "major": 195, "minor": {}}]}}, "linux.devices[0].minor"),
        ({"linux": {"devices": [{"path": "/dev/a", "major": 195, "minor": -1}]}}, "linux.devices[0].minor"),
        ({"linux": {"devices": [{"path": "/dev/a", "major": -195, "minor": 1}]}}, "linux.devices[0].major"),
        ({"linux": {"devices": [{"path": "/dev/a", "major": 195, "minor": 1 << 32}]}}, "linux.devices[0].minor"),
        ({"linux": {"devices": [{"path": "/dev/a", "Major": 195}]}}, "linux.devices[0].Major"),
        ({"Linux": {}}, "config.json.Linux"),
        ({"linux": {"Resources": {}}}, "linux.Resources"),
        ({"linux": {"resources": {"DEVICES": []}}}, "linux.resources.DEVICES"),
    ],
)
def test_refused_with_its_place(value: Any, place: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_spec(json.dumps(value))
    assert caught.value.path == place


KEYS = ["linux", "resources", "devices", "path", "type", "major", "minor", "access", "allow", "Linux"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=2), inner),
    max_leaves=12,
)


@given(json_values)
def test_any_json_is_read_or_refused(value: Any) -> None:
    try:
        parse_spec(json.dumps(value))
    except (SpecError, JsonTextError) as error:
        assert error.message
