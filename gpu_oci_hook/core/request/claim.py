"""What sources of a request say, and what they are judged with."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from gpu_oci_hook.core.devices import Node, Number
    from gpu_oci_hook.core.links import Link

    class Host(Protocol):
        """What the rules ask of a host; host/inventory.py answers."""

        def node(self, path: str) -> Node | None: ...

        def nodes(self) -> list[Node]: ...

        def by_number(self, number: Number) -> Node | None: ...

        def family_of(self, number: Number) -> str: ...

        def link(self, number: Number) -> Link: ...

        def read(self, path: str) -> str: ...


class Claim:
    """A source's word that the container is given a device.

    ``path`` is the node's path in the container (empty for a rule), ``number`` the spec's number or None where the host
    decides, ``source`` the kind of place (``linux.devices``), ``place`` the exact one.
    """

    __slots__ = ("number", "path", "place", "source")

    def __init__(self, path: str, number: Number | None, source: str, place: str) -> None:
        self.path = path
        self.number = number
        self.source = source
        self.place = place


class GivenDevice:
    """A device that the container is given, by number; ``path`` is its name in the container, or else on the host."""

    __slots__ = ("family", "number", "path", "place", "source")

    def __init__(self, path: str, number: Number, family: str, claim: Claim) -> None:
        self.path = path
        self.number = number
        self.family = family
        self.source = claim.source
        self.place = claim.place

    def as_json(self) -> dict[str, Any]:
        type_, major, minor = self.number
        return {
            "path": self.path,
            "type": type_,
            "major": major,
            "minor": minor,
            "family": self.family,
            "source": self.source,
        }


class Context:
    """All that a plan depends on besides the spec. ``access`` is what new rules grant: ``rw`` or ``rwm``."""

    __slots__ = ("access", "host")

    def __init__(self, host: Host, access: str = "rw") -> None:
        self.host = host
        self.access = access
