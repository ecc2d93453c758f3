"""A bundle on the command line: its spec, and the plan for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gpu_oci_hook.cli.errors import CommandError
from gpu_oci_hook.core.jsontext import JsonTextError, line_and_column
from gpu_oci_hook.core.rules import SpecError
from gpu_oci_hook.core.spec import Spec, parse_spec
from gpu_oci_hook.host.bundle import SpecFile, read_spec

if TYPE_CHECKING:
    import argparse


def add_bundle(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", metavar="BUNDLE", help="a folder with a config.json, or a spec's file itself")


def spec_path(bundle: str) -> str:
    """The file that a bundle argument means."""
    return os.path.join(bundle, "config.json") if os.path.isdir(bundle) or not os.path.exists(bundle) else bundle


def read_bundle(bundle: str) -> SpecFile:
    """The text of a bundle's spec. Raises host.bundle.BundleError."""
    return read_spec(spec_path(bundle))


def open_bundle(bundle: str) -> tuple[SpecFile, Spec]:
    """A bundle's spec, text and meaning. Raises CommandError for one that cannot be used."""
    file = read_bundle(bundle)
    try:
        return file, parse_spec(file.text)
    except JsonTextError as error:
        line, column = line_and_column(file.text, max(error.offset, 0))
        place = f":{line}:{column}" if error.offset >= 0 else ""
        raise CommandError(f"{file.path}{place} is not JSON: {error.message}") from error
    except SpecError as error:
        raise CommandError(
            f"{file.path}: {error.path}: {error.message}", "the runtime refuses such a spec as well"
        ) from error
