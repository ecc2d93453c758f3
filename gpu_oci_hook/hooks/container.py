"""prestart, createRuntime, poststart: links, config.json, and the unit of one container.

The runtime has read its spec already and has told systemd about it (runc process_linux.go: the cgroup's properties are
set before these hooks run). config.json is brought in line all the same, so that what is on disk is the truth, for
audit and for whoever starts the bundle again; what counts for this container is its unit.
"""

from __future__ import annotations

from gpu_oci_hook.core import findings as say
from gpu_oci_hook.core.plan import make_plan
from gpu_oci_hook.core.request import Context
from gpu_oci_hook.core.spec import parse_spec
from gpu_oci_hook.host.apply import apply_plan
from gpu_oci_hook.host.bundle import ChangedError, read_spec
from gpu_oci_hook.host.inventory import Inventory
from gpu_oci_hook.host.paths import below, join, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpu_oci_hook.core.findings import Finding
    from gpu_oci_hook.core.plan import Plan
    from gpu_oci_hook.core.spec import Spec
    from gpu_oci_hook.hooks.state import State
    from gpu_oci_hook.host.settings import Settings

ATTEMPTS = 3
MOUNTINFO_MAX = 1 << 24


class Subject:
    """The container that a hook was called for, with all that is known about it."""

    __slots__ = ("inventory", "plan", "settings", "spec", "stage", "state")

    def __init__(self, stage: str, state: State, spec: Spec, inventory: Inventory, settings: Settings) -> None:
        self.stage = stage
        self.state = state
        self.spec = spec
        self.inventory = inventory
        self.settings = settings
        self.plan: Plan = make_plan(spec, Context(inventory, settings.access, settings.policy))

    @property
    def started(self) -> bool:
        """Whether all other hooks have run: what the container can open now is what it was given."""
        return self.stage == "poststart"


def protect(stage: str, state: State, settings: Settings) -> list[Finding]:
    """Do for one container what can be done at this stage; the findings are what is worth saying.

    Raises BundleError, JsonTextError and SpecError where there is no spec to go by.
    """
    for attempt in range(ATTEMPTS):
        try:
            return _protect_once(stage, state, settings)
        except ChangedError:
            if attempt == ATTEMPTS - 1:
                raise
    return []


def _protect_once(stage: str, state: State, settings: Settings) -> list[Finding]:
    file = read_spec(join(state.bundle, "config.json"))
    inventory = Inventory(settings.host_root, settings.driver_roots, settings.families)
    subject = Subject(stage, state, parse_spec(file.text), inventory, settings)
    findings: list[Finding] = []
    if subject.started and _has_gpu_mounts(subject):
        from gpu_oci_hook.hooks.given import add_given_devices

        findings += add_given_devices(subject)
    plan = subject.plan
    findings += [finding for finding in plan.findings if finding.severity != say.NOTE]
    findings += apply_plan(plan, subject.spec, file, settings.host_root)
    if plan.devices:
        _find_libraries()
        from gpu_oci_hook.hooks.unit import complete_unit

        findings += complete_unit(subject)
    return findings


def _find_libraries() -> None:
    """Let jeepney be found: beside our package, or (we run with -S) where the distribution has it."""
    try:
        import jeepney  # noqa: F401
    except ImportError:
        import site

        site.main()


def _has_gpu_mounts(subject: Subject) -> bool:
    """Whether it is worth a closer look: most containers have no mount that is called like one of the host's nodes."""
    mounts = read_text(below(subject.settings.host_root, f"/proc/{subject.state.pid}/mountinfo"), MOUNTINFO_MAX)
    return any(f"{node.file[node.file.rindex('/') :]} " in mounts for node in subject.inventory.nodes())
