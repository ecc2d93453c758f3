"""Documents name only what is there: their relative links, and architecture.md's modules, all of core and host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.conftest import REPOSITORY

DOCUMENTS = [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/*.md"), REPOSITORY / "tests/lab/README.md"]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
MODULE = re.compile(r"`((?:core|host|cli|running|engines|hooks)/\w+\.py)`")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_relative_links_lead_somewhere(document: Path) -> None:
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)  # code calls look like links
    assert [link for link in LINK.findall(text) if not (document.parent / link).exists()] == []


def test_architecture_names_the_modules_of_core_and_host() -> None:
    named = set(MODULE.findall((REPOSITORY / "docs/architecture.md").read_text(encoding="utf-8")))
    package = REPOSITORY / "gpu_oci_hook"
    assert [name for name in sorted(named) if not (package / name).exists()] == []
    modules = {f"{part}/{file.name}" for part in ("core", "host") for file in (package / part).glob("[a-z]*.py")}
    assert modules - named == set()
