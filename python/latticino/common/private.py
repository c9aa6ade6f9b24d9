"""Decrypted values, marked as not to be shared."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from .. import errors
from .ufuncs import OfNumpy

_MARK = "  # not to be shared: see decrypt_for_sharing"
_TO_FILES = {np.save, np.savez, np.savez_compressed, np.savetxt}
_PRINTING = {np.array2string, np.array_repr, np.array_str}
# Functions that write into their first argument.
_WRITING = {np.copyto, np.put, np.put_along_axis, np.place, np.putmask}
_SHAPE_FUNCTIONS = {np.shape, np.ndim, np.size}
# Where functions without a signature in Python take the place for their result.
_PLACES_OF_OUTPUTS = {"dot": 2, "concatenate": 2}


def _refuse(operation: str) -> NoReturn:
    raise errors.UnsupportedError.explain(
        operation, "decrypted values marked as not to be shared", "values meant for others",
        "use decrypt_for_sharing, or x.unmarked() where the values stay with the key's owner")


def _require_marked(operation: str, outputs: Any) -> None:
    """Refuses ``b += x`` with a plain array b: it would write marked values x into an array without a mark."""
    for out in outputs if isinstance(outputs, tuple) else (outputs,):
        if isinstance(out, np.ndarray) and not isinstance(out, PrivateArray):
            raise errors.UnsupportedError.explain(
                operation, "a plain array as the place for decrypted values marked as not to be shared",
                "an array with the mark, or values without it",
                "leave the output out, as in b = b + x; or use x.unmarked() where the values stay with the key's owner")


@lru_cache(maxsize=256)
def _place_of_output(function: Callable[..., Any]) -> int | None:
    """The position of the argument ``out`` of a numpy function; None if it has no such argument."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return _PLACES_OF_OUTPUTS.get(getattr(function, "__name__", ""))
    return names.index("out") if "out" in names else None


def _plain(x: Any) -> Any:
    return np.ndarray.view(x, np.ndarray) if isinstance(x, PrivateArray) else x


def _marked(result: Any, objects: bool = False) -> Any:
    """A result whose arrays and numpy scalars are private ones. Python's objects are made private too if they came from
    an array."""
    if isinstance(result, (np.ndarray, np.generic)):
        return np.asanyarray(result).view(PrivateArray)
    if objects and isinstance(result, (numbers.Number, str)):
        return np.array(result, dtype=object).view(PrivateArray)
    if type(result) in (tuple, list):
        return type(result)(_marked(r) for r in result)
    if isinstance(result, tuple) and hasattr(result, "_fields"):  # np.linalg's results
        return type(result)(*(_marked(r) for r in result))
    return result


def _marking(name: str) -> Callable[..., Any]:
    method = getattr(np.ndarray, name)

    def marked(self: np.ndarray, *arguments: Any, **options: Any) -> Any:
        _require_marked(name, options.get("out"))
        # Works on plain views, because numpy computes with plain outputs internally.
        result = method(_plain(self), *(_plain(x) for x in arguments), **{n: _plain(x) for n, x in options.items()})
        if any(result is x for x in arguments):
            _require_marked(name, result)
        return _marked(result, self.dtype.hasobject)

    marked.__name__, marked.__doc__ = name, method.__doc__
    return marked


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refused(self: np.ndarray, *arguments: Any, **options: Any) -> NoReturn:
        _refuse(name.strip("_"))

    refused.__name__ = name
    return refused


class _Methods(np.ndarray):
    """numpy's methods with results that are marked, or refused."""

    def view(self, *arguments: Any, **options: Any) -> Any:
        for kind in (*arguments, *options.values()):
            if isinstance(kind, type) and issubclass(kind, np.ndarray) and not issubclass(kind, PrivateArray):
                _refuse("view")
        return super().view(*arguments, **options)

    @property
    def base(self) -> Any:
        return _marked(super().base)


# Methods that bypass __array_wrap__, or that turn results of shape () into scalars there.
for _name in ("all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "choose", "clip", "compress",
              "conj", "conjugate", "cumprod", "cumsum", "diagonal", "dot", "max", "mean", "min", "nonzero", "prod",
              "repeat", "round", "searchsorted", "std", "sum", "take", "trace", "var"):
    setattr(_Methods, _name, _marking(_name))
for _name in ("dump", "dumps", "item", "tobytes", "tofile", "tolist", "__array__", "__complex__", "__dlpack__",
              "__float__", "__index__", "__int__", "__trunc__"):
    setattr(_Methods, _name, _refusing(_name))
# Attributes through which other packages read the memory. np.ma reads the last one to make a masked array.
for _name in ("flat", "data", "ctypes", "__array_interface__", "__array_struct__", "_baseclass"):
    setattr(_Methods, _name, property(_refusing("np.ma" if _name == "_baseclass" else _name)))


class PrivateArray(_Methods):
    """Decrypted values for the key's owner only: **not to be shared**.

    A CKKS decryption carries noise that depends on the secret key. Somebody who sees enough of it together with the
    ciphertexts can compute the key (Li and Micciancio, EUROCRYPT 2021). For values that others will see use
    ``decrypt_for_sharing``.

    Behaves as a numpy array. Whatever numpy computes from it keeps the mark: slices, copies, results of
    functions and methods, and single values, which are arrays of shape (). Printing shows the values and
    the mark. UnsupportedError for what loses the mark on the way out of the process: pickling, ``tobytes``,
    ``tofile``, ``dump``, ``tolist``, ``item``, ``flat``, ``np.save`` and the like, conversions to Python's numbers, and
    plain arrays as outputs (``b += x``, ``out=b``, ``np.copyto(b, x)``), views of other classes
    (``x.view(np.ndarray)``), masked arrays (``np.ma.array(x)``), ``x.data``, ``x.ctypes``, ``x.__array__()`` and the
    like. ``bool(x)`` gives what a decision in the owner's program needs.

    ``x.unmarked()`` is a copy without the mark, for the owner's own files.

    **Where the mark is lost.** The mark reminds the owner. It does not protect the values. The operations of this list
    read the memory of an array directly, so this class cannot refuse them. Their results have no mark:

    - ``np.array(x)``, ``np.asarray(x)`` and functions that begin with it, such as ``np.ndenumerate(x)``,
      ``np.full(3, x[0])``, ``np.polynomial.Polynomial(x)``, ``np.rec.fromarrays([x])``, ``np.ma.stack([x])`` and
      ``np.lib.stride_tricks.as_strided(x)``;
    - numpy's types as functions: ``np.float64(x[0])``, ``np.complex128(x[0])``, ``x.dtype.type(x[0])``;
    - lists of such arrays, wherever numpy makes one array of a list: ``np.array([x])``, ``np.save(file, [x])``;
    - assignments to plain arrays: ``b[...] = x``, ``b.flat = x``, ``b.real = x``,
      ``np.fill_diagonal(b, x)``;
    - indices and masks of plain arrays: ``b[x]``, whose result shows the values of x where b is known;
    - methods of plain arrays that take it: ``b.put(i, x)``, ``b.setfield(x, float)``, ``b.choose(x)``, ``b.take(x)``,
      ``b.repeat(x)``, ``b.compress(x)``, ``b.searchsorted(x)``, ``b.argpartition(x)``;
    - functions of your own that ``np.frompyfunc(f, 1, 1)`` or ``np.vectorize(f)`` calls: f gets the numbers;
    - ``np.nditer(x)``, ``np.broadcast(x, y)``, ``np.lib.format.write_array(file, x)`` into what is no file of the
      operating system, and the generators of ``np.random``;
    - buffers: ``memoryview(x)``, ``np.frombuffer(x)``, ``np.ndarray(shape, dtype, x)``, ``file.write(x)``;
    - methods of the base class, such as ``np.ndarray.view(x, np.ndarray)``.
    """

    shareable = False
    __array_priority__ = 1e6  # results of plain.dot(x) have this type

    def unmarked(self) -> np.ndarray:
        """A plain copy. The owner decides what happens to it."""
        return np.array(self)

    # ---- computing: results are marked ----

    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Any:
        return array.view(PrivateArray)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        if any(isinstance(x, OfNumpy) for x in inputs):
            return NotImplemented  # the encrypted array computes the result, which is encrypted
        _require_marked(ufunc.__name__, inputs[0] if method == "at" else out)
        options = {name: _plain(x) for name, x in options.items()}
        if out:
            options["out"] = tuple(_plain(x) for x in out)
        result = getattr(ufunc, method)(*(_plain(x) for x in inputs), **options)
        if out:
            return out[0] if len(out) == 1 else out
        return _marked(result, any(isinstance(x, np.ndarray) and x.dtype.hasobject for x in inputs))

    def __array_function__(self, function: Callable[..., Any], types: Any, arguments: Any, options: Any) -> Any:
        if function in _TO_FILES:
            _refuse(function.__name__)
        if function in _WRITING:
            _require_marked(function.__name__, arguments[0] if arguments else next(iter(options.values())))
        _require_marked(function.__name__, options.get("out"))
        place = _place_of_output(function)
        if place is not None and place < len(arguments) and function is not np.einsum:  # the operands come first
            _require_marked(function.__name__, arguments[place])
        if function in _PRINTING:
            plain = [a.unmarked() if isinstance(a, PrivateArray) else a for a in arguments]
            return str(function(*plain, **options)) + _MARK
        result = super().__array_function__(function, types, arguments, options)
        if isinstance(result, numbers.Number) and not isinstance(result, bool) and function not in _SHAPE_FUNCTIONS:
            result = np.asarray(result)  # np.linalg.matrix_rank, for example, gives a number of Python
        return _marked(result)

    def __getitem__(self, index: Any) -> Any:
        return _marked(super().__getitem__(index), self.dtype.hasobject)

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a single value")
        return (self[i] for i in range(len(self)))

    def __round__(self, digits: int = 0) -> Any:
        return np.round(self, digits)

    # ---- printing: the text contains the mark ----

    def __repr__(self) -> str:
        return np.array_repr(self.unmarked()).replace("array(", "PrivateArray(", 1) + _MARK

    def __str__(self) -> str:
        return str(self.unmarked()) + _MARK

    def __format__(self, spec: str) -> str:
        return format(self.unmarked()[()], spec) + _MARK

    # ---- conversions that would lose the mark ----

    def __reduce__(self) -> NoReturn:
        _refuse("pickle")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        _refuse("pickle")

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()
