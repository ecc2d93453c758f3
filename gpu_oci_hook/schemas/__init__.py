"""JSON schemas: the part of config.json that we read, settings, and every --json output."""

from __future__ import annotations

import json
import os
from typing import Any

FOLDER = os.path.dirname(__file__)


def load(name: str) -> dict[str, Any]:
    """The schema of that name. Raises KeyError for a name that is not one."""
    if name not in names():
        raise KeyError(name)
    with open(os.path.join(FOLDER, f"{name}.json"), encoding="utf-8") as file:
        schema: dict[str, Any] = json.load(file)
    return schema


def names() -> list[str]:
    """The names of all schemas, sorted."""
    return sorted(name[: -len(".json")] for name in os.listdir(FOLDER) if name.endswith(".json"))
