"""Functions turned into replayable programs: a CUDA graph on the GPU, fixed memory everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from .. import _native, errors
from ..ckks.ciphertext import Ciphertext
from ..common import roles, views
from ..common.recording import Recording
from ..tfhe.array import EncryptedArray
from ..tfhe.program import TfheRecording


class _NotEncryptedProgram:
    """In place of a recording of ciphertexts: runs the function each time."""

    arena_bytes = 0

    def __init__(self, function: Callable[..., Any], examples: Sequence[Ciphertext]) -> None:
        self._function = function
        function(*examples)

    def run(self, arguments: Sequence[Ciphertext]) -> Any:
        return self._function(*arguments)


_MORE_THAN_SAMPLED = 1.25


def _serves_range(recorded: _native.Range, had: _native.Range) -> bool:
    """Whether what a recording claims holds for values of a range. Samples show where values lie but roughly."""
    if had.claim == "calibrated":
        return bool(had.bound <= _MORE_THAN_SAMPLED * recorded.bound)
    return had.claim == "assumed" or recorded.contains(had)


class CkksRecording(Recording):
    """Of ciphertexts, with the errors that results are expected to have."""

    kind, native = Ciphertext, _native.RecordedProgram
    form_of = "shape, ciphertexts, zeros in slots without values, layout"

    def __init__(self, function: Callable[..., Any], examples: Sequence[Ciphertext]) -> None:
        context = examples[0].context
        self._kept = context._hold(examples[0]._key)  # the recording's operations read it at every run
        # The context's locks come before the queue's own, which recording holds, in every thread.
        with context._lock, context._constants.pinned(), context._products.pinned(), context._tables.pinned():
            # Builds matrices and constants first: they belong to the context, not to the recording.
            # Arguments without errors show what the program adds by itself.
            renamed = [x._known.renamed() for x in examples]
            self._sources = [source for _, source in renamed]
            self._errors = [x._known.estimate.rms for x in examples]  # samples' own would differ by chance
            self._ranges = [x.range for x in examples]
            # Other arguments may hold other numbers in slots without values.
            examples = [x._like(x._parts, x._known, layout=x.layout.with_rest(x.layout.rest, x.layout.bound))
                        for x in examples]
            self._rests = [x.layout.bound for x in examples]
            taken = [x._like(x._parts, known) for x, (known, _) in zip(examples, renamed)]
            self._expected = [r._known.detached(r.size, r._full) for r in self._arrays(function(*taken), "record")]
            super().__init__(function, examples)

    def run(self, arguments: Sequence[Ciphertext]) -> Any:
        out = super().run(arguments)
        for x, recorded, rest in zip(arguments, self._ranges, self._rests):
            # What is assumed is assumed of each argument anew.
            if not _serves_range(recorded, x.range):
                raise errors.ScaleError.explain(
                    "program", f"values {x.range}", f"values {recorded}, as in the recording",
                    "record the program with an argument of this range")
            if x.layout.bound > _MORE_THAN_SAMPLED * max(rest, recorded.reach):
                raise errors.ScaleError.explain(
                    "program", f"slots without values that hold up to {x.layout.bound:.3g}",
                    f"up to {max(rest, recorded.reach):.3g}, as in the recording",
                    "clear them before: x.contiguous()")
        # Parts of the results' errors that come from an argument grow with its error.
        grown = [(source, x._known.estimate.rms / error) for x, source, error in zip(
            arguments, self._sources, self._errors) if source and x._known.estimate.rms != error]
        for r, known in zip([out] if self._single else out, self._expected):
            r._known = known.with_sources(grown)
        return out

    def _filled(self, like: Ciphertext, parts: list[Any]) -> Ciphertext:
        return like._like(parts, like._known)

    def _form(self, x: Ciphertext) -> tuple[tuple[int, ...], int, bool, str]:
        """Sums skip the mask where slots without values are zero, and functions where what is there is known."""
        kind = "plain" if x.layout.is_plain else x.layout.name.hex()[:8]
        known = "" if x.layout.rest != "unknown" else ", other values between"
        return x.shape, len(x._parts), x._clean or not x._padded, kind + known

    def _serves(self, recorded: tuple[Any, ...], form: tuple[Any, ...]) -> bool:
        return recorded[:2] == form[:2] and recorded[2] <= form[2] and recorded[3] == form[3]


class Program(roles.Handle):
    """A function of encrypted arrays that is recorded at its first call and replayed from then on.

    Arguments and results are ciphertexts of CKKS, or encrypted arrays of TFHE. Every call checks the
    arguments' context, key and shape against the recording, level and scale of CKKS, type, noise and
    largest message of TFHE (ContextError, KeyError, ShapeError, LevelError, ScaleError,
    ParameterError); results are fresh ones. Plain operands become constants of the recording, so they
    may not change between calls. Where nothing is encrypted (the device ``"not-encrypted"``), and inside of `lt.debug`,
    every call runs the function.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._recording: Any = None  # Recording or _NotEncryptedProgram
        self.__doc__ = function.__doc__ or self.__doc__

    @property
    def arena_bytes(self) -> int:
        """Device memory that the recording keeps for itself."""
        return int(self._recording.arena_bytes) if self._recording else 0

    @property
    def recorded(self) -> bool:
        """Whether calls replay a recording."""
        return self._recording is not None

    def _repr_html_(self) -> str:
        return views.program(self)

    def __reduce__(self) -> NoReturn:
        roles.refuse_pickle("a program, whose recording lies on a device", "a function",
                            "pickle the function, and record it in the other process")

    def record(self, *examples: Ciphertext | EncryptedArray) -> Program:
        """Records for arguments like these; replaces an earlier recording."""
        given: tuple[Any, ...] = examples
        for scheme in (CkksRecording, TfheRecording):
            if examples and all(isinstance(x, scheme.kind) for x in examples):
                if scheme is CkksRecording and not examples[0].context.encrypted:
                    self._recording = _NotEncryptedProgram(self._function, given)
                    return self
                self._recording = scheme(self._function, given)
                return self
        raise errors.ShapeError.explain(
            "record", "arguments that are not all encrypted arrays of one scheme",
            "one ciphertext or encrypted array for each argument", "close over plain values instead")

    def __call__(self, *arguments: Ciphertext | EncryptedArray) -> Any:
        if any(isinstance(x, Ciphertext) and x.context._debugger is not None for x in arguments):
            result = self._function(*arguments)
            return result if isinstance(result, Ciphertext) else tuple(result)
        if self._recording is None:
            self.record(*arguments)
        return self._recording.run(arguments)


def record(function: Callable[..., Any]) -> Program:
    """Turns a function of encrypted arrays into a replayable program; usable as a decorator."""
    roles.require_function("record", function)
    return Program(function)
