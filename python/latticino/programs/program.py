"""Functions turned into replayable programs: a CUDA graph on the GPU, fixed memory everywhere."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn, cast, overload

from .. import _native, errors
from ..ckks.ciphertext import Ciphertext
from ..common import display, roles
from ..common.captured import Captured
from ..common.recording import Recording
from ..ops.scalar import Numbers, Scalar, taken
from ..tfhe.array import EncryptedArray
from ..tfhe.program import TfheRecording


class _NotEncryptedProgram:
    """Replaces a recording of ciphertexts, and runs the function each time."""

    arena_bytes = 0

    def __init__(self, function: Callable[..., Any], examples: Sequence[Ciphertext],
                 declared: Mapping[str, Scalar]) -> None:
        self._function, self._declared = function, declared
        self.run(examples, None)

    def run(self, arguments: Sequence[Ciphertext], values: Mapping[str, Any] | None) -> Any:
        with Numbers(self._declared, None, values).given() as scalars:
            return self._function(*arguments, **scalars)


class CkksRecording(Recording):
    """A recording of ciphertexts, with the errors that results are expected to have."""

    kind = Ciphertext
    native: Callable[..., Any] = _native.RecordedProgram
    form_of = "shape, ciphertexts, zeros in slots without values, layout"

    def __init__(self, given: Callable[..., Any], examples: Sequence[Ciphertext],
                 declared: Mapping[str, Scalar]) -> None:
        context = examples[0].context
        self._numbers = Numbers(declared, context) if declared else None
        if self._numbers is not None:
            self.native = partial(_native.RecordedProgram, numbers=self._numbers.inputs)

        def function(*arrays: Ciphertext) -> Any:
            if self._numbers is None:
                return given(*arrays)
            with self._numbers.given() as scalars:
                return given(*arrays, **scalars)

        self._kept = context._hold(examples[0]._key)  # the recording's operations read it in every run
        # The context's locks come before the queue's own, which recording holds, in every thread.
        with context._lock.own, context._constants.held, context._products.held, context._tables.held:
            # Makes matrices and constants first, because they belong to the context and not to the recording.
            recorded = [_native.RecordedArgument.of(x._contents) for x in examples]
            self._examples = [argument for argument, _ in recorded]
            examples = [x._made(taken) for x, (_, taken) in zip(examples, recorded)]
            self._expected = [r._known.detached(r.size, r._full) for r in self._arrays(function(*examples), "record")]
            super().__init__(function, examples)

    def run(self, arguments: Sequence[Ciphertext], values: Mapping[str, Any]) -> Any:
        out = super().run(arguments, *(() if self._numbers is None else (self._numbers.at(values),)))
        given = [x._contents for x in arguments]
        for argument, x in zip(self._examples, given):
            argument.require(x, "clear them before: x.contiguous()")
        for r, known in zip([out] if self._single else out, self._expected):
            r._known = _native.known_of_result(known, self._examples, given)
        return out

    def _filled(self, like: Ciphertext, parts: list[Any]) -> Ciphertext:
        return like._like(parts, like._known)

    def _form(self, x: Ciphertext) -> tuple[tuple[int, ...], int, bool, str]:
        """The form decides which masks are skipped. Sums skip theirs if slots without values are zero; functions skip
        theirs if the content of these slots is known."""
        kind = "plain" if x.layout.is_plain else x.layout.name.hex()[:8]
        known = "" if x.layout.rest != "unknown" else ", other values between"
        return x.shape, len(x._parts), x._clean or not x._padded, kind + known

    def _serves(self, recorded: tuple[Any, ...], form: tuple[Any, ...]) -> bool:
        return recorded[:2] == form[:2] and recorded[2] <= form[2] and recorded[3] == form[3]


class Program(roles.Handle):
    """A function of encrypted arrays that is recorded at its first call and replayed from then on.

    Arguments and results are ciphertexts of CKKS, or encrypted arrays of TFHE. Every call compares its arguments with
    those of the recording: context, key and shape; for CKKS level and scale; for TFHE type, noise and largest message
    (ContextError, KeyError, ShapeError, LevelError, ScaleError, ParameterError). Each call returns new arrays. Plain
    operands become constants of the recording, so they may not change between calls. Numbers that change are declared
    (see `lt.record` and `lt.Scalar`) and passed by name; ValueError for a number outside of its declared range. With
    the device ``"not-encrypted"`` and inside of `lt.debug`, every call runs the function. In a plan it runs for the
    declared ranges.
    """

    def __init__(self, function: Callable[..., Any], scalars: Mapping[str, Scalar] | None = None) -> None:
        roles.require_function("Program", function)
        self._function = function
        self._scalars = dict(scalars or {})
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
        name = getattr(self._function, "__qualname__", type(self._function).__name__)
        rows: list[tuple[str, Any]] = [("function", name)]
        recording = self._recording
        if recording is None:
            return display.facts("Program", rows, ["Not recorded yet: the first call does."])
        forms = getattr(recording, "_forms", None)
        if forms is not None:
            rows += [(f"argument {i}", f"shape {form[0]}") for i, form in enumerate(forms)]
        return display.facts("Program", [*rows, ("memory of its own", display.size(self.arena_bytes))])

    def __reduce__(self) -> NoReturn:
        roles.refuse_pickle("a program, whose recording lies on a device", "a function",
                            "pickle the function, and record it in the other process")

    def record(self, *examples: Ciphertext | EncryptedArray) -> Program:
        """Records for arguments like these; replaces an earlier recording. Declared numbers are not passed here,
        because a recording is valid for all of their range."""
        given: tuple[Any, ...] = examples
        if examples and all(isinstance(x, Ciphertext) for x in examples):
            scheme = CkksRecording if given[0].context.encrypted else _NotEncryptedProgram
            self._recording = scheme(self._function, given, self._scalars)
            return self
        if examples and all(isinstance(x, EncryptedArray) for x in examples):
            if self._scalars:
                raise errors.UnsupportedError.explain(
                    "record", "declared numbers beside arrays of TFHE", "arrays of CKKS",
                    "close over the number, and record a program for each")
            self._recording = TfheRecording(self._function, given)
            return self
        raise errors.ShapeError.explain(
            "record", "arguments that are not all encrypted arrays of one scheme",
            "one ciphertext or encrypted array for each argument", "close over plain values instead")

    def __call__(self, *arguments: Ciphertext | EncryptedArray, **numbers: Any) -> Any:
        """The result of the function for these arguments: one array, or a tuple of arrays. ``numbers``: one for each
        declared name."""
        if any(isinstance(x, Captured) for x in arguments):
            return self._function(*arguments, **taken(self._scalars, numbers))
        planned = [x.context for x in arguments if isinstance(x, Ciphertext) and x.context.device == "dry"]
        if planned:
            with Numbers(self._scalars, planned[0]).given() as scalars:
                return self._function(*arguments, **scalars)
        values = taken(self._scalars, numbers)
        if any(isinstance(x, Ciphertext) and x.context._debugger is not None for x in arguments):
            with Numbers(self._scalars, None, values).given() as scalars:
                result = self._function(*arguments, **scalars)
            return result if isinstance(result, Ciphertext) else tuple(result)
        if self._recording is None:
            self.record(*arguments)
        if isinstance(self._recording, TfheRecording):
            return self._recording.run(arguments)
        return self._recording.run(arguments, values)


@overload
def record(function: Callable[..., Any], /, **scalars: Scalar) -> Program: ...
@overload
def record(**scalars: Scalar) -> Callable[[Callable[..., Any]], Program]: ...


def record(function: Callable[..., Any] | None = None, /, **scalars: Scalar) -> Any:
    """Turns a function of encrypted arrays into a replayable program; usable as a decorator.

    ``scalars`` declares parameters of the function, by name, for which each call passes a number: ``lt.record(step,
    eta=lt.Scalar(-1, 1))`` is called as ``step(x, z, eta=0.3)``, and ``@lt.record(eta=lt.Scalar(-1, 1))`` decorates.
    Such a function takes only arrays of CKKS. UnsupportedError if ``function`` cannot be called, if a value is not a
    Scalar, or if the function has no parameter of that name.
    """
    for name, s in scalars.items():
        roles.require_kind("record", s, Scalar, f"declare its range: {name}=lt.Scalar(low, high)")
        if s._of is not None:
            s._refuse("record")
    if function is None and scalars:
        return partial(record, **scalars)
    roles.require_function("record", function)
    given = cast(Callable[..., Any], function)
    _require_parameters(given, scalars)
    return Program(given, scalars)


def _require_parameters(function: Callable[..., Any], scalars: Mapping[str, Scalar]) -> None:
    try:
        inspect.signature(function).bind_partial(**scalars)
    except TypeError as why:
        raise errors.UnsupportedError.explain(
            "record", f"scalars that the function does not take by name ({why})", "names of its parameters",
            "name them as the function does") from None
    except builtins.ValueError:  # some functions of extension modules have no signature
        pass
