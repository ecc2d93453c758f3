"""The engine is asked before and after; what it does not see, or what changes anything else, is taken back.

The engine programs here are stand-ins (sh scripts below the root): a real one does not give these answers at will.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any

import pytest

from gpu_oci_hook.engines import programs, transaction
from gpu_oci_hook.engines.engine import NotAskedError
from gpu_oci_hook.engines.errors import EngineError
from gpu_oci_hook.engines.registry import engine_named
from gpu_oci_hook.engines.request import Request
from tests.unit.engines.cases import WRAPPER, put_wrapper, tree

DROP_IN = "/etc/crio/crio.conf.d/99-gpu-oci-hook.conf"
RUNC = '[crio.runtime]\nlog_level = "info"\n[crio.runtime.runtimes.runc]\nruntime_path = "/usr/bin/runc"\n'
BOTH = f'{RUNC}[crio.runtime.runtimes.gpu]\nruntime_path = "{WRAPPER}"\n'


@pytest.fixture
def host(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give a function: what `crio config` answers without and with our drop-in → a host's root."""
    root = str(tmp_path)
    put_wrapper(root)
    (tmp_path / "etc/crio/crio.conf.d").mkdir(parents=True)
    program = tmp_path / "usr/bin/crio"
    program.parent.mkdir(parents=True)

    def answering(before: str, after: str) -> str:
        (tmp_path / "before").write_text(before)
        (tmp_path / "after").write_text(after)
        file = f"[ -e {root}{DROP_IN} ] && file={root}/after || file={root}/before"
        program.write_text(f"#!/bin/sh\n{file}\n[ -s $file ] || {{ echo 'bad thing' >&2; exit 1; }}\ncat $file\n")
        program.chmod(0o755)
        return root

    real = programs.call
    monkeypatch.setattr(programs, "call", lambda _, words: real("/", [root + words[0], *words[1:]]))
    return answering


def crio(root: str, **options: Any) -> Any:
    return engine_named("crio", Request(WRAPPER, root=root, **options))


def refused(root: str, text: str) -> None:
    before = tree(root)
    with pytest.raises(EngineError) as caught:
        transaction.install(crio(root))
    assert text in caught.value.message
    assert caught.value.code == 1
    assert tree(root) == before
    assert not os.path.exists(f"{root}/var/lib/gpu-oci-hook/engines/crio")


def test_what_the_engine_confirms_stays(host: Any) -> None:
    root = host(RUNC, BOTH)
    outcome = transaction.install(crio(root))
    assert outcome.checked
    assert os.path.exists(root + DROP_IN)
    assert transaction.uninstall(crio(root)).checked
    assert not os.path.exists(root + DROP_IN)


def test_not_seen_is_rolled_back(host: Any) -> None:
    refused(host(RUNC, RUNC), "does not see the registration")


def test_another_program_under_the_name_is_rolled_back(host: Any) -> None:
    refused(host(RUNC, BOTH.replace(WRAPPER, "/usr/bin/other")), "does not see the registration")


def test_another_setting_changed_is_rolled_back(host: Any) -> None:
    refused(host(RUNC, BOTH.replace("info", "debug")), "crio.runtime.log_level")


def test_another_runtime_gone_is_rolled_back(host: Any) -> None:
    refused(host(RUNC, f'[crio.runtime]\nlog_level = "info"\n{BOTH[len(RUNC) :]}'), "crio.runtime.runtimes.runc")


def test_a_refusal_by_the_engine_is_rolled_back(host: Any) -> None:
    refused(host(RUNC, ""), "bad thing")


def test_an_engine_that_refuses_its_files_already_is_left_alone(host: Any) -> None:
    refused(host("", BOTH), "bad thing")


def test_a_change_by_somebody_else_meanwhile_is_not_overwritten(host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    root = host(RUNC, BOTH)
    engine = crio(root)
    plan = engine.plan_install()
    monkeypatch.setattr(engine, "plan_install", lambda: plan)
    with open(root + DROP_IN, "w", encoding="ascii") as file:
        file.write("# mine\n")
    with pytest.raises(EngineError, match="meanwhile"):
        transaction.install(engine)
    assert tree(root)[DROP_IN] == b"# mine\n"


def test_an_engine_that_is_not_installed_is_said(tmp_path: pathlib.Path) -> None:
    put_wrapper(str(tmp_path))
    outcome = transaction.install(crio(str(tmp_path)))
    assert not outcome.checked
    assert "could not be checked: the program crio is not installed here" in outcome.findings[-1].message
    with pytest.raises(NotAskedError):
        programs.find(str(tmp_path), "crio")


def test_mode_and_owner_stay(tmp_path: pathlib.Path) -> None:
    root = str(tmp_path)
    put_wrapper(root)
    file = tmp_path / "etc/docker/daemon.json"
    file.parent.mkdir(parents=True)
    file.write_text("{}\n")
    file.chmod(0o640)
    transaction.install(engine_named("docker", Request(WRAPPER, root=root)))
    assert file.stat().st_mode & 0o7777 == 0o640
    transaction.uninstall(engine_named("docker", Request(WRAPPER, root=root)))
    assert file.stat().st_mode & 0o7777 == 0o640


def test_a_link_stays_one(tmp_path: pathlib.Path) -> None:
    root = str(tmp_path)
    put_wrapper(root)
    folder = tmp_path / "etc/docker"
    folder.mkdir(parents=True)
    (folder / "kept.json").write_text("{}\n")
    (folder / "daemon.json").symlink_to("kept.json")
    transaction.install(engine_named("docker", Request(WRAPPER, root=root)))
    assert (folder / "daemon.json").is_symlink()
    assert "gpu-oci-runtime" in (folder / "kept.json").read_text()


def test_a_second_install_under_another_name_keeps_the_first_backup(tmp_path: pathlib.Path) -> None:
    root = str(tmp_path)
    put_wrapper(root)
    file = tmp_path / "etc/docker/daemon.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"debug":true}')
    for name in ("one", "two"):
        transaction.install(engine_named("docker", Request(WRAPPER, name, root=root)))
    assert engine_named("docker", Request(WRAPPER, root=root)).registered() == {"one": False, "two": False}
    transaction.uninstall(engine_named("docker", Request(WRAPPER, root=root)))
    assert file.read_text() == '{"debug":true}'


def test_no_default_of_nobodys_is_left_behind(tmp_path: pathlib.Path) -> None:
    """A default that names a runtime which is gone would keep the engine from starting."""
    root = str(tmp_path)
    put_wrapper(root)
    file = tmp_path / "etc/docker/daemon.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"default-runtime": "crun"}')
    transaction.install(engine_named("docker", Request(WRAPPER, set_default=True, root=root)))
    file.write_text(file.read_text().replace("}}}", '}}, "debug": true}').replace('"}', '"} '))
    transaction.uninstall(engine_named("docker", Request(WRAPPER, root=root)))
    assert '"default-runtime": "crun"' in file.read_text()
