"""Numbers that a recorded program gets anew in every run, and arithmetic with them."""

from __future__ import annotations

import math
import numbers
import operator
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from .. import _native, arrays, errors
from ..claims.known import as_range
from ..common import roles
from ..common.captured import public_step

Values = Mapping[str, Any]  # the numbers of a program, by name
Box = tuple[float, float, float, float]  # real parts between the first two, imaginary parts between the last two
_ONES: Box = (1.0, 1.0, 0.0, 0.0)
_LARGEST_POWER = 64


class Scalar:
    """A number that every run of a recorded program is given, declared to lie within ``low`` to ``high``.

        step = lt.record(step, eta=lt.Scalar(-1, 1))
        x = step(x, z, eta=0.3)
        x = step(x, z, eta=0.2)

    ``low`` may be an ``lt.Range``, for example one of complex numbers. The range is public. Inside of the function
    `eta` is a Scalar too. ``+ - * /`` take other Scalars and numbers, and ``**`` takes an integer up to 64.
    `conjugate`, ``real``, ``imag`` and `mapped` give Scalars as well. An encrypted array can be multiplied or divided
    by a Scalar, and a Scalar can be added to it. Such a product takes one level, whatever the number is. A replay gives
    the same bits as the function with the number itself, as a float, or as a complex number if the range has imaginary
    parts. There is one exception: outside of a recording, products with i and -i take no level.

    The errors and ranges that results claim hold for every number of the range. A Scalar has no value while the
    function is recorded, so it cannot be compared, converted or be the condition of an ``if`` (UnsupportedError).
    ValueError for ends that are not finite or not in order, and for a division by a range that contains 0.
    """

    __slots__ = ("_range", "_box", "_of", "_program")
    __hash__ = None  # type: ignore[assignment]  # == has no answer
    __array_ufunc__ = None  # so that numpy's numbers use the operators of this class

    def __init__(self, low: float | _native.Range, high: float | None = None) -> None:
        self._set(box_of(as_range(low if high is None else (low, high))), None, None)

    def _set(self, box: Box, of: Callable[[Values], Any] | None, program: Numbers | None) -> None:
        self._box, self._of, self._program = box, of, program
        self._range: _native.Range | None = None

    @classmethod
    def _made(cls, box: Box, of: Callable[[Values], Any], program: Numbers | None) -> Scalar:
        out = cls.__new__(cls)
        out._set(box, of, program)
        return out

    # ---- properties ----

    @property
    def range(self) -> _native.Range:
        """The range of the number in any run."""
        if self._range is None:
            if not all(map(math.isfinite, self._box)):
                raise errors.ValueError.explain(
                    "scalar", "a range beyond the double range", "a finite one", "declare a smaller range")
            self._range = _range_of(self._box)
        return self._range

    def __repr__(self) -> str:
        low, high, bottom, top = self._box
        if bottom == top == 0:
            return f"Scalar({low:g}, {high:g})"
        return f"Scalar(lt.Range({low:g}, {high:g}, ({bottom:g}, {top:g})))"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._of is not None:
            roles.refuse_pickle("a Scalar of a recorded function", "a declared one", "pickle the lt.Scalar instead")
        return _declared, (self._box,)

    # ---- arithmetic ----

    def _with(self, other: Any, f: Callable[[Any, Any], Any], boxes: Callable[[Box, Box], Box],
              turned: bool = False) -> Any:
        if isinstance(other, Scalar):
            box, program = other._box, other._program
        elif isinstance(other, numbers.Number):
            number = arrays.as_complex(other, "scalar", "number")
            box, program = (number.real, number.real, number.imag, number.imag), self._program
        elif isinstance(other, np.ndarray):
            raise errors.UnsupportedError.explain(
                "scalar", "an array in the clear", "a number or another Scalar",
                "multiply the encrypted array by the array and by the Scalar in turn")
        else:
            return NotImplemented
        if program is not self._program:
            raise errors.ContextError.explain(
                "scalar", "numbers of two programs", "numbers of one", "pass both as arguments of one program")
        mine, theirs = (box, self._box) if turned else (self._box, box)

        def value(values: Values) -> Any:
            pair = (self._value(values), other._value(values) if isinstance(other, Scalar) else other)
            return f(*(reversed(pair) if turned else pair))
        return Scalar._made(boxes(mine, theirs), value, program)

    def _value(self, values: Values) -> Any:
        if self._of is None:
            self._refuse("compute")
        return self._of(values)

    def _refuse(self, operation: str) -> NoReturn:
        raise errors.UnsupportedError.explain(
            operation, f"{self!r}, which stands for no number here", "a number, or an argument of a recorded program",
            "lt.record(f, eta=lt.Scalar(low, high)) makes a program that takes eta")

    @public_step
    def __add__(self, other: Any) -> Any:
        return self._with(other, operator.add, _sum)

    @public_step
    def __radd__(self, other: Any) -> Any:
        return self._with(other, operator.add, _sum, True)

    @public_step
    def __sub__(self, other: Any) -> Any:
        return self._with(other, operator.sub, _difference)

    @public_step
    def __rsub__(self, other: Any) -> Any:
        return self._with(other, operator.sub, _difference, True)

    @public_step
    def __mul__(self, other: Any) -> Any:
        return self._with(other, operator.mul, _product)

    @public_step
    def __rmul__(self, other: Any) -> Any:
        return self._with(other, operator.mul, _product, True)

    @public_step
    def __truediv__(self, other: Any) -> Any:
        return self._with(other, operator.truediv, _quotient)

    @public_step
    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, operator.truediv, _quotient, True)

    @public_step
    def __neg__(self) -> Scalar:
        low, high, bottom, top = self._box
        return self._through(operator.neg, (-high, -low, -top, -bottom))

    def __pos__(self) -> Scalar:
        return self

    @public_step
    def __pow__(self, n: int) -> Scalar:
        if not isinstance(n, numbers.Integral) or abs(int(n)) > _LARGEST_POWER:
            raise errors.UnsupportedError.explain(
                "power", f"the exponent {arrays.shown(n)} of a Scalar",
                f"an integer from {-_LARGEST_POWER} to {_LARGEST_POWER}", "use mapped()")
        return self._through(lambda v: v ** int(n), _power(self._box, int(n)))

    @public_step
    def conjugate(self) -> Scalar:
        """The complex conjugate."""
        low, high, bottom, top = self._box
        return self._through(lambda v: v.conjugate(), (low, high, -top, -bottom))

    @property
    @public_step
    def real(self) -> Scalar:
        """The real part."""
        return self._through(lambda v: v.real, (*self._box[:2], 0.0, 0.0))

    @property
    @public_step
    def imag(self) -> Scalar:
        """The imaginary part."""
        return self._through(lambda v: v.imag, (*self._box[2:], 0.0, 0.0))

    def mapped(self, f: Callable[[Any], Any], low: float | _native.Range, high: float | None = None) -> Scalar:
        """``f`` of the number. Its results lie within ``low`` to ``high``, or within an ``lt.Range``.

        f is called at every run, with a float or a complex number. A result outside of that range is a ValueError
        there.
        """
        stated = Scalar(low, high)

        def value(v: Any) -> Any:
            return stated._taken(f(v), "mapped", "the result")
        return self._through(value, stated._box)

    def _through(self, f: Callable[[Any], Any], box: Box) -> Scalar:
        return Scalar._made(box, lambda values: f(self._value(values)), self._program)

    def _taken(self, value: Any, operation: str, name: str) -> float | complex:
        """A number of the range; ValueError for anything else."""
        low, high, bottom, top = self._box
        if bottom == top == 0:
            x: Any = arrays.as_real(value, operation, name)
        else:
            x = arrays.as_complex(value, operation, name)
        z = complex(x)
        if not (low <= z.real <= high and bottom <= z.imag <= top):
            raise errors.ValueError.explain(
                operation, f"{name}={arrays.shown(value)}", f"a number within {self.range}, as declared",
                "record the program with a wider lt.Scalar")
        return x  # type: ignore[no-any-return]

    # ---- what a number can do and a Scalar cannot ----

    def _no_value(self, *_: Any) -> NoReturn:
        raise errors.UnsupportedError.explain(
            "scalar", "the value of a Scalar, which each run gives anew", "arithmetic on it",
            "use its operators or mapped(), or record a program for each case")

    __bool__ = __float__ = __int__ = __complex__ = __index__ = __abs__ = __round__ = _no_value
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _no_value

    def _middle(self) -> float | complex:
        """A number of the range."""
        low, high, bottom, top = self._box
        real = low / 2 + high / 2
        return real if bottom == top == 0 else complex(real, bottom / 2 + top / 2)

    def _in(self, operation: str, context: Any) -> Numbers:
        """The numbers of the program that runs now, in this thread and in that context."""
        if self._program is None:
            self._refuse(operation)
        self._program.require(context)
        return self._program


class Numbers:
    """The numbers of one program, while its function runs: recorded or planned in a context, or (without one) with
    values that are known."""

    def __init__(self, declared: Mapping[str, Scalar], context: Any = None, values: Values | None = None) -> None:
        self._declared = declared
        self._native = None if context is None else context._native
        self.inputs = None if context is None else _native.ScalarInputs(context._native)
        self._values = values if values is not None else {name: s._middle() for name, s in declared.items()}
        self._used: list[Scalar] = []  # the numbers that a call has used: of the call that used the most
        self._next: list[Scalar] = []  # those that the present call has used so far
        self._thread: int | None = None  # the thread in which the function runs; None between calls

    @contextmanager
    def given(self) -> Iterator[dict[str, Scalar]]:
        """The arguments of one call of the function, by name."""
        self._next, self._thread = [], threading.get_ident()
        try:
            yield {name: Scalar._made(s._box, lambda values, name=name: values[name], self)  # type: ignore[misc]
                   for name, s in self._declared.items()}
        finally:
            self._thread = None
            if len(self._next) > len(self._used):
                self._used = self._next

    def require(self, context: Any) -> None:
        """ContextError outside of the function, in another thread, or for arrays of another context."""
        if self._thread != threading.get_ident():
            raise errors.ContextError.explain(
                "compute", "a Scalar that was kept from inside a recorded function, or is used in another thread",
                "a Scalar of the function that runs", "use it in the function itself")
        if self._native is not None and context._native is not self._native:
            raise errors.ContextError.explain(
                "compute", "a Scalar and an array of another context", "those of one context",
                "record the program for arrays of that context")

    def value(self, s: Scalar) -> complex:
        """The number, while the function runs."""
        return computed(s, self._values)

    def index(self, s: Scalar) -> int:
        """The index of a number among all those that the function uses."""
        assert self.inputs is not None
        for i, known in enumerate(self._next):
            if known is s:
                return i
        bound = complex(max(abs(s.range.low), abs(s.range.high)), max(abs(s.range.imag_low), abs(s.range.imag_high)))
        self.inputs.set(len(self._next), self.value(s), bound)
        self._next.append(s)
        return len(self._next) - 1

    def at(self, values: Values) -> list[complex]:
        """All numbers that the function uses, for these arguments."""
        return [computed(s, values) for s in self._used]


def computed(s: Scalar, values: Values) -> complex:
    """The value of a Scalar for these arguments; ValueError if it is not a finite number."""
    try:
        return complex(s._value(values))
    except (OverflowError, ZeroDivisionError) as why:
        raise errors.ValueError.explain(
            "program", f"arguments for which a Scalar has no finite value ({why})", "a finite one",
            "record the program for a smaller range") from None


def divided(s: Scalar) -> Scalar:
    """1 / s, computed in the same way as for divisors of encrypted arrays."""
    return s._through(lambda v: complex(1 / np.complex128(v)), _quotient(_ONES, s._box))


def taken(declared: Mapping[str, Scalar], given: Values) -> dict[str, float | complex]:
    """The arguments of one run as numbers; ValueError for one that is missing, unknown, or out of its range."""
    if given.keys() != declared.keys():
        had = ", ".join(given) or "no numbers"
        raise errors.ValueError.explain(
            "program", had, ", ".join(f"{name} within {s.range}" for name, s in declared.items()) or "none",
            "pass a number for each declared name, and no other")
    return {name: s._taken(given[name], "program", name) for name, s in declared.items()}


# ---- storage of the numbers ----

def _declared(box: Box) -> Scalar:
    return Scalar(_range_of(box))


def _range_of(box: Box) -> _native.Range:
    return _native.Range.declared(*box, 0.0, False)


def box_of(r: _native.Range) -> Box:
    return r.low, r.high, r.imag_low, r.imag_high


def _interval(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    products = [x * y for x in a for y in b]
    return min(products), max(products)


def _sum(a: Box, b: Box) -> Box:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]


def _difference(a: Box, b: Box) -> Box:
    return a[0] - b[1], a[1] - b[0], a[2] - b[3], a[3] - b[2]


def _product(a: Box, b: Box) -> Box:
    rr, ii = _interval(a[:2], b[:2]), _interval(a[2:], b[2:])
    ri, ir = _interval(a[:2], b[2:]), _interval(a[2:], b[:2])
    return rr[0] - ii[1], rr[1] - ii[0], ri[0] + ir[0], ri[1] + ir[1]


def _quotient(a: Box, b: Box) -> Box:
    low, high, bottom, top = b
    if low <= 0 <= high and bottom <= 0 <= top:
        raise errors.ValueError.explain(
            "divide", "a divisor whose range holds 0", "a range without it", "declare a range of one sign")
    if bottom == top == 0:
        return _product(a, (1 / high, 1 / low, 0.0, 0.0))
    if low == high and bottom == top:  # one number
        z = 1 / complex(low, bottom)
        return _product(a, (z.real, z.real, z.imag, z.imag))
    nearest = math.hypot(max(low, -high, 0.0), max(bottom, -top, 0.0))
    return _product(a, (-1 / nearest, 1 / nearest, -1 / nearest, 1 / nearest))


def _power(a: Box, n: int) -> Box:
    if n < 0:
        return _quotient(_ONES, _power(a, -n))
    if a[2] == a[3] == 0 and n % 2 == 0 and n > 0:
        low, high = max(a[0], -a[1], 0.0), max(abs(a[0]), abs(a[1]))
        return math.prod([low] * n), math.prod([high] * n), 0.0, 0.0
    out = _ONES
    for _ in range(n):
        out = _product(out, a)
    return out
