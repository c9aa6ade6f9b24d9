"""Functions of arrays that a captured program holds as one step (saved/capture.py)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])
FUNCTIONS: dict[str, Callable[..., Any]] = {}  # by the name of the step


class Captured:
    """A stand-in for an array, or for a number, of a function that is captured. ``_log`` notes what is done with it."""

    __slots__ = ()
    _log: Any


def step(name: str) -> Callable[[Function], Function]:
    """Decorates a function of arrays: with stand-ins as arguments, a log notes the call as one step of this name."""
    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def noted(*arguments: Any, **options: Any) -> Any:
            first = next(_captured((*arguments, *options.values())), None)
            if first is None:
                return function(*arguments, **options)
            return first._log.step(name, arguments, options)

        FUNCTIONS[name] = noted
        return cast("Function", noted)
    return decorate


def _captured(values: Iterable[Any]) -> Iterator[Any]:
    """The stand-ins among arguments, and among lists of them."""
    for value in values:
        if isinstance(value, Captured):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (v for v in value if isinstance(v, Captured))
