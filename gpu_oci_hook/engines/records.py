"""What we wrote where, so that it can be taken back exactly: below FOLDER, with a folder for each engine.

Not beside the files: CRI-O reads every file in its drop-in folder, whatever its name. For each file there are the
content before our first write and the content after our last one.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from gpu_oci_hook.engines import files
from gpu_oci_hook.engines.errors import EngineError

FOLDER = "/var/lib/gpu-oci-hook/engines"


@dataclasses.dataclass
class FileRecord:
    """One file: before our first write (None: it was not there), after our last, and the folders made for it."""

    path: str
    before: bytes | None
    written: bytes | None
    folders: list[str]
    edited: bool = False  # somebody else changed it between two of our writes, so `before` is not all of it any more


class Record:
    """All files that were written for one engine."""

    def __init__(self, root: str, engine: str) -> None:
        self.root = root
        self.folder = f"{FOLDER}/{engine}"
        self.files: dict[str, FileRecord] = {}
        content = files.read(root, f"{self.folder}/record.json")
        if content is not None:
            self._load(content)

    def _load(self, content: bytes) -> None:
        try:
            entries: list[dict[str, Any]] = json.loads(content)["files"]
            for number, entry in enumerate(entries):
                before, written = (files.read(self.root, f"{self.folder}/{number}.{part}") for part in PARTS)
                self.files[entry["path"]] = FileRecord(
                    entry["path"], before, written, list(entry["folders"]), bool(entry["edited"])
                )
        except (ValueError, KeyError, TypeError) as error:
            raise EngineError(
                f"{self.folder}/record.json cannot be used: {error!r}",
                "move that folder away; only entries that name our wrapper are taken back then",
            ) from error

    def note(self, path: str, before: bytes | None, written: bytes | None, folders: list[str]) -> None:
        """Take down one write."""
        old = self.files.get(path)
        if old is None:
            self.files[path] = FileRecord(path, before, written, folders)
            return
        old.edited = old.edited or before != old.written
        old.written = written
        old.folders += [folder for folder in folders if folder not in old.folders]

    def save(self) -> None:
        """Write it; the list last, so that what it names is there. Raises EngineError."""
        files.make_folders(self.root, f"{self.folder}/record.json")
        entries = []
        for number, entry in enumerate(self.files.values()):
            for part in PARTS:
                self._put(f"{self.folder}/{number}.{part}", getattr(entry, part))
            entries.append({"path": entry.path, "folders": entry.folders, "edited": entry.edited})
        text = json.dumps({"version": 1, "files": entries}, indent=2) + "\n"
        files.replace(self.root, f"{self.folder}/record.json", text.encode())

    def _put(self, path: str, content: bytes | None) -> None:
        if content is None:
            files.remove(self.root, path)
        elif files.read(self.root, path) != content:
            files.replace(self.root, path, content)

    def forget(self) -> None:
        """Remove it from the disk."""
        files.remove(self.root, f"{self.folder}/record.json")
        for number in range(len(self.files)):
            for part in PARTS:
                files.remove(self.root, f"{self.folder}/{number}.{part}")
        files.remove_folders(self.root, [FOLDER.rpartition("/")[0], FOLDER, self.folder])
        self.files = {}


PARTS = ("before", "written")
