"""Errors of copies that rotations make: the part that all copies have in common, and the part of each copy."""

import math

import numpy as np
import pytest

from latticino.claims import copies
from latticino.ops import moves

SLOTS = 64
STEPS = {"some slots": ((4, 8),), "neighbours": ((1, 16),), "all slots": ((1, 64),), "two axes": ((1, 4), (8, 8)),
         "no power of two": ((3, 5),), "half of the slots": ((2, 16), (1, 2))}
# For windows of two axes that share slots, and for rotations that are not doublings, errors are only estimated.
ROUGH = {"no power of two": 0.7, "half of the slots": 0.4}


class Rotations:
    """Adds up rows of slots as the evaluator adds up ciphertexts, with noise at each rotation."""

    def __init__(self, rng, switched):
        self.rng, self.switched = rng, switched

    def rotate(self, x, k):
        return np.roll(x, -k, axis=1) + self.switched * self.rng.normal(size=x.shape)

    def add(self, x, y):
        return x + y


def made(found, value, sums):
    """The variance of a copy and that of the sum, from the parts."""
    common, own = found
    return common**2 + own**2, sums**2 * common**2 + sums * own**2


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("error, switched", [(1.0, 0.0), (0.0, 1.0), (1.0, 2.0)])
def test_copies_of_spreads(rng, name, error, switched):
    """20,000 runs: the variances deviate by 1 %, and by up to 2 % where all slots have one error."""
    x = error * rng.normal(size=(20_000, SLOTS))
    e, places = Rotations(rng, switched), np.zeros(1, int)
    for step, count in STEPS[name]:
        x, = moves.windows(e, [x], -step, count, SLOTS)
        places = (places[:, None] + step * np.arange(count)).reshape(-1) % SLOTS
    variance, of_sum = made(copies.errors_after_spreads(error, switched, STEPS[name], SLOTS), error, len(places))
    assert x[:, places].var() == pytest.approx(variance, rel=0.3 if name == "no power of two" else 0.05)
    assert x[:, places].sum(axis=1).var() == pytest.approx(of_sum, rel=ROUGH.get(name, 0.08))


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_copies_of_runs(rng, bits):
    """A run of 15 copies has windows of 1, 2, 4 and 8 slots."""
    count, (common, own) = 2**bits - 1, copies.errors_after_runs(1.0, 0.0, bits)
    total = np.zeros((20_000, SLOTS))
    for k in range(bits):
        window, = moves.windows(Rotations(rng, 0.0), [rng.normal(size=total.shape)], -1, 1 << k, SLOTS)
        total += window
    assert total.var() == pytest.approx(common**2 + own**2, rel=0.03)
    assert total[:, :count].sum(axis=1).var() == pytest.approx(count**2 * common**2 + count * own**2, rel=0.2)


def test_what_is_not_copied_has_its_own_error():
    assert copies.errors_after_spreads(2.0, 1.0, (), SLOTS) == (0.0, 2.0)
    common, own = copies.errors_after_spreads(1.0, 0.0, ((1, SLOTS),), SLOTS)
    assert common == pytest.approx(math.sqrt(SLOTS)) and own == pytest.approx(0.0, abs=1e-9)
