from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpu_oci_hook import schemas
from gpu_oci_hook.cli.schema_check import schema_findings

CASES = Path(__file__).resolve().parents[4] / "shared/oci-config-cases"


def cases(kind: str) -> list[Path]:
    return sorted((CASES / kind).glob("*.json"))


def test_every_schema_is_one() -> None:
    for name in schemas.names():
        jsonschema.Draft7Validator.check_schema(schemas.load(name))


@pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not beside the repository")
def test_good_cases_pass() -> None:
    assert cases("good")
    for file in cases("good"):
        assert schema_findings(json.loads(file.read_text())) == [], file.name


@pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not beside the repository")
def test_bad_cases_fail() -> None:
    assert cases("bad")
    for file in cases("bad"):
        try:
            assert schema_findings(json.loads(file.read_text())), file.name
        except json.JSONDecodeError:
            assert file.name == "invalid-json.json"


def spec(**members: Any) -> dict[str, Any]:
    return {"ociVersion": "1.0.2", **members}


def rule(**members: Any) -> dict[str, Any]:
    return spec(linux={"resources": {"devices": [{"allow": True}, {"allow": True, **members}]}})


@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        ([], "config.json", "an object is wanted, a list was found"),
        ({}, "config.json", "'ociVersion' is missing"),
        (spec(process={"cwd": "here"}), "process.cwd", 'an absolute path is wanted, not "here"'),
        (spec(process={"args": [1]}), "process.args[0]", "a string is wanted, a number was found"),
        (spec(linux=[]), "linux", "an object is wanted, a list was found"),
        (rule(major="195"), "linux.resources.devices[1].major", "an integer is wanted, a string was found"),
        (rule(major=195.0), "linux.resources.devices[1].major", "an integer is wanted, a number was found"),
        (rule(major=True), "linux.resources.devices[1].major", "an integer is wanted, true was found"),
        (rule(access="rx"), "linux.resources.devices[1].access", 'some of r, w and m is wanted, not "rx"'),
        (rule(type="d"), "linux.resources.devices[1].type", 'one of a, b, c is wanted, not "d"'),
        (spec(annotations={"a.b": 1}), 'annotations["a.b"]', "a string is wanted, a number was found"),
        (spec(hooks={"prestart": [{"path": "/x", "timeout": 0}]}), "hooks.prestart[0].timeout", "above 0"),
        (spec(linux={"devices": [{"path": "/dev/x", "type": "c"}]}), "linux.devices[0]", "'major' is missing"),
        (spec(linux={"memoryPolicy": {"mode": "BIND"}}), "linux.memoryPolicy.mode", "one of MPOL_DEFAULT"),
        (spec(linux={"intelRdt": {"enableCMT": 1}}), "linux.intelRdt.enableCMT", "true or false"),
        (spec(linux={"resources": {"pids": {"limit": 1 << 63}}}), "linux.resources.pids.limit", "64-bit"),
    ],
)
def test_messages(value: Any, path: str, message: str) -> None:
    found = schema_findings(value)
    assert [finding.path for finding in found][:1] == [path]
    assert message in found[0].message
    assert (found[0].code, found[0].severity) == ("schema", "error")


def test_all_at_once_and_in_order() -> None:
    value = spec(process={"args": [1, 2]}, root={}, linux={"resources": {"devices": [{}]}})
    paths = [finding.path for finding in schema_findings(value)]
    assert paths == ["linux.resources.devices[0]", "process.args[0]", "process.args[1]", "root"]


def test_every_missing_member_is_named() -> None:
    found = schema_findings(spec(linux={"devices": [{}]}))
    assert {finding.message for finding in found} >= {"'path' is missing", "'type' is missing"}


@pytest.mark.parametrize(
    "value",
    [
        spec(unknown={"x": 1}, linux={"newThing": [], "resources": {"devices": [{"allow": True, "extra": 1}]}}),
        spec(process=None, mounts=None, linux={"devices": None}),
        spec(linux={"resources": {"memory": {"limit": -1, "swappiness": (1 << 64) - 1}}}),
        spec(linux={"devices": [{"path": "/run/fifo", "type": "p"}]}),
        rule(type="a"),
        rule(major=-1, minor=-1),
    ],
)
def test_what_is_allowed(value: Any) -> None:
    assert schema_findings(value) == []
