"""create and run through the installed wrapper, on fake hosts with real nodes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.unit.conftest import DENY_ALL, Bundle, FakeHost, Installed, needs_mknod

pytestmark = needs_mknod
GPU0, GPU1 = ("/dev/nvidia0", 195, 0), ("/dev/nvidia1", 195, 1)
CTL, UVM = ("/dev/nvidiactl", 195, 255), ("/dev/nvidia-uvm", 509, 0)
RUNTIME = "#!/bin/sh\nexit 37\n"


class Wrapper:
    """The installed wrapper with a runtime that does nothing, and a host of our own."""

    def __init__(self, installed: Installed, host: FakeHost, folder: Path) -> None:
        self.installed, self.host, self.folder = installed, host, folder
        self.runtime = folder / "real"
        self.runtime.write_text(RUNTIME)
        self.runtime.chmod(0o755)
        self.log = folder / "log.json"

    def create(self, bundle: Bundle, *args: str, extra: str = "", command: str = "create") -> int:
        environment = self.installed.settings(self.folder, self.host, [str(self.runtime)], extra)
        command_line = [
            str(self.installed.runtime), "--log", str(self.log), "--log-format", "json",
            command, "--bundle", str(bundle.folder), *args, "c1",
        ]  # fmt: skip
        return subprocess.run(command_line, env=environment, timeout=60, check=False).returncode

    def lines(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []


@pytest.fixture
def wrapper(installed: Installed, host: FakeHost, tmp_path: Path) -> Wrapper:
    return Wrapper(installed, host, tmp_path)


def allowed(bundle: Bundle) -> list[str]:
    return [f"{r['type']} {r['major']}:{r['minor']} {r['access']}" for r in bundle.rules() if r["allow"]]


def test_nodes_get_rules_and_links(wrapper: Wrapper, bundle: Bundle) -> None:
    """Field report R01."""
    bundle.spec([GPU0, CTL, UVM, ("/dev/nvidia-uvm-tools", 509, 1)])
    assert wrapper.create(bundle) == 37
    assert allowed(bundle) == ["c 195:0 rw", "c 195:255 rw", "c 509:0 rw", "c 509:1 rw"]
    assert wrapper.host.links() == {
        "195:0": "../nvidia0",
        "195:255": "../nvidiactl",
        "509:0": "../nvidia-uvm",
        "509:1": "../nvidia-uvm-tools",
    }
    assert wrapper.lines() == []
    after, times = bundle.config.read_bytes(), bundle.config.stat()
    wrapper.create(bundle)
    assert bundle.config.read_bytes() == after
    assert bundle.config.stat().st_ino == times.st_ino


def test_two_of_eight(wrapper: Wrapper, bundle: Bundle) -> None:
    for i in range(2, 8):
        wrapper.host.node(f"/dev/nvidia{i}", 195, i)
    bundle.spec([GPU1, ("/dev/nvidia6", 195, 6), CTL])
    wrapper.create(bundle)
    assert allowed(bundle) == ["c 195:1 rw", "c 195:6 rw", "c 195:255 rw"]
    assert list(wrapper.host.links()) == ["195:1", "195:255", "195:6"]


def test_a_container_without_gpus_is_untouched(wrapper: Wrapper, bundle: Bundle) -> None:
    bundle.spec([("/dev/fuse", 10, 229), ("/dev/null", 1, 3)], indent=3)
    before, inode = bundle.config.read_bytes(), bundle.config.stat().st_ino
    assert wrapper.create(bundle) == 37
    assert (bundle.config.read_bytes(), bundle.config.stat().st_ino) == (before, inode)
    assert wrapper.host.links() == {}
    assert os.listdir(bundle.folder) == ["config.json"]


def test_rules_without_links_get_links_and_the_file_stays(wrapper: Wrapper, bundle: Bundle) -> None:
    """Field report R08: kubelet's device plugin has passed nodes and rules."""
    rule = {"allow": True, "type": "c", "major": 195, "minor": 0, "access": "rw"}
    bundle.spec([GPU0], [DENY_ALL, rule])
    inode = bundle.config.stat().st_ino
    wrapper.create(bundle)
    assert bundle.config.stat().st_ino == inode
    assert wrapper.host.links() == {"195:0": "../nvidia0"}
    assert wrapper.lines() == []


def test_right_links_do_not_stand_for_rules(wrapper: Wrapper, bundle: Bundle) -> None:
    """Field report R03."""
    wrapper.host.link("195:0", "/dev/nvidia0")
    bundle.spec([GPU0])
    wrapper.create(bundle)
    assert allowed(bundle) == ["c 195:0 rw"]
    assert wrapper.host.links() == {"195:0": "/dev/nvidia0"}


def test_all_there_is_silence_and_no_write(wrapper: Wrapper, bundle: Bundle) -> None:
    """Field report R16."""
    rule = {"allow": True, "type": "c", "major": 195, "minor": 0, "access": "rwm"}
    wrapper.host.link("195:0", "../nvidia0")
    bundle.spec([GPU0], [DENY_ALL, rule])
    changed = wrapper.host.path("/dev/char").stat().st_mtime_ns
    wrapper.create(bundle)
    assert wrapper.host.path("/dev/char").stat().st_mtime_ns == changed
    assert wrapper.lines() == []


def test_privileged_needs_no_rule(wrapper: Wrapper, bundle: Bundle) -> None:
    bundle.spec([GPU0], [DENY_ALL, {"allow": True, "access": "rwm"}])
    wrapper.create(bundle)
    assert len(bundle.rules()) == 2
    assert wrapper.host.links() == {"195:0": "../nvidia0"}


def test_a_stale_major(wrapper: Wrapper, bundle: Bundle) -> None:
    """Field report R41."""
    bundle.spec([("/dev/nvidia-uvm", 510, 0)])
    assert wrapper.create(bundle) == 37
    assert allowed(bundle) == []
    assert wrapper.host.links() == {"509:0": "../nvidia-uvm"}
    [line] = wrapper.lines()
    assert line["level"] == "warning"
    assert "c 510:0" in line["msg"]
    assert "c 509:0" in line["msg"]


def test_a_directory_where_the_link_should_be(wrapper: Wrapper, bundle: Bundle) -> None:
    """Field report R55: one link can be made, one cannot."""
    wrapper.host.path("/dev/char/195:255").mkdir()
    bundle.spec([GPU0, CTL])
    assert wrapper.create(bundle) == 37
    assert allowed(bundle) == ["c 195:0 rw", "c 195:255 rw"]
    assert wrapper.host.links() == {"195:0": "../nvidia0", "195:255": "not a link"}
    [line] = wrapper.lines()
    assert "195:255" in line["msg"]
    assert "a directory is in its place" in line["msg"]


def test_no_dev_char_at_all(wrapper: Wrapper, bundle: Bundle) -> None:
    wrapper.host.path("/dev/char").rmdir()
    bundle.spec([GPU0])
    wrapper.create(bundle)
    assert wrapper.host.links() == {"195:0": "../nvidia0"}


def test_a_read_only_bundle_and_what_fail_means(wrapper: Wrapper, bundle: Bundle) -> None:
    bundle.spec([GPU0])
    before = bundle.config.read_bytes()
    subprocess.run(["mount", "--bind", str(bundle.folder), str(bundle.folder)], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(bundle.folder)], check=True)
        assert wrapper.create(bundle) == 37
        [line] = wrapper.lines()
        assert line["level"] == "warning"
        assert "Read-only file system" in line["msg"]
        assert wrapper.create(bundle, extra='on_error = "fail"\n') == 1
        assert [line["level"] for line in wrapper.lines()] == ["warning", "error"]
    finally:
        subprocess.run(["umount", str(bundle.folder)], check=True)
    assert bundle.config.read_bytes() == before
    assert wrapper.host.links() == {"195:0": "../nvidia0"}


def test_a_driver_container(wrapper: Wrapper, bundle: Bundle) -> None:
    """Field reports R46 and R80: the nodes are below the driver root only."""
    wrapper.host.path("/dev/nvidiactl").unlink()
    wrapper.host.node("/run/nvidia/driver/dev/nvidiactl", 195, 255)
    bundle.spec([CTL])
    wrapper.create(bundle)
    assert allowed(bundle) == ["c 195:255 rw"]
    assert wrapper.host.links() == {"195:255": "../../run/nvidia/driver/dev/nvidiactl"}


def test_crun_names_another_file(wrapper: Wrapper, bundle: Bundle) -> None:
    bundle.spec([GPU0])
    bundle.config.rename(bundle.folder / "other.json")
    assert wrapper.create(bundle, "--config", str(bundle.folder / "other.json"), command="run") == 37
    assert "195" in (bundle.folder / "other.json").read_text()
    assert os.listdir(bundle.folder) == ["other.json"]


def test_families_of_the_settings(wrapper: Wrapper, bundle: Bundle) -> None:
    """The vendor GPU of the original report has major 555."""
    wrapper.host.node("/dev/kgpu0", 555, 0)
    wrapper.host.node("/dev/kgpuctl", 555, 200)
    bundle.spec([("/dev/kgpu0", 555, 0), ("/dev/kgpuctl", 555, 200)])
    wrapper.create(bundle)
    assert allowed(bundle) == []
    family = '[[device_family]]\nname = "kgpu"\nnodes = ["/dev/kgpu[0-9]*", "/dev/kgpuctl"]\n'
    wrapper.create(bundle, extra=family)
    assert allowed(bundle) == ["c 555:0 rw", "c 555:200 rw"]
    assert wrapper.host.links() == {"555:0": "../kgpu0", "555:200": "../kgpuctl"}


BAD = {
    "truncated": '{"linux":{"devices":[{"path":"/dev/nvidia0"',
    "not an object": '["/dev/nvidia0"]',
    "empty": "",
    "numbers as strings": '{"linux":{"devices":[{"path":"/dev/nvidia0","type":"c","major":"195","minor":"0"}]}}',
    "devices an object": '{"linux":{"devices":{"path":"/dev/nvidia0"}}}',
    "linux a list": '{"linux":[]}',
    "rules a string": '{"linux":{"resources":{"devices":"c 195:0 rwm"}}}',
    "deep": '{"linux":' + "[" * 100_000,
    "key twice": '{"linux":{"devices":[]},"linux":{"devices":[]}}',
    "NUL": '{"linux":{"devices":[{"path":"/dev/nvidia0\\u0000","type":"c","major":195,"minor":0}]}}',
    "surrogate": '{"linux":{"devices":[{"path":"/dev/nvidia\\ud800","type":1}]}}',
}


@pytest.mark.parametrize("name", BAD)
def test_bad_specs_go_on_to_the_runtime(wrapper: Wrapper, bundle: Bundle, name: str) -> None:
    bundle.write(BAD[name])
    assert wrapper.create(bundle) == 37
    assert bundle.config.read_text() == BAD[name]
    [line] = wrapper.lines()
    assert line["level"] == "warning"
    assert "the spec is passed on as it is" in line["msg"]


def _as_nothing(config: Path) -> None: ...


def _as_folder(config: Path) -> None:
    config.mkdir()


def _as_huge(config: Path) -> None:
    config.write_text('{"linux":{}}' + " " * (40 << 20))


def _as_bytes(config: Path) -> None:
    config.write_bytes(b'{"linux":{"devices":[{"path":"/dev/nvidia\xff"}]}}')


def _as_pipe(config: Path) -> None:
    os.mkfifo(config)


@pytest.mark.parametrize("make", [_as_nothing, _as_folder, _as_huge, _as_bytes, _as_pipe])
def test_bad_files_go_on_to_the_runtime(wrapper: Wrapper, bundle: Bundle, make: Any) -> None:
    make(bundle.config)
    assert wrapper.create(bundle) == 37
    assert len(wrapper.lines()) == 1


def test_fail_refuses_with_one_json_line(wrapper: Wrapper, bundle: Bundle) -> None:
    bundle.write("{")
    assert wrapper.create(bundle, extra='on_error = "fail"\n') == 1
    [line] = wrapper.lines()
    assert line["level"] == "error"
    assert line["time"].endswith("Z")


def test_without_a_log_file_the_line_is_on_standard_error(wrapper: Wrapper, bundle: Bundle, tmp_path: Path) -> None:
    bundle.write("{")
    environment = wrapper.installed.settings(tmp_path, wrapper.host, [str(wrapper.runtime)])
    command = [str(wrapper.installed.runtime), "create", "--bundle", str(bundle.folder), "c1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 37
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1


def test_a_log_file_of_our_own(wrapper: Wrapper, bundle: Bundle, tmp_path: Path) -> None:
    bundle.write("{")
    wrapper.create(bundle, extra=f'log_file = "{tmp_path}/ours"\n')
    assert (tmp_path / "ours").read_text() == wrapper.log.read_text()


def test_two_hundred_at_once(wrapper: Wrapper, tmp_path: Path) -> None:
    bundles = []
    for i in range(200):
        bundles.append(Bundle(tmp_path / f"bundle{i}").spec([GPU0, CTL]))
    environment = wrapper.installed.settings(tmp_path, wrapper.host, [str(wrapper.runtime)])
    assert subprocess.run([str(wrapper.installed.runtime), "list"], env=environment, check=False).returncode == 37
    processes = [
        subprocess.Popen([str(wrapper.installed.runtime), "create", "-b", str(each.folder), "c"], env=environment)
        for each in bundles
    ]
    assert [process.wait(120) for process in processes] == [37] * 200
    assert all(allowed(each) == ["c 195:0 rw", "c 195:255 rw"] for each in bundles)
    assert wrapper.host.links() == {"195:0": "../nvidia0", "195:255": "../nvidiactl"}


def test_many_at_once_with_settings_that_nobody_has_read_yet(wrapper: Wrapper, tmp_path: Path) -> None:
    """As after a boot. One of them reads the TOML, the others wait for it; none takes the default runtimes."""
    bundle = Bundle(tmp_path / "many").spec([GPU0])
    environment = wrapper.installed.settings(tmp_path, wrapper.host, [str(wrapper.runtime)])
    command = [str(wrapper.installed.runtime), "create", "-b", str(bundle.folder), "c"]
    processes = [subprocess.Popen(command, env=environment) for _ in range(20)]
    assert [process.wait(120) for process in processes] == [37] * 20
    assert allowed(bundle) == ["c 195:0 rw"]


def test_the_deadline_ends_a_preparation_that_hangs(wrapper: Wrapper, bundle: Bundle, tmp_path: Path) -> None:
    """A stand-in for a hung filesystem: a prepare.py that never returns, after the alarm was set."""
    lib = wrapper.installed.prefix / "lib/gpu-oci-hook"
    hung = tmp_path / "hung.py"
    hung.write_text(
        f"import sys, time\nsys.path.insert(0, {str(lib)!r})\nimport gpu_oci_hook.runtime as runtime\n"
        "runtime.DEADLINE = 1\nruntime.prepare = lambda line, settings, next_runtime: time.sleep(60)\n"
        "runtime.main(sys.argv[1:])\n"
    )
    launcher = tmp_path / "gpu-oci-runtime"
    launcher.write_text(wrapper.installed.runtime.read_text().replace("$our_lib/prepare.py", str(hung)))
    launcher.chmod(0o755)
    bundle.spec([GPU0])
    environment = wrapper.installed.settings(tmp_path, wrapper.host, [str(wrapper.runtime)])
    subprocess.run([str(wrapper.installed.runtime), "list"], env=environment, check=False)  # compiles the settings
    command = [str(launcher), "create", "-b", str(bundle.folder), "c"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 37
    assert "is not protected" in done.stderr
