"""hooks.d/ and containerd-config/: what ships is what the engines' formats want, and calls us as we are called."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpu_oci_hook.hook import DEADLINE, PRECREATE, STAGES
from tests.unit.conftest import REPOSITORY

DEFINITIONS = sorted((REPOSITORY / "hooks.d").rglob("*.json"))


def check_hook(hook: dict[str, Any], stage: str) -> None:
    assert hook["path"] == "/usr/local/bin/gpu-oci-hook"
    assert hook["args"] == ["gpu-oci-hook", "hook", stage]  # argv[0] is the first argument
    assert hook["timeout"] > DEADLINE


@pytest.mark.parametrize("file", DEFINITIONS, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_definition(file: Any) -> None:
    definition = json.loads(file.read_text())
    assert definition.keys() == {"version", "hook", "when", "stages"}
    assert definition["version"] == "1.0.0"
    assert definition["when"].keys() <= {"always", "annotations", "commands", "hasBindMounts"}
    (stage,) = definition["stages"]
    assert stage in STAGES
    assert stage != PRECREATE or file.parent.name == "podman"  # an unknown stage, and fatal, for CRI-O
    check_hook(definition["hook"], stage)


def test_all_places_are_there() -> None:
    assert {file.parent.name for file in DEFINITIONS} == {"podman", "crio", "annotated"}


def test_base_spec_of_containerd() -> None:
    spec = json.loads((REPOSITORY / "containerd-config/base-runtime-spec.json").read_text())
    assert spec["hooks"].keys() == {"poststart"}
    check_hook(spec["hooks"]["poststart"][0], "poststart")
