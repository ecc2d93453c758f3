"""Write the man page and the completions of gpu-oci-hook from its parser: ``make generate``.

They are kept in the repository, so that installing needs no generator; tests/unit/test_generated.py holds them to the
parser.
"""

from __future__ import annotations

import os
import sys

import shtab
from argparse_manpage.manpage import Manpage

from gpu_oci_hook import __version__
from gpu_oci_hook.cli.main import build_parser

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SECTIONS = os.path.join(REPOSITORY, "man/gpu-oci-hook.sections")


def generated() -> dict[str, str]:
    """The generated files: path in the repository → text."""
    os.environ["COLUMNS"] = "80"  # argparse wraps its usage lines to the terminal's width
    parser = build_parser([])
    parser.epilog = None  # man/gpu-oci-hook.sections says more of the exit codes
    summary = "keeps the GPUs of containers through systemd's reloads"  # without one, apropos does not find the page
    data = {"version": __version__, "project_name": "gpu-oci-hook", "manual_section": "8", "description": summary}
    page = str(Manpage(parser, {**data, "authors": [], "format": "single-commands-section"}))
    _, _, page = page.partition("\n")  # the title line carries the day it was made
    title = f'.TH GPU\\-OCI\\-HOOK 8 "" "gpu\\-oci\\-hook {__version__}"\n'
    with open(SECTIONS, encoding="utf-8") as file:
        page = title + page.rstrip("\n") + "\n\n" + file.read()
    return {
        "man/gpu-oci-hook.8": page,
        "completions/gpu-oci-hook.bash": shtab.complete(parser, "bash"),
        "completions/gpu-oci-hook.zsh": shtab.complete(parser, "zsh"),
    }


def stale() -> list[str]:
    """The generated files that are not what the parser says today."""
    found = []
    for path, text in generated().items():
        with open(os.path.join(REPOSITORY, path), encoding="utf-8") as file:
            if file.read() != text:
                found.append(path)
    return found


def main() -> int:
    if "--check" in sys.argv:
        sys.stdout.write("\n".join(stale()))
        return bool(stale())
    for path, text in generated().items():
        with open(os.path.join(REPOSITORY, path), "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
