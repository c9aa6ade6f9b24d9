"""Plain values, matrices and linear maps that a context has encoded. They are kept, because encoding takes longer than
most operations on ciphertexts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from .. import _native, arrays
from ..common.constants import ConstantCache
from ..common.progress_bar import Task

if TYPE_CHECKING:
    from ..linear import LinearMap

_LARGE_MATRIX = 1 << 14  # number of entries from which encoding may take over a second


class Encodings:
    """The encodings of one context. ``products``: those of matrices and maps for several ciphertexts. ``maps``:
    diagonals of linear maps, as long as those live."""

    def __init__(self, context: _native.Context) -> None:
        self._context = context
        self.constants: ConstantCache[_native.Plaintext] = ConstantCache(256 * 2**20, lambda p: p.nbytes)
        self.products: ConstantCache[Any] = ConstantCache(4 * 2**30, lambda m: m.bytes)
        self.maps: WeakKeyDictionary[LinearMap, dict[tuple[Any, ...], _native.BlockTransform]] = WeakKeyDictionary()

    @property
    def bytes(self) -> int:
        """The size of encoded matrices and maps."""
        return self.products.bytes + sum(t.bytes for kept in self.maps.values() for t in kept.values())

    def plain(self, values: np.ndarray, level: int, scale: float) -> _native.Plaintext:
        """See Context.encode."""
        usual = type(values) is np.ndarray and values.dtype == np.complex128  # the form that operations pass
        if not (usual and type(level) is int and abs(level) < 2**31 and type(scale) is float):
            values = arrays.as_numpy(values, "encode")
            level = arrays.as_integer(level, "encode", "level", 0, self._context.params.top_level)
            scale = arrays.as_real(scale, "encode", "scale", above=0)
        values = np.ascontiguousarray(values, dtype=np.complex128).reshape(-1)
        key = (hashlib.sha256(values.data).digest(), values.size, level, scale)
        return self.constants.get(key, lambda: _native.encode(self._context, values, level, scale))

    def named(self, name: tuple[Any, ...] | str, make: Callable[[], np.ndarray], level: int,
              scale: float) -> _native.Plaintext:
        """Encodes the values that ``make`` returns. ``name`` identifies them: if they were encoded before, they are
        found by name, and not made again."""
        return self.constants.get((name, level, scale), lambda: _native.encode(self._context, make(), level, scale))

    def matrix(self, w: np.ndarray, slots: int, level: int) -> _native.MatrixProduct:
        """See Context.matrix_product."""
        w = np.ascontiguousarray(w, dtype=np.complex128)
        key = (hashlib.sha256(w.data).digest(), w.shape, slots, level)

        def encoded() -> _native.MatrixProduct:
            if w.size < _LARGE_MATRIX:
                return _native.MatrixProduct(self._context, w, slots, level)
            with Task(f"encoding a matrix of shape {w.shape}"):
                return _native.MatrixProduct(self._context, w, slots, level)

        product: _native.MatrixProduct = self.products.get(key, encoded)
        return product
