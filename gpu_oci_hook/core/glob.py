"""Shell patterns for node paths: ``*``, ``?``, ``[0-9]``, ``[!a]``. No wildcard crosses a slash.

The library's fnmatch needs re and functools, 9 ms of start-up that the create path does not have.
"""

from __future__ import annotations


def matches(pattern: str, path: str) -> bool:
    """Whether path fits pattern as a whole."""
    start = pattern.partition("*")[0].partition("?")[0].partition("[")[0]
    if not path.startswith(start):
        return False  # most paths end here, at a fraction of the cost
    parts, wanted = path[len(start) :].split("/"), pattern[len(start) :].split("/")
    return len(parts) == len(wanted) and all(map(_part_matches, wanted, parts))


def is_pattern(text: str) -> bool:
    return "*" in text or "?" in text or "[" in text


def _part_matches(pattern: str, name: str) -> bool:
    """Linear in practice: on a mismatch only the last star is moved on."""
    p = n = 0
    star = -1
    resume = 0
    while n < len(name):
        step = _match_one(pattern, p, name[n]) if p < len(pattern) and pattern[p] != "*" else 0
        if step:
            p += step
            n += 1
        elif p < len(pattern) and pattern[p] == "*":
            star, resume = p, n
            p += 1
        elif star >= 0:
            resume += 1
            p, n = star + 1, resume
        else:
            return False
    return pattern[p:].strip("*") == ""


def _match_one(pattern: str, p: int, char: str) -> int:
    """How many characters of the pattern at p stand for char; 0 if they do not."""
    if pattern[p] == "?":
        return 1
    end = pattern.find("]", p + 2)
    if pattern[p] != "[" or end < 0:
        return int(pattern[p] == char)
    chosen = pattern[p + 1 : end]
    negated = chosen[0] in "!^"
    return end - p + 1 if _in_set(chosen[negated:], char) != negated else 0


def _in_set(chosen: str, char: str) -> bool:
    i = 0
    while i < len(chosen):
        if i + 2 < len(chosen) and chosen[i + 1] == "-":
            if chosen[i] <= char <= chosen[i + 2]:
                return True
            i += 3
        else:
            if chosen[i] == char:
                return True
            i += 1
    return False
