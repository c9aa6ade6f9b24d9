"""numpy's array methods, made from the methods that encrypted arrays of both schemes have. Methods that encrypted
arrays cannot have raise errors that say what to call instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .. import errors
from . import roles
from .naming import public
from .ufuncs import DEFAULT_REMEDY, OfNumpy

if TYPE_CHECKING:
    from typing_extensions import Self

_NUMPY_ATTRIBUTES = frozenset(name for name in dir(np.ndarray) if not name.startswith("_"))


def _first_line(why: Exception) -> str:
    return str(why).partition("\n")[0] or type(why).__name__


class ArrayMethods(OfNumpy):
    """Methods that only read values in another order, and products. Saved programs contain the steps that these methods
    consist of."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        """Python calls it for names that the array does not have."""
        if name in self._REMEDY_OF or name in _NUMPY_ATTRIBUTES:
            raise errors.AttributeError.explain(
                name, f"{roles.name_of(type(self))}, which has no such attribute", "a method or function that it has",
                self._REMEDY_OF.get(name, DEFAULT_REMEDY))
        return object.__getattribute__(self, name)  # Python's usual error

    def _read(self, move: Callable[[np.ndarray], Any], operation: str) -> Self:
        """The values in the order in which numpy's function `move` would put the values of an array."""
        own: Any = self
        try:
            places: np.ndarray = np.asarray(move(np.arange(own.size).reshape(own.shape)))
        except Exception as why:  # raised by numpy, or by any conversion of the object
            raise errors.class_for_numpy_error(why).explain(
                operation, f"an array of shape {own.shape} ({_first_line(why)})",
                "indices, axes and shapes that exist", "check the arguments") from why
        if not places.size:
            raise errors.ShapeError.explain(operation, "no values", "at least one", "check the arguments")
        # If the places follow each other, only the shape changes.
        if places.size == own.size and np.array_equal(places.reshape(-1), np.arange(own.size)):
            return cast("Self", own.reshape(places.shape))
        return cast("Self", own.reshape(-1)[places])

    def copy(self) -> Self:
        """The array itself, because arrays never change."""
        return self

    def flatten(self) -> Self:
        """All values in one row."""
        return cast("Self", cast("Any", self).reshape(-1))

    def swapaxes(self, axis1: int, axis2: int) -> Self:
        """Two axes exchanged."""
        return self._read(lambda places: places.swapaxes(axis1, axis2), "swapaxes")

    def moveaxis(self, source: Any, destination: Any) -> Self:
        """numpy's moveaxis."""
        return self._read(lambda places: np.moveaxis(places, source, destination), "moveaxis")

    def squeeze(self, axis: Any = None) -> Self:
        """Without axes of length 1: all of them, or those that are named."""
        return self._read(lambda places: places.squeeze(axis), "squeeze")

    def expand_dims(self, axis: Any) -> Self:
        """With new axes of length 1."""
        return self._read(lambda places: np.expand_dims(places, axis), "expand_dims")

    def broadcast_to(self, shape: Any) -> Self:
        """The values repeated as numpy broadcasts them."""
        return self._read(lambda places: np.broadcast_to(places, shape), "broadcast_to")

    def roll(self, shift: Any, axis: Any = None) -> Self:
        """numpy's roll."""
        return self._read(lambda places: np.roll(places, shift, axis), "roll")

    def flip(self, axis: Any = None) -> Self:
        """The values in reverse order along all axes, or along those that are named."""
        return self._read(lambda places: np.flip(places, axis), "flip")

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Self:
        """numpy's diagonal: a slice, at no cost."""
        return self._read(lambda places: places.diagonal(offset, axis1, axis2), "diagonal")

    @public
    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Self:
        """The sum of the diagonal."""
        return cast("Self", cast("Any", self.diagonal(offset, axis1, axis2)).sum(-1))

    def repeat(self, repeats: Any, axis: int | None = None) -> Self:
        """Each value several times, as numpy's repeat. It costs nothing."""
        return self._read(lambda places: places.repeat(repeats, axis), "repeat")

    def take(self, indices: Any, axis: int | None = None) -> Self:
        """The values at indices that are not encrypted, as numpy's take. It costs nothing."""
        return self._read(lambda places: places.take(indices, axis), "take")

    @public
    def prod(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Self:
        """numpy's product of all values, over an axis or over several: products of halves, ceil(log2(n)) one after the
        other for n values.

        For CKKS, each product takes one level, and another one to bring a half to the slots of the other half. TFHE
        integers wrap modulo ``2**bits``.
        """
        own: Any = self
        every = tuple(range(own.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        try:
            shape = np.empty(own.shape, bool).sum(every, keepdims=bool(keepdims)).shape
            moved = np.moveaxis(np.empty(own.shape, bool), every, range(len(every)))
        except Exception as why:  # raised by numpy, or by any conversion of the object
            raise errors.ShapeError.explain(
                "prod", f"an array of shape {own.shape} ({_first_line(why)})",
                "axes that exist, each once", "check the axis") from why
        kept = moved.shape[len(every):]
        x: Any = self.moveaxis(every, tuple(range(len(every)))).reshape(-1, math.prod(kept))
        while len(x) > 1:
            half = len(x) // 2
            pairs = x[:half] * x[half : 2 * half]
            # if the number is odd, the last value waits for the next round
            x = pairs if len(x) == 2 * half else np.concatenate([pairs, x[-1:]])
        return cast("Self", x.reshape(shape))
