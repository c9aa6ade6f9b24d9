"""More steps of random programs: functions on a domain, linear maps, products of encrypted
matrices, parts of complex numbers, variances, changes of level and files.

A fit is within its bits for every value, so claims of its results are bounds: they may be pessimistic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ...files.saving import from_bytes, to_bytes
from ...linear import convolve, diagonal_map

_ROOM = 1.1  # times the largest value: a bound for other data of the same distribution
_FEW = 64  # most values of an array for which steps with many diagonals are drawn


class Drawing(Protocol):
    """What a step uses of the program that is being drawn. `Drawing` of ckks_programs.py has these members."""

    clear: list[np.ndarray]
    others: list[list[np.ndarray]]
    rng: np.random.Generator

    @property
    def size(self) -> int: ...

    def one(self) -> int: ...

    def add(self, name: str, step: Callable[[Any], Any], cost: int, *used: int, left: int | None = None,
            apart: int | None = None) -> None:
        """Adds a step that uses these values."""


def _bound(d: Drawing, i: int, most: float) -> float | None:
    """A bound of the real values in all sets of data. None for complex values, and for values that are too small or too
    large for a step."""
    x = np.concatenate([np.asarray(v[i]).reshape(-1) for v in (d.clear, *d.others)])
    bound = _ROOM * float(np.abs(x).max())
    return None if np.iscomplexobj(x) or not 0.01 < bound < most else bound


def _is_clear(x: Any) -> bool:
    return isinstance(x, np.ndarray)


def _approximate(d: Drawing) -> None:
    i, f, bits = d.one(), (np.tanh, np.exp, np.sin)[int(d.rng.integers(3))], int(d.rng.integers(8, 20))
    bound = _bound(d, i, 8)
    if bound is not None:
        domain = (-_ROOM * bound, _ROOM * bound)
        d.add(f"approximate {f.__name__}", lambda v: f(v[i]) if _is_clear(v[i]) else v[i].approximate(f, domain, bits),
              7, i)


def _quotient(d: Drawing) -> None:
    """Adds an inverse, a root or a quotient. A constant is added first, so that the divisor has one sign."""
    i, j, kind, bits = d.one(), d.one(), int(d.rng.integers(4)), int(d.rng.integers(8, 20))
    bound = _bound(d, i, 100)
    if bound is None:
        return
    c, domain = 1.5 * bound, (0.4 * bound, 2.7 * bound)
    bits += max(0, int(-np.log2(bound)))

    def step(v: Any) -> Any:
        x, clear = v[i] + c, _is_clear(v[i])
        if kind == 0:
            return 1 / x if clear else x.inverse(domain, bits)
        if kind == 1:
            return 1 / np.sqrt(x) if clear else x.inverse_sqrt(domain, bits)
        if kind == 2:
            return np.sqrt(x) if clear else x.sqrt(domain, bits)
        return v[j] / x if clear else v[j].divide(x, domain, bits)

    d.add(("inverse", "inverse_sqrt", "sqrt", "quotient")[kind], step, 8, i, j)


def _in_pieces(d: Drawing) -> None:
    i, j, kind = d.one(), d.one(), int(d.rng.integers(4))
    bound, other = _bound(d, i, 4), _bound(d, j, 4)
    if bound is None:
        return
    bits, within = int(d.rng.integers(4, 8)) + max(0, int(np.ceil(-np.log2(bound)))), 1.3 * bound
    ends = (-0.3 * bound, 0.5 * bound)
    if kind == 0:
        d.add("abs", lambda v: np.abs(v[i]) if _is_clear(v[i]) else v[i].abs(within, bits), 9, i)
    elif kind == 1:
        d.add("relu", lambda v: np.maximum(v[i], 0) if _is_clear(v[i]) else v[i].relu(within, bits), 9, i)
    elif kind == 2:
        d.add("clip", lambda v: np.clip(v[i], *ends) if _is_clear(v[i]) else v[i].clip(*ends, within, bits), 10, i)
    elif other is not None and other <= within:
        d.add("maximum", lambda v: np.maximum(v[i], v[j]) if _is_clear(v[i]) else v[i].maximum(v[j], within, bits), 10,
              i, j)


def _part(d: Drawing) -> None:
    i, real = d.one(), bool(d.rng.integers(2))
    d.add("real" if real else "imag", lambda v: (v[i].real if real else v[i].imag) * 1, 1, i)


def _cumsum(d: Drawing) -> None:
    i = d.one()
    if d.size <= _FEW:
        d.add("cumsum", lambda v: v[i].cumsum(), 1, i, apart=1)


def _variance(d: Drawing) -> None:
    i = d.one()
    d.add("times variance", lambda v: v[i] * v[i].var(), 4, i, apart=1)


def _diagonals(d: Drawing) -> None:
    i, n = d.one(), d.size
    places = d.rng.integers(0, n, int(d.rng.integers(1, 5)))
    diagonals = {int(k): d.rng.uniform(-1, 1, n) if d.rng.integers(2) else np.full(n, d.rng.uniform(-1, 1))
                 for k in places}
    m = diagonal_map(diagonals, n)
    d.add("diagonal map", lambda v: sum(w * np.roll(v[i], -k) for k, w in diagonals.items())
          if _is_clear(v[i]) else m(v[i]), 1, i)


def _convolve(d: Drawing) -> None:
    i, w = d.one(), d.rng.uniform(-1, 1, 3)
    if d.size >= 3:
        d.add("convolve", lambda v: np.convolve(v[i], w, "same") if _is_clear(v[i]) else convolve(v[i], w, "same"),
              2, i)


def _to_level(d: Drawing) -> None:
    i = d.one()
    d.add("to_level", lambda v: v[i] if _is_clear(v[i]) or v[i].level < 2 else v[i].to_level(v[i].level - 1), 1, i)


def _file(d: Drawing) -> None:
    i = d.one()
    d.add("file", lambda v: v[i] if _is_clear(v[i]) or not v[i].context.encrypted or v[i].context.device == "dry"
          else from_bytes(to_bytes(v[i]), v[i].context), 0, i)


def _matrices(d: Drawing) -> None:
    i, j = d.one(), d.one()
    if d.size == _FEW:
        d.add("encrypted matmul", lambda v: (v[i].reshape(8, 8) @ v[j].reshape(8, 8)).reshape(-1), 3, i, j)


def _products(d: Drawing) -> None:
    i = d.one()
    if 4 <= d.size <= _FEW:
        d.add("times product", lambda v: v[i] * v[i][:4].prod(), 6, i, apart=1)


def _outer(d: Drawing) -> None:
    i, j = d.one(), d.one()
    if d.size <= _FEW:
        d.add("mean of an outer product", lambda v: (v[i].reshape(-1, 1) * v[j].reshape(1, -1)).mean(0), 4, i, j,
              apart=1)


def _times_tiny(d: Drawing) -> None:
    i, c = d.one(), float(d.rng.choice([1e-6, 1e-5, 1e-4, 1e4]))
    d.add("times tiny", lambda v: v[i] * c, 1, i)


def _times_large_integer(d: Drawing) -> None:
    i, c = d.one(), int(d.rng.integers(-3000, 3000))
    d.add("times large integer", lambda v: v[i] * c, 0, i)


STEPS: list[Callable[[Any], None]] = [
    _approximate, _approximate, _quotient, _quotient, _in_pieces, _in_pieces, _part, _cumsum, _variance, _diagonals,
    _convolve, _to_level, _file, _matrices, _products, _outer, _times_tiny, _times_large_integer]
