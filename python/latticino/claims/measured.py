"""The real errors of ciphertexts, which the owner of the key can measure, next to the claimed ones."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from ..common import display, roles
from ..common.private import PrivateArray

_MARK = "not to be shared: it depends on the secret key"


class Noise(roles.Handle):
    """The measured error of a ciphertext, beside its claim. **Not to be shared**: it depends on the secret key.

    ``mean``, ``worst`` and ``rms``: of the absolute errors of its values; ``bits`` and ``worst_bits``: ``-log2`` of the
    mean and of the worst. These are `PrivateArray` of shape (). ``claimed_bits`` and ``claimed_worst_bits`` are what
    the ciphertext claims, and ``claim`` says what that rests on. ``basis``: ``"values"`` that were given, or
    ``"imaginary parts"``.
    """

    def __init__(self, error: np.ndarray, claimed: tuple[float, float], claim: str, basis: str) -> None:
        own = [error.mean(), error.max(), math.sqrt(float((error**2).mean()))]
        self.mean, self.worst, self.rms = (_private(v) for v in own)
        self.bits, self.worst_bits = (_private(math.inf if v == 0 else -math.log2(v)) for v in own[:2])
        self.claimed_bits, self.claimed_worst_bits = claimed
        self.claim, self.basis = claim, basis

    def _facts(self) -> list[tuple[str, Any]]:
        mean, worst, rms, bits, worst_bits = (
            float(x.unmarked()) for x in (self.mean, self.worst, self.rms, self.bits, self.worst_bits))
        return [("mean error", f"{mean:.3g}"), ("worst error", f"{worst:.3g}"), ("root mean square", f"{rms:.3g}"),
                ("measured", f"{bits:.1f} bits, worst value {worst_bits:.1f}"),
                ("claimed", f"{self.claimed_bits:.1f} bits, worst value {self.claimed_worst_bits:.1f} ({self.claim})"),
                ("measured on", self.basis)]

    def __repr__(self) -> str:
        return "\n".join([*(f"{name:<18} {value}" for name, value in self._facts()), f"# {_MARK}"])

    def _repr_html_(self) -> str:
        return display.facts("Noise", self._facts(), [_MARK])

    def __reduce__(self) -> NoReturn:
        roles.refuse_pickle("measured noise, which depends on the secret key", "what others may see",
                            "keep it with the key's owner")


class TfheNoise(roles.Handle):
    """The measured noise of an array, beside its estimate. **Not to be shared**: it depends on the secret key.

    ``deviation`` and ``worst`` of the phase's error in units of the torus, `PrivateArray` of shape (); ``expected``:
    the deviation that the array counts with; ``count`` of ciphertexts; ``margin``: the error, in units of the torus,
    from which on a value decrypts wrong.
    """

    def __init__(self, error: np.ndarray, expected: float, margin: float) -> None:
        self.deviation, self.worst = _private(math.sqrt(float((error**2).mean()))), _private(np.abs(error).max())
        self.expected, self.count, self.margin = expected, error.size, margin

    def _facts(self) -> list[tuple[str, Any]]:
        deviation, worst = (float(x.unmarked()) for x in (self.deviation, self.worst))
        return [("deviation", f"2^{_log2(deviation):.2f}"), ("counted with", f"2^{_log2(self.expected):.2f}"),
                ("worst", f"2^{_log2(worst):.2f}"), ("wrong from", f"2^{_log2(self.margin):.2f}"),
                ("ciphertexts", self.count)]

    def __repr__(self) -> str:
        return "\n".join([*(f"{name:<18} {value}" for name, value in self._facts()), f"# {_MARK}"])

    def _repr_html_(self) -> str:
        return display.facts("Noise, in units of the torus", self._facts(), [_MARK])

    def __reduce__(self) -> NoReturn:
        roles.refuse_pickle("measured noise, which depends on the secret key", "what others may see",
                            "keep it with the key's owner")


def _log2(x: float) -> float:
    return math.log2(x) if x > 0 else -math.inf


def _private(value: Any) -> PrivateArray:
    return np.array(float(value)).view(PrivateArray)
