"""The steps of captured programs (saved/capture.py): functions of arrays, methods of arrays and numbers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, cast

from .naming import public

Function = TypeVar("Function", bound=Callable[..., Any])
FUNCTIONS: dict[str, Callable[..., Any]] = {}  # by the name of the step
_METHODS: set[Callable[..., Any]] = set()


class Captured:
    """A stand-in for an array, or for a number, of a function that is captured. ``_log`` notes the operations on it."""

    __slots__ = ()
    _log: Any


def step(name: str) -> Callable[[Function], Function]:
    """Decorates a function of arrays. If its arguments are stand-ins, a log notes the call as one step of this name."""
    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def _noted(*arguments: Any, **options: Any) -> Any:  # naming.caller skips functions of this name
            first = next(_captured((*arguments, *options.values())), None)
            if first is None:
                return function(*arguments, **options)
            return first._log.step(name, arguments, options)

        FUNCTIONS[name] = _noted
        return cast("Function", _noted)
    return decorate


def _captured(values: Iterable[Any]) -> Iterator[Any]:
    """The stand-ins among arguments, and among lists of them."""
    for value in values:
        if isinstance(value, Captured):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (v for v in value if isinstance(v, Captured))


def program_step(method: Function) -> Function:
    """Decorates a method that steps of saved programs may call. A file from an untrusted source can call no other
    methods."""
    _METHODS.add(method)
    return method


def public_step(method: Function) -> Function:
    """Decorates a method that is a step of saved programs, and whose errors have its name."""
    return program_step(public(method))


def methods_of(kind: type) -> tuple[str, ...]:
    """The names of a class for its methods and properties that are steps."""
    functions = ((name, m.fget if isinstance(m, property) else m) for name, m in vars(kind).items())
    return tuple(name for name, f in functions if inspect.isfunction(f) and f in _METHODS)
