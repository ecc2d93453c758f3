from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_oci_hook.core import glob


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("/dev/nvidia[0-9]*", "/dev/nvidia0", True),
        ("/dev/nvidia[0-9]*", "/dev/nvidia12", True),
        ("/dev/nvidia[0-9]*", "/dev/nvidiactl", False),
        ("/dev/nvidia[0-9]*", "/dev/nvidia-caps/nvidia-cap1", False),
        ("/dev/nvidia-caps/nvidia-cap[0-9]*", "/dev/nvidia-caps/nvidia-cap21", True),
        ("/dev/*", "/dev/dri/card0", False),
        ("/dev/?", "/dev/a", True),
        ("/dev/[!a]", "/dev/b", True),
        ("/dev/[!a]", "/dev/a", False),
        ("/dev/a]", "/dev/a]", True),
        ("/dev/[a", "/dev/[a", True),
        ("*a*b", "xaxbxb", True),
        ("", "", True),
        ("*", "", True),
    ],
)
def test_matches(pattern: str, path: str, expected: bool) -> None:
    assert glob.matches(pattern, path) is expected


@given(st.text("ab[]!-*?", max_size=8), st.text("ab-!]", max_size=8))
def test_agrees_with_the_library_where_both_know_the_pattern(pattern: str, name: str) -> None:
    if "[" in pattern:  # corners of bracket expressions differ between all implementations
        return
    assert glob.matches(pattern, name) == fnmatch.fnmatchcase(name, pattern)


def test_many_stars_take_no_time() -> None:
    assert not glob.matches("*a" * 40, "a" * 39 + "b")
