"""Final answers: ciphertexts that only contain what their owner needs to decrypt them."""

from __future__ import annotations

import math
from typing import Any, NoReturn

from .. import _native, errors
from .ciphertext import Ciphertext

_SHARE = 0.25  # part of the expected error that truncation may add; both together are 3 % larger, which is 0.04 bits


class Answer(Ciphertext):
    """An answer that ``lt.from_bytes`` read from ``lt.to_bytes(y, final=True)``. It can only be decrypted
    (``client.decrypt``). It lacks the coefficients that its values do not need, so operations raise
    UnsupportedError."""

    __slots__ = ()

    @property
    def _parts(self) -> list[_native.Ciphertext]:
        _refuse("compute")

    @property
    def _to_decrypt(self) -> list[_native.Ciphertext]:
        return self._held

    @property
    def _key(self) -> str:
        return self._held[0].key

    @property
    def level(self) -> int:
        """0."""
        return 0

    @property
    def scale(self) -> float:
        """The factor by which the values are multiplied inside the ciphertext."""
        return self._held[0].scale

    @property
    def slots(self) -> int:
        """Slots of each ciphertext behind this object."""
        return self._held[0].slots

    @property
    def nbytes(self) -> int:
        """Device memory of the ciphertexts."""
        return sum(p.bytes for p in self._held)

    def __repr__(self) -> str:
        return f"Answer(shape={self.shape}, slots={self.slots}, {self._precision()})"

    def __reduce__(self) -> NoReturn:
        _refuse("pickle")


def _refuse(operation: str) -> NoReturn:
    raise errors.UnsupportedError.explain(
        operation, "a final answer, which is for decrypting alone", "a ciphertext that can be computed with",
        "decrypt it, keep its bytes, or have it sent with lt.to_bytes(y)")


def misfits(y: Ciphertext, level: int = 0) -> list[tuple[str, str]]:
    """The reasons why the values of an array may not fit the modulus of a level to which `to_bytes` could bring it: for
    each reason what it has, and what it needs. Empty if they fit."""
    params = y.context.params
    scale = params.scale(level) if y.level > level else y.scale
    return [(had, needs) for had, needs, _ in _native.misfits(y._known, params, level, scale, y.layout.bound)]


def raised(y: Ciphertext) -> Ciphertext | None:
    """The array at the lowest level above 0 whose modulus its values fit. None if they fit level 0, or no level."""
    if not misfits(y):
        return None
    level = next((k for k in range(1, y.level + 1) if not misfits(y, k)), None)
    return None if level is None else y.to_level(level)


def to_bytes(y: Ciphertext, sign: Any, note: Any, version: int) -> bytes:
    """See files.to_bytes. ``note``: makes the note of an array with a given `Known`. ``version``: that of the format.
    """
    x = y.to_level(0) if y.level else y
    params, scale, slots = y.context.params, x.scale, x.slots
    factor = _factor(x)
    # If values may already wrap around at the array's own level, the claim at level 0 is an error as large as the
    # values. If they do not really wrap, because bounds are wider than the values, the error stays the one from before.
    weight = params.hamming_weight or 2 * params.n / 3
    # Where values may wrap even at the present level, the claim of what is at level 0 is an error as large as they are.
    # What does not wrap, because bounds are wider than the values, has the error from before.
    may_wrap = _native.fitting(x._known, x._parts[0], x.layout.bound) is not None
    error = y._known.error if may_wrap else x._known.error
    # A slot reads 2 n coefficients. Each part may add half of the allowed error.
    allowed = _SHARE * error * scale * factor / math.sqrt(2 * slots) * math.sqrt(12 / 2)
    shift_b, shift_a = _shift(x, allowed), _shift(x, allowed / math.sqrt(weight))
    variance = (_step(shift_b) ** 2 + weight * _step(shift_a) ** 2) / 12
    known = x._known.plus_error(math.sqrt(2 * slots * variance) / (scale * factor)).detached(x.size)
    return _native.ciphertexts_to_final_bytes(x._parts, note(x, known), factor, shift_b, shift_a, sign, version)


def _factor(x: Ciphertext) -> int:
    """The factor by which the answer can be multiplied so that it still stays within a quarter of the modulus. It is 1
    unless the range was declared."""
    if x.range.claim != "declared":
        return 1
    r = x.range
    bound = min(r.rms, math.hypot(max(abs(r.low), abs(r.high)), max(abs(r.imag_low), abs(r.imag_high))))
    bound = max(bound, x.layout.bound)  # size of the content of slots without values
    if not math.isfinite(bound):  # the product is infinite or NaN for an infinite bound
        return 1
    room = x.context.params.log_q(0) - 2 - math.log2(max(bound * x.scale, 1.0))
    return max(1, int(2.0 ** min(room, 40.0)))


def _shift(x: Ciphertext, step: float) -> int:
    """The number of low bits of a part that may be dropped if rounding to `step` is allowed."""
    most = math.ceil(x.context.params.log_q(0)) - 9  # files store at least 8 bits of each coefficient
    if step < 2 or math.isinf(step):  # if nothing is known about the error, nothing is rounded
        return 0
    return int(min(math.floor(math.log2(step)), most))


def _step(shift: int) -> float:
    return 2.0**shift if shift else 0.0
