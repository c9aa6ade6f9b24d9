"""Numbers of options: what a program cannot measure with is refused before it starts a service."""

from __future__ import annotations

import argparse
import math


def count(text: str) -> int:
    """An integer of 1 or more."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no integer of 1 or more")
    return number


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
