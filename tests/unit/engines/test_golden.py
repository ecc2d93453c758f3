"""Every golden case: installed, installed again, taken away exactly, and taken away after somebody else's edit."""

from __future__ import annotations

import json
import pathlib
import re
import shutil

import pytest

from gpu_oci_hook.engines import transaction
from gpu_oci_hook.engines.errors import EngineError
from gpu_oci_hook.engines.request import WRAPPER_NAME
from tests.unit.engines.cases import ACCEPTED, CASES, REFUSED, Case, folders, name_of, tree

every_case = pytest.mark.parametrize("case", ACCEPTED, ids=name_of)


def test_there_are_enough() -> None:
    assert len([case for case in ACCEPTED if case.before() != case.after()]) >= 40
    assert len(CASES) > 100


@every_case
def test_install_writes_what_is_expected(case: Case, tmp_path: pathlib.Path) -> None:
    root = case.host(str(tmp_path))
    outcome = transaction.install(case.open(root))
    assert tree(root) == case.after()
    assert outcome.changed == (case.before() != case.after())


@every_case
def test_a_dry_run_writes_nothing(case: Case, tmp_path: pathlib.Path) -> None:
    root = case.host(str(tmp_path))
    before = folders(root)
    outcome = transaction.install(case.open(root), dry_run=True)
    assert tree(root) == case.before()
    assert folders(root) == before
    assert {change.file: change.after for change in outcome.changes}.items() <= case.after().items()


@every_case
def test_a_second_install_writes_nothing(case: Case, tmp_path: pathlib.Path) -> None:
    root = case.host(str(tmp_path))
    transaction.install(case.open(root))
    outcome = transaction.install(case.open(root))
    assert not outcome.changed
    assert tree(root) == case.after()


@every_case
def test_install_registers(case: Case, tmp_path: pathlib.Path) -> None:
    root = case.host(str(tmp_path))
    transaction.install(case.open(root))
    registered = case.open(root).registered()
    name = "nvidia" if case.engine == "nvidia" else case.open(root).request.runtime_name
    assert registered == {name: case.engine == "nvidia" or "--set-default" in case.arguments}


@every_case
def test_uninstall_restores_every_byte(case: Case, tmp_path: pathlib.Path) -> None:
    root = case.host(str(tmp_path))
    before = folders(root)
    was_registered = case.open(root).registered()
    transaction.install(case.open(root))
    transaction.uninstall(case.open(root))
    if was_registered:
        assert WRAPPER_NAME.encode() not in b"".join(tree(root).values())
        return
    assert tree(root) == case.before()
    assert folders(root) == before | ({"/var", "/var/lib"} & folders(root))


@every_case
def test_uninstall_keeps_what_others_added(case: Case, tmp_path: pathlib.Path) -> None:
    root = case.host(str(tmp_path))
    engine = case.open(root)
    changed = [change.file for change in transaction.install(engine).changes if change.action != "keep"]
    added = b"# added later\n" if case.engine != "docker" else b" \n"
    for path in changed:
        with open(root + path, "ab") as file:
            file.write(added)
    transaction.uninstall(case.open(root))
    now = tree(root)
    assert WRAPPER_NAME.encode() not in b"".join(now.values())
    assert case.open(root).registered() == {}
    for path in changed:
        old = case.before().get(path, b"")
        assert path not in now or lines_kept(old, now[path]), (old, now[path])


@every_case
def test_uninstall_without_the_record(case: Case, tmp_path: pathlib.Path) -> None:
    root = case.host(str(tmp_path))
    transaction.install(case.open(root))
    shutil.rmtree(f"{root}/var/lib/gpu-oci-hook", ignore_errors=True)
    transaction.uninstall(case.open(root))
    assert case.open(root).registered() == {}
    assert WRAPPER_NAME.encode() not in b"".join(tree(root).values())


@pytest.mark.parametrize("case", REFUSED, ids=name_of)
def test_what_cannot_be_done_is_refused_untouched(case: Case, tmp_path: pathlib.Path) -> None:
    root = case.host(str(tmp_path))
    before = folders(root)
    with pytest.raises(EngineError) as caught:
        transaction.install(case.open(root))
    assert case.refused in f"{caught.value.message} {caught.value.hint}"
    assert caught.value.hint
    assert tree(root) == case.before()
    assert folders(root) == before


def lines_kept(old: bytes, new: bytes) -> bool:
    """Every line that was there and is not about our own entry is there still, in its order."""
    if old.lstrip().startswith(b"{") and not old.startswith(b"{{"):
        return same_members(old, new)
    lines = iter(line.strip().replace(b"'", b'"') for line in new.split(b"\n"))
    return all(
        any(line.strip().replace(b"'", b'"') == kept for kept in lines)
        for line in old.split(b"\n")
        if line.strip()
        and b"gpu-oci-runtime" not in line
        and not re.search(rb"runtimes(\.gpu\b| ?=)|^runtime_type", line)
    )


def same_members(old: bytes, new: bytes) -> bool:
    before, after = json.loads(old), json.loads(new)
    for value in (before, after):
        value["runtimes"] = {
            name: entry
            for name, entry in value.get("runtimes", {}).items()
            if WRAPPER_NAME not in entry.get("path", "")
        }
    return bool(before == after)
