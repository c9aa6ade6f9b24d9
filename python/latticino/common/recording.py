"""Recorded functions of arrays: what both schemes have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .. import _native, errors


class Recording:
    """A function recorded for arguments like the examples, and replayed on others.

    A scheme says of which ``kind`` its arrays are, what replays lists of their ciphertexts
    (``native``), how an array is rebuilt from them, and what a replay takes for granted: in words
    (``form_of``), and of an array (``_form``).
    """

    kind: type
    native: Callable[..., Any]
    form_of: str

    def __init__(self, function: Callable[..., Any], examples: Sequence[Any]) -> None:
        results: list[tuple[Any, int]] = []
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

        # Arrays that are made in a scope lie in the memory of the recording, which every replay overwrites. So they are
        # of use in it only, and in the thread that records: others wait for its end.
        self._native = self.native([part for x in examples for part in self._parts(x)],
                                   partial(_native.in_scope, body))
        # Only the shape of results is kept: their data lie in the recording's own memory.
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
        """An array like that one, with other ciphertexts."""
        raise NotImplementedError

    def _form(self, x: Any) -> Any:
        raise NotImplementedError
