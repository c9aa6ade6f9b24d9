"""Functions turned into replayable programs: a CUDA graph on the GPU, fixed memory everywhere."""

from __future__ import annotations

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

        def body(parts: list[_native.Ciphertext]) -> list[_native.Ciphertext]:
            taken = iter(parts)
            arguments = [x._like([next(taken) for _ in x._parts], x._error) for x in examples]
            result = self._function(*arguments)
            self._single = isinstance(result, Ciphertext)
            self._results = [result] if self._single else list(result)
            return [part for r in self._results for part in r._parts]

        with context._constants.pinned():
            # Builds matrices and constants first: they belong to the context, not to the recording.
            self._function(*examples)
            self._recorded = _native.RecordedProgram(flat, body)
        self._examples = [(x.shape, len(x._parts)) for x in examples]
        # Only the shape of results is kept: their data lie in the recording's own memory.
        self._results = [(r._like([], r._error), len(r._parts)) for r in self._results]
        return self

    def __call__(self, *arguments: Ciphertext) -> Any:
        if self._recorded is None:
            self.record(*arguments)
        shapes = [(x.shape, len(x._parts)) for x in arguments]
        if shapes != self._examples:
            raise errors.ShapeError.explain(
                "program", f"shapes {[s for s, _ in shapes]}", f"{[s for s, _ in self._examples]}",
                "pass what it was recorded with, or record it again")
        parts = iter(self._recorded.run([part for x in arguments for part in x._parts]))
        out = [r._like([next(parts) for _ in range(n)], r._error) for r, n in self._results]
        return out[0] if self._single else tuple(out)


def record(function: Callable[..., Any]) -> Program:
    """Turns a function of ciphertexts into a replayable program; usable as a decorator."""
    return Program(function)
