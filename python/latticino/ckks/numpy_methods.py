"""numpy's array methods that CKKS approximates, and advice for those that it does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from .. import arrays
from ..common.array_methods import ArrayMethods
from ..common.naming import public
from ..common.remedies import SHAPE_REMEDIES

if TYPE_CHECKING:
    from .ciphertext import Ciphertext

_BITS = "decrypt first, or choose with x.compare(y, bound), which gives encrypted ones and zeros"
_TABLE = "x.apply_lut(math.{name}, bound), by a table"
_NO_CHANGE = "make a new array: join slices with lt.concatenate, or x * (1 - mask) + y * mask with a mask in the clear"
_MEMORY = "x.layout says where the values lie, and x.nbytes how much memory the ciphertexts take"
_NUMBERS = "decrypt first, and convert what the client gets; list(x) has the encrypted values along the first axis"
_TYPE = "encrypt floats for float64, or complex numbers for complex128; x.real has the real parts"
_SORTED = "lt.sort(x, domain, bits), and take the value in its place"
_DECRYPT = "decrypt first: it cannot be computed on approximate numbers without a look at them"

REMEDIES: dict[str, str] = {
    **SHAPE_REMEDIES,
    **{name: f"lt.{name}(x, domain, bits)" for name in ("exp", "log", "sin", "cos", "tanh")},
    "sqrt": "x.sqrt(domain, bits)", "reciprocal": "x.inverse(domain, bits)", "absolute": "x.abs(bound, bits)",
    "fabs": "x.abs(bound, bits)", "sign": "x.sign(bound, gap, bits)", "maximum": "x.maximum(y, bound, bits)",
    "fmax": "x.maximum(y, bound, bits)", "minimum": "x.minimum(y, bound, bits)",
    "fmin": "x.minimum(y, bound, bits)", "add.reduce": "x.sum(axis)", "multiply.reduce": "x.prod(axis)",
    "add.accumulate": "x.cumsum(axis)", "maximum.reduce": "x.max(bound=bound)",
    **{name: f"x.{name}(bound=bound)" for name in ("max", "min", "argmax", "argmin")},
    "amax": "x.max(bound=bound)", "amin": "x.min(bound=bound)", "ptp": "x.max(bound=bound) - x.min(bound=bound)",
    "sort": "lt.sort(x, domain, bits)", "std": "x.std(axis, domain=(low, high), bits=bits)",
    "corrcoef": "lt.corrcoef(x, domain), where each row of x is a variable; lt.stack([x, y]) joins two",
    **dict.fromkeys(("argsort", "argpartition", "partition"), "lt.top_k(x, k, bound) gives the largest values and "
                                                              "their indices; lt.sort(x, domain, bits) only values"),
    **dict.fromkeys(("median", "percentile", "quantile"), f"decrypt first, or {_SORTED}"),
    "average": "x.mean(axis), or (x * weights).sum(axis) / weights.sum()",
    "cumprod": "lt.stack([x[: i + 1].prod() for i in range(len(x))])",
    **dict.fromkeys(("any", "all", "nonzero", "argwhere", "flatnonzero", "count_nonzero", "allclose", "isclose",
                     "array_equal", "array_equiv", "isin", "greater", "less"), _BITS),
    **dict.fromkeys(("searchsorted", "digitize"),
                    "x.expand_dims(-1).compare(edges, bound).sum(-1) counts the edges below each value"),
    **dict.fromkeys(("rint", "round", "around"), _TABLE.format(name="rint").replace("math.rint", "round")),
    **{name: _TABLE.format(name=name) for name in ("floor", "ceil", "trunc")},
    "fix": _TABLE.format(name="trunc"),
    "interp": "x.approximate(lambda v: np.interp(v, xp, fp), domain, bits)",
    "polyval": "x.polyval(coefficients[::-1]), which takes the lowest one first",
    "choose": "x * mask + y * (1 - mask) with a mask of zeros and ones",
    "select": "x * mask + y * (1 - mask) with a mask of zeros and ones",
    "inner": "x @ y.T", "vdot": "(x.conj() * y).sum()",
    "vecdot": "(x.conj() * y).sum(-1)", "matmul": "x @ y", "matrix_power": "lt.matrix_power(x, n)",
    "nanmean": "x.mean(axis)", "outer": "x.reshape(-1, 1) * y.reshape(-1)",
    "kron": "products of reshaped arrays, which broadcast",
    **dict.fromkeys(("tensordot", "einsum"), "x @ y of reshaped arrays, or (x * y).sum(axis) of arrays that broadcast"),
    "norm": "(x * x).sum(axis).sqrt(domain, bits)",
    **{name: f"x @ np.fft.{name}(np.eye(n)) for n values" for name in ("fft", "ifft", "rfft")},
    **dict.fromkeys(("inv", "solve", "det", "eig", "eigh", "svd", "qr", "cholesky", "unique", "histogram"), _DECRYPT),
    **dict.fromkeys(("item", "tolist"), _NUMBERS),
    "tobytes": "lt.to_bytes(x)", "dumps": "lt.to_bytes(x)", "tofile": "lt.save_ciphertext(path, x)",
    "dump": "lt.save_ciphertext(path, x)",
    **dict.fromkeys(("astype", "view", "byteswap", "getfield"), _TYPE),
    **dict.fromkeys(("fill", "put", "setfield", "setflags", "resize", "itemset"), _NO_CHANGE),
    **dict.fromkeys(("strides", "data", "ctypes", "base", "flags", "itemsize"), _MEMORY),
    "device": "x.context.device"}


class NumpyMethods(ArrayMethods):
    """Methods of CKKS arrays that are made from methods of `Ciphertext` itself."""

    __slots__ = ()
    _REMEDY_OF: ClassVar[dict[str, str]] = REMEDIES

    @property
    def real(self) -> Ciphertext:
        """The real parts. Free for values that are known to be real, otherwise one level."""
        return self._array._real_part()

    @property
    def imag(self) -> Ciphertext:
        """The imaginary parts, as real values: one level. Zeros for values that are known to be real."""
        return self._array._imaginary_part()

    def conjugate(self) -> Ciphertext:
        """Complex conjugates; no level."""
        return self._array.conj()

    @public
    def std(self, axis: int | tuple[int, ...] | None = None, ddof: float = 0, keepdims: bool = False, *,
            domain: tuple[float, float] | None = None, bits: float = 20) -> Ciphertext:
        """numpy's standard deviation: ``x.var(axis, ddof, keepdims).sqrt(domain, bits)``.

        ``domain``: where the variances lie, above 0; it counts as their declared range. Left out, it is the range that
        is known of them: from 0 to the square of half of the range of the values. The root is steep near 0, so a
        domain that begins above 0 needs a polynomial of a far smaller degree. Two levels, and those of `sqrt`.
        """
        return self._array._standard_deviation(axis, ddof, keepdims, domain, bits)

    @public
    def cumsum(self, axis: int | None = None) -> Ciphertext:
        """numpy's cumulative sum along an axis, or of the flat array. It is a product with a plain triangular matrix,
        which takes one level."""
        x = self._array
        if axis is None:
            x, axis = x.reshape(-1), 0
        moved = x.moveaxis(axis, -1)
        n = moved.shape[-1]
        return (moved @ np.triu(np.ones((n, n)))).moveaxis(-1, axis)

    @public
    def dot(self, w: Any) -> Ciphertext:
        """``np.dot(x, w)``: ``x @ w``, or a product with a single number."""
        factor = w if isinstance(w, ArrayMethods) else arrays.as_numpy(w, "dot")
        return cast("Ciphertext", np.dot(cast("Any", self), factor))

    @property
    def _array(self) -> Ciphertext:
        return cast("Ciphertext", self)
