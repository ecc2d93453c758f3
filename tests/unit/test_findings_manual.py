"""docs/findings.md lists the codes that the package uses, no more and no fewer."""

from __future__ import annotations

import ast
import re

from tests.unit.conftest import REPOSITORY

MAKERS = {"error", "warning", "note", "finding", "Finding"}


def codes_in_package() -> set[str]:
    """First arguments of the functions that make findings."""
    found = set()
    for file in (REPOSITORY / "gpu_oci_hook").rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text())):
            if not isinstance(call, ast.Call) or not call.args:
                continue
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            first = call.args[0]
            if (
                name in MAKERS
                and isinstance(first, ast.Constant)
                and isinstance(first.value, str)
                and len(call.args) > 2
            ):
                found.add(first.value)
    return found


def test_the_manual_lists_every_code() -> None:
    listed = re.findall(r"^\| `([a-z0-9-]+)` \|", (REPOSITORY / "docs/findings.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(codes_in_package())


def test_codes_are_in_kebab_case() -> None:
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code) for code in codes_in_package())
