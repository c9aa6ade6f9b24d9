"""Types of options on command lines. Each refuses a number that its program cannot use, before the work starts."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def count(least: int, most: int = 10**9) -> Callable[[str], int]:
    """An integer from ``least`` to ``most``."""

    def whole(text: str) -> int:
        number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else least - 1
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no integer from {least} to {most}")
        return number

    return whole
