"""numpy's ufuncs of encrypted arrays: those that are operators of the array do the same, others raise an error that
names what to call instead.
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

import numpy as np

from .. import errors
from . import roles

# The method for a first operand that is encrypted, and for a second one.
_OPERATORS: dict[np.ufunc, tuple[str, str | None]] = {
    np.add: ("__add__", "__radd__"), np.subtract: ("__sub__", "__rsub__"), np.multiply: ("__mul__", "__rmul__"),
    np.divide: ("__truediv__", "__rtruediv__"), np.matmul: ("__matmul__", "__rmatmul__"), np.power: ("__pow__", None),
    np.remainder: ("__mod__", None), np.floor_divide: ("__floordiv__", None),
    np.left_shift: ("__lshift__", "__rlshift__"), np.right_shift: ("__rshift__", "__rrshift__"),
    np.bitwise_and: ("__and__", "__rand__"), np.bitwise_or: ("__or__", "__ror__"),
    np.bitwise_xor: ("__xor__", "__rxor__"), np.equal: ("__eq__", "__eq__"), np.not_equal: ("__ne__", "__ne__"),
    np.less: ("__lt__", "__gt__"), np.less_equal: ("__le__", "__ge__"), np.greater: ("__gt__", "__lt__"),
    np.greater_equal: ("__ge__", "__le__"), np.negative: ("__neg__", None), np.invert: ("__invert__", None),
    np.conjugate: ("conj", None), np.positive: ("_itself", None), np.square: ("_squared", None)}
_OTHERWISE = "decrypt first, or use the array's own methods and the functions of latticino"


class OfNumpy:
    """The methods that numpy calls on an encrypted array. ``_INSTEAD``: what to call in place of ufuncs of these
    names."""

    __slots__ = ()
    _INSTEAD: ClassVar[dict[str, str]] = {}
    _FUNCTION: ClassVar[str] = _OTHERWISE  # in place of any other function of a single array

    def __array__(self, *arguments: Any, **options: Any) -> NoReturn:
        roles.refuse_numpy(self)

    __array_function__ = roles.refuse_numpy_function  # np.array_equal would answer False

    def _itself(self) -> Any:
        return self

    def _squared(self) -> Any:
        return self * self  # type: ignore[operator]  # of the classes that have it

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__":
            self._refuse(f"{ufunc.__name__}.{method}", "an encrypted array", "numbers in the clear",
                         self._INSTEAD.get(f"{ufunc.__name__}.{method}", _OTHERWISE))
        if options.get("out") is not None:
            self._refuse(ufunc.__name__, "out=, or an operator such as += on an array in the clear", "no such option",
                         "write a = a + x: the result is encrypted")
        if options:
            self._refuse(ufunc.__name__, f"the option {next(iter(options))}", "none", "leave it out")
        names = _OPERATORS.get(ufunc, (None, None))
        first = isinstance(inputs[0], OfNumpy)
        of = inputs[0] if first else inputs[1]
        name = names[0] if first else names[1]
        own = getattr(type(of), name, None) if name else None
        if own is None:
            self._refuse(ufunc.__name__, roles.name_of(type(self)), "numbers in the clear", self._instead(ufunc))
        return own(of, *(inputs[1:] if first else inputs[:1]))

    def _instead(self, ufunc: np.ufunc) -> str:
        single = self._FUNCTION if "d->d" in ufunc.types else _OTHERWISE
        return self._INSTEAD.get(ufunc.__name__, single).format(name=ufunc.__name__)

    @staticmethod
    def _refuse(name: str, had: str, needs: str, remedy: str) -> NoReturn:
        raise errors.UnsupportedError.explain(f"numpy.{name}", had, needs, remedy)
