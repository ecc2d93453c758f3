"""Rules for all tests."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def unavailable(reason: str) -> NoReturn:
    """Skip the test for want of a prerequisite; where CI is set that is a failure instead."""
    if os.environ.get("CI"):
        pytest.fail(f"CI is set, so this must run: {reason}", pytrace=False)
    pytest.skip(reason)
