"""The golden cases in tests/cases/engines: a host's files before, what is asked for, and the files after."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from typing import Any

from gpu_oci_hook.engines.engine import Engine
from gpu_oci_hook.engines.registry import engine_named
from gpu_oci_hook.engines.request import Request

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "cases", "engines")
WRAPPER = "/usr/local/bin/gpu-oci-runtime"


@dataclasses.dataclass(frozen=True)
class Case:
    """`refused` is a part of the refusal's text, or empty for a case with files after."""

    engine: str
    name: str
    arguments: list[str]
    refused: str

    @property
    def folder(self) -> str:
        return os.path.join(FOLDER, self.engine, self.name)

    def host(self, directory: str) -> str:
        """Make the host's files below `directory`, with our wrapper in its place, and return it as a root."""
        root = os.path.join(directory, "host")
        if os.path.isdir(f"{self.folder}/before"):
            shutil.copytree(f"{self.folder}/before", root)
        put_wrapper(root)
        return root

    def before(self) -> dict[str, bytes]:
        return tree(f"{self.folder}/before")

    def after(self) -> dict[str, bytes]:
        return tree(f"{self.folder}/after")

    def open(self, root: str, **changes: Any) -> Engine:
        """The engine's module, for the request that the case's arguments are."""
        asked: dict[str, Any] = {"wrapper": WRAPPER, "root": root}
        words = iter(self.arguments)
        for word in words:
            if word == "--set-default":
                asked["set_default"] = True
            else:
                asked[{"--runtime-name": "runtime_name", "--config-path": "config_path"}[word]] = next(words)
        return engine_named(self.engine, Request(**{**asked, **changes}))


def put_wrapper(root: str) -> None:
    os.makedirs(os.path.dirname(root + WRAPPER), exist_ok=True)
    with open(root + WRAPPER, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n")
    os.chmod(root + WRAPPER, 0o755)


def tree(root: str) -> dict[str, bytes]:
    """All files below a root but the wrapper and our record of what was written."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            place = path[len(root) :]
            if place != WRAPPER and not place.startswith("/var/lib/gpu-oci-hook/"):
                with open(path, "rb") as file:
                    found[place] = file.read()
    return found


def folders(root: str) -> set[str]:
    return {os.path.join(folder, name)[len(root) :] for folder, names, _ in os.walk(root) for name in names}


def load() -> list[Case]:
    """All cases, sorted."""
    cases = []
    for engine in sorted(os.listdir(FOLDER)):
        for name in sorted(os.listdir(os.path.join(FOLDER, engine))):
            with open(os.path.join(FOLDER, engine, name, "case.json"), encoding="utf-8") as file:
                content = json.load(file)
            cases.append(Case(engine, name, content["arguments"], content.get("refused", "")))
    return cases


CASES = load()
REFUSED = [case for case in CASES if case.refused]
ACCEPTED = [case for case in CASES if not case.refused]


def name_of(case: Case) -> str:
    return f"{case.engine}-{case.name}"
