"""Dry runs of TFHE programs: what they need, before anything is generated."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _native, arrays, errors
from ..common import devices, roles
from . import notebook, types
from .array import EncryptedArray

if TYPE_CHECKING:
    from .context import Context


_MAX_VALUES = 1 << 28  # the most values of an example


class Shape(NamedTuple):
    """Stands for an encrypted array in a plan: its shape and type."""

    shape: tuple[int, ...]
    dtype: types.Type = "bool"


@dataclass
class Plan:
    """What a program needs. ``print`` it for a table.

    - ``arithmetic``: the arithmetic of the context.
    - ``bootstrappings``: how many elements the whole program bootstraps.
    - ``rounds``: how many groups of these run one after another.
    - ``key_bytes``, ``input_bytes``: device memory of the keys and of the arguments.
    - ``peak_bytes``: the most device memory in use at any time, with keys and arguments.
    - ``seconds``: predicted time of a run. It comes from rates measured on an NVIDIA H200, or for a CPU on one machine
      with its instruction set (AVX-512, AVX2 or neither), with a thread per core at most.
    - ``operations``: how many operations the device runs.
    - ``log_failure``: log2 of a bound on the probability that any bootstrapping gives a wrong result. It is the sum
      over all of them, each with its own noise.
    """

    params_name: str
    arithmetic: str
    bootstrappings: int
    rounds: int
    key_bytes: int
    input_bytes: int
    peak_bytes: int
    seconds: float
    operations: int
    log_failure: float

    def __str__(self) -> str:
        mib = 2**20
        return "\n".join([
            f"set                {self.params_name}, {self.arithmetic} arithmetic",
            f"server keys        {self.key_bytes / mib:,.0f} MiB",
            f"inputs             {self.input_bytes / mib:,.1f} MiB",
            f"peak memory        {self.peak_bytes / mib:,.0f} MiB",
            f"bootstrappings     {self.bootstrappings:,} in {self.rounds:,} rounds",
            f"any of them fails  2^{self.log_failure:.1f}",
            f"predicted time     {self.seconds:.3g} s",
        ])

    def _repr_html_(self) -> str:
        return notebook.plan(self)


def dry_run(context: Context, program: Callable[..., Any], examples: Sequence[Any]) -> Plan:
    """The plan of a program for arguments like these."""
    twin, key_bytes = context._dry()
    before = twin._native.live_bytes
    inputs = [_stand_in(twin, context, x) for x in examples]
    input_bytes = twin._native.live_bytes - before
    twin._native.reset_peak()
    roles.require_run("plan", program(*inputs))
    report = twin._native.report
    bootstrappings = report["ciphertexts_by_name"].get("BlindRotate", 0)
    return Plan(
        params_name=context.params.name,
        arithmetic=context.arithmetic,
        bootstrappings=bootstrappings,
        rounds=report["operations_by_name"].get("BlindRotate", 0),
        key_bytes=key_bytes,
        input_bytes=input_bytes,
        peak_bytes=twin._native.peak_bytes,
        seconds=twin._native.predicted_seconds(*devices.rate_device(twin._kind, context.threads, context.simd)),
        operations=report["operations"],
        log_failure=twin._native.log_failure)


def _stand_in(twin: Context, context: Context, x: Any) -> EncryptedArray:
    """An array without data, shaped as `x` would be once encrypted."""
    if isinstance(x, EncryptedArray):
        if x.context._root is not context._root:
            raise errors.ContextError.explain(
                "plan", "an example of another context", "arrays of this one", "encrypt it here")
        shape, bits = x.shape, x.bits
    elif isinstance(x, Shape):
        shape, bits = arrays.as_shape(x.shape, "plan", _MAX_VALUES), types.bits_of(x.dtype, twin.params, "plan")
    else:
        values = arrays.as_numpy(x, "plan", (int,))
        shape, bits = values.shape, types.bits_of_values(values, twin.params, "plan")
    if not math.prod(shape):
        raise errors.ShapeError.explain("plan", f"an example of shape {shape}", "at least one value", "pass one")
    block = max(twin.params.message_bits, 1)
    facts = [(p.largest, p.norm2, p) for p in x._parts] if isinstance(x, EncryptedArray) and context.encrypted else (
        [(types.most_of(min(bits, block)), 1.0, None)] * max(bits // block, 1))
    parts = [_native.tfhe_shape_only(twin._native, math.prod(shape), largest, norm2, bits, like)
             for largest, norm2, like in facts]
    return EncryptedArray(twin, parts, shape, bits)
