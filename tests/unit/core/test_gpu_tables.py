"""The driver's files in /proc: GPU information, capability minors, PCI addresses."""

from __future__ import annotations

import pytest

from gpu_oci_hook.core.gpus import parse_address
from gpu_oci_hook.core.procfs import parse_capability_minors, parse_information


def test_information_has_blanks_and_tabs() -> None:
    fields = parse_information("GPU UUID: \t GPU-a\nBus Location: \t 0000:0f:00.0\nDevice Minor: \t 2\nnonsense\n")
    assert fields == {"GPU UUID": "GPU-a", "Bus Location": "0000:0f:00.0", "Device Minor": "2"}


def test_capability_minors_pass_over_nonsense() -> None:
    text = (
        "config 1\nmonitor 2\ngpu0/gi1/access 12\ngpu0/gi1/ci0/access x\n\ngpu1/gi1/access 1048576\n-1 -1\nconfig 9\n"
    )
    assert parse_capability_minors(text) == {"config": 1, "monitor": 2, "gpu0/gi1/access": 12}


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0000:0f:00.0", (0, 15, 0, 0)),
        ("00000000:0F:00.0", (0, 15, 0, 0)),
        ("0:f:0", (0, 15, 0, 0)),
        ("10000:af:1f.7", (0x10000, 0xAF, 0x1F, 7)),
        ("0f:00.0", None),
        ("0000:0f:00:0", None),
        ("0000:0f:00.x", None),
        ("0000:+f:00.0", None),
        ("0000::00.0", None),
        ("000000000:0f:00.0", None),
        ("", None),
        (":::", None),
    ],
)
def test_addresses(text: str, address: tuple[int, int, int, int] | None) -> None:
    assert parse_address(text) == address
