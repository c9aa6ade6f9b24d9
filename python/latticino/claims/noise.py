"""Expected errors of slots, for reprs and plans: estimates, never used in a computation.

All are standard deviations of a slot's complex error. In a ciphertext of n slots a coefficient error
of standard deviation e is a slot error of ``e * sqrt(2 n)``: decoding reads 2 n coefficients, and each
slot is a sum of them with factors of modulus one. Variances of coefficients are those of
src/rlwe/noise.h, which tests hold measurements to. Messages are taken to be of unit size.
"""

from __future__ import annotations

import math

from .. import _native


def _slot(variance: float, slots: int, scale: float) -> float:
    return math.sqrt(2 * slots * variance) / scale


def fresh(params: _native.Params, scale: float, slots: int, public: bool = False) -> float:
    """A fresh encryption under the secret key, or under the public one."""
    return _slot(_native.fresh_variance(params, public), slots, scale)


def rescaled(params: _native.Params, level: int, slots: int, scale: float) -> float:
    """What a division from `level` to the level below adds, at the scale there."""
    return _slot(_native.rescale_variance(params, level), slots, scale)


def switched(params: _native.Params, level: int, slots: int, scale: float) -> float:
    """What a key switch at `level` adds: a rotation or a conjugation."""
    return _slot(_native.key_switch_variance(params, level), slots, scale)


def keys_alone(params: _native.Params, level: int, slots: int, scale: float) -> float:
    """The part of `switched` that comes from the errors of the key, without the division by P after it: what rotations
    leave that share one division (a matrix product's)."""
    # Merged with a rescaling, a key switch has the same division, and next to nothing of the key's errors.
    division = _native.key_switch_rescale_variance(params, level) - _native.rescale_variance(params, level)
    return _slot(max(0.0, _native.key_switch_variance(params, level) - division), slots, scale)


def multiplied(params: _native.Params, level: int, slots: int, scale: float) -> float:
    """What a key switch adds that goes to the level below, at the scale there: a product."""
    return _slot(_native.key_switch_rescale_variance(params, level), slots, scale)


def encoded(slots: int, scale: float) -> float:
    """What rounding a plain factor at `scale` adds to its slots: 1/12 for each of 2 n coefficients."""
    return math.sqrt(slots / 6) / scale


def doubling(count: int) -> float:
    """How often the error of one key switch counts where `count` parts of the slots are added up.

    Each of the log2(count) steps doubles what steps before it left in the coefficients that the slots
    of the result read: the root of 1 + 4 + 16 + ...
    """
    return math.sqrt((count * count - 1) / 3)


def bits(error: float) -> float:
    """Bits of precision that an error of this standard deviation leaves on average.

    The modulus of a complex Gaussian of total deviation s has mean s * sqrt(pi) / 2.
    """
    return -math.log2(error * math.sqrt(math.pi) / 2) if error > 0 else math.inf
