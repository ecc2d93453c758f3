"""A drop-in file that is ours alone, for engines that merge such files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_oci_hook.engines.change import Change
from gpu_oci_hook.engines.request import Request
from gpu_oci_hook.engines.toml_edit import add_table, remove_table, set_value, without_empty
from gpu_oci_hook.engines.toml_text import Keys, decode, get, parse


def put_table(request: Request, path: str, keys: Keys, values: Mapping[str, Any], default: Keys, engine: str) -> Change:
    """The change that makes a table's values these; and sets the key that names the default, if that was asked for."""
    content = request.read(path)
    text = decode(path, content or b"")
    if request.set_default:
        text = set_value(path, text, default, request.runtime_name)
    old = get(parse(path, text), keys)
    if old != values:
        if old is not None:
            text = remove_table(path, text, keys)
        text = add_table(path, text, keys, values, f"uninstall with: gpu-oci-hook uninstall {engine}")
    return Change(path, content, text.encode())


def take_out(request: Request, path: str, tables: list[Keys], default: Keys, names: list[str]) -> Change | None:
    """The change that takes tables out of a file, and the default if it is one of the names; None if it has neither.

    A file in which nothing is left is deleted.
    """
    content = request.read(path)
    if content is None:
        return None
    text = decode(path, content)
    for keys in tables:
        if get(parse(path, text), keys) is not None:
            text = remove_table(path, text, keys)
    if get(parse(path, text), default) in names:
        text = set_value(path, text, default, None)
    if text.encode() == content:
        return None
    return Change(path, content, text.encode() if without_empty(parse(path, text)) else None)
