from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_oci_hook.core.versions import Version, parse_runtime, parse_systemd, parse_version


@pytest.mark.parametrize(
    ("text", "release", "vendor"),
    [
        ("systemd 249 (249.11-0ubuntu3.11)\n+PAM +AUDIT", (249, 11, 0), "249.11-0ubuntu3.11"),
        ("systemd 239 (239-58.el8)", (239, 0, 0), "239-58.el8"),
        ("systemd 239 (239-78.0.4.al8)", (239, 0, 0), "239-78.0.4.al8"),
        ("systemd 258.1 (258.1-2.fc43)", (258, 1, 0), "258.1-2.fc43"),
        ("systemd 219\n+PAM", (219, 0, 0), ""),
        ("systemd 249 (v249.17)", (249, 17, 0), ""),
        ("systemd 252 (something else)", (252, 0, 0), "something else"),
        ("systemd 252 (251.4)", (252, 0, 0), "251.4"),
        ("v245.4", (245, 4, 0), ""),
        ("245.4-4ubuntu3.24", (245, 4, 0), "245.4-4ubuntu3.24"),
        ("252.39-1~deb12u1", (252, 39, 0), "252.39-1~deb12u1"),
    ],
)
def test_systemd(text: str, release: tuple[int, ...], vendor: str) -> None:
    version = parse_systemd(text)
    assert version is not None
    assert (version.release, version.vendor) == (release, vendor)


def test_a_candidate_of_systemd_comes_before_the_release() -> None:
    candidate = parse_systemd("systemd 256~rc3 (256~rc3-1.fc41)")
    assert candidate is not None
    assert Version((255, 13)) < candidate < Version((256,))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("runc version 1.1.5\ncommit: v1.1.5-0-gaaaa\nspec: 1.0.2-dev", ("runc", "1.1.5")),
        ("runc version 1.1.7-0ubuntu1~22.04.1", ("runc", "1.1.7")),
        ("runc version 1.0.0-rc93", ("runc", "1.0.0-rc93")),
        ("runc version 1.0.0~rc93+ds1", ("runc", "1.0.0-rc93")),
        ("runc version 1.2.0-rc.1", ("runc", "1.2.0-rc.1")),
        ("runc version 1.1.5+ds1", ("runc", "1.1.5")),
        ("crun version 1.8.1\ncommit: f8a0", ("crun", "1.8.1")),
        ("crun version 0.17", ("crun", "0.17")),
        ("NVIDIA Container Runtime version 1.14.3\n\nrunc version 1.1.9\n", ("runc", "1.1.9")),
    ],
)
def test_runtimes(text: str, expected: tuple[str, str]) -> None:
    assert parse_runtime(text) == (expected[0], parse_version(expected[1]))


def test_order() -> None:
    texts = ["0.17", "1.0.0-rc9", "1.0.0-rc90", "1.0.0-rc93", "1.0.0", "1.1.7", "1.1.14", "1.2.0-rc.1", "1.2.0", "1.10"]
    versions = [parse_version(text) for text in texts]
    assert None not in versions
    assert versions == sorted(versions, key=lambda version: version._key if version else ())
    assert parse_version("1.1.7-0ubuntu1~22.04.1") == parse_version("1.1.7")
    assert parse_version("1.2.0-rc.1") > parse_version("1.1.7")  # type: ignore[operator]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "unknown",
        "(devel)",
        "1.1.6+dev",
        "1.2.0-dev",
        "1.1.6-23-g1a2b3c4",
        "258~devel",
        "1.0-rc",
        "1.x",
        "20240101120000",
        "-1.2",
        "1.2.3garbage",
        "systemd",
        "systemd (249)",
        "\u0661.\u0662",
    ],
)
def test_what_is_unclear_is_unknown(text: str) -> None:
    assert parse_systemd(text) is None
    assert parse_version(text) is None
    assert parse_runtime(f"runc version {text}") == ("runc", None)


def test_the_tagged_commit_itself_is_the_release() -> None:
    assert parse_version("1.1.14-0-g2c9f560") == parse_version("1.1.14")


@given(st.text() | st.text("0123456789.-~+rcgv ()systemd\n"))
def test_nothing_crashes(text: str) -> None:
    for prefix in ("", "systemd ", "runc version "):
        parse_systemd(prefix + text)
        kind, version = parse_runtime(prefix + text)
        assert version is None or kind


@given(st.lists(st.integers(0, 999), min_size=1, max_size=4), st.text("abcxyz.~+0123456789", max_size=9))
def test_a_distributions_suffix_changes_nothing(release: list[int], suffix: str) -> None:
    plain = ".".join(map(str, release))
    version = parse_version(f"{plain}-0{suffix}")
    assert version is None or version == parse_version(plain)
