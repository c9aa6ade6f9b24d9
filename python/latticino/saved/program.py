"""Saved programs: their arguments and results, and how they run."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .. import _native, errors, tfhe
from ..arrays import as_numpy
from ..ckks import answer
from ..ckks.ciphertext import Ciphertext
from ..ckks.client import Client
from ..ckks.context import Context
from ..ckks.plan import Plan
from ..common import display, roles
from ..ops.scalar import Numbers, Scalar, taken
from ..tfhe.array import EncryptedArray
from . import operations, writing
from .arguments import Ref, range_fields
from .operations import Operation

_REMEDY = "encrypt it with program.encrypt(client, ..)"
After = Callable[[float], None]
AnyContext = Any  # lt.Context, lt.tfhe.Context or a session of either


@dataclass(frozen=True)
class Input:
    """An argument of a saved program.

    - ``shape``; ``dtype``: ``"float64"`` or ``"complex128"`` of CKKS, ``"bool"``, ``"u8"`` and so on of TFHE
    - ``level``, ``scale`` and ``range`` of CKKS (an ``lt.Range``): None of TFHE
    - ``bytes``: exact size of ``lt.to_bytes(x)`` for an x that `SavedProgram.encrypt` made, without a signature
    - ``most_bytes``: no encryption of such an argument has more bytes, however it was made
    """

    shape: tuple[int, ...]
    dtype: str
    level: int | None
    scale: float | None
    range: _native.Range | None
    bytes: int
    most_bytes: int


@dataclass(frozen=True)
class Output:
    """A result of a saved program: as `Input`. ``bits``: its expected mean precision, infinite of TFHE, and NaN where
    the part of a network for clients does not say it; ``most_bytes``: no file of it has more bytes."""

    shape: tuple[int, ...]
    dtype: str
    level: int | None
    bits: float
    most_bytes: int


class Misfit(NamedTuple):
    """The reason why values of the result ``output`` may not fit the modulus of level 0, to which answers are brought.
    """

    output: int
    had: str
    needs: str
    assumed: bool  # whether the range is the assumed one, because the author of the program declared none


def misfits_of(results: Sequence[Any]) -> tuple[Misfit, ...]:
    """The facts of results without data."""
    return tuple(Misfit(i, had, needs, y.range.claim == "assumed") for i, y in enumerate(results)
                 if isinstance(y, Ciphertext) for had, needs in answer.misfits(y))


class SavedProgram(roles.Handle, ABC):
    """A program that `lt.load_program` read: steps, constants and a plan, no code.

    - ``scheme``: ``"ckks"`` or ``"tfhe"``; ``parameters``: what a context for it is made from
    - ``auto_bootstrap``: whether the context must bootstrap by itself; ``rerandomize``: whether one of TFHE must
      re-randomise
    - ``inputs``, ``outputs``: an `Input` and an `Output` each; ``scalars``: numbers that each run brings, by name
    - ``plan``: what `Context.plan` gives, for the device that it was planned for; it makes the keys:
      ``client.server_keys(program.plan)``
    - ``keys``: label and highest level of every evaluation key (empty of TFHE, whose keys serve every program)
    - ``predicted_seconds`` of a run that encodes the constants, ``prepared_seconds`` of one that finds them encoded
    - ``peak_bytes`` of device memory, keys included
    - ``digest``: the SHA-256 of the file, in hex

    ``program.run(session, x, y)`` computes. A saved program is also a function of arrays: ``program(x, y)``, which
    `lt.record`, `Context.plan` and `lt.profile` take.
    """

    scheme: str
    parameters: Any
    auto_bootstrap: bool
    rerandomize: bool = False
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    scalars: Mapping[str, Scalar]
    plan: Any
    digest: str
    _misfits: tuple[Misfit, ...] = ()  # the reasons for results that may not fit an answer

    @property
    def keys(self) -> dict[_native.KeyLabel, int]:
        return dict(self.plan.keys) if isinstance(self.plan, Plan) else {}

    @property
    def predicted_seconds(self) -> float:
        return float(self.plan.seconds)

    @property
    def prepared_seconds(self) -> float:
        return float(self.plan.prepared_seconds if isinstance(self.plan, Plan) else self.plan.seconds)

    @property
    def peak_bytes(self) -> int:
        return int(self.plan.peak_bytes)

    def context(self, device: str | None = None, **options: Any) -> AnyContext:
        """A context in which the program runs: ``lt.Context``, or ``lt.tfhe.Context``, with its parameters.

        One of TFHE re-randomises if that of the program did. It takes the arithmetic that the program was saved with,
        unless ``arithmetic=`` says otherwise: over two primes the bits of results depend on it.
        """
        if self.scheme == "tfhe":
            own = {"arithmetic": self.plan.arithmetic, "rerandomize": self.rerandomize}
            return tfhe.Context(self.parameters, device, **{**own, **options})
        return Context(self.parameters, device, auto_bootstrap=self.auto_bootstrap, **options)

    @abstractmethod
    def encrypt(self, client: Any, *values: Any) -> tuple[Any, ...]:
        """The values as a client encrypts them for the program: an array for each argument."""

    def decrypt(self, client: Any, result: Any) -> Any:
        """The values of a run's result: an array, or a tuple of them."""
        self._require_client(client, "decrypt")
        if isinstance(result, (list, tuple)):
            return tuple(client.decrypt(y) for y in result)
        return client.decrypt(result)

    def run(self, session: AnyContext, *arrays: Any, **numbers: Any) -> Any:
        """The result for encrypted arguments: one array, or a tuple of arrays.

        ``session``: a context of the program's parameters with keys in use, or a session of one. Arguments belong to
        it, or to the context of that session. ``numbers``: one for each of ``scalars``.

        ContextError for other parameters, ShapeError, LevelError and ScaleError for arguments that are not as
        ``inputs`` say, ValueError for numbers outside of their ranges, KeyError for missing keys.
        """
        return self.compute(session, arrays, numbers)

    @abstractmethod
    def compute(self, session: AnyContext, arrays: Sequence[Any], numbers: Mapping[str, Any] | None = None,
                after: After | None = None) -> Any:
        """The same as `run`. ``after`` is called after each step with the fraction that is done, up to 1. If it raises
        an exception, the run ends."""

    @abstractmethod
    def client_bytes(self) -> bytes:
        """The bytes of the file that clients need: inputs, results, keys, and neither steps nor constants."""

    def _require_context(self, session: AnyContext, operation: str = "run") -> None:
        wanted: type = tfhe.Context if self.scheme == "tfhe" else Context
        if not isinstance(session, wanted):
            raise errors.ContextError.explain(
                operation, f"a {roles.name_of(type(session))}", f"a {roles.name_of(wanted)}, or a session of one",
                "make it with program.context()")
        context: Any = session
        if context.params.hash != self.parameters.hash:
            raise errors.ContextError.explain(
                operation, f"a context of {context.params.name}", f"one of {self.parameters.name}",
                "make it with program.context()")
        if self.scheme == "ckks" and context.auto_bootstrap != self.auto_bootstrap:
            raise errors.ContextError.explain(
                operation, f"a context with auto_bootstrap={context.auto_bootstrap}",
                f"auto_bootstrap={self.auto_bootstrap}, as in the program", "make it with program.context()")

    def _require_client(self, client: Any, operation: str) -> None:
        kind = tfhe.Client if self.scheme == "tfhe" else Client
        roles.require_kind(operation, client, kind, "lt.keygen(program.context()) gives it")

    def _require_count(self, operation: str, values: Sequence[Any]) -> None:
        if len(values) != len(self.inputs):
            raise errors.ShapeError.explain(
                operation, f"{len(values)} arguments", f"{len(self.inputs)} of the program", "pass one for each input")

    @staticmethod
    def _of_session(session: AnyContext, i: int, given: Any, kind: type) -> Any:
        """The argument as an array of the session."""
        if not isinstance(given, kind):
            raise errors.ShapeError.explain(
                "run", f"a {type(given).__name__} as input {i}", f"an array of type {kind.__name__}",
                "encrypt it first")
        x: Any = given
        if x.context is session:
            return x
        if session._root is session or x.context is not session._root:
            raise errors.ContextError.explain(
                "run", f"another context's array as input {i}", "one of the session, or of its context",
                "load its bytes with lt.from_bytes(data, session)")
        return session.adopt(x)

    def __reduce__(self) -> NoReturn:
        roles.refuse_pickle("a saved program", "its file", "call lt.load_program in the other process")

    def __repr__(self) -> str:
        takes = ", ".join(f"{x.shape} {x.dtype}" for x in self.inputs)
        gives = ", ".join(f"{y.shape} {y.dtype}" for y in self.outputs)
        return (f"{type(self).__name__}({takes} to {gives}, {self.parameters.name}, "
                f"{display.seconds(self.prepared_seconds)}, {display.size(self.peak_bytes)})")


@dataclass(frozen=True)
class Step:
    """A call: ``arguments`` by name, in which a `Ref` stands for an earlier result; the shapes that its results have
    (None: a number), and which results nobody needs any more after it."""

    operation: Operation
    arguments: Mapping[str, Any]
    shapes: tuple[tuple[int, ...] | None, ...]
    last: tuple[int, ...] = ()


@dataclass(frozen=True)
class Steps:
    """A function as data: steps from inputs, then numbers, to the results with the numbers ``outputs``."""

    inputs: int
    scalars: tuple[str, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    single: bool

    def run(self, arrays: Sequence[Any], numbers: Mapping[str, Any], checks: bool = False,
            after: After | None = None) -> Any:
        """The result for arrays and numbers. ``checks``: called before and after each step, for programs from untrusted
        sources. ``after``: is called with the fraction that is done."""
        values: list[Any] = [*arrays, *(numbers[name] for name in self.scalars)]
        for k, step in enumerate(self.steps):
            given = {name: _filled(v, values) for name, v in step.arguments.items()}
            if checks:
                operations.require_room(step.operation.name, given)
            result = step.operation.call(given)
            several = list(result) if isinstance(result, (list, tuple)) else [result]
            if checks:
                _require_stated(step, several)
            values += several
            for i in step.last:
                values[i] = None  # so that its memory is free for the next steps
            if after is not None:
                after((k + 1) / len(self.steps))
        out = [values[i] for i in self.outputs]
        return out[0] if self.single else tuple(out)


def _filled(value: Any, values: Sequence[Any]) -> Any:
    if isinstance(value, Ref):
        return values[value.at]
    if isinstance(value, (list, tuple)):
        return type(value)(_filled(v, values) for v in value)
    return value


def _require_stated(step: Step, results: Sequence[Any]) -> None:
    shapes = tuple(None if isinstance(y, Scalar) else y.shape for y in results)
    if shapes != step.shapes:
        raise errors.ShapeError.explain(
            step.operation.name, f"results of shapes {shapes}", f"{step.shapes}, as the program states",
            "save the program again")


class SavedClient(SavedProgram):
    """What clients need of a function that `lt.save_program` captured: `SavedProgram.client_bytes` of the whole.
    ``program``: the digest of the file of the whole program. It cannot run."""

    def __init__(self, examples: Sequence[Any], inputs: Sequence[Input], scalars: Mapping[str, Scalar], plan: Any,
                 outputs: Sequence[Output], context: AnyContext, digest: str, program: str) -> None:
        self.scheme = "tfhe" if isinstance(context, tfhe.Context) else "ckks"
        self.parameters = context.params
        self.auto_bootstrap = bool(getattr(context, "auto_bootstrap", False))
        self.rerandomize = bool(getattr(context, "rerandomizes", False))
        self.inputs, self.outputs, self.scalars = tuple(inputs), tuple(outputs), dict(scalars)
        self.plan, self.digest, self.program = plan, digest, program
        self._examples, self._planned = tuple(examples), context

    def compute(self, session: AnyContext, arrays: Sequence[Any], numbers: Mapping[str, Any] | None = None,
                after: After | None = None) -> Any:
        """UnsupportedError, because the part for clients has no steps."""
        raise errors.UnsupportedError.explain(
            "run", "the part of a program that clients need", "the whole program", "run it where the service is")

    def client_bytes(self) -> bytes:
        return writing.client_bytes(self)

    client_bytes.__doc__ = SavedProgram.client_bytes.__doc__

    def encrypt(self, client: Any, *values: Any) -> tuple[Any, ...]:
        """The values as a client encrypts them for the program: an array for each argument, with the range that the
        program states for it. So every file of an input has the bytes that ``inputs`` say.

        ShapeError for other shapes; ValueError for values outside of the range of an input, or of its type. Outside of
        a range that is only assumed they give a RangeWarning. ContextError for a client of other parameters.
        UnsupportedError for an input whose layout no fresh array has.
        """
        self._require_client(client, "encrypt")
        self._require_count("encrypt", values)
        self._require_context(client.context, "encrypt")
        out = []
        for x, example, v in zip(self.inputs, self._examples, values):
            given = client.encrypt(v, x.dtype) if self.scheme == "tfhe" else client.encrypt(
                self._as_stated(x, v), x.level, x.scale, range=x.range)
            if given.shape != x.shape:
                raise errors.ShapeError.explain(
                    "encrypt", f"values of shape {given.shape}", f"shape {x.shape}", "reshape the data")
            if self.scheme == "ckks" and not given.layout.same(example.layout):
                raise errors.UnsupportedError.explain(
                    "encrypt", "an input in a layout that fresh arrays have not", "an array that is computed",
                    "save the program for fresh arrays, lt.Shape(shape)")
            out.append(given)
        return tuple(out)

    @staticmethod
    def _as_stated(x: Input, v: Any) -> np.ndarray:
        """The values of an input of CKKS."""
        values = as_numpy(v, "encrypt")
        if x.dtype == "float64" and values.dtype.kind == "c" and values.imag.any():
            raise errors.ValueError.explain(
                "encrypt", "complex values for an input of real numbers", "real ones",
                "pass their real parts, or save the program with lt.Shape(shape, None, lt.Range(low, high, imag))")
        return values


class SavedFunction(SavedClient):
    """A function of encrypted arrays that `lt.save_program` captured."""

    def __init__(self, steps: Steps, examples: Sequence[Any], inputs: Sequence[Input], scalars: Mapping[str, Scalar],
                 plan: Any, outputs: Sequence[Output], context: AnyContext, digest: str) -> None:
        super().__init__(examples, inputs, scalars, plan, outputs, context, digest, digest)
        self._steps = steps

    def __call__(self, *arrays: Any, **numbers: Any) -> Any:
        """The program as a function of arrays in any context or session. It checks nothing that operations do not
        check."""
        self._require_count("program", arrays)
        if numbers.keys() != set(self.scalars):
            taken(self.scalars, numbers)
        return self._steps.run(arrays, numbers)

    def compute(self, session: AnyContext, arrays: Sequence[Any], numbers: Mapping[str, Any] | None = None,
                after: After | None = None) -> Any:
        self._require_context(session)
        if self.rerandomize and not session.rerandomizes:
            raise errors.ContextError.explain(
                "run", "a context that does not re-randomise", "rerandomize=True, as in the program",
                "make it with program.context()")
        roles.require_kind("run", arrays, (list, tuple), "pass a list of the arguments")
        roles.require_kind("run", numbers, (Mapping, NoneType), "pass a dictionary of numbers by their names")
        if after is not None:
            roles.require_function("run", after)
        self._require_count("run", arrays)
        given = [self._taken(i, session, x) for i, x in enumerate(arrays)]
        values = taken(self.scalars, numbers or {})
        with Numbers(self.scalars, None, values).given() as scalars:
            return self._steps.run(given, scalars, after=after)

    compute.__doc__ = SavedProgram.compute.__doc__

    def _taken(self, i: int, session: AnyContext, x: Any) -> Any:
        x = self._of_session(session, i, x, EncryptedArray if self.scheme == "tfhe" else Ciphertext)
        stated, example = self.inputs[i], self._examples[i]
        other = self.scheme == "tfhe" and x.dtype != stated.dtype
        if x.shape != stated.shape or other or (stated.dtype == "float64" and x.dtype.kind == "c"):
            self._refuse_form(i, f"shape {x.shape} of {x.dtype}", f"shape {stated.shape} of {stated.dtype}")
        return x if self.scheme == "tfhe" else self._of_ckks(i, x, stated, example)

    @staticmethod
    def _refuse_form(i: int, had: str, needs: str) -> NoReturn:
        raise errors.ShapeError.explain("run", f"{had} as input {i}", needs, _REMEDY)

    def _of_ckks(self, i: int, x: Ciphertext, stated: Input, example: Ciphertext) -> Ciphertext:
        """The argument, but with no more known about it than the program states, so that choices by range stay the
        same."""
        if x.level != stated.level:
            raise errors.LevelError.explain(
                "run", f"level {x.level} as input {i}", f"level {stated.level}", _REMEDY)
        if not math.isclose(x.scale, example.scale, rel_tol=1e-12):
            raise errors.ScaleError.explain(
                "run", f"scale {x.scale:.6g} as input {i}", f"{example.scale:.6g}",
                _REMEDY)
        had, wanted = x.layout, example.layout
        holds = had.rest == "zero" or (wanted.rest != "zero" and had.bound <= wanted.bound)
        if not had.same(wanted) or not holds:
            self._refuse_form(i, "another layout", "the layout of the program, and zeros where it has them")
        if not example.range.serves(x.range):
            raise errors.ScaleError.explain(
                "run", f"values {x.range.described()} as input {i}", f"values {example.range.described()}",
                "encrypt with the program's client, scale the data, or save the program for this range")
        if not x.range.only_bounds or x._known.shadow or range_fields(x.range) == range_fields(example.range):
            return x
        stands = example.range.of_a_sample() if x.range.claim == "calibrated" else example.range
        return x._like(x._parts, _native.Known.fresh(stands, x._known.error), layout=example.layout)

