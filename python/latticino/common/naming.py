"""Errors and warnings named after the operation that was called, in place of the step of it that failed."""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from .. import errors

_Function = TypeVar("_Function", bound=Callable[..., Any])
_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_PROGRAMS = tuple(_PACKAGE + name + os.sep for name in ("nn", "saved"))  # they call operations as a user's program does
_OPERATORS = {
    **{f"__{side}{name}__": operation for side in ("", "r") for name, operation in (
        ("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "divide"), ("matmul", "matmul"),
        ("pow", "power"))},
    "__neg__": "negative", "__getitem__": "index", "_real_part": "real", "_imaginary_part": "imag",
    "_standard_deviation": "std"}


def _renamed(why: errors.Error, operation: str) -> errors.Error:
    """A copy of the error that names another operation."""
    text = operation + str(why).removeprefix(why.operation)
    out = type(why)(text, operation)
    out.__dict__.update({name: value for name, value in vars(why).items() if name != "operation"})
    return out


@contextmanager
def named(operation: str, step: str | None = None) -> Iterator[None]:
    """Makes errors name this operation: all of them, or those that name the `step`."""
    try:
        yield
    except errors.Error as why:
        if operation == why.operation or (step is not None and why.operation != step):
            raise
        raise _renamed(why, operation) from why.__cause__


def called(operation: str, step: str | None = None) -> Callable[[_Function], _Function]:
    """Decorates a function whose errors name this operation, as of `named`."""
    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def _run(*arguments: Any, **options: Any) -> Any:  # `caller` skips functions of this name
            try:
                return function(*arguments, **options)
            except errors.Error as why:
                if operation == why.operation or (step is not None and why.operation != step):
                    raise
                raise _renamed(why, operation) from why.__cause__

        return cast("_Function", _run)
    return decorate


def public(function: _Function) -> _Function:
    """Makes the errors of a function or method name it. Errors of an operator name numpy's function."""
    return called(_OPERATORS.get(function.__name__, function.__name__))(function)


def caller() -> tuple[str, int, types.FrameType]:
    """Finds the call that code outside of the package made. Gives the operation, the stack level for a warning that the
    caller of this function raises, and the frame of that code. In a network or a saved program, the operation is the
    one that the program called."""
    frame, levels, operation, named = sys._getframe(1), 1, "compute", False
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        name = frame.f_code.co_name
        named = named or (operation != "compute" and frame.f_code.co_filename.startswith(_PROGRAMS))
        if not named and (name in _OPERATORS or not name.startswith(("_", "<"))):
            operation = _OPERATORS.get(name, name)
        frame, levels = frame.f_back, levels + 1
    return operation, levels, frame
