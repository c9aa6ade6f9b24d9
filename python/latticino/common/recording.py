"""Recorded functions of arrays: what both schemes have in common."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, TypeVar

from .. import errors

Made = TypeVar("Made")
_now: ContextVar[Scope | None] = ContextVar("latticino.recording", default=None)


class Scope:
    """The time in which a function is recorded. Arrays that are made in it lie in the memory of the recording, which
    every replay overwrites, so they may only be used while the function is recorded, and in the thread that records it;
    other threads wait until the recording has ended.

    The function runs in a copy of the thread's context (`contextvars`), which the interpreter takes back when it ends.
    An interrupt cannot come between the two, as it can where Python code ends a scope."""

    __slots__ = ("open", "thread")

    def __init__(self) -> None:
        self.open, self.thread = False, threading.get_ident()

    @staticmethod
    def current() -> Scope | None:
        """The scope of the function that this thread is recording, if there is one."""
        scope = _now.get()  # some interpreters pass a thread's context on to threads that it starts
        return None if scope is None or scope.thread != threading.get_ident() else scope

    def run(self, function: Callable[..., Made], *arguments: Any) -> Made:
        """Calls a function in this scope."""
        return copy_context().run(self._run, function, arguments)

    def _run(self, function: Callable[..., Made], arguments: tuple[Any, ...]) -> Made:
        _now.set(self)
        self.open = True
        try:
            return function(*arguments)
        finally:
            self.open = False

    def require(self) -> None:
        """Raises ContextError for arrays that were made in this scope and are used outside of it, or in another
        thread."""
        if not self.open:
            raise errors.ContextError.explain(
                "compute", "an array that was kept from inside a recorded function", "results of the recorded program",
                "return it from the function")
        if Scope.current() is not self:
            raise errors.ContextError.explain(
                "compute", "an array of a recorded function in another thread", "the thread that records",
                "compute in the recorded function itself")


class Recording:
    """A function recorded for arguments like the examples, and replayed on others.

    Each scheme defines the ``kind`` of its arrays, the object that replays lists of ciphertexts (``native``), how an
    array is rebuilt from these, and the form that arguments must have: as text (``form_of``) and for comparison
    (``_form``).
    """

    kind: type
    native: Callable[..., Any]
    form_of: str

    def __init__(self, function: Callable[..., Any], examples: Sequence[Any]) -> None:
        results: list[tuple[Any, int]] = []
        scope = Scope()
        self._context = examples[0].context
        self._require_own(examples, "record")

        def body(parts: list[Any]) -> list[Any]:
            nonlocal results
            taken = iter(parts)
            result = function(*[self._filled(x, [next(taken) for _ in self._parts(x)]) for x in examples])
            self._single = isinstance(result, self.kind)
            arrays = self._arrays([result] if self._single else result, "record")
            results = [(r, len(self._parts(r))) for r in arrays]
            return [part for r in arrays for part in self._parts(r)]

        self._native = self.native([part for x in examples for part in self._parts(x)], partial(scope.run, body))
        # Only the shapes of results are kept, because their data are in the recording's own memory.
        self._results = [(self._emptied(r), count) for r, count in results]
        self._forms = [self._form(x) for x in examples]

    @property
    def arena_bytes(self) -> int:
        """Device memory that the recording keeps for itself."""
        return int(self._native.arena_bytes)

    def run(self, arguments: Sequence[Any], *values: Any) -> Any:
        """The result of the function for these arguments: one array, or a tuple of arrays. The native program also
        takes `values`."""
        self._arrays(arguments, "program")
        self._require_own(arguments, "program")
        had = [self._form(x) for x in arguments]
        if len(had) != len(self._forms) or not all(map(self._serves, self._forms, had)):
            raise errors.ShapeError.explain(
                "program", f"arguments of form {had}", f"{self._forms} ({self.form_of})",
                "pass what it was recorded with, or record it again")
        parts = iter(self._native.run([part for x in arguments for part in self._parts(x)], *values))
        out = [self._filled(r, [next(parts) for _ in range(n)]) for r, n in self._results]
        return out[0] if self._single else tuple(out)

    def _require_own(self, values: Sequence[Any], operation: str) -> None:
        if any(x.context is not self._context for x in values):
            raise errors.ContextError.explain(
                operation, "arguments of several contexts or sessions", "those of one, the recording's",
                "record a program for each session, or adopt the arguments")

    def _arrays(self, values: Any, operation: str) -> list[Any]:
        arrays: list[Any] = list(values) if isinstance(values, (tuple, list)) else [values]
        for v in arrays:
            if not isinstance(v, self.kind):
                raise errors.ShapeError.explain(
                    operation, f"a {type(v).__name__}", f"arrays of type {self.kind.__name__} in and out",
                    "close over plain values instead")
        return arrays

    def _parts(self, x: Any) -> list[Any]:
        return list(x._parts)

    def _emptied(self, x: Any) -> Any:
        return self._filled(x, [])

    def _serves(self, recorded: Any, form: Any) -> bool:
        return bool(recorded == form)

    def _filled(self, like: Any, parts: list[Any]) -> Any:
        """An array like the given one, with other ciphertexts."""
        raise NotImplementedError

    def _form(self, x: Any) -> Any:
        raise NotImplementedError
