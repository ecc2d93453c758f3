"""audit: running containers, which have lost their GPUs and which will."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gpu_oci_hook.cli.errors import FINE, PROBLEMS, CommandError
from gpu_oci_hook.cli.options import new_command, settings_of
from gpu_oci_hook.cli.render import Style, count, print_findings, print_json, table
from gpu_oci_hook.core.devices import spell
from gpu_oci_hook.core.findings import NOTE
from gpu_oci_hook.running import judge

if TYPE_CHECKING:
    import argparse

    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.running.audit import Audited, Report
    from gpu_oci_hook.running.discover import Container
    from gpu_oci_hook.running.host import Host


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser = new_command(commands, "audit", "tell which running containers have lost GPUs, or will at a reload")
    parser.add_argument("container", nargs="*", metavar="CONTAINER", help="an id, its beginning, or a unit (all)")
    parser.add_argument("--all", action="store_true", help="show containers without GPUs as well")
    parser.add_argument("--host", action="store_true", help="check the host's own readiness as well")
    parser.add_argument(
        "--metrics", metavar="FILE", help="write Prometheus text for node_exporter's textfile collector"
    )
    return parser


def run(args: argparse.Namespace) -> int:
    from gpu_oci_hook.running.audit import audit
    from gpu_oci_hook.running.host import Host

    host = Host(settings_of(args))
    report = audit(host, args.container)
    check_names(report, args.container)
    findings = _host_findings(host, report) if args.host else []
    if args.metrics:
        _write_metrics(args.metrics, report)
    if args.json:
        print_json({**as_json(report, host), "findings": [finding.as_json() for finding in findings]})
    else:
        print_report(report, args.all or bool(args.container), Style(sys.stdout))
        print_findings(findings, Style(sys.stdout))
    bad = any(each.verdict.name in judge.PROBLEMS for each in report.containers)
    return PROBLEMS if bad or any(finding.severity != NOTE for finding in findings) else FINE


def _host_findings(host: Host, report: Report) -> list[Finding]:
    from gpu_oci_hook.running.readiness import readiness

    return readiness(host, report.systemd)


def _write_metrics(path: str, report: Report) -> None:
    from gpu_oci_hook.running.metrics import write_metrics

    try:
        write_metrics(path, report)
    except OSError as error:
        raise CommandError(
            f"{path} cannot be written: {error.strerror}", "name a file in a writable folder", 1
        ) from error


def check_names(report: Report, names: list[str]) -> None:
    """Raises CommandError for a name that means no running container."""
    from gpu_oci_hook.running.audit import is_named

    for name in names:
        if not any(is_named(each.facts.container, [name]) for each in report.containers):
            raise CommandError(f"no running container is called {name}", "gpu-oci-hook audit --all lists them")


def as_json(report: Report, host: Host) -> dict[str, Any]:
    """The report as ``audit --json`` prints it (schemas/audit.json)."""
    return {
        "version": 1,
        "host": {
            "systemd": report.systemd,
            "cgroup": f"v{report.cgroup}",
            "runtimes": host.settings.runtimes,
            "problem": report.problem,
        },
        "containers": [_container(each) for each in report.containers],
    }


def _container(audited: Audited) -> dict[str, Any]:
    facts, verdict = audited
    return {
        "id": facts.container.id,
        "unit": facts.container.unit,
        "engine": facts.container.engine,
        "pid": facts.container.pid,
        "devices": [
            {
                "path": path,
                "type": number[0],
                "major": number[1],
                "minor": number[2],
                "live": facts.live.get(number),
                "unit": facts.unit.get(number),
            }
            for number, path in sorted(facts.given.items())
        ],
        "verdict": verdict.name,
        "fault": verdict.fault,
        "cause": verdict.cause,
        "fix": verdict.fix,
        "findings": [finding.as_json() for finding in facts.evidence.findings],
    }


def print_report(report: Report, everything: bool, style: Style) -> None:
    """A table, the worst first, then a count of the verdicts."""
    order = (judge.LOST, judge.RECREATE, judge.WIDER, judge.AT_RISK, judge.UNKNOWN, judge.NOT_AFFECTED, judge.OK)
    shown = [each for each in report.containers if everything or each.verdict.name != judge.NO_GPU]
    shown.sort(key=lambda each: (*order, judge.NO_GPU).index(each.verdict.name))
    if report.problem:
        print(f"{style.yellow('warning:')} {report.problem}")
    rows = [("VERDICT", "CONTAINER", "ENGINE", "DEVICES", "UNIT")] if shown else []
    for line in table([*rows, *map(_row, shown)], ""):
        print(_painted(line, style))
    for each in shown:
        if each.verdict.name in (*judge.PROBLEMS, judge.UNKNOWN):
            print(f"\n{style.bold(_name(each.facts.container))}: {each.verdict.cause}")
            if each.verdict.fix:
                print(f"  {style.dim('fix:')} {each.verdict.fix}")
    print(f"{chr(10) if shown else ''}{summary(report)}")


def _row(audited: Audited) -> tuple[str, ...]:
    container, given = audited.facts.container, audited.facts.given
    devices = " ".join(spell(number)[2:] for number in sorted(given)[:4]) + (" …" if len(given) > 4 else "")
    return audited.verdict.name, _name(container), container.engine, devices, container.unit or "-"


def _name(container: Container) -> str:
    """The id, as engines shorten it; a container that no runtime knows of has none."""
    return container.id[:12] or f"pid {container.pid}"


def _painted(line: str, style: Style) -> str:
    word, _, rest = line.partition(" ")
    paint = {judge.OK: style.green, judge.AT_RISK: style.yellow, judge.UNKNOWN: style.yellow, "VERDICT": style.dim}
    if word in judge.PROBLEMS and word not in paint:
        return f"{style.red(word)} {rest}"
    return f"{paint[word](word)} {rest}" if word in paint else line


def summary(report: Report) -> str:
    """``3 containers: 1 lost, 2 ok`` with the host's systemd and cgroup version."""
    names = [each.verdict.name for each in report.containers]
    counts = ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(sorted(names)))
    systemd = f"systemd {report.systemd}" if report.systemd else "systemd not reached"
    return f"{count(len(names), 'container')} on {systemd}, cgroup v{report.cgroup}{': ' + counts if counts else ''}"
