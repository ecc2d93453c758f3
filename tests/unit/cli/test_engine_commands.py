"""install, uninstall and status on the command line: what is printed, exit codes, schemas."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import jsonschema
import pytest

from gpu_oci_hook import schemas
from gpu_oci_hook.cli.main import main
from tests.unit.engines.cases import WRAPPER, put_wrapper

DAEMON_JSON = '{\n  "debug": true\n}\n'


class Host:
    """A host's root, and our program called for it."""

    def __init__(self, root: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self.capsys = capsys
        self.file = root / "etc/docker/daemon.json"
        self.file.parent.mkdir(parents=True)
        self.file.write_text(DAEMON_JSON)
        put_wrapper(str(root))

    def call(self, *words: str, code: int = 0) -> Any:
        """Call a command; its output, errors after it."""
        assert main(["--root", str(self.root), *words, "--wrapper", WRAPPER]) == code
        captured = self.capsys.readouterr()
        return captured.out + captured.err

    def json(self, *words: str, code: int = 0) -> Any:
        """Call a command with --json; the object, which fits its schema."""
        value = json.loads(self.call(*words, "--json", code=code))
        jsonschema.Draft7Validator(schemas.load(words[0])).validate(value)
        return value


@pytest.fixture
def host(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> Host:
    return Host(tmp_path, capsys)


def test_install_and_uninstall_say_what_they_did(host: Host) -> None:
    text = host.call("install", "docker")
    assert "edit /etc/docker/daemon.json" in text
    assert "systemctl reload docker.service" in text
    assert "docker run --runtime=gpu" in text
    assert "could not be checked: the program dockerd is not installed here" in text
    assert "\x1b" not in text
    assert "nothing was written" in host.call("install", "docker")
    assert "systemctl restart docker.service" in host.call("uninstall", "docker")
    assert host.file.read_text() == DAEMON_JSON
    assert "Nothing of ours is registered with docker." in host.call("uninstall", "docker")


def test_json(host: Host) -> None:
    answer = host.json("install", "docker", "--runtime-name", "kept")
    assert (answer["applied"], answer["checked"], answer["restarted"]) == (True, False, False)
    (change,) = answer["changes"]
    assert (change["file"], change["action"]) == ("/etc/docker/daemon.json", "edit")
    assert f'+      "path": "{WRAPPER}"' in change["diff"]
    assert host.json("install", "docker", "--runtime-name", "kept")["changes"] == []
    engine = next(each for each in host.json("status")["engines"] if each["engine"] == "docker")
    assert engine["runtimes"] == [{"name": "kept", "default": False}]
    assert host.json("uninstall", "docker")["changes"][0]["diff"].count("\n-") > 1


def test_a_dry_run_prints_the_diff(host: Host) -> None:
    text = host.call("install", "docker", "--dry-run")
    assert '+    "gpu": {' in text
    assert host.file.read_text() == DAEMON_JSON
    answer = host.json("install", "docker", "--dry-run")
    assert not answer["applied"]
    assert answer["changes"]


def test_status_shows_all_engines(host: Host) -> None:
    host.call("install", "docker")
    host.call("install", "nvidia")
    lines = {line.split()[0]: line for line in host.call("status").splitlines()}
    assert list(lines) == ["containerd", "docker", "crio", "podman", "nvidia"]
    assert "registered: gpu" in lines["docker"]
    assert "not registered" in lines["podman"]
    host.file.write_text(host.file.read_text() + "\n")
    status = host.json("status", "docker")
    assert status["engines"][0]["edited"]
    assert status["changes"][0]["file"] == "/etc/docker/daemon.json"


def test_status_warns_of_a_missing_wrapper(host: Host) -> None:
    host.call("install", "docker")
    (host.root / WRAPPER[1:]).unlink()
    assert [each["code"] for each in host.json("status", "docker", code=1)["findings"]] == ["wrapper-missing"]


def test_without_the_wrapper_nothing_is_registered(host: Host) -> None:
    (host.root / WRAPPER[1:]).unlink()
    assert f"there is no program {WRAPPER}" in host.call("install", "docker", code=2)
    assert host.file.read_text() == DAEMON_JSON


def test_an_unusable_configuration_is_exit_code_2(host: Host) -> None:
    host.file.write_text("{\n  nonsense\n}\n")
    assert "/etc/docker/daemon.json:2:3 is not JSON" in host.call("install", "docker", code=2)
    assert [each["code"] for each in host.json("status", "docker", code=1)["findings"]] == ["engine-config"]


@pytest.mark.parametrize("name", ["", "a b", "-x", 'a"b', "a.b"])
def test_names_that_no_engine_has(host: Host, name: str) -> None:
    assert "cannot be a runtime's name" in host.call("install", "docker", f"--runtime-name={name}", code=2)


def test_what_still_names_us_is_told(host: Host) -> None:
    host.call("install", "docker")
    container = host.root / "var/lib/docker/containers/0123456789abcdef/hostconfig.json"
    container.parent.mkdir(parents=True)
    container.write_text('{"Runtime": "gpu"}')
    (host.root / "etc/crio").mkdir()
    (host.root / "etc/crio/crio.conf").write_text(f'[crio.runtime.runtimes.x]\nruntime_path = "{WRAPPER}"\n')
    findings = host.json("uninstall", "docker", code=1)["findings"]
    told = [each["path"] + each["message"] for each in findings if each["code"] == "still-referred"]
    assert told == [
        "/etc/crio/crio.confour wrapper is still named here",
        "containers of Docker remember the runtime: 0123456789ab",
    ]
