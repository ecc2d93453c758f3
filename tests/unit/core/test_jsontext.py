from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_oci_hook.core import jsontext

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
WATCH = (("a", "b", "c"),)


@given(values, st.sampled_from([None, 0, 2, "\t"]))
def test_reads_what_json_reads(value: Any, indent: Any) -> None:
    assert jsontext.parse(json.dumps(value, indent=indent), WATCH).value == value


@given(values, st.sampled_from([None, 2, "\t"]))
def test_spans_are_the_text_of_the_member(value: Any, indent: Any) -> None:
    document = jsontext.parse(json.dumps({"x": [1], "a": {"b": {"y": "}", "c": value}}}, indent=indent), WATCH)
    start, end = document.spans["a", "b", "c"]
    assert json.loads(document.text[start:end]) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "{'a':1}",
        '{"a" 1}',
        '{"a":1',
        '{"a":1,}',
        '{"a":}',
        "[1,]",
        "nul",
        "NaN",
        "[Infinity]",
        "{}x",
        "{} {}",
        '"\x01"',
        '"\\ud800',
        "\ufeff{}",
        "01",
        "1.",
        '{"a":1,"a":2}',
        '{"z":{"a":1,"a":2}}',
        '{"a":{"b":{"c":1,"c":2}}}',
        "[" * 200_000,
        '{"a":' * 100_000,
        "1" * 10_000 if sys.version_info >= (3, 11) else "-",
    ],
)
def test_refuses(text: str) -> None:
    with pytest.raises(jsontext.JsonTextError) as caught:
        jsontext.parse(text, WATCH)
    assert caught.value.message


def test_refuses_with_json_not_loaded() -> None:
    """Python 3.11's scanner ends in SystemError there."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from gpu_oci_hook.core import jsontext\n"
        "try: jsontext.parse('\"\\x01\"')\n"
        "except jsontext.JsonTextError as error: print(error.message)"
    )
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program, here], capture_output=True, text=True, check=True)
    assert "control character" in done.stdout


def test_line_and_column() -> None:
    assert jsontext.line_and_column("{\n  x", 4) == (2, 3)
    assert jsontext.line_and_column("x", 0) == (1, 1)


@given(st.text())
def test_quote_is_what_json_writes(text: str) -> None:
    assert json.loads(jsontext.quote(text)) == text
