"""Types of the parts that only some sources look at: a wrong one names its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpu_oci_hook.core import spec_values
from gpu_oci_hook.core.rules import SpecError
from gpu_oci_hook.core.spec import Spec, parse_spec


def spec_of(value: dict[str, Any]) -> Spec:
    return parse_spec(json.dumps(value))


@pytest.mark.parametrize(
    ("value", "read", "place"),
    [
        ({"process": []}, spec_values.environment, "process"),
        ({"process": {"env": "A=b"}}, spec_values.environment, "process.env"),
        ({"process": {"env": ["A=b", 1]}}, spec_values.environment, "process.env[1]"),
        ({"process": {"env": ["A=b\0"]}}, spec_values.environment, "process.env[0]"),
        ({"process": {"ENV": []}}, spec_values.environment, "process.ENV"),
        ({"Process": {}}, spec_values.environment, "config.json.Process"),
        ({"process": {"capabilities": ["CAP_SYS_ADMIN"]}}, spec_values.bounding_set, "process.capabilities"),
        ({"process": {"capabilities": {"bounding": {}}}}, spec_values.bounding_set, "process.capabilities.bounding"),
        ({"mounts": {}}, spec_values.mounts, "mounts"),
        ({"mounts": [{}, "x"]}, spec_values.mounts, "mounts[1]"),
        ({"mounts": [{"source": 1}]}, spec_values.mounts, "mounts[0].source"),
        ({"mounts": [{"destination": []}]}, spec_values.mounts, "mounts[0].destination"),
        ({"annotations": []}, spec_values.annotation_texts, "annotations"),
        ({"annotations": {"a": 1}}, spec_values.annotation_texts, "annotations.a"),
        ({"hooks": []}, spec_values.hook_commands, "hooks"),
        ({"hooks": {"prestart": {}}}, spec_values.hook_commands, "hooks.prestart"),
        ({"hooks": {"createRuntime": [1]}}, spec_values.hook_commands, "hooks.createRuntime[0]"),
        ({"hooks": {"prestart": [{"path": 1}]}}, spec_values.hook_commands, "hooks.prestart[0].path"),
        ({"hooks": {"prestart": [{"args": ["a", 1]}]}}, spec_values.hook_commands, "hooks.prestart[0].args[1]"),
    ],
)
def test_a_wrong_type_is_named_by_its_place(value: dict[str, Any], read: Any, place: str) -> None:
    with pytest.raises(SpecError) as caught:
        read(spec_of(value))
    assert caught.value.path == place


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"process": None, "mounts": None, "annotations": None, "hooks": None},
        {"process": {"env": None}, "hooks": {}},
    ],
)
def test_absent_and_null_are_empty(value: dict[str, Any]) -> None:
    spec = spec_of(value)
    assert spec_values.environment(spec) == spec_values.bounding_set(spec) == spec_values.mounts(spec) == []
    assert spec_values.annotation_texts(spec) == {}
    assert spec_values.hook_commands(spec) == []


def test_hooks_are_those_of_the_hosts_side() -> None:
    hooks = {stage: [{"path": f"/{stage}"}] for stage in ("prestart", "createRuntime", "createContainer", "poststop")}
    assert spec_values.hook_commands(spec_of({"hooks": hooks})) == [["/prestart"], ["/createRuntime"]]
