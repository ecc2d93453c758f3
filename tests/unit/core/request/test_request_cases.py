"""The table of requests, through the plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpu_oci_hook.core.plan import CREATE, REPLACE, Plan, make_plan
from gpu_oci_hook.core.request import Context
from gpu_oci_hook.core.spec import parse_spec, splice_rules
from gpu_oci_hook.host.apply import apply_links
from gpu_oci_hook.host.settings import Settings
from tests.unit.core.request.cases import Case, names


def test_the_table_is_there() -> None:
    assert len(names()) >= 150


@pytest.mark.parametrize("name", names())
def test_case(name: str, tmp_path: Path) -> None:
    case = Case(name)
    case.build(tmp_path)
    text = json.dumps(case.spec())
    plan = _plan(case, text, tmp_path)
    assert sorted(edit.rule.spell() for edit in plan.rules) == case.rules
    made = {edit.path.rpartition("/")[2]: edit.target for edit in plan.links if edit.action in (CREATE, REPLACE)}
    assert set(made) == set(case.made_links)
    assert all(made[number] == target for number, target in case.made_links.items() if target)
    assert sorted(finding.code for finding in plan.findings) == case.findings

    after = splice_rules(parse_spec(text).document, [edit.rule for edit in plan.rules]) if plan.rules else text
    assert apply_links(plan.links, str(tmp_path)) == []
    again = _plan(case, after, tmp_path)
    assert again.changes == []


def _plan(case: Case, text: str, root: Path) -> Plan:
    settings = Settings(case.settings)
    context = Context(case.inventory(root), settings.access, settings.policy, case.next_runtime)
    return make_plan(parse_spec(text), context)
