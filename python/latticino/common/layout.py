"""Where the values of an array lie in the slots of its ciphertexts.

An array of shape (3, 4) in one ciphertext of 16 slots lies row by row in slots 0 to 11, with zeros after it: the
*plain* layout. Its transpose needs no work: the same slots are read in another order. A column needs none either: some
of the slots are read, and the others are marked as unknown.

Slots have addresses: slot s of ciphertext p of n slots has the address p n + s. A ciphertext with fewer slots than N/2
repeats periodically.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any, Literal

import numpy as np

from .. import arrays, errors
from . import roles

# What slots without values hold. "zero": zeros. "filler": what operations made of zeros, or more copies of the values.
# "unknown": anything, for instance other values of an array that was sliced.
Rest = Literal["zero", "filler", "unknown"]
_ORDER: tuple[Rest, ...] = ("zero", "filler", "unknown")
_MAX_VALUES = 1 << 53  # values


class Layout:
    """The shape of an array, and the address of each of its values in ``count`` ciphertexts of ``slots`` slots.

    Several values may have one address; they are then equal (broadcast arrays). ``rest``: what the other slots hold, up
    to ``bound`` in size; ``number``: the number that all of them hold, None if that is not known. Immutable.

    ShapeError for addresses of another shape, or outside of the ciphertexts; ValueError for other arguments.
    """

    __slots__ = ("shape", "slots", "count", "rest", "bound", "number", "_places", "_used", "_name")

    def __init__(self, shape: tuple[int, ...], slots: int, count: int, places: np.ndarray | None = None,
                 rest: Rest = "zero", bound: float = 0.0) -> None:
        self.shape = arrays.as_shape(shape, "layout", _MAX_VALUES)
        self.slots = arrays.as_integer(slots, "layout", "slots", 1)
        self.count = arrays.as_integer(count, "layout", "count", 0)
        places = None if places is None else self._checked(places)
        bound = 0.0 if _as_rest(rest) == "zero" else arrays.as_real(bound, "layout", "bound", finite=False)
        self._set(self.shape, self.slots, self.count, places, rest, bound)

    def _set(self, shape: tuple[int, ...], slots: int, count: int, places: np.ndarray | None, rest: Rest,
             bound: float) -> None:
        self.shape, self.slots, self.count = shape, slots, count
        if places is not None and count == -(-self.size // slots) and np.array_equal(
                places, np.arange(self.size).reshape(shape)):
            places = None
        self._places = places
        self.rest: Rest = rest
        self.bound = 0.0 if rest == "zero" else bound
        self.number: complex | None = 0.0 if rest == "zero" else None
        self._used: np.ndarray | None = None
        self._name: bytes | None = None

    @classmethod
    def _made(cls, shape: tuple[int, ...], slots: int, count: int, places: np.ndarray | None, rest: Rest,
              bound: float) -> Layout:
        """A layout from arguments that are known to be right. Operations make many layouts, and checks would take most
        of their time."""
        out = cls.__new__(cls)
        out._set(shape, slots, count, places, rest, bound)
        return out

    def _checked(self, places: Any) -> np.ndarray:
        """The addresses, of this shape and within the ciphertexts."""
        found: np.ndarray = arrays.as_numpy(places, "layout")
        if found.shape != self.shape or not _within(found, self.slots * self.count):
            raise errors.ShapeError.explain(
                "layout", f"addresses of shape {found.shape} and dtype {found.dtype}",
                f"integers from 0 to {self.slots * self.count - 1} of shape {self.shape}", "check the addresses")
        return found

    @classmethod
    def plain(cls, shape: tuple[int, ...], slots: int, clean: bool = True, bound: float = 0.0) -> Layout:
        """Row by row from the first slot on. `clean`: the slots after the values hold zeros."""
        shape, slots = arrays.as_shape(shape, "layout", _MAX_VALUES), arrays.as_integer(slots, "layout", "slots", 1)
        clean = arrays.as_flag(clean, "layout", "clean")
        bound = 0.0 if clean else arrays.as_real(bound, "layout", "bound", finite=False)
        return cls._made(shape, slots, -(-math.prod(shape) // slots), None, "zero" if clean else "filler", bound)

    # ---- properties ----

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_plain(self) -> bool:
        """Whether value i, row by row, has the address i."""
        return self._places is None

    @property
    def places(self) -> np.ndarray:
        """The address of each value."""
        return np.arange(self.size).reshape(self.shape) if self._places is None else self._places

    @property
    def used(self) -> np.ndarray:
        """For each address whether a value lies there."""
        if self._used is None:
            self._used = np.zeros(self.count * self.slots, bool)
            self._used[self.places.reshape(-1)] = True
        return self._used

    @property
    def full(self) -> bool:
        """Whether a value lies in every slot."""
        if self._places is None:
            return self.size == self.count * self.slots
        return bool(self.used.all())

    @property
    def injective(self) -> bool:
        """Whether no two values share a slot."""
        return self._places is None or int(self.used.sum()) == self.size

    @property
    def clean(self) -> bool:
        return self.rest == "zero"

    @property
    def name(self) -> bytes:
        """A hash that tells this placement from all others. It does not depend on what the other slots hold."""
        if self._name is None:
            head = repr(self._form()).encode()
            body = b"" if self._places is None else np.ascontiguousarray(self._places, np.int64).tobytes()
            self._name = hashlib.sha256(head + body).digest()
        return self._name

    def _form(self) -> tuple[tuple[int, ...], int, int, bool]:
        return self.shape, self.slots, self.count, self.is_plain

    def same(self, other: Layout) -> bool:
        """Whether values of the same index have the same address."""
        if self is other:
            return True
        roles.require_kind("layout", other, Layout, "x.layout is one")
        if self._form() != other._form():
            return False
        return self._places is None or np.array_equal(self._places, other.places)

    # ---- layouts made from this one, without work on ciphertexts ----

    def holding(self, number: complex) -> Layout:
        """The same layout with one number in all slots without values."""
        number = arrays.as_complex(number, "layout", "number")
        return self.with_rest("filler" if number else "zero", abs(number), number)

    def with_rest(self, rest: Rest, bound: float = 0.0, number: complex | None = None) -> Layout:
        """The same layout with other content in the slots without values, if there are such slots. The content is at
        most `bound` in size. `number`: the known number that all of these slots hold, if there is one."""
        if _as_rest(rest) == "zero" or self.full:
            rest, bound, number = "zero", 0.0, 0.0
        if (rest, bound, number) == (self.rest, self.bound, self.number):
            return self
        out = Layout.__new__(Layout)
        out.shape, out.slots, out.count, out._places = self.shape, self.slots, self.count, self._places
        out.rest, out.bound, out.number, out._used, out._name = rest, bound, number, self._used, self._name
        return out

    def changed(self, clean: bool, bound: float = 0.0) -> Layout:
        """The layout after an operation that leaves zeros in the other slots (`clean`), or makes something else of
        them."""
        clean = arrays.as_flag(clean, "layout", "clean")
        return self.with_rest("zero" if clean else weakest(self.rest, "filler"), bound)

    def taken(self, index: np.ndarray, bound: float) -> tuple[Layout, list[int]]:
        """The layout of the values with these flat indices, and the ciphertexts that hold them. `bound`: that of the
        values."""
        index = arrays.as_numpy(index, "layout")
        if not _within(index, self.size):
            raise errors.ShapeError.explain(
                "layout", f"indices of dtype {index.dtype}", f"integers from 0 to {self.size - 1}",
                "count values row by row from 0")
        places = np.asarray(self.places.reshape(-1)[index])
        parts = np.unique(places // self.slots)
        moved = np.asarray(np.searchsorted(parts, places // self.slots) * self.slots + places % self.slots)
        out = self._made(index.shape, self.slots, len(parts), moved, self.rest, self.bound)
        left = self.used.reshape(self.count, self.slots)[parts].reshape(-1) & ~out.used
        if left.any():
            out = out.with_rest("unknown", max(self.bound, bound))
        return out, [int(p) for p in parts]

    def broadcast(self, shape: tuple[int, ...]) -> Layout:
        """The layout of what numpy's broadcast_to gives; equal values share a slot."""
        shape = arrays.as_shape(shape, "layout", _MAX_VALUES)
        if shape == self.shape:
            return self
        if len(shape) < len(self.shape) or any(n not in (1, m) for n, m in zip(self.shape[::-1], shape[::-1])):
            raise errors.ShapeError.explain(
                "layout", f"shape {self.shape} for {shape}", "one that numpy broadcasts to it", "check the shapes")
        return self._made(shape, self.slots, self.count, np.broadcast_to(self.places, shape), self.rest, self.bound)

    def widened(self, slots: int) -> Layout:
        """The layout in ciphertexts of more slots, which repeat what was in fewer."""
        slots = arrays.as_integer(slots, "layout", "slots", self.slots, _MAX_VALUES)
        if slots == self.slots:
            return self
        places = self.places
        rest = weakest(self.rest, "filler")
        places = places // self.slots * slots + places % self.slots
        return self._made(self.shape, slots, self.count, places, rest, self.bound)

    # ---- from values to slots and back ----

    def read(self, slots: np.ndarray) -> np.ndarray:
        """The values, from what all slots hold in order."""
        slots = _as_values(slots, self.count * self.slots, "slots")
        if self._places is None:
            return slots[: self.size].reshape(self.shape)
        return np.asarray(slots[self._places])

    def rows(self, values: np.ndarray) -> np.ndarray:
        """What all slots hold, a row for each ciphertext, from the values; zeros elsewhere."""
        values = _as_values(values, self.size, "values")
        out = np.zeros(self.count * self.slots, values.dtype)
        out[self.places.reshape(-1)] = values.reshape(-1)
        return out.reshape(self.count, self.slots)

    def runs(self) -> list[list[int]]:
        """The addresses row by row, as runs of (first, step, count)."""
        flat, out, at = self.places.reshape(-1), [], 0
        steps = np.diff(flat)
        changes = np.flatnonzero(np.diff(steps)) + 1  # where the distance to the next value changes
        while at < flat.size:
            if at + 1 == flat.size:
                out.append([int(flat[at]), 0, 1])
                break
            later = int(np.searchsorted(changes, at, side="right"))
            end = int(changes[later]) if later < changes.size else flat.size - 1
            out.append([int(flat[at]), int(steps[at]), end - at + 1])
            at = end + 1
        return out


def _within(index: np.ndarray, end: int) -> bool:
    """Whether all of it are integers from 0 on and below `end`."""
    return index.dtype.kind in "iu" and (index.size == 0 or bool(0 <= index.min() <= index.max() < end))


def _as_values(x: Any, count: int, what: str) -> np.ndarray:
    out = arrays.as_numpy(x, "layout")
    if out.size == count:
        return out
    raise errors.ShapeError.explain("layout", f"{out.size} {what}", f"{count}", "pass one number for each")


def _as_rest(rest: Any) -> Rest:
    if isinstance(rest, str) and rest in _ORDER:
        return rest
    raise errors.ValueError.explain(
        "layout", f"rest={arrays.shown(rest)}", '"zero", "filler" or "unknown"', "name one of them")


def weakest(*rests: Rest) -> Rest:
    """Of several layouts, the one whose other slots are known least."""
    return max(rests, key=_ORDER.index)


def from_runs(runs: list[list[int]], shape: tuple[int, ...], slots: int, count: int, rest: Rest,
              bound: float) -> Layout:
    """The layout that `Layout.runs` wrote. ValueError if the runs do not belong to this shape and these ciphertexts."""
    total, most = 0, count * slots
    for first, step, length in runs:
        last = first + step * (length - 1)
        if length < 1 or not (0 <= first < most and 0 <= last < most):
            raise ValueError("a run outside of the ciphertexts")
        total += length
    if total != math.prod(shape):
        raise ValueError("runs of another size")
    flat = np.concatenate([first + step * np.arange(length) for first, step, length in runs])
    return Layout(shape, slots, count, flat.reshape(shape), rest, bound)


def repeats_over(inner: tuple[int, ...], outer: tuple[int, ...]) -> bool:
    """Whether an array of shape `inner` broadcasts over `outer` by plain repetition."""
    size = int(np.prod(inner))
    return (len(inner) <= len(outer) and tuple(outer[len(outer) - len(inner):]) == tuple(inner)
            and size & (size - 1) == 0)
