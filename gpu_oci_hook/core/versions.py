"""Versions of systemd, runc and crun as their programs print them, in comparable form.

What cannot be read is None: a version decides whether a container will lose its GPUs, so it is never guessed. Builds
between two releases (``+dev``, ``-23-g1a2b3c4``) count as unreadable too, since they may or may not have a later fix.
"""

from __future__ import annotations

from functools import total_ordering

TYPE_CHECKING = False
if TYPE_CHECKING:
    Release = tuple[int, ...]

STAGES = ("alpha", "beta", "rc")
FINAL = (len(STAGES), 0)
PART_MAX = 9  # digits; what is longer is a date or a hash
RUNTIMES = ("runc", "crun")


@total_ordering
class Version:
    """A release and its stage. ``vendor`` is the distribution's own text, which takes no part in comparisons."""

    __slots__ = ("release", "stage", "vendor")

    def __init__(self, release: Release, stage: tuple[int, int] = FINAL, vendor: str = "") -> None:
        self.release = (*release, 0, 0, 0)[: max(3, len(release))]
        self.stage = stage
        self.vendor = vendor

    @property
    def major(self) -> int:
        return self.release[0]

    @property
    def _key(self) -> tuple[Release, tuple[int, int]]:
        return self.release, self.stage

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._key == other._key

    def __lt__(self, other: Version) -> bool:
        return self._key < other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        stage = "" if self.stage == FINAL else f"-{STAGES[self.stage[0]]}{self.stage[1]}"
        return ".".join(map(str, self.release)) + stage

    def __repr__(self) -> str:
        return f"Version({self} {self.vendor!r})"


def parse_version(text: str) -> Version | None:
    """A bare version: ``1.0.0-rc93``, ``1.1.7-0ubuntu1~22.04.1``, ``v245.4``. None for anything unclear."""
    text = text.strip()
    release, rest = _release(text[1:] if text.startswith("v") else text)
    if not release or _between_releases(rest):
        return None
    if not rest:
        return Version(release)
    if rest[0] not in "-~+" and not rest.startswith("rc"):
        return None
    stage = _stage(rest)
    return Version(release, stage, text) if stage else None


def _release(text: str) -> tuple[Release, str]:
    """The dotted numbers that a text begins with, and what follows them."""
    parts = []
    rest = text
    while True:
        digits = _digits(rest)
        if not digits or len(digits) > PART_MAX:
            return (), text
        parts.append(int(digits))
        rest = rest[len(digits) :]
        if not (rest.startswith(".") and _digits(rest[1:])):
            return tuple(parts), rest
        rest = rest[1:]


def _digits(text: str) -> str:
    end = 0
    while end < len(text) and "0" <= text[end] <= "9":
        end += 1
    return text[:end]


def _stage(rest: str) -> tuple[int, int] | None:
    """The stage that a suffix names; FINAL for a distribution's revision, None for a stage without a number."""
    word = rest.lstrip("-~")
    for rank, name in enumerate(STAGES):
        if word.startswith(name):
            digits = _digits(word[len(name) :].lstrip("."))
            return (rank, int(digits)) if digits and len(digits) <= PART_MAX else None
    return FINAL


def _between_releases(rest: str) -> bool:
    """Whether a suffix is that of a development build, by word or by git-describe's ``-23-g1a2b3c4``."""
    words = rest.replace("+", "-").replace("~", "-").split("-")
    if any(word.startswith("dev") for word in words):
        return True
    for count, commit in zip(words, words[1:]):
        described = commit[:1] == "g" and len(commit) > 6 and not commit[1:].strip("0123456789abcdef")
        if described and count.strip("0"):
            return True
    return False


def parse_systemd(text: str) -> Version | None:
    """Systemd's version from the output of ``systemctl --version``, or from the D-Bus property Version.

    ``systemd 239 (239-78.0.4.al8)`` → 239 with its vendor text; ``v245.4`` and ``245.4-4ubuntu3.24`` → 245.4.
    """
    first = text.strip().partition("\n")[0].strip()
    if not first.startswith("systemd "):
        return parse_version(first)
    plain, _, rest = first[len("systemd ") :].partition("(")
    version = parse_version(plain)
    inner = rest.partition(")")[0].strip()
    if not version or not inner:
        return version
    exact = parse_version(inner)
    if exact and exact.major == version.major:
        return exact
    return Version(version.release, version.stage, inner)


def parse_runtime(text: str) -> tuple[str, Version | None]:
    """Kind (``runc``, ``crun`` or empty) and version from the output of a runtime's ``--version``.

    Wrappers print lines of their own first and pass the option on; the first line of a known runtime counts.
    """
    for line in text.splitlines():
        for kind in RUNTIMES:
            if line.startswith(f"{kind} version "):
                return kind, parse_version(line[len(kind) + len(" version ") :])
    return "", None
