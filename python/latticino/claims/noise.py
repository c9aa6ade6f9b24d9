"""Expected errors of slots, for reprs and plans: estimates, never used in a computation.

All are root mean squares of a slot's complex error. The rules are those of src/session/claims/slot_noise.h.
"""

from __future__ import annotations

from .._native import doubling as doubling
from .._native import encoded_error as encoded
from .._native import fresh_error as fresh
from .._native import key_error_alone as keys_alone
from .._native import multiplied_error as multiplied
from .._native import rescaled_error as rescaled
from .._native import switched_error as switched
from .._native import weight_scale as weight_scale

__all__ = ["doubling", "encoded", "fresh", "keys_alone", "multiplied", "rescaled", "switched", "weight_scale"]
