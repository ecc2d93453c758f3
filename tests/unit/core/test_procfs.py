from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_oci_hook.core.procfs import parse_devices


def test_both_sections_shared_majors_and_names_with_slashes() -> None:
    text = (
        "Character devices:\n  4 /dev/vc/0\n  4 tty\n195 nvidia\n195 nvidiactl\n"
        "511 a b\n4095 far\n\nBlock devices:\n259 blkext\n"
    )
    assert parse_devices(text) == [
        ("c", 4, "/dev/vc/0"),
        ("c", 4, "tty"),
        ("c", 195, "nvidia"),
        ("c", 195, "nvidiactl"),
        ("c", 511, "a b"),
        ("c", 4095, "far"),
        ("b", 259, "blkext"),
    ]


@given(st.text())
def test_nonsense_is_passed_over(text: str) -> None:
    for kind, major, name in parse_devices("Character devices:\n" + text):
        assert kind in "cb"
        assert major >= 0
        assert name
