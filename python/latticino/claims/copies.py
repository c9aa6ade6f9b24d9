"""Errors of values that rotations copy to other slots.

Rotations add up windows of slots. As an example, take 16 copies whose windows have 16 slots. A copy in the next slot
has the errors of the next window, and 15 of these are the same ones. So a part of an error is common to all copies of a
value, and the rest is each copy's own. A sum of the 16 copies errs by 13 times as much as one of them. It would be 16
times if all copies had one error, and 4 times if each had its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

CopyErrors = tuple[float, float]  # the error that all copies of a value have in common, and the own error of each copy


def errors_after_spreads(error: float, switched: float, spreads: Sequence[tuple[int, int]], slots: int) -> CopyErrors:
    """The errors of copies that are a step apart, for several steps and counts one after the other. `error`: before the
    rotations. `switched`: the error of each rotation."""
    variance = sum_variance = error * error  # of a copy; of the sum of all copies, divided by their number
    copies = 1
    for step, count in spreads:
        around = count * step % slots == 0  # a window has all slots
        rotated = switched * switched * (count - 1)
        # Later rotations add up the errors of 1, 2, 4 .. earlier ones. As many copies share these errors.
        widths = [1 << k for k in range((count - 1).bit_length())]
        of_rotations = sum(_window_variance(w, w, around) for w in widths) / max(sum(widths), 1)
        sum_variance = sum_variance * _window_variance(count, count, around) + rotated * of_rotations
        variance = variance * count + rotated
        copies *= count
    return _parts(variance, sum_variance, copies)


def errors_after_runs(error: float, switched: float, bits: int) -> CopyErrors:
    """Runs of copies that consist of windows of 1, 2, 4 .. slots, of so many bits."""
    widths, count = [1 << k for k in range(bits)], 1 << bits
    each = error * error + switched * switched
    return _parts(each * sum(widths), each * sum(_window_variance(w, count, False) for w in widths), count)


def _window_variance(width: int, count: int, around: bool) -> float:
    """The variance of the sum of `count` neighbouring windows of values of variance 1, divided by their number."""
    squares = width * width * count
    return (squares if around else squares - (width**3 - width) / 3) / count


def _parts(variance: float, sum_variance: float, copies: int) -> CopyErrors:
    common = min(max((sum_variance - variance) / (copies - 1), 0.0), variance) if copies > 1 else 0.0
    return math.sqrt(common), math.sqrt(variance - common)
