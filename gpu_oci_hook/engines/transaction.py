"""Carries out what an engine module wants: written, asked of the engine itself, and taken back if that goes wrong."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
from collections.abc import Iterator
from typing import Any

from gpu_oci_hook.core.findings import Finding, note
from gpu_oci_hook.engines import files, references
from gpu_oci_hook.engines.change import KEEP, Change
from gpu_oci_hook.engines.engine import Engine, NotAskedError
from gpu_oci_hook.engines.errors import FAILED, EngineError
from gpu_oci_hook.engines.records import Record
from gpu_oci_hook.host.paths import below

LOCK = "/run/lock/gpu-oci-hook-engines"


@dataclasses.dataclass
class Outcome:
    """``checked`` is true if the engine itself has confirmed the result, false if it could not be asked."""

    changes: list[Change]
    findings: list[Finding]
    checked: bool = False

    @property
    def changed(self) -> bool:
        return any(change.action != KEEP for change in self.changes)


def install(engine: Engine, dry_run: bool = False) -> Outcome:
    """Register our wrapper. Raises EngineError; every file is as it was then."""
    with _locked(engine, dry_run):
        plan = engine.plan_install()
        outcome = Outcome(plan.changes, plan.findings)
        if dry_run:
            return outcome
        before = _ask(engine, outcome)
        folders = _write(engine.request.root, plan.changes)
        try:
            if before is not None:
                _confirm(engine, before)
                outcome.checked = True
            _take_down(engine, plan.changes, folders)
        except EngineError:
            _take_back(engine.request.root, plan.changes, folders)
            raise
        return outcome


def uninstall(engine: Engine, dry_run: bool = False) -> Outcome:
    """Take our registration away. Raises EngineError; every file is as it was then."""
    with _locked(engine, dry_run):
        record = Record(engine.request.root, engine.name)
        engine.originals = {entry.path: entry.before for entry in record.files.values() if entry.before is not None}
        plan = engine.plan_removal()
        changes = _exact(engine, record, plan.changes)
        outcome = Outcome(changes, plan.findings)
        if dry_run:
            return outcome
        before = _ask(engine, outcome)
        _write(engine.request.root, changes)
        try:
            if before is not None:
                _confirm_removal(engine, before)
                outcome.checked = True
        except EngineError:
            _take_back(engine.request.root, changes, {})
            raise
        for entry in record.files.values():
            files.remove_folders(engine.request.root, entry.folders)
        if record.files:
            record.forget()
        return outcome


def _exact(engine: Engine, record: Record, planned: list[Change]) -> list[Change]:
    """Files that nobody has touched since go back to what they were, byte for byte; of others our entries go.

    So they do where an older registration stood there before.
    """
    changes = {change.file: change for change in planned}
    for entry in record.files.values():
        now = files.read(engine.request.root, entry.path)
        if now == entry.written and not entry.edited and not references.names_wrapper(entry.before or b""):
            changes[entry.path] = Change(entry.path, now, entry.before)
    return list(changes.values())


def _write(root: str, changes: list[Change]) -> dict[str, list[str]]:
    """Apply changes in order; the folders that were made, by file. Raises EngineError, with everything taken back."""
    folders: dict[str, list[str]] = {}
    done: list[Change] = []
    try:
        for change in changes:
            if change.action == KEEP:
                continue
            if files.read(root, change.file) != change.before:
                raise EngineError(f"{change.file} was changed by somebody else meanwhile", "run it again", FAILED)
            done.append(change)
            if change.after is None:
                files.remove(root, change.file)
                continue
            folders[change.file] = files.make_folders(root, change.file)
            files.replace(root, change.file, change.after)
    except EngineError:
        _take_back(root, done, folders)
        raise
    return folders


def _take_back(root: str, changes: list[Change], folders: dict[str, list[str]]) -> None:
    for change in reversed(changes):
        if change.action == KEEP:
            continue
        if change.before is None:
            files.remove(root, change.file)
        elif files.read(root, change.file) != change.before:
            files.replace(root, change.file, change.before)
        files.remove_folders(root, folders.get(change.file, []))


def _take_down(engine: Engine, changes: list[Change], folders: dict[str, list[str]]) -> None:
    changed = [change for change in changes if change.action != KEEP]
    if not changed:
        return
    record = Record(engine.request.root, engine.name)
    for change in changed:
        record.note(change.file, change.before, change.after, folders.get(change.file, []))
    record.save()


def _ask(engine: Engine, outcome: Outcome) -> Any:
    """The effective configuration before the change; None, and a note why, if the engine cannot be asked."""
    try:
        return engine.effective()
    except NotAskedError as reason:
        outcome.findings.append(
            note("engine-not-asked", "", f"whether {engine.name} sees it could not be checked: {reason}")
        )
        return None


def _confirm(engine: Engine, before: Any) -> None:
    after = _ask_again(engine)
    if not engine.seen(after):
        raise EngineError(
            f"{engine.name} does not see the registration, so it was rolled back",
            "another file sets the same things after it; --dry-run shows what would be written",
            FAILED,
        )
    _unchanged(engine, before, after)


def _confirm_removal(engine: Engine, before: Any) -> None:
    after = _ask_again(engine)
    if engine.registered():
        raise EngineError(f"{engine.name} still has our runtime, so nothing was changed", "", FAILED)
    _unchanged(engine, before, after)


def _ask_again(engine: Engine) -> Any:
    try:
        return engine.effective()
    except (EngineError, NotAskedError) as error:
        raise EngineError(
            f"{engine.name} refuses the changed configuration, so it was rolled back: {error}",
            getattr(error, "hint", ""),
            FAILED,
        ) from error


def _unchanged(engine: Engine, before: Any, after: Any) -> None:
    different = sorted(differences(engine.others(before), engine.others(after)))
    if different:
        raise EngineError(
            f"other settings of {engine.name} would change too, so it was rolled back: {', '.join(different[:5])}",
            "register it by hand; the manual shows the lines",
            FAILED,
        )


def differences(before: Any, after: Any, place: str = "") -> list[str]:
    """The places at which two plain values differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [
            found
            for key in {**before, **after}
            for found in differences(before.get(key), after.get(key), f"{place}.{key}" if place else str(key))
        ]
    return [] if before == after else [place or "everything"]


@contextlib.contextmanager
def _locked(engine: Engine, dry_run: bool) -> Iterator[None]:
    """One registration at a time."""
    folder = below(engine.request.root, os.path.dirname(LOCK))
    if dry_run or not os.path.isdir(folder):
        yield
        return
    try:
        descriptor = os.open(below(engine.request.root, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise EngineError(f"{LOCK} cannot be opened: {error.strerror}", "run this as root", FAILED) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
