"""Errors named after the operation that was called, in place of the step of it that failed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from .. import errors

_Function = TypeVar("_Function", bound=Callable[..., Any])


@contextmanager
def named(operation: str, step: str | None = None) -> Iterator[None]:
    """Makes errors name this operation: all of them, or those that name the `step`."""
    try:
        yield
    except errors.Error as why:
        if operation == why.operation or (step is not None and why.operation != step):
            raise
        raise type(why)(operation + str(why).removeprefix(why.operation), operation) from why.__cause__


def called(operation: str, step: str | None = None) -> Callable[[_Function], _Function]:
    """Decorates a function whose errors name this operation, as of `named`."""
    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def run(*arguments: Any, **options: Any) -> Any:
            with named(operation, step):
                return function(*arguments, **options)

        return cast("_Function", run)
    return decorate
