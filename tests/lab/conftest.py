"""Fixtures for tests on a real systemd; README.md in this folder shows how to use them."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator

import pytest

from tests.conftest import unavailable
from tests.lab.container import remove_containers
from tests.lab.gpus import make_nodes
from tests.lab.installation import put, stage
from tests.lab.machine import Machine, UnavailableError, missing

ROOT_FILESYSTEM = os.environ.get("GPU_OCI_LAB_ROOTFS", "/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "lab" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.lab)


@pytest.fixture(scope="session")
def boot() -> Iterator[Callable[[str, str], Machine]]:
    """Give a function (version, root filesystem) → booted machine; each is booted once per test process."""
    machines: dict[tuple[str, str], Machine] = {}
    with contextlib.ExitStack() as stack:

        def booted(version: str, root_filesystem: str = ROOT_FILESYSTEM) -> Machine:
            key = version, root_filesystem
            if key not in machines:
                machines[key] = stack.enter_context(Machine(version, root_filesystem))
            return machines[key]

        yield booted


@pytest.fixture(params=["v1", "v2"])
def lab(request: pytest.FixtureRequest, boot: Callable[[str, str], Machine]) -> Iterator[Machine]:
    """Give a machine with NVIDIA's nodes, no links for them and no containers; once on each cgroup version.

    Another root filesystem than GPU_OCI_LAB_ROOTFS: parametrize it indirectly with (version, path).
    """
    version, root_filesystem = request.param if isinstance(request.param, tuple) else (request.param, ROOT_FILESYSTEM)
    if root_filesystem != "/" and not os.path.isdir(root_filesystem):
        pytest.skip(f"optional: no root filesystem at {root_filesystem} (README.md says how to make one)")
    reason = missing(version, root_filesystem)
    if reason:
        unavailable(reason)
    try:
        machine = boot(version, root_filesystem)
    except UnavailableError as error:
        unavailable(str(error))
    make_nodes(machine)
    yield machine
    remove_containers(machine)
    machine.run(["rm", "-rf", "/etc/gpu-oci-hook"])


@pytest.fixture(scope="session")
def staged(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Install once for all test processes and return the directory (DESTDIR)."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    directory = str(shared / "installation")
    with open(f"{directory}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(f"{directory}.done"):
            stage(directory)
            with open(f"{directory}.done", "w", encoding="ascii"):
                pass
    return directory


@pytest.fixture
def installed(lab: Machine, staged: str) -> Machine:
    """Give the lab with an installed copy of this project in it (installation.WRAPPER, installation.COMMAND)."""
    put(lab, staged)
    return lab
