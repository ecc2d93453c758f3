"""validate: what is wrong with a bundle, and whether its devices would survive a reload here."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gpu_oci_hook.cli.bundles import add_bundle, open_bundle, read_bundle
from gpu_oci_hook.cli.errors import CommandError
from gpu_oci_hook.cli.options import context_of, new_command, settings_of
from gpu_oci_hook.cli.plan import exit_code
from gpu_oci_hook.cli.render import Style, count, print_findings, print_json, table
from gpu_oci_hook.cli.schema_check import schema_findings
from gpu_oci_hook.cli.survival import Fate, Machine, driver_of, fates, look_at_machine, survival_findings, survives
from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core import jsontext
from gpu_oci_hook.core.devices import spell
from gpu_oci_hook.core.plan import Plan, make_plan
from gpu_oci_hook.core.rules import SpecError

if TYPE_CHECKING:
    import argparse

    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.core.spec import Spec
    from gpu_oci_hook.host.runtime_facts import Found
    from gpu_oci_hook.host.settings import Settings

ANSWERS = {True: "yes", False: "no", None: "unknown"}


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser = new_command(commands, "validate", "say what is wrong with a bundle, and whether it would survive a reload")
    add_bundle(parser)
    parser.add_argument(
        "--runtime", metavar="PATH", default="", help="the runtime (default: the first of the settings)"
    )
    return parser


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    machine = look_at_machine(settings, args.runtime)
    value, spec, findings = _open(args.bundle)
    findings = [*schema_findings(value), *findings]
    judged: list[Fate] = []
    if spec:
        judged, noticed = _judge(spec, settings, machine)
        findings += noticed
    answer = survives(judged) if spec else None
    if args.json:
        print_json(_as_json(findings, judged, answer, machine))
    else:
        _print(findings, judged, answer, machine)
    return exit_code(findings)


def _open(bundle: str) -> tuple[Any, Spec | None, list[Finding]]:
    """The spec's value, and its meaning if it has one. Raises CommandError for what is no JSON."""
    try:
        _, spec = open_bundle(bundle)
    except CommandError as error:
        if not isinstance(error.__cause__, SpecError):
            raise
        cause = error.__cause__
        value = jsontext.parse(read_bundle(bundle).text).value
        return value, None, [say.error("unusable-spec", cause.path, cause.message, error.hint)]
    return spec.value, spec, []


def _judge(spec: Spec, settings: Settings, machine: Machine) -> tuple[list[Fate], list[Finding]]:
    context = context_of(settings, machine.runtime.path)
    plan = make_plan(spec, context)
    judged = fates(spec, plan.devices, context.host, machine)
    return judged, [*plan.findings, *_missing_rules(plan), *survival_findings(judged, driver_of(spec), machine)]


def _missing_rules(plan: Plan) -> list[Finding]:
    wanted = {(edit.rule.type, edit.rule.major, edit.rule.minor) for edit in plan.rules}
    return [
        say.warning(
            "rule-missing",
            "linux.resources.devices",
            f"no rule allows {device.path} ({spell(device.number)}), which the container is given by {device.source}",
            "gpu-oci-hook apply BUNDLE adds it; with gpu-oci-runtime that happens at every create",
        )
        for device in plan.devices
        if device.number in wanted
    ]


def _as_json(findings: list[Finding], judged: list[Fate], answer: bool | None, machine: Machine) -> dict[str, Any]:
    return {
        "version": 1,
        "findings": [finding.as_json() for finding in findings],
        "devices": [fate.as_json() for fate in judged],
        "survives_reload": answer,
        "runtime": _program(machine.runtime),
        "systemd": _program(machine.systemd),
        "cgroup": machine.cgroup,
    }


def _program(found: Found) -> dict[str, str | None]:
    return {**found._asdict(), "version": str(found.version) if found.version else None}


def _print(findings: list[Finding], judged: list[Fate], answer: bool | None, machine: Machine) -> None:
    style = Style(sys.stdout)
    cgroup = f"v{machine.cgroup}" if machine.cgroup else "unknown"
    rows = [("runtime", *_spoken(machine.runtime)), ("systemd", *_spoken(machine.systemd)), ("cgroups", cgroup)]
    for line in table(rows, ""):
        print(line)
    if judged:
        print(style.bold(f"Given to this container: {count(len(judged), 'device')}"))
    head = [("device", "number", "rule", "link", "survives")] if judged else []
    for line in table([*head, *map(_row, judged)]):
        print(line)
    _print_answer(judged, answer, style)
    print_findings(findings, style)


def _spoken(found: Found) -> tuple[str, str]:
    version = str(found.version) if found.version else "version unknown"
    name = found.kind if found.kind != "systemd" else ""
    source = f"{found.path}, by {found.how}" if found.how else ""
    return f"{name} {version}".strip(), ": ".join(filter(None, (source, found.reason)))


def _row(fate: Fate) -> tuple[str, ...]:
    device = fate.device
    return device.path, spell(device.number), fate.covered or "none", fate.link, ANSWERS[fate.forecast.survives]


def _print_answer(judged: list[Fate], answer: bool | None, style: Style) -> None:
    if not judged and answer:
        print("No GPU is given to this container, so none can be lost.")
        return
    paint = {True: style.green, False: style.red, None: style.yellow}[answer]
    print(f"Survives a reload of systemd: {paint(ANSWERS[answer])}")
    if answer:
        for reason in dict.fromkeys(fate.forecast.reason for fate in judged):
            print(f"  {reason}")
