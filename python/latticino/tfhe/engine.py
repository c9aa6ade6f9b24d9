"""The engines that compute: the evaluator of the C++ core under a key, or plain numpy for values that are not
encrypted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _native, errors
from .._native import Comparison, Gate
from . import types

if TYPE_CHECKING:
    from .context import Context


def take(parts: Any, places: np.ndarray) -> Any:
    """The elements at flat places, in that order."""
    places = np.ascontiguousarray(places, dtype=np.uint32)
    if isinstance(parts, Values):
        return Values(parts.values[places], parts.bits)
    return _native.tfhe_take(parts, places)


def concatenate(several: list[Any]) -> Any:
    """Joins batches, one after the other."""
    if isinstance(several[0], Values):
        return Values(np.concatenate([p.values for p in several]), several[0].bits)
    return _native.tfhe_concatenate(several)


def count(parts: Any) -> int:
    """The number of elements of a batch."""
    return parts.values.size if isinstance(parts, Values) else parts[0].size


class Values(NamedTuple):
    """Plain values, flat uint64, in the place of ciphertexts. 0 bits: booleans."""

    values: np.ndarray
    bits: int


_LOGIC = {Gate.And: np.bitwise_and, Gate.Or: np.bitwise_or, Gate.Xor: np.bitwise_xor}
TRUTH = {gate: tuple(_native.gate_truth(gate)) for gate in Gate}  # results at (0, 0), (0, 1), (1, 0), (1, 1)
_ORDER = {Comparison.Less: np.less, Comparison.LessEqual: np.less_equal, Comparison.Equal: np.equal,
          Comparison.NotEqual: np.not_equal, Comparison.GreaterEqual: np.greater_equal,
          Comparison.Greater: np.greater}


def _cut(values: np.ndarray, bits: int) -> Values:
    return Values(values & np.uint64(types.most_of(bits)), bits)


class NotEncryptedEvaluator:
    """The functions of _native.TfheEvaluator on values in the clear, for debugging at full speed."""

    def __init__(self, block_bits: int, plain_bits: int) -> None:
        self._block, self._plain = block_bits, plain_bits

    def clear(self, values: np.ndarray, bits: int) -> Values:
        return Values(values, bits)

    def zero(self, like: Values, blocks: int) -> Values:
        return Values(np.zeros(like.values.size, np.uint64), blocks * self._block)

    def logic(self, gate: Gate, x: Values, y: Values) -> Values:
        return Values(np.array(TRUTH[gate], np.uint64)[2 * x.values + y.values], 0)

    def invert(self, x: Values, integer: bool) -> Values:
        return Values(x.values ^ np.uint64((1 << (x.bits or 1)) - 1), x.bits)

    def bitwise(self, gate: Gate, x: Values, y: Values) -> Values:
        return Values(_LOGIC[gate](x.values, y.values), x.bits)

    def compare(self, what: Comparison, x: Values, y: Values) -> Values:
        return Values(_ORDER[what](x.values, y.values).astype(np.uint64), 0)

    def select(self, condition: Values, x: Values, y: Values) -> Values:
        return Values(np.where(condition.values == 1, x.values, y.values), x.bits)

    def add(self, x: Values, y: Values) -> Values:
        return _cut(x.values + y.values, x.bits)

    def sub(self, x: Values, y: Values) -> Values:
        return _cut(x.values - y.values, x.bits)

    def multiply(self, x: Values, y: Values) -> Values:
        return _cut(x.values * y.values, x.bits)

    def add_full(self, x: Values, y: Values) -> Values:
        return self.add(x, y)

    def sub_full(self, x: Values, y: Values) -> Values:
        return self.sub(x, y)

    def multiply_full(self, x: Values, factor: int) -> Values:
        return _cut(x.values * np.uint64(factor % 2**64), x.bits)

    def to_full(self, x: Values) -> Values:
        return Values(x.values, -self._plain)

    def rerandomize(self, x: Values) -> Values:
        return x

    def minimum(self, x: Values, y: Values) -> Values:
        return Values(np.minimum(x.values, y.values), x.bits)

    def maximum(self, x: Values, y: Values) -> Values:
        return Values(np.maximum(x.values, y.values), x.bits)

    def sum(self, x: list[Values]) -> Values:
        return _cut(np.asarray(np.sum([term.values for term in x], axis=0, dtype=np.uint64)), x[0].bits)

    def shift(self, x: Values, bits: int, left: bool) -> Values:
        if bits < 0:
            raise errors.ValueError.explain("shift", f"a shift by {bits}", "0 or more", "shift the other way")
        return self.shift_by(x, Values(np.uint64(min(bits, 64)) + np.zeros_like(x.values), 8), left)

    def shift_by(self, x: Values, amount: Values, left: bool) -> Values:
        inside = amount.values < x.bits  # numpy does not define longer shifts
        by = np.where(inside, amount.values, 0).astype(np.uint64)
        moved = x.values << by if left else x.values >> by
        return _cut(np.where(inside, moved, 0).astype(np.uint64), x.bits)

    def lookup(self, x: Values, blocks: list[int], values: list[np.ndarray]) -> list[Values]:
        widths = [-self._plain if n < 0 else n * self._block for n in blocks]
        return [Values(v[x.values], bits) for bits, v in zip(widths, values, strict=True)]

    def lookup_full(self, x: Values, blocks: list[int], values: list[np.ndarray]) -> list[Values]:
        return self.lookup(x, blocks, values)

    def lookup_pair(self, x: Values, y: Values, blocks: list[int], values: list[np.ndarray],
                    columns: int) -> list[Values]:
        return self.lookup(Values(x.values * np.uint64(columns) + y.values, 0), blocks, values)


def resize(context: Context, parts: Any, blocks: int, block_bits: int) -> Any:
    """Integers of another width: blocks of zero above, or the upper ones cut off."""
    if isinstance(parts, Values):
        return _cut(parts.values, blocks * block_bits)
    if blocks <= len(parts):
        return parts[:blocks]
    return parts + context._evaluator_of(parts).zero(parts, blocks - len(parts))
