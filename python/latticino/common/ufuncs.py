"""numpy's ufuncs and functions, applied to encrypted arrays. If the array or the package has the function, it is
called; otherwise an error names what to call instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np

from .. import errors
from . import roles
from .remedies import OPTION_REMEDIES

# The method that is called if the first operand is encrypted, and the one if the second is.
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
DEFAULT_REMEDY = "decrypt first, or use the array's own methods and the functions of latticino"
_RENAMED = {"newshape": "shape", "a_min": "min", "a_max": "max"}  # numpy before 2.1 calls this argument newshape
_SHAPE_FUNCTIONS = (np.shape, np.ndim, np.size)
_FUNCTIONS: dict[Any, Callable[..., Any]] = {}
_Function = TypeVar("_Function", bound=Callable[..., Any])


def computes(function: Any) -> Callable[[_Function], _Function]:
    """Decorates the implementation of a numpy function for encrypted arrays."""
    def register(own: _Function) -> _Function:
        _FUNCTIONS[function] = own
        return own

    return register


class OfNumpy:
    """The methods that numpy calls on an encrypted array. ``_REMEDY_OF``: what to call in place of ufuncs, functions
    and methods of these names. ``_METHODS``: numpy's functions that are methods, with the arguments that these take."""

    __slots__ = ()
    __pandas_priority__ = 5000  # more than that of pandas' frames, which leave `series * x` to this class then
    _REMEDY_OF: ClassVar[dict[str, str]] = {}
    _METHODS: ClassVar[dict[str, tuple[str, ...]]] = {}
    _FUNCTION: ClassVar[str] = DEFAULT_REMEDY  # advice for any other function of a single array

    def __array__(self, *arguments: Any, **options: Any) -> NoReturn:
        roles.refuse_numpy(self)

    def __pos__(self) -> Any:
        return self

    def _no_number(self, *_: Any) -> NoReturn:
        raise errors.UnsupportedError.explain(
            "number", roles.name_of(type(self)), "a number in the clear",
            "decrypt first, and convert what the client gets")

    __int__ = __float__ = __complex__ = __trunc__ = __floor__ = __ceil__ = _no_number

    def _no_place(self, *_: Any) -> NoReturn:
        raise errors.UnsupportedError.explain(
            "assignment", f"{roles.name_of(type(self))}, which never changes", "a new array",
            "join slices with lt.concatenate, or choose values with a mask of zeros and ones: "
            "x * (1 - mask) + y * mask")

    __setitem__ = __delitem__ = _no_place

    def __array_function__(self, function: Any, _: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        name = function.__name__
        if function in _FUNCTIONS:
            return self._by_function(name, _FUNCTIONS[function], arguments, options)
        if arguments and arguments[0] is self:
            if function in _SHAPE_FUNCTIONS:
                return function(np.broadcast_to(np.False_, self.shape), *arguments[1:], **options)
            if name in self._METHODS and getattr(np, name) is function:
                return self._by_method(name, inspect.signature(function).bind(*arguments, **options))
        # Without an error some functions, such as np.array_equal, would answer without looking at values.
        remedy = self._REMEDY_OF.get(name, DEFAULT_REMEDY)
        self._refuse(name, roles.name_of(type(self)), "numbers in the clear", remedy)

    def _by_function(self, name: str, own: Callable[..., Any], arguments: tuple[Any, ...],
                     options: dict[str, Any]) -> Any:
        taken = inspect.signature(own)
        # Arguments that our function does not take must be None, and are left out. In those that it takes, None may
        # have a meaning, as for axis.
        options = {option: value for option, value in options.items()
                   if value is not None or option in taken.parameters}
        try:
            taken.bind(*arguments, **options)
        except TypeError as why:
            self._refuse(name, f"arguments that do not fit ({why})", f"{', '.join(taken.parameters)} only",
                         "leave out the others")
        return own(*arguments, **options)

    def _by_method(self, name: str, given: inspect.BoundArguments) -> Any:
        of_numpy, taken = given.signature.parameters, self._METHODS[name]
        own = {_RENAMED.get(option, option): value
               for option, value in list(given.arguments.items())[1:] if value is not of_numpy[option].default}
        for option in own:
            if option not in taken:
                self._refuse(name, f"the option {option}", f"{', '.join(taken) or 'the array'} only",
                             OPTION_REMEDIES.get(option, "leave it out"))
        method = getattr(type(self), name)
        if isinstance(method, property):
            return getattr(self, name)
        # These two accept all of their arguments by position.
        return method(self, *own.values()) if name in ("reshape", "transpose") else method(self, **own)

    def _itself(self) -> Any:
        return self

    def _squared(self) -> Any:
        return self * self  # type: ignore[operator]  # of the classes that have it

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__":
            self._refuse(f"{ufunc.__name__}.{method}", "an encrypted array", "numbers in the clear",
                         self._REMEDY_OF.get(f"{ufunc.__name__}.{method}", DEFAULT_REMEDY))
        if options.get("out") is not None:
            self._refuse(ufunc.__name__, "out=, or an operator such as += on an array in the clear", "no such option",
                         "write a = a + x: the result is encrypted")
        if options:
            option = next(iter(options))
            self._refuse(ufunc.__name__, f"the option {option}", "none", OPTION_REMEDIES.get(option, "leave it out"))
        names = _OPERATORS.get(ufunc, (None, None))
        first = isinstance(inputs[0], OfNumpy)
        of = inputs[0] if first else inputs[1]
        name = names[0] if first else names[1]
        # Not getattr: every class has `__or__`, for types such as `int | str`, and getattr would find that for |.
        own = inspect.getattr_static(of, name, None) if name else None
        if own is None or own is getattr(type(of), "_of_integers", None):
            self._refuse(ufunc.__name__, roles.name_of(type(self)), "numbers in the clear", self._remedy(ufunc))
        return own(of, *(inputs[1:] if first else inputs[:1]))

    def _remedy(self, ufunc: np.ufunc) -> str:
        single = self._FUNCTION if "d->d" in ufunc.types else DEFAULT_REMEDY
        name = ufunc.__name__  # for example, scipy.special has ufuncs that numpy does not have
        if getattr(np, name, None) is not ufunc:
            single = single.replace("np.{name}", "{name}")
        return self._REMEDY_OF.get(name, single).format(name=name)

    @staticmethod
    def _refuse(name: str, had: str, needs: str, remedy: str) -> NoReturn:
        raise errors.UnsupportedError.explain(f"numpy.{name}", had, needs, remedy)
