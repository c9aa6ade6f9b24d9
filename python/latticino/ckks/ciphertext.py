"""Encrypted vectors with operators."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Union

import numpy as np

from .. import _native, arrays, errors
from ..claims import noise
from ..claims.known import as_complex, as_range, check_fits, places_of
from ..claims.precision import in_words
from ..common import powers, roles
from ..common.captured import public_step
from ..common.layout import Layout
from ..common.naming import public
from ..common.recording import Scope
from ..functions import evaluate
from ..functions import inverse as inverses
from ..functions import sign as signs
from ..functions.chebyshev import Fit
from ..linear import LinearMap, convolution, encrypted
from ..ops import align, levels, matrix, moves, refreshing, scalar_products, shapes, sums
from ..ops.scalar import Scalar
from . import notebook, ranking
from . import switching as switching_of
from .numpy_methods import NumpyMethods

if TYPE_CHECKING:
    from .context import Context

Operand = Union["Ciphertext", complex, Scalar, np.ndarray, Sequence[complex]]


class Ciphertext(NumpyMethods):
    """An encrypted array: one ciphertext, or several behind one object if the array has more values than slots.

    Immutable: every operation returns a new one, and operands stay usable after an error. ``+ - * / @ **`` take
    ciphertexts, numbers and arrays, and broadcast as numpy does. Levels and scales are aligned automatically.

    Each array has a *layout*: which slot holds which value. Operations that only read slots in another order are free.
    After them, slots without values may hold unknown numbers; functions clear these slots first, which costs a level.
    Two arrays with different layouts are brought to one layout, which costs a level of one of them. `contiguous` makes
    the layout of a fresh array.

    ======================================  ====================  =========================================
    operation                               levels                rotations of each ciphertext
    ======================================  ====================  =========================================
    ``+ -`` in one layout, ``* n`` integer  0                     none
    ``*`` number, array, ciphertext         1                     none
    operands of two layouts                 1 more, of one        2 sqrt(d) where values move by d distances,
                                                                  log2(n) to repeat each n times
    ``x[...]``, reshape, T, stack, roll ..  0                     none
    ``x.real``, ``x.imag`` of complex       1                     1: a conjugation
    `sum` over axes                         0; 1 where a sum's    log2(n) for n values, 2 sqrt(d) more for
                                            values lie in several d pieces of sums
                                            ciphertexts
    `mean`; `var`                           1; 2                  those of one sum; of two
    `cumsum`                                1                     2 sqrt(n) for n values
    ``x @ w``, ``w @ x``                    1                     2 sqrt(d) for d diagonals
    `contiguous`                            0 or 1                2 sqrt(d) where values move by d distances
    `rotate`; `spread_sum`                  0 or 1; 1             1 or 2; 3 log2(n), hoisted by threes
    functions after slicing, sums of axes   1 more                none: a mask
    ======================================  ====================  =========================================

    Operations raise LevelError, KeyError, ContextError, ShapeError, or UnsupportedError. The last one is raised if
    values would move by so many different distances that their masks exceed 2^26 slots.
    """

    __slots__ = ("_context", "_layout", "_held", "_known", "_scope")
    _FUNCTION = "x.approximate(np.{name}, domain, bits)"
    _METHODS: ClassVar[dict[str, tuple[str, ...]]] = {
        "sum": ("axis", "keepdims"), "mean": ("axis", "keepdims"), "var": ("axis", "ddof", "keepdims"),
        "reshape": ("shape",), "ravel": (), "transpose": ("axes",), "swapaxes": ("axis1", "axis2"),
        "moveaxis": ("source", "destination"), "squeeze": ("axis",), "expand_dims": ("axis",),
        "broadcast_to": ("shape",), "roll": ("shift", "axis"), "flip": ("axis",), "copy": (),
        "cumsum": ("axis",), "prod": ("axis", "keepdims"), "diagonal": ("offset", "axis1", "axis2"),
        "trace": ("offset", "axis1", "axis2"), "repeat": ("repeats", "axis"), "take": ("indices", "axis"),
        "clip": ("min", "max"), "real": (), "imag": ()}
    __hash__ = None  # type: ignore[assignment]  # == has no answer in the clear

    def __init__(self, context: Context, parts: list[_native.Ciphertext], layout: Layout, known: _native.Known) -> None:
        self._context, self._layout = context, layout
        self._held, self._known = parts, known
        self._scope = Scope.current()

    @property
    def _parts(self) -> list[_native.Ciphertext]:
        if self._scope is not None:
            self._scope.require()
        return self._held

    @property
    def _key(self) -> str:
        """The id of the key that it is encrypted under, as its sender claims."""
        return self._parts[0].key

    @property
    def _evaluator(self) -> _native.Evaluator:
        evaluator: _native.Evaluator = self.context._evaluator_for(self._key)
        return evaluator

    # ---- properties ----

    @property
    def context(self) -> Context:
        """The context or the session that the array belongs to."""
        return self._context

    @property
    def layout(self) -> Layout:
        """Which slot holds which value."""
        return self._layout

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths along the axes."""
        return self.layout.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.layout.shape)

    @property
    def dtype(self) -> np.dtype:
        """The type that `decrypt` returns: float64 if all inputs were real, else complex128."""
        return np.dtype(np.float64 if self._known.range.is_real else np.complex128)

    @property
    def size(self) -> int:
        """Number of values."""
        return self.layout.size

    @property
    def level(self) -> int:
        """Number of multiplications in sequence that are left."""
        return min(p.level for p in self._parts)

    @property
    def scale(self) -> float:
        """The factor by which the values are multiplied inside the ciphertext."""
        return self._parts[0].scale

    @property
    def slots(self) -> int:
        """Slots of each ciphertext behind this object."""
        return self._parts[0].slots

    @property
    def nbytes(self) -> int:
        """Device memory of the ciphertexts."""
        return sum(p.bytes for p in self._parts)

    @property
    def expected_bits(self) -> float:
        """Expected mean precision in bits, ``-log2`` of the mean absolute error; infinite if the values are exact.

        It depends on the range of the values (`range`): assumed, declared or calibrated on sample data. With a
        declared range the real precision can be higher, because only the range of the values is known.
        """
        return self._known.bits(self.size, self._full)[0]

    @property
    def expected_worst_bits(self) -> float:
        """The expected precision of the value with the largest error."""
        return self._known.bits(self.size, self._full)[1]

    @property
    def range(self) -> _native.Range:
        """The range of the values. ``range.claim`` says where it comes from: ``"assumed"`` (nothing was stated: -1 to
        1), ``"declared"`` or ``"calibrated"``."""
        return self._known.range

    @public_step
    def declare(self, low: float | _native.Range, high: float | None = None) -> Ciphertext:
        """The same values, declared to lie within ``low`` to ``high``, or within an ``lt.Range``.

        Use it where the computed range is much too wide, for example for the weights of an iterative training. It
        cannot be checked: the precision claimed from here on holds only if the declaration is true. It costs nothing.

        The error so far stays as it was claimed. If that rests on a sample (``like=``) or on the unit box, you also
        state that the data are like the sample, or within the box. `Client.decrypt_for_sharing` takes you at your word.
        """
        return self._like(self._parts, self._known.declared(as_range(low if high is None else (low, high))))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a single encrypted value")
        return self.shape[0]

    def __iter__(self) -> Iterator[Ciphertext]:
        if not self.shape:
            raise TypeError("iteration over a single encrypted value")
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> NoReturn:
        raise errors.UnsupportedError.explain(
            "bool", "an encrypted value", "a value in the clear",
            "choose with compare() and products, or decrypt first")

    def _no_order(self, other: Any) -> NoReturn:
        raise errors.UnsupportedError.explain(
            "compare", "an operator such as == or < on encrypted approximate numbers", "the method compare()",
            "x.compare(y, bound) gives encrypted ones and zeros; test identity with `is`")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _no_order

    def _of_integers(self, *_: Any) -> NoReturn:
        raise errors.UnsupportedError.explain(
            "operator", "one of integers or bits, such as %, // or &, on encrypted approximate numbers",
            "one of + - * / @ **, or encrypted integers",
            "take x.apply_lut(f, bound) or x.approximate(f, domain, bits), or encrypt in a context of lt.tfhe")

    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __divmod__ = __rdivmod__ = _of_integers
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _of_integers
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __round__ = _of_integers

    def __rpow__(self, _: Any) -> NoReturn:
        raise errors.UnsupportedError.explain(
            "power", "an encrypted exponent", "an exponent in the clear",
            "approximate the function on the range of the exponent, as in "
            "x.approximate(lambda v: 2.0**v, domain=(-1, 1), bits=20)")

    def __abs__(self) -> NoReturn:
        raise errors.UnsupportedError.explain(
            "abs", "encrypted approximate numbers", "a bound of their size", "x.abs(bound, bits)")

    def __copy__(self) -> Ciphertext:
        return self  # immutable

    def __deepcopy__(self, memo: dict[int, Any]) -> Ciphertext:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return roles.reduced(self)

    def __repr__(self) -> str:
        several = f" in {len(self._parts)} ciphertexts" if len(self._parts) > 1 else ""
        return (f"Ciphertext(shape={self.shape}{several}, level={self.level}, "
                f"scale=2^{math.log2(self.scale):.2f}, slots={self.slots}, {self._precision()})")

    def _repr_html_(self) -> str:
        return notebook.ciphertext(self)

    # ---- internal helpers ----

    @property
    def _to_decrypt(self) -> list[_native.Ciphertext]:
        """The parts, for the key's owner, who may read more than operations may."""
        return self._parts

    def _precision(self) -> str:
        mean, worst = self._known.bits(self.size, self._full)
        kind = {"declared": "at least"}.get(self._known.kind, "about")
        if not self.context.encrypted:
            return f"NOT ENCRYPTED, as if {in_words(mean, f'about {mean:.1f} bits')}; {self._known.within()}"
        return f"{in_words(mean, f'{kind} {mean:.1f} bits, worst value {worst:.1f}')}; {self._known.within()}"

    @property
    def _full(self) -> bool:
        """Whether all slots of the ring are in use. Then the largest of the errors that the secret multiplies is
        expected to be larger."""
        return self.slots == self.context.slots

    @property
    def _padded(self) -> bool:
        return not self.layout.full

    @property
    def _clean(self) -> bool:
        """Whether slots without values are zero."""
        return self.layout.clean

    def _like(self, parts: list[_native.Ciphertext], known: _native.Known, clean: bool | None = None,
              shape: tuple[int, ...] | None = None, *, layout: Layout | None = None) -> Ciphertext:
        """A result with these parts. It has the plain layout if a shape is given, otherwise `layout` or this array's
        own. `clean`: whether slots without values hold zeros."""
        if layout is None and shape is not None:
            layout = Layout.plain(shape, parts[0].slots, bool(clean), known.reach)
        elif layout is None and clean is not None:
            layout = self.layout.changed(clean, max(self.layout.bound, known.reach))
        layout = self.layout if layout is None else layout
        if parts:
            known = check_fits(self.context, known, parts[0], layout.bound)
        out = Ciphertext(self.context, parts, layout, known)
        debugger = self.context._debugger
        return out if debugger is None or not parts else debugger.followed(out)

    @property
    def _contents(self) -> _native.Contents:
        """The object of the core for this array. The core does the arithmetic of claims, levels and slots without
        values."""
        where = self.layout
        return _native.Contents(self._parts, self._known, where.rest, where.bound, where.number)

    def _made(self, made: _native.Contents) -> Ciphertext:
        """Makes an array of a result of the core, in this layout."""
        rest: Any = made.rest
        return self._like(made.parts, made.known, layout=self.layout.with_rest(*rest))

    @property
    def _constants(self) -> tuple[Any, str]:
        """The core's source of encoded constants, with the advice for its errors if levels are missing."""
        return self.context._encodings, levels.more_levels(self.context)

    def _rescaled(self, parts: list[_native.Ciphertext]) -> float:
        """The error that a rescaling added, if `parts` are its result for this array."""
        return noise.rescaled(self.context.params, self.level, parts[0].slots, parts[0].scale)

    def _switched(self, slots: int | None = None) -> float:
        """The error that a key switch of this array adds to each slot of its ciphertexts, or of ciphertexts with fewer
        slots."""
        return noise.switched(self.context.params, self.level, slots or self.slots, self.scale)

    def _multiplied(self, parts: list[_native.Ciphertext]) -> float:
        """The error that the key switch added to the product `parts`, which was computed from this array."""
        return noise.multiplied(self.context.params, self.level, parts[0].slots, parts[0].scale)

    def _ready(self, levels: int) -> Ciphertext:
        """This array, refreshed if its context bootstraps automatically and should do so before `levels` more are
        taken."""
        refreshes = self.context._refreshes(self._contents, levels)
        return refreshing.refreshed_for(self, levels) if refreshes else self

    def _aligned(self, other: Ciphertext, operation: str) -> tuple[Ciphertext, Ciphertext]:
        """Both arrays, brought to one shape and layout."""
        return align.aligned(self, other, operation)

    def _ready_for_function(self, levels: int, operation: str) -> Ciphertext:
        """This array, prepared for a function that takes `levels`: refreshed if the context does so, and without
        unknown values in slots."""
        return align.cleared(self._ready(levels + (self.layout.rest == "unknown")), operation)

    def _promised(self, operation: str, domain: Any) -> Ciphertext:
        """This array within a domain by the caller's word, which counts as a declared range."""
        return evaluate.promised(operation, self, domain)

    def _pieces(self, array: np.ndarray, operation: str) -> list[np.ndarray]:
        """Plain values, as slot vectors of this shape."""
        values = arrays.as_slots(array, operation)
        return arrays.chunks(values, self.slots) if self.layout.is_plain else list(self.layout.rows(values))

    # ---- sums ----

    @public_step
    def __add__(self, other: Operand) -> Ciphertext:
        if isinstance(other, Ciphertext):
            x, y = self._aligned(other, "add")
            return x._made(x._contents.plus(self._evaluator, y._contents))
        return self._plus_clear(other, "add")

    def _plus_clear(self, other: Any, operation: str) -> Ciphertext:
        if isinstance(other, numbers.Number):
            return self._made(self._contents.plus_number(self._evaluator, _finite(other, operation)))
        if isinstance(other, Scalar):
            return scalar_products.plus(self, other)
        x, array = align.operand(self, other, operation)
        encoded = [x.context.encode(v, p.level, p.scale) for p, v in zip(x._parts, x._pieces(array, operation))]
        return x._made(x._contents.plus_plain(
            self._evaluator, encoded, as_complex(array), *places_of(x.layout)))

    __radd__ = __add__

    @public_step
    def __neg__(self) -> Ciphertext:
        return self._times_number(-1)

    @public_step
    def __sub__(self, other: Operand) -> Ciphertext:
        if isinstance(other, Ciphertext):
            x, y = self._aligned(other, "subtract")
            return x._made(x._contents.minus(self._evaluator, y._contents))
        if isinstance(other, numbers.Number):
            _finite(other, "subtract")  # before the sign changes, because a message would show the number
        return self._plus_clear(-_plain(other) if isinstance(other, (numbers.Number, Scalar))
                                else -arrays.as_numpy(other, "subtract").astype(complex), "subtract")

    @public_step
    def __rsub__(self, other: Operand) -> Ciphertext:
        return (-self)._plus_clear(other, "subtract")

    # ---- products ----

    @public_step
    def __mul__(self, other: Operand) -> Ciphertext:
        if isinstance(other, Ciphertext):
            return self._times(other)
        if isinstance(other, numbers.Number):
            return self._times_number(other)
        if isinstance(other, Scalar):
            return scalar_products.times(self, other)
        x, array = align.operand(self._ready(1), other, "multiply")
        x = x._ready(1)
        factors = [x.context.encode(v, p.level, x._factor_scale(p))
                   for p, v in zip(x._parts, x._pieces(array, "multiply"))]
        return x._made(x._contents.times_plain(x._evaluator, factors, as_complex(array), *places_of(x.layout)))

    __rmul__ = __mul__

    def _factor_scale(self, part: _native.Ciphertext) -> float:
        """The scale of a plain factor: LevelError at level 0."""
        return _native.factor_scale(part, levels.more_levels(self.context))

    def _canonical(self) -> Ciphertext:
        """This array, or one level below it if its scale is not the canonical one."""
        if self._is_canonical:
            return self
        return self.to_level(self.level - 1) if self.level else self.to_level(0)

    @property
    def _is_canonical(self) -> bool:
        return self._contents.canonical

    def _times(self, other: Ciphertext) -> Ciphertext:
        x, y = self._aligned(other, "multiply")
        same = x is y
        x = align.moderate(x._ready(1))
        y = x if same else align.moderate(y._ready(1))
        return x._made(x._contents.times(self._evaluator, y._contents, same))

    def _times_number(self, number: Any) -> Ciphertext:
        _finite(number, "multiply")
        c = int(number) if isinstance(number, numbers.Integral) else complex(number)
        if isinstance(c, int) and abs(c) < _native.MAX_INTEGER:
            return self._made(self._contents.times_integer(self._evaluator, c))
        c = complex(c)
        x = self._ready(_native.levels_of(c))
        return x._made(x._contents.times_number(self._evaluator, c))

    @public_step
    def __truediv__(self, other: Operand) -> Ciphertext:
        if isinstance(other, Ciphertext):
            return inverses.divide_by_range(self, other)
        if isinstance(other, Scalar):
            return scalar_products.over(self, other)
        number = isinstance(other, numbers.Number)
        divisor: Any = _finite(other, "divide") if number else arrays.as_numpy(other, "divide")
        if not np.all(divisor):
            raise errors.ValueError.explain("divide", "the divisor 0", "other numbers", "check the data")
        # Computed in double precision, whatever the type of the divisor.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            inverse = 1 / (np.complex128(divisor) if isinstance(other, numbers.Number)
                           else divisor.astype(complex if divisor.dtype.kind == "c" else float))
        if not np.isfinite(inverse).all():
            raise errors.ValueError.explain(
                "divide", "a divisor whose inverse exceeds the double range", "larger numbers", "scale the data")
        return self * (complex(inverse) if isinstance(other, numbers.Number) else inverse)

    @public_step
    def __rtruediv__(self, other: Operand) -> Ciphertext:
        return inverses.divide_by_range(other, self)

    @public_step
    def __pow__(self, n: int) -> Ciphertext:
        return powers.power(self, n, _remedy_of_power)

    @public_step
    def __matmul__(self, w: Operand) -> Ciphertext:
        """numpy's ``x @ w`` and ``w @ x``. A clear `w` takes one level, an encrypted one two (one for vectors).

        All sizes and batches that numpy takes are possible; the library pads.

        Cost with a clear matrix:

        - A vector of n values times an n x m matrix takes min(n', m') diagonals. Here n' and m' are the next powers
          of two. The result is packed for the next product.
        - Larger matrices, and arrays in another layout, are multiplied by one sparse map. Its result has the layout
          that takes the fewest diagonals. For example, (r, n) @ (n, m) in one ciphertext takes at most n + m - 1
          diagonals if m <= n, and about 3 m if m is much smaller than n.
        - Arrays of several ciphertexts are multiplied block by block.

        Cost of two encrypted matrices, of shapes (r, n) and (n, m):

        - If all r n m products of single values fit the slots, it takes one product of ciphertexts.
        - Otherwise it takes up to n products of ciphertexts with one relinearisation, and 2 n rotations. The
          rotations of an operand share one ModUp.
        - If the rows of an operand do not follow each other in the slots, as in a transpose, it may take one more
          level.

        ShapeError for shapes that numpy refuses; UnsupportedError if the diagonals exceed 2^26 slots.
        """
        if isinstance(w, Ciphertext):
            return encrypted.product(self, w)
        return matrix.multiply(self, w)

    @public_step
    def __rmatmul__(self, w: Any) -> Ciphertext:
        return matrix.multiply(self, w, left=True)

    @public
    def apply(self, m: LinearMap) -> Ciphertext:
        """``m(self)``: a sparse linear map of the values, one level. See `linear_map`."""
        roles.require_kind("apply", m, LinearMap, "make one with lt.linear_map")
        return m(self)

    @public_step
    def conv(self, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
             groups: int = 1) -> Ciphertext:
        """The convolution of neural networks, with PyTorch's shapes and options; one level.

        In one dimension the array has the shape (..., channels, length), and the weight (results, channels / groups,
        k). Result o at place i is the sum over c and j of
        ``weight[o, c, j] * self[c, i * stride + j * dilation - padding]``. In two dimensions the shapes are (...,
        channels, height, width) and (results, channels / groups, k, l). The kernel is not flipped (signal processing
        calls this a cross-correlation); `lt.convolve` is numpy's convolution, which flips it. ``padding``: a number or
        one for each axis, ``"valid"``, or ``"same"`` with stride 1. ``bias``: a number for each result.

        Results lie where their inputs do, with more channels in the slots that a stride leaves between them. For maps
        that are used often, and for memory limits, make it once with `lt.convolution_map`.
        """
        return convolution.conv(self, weight, bias, stride, padding, dilation, groups)

    @public_step
    def average_pool(self, size: Any, stride: Any = None, padding: Any = 0,
                     count_include_pad: bool = True) -> Ciphertext:
        """PyTorch's average pooling of (..., channels, length) or (..., channels, height, width); one level.

        ``size``: that of the windows, a number for each axis. A single number is taken for both axes; an array with two
        axes in all has one axis to pool. ``stride``: left out, it is the size.
        """
        return convolution.average_pool(self, size, stride, padding, count_include_pad)

    # ---- moving values between slots ----

    @public_step
    def rotate(self, k: int) -> Ciphertext:
        """The values moved k places to the left, cyclically: ``np.roll(x.ravel(), -k)``.

        It costs no level if the values fill their slots, and one level for masks otherwise. `roll` costs nothing: it
        does not move the values.
        """
        k = arrays.as_integer(k, "rotate", "steps") % self.size
        if k == 0:
            return self
        # only reads the slots in another order, which is free
        if not self.layout.is_plain or self.layout.rest == "unknown":
            return moves.taken(self, np.roll(np.arange(self.size), -k).reshape(self.shape))
        x = self._ready(1) if _native.rotation_needs_masks(self.size, self.slots, k) else self
        return x._made(_native.rotated(x._contents, x._evaluator, x.size, k, *x._constants))

    @public_step
    def conj(self) -> Ciphertext:
        """Complex conjugates; no level."""
        return self._made(self._contents.conjugated(self._evaluator))

    @public_step
    def _real_part(self) -> Ciphertext:
        if self.range.is_real:
            return self
        part = (self + self.conj()) * 0.5
        return part._like(part._parts, part._known.as_real())

    @public_step
    def _imaginary_part(self) -> Ciphertext:
        if self.range.is_real:
            return self * 0
        part = (self.conj() - self) * 0.5j
        return part._like(part._parts, part._known.as_real())

    @public_step
    def sum(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Ciphertext:
        """numpy's sum of all values, over an axis or over several.

        Sums of n values take about log2(n) rotations. They take no level if the values of each sum lie in one
        ciphertext, else one level. There is an exception: sums of all values, and over leading axes of power-of-two
        arrays, take one level if slots after the values may not be zero. Sums over some axes leave unknown values
        between the results, which a product with an array clears.
        """
        return sums.total(self, axis, keepdims)

    @public_step
    def mean(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Ciphertext:
        """numpy's mean: a sum, and one level."""
        return sums.mean(self, axis, keepdims)

    @public_step
    def var(self, axis: int | tuple[int, ...] | None = None, ddof: float = 0, keepdims: bool = False) -> Ciphertext:
        """numpy's variance, divided by n - ddof, computed from the sum of squares and the square of the sum: two
        levels.

        The middle of the declared or calibrated range is subtracted first, which is free. If the values are much
        farther from this middle than from their mean, subtract the mean instead: ``((x - x.mean(axis, True)) **
        2).mean(axis)`` keeps more bits, and takes two levels more.
        """
        return sums.variance(self, axis, ddof, keepdims)

    @public_step
    def _standard_deviation(self, axis: Any, ddof: float, keepdims: bool, domain: Any, bits: float) -> Ciphertext:
        variances = self.var(axis, ddof, keepdims)
        if domain is not None:
            variances = variances._promised("std", domain)
        return variances.sqrt(domain, bits)

    @public_step
    def spread_sum(self, factor: complex = 1.0) -> Ciphertext:
        """Each row's sum, times `factor`, in every place of the row: one level.

        The shape is (..., c), where c is a power of two. It takes 2 log2(c) rotations. `sum` with ``keepdims`` takes
        any shape.
        """
        return sums.spread(self, factor)

    # ---- shapes: these are free, because the ciphertexts stay as they are ----

    @public_step
    def __getitem__(self, index: Any) -> Ciphertext:
        """numpy's indexing with integers, slices, ``...``, ``None``, integer arrays and boolean masks, which are not
        encrypted.

        ShapeError for an index that numpy refuses, and if no value is left.
        """
        for one in index if isinstance(index, tuple) else (index,):
            if isinstance(one, Ciphertext):
                raise errors.UnsupportedError.explain(
                    "index", "an encrypted index", "indices in the clear", "choose with compare() and products")
        return shapes.moved(self, lambda places: places[index], "index")

    @public_step
    def reshape(self, *shape: Any) -> Ciphertext:
        """The values in another shape, row by row. One length may be -1; it follows from the others."""
        return shapes.moved(self, lambda places: places.reshape(*shape), "reshape")

    @public
    def ravel(self) -> Ciphertext:
        """All values in one row."""
        return self.reshape(-1)

    @public_step
    def transpose(self, *axes: Any) -> Ciphertext:
        """The axes in another order; reversed if none are named."""
        return shapes.moved(self, lambda places: places.transpose(*axes), "transpose")

    @property
    def T(self) -> Ciphertext:
        """The axes reversed."""
        return self.transpose()

    @public_step
    def swapaxes(self, axis1: int, axis2: int) -> Ciphertext:
        """The array with two axes exchanged."""
        return shapes.moved(self, lambda places: places.swapaxes(axis1, axis2), "swapaxes")

    @public_step
    def moveaxis(self, source: Any, destination: Any) -> Ciphertext:
        """numpy's moveaxis."""
        return shapes.moved(self, lambda places: np.moveaxis(places, source, destination), "moveaxis")

    @public_step
    def squeeze(self, axis: Any = None) -> Ciphertext:
        """Without axes of length 1: all of them, or those that are named."""
        return shapes.moved(self, lambda places: places.squeeze(axis), "squeeze")

    @public_step
    def expand_dims(self, axis: Any) -> Ciphertext:
        """With new axes of length 1."""
        return shapes.moved(self, lambda places: np.expand_dims(places, axis), "expand_dims")

    @public_step
    def broadcast_to(self, shape: Any) -> Ciphertext:
        """The values repeated as numpy broadcasts them. Equal values share a slot."""
        return shapes.moved(self, lambda places: np.broadcast_to(places, shape), "broadcast_to")

    @public_step
    def roll(self, shift: Any, axis: Any = None) -> Ciphertext:
        """numpy's roll. Free, unlike `rotate`: later operations read the slots in another order."""
        return shapes.moved(self, lambda places: np.roll(places, shift, axis), "roll")

    @public_step
    def flip(self, axis: Any = None) -> Ciphertext:
        """The values in reverse order along all axes, or along those that are named."""
        return shapes.moved(self, lambda places: np.flip(places, axis), "flip")

    @public_step
    def contiguous(self) -> Ciphertext:
        """The same values in the layout of a fresh array: row by row from the first slot on, and zeros behind them.

        Use it for an array that is combined many times with arrays of that layout, and to pack slices or stacks into
        fewer ciphertexts.
        It is free if the array already has that layout, or if one known number lies behind the values. Otherwise it
        takes one level.
        """
        x = align.zeroed(align.plain(self, "contiguous"))
        return x if x._clean else align.masked(x, "contiguous")

    # ---- functions ----

    @public_step
    def polyval(self, coefficients: Sequence[complex], basis: str = "monomial",
                domain: tuple[float, float] = (-1.0, 1.0)) -> Ciphertext:
        """A polynomial of every value, lowest coefficient first: ceil(log2(degree + 1)) levels.

        ``basis="chebyshev"``: a series of T_k. `domain` is mapped to [-1, 1] first, in either basis, as
        numpy.polynomial does it. A domain whose length is not 2/k for an integer k takes one level more, and so does a
        scale that is not the canonical one of the level.

        Values may lie outside of the domain, but their powers are large there, and multiply the errors of coefficients
        and of products. Ages from 18 to 90 keep many bits more with
        ``x.polyval(np.polynomial.Polynomial(c).convert(domain=(18, 90)).coef, domain=(18, 90))`` than with
        ``x.polyval(c)``.
        `expected_bits` counts that, and a note of the plan names the domain where it keeps more.
        """
        return evaluate.polyval(self, coefficients, basis, domain)

    @public_step
    def approximate(self, f: Callable[..., Any] | Fit, domain: tuple[float, float] | None = None,
                    bits: float | None = None, *, max_degree: int = 511) -> Ciphertext:
        """``f(x)`` of every real value in a domain by a Chebyshev polynomial: docs/functions.md.

        ``f``: a numpy function such as ``np.tanh``, any function of an array or of a number, or what `lt.fit` gives.
        ``domain``: where the values lie; left out, the declared range. The library takes the smallest degree up to
        ``max_degree`` for which the largest error, plus the expected error of the evaluation, is at most ``2**-bits``
        (by default 20 bits). The error that the values already have is multiplied by the slope of f; ``expected_bits``
        counts everything.

        It takes ceil(log2(degree + 1)) levels, and one more if the domain has to be scaled to [-1, 1]; arrays that do
        not fill their slots may take one more for a mask. ``lt.fit(f, domain, bits)`` shows the choice. Complex values
        are accepted only if the polynomial is also close to f on the complex range, which is measured: exp and sin
        pass, abs does not.

        Values outside of the domain give wrong results in all slots. If a known range is wider than the domain, there
        is a RangeWarning (a plan raises ScaleError). PrecisionError if the bits cannot be reached, LevelError if levels
        are missing, and ValueError without a domain.
        """
        return evaluate.approximate(self, f, domain, bits, max_degree)

    @public_step
    def inverse(self, domain: tuple[float, float] | None = None, bits: float = 20, *,
                method: str | None = None) -> Ciphertext:
        """``1 / x`` of every real value in a domain on one side of 0, within ``2**-bits``: docs/functions.md.

        ``domain`` left out: the declared range. If degree 511 suffices, it is one Chebyshev polynomial, which takes the
        fewest levels; otherwise a coarse polynomial and iterations that square its error (Goldschmidt).
        ``method="polynomial"`` or ``"iterations"`` selects one of the two. The degree grows with the square root of the
        quotient of the ends of the domain. Errors as of `approximate`.
        """
        return inverses.inverse(self, domain, bits, method)

    @public_step
    def divide(self, other: Ciphertext, domain: tuple[float, float] | None = None, bits: float = 20, *,
               method: str | None = None) -> Ciphertext:
        """``x / other`` for an encrypted divisor in a domain on one side of 0: x times ``other.inverse(domain, bits)``.

        The inverse is within ``2**-bits``; the quotient's error is that times x. ``x / other`` does the same if the
        divisor's range is declared. Numbers and arrays in the clear divide by ``/`` without a domain.
        """
        if not isinstance(other, Ciphertext):
            if domain is not None:
                raise errors.UnsupportedError.explain(
                    "divide", "a divisor in the clear with a domain", "the divisor alone", "leave it out")
            return self / other
        return inverses.divide(self, other, domain, bits, method)

    @public_step
    def sqrt(self, domain: tuple[float, float] | None = None, bits: float = 20, *,
             method: str | None = None) -> Ciphertext:
        """The root of every real value in a domain, within ``2**-bits``.

        It works as `inverse`, with Newton's iterations for the inverse root. A domain that begins at 0 allows few bits,
        because each bit doubles the degree. A domain that begins above 0 allows more.
        """
        return inverses.sqrt(self, domain, bits, method)

    @public_step
    def inverse_sqrt(self, domain: tuple[float, float] | None = None, bits: float = 20, *,
                     method: str | None = None) -> Ciphertext:
        """``1 / sqrt(x)`` of every positive value in a domain, within ``2**-bits``. As `inverse`."""
        return inverses.inverse_sqrt(self, domain, bits, method)

    @public_step
    def sign(self, bound: float = 1.0, gap: float | None = None, bits: float = 20) -> Ciphertext:
        """The sign of every real value, within ``2**-bits`` for ``gap <= |x| <= bound``: docs/functions.md.

        It applies minimax polynomials one after another, with the degrees that take the fewest levels (`lt.fit_sign`
        shows them).
        ``gap=None``: 1/256 of the bound. Values nearer to 0 give a value between -1 and 1, and 0 gives 0. The claimed
        precision holds for values beyond the gap. A bound that is not 1 over an integer takes one level more, at
        most.

        A LevelError says how many levels it takes; with ``auto_bootstrap`` the library bootstraps between the
        polynomials. PrecisionError if no composition reaches the bits, or none does at this scale.
        """
        return signs.sign(self, bound, gap, bits)

    @public_step
    def abs(self, bound: float = 1.0, bits: float = 12) -> Ciphertext:
        """``|x|`` of real values up to ``bound``, within ``2**-bits``, computed as x times its sign: one level more
        than the sign."""
        return signs.absolute(self, bound, bits)

    @public_step
    def relu(self, bound: float = 1.0, bits: float = 12) -> Ciphertext:
        """``max(x, 0)`` of real values up to ``bound`` in size, within ``2**-bits``. As `abs`."""
        return signs.relu(self, bound, bits)

    @public_step
    def maximum(self, other: Operand, bound: float = 1.0, bits: float = 12) -> Ciphertext:
        """The larger of two, element by element, both real and within ``bound``: within ``2**-bits``, by polynomials.

        As `abs`, of their difference, which must not exceed twice the bound. `max` goes through tables of TFHE.
        """
        return signs.maximum(self, other, bound, bits)

    @public_step
    def minimum(self, other: Operand, bound: float = 1.0, bits: float = 12) -> Ciphertext:
        """The smaller of two, element by element. As `maximum`."""
        return signs.minimum(self, other, bound, bits)

    @public_step
    def clip(self, min: Any = None, max: Any = None, bound: float = 1.0, bits: float = 12) -> Ciphertext:
        """Real values within ``bound``, cut off at ``min`` and ``max``: within ``2**-bits``, by polynomials.

        ``min``, ``max``: numbers or arrays in the clear within the bound; None leaves out one of them. Levels are those
        of `maximum`.
        """
        return signs.clip(self, min, max, bound, bits)

    @public_step
    def bootstrap(self, message: str | None = None, minimal_keys: bool = False,
                  slot_to_coeff_first: bool | None = None, over_mod_raise: bool | None = None, *,
                  arcsine: int | None = None, log_message_ratio: int | None = None,
                  random_like: bool = False) -> Ciphertext:
        """The same values at a higher level; which one depends on the form.

        The form is chosen by predicted precision; `Context.bootstrap_form` and the notes of a plan say which and why.
        At levels that SlotToCoeff can use (3 and above in the named sets) it is mostly SlotToCoeff first, and the
        result is at ``params.default_level``. At lower levels, data declared random-like end at
        ``params.level_after_bootstrap``. All other data end at most 3 levels lower, with a correction that keeps large
        coefficients; constant or positive data have these.

        Values should lie in the unit box. If all inputs of an array were real (``dtype`` is float64), bootstrapping
        takes less: ``message="real"`` refreshes each ciphertext without imaginary parts, which removes their errors,
        and ``"merged"`` refreshes two ciphertexts of the array as one. ``"complex"`` refreshes any values. By default
        the library takes what is predicted to be fastest and about as precise. UnsupportedError for ``"merged"`` and
        one ciphertext, or values not known to be real.
        ``random_like=True`` declares values without structure: no mean, no pattern (a declared `lt.Range` with
        ``random=True`` does as well). The ciphertexts of an array are bootstrapped four at a time. This takes
        less time per ciphertext, and more memory.

        Options that are not None are used as given. ``minimal_keys`` needs a third of the keys and is slower.
        ``slot_to_coeff_first`` raises LevelError if the level is too low. ``over_mod_raise`` adds one CoeffToSlot
        factor that costs no level. ``arcsine`` is the degree of the correction: 3, 5 or 7, for 2, 3 and 3 levels, or 1
        for none. With ``log_message_ratio`` = r values are raised to q0 / 2^r; 0 takes the ratio of the set.
        ParameterError if the set does not allow an option. docs/bootstrapping.md compares all of them.
        """
        return refreshing.bootstrap(self, message, minimal_keys, slot_to_coeff_first, over_mod_raise, arcsine,
                               log_message_ratio, random_like)

    @public_step
    def bootstrap_with(self, other: Ciphertext, minimal_keys: bool = False, slot_to_coeff_first: bool | None = None,
                       over_mod_raise: bool | None = None, *, arcsine: int | None = None,
                       log_message_ratio: int | None = None, random_like: bool = False,
                       ) -> tuple[Ciphertext, Ciphertext]:
        """This and `other`, both of real values and one shape, refreshed as one: half the work.

        They become the real and the imaginary part of one ciphertext, so the imaginary error of each is added to the
        other. Options are those of `bootstrap`. ShapeError if the shapes differ, UnsupportedError for values that are
        not known to be real: ``declare`` says that they are.
        """
        if not isinstance(other, Ciphertext):
            raise errors.ShapeError.explain(
                "bootstrap_with", f"a {type(other).__name__}", "a second ciphertext",
                "call bootstrap() for a single one; plain values need no bootstrapping")
        return refreshing.bootstrap_pair(self, other, minimal_keys, slot_to_coeff_first, over_mod_raise, arcsine,
                                    log_message_ratio, random_like)

    @public_step
    def apply_lut(self, f: Callable[[float], float], bound: float = 1.0, where: Any = None,
                  switching: str | None = None, minimal_keys: bool = False,
                  route: str = "automatic") -> Ciphertext:
        """``f(x)`` of every real value, any function, through an encrypted table: docs/switching.md.

        ``f`` takes a number and gives a real one. Values that are known to be complex, by their declared range or their
        sample data, are an UnsupportedError.
        Values must be at most ``bound`` in size, or results are wrong. The bound may be from 2^-40 to 2^64.
        ``lt.debug`` raises ValueError for larger values. If the range of the values is declared or calibrated and
        exceeds the bound, there is a RangeWarning (a plan raises ScaleError). ``where``: a boolean array of this shape;
        values elsewhere do not change; this costs one level. Takes a few levels (LevelError says how many) and gives a
        ciphertext at the level after bootstrapping's EvalMod. The error is that of the argument, of deviation 2^-8.5
        times the bound with the default sets, times the slope of f (`Context.table_report`).
        ``switching`` names another set (``ctx.switch_set()`` tells the default). ``route``: the way back,
        ``"ring"``, ``"matvec"`` (fewer steps, larger keys), or what a plan predicts to be faster.
        """
        return switching_of.apply_lut(self, f, bound, where, switching, minimal_keys, route)

    @public_step
    def compare(self, other: Operand, bound: float = 1.0, method: str = "table", *, gap: float | None = None,
                bits: float | None = None, **options: Any) -> Ciphertext:
        """1 if this value is greater than that of `other`, 0 if it is less. Both are real and within ``bound``.

        More precisely, their difference must not exceed twice the bound. If nothing is stated of the values, clear
        numbers beyond the bound give a RangeWarning (a plan raises ScaleError). ``method="table"`` uses tables of
        TFHE: if the values are equal, or differ by less than about 2^-6 of the bound, the result is 0 or 1; which one
        is not determined. Options: ``switching``, ``minimal_keys`` and ``route`` of `apply_lut`.

        ``method="polynomial"`` takes minimax polynomials as `sign` does. If the values differ by ``gap`` (by default
        1/128 of the bound) or more, the result is within ``2**-bits`` (by default 20) of 0 or 1. If they differ by
        less, it is between 0 and 1; if they are equal, it is 1/2.

        The claimed precision of the result, and that of a plan, counts only values that differ by these distances or
        more. A note of the plan says so.
        """
        method = arrays.as_text(method, "compare", "method")
        if method == "polynomial":
            if options:
                raise errors.UnsupportedError.explain(
                    "compare", f"the option {next(iter(options))} with polynomials", "gap and bits", "leave it out")
            return signs.compare(self, other, bound, gap, bits)
        if method != "table" or gap is not None or bits is not None:
            raise errors.UnsupportedError.explain(
                "compare", f"method={arrays.shown(method)}" + ("" if gap is bits is None else " with gap or bits"),
                '"table", or "polynomial" with gap and bits', "name one of them")
        return switching_of.compare(self, other, bound, **options)

    @public_step
    def max(self, other: Operand | None = None, bound: float = 1.0, method: str = "rounds", *,
            gap: float | None = None, bits: float | None = None, **options: Any) -> Ciphertext:
        """The larger one of this and `other`, or the largest of all values, real and within ``bound``.

        All values, as an array of shape ():

        ``method="rounds"``: log2(size) comparisons by tables in sequence, with one level each, and one level more. The
        chosen value keeps its precision. If two values differ by less than about 2^-6 of the bound, either may be
        chosen.
        ``"ranks"``: all pairs are compared by tables at once, and ranks are looked up once. It takes up to 256 values;
        tables of the default sets tell about 40 apart. If values are equal, the first one is chosen.
        ``"polynomial"``: the same by minimax polynomials, for values that are equal or at least ``gap`` apart (by
        default 1/64 of the bound), with ``bits`` (by default 12). If values are equal, the first one is chosen.
        docs/functions.md compares their costs.
        """
        if other is not None:
            if method != "rounds" or gap is not None or bits is not None:
                raise errors.UnsupportedError.explain(
                    "max", "another array with a method, gap or bits", "another array without these options",
                    "x.maximum(y, bound, bits) takes polynomials")
            return switching_of.larger(self, other, bound, **options)
        return ranking.of_method(self, method, bound, gap, bits, "max",
                                 lambda: switching_of.largest("max", self, bound, **options), options)

    @public_step
    def argmax(self, bound: float = 1.0, method: str = "rounds", *, gap: float | None = None,
               bits: float | None = None, **options: Any) -> Ciphertext:
        """The index of the largest value in the flat array, of shape (). Options as of `max`.

        With ``method="rounds"`` it is the index of any one of values that are equal, or differ by less than about 2^-6
        of the bound. The other methods give the first of equal ones, as numpy does.
        """
        return ranking.of_method(self, method, bound, gap, bits, "argmax",
                                 lambda: switching_of.largest("argmax", self, bound, **options), options)

    @public_step
    def min(self, bound: float = 1.0, method: str = "ranks", *, gap: float | None = None, bits: float | None = None,
            **options: Any) -> Ciphertext:
        """The smallest of all values, of shape (): `max` by ``"ranks"`` or ``"polynomial"``."""
        return ranking.of_method(self, method, bound, gap, bits, "min", None, options)

    @public_step
    def argmin(self, bound: float = 1.0, method: str = "ranks", *, gap: float | None = None,
               bits: float | None = None, **options: Any) -> Ciphertext:
        """The index of the smallest value; the first one, if several are equal. Options as of `min`."""
        return ranking.of_method(self, method, bound, gap, bits, "argmin", None, options)

    @public_step
    def to_level(self, level: int) -> Ciphertext:
        """The same values at a lower `level` and its canonical scale. ScaleError for the array's own level if it has
        another scale."""
        level = arrays.as_integer(level, "to_level", "level")
        if not 0 <= level <= self.level:
            higher = level > 0 and self.context.params.has_bootstrap and (
                level <= self.context.params.level_after_bootstrap)
            raise errors.LevelError.explain(
                "to_level", f"level {arrays.shown(level)}", f"one from 0 to the operand's, {self.level}",
                "pass a level in that range; operations that need a higher one refresh by themselves"
                if higher and self.context.auto_bootstrap
                else "call bootstrap() to reach a higher level" if higher else "pass a level in that range")
        return self._made(self._contents.lowered(self._evaluator, level))


def _plain(c: numbers.Number | Scalar) -> Any:
    """The number as a Python number, because numpy's unsigned numbers have no negative values."""
    return c.item() if isinstance(c, np.generic) else c


def _remedy_of_power(n: float | None) -> str:
    if n is None:
        return "pass such an exponent; x.approximate(f, domain, bits) takes other functions"
    whole = n.is_integer()
    by = "x.sqrt" if n == 0.5 else "x.inverse_sqrt" if n == -0.5 else "x.inverse" if n < 0 and whole else ""
    if not by:
        return f"use x.approximate(lambda v: v ** {n:g}, domain, bits), for a domain where it is defined"
    after = f" ** {-n:g}" if n < -1 else ""
    where = "without 0" if whole else "from 0 on" if n == 0.5 else "above 0"
    return f"use {by}(domain, bits){after}, for a domain {where}"


def _finite(c: Any, operation: str) -> complex:
    """Messages say what is wrong with a number, but do not show it, because it may be secret."""
    try:
        if isinstance(c, np.timedelta64):  # to numpy an integer
            raise TypeError
        number = complex(c)
        had = "NaN" if np.isnan(number) else "infinity" if np.isinf(number) else ""
    except OverflowError:  # only for integers
        had = "a number beyond the double range"
    except TypeError:
        had = f"a {type(c).__name__}, which is no complex number"
    if not had:
        return number
    if had == "infinity" and not isinstance(c, (float, complex, np.generic)):
        had = "a number beyond the double range"
    raise errors.ValueError.explain(operation, had, "a finite number of the double range", "check the data")
