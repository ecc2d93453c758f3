"""plan, apply, links and schema, called as the installed program."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpu_oci_hook import schemas
from tests.unit.conftest import Bundle, FakeHost, Installed, needs_mknod

pytestmark = needs_mknod
GPU0 = ("/dev/nvidia0", 195, 0)


@pytest.fixture
def call(installed: Installed, host: FakeHost) -> Any:
    def run(*args: str, code: int = 0, program: Path = installed.hook) -> subprocess.CompletedProcess[str]:
        command = [str(program), "--root", str(host.root), *args]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return done

    return run


def test_plan_shows_and_changes_nothing(call: Any, host: FakeHost, bundle: Bundle) -> None:
    bundle.spec([GPU0])
    before = bundle.config.read_bytes()
    text = call("plan", str(bundle.folder)).stdout
    assert "create /dev/char/195:0 -> ../nvidia0" in text
    assert "allow c 195:0 rw" in text
    assert "\x1b" not in text
    assert bundle.config.read_bytes() == before
    assert host.links() == {}


def test_apply_does_what_plan_shows(call: Any, host: FakeHost, bundle: Bundle) -> None:
    bundle.spec([GPU0])
    planned = json.loads(call("plan", "--json", str(bundle.folder)).stdout)
    applied = json.loads(call("apply", "--json", str(bundle.folder)).stdout)
    assert applied == {**planned, "applied": True}
    assert host.links() == {"195:0": "../nvidia0"}
    assert bundle.rules()[-1] == planned["edits"]["rules"][0]
    again = json.loads(call("apply", "--json", str(bundle.folder)).stdout)
    assert again["edits"]["rules"] == []
    assert [link["action"] for link in again["edits"]["links"]] == ["keep"]
    assert "Already covered" in call("plan", str(bundle.folder)).stdout


def test_a_bundle_may_be_the_specs_file(call: Any, bundle: Bundle) -> None:
    bundle.spec([GPU0])
    assert "195:0" in call("plan", str(bundle.config)).stdout


def test_problems_are_exit_code_1(call: Any, bundle: Bundle) -> None:
    bundle.spec([("/dev/nvidia-uvm", 510, 0)])
    text = call("plan", str(bundle.folder), code=1).stdout
    assert "error: linux.devices[0]" in text
    assert "hint:" in text


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"linux":\n  [}', "config.json:2:4 is not JSON"),
        ('{"linux":[]}', "linux: an object is wanted, a list was found"),
        ('{"linux":{"devices":[{"path":"/dev/a","major":"1"}]}}', "linux.devices[0].major: an integer is wanted"),
    ],
)
def test_unusable_input_is_exit_code_2_and_a_sentence(call: Any, bundle: Bundle, text: str, part: str) -> None:
    bundle.write(text)
    for command in ("plan", "apply"):
        done = call(command, str(bundle.folder), code=2)
        assert part in done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout == ""
    assert bundle.config.read_text() == text


def test_no_such_bundle(call: Any, tmp_path: Path) -> None:
    done = call("plan", str(tmp_path / "none"), code=2)
    assert "none/config.json cannot be read: No such file or directory" in done.stderr
    assert "hint:" in done.stderr


def test_bad_settings_are_named(call: Any, bundle: Bundle, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("acess = 1")
    done = call("--config", str(tmp_path / "c.toml"), "plan", str(bundle.spec().folder), code=2)
    assert "acess" in done.stderr


def test_links_of_the_whole_host(call: Any, host: FakeHost) -> None:
    host.link("195:0", "/dev/nvidia0")
    host.link("195:1", "../gone")
    host.path("/dev/char/195:255").mkdir()
    done = json.loads(call("links", "--dry-run", "--json", code=1).stdout)
    actions = {link["path"]: link["action"] for link in done["links"]}
    assert actions == {
        "/dev/char/195:0": "keep",
        "/dev/char/195:1": "replace",
        "/dev/char/195:255": "skip",
        "/dev/char/509:0": "create",
        "/dev/char/509:1": "create",
    }
    assert host.links()["195:1"] == "../gone"
    text = call("links", code=1).stdout
    assert "3 links made, 1 right already." in text
    assert "a directory is in its place" in text
    assert host.links()["195:1"] == "../nvidia1"
    host.path("/dev/char/195:255").rmdir()
    call("links")
    assert "0 links made, 5 right already." in call("links").stdout


def test_schemas_are_printed_and_valid(call: Any) -> None:
    for name in schemas.names():
        printed = json.loads(call("schema", name).stdout)
        jsonschema.Draft7Validator.check_schema(printed)
    assert "there is no schema named x" in call("schema", "x", code=2).stderr


def test_debug_shows_the_traceback(call: Any, tmp_path: Path) -> None:
    done = call("--debug", "plan", str(tmp_path / "none"), code=1)
    assert "Traceback" in done.stderr


def test_help_names_every_command(call: Any) -> None:
    text = call("--help").stdout
    for command in ("plan", "apply", "links", "schema"):
        assert command in text


def test_output_that_nobody_takes(call: Any, installed: Installed, host: FakeHost, bundle: Bundle) -> None:
    bundle.spec([("/dev/\ud800x\n\x1b[31m", 195, 0)])
    text = call("plan", str(bundle.folder)).stdout
    assert "/dev/\\ud800x\\n\\x1b[31m" in text
    command = f"{installed.hook} --root {host.root} plan {bundle.folder}"
    for redirection, codes in ((">&-", {0}), (">/dev/full", {1}), ("2>&- >&-", {0}), ("| true", {0, 1})):
        script = f"{command} {redirection}" if "|" not in redirection else f"set -o pipefail; {command} {redirection}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode in codes, (redirection, done)
        assert "Exception" not in done.stderr
        assert "internal" not in done.stderr
