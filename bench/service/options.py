"""Types of options: a program refuses numbers that it cannot measure with, before it starts a service."""

from __future__ import annotations

import argparse
import math


def positive(text: str) -> float:
    """A number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not (math.isfinite(number) and number > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return number


def not_negative(text: str) -> float:
    """A number of 0 or more."""
    return 0.0 if text.strip() == "0" else positive(text)
