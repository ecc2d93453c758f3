"""The files for people who configure by hand: equal to what install writes, and valid."""

from __future__ import annotations

import pathlib

import pytest

from gpu_oci_hook.engines import transaction
from gpu_oci_hook.engines.containerd_config import CRI
from gpu_oci_hook.engines.registry import engine_named
from gpu_oci_hook.engines.request import Request
from tests.unit.conftest import REPOSITORY
from tests.unit.engines.cases import WRAPPER, put_wrapper


@pytest.mark.parametrize("version", CRI)
def test_containerd_entries_are_what_install_writes(version: int, tmp_path: pathlib.Path) -> None:
    root = str(tmp_path)
    put_wrapper(root)
    file = tmp_path / "etc/containerd/config.toml"
    file.parent.mkdir(parents=True)
    key = f'plugins."{CRI[version]}".containerd.runtimes.runc'
    before = (
        f'version = {version}\n[{key}]\nruntime_type = "io.containerd.runc.v2"\n[{key}.options]\nSystemdCgroup = true\n'
    )
    file.write_text(before)
    transaction.install(engine_named("containerd", Request(WRAPPER, root=root)))
    ready = (REPOSITORY / f"containerd-config/runtime-v{version}.toml").read_text()
    _, _, entry = ready.partition("\n\n")
    assert file.read_text() == f"{before}\n{entry}"
