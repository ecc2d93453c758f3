"""Parsers of /proc/PID/cgroup and /proc/PID/mountinfo (proc(5), cgroups(7))."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

UNIFIED = ""  # the controller name under which parse_cgroup gives the unified hierarchy's path
SYSTEMD = "name=systemd"
UNIT_SUFFIXES = (".service", ".scope", ".mount", ".swap", ".socket")  # units that have processes of their own


class Mount:
    """One line of mountinfo. ``device`` is the filesystem's ``major:minor``; ``root`` is what of it is mounted."""

    __slots__ = ("device", "filesystem", "options", "point", "root", "super_options")

    def __init__(self, device: str, root: str, point: str, options: str, filesystem: str, super_options: str) -> None:
        self.device = device
        self.root = root
        self.point = point
        self.options = frozenset(options.split(","))
        self.filesystem = filesystem
        self.super_options = frozenset(super_options.split(","))


def parse_mountinfo(text: str) -> Iterator[Mount]:
    """The mounts of a mountinfo file, in its order. Lines that do not look like one are left out."""
    for line in text.splitlines():
        mount, separator, source = line.partition(" - ")
        fields, source_fields = mount.split(" "), source.split(" ")
        if separator and len(fields) >= 6 and len(source_fields) >= 3:
            yield Mount(
                fields[2], _unescape(fields[3]), _unescape(fields[4]), fields[5], source_fields[0], source_fields[2]
            )


def _unescape(field: str) -> str:
    """Undo the kernel's octal escapes of blank, tab, newline and backslash (seq_path)."""
    if "\\" not in field:
        return field
    for escape, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(escape, character)
    return field


def parse_cgroup(text: str) -> dict[str, str]:
    """Controller → path. The unified hierarchy is under ``""``, systemd's v1 hierarchy under ``name=systemd``."""
    paths: dict[str, str] = {}
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, separator, path = rest.partition(":")
        if separator:
            for controller in controllers.split(","):
                paths[controller] = path
    return paths


def unit_of_path(path: str) -> str:
    """The system manager's unit that owns a cgroup path, or ``""``.

    As systemd's cg_path_get_unit (src/basic/cgroup-util.c): slices are passed over, the next component is the unit if
    it is named like one. What lies below belongs to the unit, whatever it is called: a user manager's units, those of
    a systemd within a container.
    """
    for component in path.strip("/").split("/"):
        if component.endswith(".slice"):
            continue
        name = component[1:] if component.startswith("_") else component  # systemd's cg_escape
        return name if name.endswith(UNIT_SUFFIXES) and not name.startswith(".") else ""
    return ""


def unit_path(path: str) -> str:
    """The part of a cgroup path that is the unit's own cgroup, or ``""`` where no unit owns it."""
    if not unit_of_path(path):
        return ""
    components = path.strip("/").split("/")
    end = next(i for i, component in enumerate(components) if not component.endswith(".slice"))
    return "/" + "/".join(components[: end + 1])


def slice_of_path(path: str) -> str:
    """The innermost slice on the way to a unit (``kubepods-pod1.slice``); ``-.slice`` for the root."""
    innermost = "-.slice"
    for component in path.strip("/").split("/"):
        if not component.endswith(".slice"):
            break
        innermost = component
    return innermost
