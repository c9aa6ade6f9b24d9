"""Expected errors of slots, for reprs and plans: estimates, never used in a computation.

All are standard deviations of a slot's complex error. For a ring of degree N, a coefficient error
of standard deviation e is a slot error of e * sqrt(N) (each slot sums N independent terms of
modulus one). The formulas assume messages about as large as the unit box.
"""

from __future__ import annotations

import math

from . import _native

SIGMA = 3.19  # of fresh errors, as in the 128-bit table (rlwe/client.h)


def secret_weight(params: _native.Params) -> float:
    """Expected number of non-zero coefficients of the secret: 2N/3 if it is uniform ternary."""
    return params.hamming_weight or 2 * params.n / 3


def fresh(params: _native.Params, scale: float, public: bool = False) -> float:
    """A fresh encryption: e under the secret key; e0 + e1 s + v e under the public key."""
    terms = 1 + secret_weight(params) + 2 * params.n / 3 if public else 1
    return SIGMA * math.sqrt(terms * params.n) / scale


def rounding(params: _native.Params, scale: float) -> float:
    """A rescale or key switch: rounding errors, uniform with variance 1/12, in b and in a s."""
    return math.sqrt((1 + secret_weight(params)) / 12 * params.n) / scale


def bits(error: float) -> float:
    """Bits of precision that an error of this standard deviation leaves on average.

    The modulus of a complex Gaussian of total deviation s has mean s * sqrt(pi) / 2.
    """
    return -math.log2(error * math.sqrt(math.pi) / 2) if error > 0 else math.inf
