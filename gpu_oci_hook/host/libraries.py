"""Reaching libraries from the create path, which runs with -I -S and knows only what lies beside our package."""

from __future__ import annotations

import sys


def reach() -> None:
    """Make a distribution's own packages importable: what ``-S`` left out is made up for."""
    if sys.flags.no_site:
        import site

        site.main()
