"""Recorded functions of encrypted arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _native
from ..common.recording import Recording
from .array import EncryptedArray


class _NotEncryptedProgram:
    """Replaces a recording of ciphertexts, and runs the function each time."""

    arena_bytes = 0

    def __init__(self, examples: list[Any], function: Callable[[list[Any]], list[Any]]) -> None:
        function(examples)
        self.run = function


class TfheRecording(Recording):
    """A recording of encrypted arrays. The native program checks keys, encodings and noise of what it replays."""

    kind = EncryptedArray
    form_of = "shape and type"

    def __init__(self, function: Callable[..., Any], examples: Sequence[EncryptedArray]) -> None:
        context = examples[0].context
        self._encrypted = context.encrypted
        self._kept: Any = None  # the recording's operations read the keys in every run
        if self._encrypted:
            parts = examples[0]._parts
            # If there are no keys, an evaluator for sums is used. It must be made before the recording starts, because
            # objects made in it end with it.
            held = parts[0].key in context._tenants
            self._kept = context._hold(parts[0].key) if held else context._evaluator_of(parts)
        self.native = _native.TfheRecordedProgram if self._encrypted else _NotEncryptedProgram
        super().__init__(function, examples)

    def _parts(self, x: EncryptedArray) -> list[Any]:
        return x._parts if self._encrypted else [x._parts]

    def _filled(self, like: EncryptedArray, parts: list[Any]) -> EncryptedArray:
        return like._new(parts if self._encrypted else parts[0], like.shape, like.bits)

    def _emptied(self, x: EncryptedArray) -> EncryptedArray:
        return x._new([], x.shape, x.bits)

    def _form(self, x: EncryptedArray) -> tuple[tuple[int, ...], str]:
        return x.shape, x.dtype
