"""Types of command-line options. A program refuses numbers that it cannot measure with before it
starts a service."""

from __future__ import annotations

import argparse
import math


def positive(text: str) -> float:
    """A number above 0."""
    number = _finite(text)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return number


def not_negative(text: str) -> float:
    """A number of 0 or more."""
    number = _finite(text)
    if not number >= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of 0 or more")
    return number


def _finite(text: str) -> float:
    """NaN if the text is no finite number."""
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan
