"""From claims to devices: the host's nodes of today decide about numbers."""

from __future__ import annotations

from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.devices import MAJOR_MAX, MINOR_MAX, spell
from gpu_oci_hook.core.procfs import is_registered
from gpu_oci_hook.core.request.asks import Asks
from gpu_oci_hook.core.request.claim import Claim, GivenDevice
from gpu_oci_hook.core.request.mounts import bound_nodes, clean
from gpu_oci_hook.core.request.nodes import node_claims
from gpu_oci_hook.core.request.rules import rule_claims
from gpu_oci_hook.core.rules import FULL, Emulator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.devices import Node, Number
    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.core.request.claim import Context
    from gpu_oci_hook.core.spec import Spec
    from gpu_oci_hook.core.spec_values import Mount


class Resolver:
    """Collects, for one container, the devices that are its own, the host's nodes behind them, and findings."""

    def __init__(self, context: Context) -> None:
        self.host = context.host
        self.devices: dict[Number, GivenDevice] = {}
        self.nodes: dict[Number, Node] = {}
        self.findings: list[Finding] = []
        self.absent: list[Claim] = []  # nodes of a family that this host has neither by name nor by number

    def take(self, claim: Claim) -> None:
        """Resolve one claim. Claims about other kinds of devices leave no trace."""
        at_path = self.host.node(claim.path) if claim.path else None
        if claim.number is None:
            self._by_path(claim, at_path)
        elif at_path and at_path.number == claim.number:
            self._given(claim, at_path)
        elif at_path and (at_path.family or claim.family) and not self._renumbered(claim.number, at_path):
            self._stale(claim, at_path)
        else:
            self._by_number(claim, claim.number)

    def take_bound(self, mount: Mount, emulator: Emulator, grant: bool) -> None:
        """Judge a node that is bind-mounted: by itself that never gave access to it."""
        path = clean(mount.source)
        node = self.host.node(path)
        if node is None or node.number in self.devices or emulator.access(node.number) == FULL:
            return
        if grant:
            self._given(Claim(path, None, "mounts", mount.place), node)
            return
        self.findings.append(
            say.warning(
                "bind-mount-without-rule",
                mount.place,
                f"{path} ({spell(node.number)}) is bind-mounted, but no rule allows it; none was added",
                'give it with --device, or set bind_mounts = "grant" under [request]',
            )
        )

    def _by_path(self, claim: Claim, at_path: Node | None) -> None:
        if at_path and (at_path.family or claim.family) and claim.type in ("", at_path.type):
            self._given(claim, at_path)

    def _given(self, claim: Claim, node: Node) -> None:
        family = node.family or self.host.family_of(node.number) or claim.family
        if family and self._is_foreign(node):
            self._report_foreign(claim, node)
        elif family:
            self.devices.setdefault(node.number, GivenDevice(claim.path or node.path, node.number, family, claim))
            self.nodes.setdefault(node.number, node)

    def _is_foreign(self, node: Node) -> bool:
        """Whether a node's major is registered today, and by none of its family's drivers: it is of an earlier boot."""
        return (
            bool(node.family)
            and is_registered(self.host.drivers(), node.number)
            and (self.host.family_of(node.number) != node.family)
        )

    def _report_foreign(self, claim: Claim, node: Node) -> None:
        self.findings.append(
            say.error(
                "stale-node",
                claim.place,
                f"{node.file} has a number that is another driver's today; no rule was added",
                "remove that node and let the driver make it anew (nvidia-modprobe -u -c 0)",
            )
        )

    def _renumbered(self, number: Number, at_path: Node) -> bool:
        """Whether the container knows another device of the same driver by this name (``--device nvidia3:nvidia0``)."""
        other = self.host.by_number(number)
        return other is not None and other.number[:2] == at_path.number[:2]

    def _by_number(self, claim: Claim, number: Number) -> None:
        node = self.host.by_number(number)
        if node:
            self._given(claim, node)
            return
        family = self.host.family_of(number)
        if not family and self.host.owns_path(claim.path):
            self.absent.append(claim)
        elif family and claim.path and number[1] <= MAJOR_MAX and number[2] <= MINOR_MAX:
            # No such node on the host, under any driver root, but the driver is there (HAMi #776 and #872): the spec's
            # own number stands.
            self.devices.setdefault(number, GivenDevice(claim.path, number, family, claim))
            self.findings.append(
                say.note(
                    "no-host-node",
                    claim.place,
                    f"the host has no node for {claim.path} ({spell(number)}), so there is nothing to link to",
                    "set driver_roots to where the driver's /dev is, if it runs in a container",
                )
            )

    def report_absent(self) -> None:
        """Say once that the driver behind nodes of the spec is not there (compare gpu-operator#2854)."""
        if self.absent:
            names = ", ".join(claim.path for claim in self.absent[:4])
            more = f" and {len(self.absent) - 4} more" if len(self.absent) > 4 else ""
            self.findings.append(
                say.warning(
                    "driver-not-loaded",
                    self.absent[0].place,
                    f"this host has neither {names}{more} nor a driver of that major; no rule was added",
                    "load the driver, then recreate the container",
                )
            )

    def _stale(self, claim: Claim, at_path: Node) -> None:
        """The spec's number is of another boot: it may be another driver's today, so it gets no rule."""
        self.nodes.setdefault(at_path.number, at_path)
        was = spell(claim.number) if claim.number else "no number"
        self.findings.append(
            say.error(
                "stale-number",
                claim.place,
                f"the spec says {was} for {claim.path}, the host's node is {spell(at_path.number)}; no rule was added",
                "write the CDI spec anew (nvidia-ctk cdi generate), or recreate the container from a fresh one",
            )
        )


def find_devices(spec: Spec, context: Context) -> tuple[list[GivenDevice], list[Finding], list[Node]]:
    """The devices the container is given, what was noticed, and the host's nodes whose links it depends on.

    Raises SpecError for a wrong type in a part of the spec that a source looks at.
    """
    resolver = Resolver(context)
    emulator = Emulator(spec.rules)
    for claim in (*node_claims(spec), *rule_claims(spec, emulator)):
        resolver.take(claim)
    resolver.report_absent()
    asks = Asks(spec, context.policy)
    if asks and not emulator.allows_all:
        from gpu_oci_hook.core.request.stack import stack_claims

        claims, noticed = stack_claims(spec, context, asks)
        resolver.findings += noticed
        for claim in claims:
            resolver.take(claim)
    for mount in bound_nodes(asks.mounts, context.host):
        resolver.take_bound(mount, emulator, context.policy.bind_mounts == "grant")
    return list(resolver.devices.values()), resolver.findings, list(resolver.nodes.values())
