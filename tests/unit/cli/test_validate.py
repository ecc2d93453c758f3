from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpu_oci_hook import schemas
from gpu_oci_hook.cli.main import main
from tests.unit.conftest import DENY_ALL, Bundle, FakeHost, needs_mknod
from tests.unit.host import elf_files

pytestmark = needs_mknod
GPU = [("/dev/nvidia0", 195, 0)]
ALLOW = {"allow": True, "type": "c", "major": 195, "minor": 0, "access": "rw"}
SYSTEMD_CGROUP = {"cgroupsPath": "system.slice:test:a"}
V2_MOUNT = "30 24 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"


class Validated:
    def __init__(self, code: int, value: dict[str, Any]) -> None:
        self.code = code
        self.value = value

    def codes(self) -> set[str]:
        return {finding["code"] for finding in self.value["findings"]}


class Validator:
    """Runs ``validate --json`` on a fake host whose runtime and systemd are small files."""

    def __init__(self, host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
        self.host = host
        self.capsys = capsys
        self.machine("v1.1.6", "252")
        host.write("/proc/1/mountinfo", V2_MOUNT)

    def machine(self, runc: str, systemd: str) -> None:
        self._program("/usr/bin/runc", elf_files.go_inline("github.com/opencontainers/runc", runc))
        self._program("/usr/lib/systemd/systemd", elf_files.needing(f"libsystemd-shared-{systemd}.so"))

    def _program(self, path: str, content: bytes) -> None:
        file = self.host.path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(0o755)

    def text(self, bundle: Bundle) -> str:
        main(["validate", "--root", str(self.host.root), str(bundle.folder)])
        return self.capsys.readouterr().out

    def __call__(self, bundle: Bundle) -> Validated:
        code = main(["validate", "--json", "--root", str(self.host.root), str(bundle.folder)])
        value = json.loads(self.capsys.readouterr().out)
        jsonschema.Draft7Validator(schemas.load("validate")).validate(value)
        return Validated(code, value)


@pytest.fixture
def validate(
    host: FakeHost, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Any:
    settings = tmp_path / "config.toml"
    settings.write_text("version = 1\n")
    monkeypatch.setenv("GPU_OCI_HOOK_CONFIG", str(settings))
    return Validator(host, capsys)


def test_a_rule_that_is_missing(validate: Validator, bundle: Bundle) -> None:
    seen = validate(bundle.spec(GPU, [DENY_ALL], **SYSTEMD_CGROUP))
    assert (seen.code, seen.value["survives_reload"]) == (1, False)
    assert {"rule-missing", "lost-at-reload"} <= seen.codes()
    assert seen.value["devices"][0]["covered"] == ""


def test_a_link_that_is_missing(validate: Validator, bundle: Bundle, host: FakeHost) -> None:
    spec = bundle.spec(GPU, [DENY_ALL, ALLOW], **SYSTEMD_CGROUP)
    seen = validate(spec)
    assert (seen.code, seen.value["survives_reload"], seen.codes()) == (1, False, {"lost-at-reload"})
    assert "links" in seen.value["findings"][0]["hint"]
    host.link("195:0", "../nvidia0")
    seen = validate(spec)
    assert (seen.code, seen.value["survives_reload"], seen.codes()) == (0, True, set())


@pytest.mark.parametrize(
    ("runc", "systemd", "expected"),
    [("v1.1.6", "252", False), ("v1.1.7", "252", True), ("v1.1.7", "main", None), ("(devel)", "252", None)],
)
def test_without_a_link_it_depends(
    validate: Validator, bundle: Bundle, runc: str, systemd: str, expected: bool | None
) -> None:
    validate.machine(runc, systemd)
    seen = validate(bundle.spec(GPU, [DENY_ALL, ALLOW], **SYSTEMD_CGROUP))
    assert seen.value["survives_reload"] is expected
    assert seen.value["runtime"]["kind"] == "runc"
    assert ("survival-unknown" in seen.codes()) is (expected is None)
    hints = [finding["hint"] for finding in seen.value["findings"] if finding["code"] == "survival-unknown"]
    assert all(("--runtime" in hint) is (runc == "(devel)") for hint in hints), "the hint names what is missing"


def test_unknown_is_no_problem_by_itself(validate: Validator, bundle: Bundle) -> None:
    validate.machine("(devel)", "252")
    seen = validate(bundle.spec(GPU, [DENY_ALL, ALLOW], **SYSTEMD_CGROUP))
    assert seen.code == 0


def test_cgroupfs_driver(validate: Validator, bundle: Bundle) -> None:
    seen = validate(bundle.spec(GPU, [DENY_ALL, ALLOW], cgroupsPath="/kubepods/pod1/a"))
    assert seen.value["survives_reload"] is True
    assert seen.value["devices"][0]["reason"].startswith("Not affected")


def test_allow_all_and_deny_lists(validate: Validator, bundle: Bundle) -> None:
    allow_all = {"allow": True, "access": "rwm"}
    assert validate(bundle.spec(GPU, [allow_all], **SYSTEMD_CGROUP)).value["survives_reload"] is True
    denied = {"allow": False, "type": "c", "major": 1, "minor": 9, "access": "rwm"}
    seen = validate(bundle.spec(GPU, [allow_all, denied], **SYSTEMD_CGROUP))
    assert (seen.value["survives_reload"], seen.value["devices"][0]["covered"]) == (False, "deny-list")


def test_no_driver_in_the_spec_is_said(validate: Validator, bundle: Bundle) -> None:
    assert "driver-assumed" in validate(bundle.spec(GPU, [DENY_ALL, ALLOW])).codes()


def test_numbers_against_the_host(validate: Validator, bundle: Bundle) -> None:
    seen = validate(bundle.spec([("/dev/nvidia-uvm", 235, 0)], [DENY_ALL], **SYSTEMD_CGROUP))
    assert "stale-number" in seen.codes()


def test_wrong_types_are_all_reported(validate: Validator, bundle: Bundle) -> None:
    seen = validate(bundle.write({"ociVersion": 1, "linux": {"devices": [{"path": 1}], "resources": {"devices": {}}}}))
    places = {finding["path"] for finding in seen.value["findings"] if finding["code"] == "schema"}
    assert places >= {"ociVersion", "linux.devices[0].path", "linux.resources.devices"}
    assert (seen.code, seen.value["survives_reload"], seen.value["devices"]) == (1, None, [])


@pytest.mark.parametrize("text", ["", "{", "[]garbage", "\x00"])
def test_what_is_no_json_is_unusable(
    validate: Validator, bundle: Bundle, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle.write(text)
    assert main(["validate", str(bundle.folder)]) == 2
    assert "error:" in capsys.readouterr().err


def test_no_gpu(validate: Validator, bundle: Bundle) -> None:
    seen = validate(bundle.spec((), [DENY_ALL], **SYSTEMD_CGROUP))
    assert (seen.code, seen.value["survives_reload"], seen.value["devices"]) == (0, True, [])
    assert "No GPU" in validate.text(bundle)


def test_for_people(validate: Validator, bundle: Bundle) -> None:
    text = validate.text(bundle.spec(GPU, [DENY_ALL, ALLOW], **SYSTEMD_CGROUP))
    assert "runc 1.1.6" in text
    assert "252" in text
    assert "cgroups  v2" in text
    assert "Survives a reload of systemd: no" in text
    assert "\x1b" not in text
