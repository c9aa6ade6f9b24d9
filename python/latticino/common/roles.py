"""Checks and errors that the roles of both schemes share."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, ClassVar, NoReturn

from .. import errors


def require_kind(operation: str, value: Any, kinds: type | tuple[type, ...], remedy: str) -> None:
    """Raises UnsupportedError unless the value is of that class, or of one of those classes."""
    if not isinstance(value, kinds):
        names = [name_of(k) for k in (kinds if isinstance(kinds, tuple) else (kinds,))]
        raise errors.UnsupportedError.explain(operation, name_of(type(value)), " or ".join(names), remedy)


def require_secret(native: Any, kind: type) -> None:
    """UnsupportedError if a client would be made from anything but a secret key."""
    if not isinstance(native, kind):
        raise errors.UnsupportedError.explain(
            "Client", name_of(type(native)), "a secret key of the scheme",
            "make a client with lt.keygen(ctx), or load one with lt.load_client(path, ctx)")


def require_function(operation: str, f: Any) -> None:
    """UnsupportedError for an object that cannot be called."""
    if not callable(f):
        raise errors.UnsupportedError.explain(operation, name_of(type(f)), "a function",
                                              "pass one, a lambda for instance")


def require_run(operation: str, result: Any) -> None:
    """UnsupportedError if a program returned something that has not run yet: a generator, a coroutine, or the result of
    `map`."""
    if isinstance(result, (Iterator, Awaitable)):
        raise errors.UnsupportedError.explain(
            operation, f"a program whose result is a {type(result).__name__}, so that it has not run",
            "one that computes when it is called", "return a tuple, for instance tuple(result)")


def require_one_context(operation: str, first: Any, *others: Any) -> None:
    """ContextError for encrypted arrays of several contexts or sessions."""
    contexts = [x.context for x in (first, *others)]
    if all(context is contexts[0] for context in contexts):
        return
    if any(context.device == "dry" for context in contexts):
        raise errors.ContextError.explain(
            operation, "an encrypted array from outside of the function that is planned",
            "arguments of the function, arrays that it computes, and data in the clear", "make it an argument")
    raise errors.ContextError.explain(
        operation, "encrypted arrays of two contexts or sessions", "those of one",
        "encrypt all in the same one, adopt() those of a session's context, or pass them through lt.to_bytes and "
        "lt.from_bytes")


def refuse_numpy(x: Any) -> NoReturn:
    """Raises UnsupportedError; numpy would otherwise make an array of Python objects."""
    raise errors.UnsupportedError.explain(
        "numpy", name_of(type(x)), "numbers in the clear",
        "decrypt first, or use the array's own methods and the functions of latticino")


# by class: the function with which `pickling` reduces its objects
REDUCERS: dict[type, Callable[[Any], tuple[Any, ...]]] = {}


def reduced(x: Any) -> tuple[Any, ...]:
    """The result of ``__reduce__``. The function for the class makes it, or the one for the nearest base class."""
    return next(REDUCERS[kind] for kind in type(x).__mro__ if kind in REDUCERS)(x)


def refuse_pickle(had: str, needs: str, remedy: str) -> NoReturn:
    """UnsupportedError for what must not be pickled, or cannot be."""
    raise errors.UnsupportedError.explain("pickle", had, needs, remedy)


class Handle:
    """Copies are the objects themselves, for objects that stand for something on a device, or that never change."""

    __slots__ = ()

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self


class Callee(Handle):
    """A handle that is called with arrays. It is no operand of them, and no array for numpy.

    ``_CALLED``: what to write in place of an operator.
    """

    __slots__ = ()
    _CALLED: ClassVar[str]

    def refuse(self, operation: str) -> NoReturn:
        """Raises UnsupportedError, because this is no operand of that operation."""
        raise errors.UnsupportedError.explain(
            operation, f"a {name_of(type(self))}, which holds no numbers to compute with", "an array as operand",
            self._CALLED)

    def _no_operand(self, *_: Any, **__: Any) -> NoReturn:
        self.refuse("operator")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _no_operand
    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __neg__ = __array_ufunc__ = _no_operand

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        self.refuse("numpy")


def name_of(kind: type) -> str:
    """The name under which users import the class, if it has one."""
    for package in ("latticino", "latticino.tfhe"):
        if getattr(sys.modules.get(package), kind.__qualname__, None) is kind:
            return f"{package}.{kind.__qualname__}"
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def require_keys_of(context: Any, keys: Any) -> None:
    """ContextError unless the server keys are of the context's parameters, and in its memory."""
    if keys.params_hash != context.params.hash:
        raise errors.ContextError.explain(
            "use", "keys for other parameters", f"keys for {context.params.name}",
            "generate them with a client of this context")
    if keys._context is not context._root:
        raise errors.ContextError.explain(
            "use", "keys in the memory of another context", "keys of this one",
            "bring them over with save_server_keys and load_server_keys")


_MIN_SHARED = -128  # log2 of the largest failure probability with which decryptions may be shared


def warn_of_security(operation: str, params: Any) -> None:
    """Gives a SecurityWarning for parameters below 128 bits, and for parameters of TFHE that fail more often than
    2^-128. The warning names the line that called the caller of this function.
    """
    if not params.secure:
        kind = "legacy" if "legacy" in params.name else "insecure"
        warnings.warn(f"{operation}: the {kind} set {params.name} is not held to 128 bits of security; choose a set "
                      "without that word in its name for data that matter", errors.SecurityWarning, stacklevel=3)
    elif getattr(params, "stated_log_failure", _MIN_SHARED) > _MIN_SHARED:
        warnings.warn(f"{operation}: a bootstrapping of {params.name} gives a wrong result with probability "
                      f"2^{params.stated_log_failure:.0f}; "
                      "do not share decryptions under it (docs/security.md)", errors.SecurityWarning, stacklevel=3)
