"""A property that is computed once, also if several threads ask first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from .locks import Lock

Value = TypeVar("Value")


class once(Generic[Value]):
    """Decorates a method without arguments. The first thread that asks computes the value, and the others wait for it.

    From Python 3.12 on, `functools.cached_property` computes it in each thread that asks before there is a value. This
    does no harm to plain values, but two contexts are not the same context.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._lock = name, f"_{name}_is_computed"

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> once[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Value: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> once[Value] | Value:
        if instance is None:
            return self
        # Once the value is here, Python reads it without this method.
        values = instance.__dict__
        with values.setdefault(self._lock, Lock()).own:
            if self._name not in values:
                values[self._name] = self._compute(instance)
            values.pop(self._lock, None)  # only who waits for it needs it from now on
            found: Value = values[self._name]
            return found
