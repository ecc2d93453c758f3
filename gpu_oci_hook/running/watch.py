"""The guard: completes the unit of every new GPU container, and heals after each reload what slipped through.

It waits for systemd's signals Reloading and JobRemoved (a scope's start is a job; UnitNew would come for every unit of
the host at each reload), for udev's events about GPUs, and for changes of the folders that hold the nodes.
"""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING

from gpu_oci_hook.core.findings import ERROR
from gpu_oci_hook.core.forecast.rederivation import lazily
from gpu_oci_hook.core.plan import link_edit
from gpu_oci_hook.core.versions import parse_systemd
from gpu_oci_hook.host import notify
from gpu_oci_hook.host.access_check import AccessCheckError
from gpu_oci_hook.host.apply import apply_links
from gpu_oci_hook.host.bus import BusError
from gpu_oci_hook.host.cgroup import CgroupError
from gpu_oci_hook.host.paths import below, join
from gpu_oci_hook.host.systemd import Manager
from gpu_oci_hook.running.audit import audit
from gpu_oci_hook.running.host import Host
from gpu_oci_hook.running.known import Known
from gpu_oci_hook.running.repair import GONE, repair_audited
from gpu_oci_hook.running.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpu_oci_hook.core.versions import Version
    from gpu_oci_hook.host.settings import Settings
    from gpu_oci_hook.host.udev import GpuEvents
    from gpu_oci_hook.running.repair import Outcome

SIGNALS = ("Reloading", "JobRemoved")
TICK = 1.0  # seconds between looks at the folders of the nodes
RETRY = 1.0  # seconds until systemd is called again after it was not there
STARTABLE = (".scope", ".service")


class Watch:
    """``load_settings`` reads the settings, at the start and at each ``reread``; ``stop`` ends ``run``."""

    def __init__(self, load_settings: Callable[[], Settings]) -> None:
        self.load_settings = load_settings
        self.settings = load_settings()
        self.stopped = False
        self.wants_settings = False
        self.schedule = Schedule(time.monotonic())
        self.manager: Manager | None = None
        self.signals: Manager | None = None
        self.events: GpuEvents | None = None
        self.known = Known()
        self._host: Host | None = None
        self._version: Version | None = None
        self._folders: dict[str, int] = {}
        self._said: set[tuple[str, str]] = set()

    def stop(self) -> None:
        self.stopped = True

    def reread(self) -> None:
        self.wants_settings = True

    def run(self) -> None:
        """Until ``stop``. Whatever fails is said and tried again; nothing ends the guard but a signal."""
        self._open_events()
        ready = False
        while not self.stopped:
            if self.wants_settings:
                self._reread_settings()
            try:
                self._turn()
            except (BusError, AccessCheckError, CgroupError, OSError) as error:
                self._disconnect()
                self._say_once(notify.WARNING, "", f"{error}; trying again")
                time.sleep(RETRY)
            if not ready:
                notify.notify("READY=1", "STATUS=watching")
                ready = True
            notify.notify("WATCHDOG=1")
        notify.notify("STOPPING=1")
        self._disconnect()

    def _turn(self) -> None:
        """One round: look at what is due, then wait for the next thing to happen."""
        if self.manager is None:
            self._connect()
        due = self.schedule.take(time.monotonic())
        if due is None or due:
            self._look(due)
        self._wait(min(TICK, self.schedule.wait(time.monotonic())))
        self._look_at_folders()

    def _connect(self) -> None:
        root = self.settings.host_root
        self.signals = Manager(root, for_signals=True)
        self.signals.subscribe(SIGNALS)
        self.manager = Manager(root)
        self.schedule.everything(time.monotonic())  # what happened until now is not known

    def _disconnect(self) -> None:
        for each in (self.manager, self.signals):
            if each is not None:
                each.close()
        self.manager = self.signals = None

    def _wait(self, seconds: float) -> None:
        assert self.signals is not None
        if not self.signals.bus.signals:
            files = [self.signals.bus.fileno(), *([self.events.fileno()] if self.events else [])]
            select.select(files, [], [], seconds)
        while (signal := self.signals.next_signal(0.0)) is not None:
            self._take_signal(*signal)
        if self.events and self.events.take():
            self.schedule.nodes(time.monotonic())

    def _take_signal(self, name: str, arguments: tuple[object, ...]) -> None:
        now = time.monotonic()
        if name == "Reloading" and not arguments[0]:
            self._heal()
            self.schedule.everything(now)
        elif name == "JobRemoved" and str(arguments[2]).endswith(STARTABLE):
            self.schedule.started(str(arguments[2]), now)

    def _heal(self) -> None:
        """Right after a reload: complete what is known to be cut short, before anything is looked at again."""
        if self.manager and self._host and self._version:
            healed = self.known.heal(self.manager, self._host.hierarchies, self._host, self._version)
            if healed:
                notify.log(notify.INFO, f"after a reload: the lists of {healed} units were completed")

    def _look(self, units: set[str] | None) -> None:
        """Complete what needs it, in some units or everywhere; links first."""
        assert self.manager is not None
        host = Host(self.settings)
        if units is None:
            self._make_links(host)
        version = parse_systemd(self.manager.version())
        if version is None:
            raise BusError("systemd's version is not understood")
        if not host.names:
            return
        names = () if units is None or lazily(version) else tuple(sorted(units))
        report = audit(host, names, self.manager)
        result = repair_audited(report, host, version, self.manager)
        self.known.remember(report, host, version, whole=not names)
        self._host, self._version = host, version
        for finding in result.findings:
            self._say_once(notify.ERROR if finding.severity == ERROR else notify.WARNING, "", finding.as_line())
        for outcome in result.outcomes:
            self._say_outcome(outcome)

    def _make_links(self, host: Host) -> None:
        edits = [link_edit(node, host.inventory) for node in host.inventory.nodes()]
        changes = [edit for edit in edits if edit.action in ("create", "replace")]
        for finding in apply_links(changes, host.root):
            self._say_once(notify.ERROR, "", finding.as_line())
        for edit in changes:
            notify.log(notify.INFO, edit.describe(), GPU_LINK=edit.path)

    def _say_outcome(self, outcome: Outcome) -> None:
        change = outcome.change
        if outcome.reason == GONE:
            return
        if outcome.reason:
            self._say_once(notify.ERROR, change.id, f"{change.id}: {outcome.reason}")
            return
        self._said = {each for each in self._said if each[0] != change.id}
        text = f"{change.id}: the list of {change.unit or 'its cgroup'} was completed, and checked"
        notify.log(notify.INFO, text, CONTAINER_ID=change.id, OBJECT_SYSTEMD_UNIT=change.unit)

    def _say_once(self, priority: int, id_: str, text: str) -> None:
        if (id_, text) in self._said:
            return
        if len(self._said) > 10000:
            self._said.clear()
        self._said.add((id_, text))
        notify.log(priority, text, **({"CONTAINER_ID": id_} if id_ else {}))

    def _reread_settings(self) -> None:
        self.wants_settings = False
        notify.reloading()
        try:
            self.settings = self.load_settings()
            notify.log(notify.INFO, "the settings were read anew")
        except Exception as error:  # an administrator's typing error must not end the guard
            text = getattr(error, "message", "") or str(error)
            notify.log(notify.ERROR, f"the settings cannot be read, the old ones stay: {text}")
        self._disconnect()
        notify.notify("READY=1")

    def _look_at_folders(self) -> None:
        """Nodes that drivers' programs make come with no event; their folder's time of change tells."""
        found = {}
        for driver_root in self.settings.driver_roots:
            for folder in ("/dev", "/dev/nvidia-caps", "/dev/nvidia-caps-imex-channels"):
                path = below(self.settings.host_root, join(driver_root, folder.lstrip("/")))
                try:
                    found[path] = os.stat(path).st_mtime_ns
                except OSError:
                    continue
        if self._folders and found != self._folders:
            self.schedule.nodes(time.monotonic())
        self._folders = found

    def _open_events(self) -> None:
        from gpu_oci_hook.host.udev import GpuEvents

        try:
            self.events = GpuEvents(self.settings.families)
        except (ImportError, OSError) as error:
            notify.log(notify.WARNING, f"no events from udev ({error}); new nodes are noticed by their folders")
