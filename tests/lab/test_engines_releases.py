"""Golden cases against real engine programs: nothing but what was asked for changes in what they understand.

The machine's own containerd, and those of other releases whose root filesystems GPU_OCI_ENGINE_ROOTS names (separated
by colons; `mmdebstrap --variant=minbase --include=containerd,docker.io trixie DIR`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from gpu_oci_hook.engines import transaction
from gpu_oci_hook.engines.errors import EngineError
from gpu_oci_hook.engines.toml_text import parse
from tests.conftest import unavailable
from tests.lab.overlay import overlay
from tests.unit.engines.cases import ACCEPTED, WRAPPER, Case, name_of, put_wrapper

pytestmark = pytest.mark.lab
ROOTS = ["/", *filter(None, os.environ.get("GPU_OCI_ENGINE_ROOTS", "").split(":"))]
FOLDERS = ("/etc/containerd", "/etc/docker")
NAMES = [
    "no-file",
    "comments-only",
    "v1-kubernetes",
    "v2-debian",
    "v2-comments",
    "v2-crlf",
    "v2-dotted-keys",
    "v2-import-owns-cri",
    "v2-imports",
    "v2-inline-runtimes",
    "v2-nvidia-default",
    "v2-set-default",
    "v2-set-default-replaces",
    "v2-unusual-order",
    "v3-imports",
    "v3-set-default",
]
CONTAINERD = [case for case in ACCEPTED if case.engine == "containerd" and case.name in NAMES]
DOCKER = [case for case in ACCEPTED if case.engine == "docker" and set(case.before()) <= {"/etc/docker/daemon.json"}]


@pytest.fixture(params=ROOTS, scope="module")
def release(request: pytest.FixtureRequest) -> Iterator[str]:
    """Give a root filesystem to write to."""
    if os.geteuid() != 0:
        unavailable("mounting an overlay and chroot need root")
    with overlay(request.param) as root:
        yield root


def prepare(root: str, case: Case) -> None:
    """Put a case's files into a release."""
    for folder in FOLDERS:
        shutil.rmtree(root + folder, ignore_errors=True)
    shutil.rmtree(f"{root}/var/lib/gpu-oci-hook", ignore_errors=True)
    if os.path.isdir(f"{case.folder}/before"):
        shutil.copytree(f"{case.folder}/before", root, dirs_exist_ok=True)
    put_wrapper(root)


def chroot(root: str, *command: str) -> str:
    return subprocess.run(["chroot", root, *command], check=True, capture_output=True, text=True).stdout


def version(root: str) -> tuple[int, int]:
    if not os.path.exists(f"{root}/usr/bin/containerd"):
        unavailable("containerd is not installed: apt-get install containerd")
    found = re.search(r" v?(\d+)\.(\d+)\.", chroot(root, "/usr/bin/containerd", "--version"))
    assert found
    return int(found[1]), int(found[2])


def dump(root: str) -> dict[str, Any]:
    """What containerd understands, without the CRI plugin's section; and that section, of whatever version."""
    exists = os.path.exists(f"{root}/etc/containerd/config.toml")
    question = ["--config", "/etc/containerd/config.toml", "config", "dump"] if exists else ["config", "default"]
    values = parse("", chroot(root, "/usr/bin/containerd", *question))
    plugins = values["plugins"]
    name = next(name for name, value in plugins.items() if "runtimes" in value.get("containerd", {}))
    cri = plugins.pop(name)
    for key in ("version", "imports"):
        values.pop(key, None)
    return {"cri": cri, "runtimes": cri["containerd"].pop("runtimes"), "rest": values}


def meaning(value: Any) -> Any:
    """Without the values that Go has anyway."""
    if not isinstance(value, dict):
        return value
    members = {key: meaning(member) for key, member in value.items()}
    return {key: member for key, member in members.items() if member not in ("", 0, False, [], {})}


def unfit(case: Case, release: tuple[int, int]) -> str:
    """What this release says against a case's file, whatever we do."""
    if case.name.startswith("v3") and release < (2, 0):
        return "unsupported config version|does not see"  # 1.4 ignores what it does not know
    if case.name.startswith("v1") and release >= (2, 0):
        return "does not see"  # 2.x takes no section named cri
    return "bare keys" if case.name == "v2-dotted-keys" and release < (1, 5) else ""


@pytest.mark.parametrize("case", CONTAINERD, ids=name_of)
def test_containerd_understands_nothing_else_differently(release: str, case: Case) -> None:
    prepare(release, case)
    reason = unfit(case, version(release))
    if reason:
        with pytest.raises(EngineError, match=reason):
            transaction.install(case.open(release))
        return
    before = dump(release)

    assert transaction.install(case.open(release)).checked

    after = dump(release)
    ours = after["runtimes"].pop("gpu")
    assert version(release) < (1, 5) or ours["options"]["BinaryName"] == WRAPPER
    if "--set-default" in case.arguments:
        assert after["cri"]["containerd"].pop("default_runtime_name") == "gpu"
        before["cri"]["containerd"].pop("default_runtime_name")
    assert meaning(after) == meaning(before)

    assert transaction.uninstall(case.open(release)).checked
    assert dump(release)["runtimes"] == before["runtimes"]


@pytest.mark.parametrize("case", DOCKER, ids=name_of)
def test_dockerd_accepts_what_is_written(release: str, case: Case) -> None:
    if not os.path.exists(f"{release}/usr/sbin/dockerd"):
        unavailable("dockerd is not installed: apt-get install docker.io")
    if "--validate" not in chroot(release, "/usr/sbin/dockerd", "--help"):
        pytest.skip("optional: Docker before 23.0 has no --validate; tests/lab/test_engines_docker.py starts it")
    prepare(release, case)
    if case.name in ("empty-file", "blank-file"):
        shutil.rmtree(f"{release}/etc/docker")
    # Whatever dockerd finds wrong with the case's own invented values is not about us.
    valid = subprocess.run(
        ["chroot", release, "/usr/sbin/dockerd", "--validate", "--config-file", "/etc/docker/daemon.json"], check=False
    )
    if os.path.exists(f"{release}/etc/docker/daemon.json") and valid.returncode != 0:
        with pytest.raises(EngineError):
            transaction.install(case.open(release))
        return
    assert transaction.install(case.open(release)).checked
