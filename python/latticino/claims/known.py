"""What is known of an encrypted array: where its values lie, and how large its error is expected to be.

The rules are those of src/session. Where sample data are there as well, every operation is also done on them in the
clear: once exactly, and ``REPLICAS`` times with noise of the sizes that the rules say. What is claimed is then what the
samples show. Random numbers here are statistics, not secrets: a fixed seed is enough.
"""

from __future__ import annotations

import hashlib
import math
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any

import numpy as np

from .. import _native, arrays, errors
from ..common.layout import Layout
from . import noise

REPLICAS = 4
_MOST_SAMPLES = 1 << 22  # values of a sample with its replicas: 64 MiB
_HARDLY_COMPLEX = 1e-150j
_FEW = 256  # values, below which errors are averaged over replicas as root mean squares
# A margin on expected largest errors: of 5,600 results of the fuzz the furthest exceeded its own by 1.35 bits, and a
# claim may be too small by 1 bit at most.
_MORE_THAN_EXPECTED = 2.0**0.5
_MOST_BY_CHANCE = 4.0  # times what samples of a few values show, the error may be
_MEAN = math.sqrt(math.pi) / 2  # of the modulus of a complex Gaussian, in units of its root mean square
_REAL_MEAN = 1 / math.sqrt(math.pi)  # of the size of its real part
_DOUBLE = 2.0**-52  # relative: what encoding and decoding in double precision lose
_PACKAGE = str(Path(__file__).parents[1])
_local = threading.local()


class RangeWarning(UserWarning):
    """Values may leave the range that the parameters allow, or that was assumed. Results may then be wrong."""


class Range:
    """Where values lie: real parts within ``low`` to ``high``, imaginary parts within ``imag``.

    ``rms``: their root mean square, if known; ``random``: whether they are without structure (no mean, no pattern),
    which lets a bootstrapping keep more levels. What is stated here is public: it travels with ciphertexts and files.
    ValueError for ends that are not finite or not in order.
    """

    def __new__(  # type: ignore[misc]  # what it makes is of the extension
            cls, low: float = -1.0, high: float = 1.0, imag: tuple[float, float] = (0.0, 0.0),
            rms: float | None = None, random: bool = False) -> _native.Range:
        low, high = arrays.as_real(low, "Range", "low"), arrays.as_real(high, "Range", "high")
        bottom, top = (arrays.as_real(x, "Range", "imag") for x in _pair(imag, "imag"))
        return _native.Range.declared(low, high, bottom, top,
                                      0.0 if rms is None else arrays.as_real(rms, "Range", "rms"),
                                      arrays.as_flag(random, "Range", "random"))


def _pair(x: Any, name: str) -> tuple[Any, Any]:
    try:
        low, high = x
    except Exception as why:  # whatever iterating over an object raises
        raise errors.ValueError.explain(
            "Range", f"{name}={arrays.shown(x)}", "two ends", f"pass {name}=(low, high)") from why
    return low, high


def as_range(x: Any) -> _native.Range:
    """A range, or one of real values from its two ends."""
    if isinstance(x, _native.Range):
        return x
    low, high = _pair(x, "range")
    return Range(low, high)


def generator() -> np.random.Generator:
    """Of this thread."""
    if not hasattr(_local, "generator"):
        _local.generator = np.random.default_rng(20240229)
    own: np.random.Generator = _local.generator
    return own


def _noisy(sample: np.ndarray, rms: float | np.ndarray) -> np.ndarray:
    """With white complex noise in all replicas, of one size or one for each value; the first row is exact."""
    if np.any(rms):
        shape = sample[1:].shape
        noise = generator().standard_normal((2, *shape)) * (rms * math.sqrt(0.5))
        sample[1:] += noise[0] + 1j * noise[1]
    return sample


def _inner_gain(coefficients: list[complex], y: np.ndarray) -> np.ndarray:
    """How much of the error of one product reaches a polynomial in powers of y: its own, and those of y^2, y^4 ..,
    times the derivative of the result by them. That of the evaluation itself counts once."""
    squares, c = np.ones(y.shape), np.asarray(coefficients)
    g = 2
    while g < len(c):
        k = np.arange(g, len(c))
        squares += np.abs(np.polynomial.polynomial.polyval(y, c[g:] * k / g)) ** 2
        g *= 2
    return np.sqrt(squares)


class Known:
    """Range and error of an array, with samples where there are some. Immutable."""

    __slots__ = ("estimate", "measured", "sample", "shadow", "_white")

    def __init__(self, estimate: _native.Estimate, sample: np.ndarray | None = None,
                 measured: tuple[float, float] | None = None, shadow: bool = False, white: float | None = None) -> None:
        # What of a sample's error lies in all coefficients, not in those alone that the slots decode from; None: all.
        self._white = None if sample is None else white
        # A shadow holds the values themselves: nothing is claimed from it.
        self.shadow = shadow and sample is not None
        if sample is not None and not self.shadow:
            estimate = estimate.with_range(range_of_sample(sample[0], estimate.range.is_real))
        self.estimate, self.sample, self.measured = estimate, sample, measured

    @classmethod
    def with_shadow(cls, known: _native.Range, error: float, values: np.ndarray) -> Known:
        """Of an encryption, with its very values, exact and with noise: for debugging."""
        rows = np.repeat(np.asarray(values, dtype=np.complex128)[None], 2, axis=0)
        return cls(_native.Estimate(known, error), _noisy(rows, error), None, True)

    def _with(self, estimate: _native.Estimate, sample: np.ndarray | None = None, other: Known | None = None,
              white: float | None = None) -> Known:
        """The result of an operation on this (and another)."""
        return Known(estimate, sample, None, self.shadow or (other is not None and other.shadow), white)

    @classmethod
    def fresh(cls, known: _native.Range, error: float, sample: np.ndarray | None = None) -> Known:
        """Of an encryption. Samples too large to be computed with give their range alone."""
        if sample is None:
            return cls(_native.Estimate(known, error))
        exact = np.asarray(sample, dtype=np.complex128)
        known = range_of_sample(exact, not np.iscomplexobj(sample))
        if exact.size * (REPLICAS + 1) > _MOST_SAMPLES:
            return cls(_native.Estimate(known, error))
        rows = np.repeat(exact[None], REPLICAS + 1, axis=0)
        return cls(_native.Estimate(known, error), _noisy(rows, error))

    # ---- facts ----

    @property
    def range(self) -> _native.Range:
        return self.estimate.range

    @property
    def error(self) -> float:
        """Root mean square of a slot's complex error."""
        if self.sample is None or self.shadow:
            if self.measured:
                return self.measured[0] / (_REAL_MEAN if self.range.is_real else _MEAN)
            return self.estimate.rms
        return self.error_seen

    @property
    def error_seen(self) -> float:
        """The same as a sample shows it, where there is one: claims may be pessimistic, and add up where results come
        back in, so the errors of a shadow do not follow them."""
        if self.sample is None:
            return self.error
        return float(np.sqrt((np.abs(self.sample[1:] - self.sample[0]) ** 2).mean()))

    @property
    def rms_seen(self) -> float:
        """Root mean square of the values: of the sample where there is one, else of the range."""
        return self.range.rms if self.sample is None else float(np.sqrt((np.abs(self.sample[0]) ** 2).mean()))

    def _white_of(self, factor: float, added: float) -> float | None:
        """After a product with a number, where more was added."""
        return None if self._white is None else math.hypot(self._white * factor, added)

    def _white_of_sum(self, other: Known) -> float | None:
        if (self._white is None and other._white is None) or self.sample is None or other.sample is None:
            return None
        return math.hypot(*(x.error_seen if x._white is None else x._white for x in (self, other)))

    @property
    def kind(self) -> str:
        """``"assumed"``, ``"declared"`` or ``"calibrated"``: what the claim rests on."""
        return "calibrated" if self.measured or (self.sample is not None and not self.shadow) else self.range.claim

    def errors(self, size: int, full: bool = False) -> tuple[float, float]:
        """Expected mean error, and the largest of `size` values; `full`: of ciphertexts whose slots are all in use. Of
        real values errors of the real part count."""
        if self.measured:
            return self.measured
        per_rms = _REAL_MEAN if self.range.is_real else _MEAN
        if self.sample is None or self.shadow:
            mean, worst = self.estimate.rms * per_rms, _MORE_THAN_EXPECTED * self.estimate.worst(size, full)
        else:
            difference = self.sample[1:] - self.sample[0]
            difference = np.abs(difference.real if self.range.is_real else difference).reshape(len(difference), -1)
            mean, worst = float(difference.mean()), float(difference.max(axis=1).mean())
            if size < _FEW:
                more = self._of_few() / self.error if self.error > 0 else 1.0
                mean, worst = self.error * more * per_rms, worst * more
            if full:  # the samples' noise is normal
                worst *= self.estimate.worst_to_normal(size)
        return max(mean, _DOUBLE * self.range.rms), max(worst, 4 * _DOUBLE * self.range.bound)

    def _of_few(self) -> float:
        """Root mean square error of a few values: halfway between what samples show, which may be small by chance, and
        the estimate, which may be too large where errors cancel."""
        shown = self.error
        return math.sqrt((shown**2 + min(self.estimate.rms, _MOST_BY_CHANCE * shown) ** 2) / 2)

    def bits(self, size: int, full: bool = False) -> tuple[float, float]:
        """The same as bits of precision; infinite where the result is exact."""
        mean, worst = (-math.log2(e) if e > 0 else math.inf for e in self.errors(size, full))
        return mean, worst

    def within(self) -> str:
        """In words, for people."""
        if self.kind == "assumed":
            return "values assumed in the unit box"
        return "calibrated on sample data" if self.kind == "calibrated" else f"values declared {self.range}"

    def detached(self, size: int, full: bool = False) -> Known:
        """Without samples, but with what they showed."""
        if self.sample is None or self.shadow:
            return Known(self.estimate, None, self.measured)
        return Known(self.estimate, None, self.errors(size, full))

    def part(self, i: int, slots: int) -> Known:
        """Of one of the ciphertexts behind an array, with zeros behind the values."""
        if self.sample is None:
            return self
        flat = self.sample.reshape(len(self.sample), -1)[:, i * slots : (i + 1) * slots]
        return self._with(self.estimate, np.pad(flat, ((0, 0), (0, slots - flat.shape[1]))))

    def renamed(self) -> tuple[Known, int]:
        """With an error of a single source, and its name (0 where there is no error)."""
        estimate, source = self.estimate.renamed()
        return Known(estimate, self.sample, self.measured, self.shadow, self._white), source

    def with_sources(self, grown: Sequence[tuple[int, float]]) -> Known:
        """With the errors of these sources that many times as large."""
        estimate = self.estimate
        for source, factor in grown:
            estimate = estimate.with_source(source, factor)
        return Known(estimate, None, None if grown else self.measured)

    def lost(self) -> Known:
        """Of values that may have left what the parameters hold: errors as large as they are."""
        return Known(self.estimate.plus_error(self.range.reach, False), self.sample if self.shadow else None, None,
                     self.shadow)

    def declared(self, known: _native.Range) -> Known:
        """With another range, which the caller states."""
        return Known(self.estimate.with_range(known), self.sample if self.shadow else None, None, self.shadow,
                     self._white)

    # ---- operations ----

    def _both(self, other: Known, f: Callable[..., np.ndarray]) -> np.ndarray | None:
        return None if self.sample is None or other.sample is None else f(self.sample, other.sample)

    def _each(self, f: Callable[[np.ndarray], np.ndarray], added: float = 0.0) -> np.ndarray | None:
        return None if self.sample is None else _noisy(f(self.sample), added)

    def plus(self, other: Known) -> Known:
        return self._with(self.estimate.plus(other.estimate), self._both(other, np.add), other,
                          self._white_of_sum(other))

    def minus(self, other: Known) -> Known:
        return self._with(self.estimate.minus(other.estimate), self._both(other, np.subtract), other,
                          self._white_of_sum(other))

    def times(self, other: Known, same: bool, added: float) -> Known:
        sample = self._both(other, np.multiply)
        return self._with(self.estimate.times(other.estimate, same, added),
                          None if sample is None else _noisy(sample, added), other)

    def plus_plain(self, plain: np.ndarray, slots: int, scale: float, where: Layout | None = None) -> Known:
        """`where` the values lie, if not row by row."""
        estimate = self.estimate.plus_plain(range_of(plain), noise.encoded(slots, scale))
        if self.sample is None:
            return self._with(estimate, None)
        sample = self.sample + plain
        sample[1:] += rounding(plain, slots, scale, where)
        return self._with(estimate, sample)

    def times_plain(self, plain: np.ndarray, slots: int, scale: float, added: float,
                    where: Layout | None = None) -> Known:
        estimate = self.estimate.times_plain(range_of(plain), noise.encoded(slots, scale), added)
        if self.sample is None:
            return self._with(estimate, None)
        sample = self.sample * plain
        sample[1:] += self.sample[1:] * rounding(plain, slots, scale, where)
        return self._with(estimate, _noisy(sample, added))

    def times_number(self, c: complex, added: float = 0.0, actual: complex | None = None) -> Known:
        """`actual`: what c is rounded to."""
        estimate = self.estimate.times_number(c, added)
        if actual is None or actual == c:
            return self._with(estimate, self._each(lambda s: s * c, added), white=self._white_of(abs(c), added))
        off = np.full(1 if self.sample is None else len(self.sample), actual)
        off[0] = c
        estimate = estimate.plus_error(abs(actual - c) * self.range.rms, False)
        return self._with(estimate, self._each(lambda s: s * off.reshape(-1, *(1,) * (s.ndim - 1)), added),
                          white=self._white_of(abs(c), added))

    def lowered(self, added: float, factor: float) -> Known:
        """Adjusted to a level below: times the integer next to `factor`, which is divided out, and rescaled."""
        return self.times_number(1.0, added, round(factor) / factor if factor >= 1 else None)

    def conjugated(self, added: float) -> Known:
        return self._with(self.estimate.conjugated(added), self._each(np.conj, added), white=self._white_of(1.0, added))

    def rotated(self, k: int, masked: bool, added: float, rounded: float = 0.0, off: np.ndarray | None = None) -> Known:
        """`rounded`: error by masks, of values without structure; `off`: what it is for the sample."""
        sample = self._each(lambda s: np.roll(s.reshape(len(s), -1), -k, axis=1).reshape(s.shape), added)
        if sample is not None and off is not None:
            sample[1:] += off
        return self._with(self.estimate.moved(k, masked, math.hypot(added, rounded)), sample)

    # The four operations between layouts (ops/moves.py).

    def taken(self, index: np.ndarray) -> Known:
        """The values with these flat indices; no ciphertext is touched."""
        estimate = self.estimate.moved(_name_of(index), False, 0.0)
        if self.sample is None or self._too_large(index.size):
            return Known(estimate, None, self.measured if self.sample is None else self.errors(index.size))
        return Known(estimate, self.sample.reshape(len(self.sample), -1)[:, index], self.measured, self.shadow)

    def _too_large(self, size: int) -> bool:
        """Whether a sample of so many values is given up. Those that stand for the values themselves are not."""
        return self.sample is not None and not self.shadow and size * len(self.sample) > _MOST_SAMPLES

    def placed(self, name: bytes, factor: complex, added: float) -> Known:
        """In other slots, which `name` stands for, times a number."""
        estimate = self.estimate.moved(int.from_bytes(name[:8], "little"), False, 0.0).times_number(factor, added)
        return self._with(estimate, self._each(lambda s: s * factor, added))

    def reduced(self, axes: tuple[int, ...], keepdims: bool, count: int, factor: complex, added: float) -> Known:
        """Sums of `count` values each, over these axes, times a number."""
        along = tuple(a + 1 for a in axes)
        return self._with(self.estimate.summed(count, 0.0).times_number(factor, added), self._each(
            lambda s: s.sum(axis=along, keepdims=keepdims) * factor, added))

    def transformed(self, f: Callable[[np.ndarray], np.ndarray], l1: float, l2: float, real: bool,
                    added: float) -> Known:
        """Through a linear map; `l1` and `l2` bound the weights of any one result (`session::mapped`)."""
        return self._with(self.estimate.mapped(l1, l2, real, added), self._each(
            lambda s: np.stack([f(row) for row in s]), added))

    def as_real(self) -> Known:
        """Of values whose imaginary parts are nothing but error."""
        r = self.range
        claim = 0 if r.claim == "assumed" else 1
        estimate = self.estimate.with_range(
            _native.Range.rebuilt(claim, [r.low, r.high, 0.0, 0.0, r.bound, r.rms], r.random))
        sample = None if self.sample is None else np.concatenate([self.sample[:1].real, self.sample[1:]])
        return Known(estimate, sample, self.measured, self.shadow)

    def joined(self, others: Sequence[Known], sizes: Sequence[int],
               f: Callable[[Sequence[np.ndarray]], np.ndarray]) -> Known:
        """With others, as one array that `f` makes of theirs; `sizes` of all of them."""
        every = [self, *others]
        shares = [_native.Range.rebuilt(1, [-1.0, 1.0, 0.0, 0.0, 1.0, math.sqrt(n / sum(sizes))], False) for n in sizes]
        parts = [known.estimate.times_plain(share, 0.0, 0.0) for known, share in zip(every, shares)]
        estimate = reduce(lambda a, b: a.plus(b), parts).with_range(hull([known.range for known in every], sizes))
        sample = None
        samples = [known.sample for known in every if known.sample is not None]
        if len(samples) == len(every) and not self._too_large(sum(sizes)):
            sample = np.stack([f([s[i] for s in samples]) for i in range(min(map(len, samples)))])
        return Known(estimate, sample, None, any(known.shadow for known in every))

    def summed(self, shape: tuple[int, ...], count: float, added: float, full: bool = False) -> Known:
        """Of sums of `count` values each that have `shape`: of all values, or over the first axis. Where the ciphertext
        was `full`, only what is added lies in coefficients that the sums do not decode from."""
        return self._with(self.estimate.summed(count, added), self._each(
            lambda s: s.reshape(len(s), -1, math.prod(shape)).sum(axis=1).reshape(len(s), *shape), added),
            white=added if full else None)

    def spread(self, factor: complex, count: int, rounded: float, in_sample: float) -> Known:
        """Sums of rows of `count` values, in all places of the row. `rounded`: error that is added, the same in all of
        a row, for values in the range; `in_sample`: for the sample's."""
        estimate = self.estimate.summed(count, 0.0).times_number(factor, 0.0).plus_error(rounded, False)
        if self.sample is None:
            return self._with(estimate)
        sums = _noisy(factor * self.sample.sum(axis=-1, keepdims=True), in_sample)
        return self._with(estimate, np.repeat(sums, self.sample.shape[-1], axis=-1))

    def mapped(self, w: np.ndarray, shape: tuple[int, ...], added: float, rounded: float) -> Known:
        """The flat values times a matrix. `rounded`: error by its rounding, for values of size 1."""
        claimed, seen = (math.hypot(added, rounded * rms) for rms in (self.range.rms, self.rms_seen))
        size = np.abs(w)
        l1, l2 = float(size.sum(axis=0).max()), float(np.linalg.norm(w, axis=0).max())
        return self._with(self.estimate.mapped(l1, l2, w.dtype.kind != "c", claimed),
                          self._each(lambda s: (s.reshape(len(s), -1) @ w).reshape(len(s), *shape), seen))

    def polynomial(self, p: tuple[Sequence[complex], bool, float, float], added: float, mapping: float) -> Known:
        """`added`: by each product; `mapping`: by bringing the domain to [-1, 1]."""
        coefficients, chebyshev, lower, upper = p

        def evaluate(s: np.ndarray) -> np.ndarray:
            y = _noisy((2 * s - lower - upper) / (upper - lower), mapping)
            c = np.asarray(coefficients)
            series = np.polynomial.chebyshev.chebval if chebyshev else np.polynomial.polynomial.polyval
            return np.asarray(series(y, c))

        values = list(coefficients)
        estimate = self.estimate.polynomial(values, chebyshev, lower, upper, added, mapping)
        if self.sample is None:
            return self._with(estimate)
        own: float | np.ndarray = added
        if chebyshev:  # whose errors inside are alike for all values
            own = _native.Estimate(range_of(self.sample[0]), 0.0).polynomial(values, True, lower, upper, added, 0.0).rms
        else:
            own = added * _inner_gain(values, (2 * self.sample[1:] - lower - upper) / (upper - lower))
        return self._with(estimate, _noisy(evaluate(self.sample), own))

    def within_domain(self, low: float, high: float) -> Known:
        """With a range that is cut to a domain: whoever names one says that the values lie there."""
        r = self.range
        low, high = (low, high) if r.high < low or r.low > high else (max(low, r.low), min(high, r.high))
        if (low, high) == (r.low, r.high) or r.claim == "calibrated":
            return self
        cut = _native.Range.rebuilt(0 if r.claim == "assumed" else 1,
                                    [low, high, r.imag_low, r.imag_high, r.bound, r.rms], r.random)
        return Known(self.estimate.with_range(cut), self.sample, self.measured, self.shadow)

    def through(self, g: Callable[[np.ndarray], np.ndarray], slope: float, added: float,
                ends: tuple[float, float]) -> Known:
        """Of a real function `g` with values within `ends`, whose slope is at most `slope` where the values lie;
        `added`: what computing it adds."""
        estimate = self.estimate.times_number(slope, added)
        return self._with(estimate.with_range(_as_sure_as(self.range, *ends)), self._each(g, added))

    def meant(self, values: np.ndarray | None, error: float) -> Known:
        """As an approximation of other values that these differ from by up to `error`; `values`: those for the
        sample.
        """
        sample = None if self.sample is None else self.sample.copy()
        if sample is not None:
            sample[0] = values
        # The distance is that of values, which lie in the coefficients that the slots decode from.
        white = None if sample is None else self._white_of(1.0, 0.0) if self._white is not None else self.error_seen
        return self._with(self.estimate.plus_error(error, False), sample, white=white)

    def plus_error(self, added: float, seen: float | None = None) -> Known:
        """`seen`: what is added to a sample, where it is not what is claimed."""
        real = added if seen is None else seen
        return self._with(self.estimate.plus_error(added), self._each(np.copy, real), white=self._white_of(1.0, real))

    def repeated(self, shape: tuple[int, ...], growth: float) -> Known:
        """Over leading dimensions: decoding reads more coefficients, so errors grow."""
        more = (self.error_seen if self._white is None else self._white) * math.sqrt(max(growth * growth - 1, 0.0))
        return self._with(self.estimate.scaled_error(growth), self._each(
            lambda s: np.broadcast_to(s.reshape(len(s), *(1,) * (len(shape) - s.ndim + 1), *s.shape[1:]),
                                      (len(s), *shape)).copy(), more))

    def refreshed(self, noise: float, ratio: float, of_slots: bool, slots: int) -> Known:
        """`ratio`: at which the sine alone takes what EvalMod takes of a coefficient of size 1."""

        def sine(s: np.ndarray) -> np.ndarray:
            if not ratio:
                return np.array(s)
            flat = s.reshape(len(s), -1)
            padded = np.concatenate([flat, np.zeros((len(s), -flat.shape[1] % slots))], axis=1)
            rows = padded.reshape(-1, slots)
            m = rows if of_slots else to_coefficients(rows)
            gain = (2 * math.pi * ratio) ** 2 / 6
            lost = -gain * (m.real**3 + 1j * m.imag**3)
            lost = (lost if of_slots else to_slots(lost)).reshape(len(s), -1)[:, : flat.shape[1]].reshape(s.shape)
            out: np.ndarray = s + lost
            out[0] = s[0]  # what is meant
            return out

        return self._with(self.estimate.refreshed(noise, ratio, of_slots, slots), self._each(sine, noise), white=noise)

    def looked_up(self, f: Callable[[np.ndarray], np.ndarray], known: _native.Range, error: float,
                  deviations: tuple[float, float], where: np.ndarray | None) -> Known:
        """Through the table of a function with values of range `known`; `error`: of its results. `deviations`: of the
        noise beside an argument and beside a result. Where `where` is false, values stay."""
        weak = known if self.range.claim == "calibrated" else _native.Range.rebuilt(
            ("assumed", "declared").index(self.range.claim),
            [known.low, known.high, known.imag_low, known.imag_high, known.bound, known.rms], False)
        estimate = _native.Estimate(weak, error)
        if where is not None:  # some values stay: both bounds hold together
            estimate = estimate.plus(self.estimate)
        if self.sample is None:
            return self._with(estimate)
        rows = np.empty_like(self.sample)
        rows[0] = f(self.sample[0].real)
        noise = generator().standard_normal((2, *rows[1:].shape))
        rows[1:] = f(self.sample[1:].real + deviations[0] * noise[0]) + deviations[1] * noise[1]
        if where is not None:
            rows = np.where(where, rows, self.sample)
        return self._with(estimate, rows)


def _as_sure_as(x: _native.Range, low: float, high: float) -> _native.Range:
    """The range of real values between two ends, assumed where that of x is."""
    bound = max(abs(low), abs(high))
    return _native.Range.rebuilt(0 if x.claim == "assumed" else 1, [low, high, 0.0, 0.0, bound, bound], False)


def range_of_sample(sample: np.ndarray, real: bool) -> _native.Range:
    """Of sample data. Where they stand for complex values and happen to be real, the range is complex still: `decrypt`
    drops imaginary parts of real arrays."""
    flat = np.array(sample, dtype=np.complex128).reshape(-1)
    if not real and not flat.imag.any():
        flat[0] += _HARDLY_COMPLEX
    return _native.Range.of(flat)


def range_of(plain: np.ndarray) -> _native.Range:
    """Of plain values."""
    return _native.Range.of(np.ascontiguousarray(plain, dtype=np.complex128).reshape(-1))


def hull(ranges: Sequence[_native.Range], sizes: Sequence[int]) -> _native.Range:
    """Of values of which some lie in each of these."""
    claims = ("assumed", "declared", "calibrated")
    claim = min(claims.index(r.claim) for r in ranges)
    rms = math.sqrt(sum(r.rms**2 * size for r, size in zip(ranges, sizes)) / sum(sizes))
    if claim == 1:
        rms = max(r.rms for r in ranges)
    return _native.Range.rebuilt(claim, [
        min(r.low for r in ranges), max(r.high for r in ranges), min(r.imag_low for r in ranges),
        max(r.imag_high for r in ranges), max(r.bound for r in ranges), rms], all(r.random for r in ranges))


def _name_of(index: np.ndarray) -> int:
    digest = hashlib.sha256(repr(index.shape).encode() + np.ascontiguousarray(index, np.int64).tobytes()).digest()
    return int.from_bytes(digest[:8], "little")


def rounding(plain: np.ndarray, slots: int, scale: float, where: Layout | None = None) -> np.ndarray:
    """What encoding at `scale` adds to plain values, in their shape: the rounding of coefficients."""
    flat = plain.reshape(-1)
    rows = where.rows(plain) if where is not None and not where.is_plain else np.concatenate(
        [flat, np.zeros(-flat.size % slots)]).reshape(-1, slots)
    c = to_coefficients(rows) * scale
    off = (np.rint(c.real) - c.real) + 1j * (np.rint(c.imag) - c.imag)
    out = to_slots(off / scale).reshape(-1)
    return out[: flat.size].reshape(plain.shape) if where is None else where.read(out)


@lru_cache(maxsize=32)
def _roots(n: int) -> np.ndarray:
    """Where slot j of n lies among the 2n odd powers of the 4n-th root of unity: (5^j - 1) / 2."""
    out, power = np.empty(n, dtype=np.int64), 1
    for j in range(n):
        out[j], power = (power - 1) // 2, power * 5 % (4 * n)
    return out


def to_coefficients(slots: np.ndarray) -> np.ndarray:
    """Coefficients of rows of n slots, as n complex numbers c_k + i c_(k+n)."""
    rows, n = slots.shape
    values = np.empty((rows, 2 * n), dtype=np.complex128)
    at = _roots(n)
    values[:, at] = slots
    values[:, 2 * n - 1 - at] = slots.conj()
    k = np.arange(2 * n)
    c = (np.fft.fft(values, axis=1) * np.exp(-1j * np.pi * k / (2 * n))).real / (2 * n)
    return np.asarray(c[:, :n] + 1j * c[:, n:])


def to_slots(coefficients: np.ndarray) -> np.ndarray:
    """The inverse of `to_coefficients`."""
    n = coefficients.shape[1]
    c = np.concatenate([coefficients.real, coefficients.imag], axis=1)
    k = np.arange(2 * n)
    values = np.fft.ifft(c * np.exp(1j * np.pi * k / (2 * n)), axis=1) * (2 * n)
    return np.asarray(values[:, _roots(n)])


def largest_coefficient(known: Known, slots: int) -> float:
    """Of a message as bootstrapping meets it: measured on a sample, or bounded by the range."""
    if known.sample is not None:
        flat = known.sample[:1].reshape(1, -1)
        rows = np.concatenate([flat, np.zeros((1, -flat.shape[1] % slots))], axis=1).reshape(-1, slots)
        c = to_coefficients(rows)
        return float(max(np.abs(c.real).max(), np.abs(c.imag).max()))
    r = known.range
    if r.random or r.claim == "assumed":
        return min(r.rms, r.rms * math.sqrt((math.log(2 * slots) + 1) / slots))
    return min(r.rms, math.hypot(max(abs(r.low), abs(r.high)), max(abs(r.imag_low), abs(r.imag_high))))


def check_fits(operation: str, context: Any, known: Known, level: int, scale: float, rest: float = 0.0) -> Known:
    """What is known, if the values fit the modulus of a level, and what lies in slots without values, bounded by
    `rest`. Else a ScaleError in a plan, and elsewhere a warning: nothing is claimed of the result then."""
    whole = 2.0 ** context.params.log_q(level)
    if rest * scale * 2 >= whole:
        report(operation, context, f"slots without values that hold up to {rest:.3g}",
               f"less than {whole / 2 / scale:.3g} at level {level} and scale 2^{math.log2(scale):.1f}",
               "clear them before: x.contiguous()")
        known = known.lost()
    if known.range.reach * scale * 2 < whole:
        return known
    limit = 2.0 ** (context.params.log_q(level) - 1) / scale
    report(operation, context, f"values that may reach {known.range.reach:.3g} ({known.within()})",
           f"values below {limit:.3g} at level {level} and scale 2^{math.log2(scale):.1f}",
           "scale the values down, or state a smaller range with declare()")
    return known.lost()


def report(operation: str, context: Any, had: str, needs: str, remedy: str) -> None:
    """ScaleError in a plan, a RangeWarning elsewhere."""
    problem = errors.ScaleError.explain(operation, had, needs, remedy)
    if context.device == "dry":
        raise problem
    warnings.warn(str(problem), RangeWarning, stacklevel=_levels_inside())


def _levels_inside() -> int:
    """For a warning of the caller's: frames up to the first one outside of the package."""
    frame, levels = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, levels = frame.f_back, levels + 1
    return levels
