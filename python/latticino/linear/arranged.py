"""Products of batches of encrypted matrices, placed so that each product needs rotations and one sum of products only.

For example, the heads of an attention are a batch of matrices A (r, n) times B (n, m). There are two forms. In both,
the value with row x, matrix b and place y lies in slot ``x row + b width + y`` of a ciphertext, and row i of the result
lies at the place y = i. There are M offsets, a power of two:

    "outer"  result (i, j) at offset o = (j - i) mod M; term t takes A[i, k] B[k, j] with k = (o + t) mod n
    "inner"  result (i, j) at offset o = j;             term t takes A[i, k] B[k, j] with k = (i + o + t) mod M

Offset o lies in ciphertext o mod E, row x = o div E. The outer form is for queries times keys: A and B^T have their
rows, the tokens, on the same axis. The result comes out as diagonals. The inner form is for scores times values: it
takes A as such diagonals, and the rows of B, the tokens, on that axis. So the scores go into the second product of an
attention in the form in which the first one leaves them. In Jiang, Kim, Lauter, Song 2018 (eprint 2018/1041) both
factors are brought to the form of one square matrix. Here one side stays as it is, and its rows have room for the
rotations of the other, so that no rotation needs a mask.

Sizes are rounded up to powers of two. Term t is A, rotated by t rows, times B, rotated by t places too. All terms of a
ciphertext share one relinearisation and one rescaling; rotations are made in two steps, and those of the first step
share a ModUp.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Literal

import numpy as np

from .. import _native, errors
from ..claims import noise
from ..claims.known import flat_index
from ..common.layout import Layout
from ..ops import moves

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext

Form = Literal["outer", "inner"]
# "before right": the right factor before it is brought into its form. Each value still has a single slot then.
Side = Literal["left", "right", "result", "before right"]
FORMS: tuple[Form, ...] = ("outer", "inner")
SIDES: tuple[Side, ...] = ("left", "right", "result", "before right")

_MAX_CIPHERTEXTS = 64  # number of ciphertexts that the results of a block of matrices are spread over
_MAX_VALUES = 1 << 24  # the most values of one side
_MAX_WORKING = 2 << 30  # bytes of rotated ciphertexts at the same time
_FEW_TURNS = 4  # rotations that have a key each


def _power(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


@dataclass(frozen=True)
class Arrangement:
    """Where the values of ``batch`` products of shapes (r, n) and (n, m) lie.

    ``count``: ciphertexts E of the results of a block; ``rows`` of a ciphertext; ``width``: places of a matrix in a
    row; ``heads``: matrices of a block; ``images``: inputs side by side, whose slots alternate. ShapeError for
    numbers that do not fit together.
    """

    form: Form
    batch: int
    r: int
    n: int
    m: int
    count: int
    rows: int
    width: int
    heads: int
    images: int = 1

    def __post_init__(self) -> None:
        numbers = (self.batch, self.r, self.n, self.m, self.count, self.rows, self.width, self.heads, self.images)
        powers = (self.count, self.rows, self.width, self.heads)
        fits = (self.form in FORMS and min(numbers) >= 1 and max(numbers) <= _MAX_VALUES
                and all(n & (n - 1) == 0 for n in powers) and self.count <= _MAX_CIPHERTEXTS
                and max(self.batch * self.r * self.n, self.batch * self.n * self.m) <= _MAX_VALUES
                and self.blocks * self.count * self.slots <= _MAX_VALUES)
        if fits and self.form == "outer":
            fits = (self.rows >= self.terms and self.offsets >= self.m
                    and self.width >= self.r + self.count * self.terms - 1)
        elif fits:
            fits = (self.offsets >= max(self.n, self.terms) and self.count <= self.terms
                    and self.width >= self.r + self.terms - 1)
        if not fits:
            raise errors.ShapeError.explain("matmul", f"an arrangement {numbers} of the form {self.form!r}",
                                            "numbers that fit together", "take one of `arrangements`")

    # ---- sizes ----

    @property
    def terms(self) -> int:
        return _power(self.n if self.form == "outer" else self.m)

    @property
    def offsets(self) -> int:
        return self.count * self.rows

    @property
    def apart(self) -> int:
        """Slots from one place of a row to the next."""
        return _power(self.images)

    @property
    def row(self) -> int:
        """Slots from one row to the next."""
        return self.heads * self.width * self.apart

    @property
    def slots(self) -> int:
        return self.rows * self.row

    @property
    def blocks(self) -> int:
        return -(-self.batch // self.heads)

    @property
    def groups(self) -> int:
        """Parts of each result that rotations add up."""
        return self.offsets // self.terms if self.form == "inner" else 1

    @property
    def parts(self) -> dict[Side, int]:
        """Ciphertexts of a block."""
        several = self.count if self.form == "inner" else 1
        return {"left": several, "right": several, "result": self.count, "before right": -(-self.terms // self.rows)}

    @property
    def rotations(self) -> int:
        """Rotations of ciphertexts, for all blocks."""
        e, t = self.count, self.terms
        both = (t - 1) + (e * t - 1) if self.form == "outer" else (t + e - 2) + e * (t - 1)
        return self.blocks * (both + e * (self.groups.bit_length() - 1))

    @property
    def cost(self) -> float:
        """The cost, in units of about one rotation."""
        return self.rotations + self.blocks * self.count * (0.4 * self.terms + 3)

    def shape_of(self, side: Side) -> tuple[int, int, int]:
        """(batch, rows, columns) of the matrices of a side."""
        if side == "left":
            return self.batch, self.r, self.n
        return self.batch, self.r if side == "result" else self.n, self.m

    @property
    def spaced(self) -> bool:
        """Whether the side "before right" fits: its rows and columns, the tokens in a row, without overlaps."""
        return (self.m if self.form == "outer" else self.n) <= self.width

    # ---- places ----

    def places(self, side: Side) -> tuple[np.ndarray, np.ndarray]:
        """Where the values of the first image lie: addresses, and the flat index of the value at each."""
        e, x, b, y = self._grid(side)
        block, own = np.divmod(b, self.heads)
        at = (x * self.row + (own * self.width + y) * self.apart) % self.slots
        index = self._index(side, e, x, b, y)
        there = index >= 0
        address = (block * self.parts[side] + e) * self.slots + at
        return np.broadcast_to(address, index.shape)[there], index[there]

    def _grid(self, side: Side) -> tuple[np.ndarray, ...]:
        """Ciphertext, row, matrix and place of all slots in question."""
        low, high = 0, self.r
        if side == "right" and self.form == "outer":
            low, high = -self.count * (self.terms - 1), self.r + self.count - 1
        elif side == "right":
            high = self.r + self.terms - 1
        elif side == "before right":
            high = self.m if self.form == "outer" else self.n
        rows = self.terms // self.count if (side, self.form) == ("result", "inner") else self.rows
        e, x, b, y = np.ogrid[: self.parts[side], : rows, : self.batch, : high - low]
        return e, x, b, y + low

    def _index(self, side: Side, e: np.ndarray, x: np.ndarray, b: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The value that lies there, or -1."""
        offset, _, columns = self.count * x + e, *self.shape_of(side)[1:]
        outer, m = self.form == "outer", self.offsets
        if side == "left":
            first, second = y, x % self.terms if outer else (y + offset) % m
        elif side == "right":
            first, second = (x % self.terms, (y + offset) % m) if outer else ((y + offset) % m, offset % self.terms)
        elif side == "before right":
            row = x + e * self.rows
            first, second = (row, y) if outer else (y, row)
        else:
            first, second = y, (y + offset) % m if outer else offset
        height = self.shape_of(side)[1]
        there = (first < height) & (second < columns)
        return np.where(there, (b * height + first) * columns + second, -1)

    def layout(self, side: Side) -> tuple[Layout, np.ndarray | None]:
        """The layout of a side's ciphertexts. If each value lies in one slot, it has the shape (images, *matrices),
        and None comes with it. Otherwise it has the shape (images, entries), and comes with the value of each entry."""
        return _layout(self, side)

    def taken(self) -> tuple[np.ndarray, np.ndarray]:
        """Which entries of the layouts of both sides each term takes, (images, batch, r, m, n)."""
        image, b, i, j, k = np.ogrid[: self.images, : self.batch, : self.r, : self.m, : self.n]
        out = []
        sides: dict[Side, np.ndarray] = {"left": (b * self.r + i) * self.n + k, "right": (b * self.n + k) * self.m + j}
        for side, at in sides.items():
            layout, index = self.layout(side)
            entries = layout.size // self.images
            if index is not None:
                first = np.zeros(math.prod(self.shape_of(side)), np.int64)
                first[index[::-1]] = np.arange(entries)[::-1]
                at = first[at]
            out.append(np.broadcast_to(image * entries + at, (self.images, self.batch, self.r, self.m, self.n)))
        return out[0], out[1]

    def turns(self, e: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """For each term of ciphertext e of a block: ciphertext and rotation on the left side, and on the right side."""
        if self.form == "outer":
            return [((0, t * self.row), (0, t * self.row + (e - self.count * t) * self.apart))
                    for t in range(self.terms)]
        return [(((e + t) % self.count, (e + t) // self.count * self.row), (e, t * self.apart))
                for t in range(self.terms)]


@lru_cache(maxsize=32)
def _layout(how: Arrangement, side: Side) -> tuple[Layout, np.ndarray | None]:
    where, index = how.places(side)
    images, matrices = how.images, how.shape_of(side)
    count = how.blocks * how.parts[side]
    if index.size == math.prod(matrices) and np.unique(index).size == index.size:
        where, index = where[np.argsort(index)], np.zeros(0)
        shape: tuple[int, ...] = matrices
    else:
        shape = (index.size,)
    every = where + np.arange(images).reshape(images, 1)
    return Layout((images, *shape), how.slots, count, every.reshape(images, *shape)), index if index.size else None


def arrangements(batch: int, r: int, n: int, m: int, slots: int, images: int = 1) -> Iterator[Arrangement]:
    """The arrangements that fit ciphertexts of so many slots."""
    for form in FORMS:
        terms = _power(n if form == "outer" else m)
        for e in (1 << k for k in range(_MAX_CIPHERTEXTS.bit_length())):
            least = -(-m // e) if form == "outer" else -(-max(n, terms) // e)
            rows = max(_power(least), terms) if form == "outer" else _power(least)
            width = _power(r + (e * terms if form == "outer" else terms) - 1)
            heads = _power(batch)
            while heads > 1 and rows * heads * width * _power(images) > slots:
                heads //= 2
            if rows * heads * width * _power(images) > slots or (form == "inner" and e > terms):
                continue
            try:
                yield Arrangement(form, batch, r, n, m, e, rows, width, heads, images)
            except errors.ShapeError:  # there are too many values
                continue


def best(batch: int, r: int, n: int, m: int, slots: int, images: int = 1) -> list[Arrangement]:
    """The cheapest arrangement of each form; forms that do not fit are left out."""
    found = list(arrangements(batch, r, n, m, slots, images))
    several = [[a for a in found if a.form == form] for form in FORMS]
    return [min(some, key=lambda a: (a.cost, a.slots)) for some in several if some]


# ---- computing on ciphertexts ----


def product(x: Ciphertext, y: Ciphertext, how: Arrangement) -> Ciphertext:
    """The products of matrices that lie as `how` says, one level below; both arguments have one level."""
    if x.level < 1:
        raise errors.LevelError.explain("matmul", "encrypted matrices at level 0", "level 1 or more",
                                        "bootstrap them, or take a preset with more levels")
    e, parts = x._evaluator, []
    lefts, rights = how.parts["left"], how.parts["right"]
    dots = 1
    for block in range(how.blocks):
        made, dots = _block(e, x._parts[block * lefts : (block + 1) * lefts],
                            y._parts[block * rights : (block + 1) * rights], how)
        parts += made
    params, slots = x.context.params, how.slots
    twice = math.sqrt(2) if how.terms > _FEW_TURNS else 1.0
    factors = [v._known.plus_error(noise.switched(params, v.level, slots, v.scale) * twice) for v in (x, y)]
    scale, level = parts[0].scale, parts[0].level
    added = noise.multiplied(params, x.level, slots, scale) * math.sqrt(dots)
    if how.groups > 1:
        step = how.terms // how.count * how.row
        parts = moves.windows(e, parts, step, how.groups, slots)
        turn = noise.switched(params, level, slots, scale)
        added = math.hypot(added * math.sqrt(how.groups), turn * math.sqrt(how.groups - 1))
    shape = (how.images, how.batch, how.r, how.m, how.n)
    if any(v._known.sample is not None for v in (x, y)):  # for each value; without this, a bound for all of them
        factors = [f.taken(shape, flat_index(at)) for f, at in zip(factors, how.taken())]
    known = factors[0].times(factors[1], False, 0.0).reduced(shape, (4,), how.n, 1, added, 0, [])
    where, _ = how.layout("result")
    clean = how.groups == 1 and "zero" in (x.layout.rest, y.layout.rest) and x.layout.rest == "zero"
    return x._like(parts, known, layout=where.with_rest("zero" if clean else "filler", known.range.bound))


def _block(e: _native.Evaluator, left: Sequence[_native.Ciphertext], right: Sequence[_native.Ciphertext],
           how: Arrangement) -> tuple[list[_native.Ciphertext], int]:
    """The results of a block, and the number of sums that each is made of."""
    wanted = [how.turns(k) for k in range(how.count)]
    turned = [_Turned(e, part, sorted({s for terms in wanted for (p, s), _ in terms if p == i}), how.row, how.slots)
              for i, part in enumerate(left)]
    unit = how.row - how.count * how.apart if how.form == "outer" else how.apart
    extra = how.count if how.form == "outer" else 1
    others = [_Turned(e, part, sorted({t for terms in wanted for _, (p, t) in terms if p == i}), unit, how.slots,
                      [k * how.apart for k in range(extra)]) for i, part in enumerate(right)]
    held = sum(len(t.wanted) for t in turned) * left[0].bytes
    at_once = max(1, (_MAX_WORKING - min(held, _MAX_WORKING // 2)) // (2 * right[0].bytes))
    out, dots = [], 1
    for terms in wanted:
        sums = []
        for first in range(0, len(terms), at_once):
            some = terms[first : first + at_once]
            sums.append(e.dot([[turned[p].by(s)] for (p, s), _ in some], [[others[p].by(t)] for _, (p, t) in some])[0])
        for o in others:
            o.forget()
        out.append(reduce(e.add, sums))
        dots = len(sums)
    return out, dots


class _Turned:
    """Rotations of a ciphertext by k unit + one of `extra`. First the ciphertext is rotated by the first few k, and
    then each of these by the rest."""

    def __init__(self, e: _native.Evaluator, part: _native.Ciphertext, wanted: Sequence[int], unit: int, slots: int,
                 extra: Sequence[int] = (0,)) -> None:
        self.e, self.wanted, self.slots = e, [w % slots for w in wanted], slots
        count = -(-len(wanted) // len(extra))
        step = count if count <= _FEW_TURNS else 1 << round(math.log2(math.sqrt(count / len(extra))))
        small = {(b * unit + o) % slots: (b, o) for b in range(step) for o in extra}
        self.babies = dict(zip(small, moves.rotated(e, part, list(small))))
        self.large = [g * step * unit % slots for g in range(-(-count // step))]
        self.where = {(baby + g) % slots: (baby, g) for g in self.large[::-1] for baby in small}
        self.found: dict[int, _native.Ciphertext] = dict(self.babies)

    def by(self, distance: int) -> _native.Ciphertext:
        distance %= self.slots
        if distance not in self.found:
            baby, _ = self.where[distance]
            turns = [g for g in self.large if (baby + g) % self.slots in self.wanted]
            made = moves.rotated(self.e, self.babies[baby], turns)
            self.found.update({(baby + g) % self.slots: part for g, part in zip(turns, made)})
        return self.found[distance]

    def forget(self) -> None:
        """Drops all rotations except those that other rotations are made from."""
        self.found = dict(self.babies)


def with_images(how: Arrangement, images: int) -> Arrangement:
    return how if how.images == images else replace(how, images=images)
