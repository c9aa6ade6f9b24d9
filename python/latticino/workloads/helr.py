"""HELR: logistic regression trained on encrypted data (Han, Hong, Cheon and Park, AAAI 2019).

A mini-batch is a matrix Z of rows z = y * (1, features). One Nesterov step from (w, v) is

    m  = Z v                                    margins
    g  = (rate / rows) * sum_rows(sigma(-m) Z)  sigma(-m) ~ c0 + c1 m + c3 m^3
    w' = v + g,   v' = (1 - eta) w' + eta w

Weights and momentum share one ciphertext S = (w + i v) / bound, a row of values that repeats over
all slots, so that sparse-slot bootstrapping refreshes both at once:

    S' = alpha S + beta conj(S) + kappa g,      kappa = (1 + i (1 - eta)) / bound

Four levels per step: Z v; the mask of the row sums; m^2 + c1 beside (kappa c3 m) Z; their product.
Scaled copies of Z are made at high levels, where levels are free. Batches over several ciphertexts
also come packed in pairs, Z1 + i Z2, which halves the rotations of the row sums.

A step can be recorded for each level that states have, with the bootstrapping before it if one is due. The momentum
eta changes from step to step, so it is an argument of the recordings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from .. import _native, errors
from ..ckks.ciphertext import Ciphertext
from ..ckks.client import Client
from ..ckks.context import Context
from ..ckks.dot import dot
from ..ckks.plan import Shape
from ..claims.known import Range
from ..claims.precision import Precision
from ..ops.scalar import Scalar
from ..programs.program import Program

LEVELS = 4  # levels of one step
# This form leaves the most levels, so that three steps fit between two bootstrappings. Weights are far below the bound,
# so the error of the sine is smaller than the error of a step.
ORDER: dict[str, Any] = {"slot_to_coeff_first": False, "over_mod_raise": False, "arcsine": 1, "log_message_ratio": 0}
# The range of w and v, in units of `Settings.bound`. A bound derived from the data would grow with every step.
BOX = Range(-1, 1, (-1, 1))
_DOMAIN = 16.0  # range of the arguments of the sigmoid's polynomial, in both directions
ETA = Scalar(-1, 1)  # the weight of Nesterov's momentum, which every step gets anew: see momentum()


@dataclass(frozen=True)
class Settings:
    """The settings of a training: `rate` is the learning rate, `sigmoid` the coefficients c0, c1, c3 of
    sigma(-m), by least squares on [-16, 16]; `bound` keeps w and v well inside the unit box;
    `merged` says whether one bootstrapping refreshes both, or each has one of its own."""

    iterations: int = 16
    rows: int = 128
    rate: float = 1.0
    bound: float = 16.0
    sigmoid: tuple[float, float, float] = (0.5, -0.0843, 0.0002)
    merged: bool = True


def momentum(iterations: int) -> list[float]:
    """eta of every step: lambda_0 = 0.01, lambda' = (1 + sqrt(1 + 4 lambda^2)) / 2,
    eta = (1 - lambda) / lambda'."""
    out, now = [], 0.01
    for _ in range(iterations):
        after = (1 + math.sqrt(1 + 4 * now * now)) / 2
        out.append((1 - now) / after)
        now = after
    return out


def clear_training(batches: list[np.ndarray], settings: Settings) -> Iterator[np.ndarray]:
    """The same algorithm on numbers: yields w + i v after every step."""
    c0, c1, c3 = settings.sigmoid
    w = v = np.zeros(batches[0].shape[1])
    for t, eta in enumerate(momentum(settings.iterations)):
        z = batches[t % len(batches)]
        m = z @ v
        after = v + settings.rate / len(z) * ((c0 + c1 * m + c3 * m**3) @ z)
        w, v = after, (1 - eta) * after + eta * w
        yield w + 1j * v


@dataclass(frozen=True)
class Batch:
    """An encrypted mini-batch: its rows in one or two halves, and both halves in one if there
    are two (first + i * second)."""

    halves: tuple[Ciphertext, ...]
    packed: Ciphertext


class Trainer:
    """The server's side: computes on ciphertexts with public keys only.

    ``sampled``: for plans of sample data, whose values say how far weights and margins reach. A declared range would
    take their place, and then a plan would claim what holds for any data of that range: no bits at all.
    """

    def __init__(self, context: Context, settings: Settings, sampled: bool = False) -> None:
        self.context, self.settings, self.sampled = context, settings, sampled
        most = context.params.level_after_bootstrap
        # Taking w and v apart multiplies by 1/2, which takes a level.
        self.last_level = 0 if settings.merged else 1
        self.steps_between = (most - self.last_level) // LEVELS
        if self.steps_between == 0:
            raise errors.ParameterError.explain(
                "demo helr", f"{context.params.name}, which leaves {most} levels",
                f"{self.last_level + LEVELS} levels after bootstrapping", "take another set, or one bootstrapping "
                "for both")
        # The levels that the steps use, and no others. Higher levels would only make every step slower.
        self.start_level = self.last_level + LEVELS * self.steps_between
        self._recorded: dict[int, Program] = {}  # by the state's level

    # ---- the owner's side ----

    def encrypt(self, client: Client, z: np.ndarray) -> Batch:
        """One mini-batch; pairs of rows share slots where it fills more than one ciphertext."""
        return Batch(*self._packings(z, lambda x: client.encrypt(x, self.start_level)))

    def _packings(self, z: np.ndarray, encrypt):
        if z.size <= self.context.slots:
            whole = encrypt(z)
            return (whole,), whole
        first, second = np.ascontiguousarray(z[: len(z) // 2]), np.ascontiguousarray(z[len(z) // 2 :])
        return (encrypt(first), encrypt(second)), encrypt(first + 1j * second)

    def first_state(self, client: Client, columns: int) -> Ciphertext:
        """Encrypted zeros for w and v."""
        return client.encrypt(np.zeros(columns), self.start_level, range=BOX)

    # ---- the server's side ----

    def refresh(self, state: Ciphertext) -> Ciphertext:
        """Bootstraps if the next step lacks levels."""
        return self._refreshed(state).to_level(self.start_level) if self.needs_refresh(state) else state

    def _refreshed(self, state: Ciphertext) -> Ciphertext:
        if self.settings.merged:
            return state.bootstrap(**ORDER)
        conjugate = state.conj()
        w, v = (state + conjugate) * 0.5, (state - conjugate) * -0.5j
        return w.bootstrap(message="real", **ORDER) + v.bootstrap(message="real", **ORDER) * 1j

    def needs_refresh(self, state: Ciphertext) -> bool:
        """Whether the next step begins with a bootstrapping."""
        return state.level < self.last_level + LEVELS

    def record(self, state: Ciphertext, batch: Batch) -> int:
        """Records the steps of a training with a first state and batches like these. Returns the number of
        recordings."""
        level = state.level
        while level not in self._recorded:
            self._recorded[level] = Program(self._refreshed_step, {"eta": ETA}).record(
                state.to_level(level), *_flat(batch))
            level = (level if level >= self.last_level + LEVELS else self.start_level) - LEVELS
        return len(self._recorded)

    def refreshed_step(self, state: Ciphertext, batch: Batch, eta: float) -> Ciphertext:
        """Runs a step, and before it a bootstrapping if one is due. The step is replayed if it was recorded."""
        program = self._recorded.get(state.level)
        if program is not None:
            return program(state, *_flat(batch), eta=eta)
        return self.step(self.refresh(state), batch, eta)

    def _refreshed_step(self, state: Ciphertext, *parts: Ciphertext, eta: Scalar) -> Ciphertext:
        return self.step(self.refresh(state), _batch(parts), eta)

    def step(self, state: Ciphertext, batch: Batch, eta: float | Scalar) -> Ciphertext:
        """One Nesterov step: S -> S', LEVELS levels lower."""
        c0, c1, c3 = self.settings.sigmoid
        rows = len(batch.halves) * batch.halves[0].shape[0]
        kappa = (1 + 1j * (1 - eta)) * self.settings.rate / (rows * self.settings.bound)
        root = math.sqrt(abs(c3))
        conjugate = state.conj()
        twice_v = (state - conjugate) * -1j
        sloped, curves, constant = [], [], []
        for z, m in zip(batch.halves, self._margins(batch, twice_v, root)):
            high = z.to_level(m.level + 1)
            sloped.append((high * (kappa / root)) * m)           # kappa m Z
            curves.append(m * m + c1 if c3 > 0 else -(m * m) + c1)
            constant.append(high * (kappa * c0))
        # kappa (c0 + c1 m + c3 m^3) Z: the products of all halves share one key switch.
        gradient = (dot(sloped, curves) + sum(constant[1:], constant[0])).sum(axis=0)
        # v = (S - conj S) / 2i and w = (S + conj S) / 2, in units of the bound.
        of_v, of_w = 1 + 1j * (1 - eta), 1j * eta
        low = gradient.level + 1
        kept = state.to_level(low) * ((of_v / 1j + of_w) / 2)
        mirrored = conjugate.to_level(low) * ((of_w - of_v / 1j) / 2)
        return self._within(gradient + kept + mirrored, BOX)

    def _margins(self, batch: Batch, twice_v: Ciphertext, root: float) -> list[Ciphertext]:
        """The margins root * m for each half, in every place of its rows."""
        # The polynomial approximates the sigmoid of margins up to 16 in size. By their bounds alone they could be much
        # larger, and so could all that follows.
        largest = _DOMAIN * root
        margins = Range(-largest, largest, (-largest, largest))
        products = batch.packed * twice_v
        if len(batch.halves) == 1:
            return [self._within(products.spread_sum(root * self.settings.bound / 2), margins)]
        both = products.spread_sum(root * self.settings.bound / 4)
        conjugate = both.conj()
        return [self._within(both + conjugate, margins), self._within((both - conjugate) * -1j, margins)]

    def _within(self, x: Ciphertext, box: _native.Range) -> Ciphertext:
        return x if self.sampled else x.declare(box)

    def cycle(self, state: Ciphertext, *parts: Ciphertext) -> Ciphertext:
        """All steps between two bootstrappings and one bootstrapping: what a plan runs."""
        batch = _batch(parts)
        for eta in momentum(self.steps_between):
            state = self.step(state, batch, eta)
        return self.refresh(state)

    def predicted_precision(self, batches: Sequence[np.ndarray]) -> Precision:
        """What a plan of the whole training on these batches claims of the weights and the momentum at its end, against
        the training in the clear. It computes the training in the clear, in minutes for MNIST. Of a trainer with
        ``sampled``."""

        def training(state: Ciphertext, *parts: Ciphertext) -> Ciphertext:
            high = [p.to_level(self.start_level) for p in parts]
            each = len(high) // len(batches)
            made = [_batch(tuple(high[k : k + each])) for k in range(0, len(high), each)]
            state = state.to_level(self.start_level)
            for t, eta in enumerate(momentum(self.settings.iterations)):
                state = self.step(self.refresh(state), made[t % len(made)], eta)
            return state

        parts = [part for z in batches for part in self._flat_packings(z, lambda x: x)]
        mean, worst, _ = self.context.plan(training, np.zeros(batches[0].shape[1]), *parts).bits[0]
        unit = math.log2(self.settings.bound)
        return Precision(mean - unit, worst - unit)

    def peak_bytes(self, batch: np.ndarray, count: int, recorded: bool) -> int:
        """Device memory of a training on so many batches like this one, which all lie on the device, as plans predict
        it."""
        state, *parts = self.examples(batch)
        ciphertexts = sum(math.ceil(math.prod(x.shape) / self.context.slots) for x in parts)
        params = self.context.params
        each = ciphertexts * 8 * params.n * params.limbs(self.start_level)
        if not recorded:
            return self.context.plan(self.cycle, state, *parts).peak_bytes + (count - 1) * each
        levels = range(self.last_level, self.start_level + 1, LEVELS)  # the levels at which `record` records a step
        steps = [self.context.plan(self._refreshed_step, state._replace(level=level), *parts, eta=ETA)
                 for level in levels]
        return reduce(or_, steps).recorded_peak_bytes + (count - len(steps)) * each  # a step already includes a batch

    def examples(self, batch: np.ndarray) -> list[Any]:
        """Arguments of `cycle` for a plan."""
        parts = self._flat_packings(batch, lambda x: Shape(x.shape, self.start_level))
        return [Shape((batch.shape[1],), self.start_level), *parts]

    def _flat_packings(self, z: np.ndarray, encrypt: Callable[[np.ndarray], Any]) -> tuple[Any, ...]:
        halves, packed = self._packings(z, encrypt)
        return halves if len(halves) == 1 else (*halves, packed)


def _flat(batch: Batch) -> tuple[Ciphertext, ...]:
    return batch.halves if len(batch.halves) == 1 else (*batch.halves, batch.packed)


def _batch(parts: tuple[Ciphertext, ...]) -> Batch:
    return Batch(parts[:-1], parts[-1]) if len(parts) > 1 else Batch(parts, parts[0])
