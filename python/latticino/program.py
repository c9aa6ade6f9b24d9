"""Functions turned into replayable programs: a CUDA graph on the GPU, fixed memory everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import _native, errors
from .ciphertext import Ciphertext


class Program:
    """A function of ciphertexts that is recorded at its first call and replayed from then on.

    Every call checks the arguments' context, key, level, scale and shape against the recording
    (ContextError, KeyError, LevelError, ScaleError, ShapeError); results are fresh ciphertexts.
    Plain operands become constants of the recording, so they may not change between calls.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._recorded: _native.RecordedProgram | None = None
        self.__doc__ = function.__doc__ or self.__doc__

    @property
    def arena_bytes(self) -> int:
        """Device memory that the recording keeps for itself."""
        return self._recorded.arena_bytes if self._recorded else 0

    def record(self, *examples: Ciphertext) -> Program:
        """Records for arguments like these; replaces an earlier recording."""
        if not examples or not all(isinstance(x, Ciphertext) for x in examples):
            raise errors.ShapeError.explain(
                "record", "arguments that are not all ciphertexts", "one ciphertext for each argument",
                "close over plain values instead")
        context = examples[0].context
        flat = [part for x in examples for part in x._parts]
        results: list[Ciphertext] = []
        single = False

        def body(parts: list[_native.Ciphertext]) -> list[_native.Ciphertext]:
            nonlocal results, single
            taken = iter(parts)
            arguments = [x._like([next(taken) for _ in x._parts], x._error) for x in examples]
            result = self._function(*arguments)
            single = isinstance(result, Ciphertext)
            results = _ciphertexts([result] if single else result)
            return [part for r in results for part in r._parts]

        # The context's locks come before the queue's own, which recording holds, in every thread.
        with context._lock, context._constants.pinned(), context._products.pinned(), context._tables.pinned():
            # Builds matrices and constants first: they belong to the context, not to the recording.
            # Arguments without errors show what the program adds by itself.
            own = self._function(*[x._like(x._parts, 0.0) for x in examples])
            recorded = _native.RecordedProgram(flat, body)
        # Only the shape of results is kept: their data lie in the recording's own memory.
        self._recorded, self._single = recorded, single
        self._results = [(r._like([], r._error), len(r._parts)) for r in results]
        self._own = [r._error**2 for r in _ciphertexts(own)]
        self._errors = [x._error for x in examples]
        self._examples = [_form(x) for x in examples]
        return self

    def _expected(self, arguments: tuple[Ciphertext, ...]) -> list[float]:
        """The results' errors: variances are the program's own plus a share of the arguments', which
        grows with the argument whose error grew most."""
        grown = max((x._error**2 / e**2 for x, e in zip(arguments, self._errors) if e > 0), default=1.0)
        return [math.sqrt(own + grown * max(r._error**2 - own, 0.0))
                for (r, _), own in zip(self._results, self._own)]

    def __call__(self, *arguments: Ciphertext) -> Any:
        if self._recorded is None:
            self.record(*arguments)
        _ciphertexts(arguments, "program")
        had, needs = [_form(x) for x in arguments], self._examples
        if [f[:2] for f in had] != [f[:2] for f in needs] or any(n[2] > h[2] for h, n in zip(had, needs)):
            raise errors.ShapeError.explain(
                "program", f"arguments of form {had}", f"{needs} (shape, ciphertexts, zeros behind the values)",
                "pass what it was recorded with, or record it again")
        parts = iter(self._recorded.run([part for x in arguments for part in x._parts]))
        out = [r._like([next(parts) for _ in range(n)], error)
               for (r, n), error in zip(self._results, self._expected(arguments))]
        return out[0] if self._single else tuple(out)


def _form(x: Ciphertext) -> tuple[tuple[int, ...], int, bool]:
    """What a recording took for granted: sums skip the mask where slots behind the values are zero."""
    return x.shape, len(x._parts), x._clean or not x._padded


def _ciphertexts(values: Any, operation: str = "record") -> list[Ciphertext]:
    values = list(values) if isinstance(values, (tuple, list)) else [values]
    for v in values:
        if not isinstance(v, Ciphertext):
            raise errors.ShapeError.explain(
                operation, f"a {type(v).__name__}", "ciphertexts in and out", "close over plain values instead")
    return values


def record(function: Callable[..., Any]) -> Program:
    """Turns a function of ciphertexts into a replayable program; usable as a decorator."""
    return Program(function)
