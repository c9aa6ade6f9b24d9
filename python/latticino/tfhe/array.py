"""Encrypted booleans and unsigned integers, as arrays with numpy's shapes and operators."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, Union

import numpy as np

from .. import arrays, errors
from .._native import Comparison, Gate
from ..common import powers, roles
from ..common.array_methods import ArrayMethods
from ..common.captured import program_step
from ..common.naming import called
from ..common.recording import Scope
from . import engine, modular, notebook, reductions, types
from .pieces import each, each_of
from .refused import REMEDIES, NoQuotients

if TYPE_CHECKING:
    from .context import Context

Operand = Union["EncryptedArray", int, bool, np.ndarray]
_Method = TypeVar("_Method", bound=Callable[..., Any])


def _step(operation: str) -> Callable[[_Method], _Method]:
    """Decorates a method that is a step of saved programs, and whose errors name this operation."""
    return lambda method: program_step(called(operation)(method))


_CORE_NAMES = {"subtract": "sub"}


class EncryptedArray(NoQuotients, ArrayMethods, roles.Handle):
    """Encrypted booleans, unsigned integers of 2 to 64 bits, or integers modulo 16, of any shape.

    Immutable. ``& | ^ ~ + - * < <= == != >= > << >>``, ``%`` and ``//`` by powers of two take encrypted
    and clear operands and broadcast as numpy does. Integers wrap modulo ``2**bits``; of two types the
    wider one is the result's; clear operands must fit the encrypted one's type (ValueError). Results are exact, except
    with the set's failure probability for each bootstrapping. Operands with more noise than an operation allows are
    bootstrapped first. If that does not suffice, a LevelError is raised, also in ``decrypt``. Indexing, slicing,
    reshaping and joining, ``astype`` and ``~`` need no bootstrapping; docs/tfhe.md counts those of the others. For
    integers modulo 16 (``"m4"``, one ciphertext each), sums, differences and products by clear integers need none
    while the noise allows. What needs no bootstrapping needs no evaluation keys either. Of ``"m4"``
    ``==``, ``!=``, tables and ``astype`` take two and more; other operations need integers of blocks. Operations raise
    ShapeError, ParameterError, KeyError, ContextError or LevelError.
    """

    __slots__ = ("_context", "_shape", "_bits", "_held", "_scope")
    _FUNCTION = "x.apply(f), any function of small integers"
    _REMEDY_OF: ClassVar[dict[str, str]] = REMEDIES
    _METHODS: ClassVar[dict[str, tuple[str, ...]]] = {
        "sum": ("axis", "dtype"), "min": ("axis",), "max": ("axis",), "any": ("axis",), "all": ("axis",),
        "reshape": ("shape",), "ravel": (), "transpose": ("axes",), "swapaxes": ("axis1", "axis2"),
        "moveaxis": ("source", "destination"), "squeeze": ("axis",), "expand_dims": ("axis",),
        "broadcast_to": ("shape",), "roll": ("shift", "axis"), "flip": ("axis",), "copy": (),
        "prod": ("axis", "keepdims"), "cumsum": ("axis", "dtype"), "diagonal": ("offset", "axis1", "axis2"),
        "trace": ("offset", "axis1", "axis2"), "repeat": ("repeats", "axis"), "take": ("indices", "axis"),
        "clip": ("min", "max")}
    __hash__ = None  # type: ignore[assignment]  # == gives an encrypted array

    def __init__(self, context: Context, parts: Any, shape: tuple[int, ...], bits: int) -> None:
        self._context, self._shape, self._bits, self._held = context, tuple(shape), bits, parts
        self._scope = Scope.current()

    @property
    def context(self) -> Context:
        """The context or the session that the array belongs to."""
        return self._context

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths along the axes."""
        return self._shape

    @property
    def bits(self) -> int:
        """Bits of the type: 0 for ``"bool"``, -4 for ``"m4"``."""
        return self._bits

    @property
    def _parts(self) -> Any:
        if self._scope is not None:
            self._scope.require()
        return self._held

    @property
    def _evaluator(self) -> Any:
        return self.context._evaluator_of(self._parts)

    # ---- properties ----

    @property
    def dtype(self) -> str:
        """``"bool"``, ``"u2"`` to ``"u64"``, or ``"m4"``."""
        return types.name_of(self.bits)

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Device memory of the ciphertexts."""
        return sum(p.bytes for p in self._parts)

    @property
    def log_failure(self) -> float:
        """log2 of the probability that the next bootstrapping on one of the values goes wrong."""
        return max((p.log_failure for p in self._parts if p.norm2 > 0), default=-math.inf)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a single encrypted value")
        return self.shape[0]

    def __iter__(self) -> Iterator[EncryptedArray]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        noise = max(p.norm2 for p in self._parts) ** 0.5
        return (f"EncryptedArray(shape={self.shape}, {self.dtype}, {self.context.params.name}, noise of "
                f"{noise:.3g} bootstrappings, fails with 2^{self.log_failure:.1f})")

    def _repr_html_(self) -> str:
        return notebook.array(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return roles.reduced(self)

    def __bool__(self) -> bool:
        raise errors.UnsupportedError.explain(
            "bool", "an encrypted value", "a clear one", "choose with lt.where(condition, a, b)")

    # ---- internal helpers ----

    def _new(self, parts: Any, shape: tuple[int, ...], bits: int) -> EncryptedArray:
        return type(self)(self.context, parts, shape, bits)

    def _operand(self, other: Any, operation: str) -> EncryptedArray:
        """An operand in this context. Plain values become ciphertexts that anyone can read."""
        if isinstance(other, EncryptedArray):
            roles.require_one_context(operation, self, other)
            return other
        values = types.as_integers(other, self.bits, operation)
        parts = self._evaluator.clear(values.reshape(-1), self.bits)
        return self._new(parts, values.shape, self.bits)

    def _alike(self, other: Any, operation: str) -> tuple[EncryptedArray, EncryptedArray]:
        """Both operands with the type of the wider one."""
        other = self._operand(other, operation)
        bits = types.widest([self.bits, other.bits], operation)
        return self._as(bits), other._as(bits)

    def _as(self, bits: int) -> EncryptedArray:
        if bits == self.bits:
            return self
        block = self.context.params.message_bits
        parts = engine.resize(self.context, self._parts, bits // block, block)
        return self._new(parts, self.shape, bits)

    def _integer(self, operation: str) -> EncryptedArray:
        if not self.bits:
            raise errors.ParameterError.explain(
                operation, "booleans", "integers", "use & | ^ for booleans, or astype(\"u8\")")
        return self._blocks(operation)

    def _blocks(self, operation: str) -> EncryptedArray:
        if self.bits < 0:
            modular.refuse(operation, self.dtype)
        return self

    def _spread(self, shape: tuple[int, ...]) -> Any:
        """The batches in the order of that shape. A single value is combined with all others."""
        if self.shape == shape or self.size == 1:
            return self._parts
        return engine.take(self._parts, np.broadcast_to(self._places(), shape).reshape(-1))

    def _places(self) -> np.ndarray:
        return np.arange(self.size, dtype=np.uint32).reshape(self.shape)

    def _logic(self, gate: Gate, other: Any, operation: str) -> EncryptedArray:
        x, y = self._blocks(operation)._alike(other, operation)
        e = self._evaluator
        return each(operation, e.bitwise if x.bits else e.logic, x.bits, [x, y], gate)

    def _compare(self, what: Comparison, gate: Gate, other: Any, operation: str) -> EncryptedArray:
        x, y = self._alike(other, operation)
        if self.bits < 0 and what in (Comparison.Equal, Comparison.NotEqual):
            return modular.equal(x, y, what == Comparison.Equal)
        e = self._blocks(operation)._evaluator
        return each(operation, e.compare, 0, [x, y], what) if x.bits else each(operation, e.logic, 0, [x, y], gate)

    def _arithmetic(self, name: str, other: Any, swap: bool = False) -> EncryptedArray:
        x, y = self._alike(other, name)
        if self.bits < 0:
            return modular.arithmetic(name, *((y, x) if swap else (x, y)))
        x._integer(name)
        return each(name, getattr(self._evaluator, _CORE_NAMES.get(name, name)), x.bits, [y, x] if swap else [x, y])

    # ---- operators ----

    @_step("and")
    def __and__(self, other: Operand) -> EncryptedArray:
        return self._logic(Gate.And, other, "and")

    @_step("or")
    def __or__(self, other: Operand) -> EncryptedArray:
        return self._logic(Gate.Or, other, "or")

    @_step("xor")
    def __xor__(self, other: Operand) -> EncryptedArray:
        return self._logic(Gate.Xor, other, "xor")

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    @_step("invert")
    def __invert__(self) -> EncryptedArray:
        self._blocks("invert")
        return self._new(self._evaluator.invert(self._parts, self.bits > 0), self.shape, self.bits)

    @_step("add")
    def __add__(self, other: Operand) -> EncryptedArray:
        return self._arithmetic("add", other)

    @_step("subtract")
    def __sub__(self, other: Operand) -> EncryptedArray:
        return self._arithmetic("subtract", other)

    @_step("subtract")
    def __rsub__(self, other: Operand) -> EncryptedArray:  # type: ignore[misc]
        return self._arithmetic("subtract", other, swap=True)

    @_step("multiply")
    def __mul__(self, other: Operand) -> EncryptedArray:
        return modular.product(self, other) if self.bits < 0 else self._arithmetic("multiply", other)

    __radd__, __rmul__ = __add__, __mul__

    @_step("power")
    def __pow__(self, n: int) -> EncryptedArray:
        return powers.power(self._integer("power"), n, lambda _: "multiply, or use a table")

    @_step("negate")
    def __neg__(self) -> EncryptedArray:
        return 0 - (self if self.bits < 0 else self._integer("negate"))

    @_step("less")
    def __lt__(self, other: Operand) -> EncryptedArray:  # type: ignore[misc]  # numpy's arrays compare too
        return self._compare(Comparison.Less, Gate.NotAnd, other, "less")

    @_step("less_equal")
    def __le__(self, other: Operand) -> EncryptedArray:  # type: ignore[misc]  # numpy's arrays compare too
        return self._compare(Comparison.LessEqual, Gate.NotOr, other, "less_equal")

    @_step("greater")
    def __gt__(self, other: Operand) -> EncryptedArray:  # type: ignore[misc]  # numpy's arrays compare too
        return self._compare(Comparison.Greater, Gate.AndNot, other, "greater")

    @_step("greater_equal")
    def __ge__(self, other: Operand) -> EncryptedArray:  # type: ignore[misc]  # numpy's arrays compare too
        return self._compare(Comparison.GreaterEqual, Gate.OrNot, other, "greater_equal")

    @_step("equal")
    def __eq__(self, other: Operand) -> EncryptedArray:  # type: ignore[override]
        return self._compare(Comparison.Equal, Gate.Xnor, other, "equal")

    @_step("not_equal")
    def __ne__(self, other: Operand) -> EncryptedArray:  # type: ignore[override]
        return self._compare(Comparison.NotEqual, Gate.Xor, other, "not_equal")

    def _shift(self, amount: Any, left: bool) -> EncryptedArray:
        self._integer("shift")
        e = self._evaluator
        if isinstance(amount, numbers.Integral):
            amount = arrays.as_integer(amount, "shift", "amount", 0)
            return each("shift", lambda x: e.shift(x, min(int(amount), self.bits), left), self.bits, [self])
        by = self._operand(amount, "shift")._blocks("shift")
        return each("shift", lambda x, a: e.shift_by(x, a, left), self.bits, [self, by])

    @_step("shift")
    def __lshift__(self, amount: Operand) -> EncryptedArray:
        return self._shift(amount, True)

    @_step("shift")
    def __rshift__(self, amount: Operand) -> EncryptedArray:
        return self._shift(amount, False)

    @_step("shift")
    def __rlshift__(self, other: Operand) -> EncryptedArray:  # type: ignore[misc]
        return self._operand(other, "shift") << self

    @_step("shift")
    def __rrshift__(self, other: Operand) -> EncryptedArray:  # type: ignore[misc]
        return self._operand(other, "shift") >> self

    @_step("remainder")
    def __mod__(self, divisor: int) -> EncryptedArray:
        log = self._log2(divisor, "remainder")
        block = self.context.params.message_bits
        low = self._as(min(self.bits, max(block, -(-log // block) * block)))
        return (low if log == low.bits else low & ((1 << log) - 1))._as(self.bits) if log < self.bits else self

    @_step("floor_divide")
    def __floordiv__(self, divisor: int) -> EncryptedArray:
        return self >> self._log2(divisor, "floor_divide")

    def _log2(self, divisor: Any, operation: str) -> int:
        self._integer(operation)
        if not isinstance(divisor, numbers.Integral) or divisor < 1 or divisor & (divisor - 1):
            raise errors.UnsupportedError.explain(
                operation, f"the divisor {arrays.shown(divisor)}", "a clear power of two", "build it from comparisons")
        return int(divisor).bit_length() - 1

    # ---- shapes: no bootstrapping ----

    @_step("index")
    def __getitem__(self, index: Any) -> EncryptedArray:
        return self._at(self._moved(lambda places: places[index], "index"), "index")

    def _moved(self, move: Callable[[np.ndarray], Any], operation: str) -> np.ndarray:
        """The flat places after an operation of numpy on them."""
        try:
            return np.asarray(move(self._places()))
        except Exception as why:  # raised by numpy, or by any conversion of the object
            raise errors.class_for_numpy_error(why).explain(
                operation, f"an array of shape {self.shape} ({why})", "indices, axes and shapes that exist",
                "check the arguments") from why

    def _at(self, places: np.ndarray, operation: str) -> EncryptedArray:
        if not places.size:
            raise errors.ShapeError.explain(operation, "no values", "at least one", "check the index")
        return self._new(engine.take(self._parts, places.reshape(-1)), places.shape, self.bits)

    @_step("reshape")
    def reshape(self, *shape: Any) -> EncryptedArray:
        """The values in another shape, row by row. One length may be -1; it follows from the others."""
        moved = self._moved(lambda places: places.reshape(*shape), "reshape")
        return self._new(self._parts, moved.shape, self.bits)

    def ravel(self) -> EncryptedArray:
        """All values in one row."""
        return self.reshape(-1)

    @_step("transpose")
    def transpose(self, *axes: int) -> EncryptedArray:
        """The axes in another order; reversed if none are named."""
        return self._at(self._moved(lambda places: places.transpose(*axes), "transpose"), "transpose")

    @property
    def T(self) -> EncryptedArray:
        """The axes reversed."""
        return self.transpose()

    @_step("astype")
    def astype(self, dtype: types.Type) -> EncryptedArray:
        """Another type. A wider one has zeros above; a narrower one is modulo ``2**bits``. ``"bool"`` says whether the
        value is not 0, which takes bootstrappings. From ``"m4"`` it is a table, which takes one bootstrapping and one
        more per block."""
        params = self.context.params
        bits = types.bits_of(dtype, params, "astype")
        if self.bits < 0 and bits != self.bits:
            return self.apply(lambda v: v & types.most_of(bits) if bits else v != 0, dtype=dtype)
        if bits < 0 and bits != self.bits:
            low = self._as(-bits) if self.bits > -bits else self
            return each("astype", self._evaluator.to_full, bits, [low])
        return self != 0 if self.bits and not bits else self._as(bits)

    # ---- functions ----

    @called("rerandomize")
    def rerandomize(self) -> EncryptedArray:
        """The same values under fresh masks: a public encryption of zero is added to every ciphertext.

        No bootstrapping, and hardly any noise. Somebody who chose this array has no influence on the new masks, and
        so none on the rounding errors of the next table (docs/security.md). KeyError unless the keys in
        use came from ``server_keys(public=True)``, UnsupportedError in a recording.
        """
        return each("rerandomize", self.context.evaluator.rerandomize, self.bits, [self])

    @_step("sum")
    def sum(self, axis: int | None = None, dtype: types.Type | None = None) -> EncryptedArray:
        """The sum of all values, or over one axis.

        ``dtype``: the type to add in; left out, the values' own, in which sums wrap, and for booleans
        the smallest that holds the count.
        """
        return reductions.total(self, axis, dtype)

    @called("cumsum")
    def cumsum(self, axis: int | None = None, dtype: types.Type | None = None) -> EncryptedArray:
        """numpy's cumulative sum along an axis, or of the flat array: about log2(n) sums of n values. ``dtype`` as of
        `sum`."""
        return reductions.cumulated(self, axis, dtype)

    @_step("clip")
    def clip(self, min: Operand | None = None, max: Operand | None = None) -> EncryptedArray:
        """Integers cut off at ``min`` and ``max``, encrypted or in the clear; None leaves out one of them."""
        x = self._integer("clip")
        if min is None and max is None:
            raise errors.ValueError.explain("clip", "neither min nor max", "one of them", "name it")
        x = x if min is None else x._arithmetic("maximum", min)
        return x if max is None else x._arithmetic("minimum", max)

    @_step("min")
    def min(self, axis: int | None = None) -> EncryptedArray:
        """The smallest integer of all, or over one axis."""
        return reductions.fold(self._integer("min"), "min", axis, lambda x, y: x._arithmetic("minimum", y))

    @_step("max")
    def max(self, axis: int | None = None) -> EncryptedArray:
        """The largest integer of all, or over one axis."""
        return reductions.fold(self._integer("max"), "max", axis, lambda x, y: x._arithmetic("maximum", y))

    @_step("any")
    def any(self, axis: int | None = None) -> EncryptedArray:
        """Whether any value is true, or not 0; of all, or over one axis."""
        return reductions.fold(self.astype("bool"), "any", axis, operator.or_)

    @_step("all")
    def all(self, axis: int | None = None) -> EncryptedArray:
        """Whether every value is true, or not 0; of all, or over one axis."""
        return reductions.fold(self.astype("bool"), "all", axis, operator.and_)

    @called("apply")
    def apply(self, f: types.Table, other: Operand | None = None, dtype: types.Type | None = None) -> EncryptedArray:
        """``f`` of every value, or of every pair of values, by table.

        ``f``: a function of ints or a table of every input. One argument of at most 4 bits (two
        blocks, or ``"m4"``), or two of at most 2 bits (a block each; row by row). ``dtype``: of the results; left
        out, that of the values. Bootstrappings as of `apply_many`.
        """
        return self.apply_many([f], other, dtype)[0]

    @_step("apply_many")
    def apply_many(self, functions: Sequence[types.Table], other: Operand | None = None,
                   dtype: types.Type | Sequence[types.Type] | None = None) -> list[EncryptedArray]:
        """Several functions of every value, or of every pair, as `apply` does: an array for each function.

        A table takes 4 bits. If the arguments have fewer, result blocks share a bootstrapping: four for an argument of
        2 bits, eight for a boolean, four for two booleans, two for a boolean and 2 bits. ``"m4"`` takes one
        bootstrapping for all, and one per block. ``dtype``: one for all results, or one each.
        """
        params = self.context.params
        if not isinstance(functions, (list, tuple)) and not (isinstance(functions, np.ndarray) and functions.ndim):
            raise errors.ShapeError.explain("apply_many", f"a {type(functions).__name__}", "a list of functions",
                                            "use apply")
        dtypes: list[Any] = list(dtype) if isinstance(dtype, (list, tuple)) else [dtype] * len(functions)
        if not dtypes or len(dtypes) != len(functions):
            raise errors.ShapeError.explain(
                "apply_many", f"{len(functions)} functions and {len(dtypes)} types", "at least one, and a type each",
                "name one type for all, or as many")
        widths = [self.bits if d is None else types.bits_of(d, params, "apply_many") for d in dtypes]
        operands = [self] if other is None else [self, self._operand(other, "apply_many")]
        most = 1 if params.booleans else (3 - len(operands)) * params.message_bits
        for x in operands:
            if x.bits > most or (other is not None and x.bits < 0):
                raise errors.UnsupportedError.explain(
                    "apply_many", f"{x.dtype} among {len(operands)} arguments", f"at most u{most} each",
                    "build it from comparisons and lt.where")
        sizes = tuple(types.most_of(x.bits) + 1 for x in operands)
        tables = [types.as_table(f, sizes, bits, "apply_many") for f, bits in zip(functions, widths)]
        if params.booleans:
            return [_gate_of(values, operands) for values in tables]
        blocks, e = [types.blocks_of(bits, params) for bits in widths], self._evaluator
        if self.bits < 0:
            return modular.lookup(self, blocks, tables, widths)
        if other is None:
            return each_of("apply_many", lambda x: e.lookup(x, blocks, tables), widths, operands)
        return each_of("apply_many", lambda x, y: e.lookup_pair(x, y, blocks, tables, sizes[1]), widths, operands)


_GATES = {table: gate for gate, table in engine.TRUTH.items()}


def _gate_of(values: np.ndarray, operands: list[EncryptedArray]) -> EncryptedArray:
    """A table of booleans, for a set of gates. It is one gate if it depends on both arguments."""
    x, y = operands[0], operands[-1]
    table = tuple(int(v) for v in values)
    if len(operands) == 2 and table in _GATES:
        return each("apply_many", x._evaluator.logic, 0, [x, y], _GATES[table])
    shape = np.broadcast_shapes(*(o.shape for o in operands))
    if len(set(table)) == 1:
        return x._operand(np.full(shape, table[0], np.uint64), "apply_many")
    z = x if table[0] == table[len(table) // 2 - 1] else y  # the one argument that counts
    z = z._at(np.broadcast_to(z._places(), shape), "apply_many")
    return ~z if table[0] else z
