"""Writes the heads of saved programs. reading.py and clients.py read them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from .. import _native, tfhe
from ..ckks.ciphertext import Ciphertext
from ..ckks.plan import Plan
from ..files import saving
from ..files.containers import CLIENT
from ..ops.scalar import Scalar
from .arguments import PROGRAM, range_fields

FUNCTION = "program"  # the kind of files of whole programs
COUNTS = ("key_bytes", "constant_bytes", "peak_bytes", "bootstraps", "bytes_moved", "operations", "lookups")
COUNTS_OF_TFHE = ("bootstrappings", "rounds", "key_bytes", "input_bytes", "peak_bytes", "operations")


def context_fields(context: Any) -> dict[str, Any]:
    """The fields of a head that state where a program runs."""
    is_tfhe = isinstance(context, tfhe.Context)
    data = (_native.tfhe_params_to_bytes if is_tfhe else _native.params_to_bytes)(context.params)
    head = {"scheme": "tfhe" if is_tfhe else "ckks", "name": context.params.name, "params": data.hex(),
            "device": context.device}
    more = {"arithmetic": context.arithmetic, "rerandomize": context.rerandomizes} if is_tfhe else {
        "auto_bootstrap": context.auto_bootstrap}
    return {**head, **more}


def input_fields(x: Any) -> dict[str, Any]:
    """The fields for an argument: an array without data, or a `tfhe.Shape`."""
    if isinstance(x, Ciphertext):
        return {"note": saving.note_of(x, as_declared=True), "level": x.level, "scale": x.scale, "slots": x.slots,
                "ciphertexts": len(x._parts)}
    return {"shape": list(x.shape), "dtype": x.dtype}


def scalar_fields(scalars: Mapping[str, Scalar]) -> list[dict[str, Any]]:
    return [{"name": name, "range": range_fields(s.range)} for name, s in scalars.items()]


def plan_fields(plan: Any) -> dict[str, Any]:
    """The fields for a plan, for readers that do not plan themselves."""
    keys = plan.keys if isinstance(plan, Plan) else {}
    return {"key_names": [repr(label) for label in keys], "key_levels": list(keys.values()),
            "key_bytes": int(plan.key_bytes), "peak_bytes": int(plan.peak_bytes), "seconds": float(plan.seconds),
            **({"prepared_seconds": plan.prepared_seconds} if isinstance(plan, Plan) else {})}


# ---- for clients ----


def client_bytes(program: Any) -> bytes:
    """The bytes of the file for clients."""
    plan, context = program.plan, program._planned
    is_tfhe = isinstance(context, tfhe.Context)
    inputs = [input_fields(x) for x in program._examples]
    outputs = [{**asdict(y), "bits": y.bits if math.isfinite(y.bits) else None} for y in program.outputs]
    head = {"kind": CLIENT, **context_fields(context), "program": program.program, "inputs": inputs,
            "scalars": scalar_fields(program.scalars), "outputs": outputs,
            "plan": _tfhe_plan_fields(plan) if is_tfhe else _client_plan_fields(plan)}
    return PROGRAM.to_bytes(head, {})


def _client_plan_fields(plan: Plan) -> dict[str, Any]:
    return {**{name: int(getattr(plan, name)) for name in COUNTS}, **plan_fields(plan),
            "levels": list(plan.levels), "switching": [[name, size] for name, size in plan.switching.items()],
            "products": [[*product, size] for product, size in plan.products.items()]}


def _tfhe_plan_fields(plan: tfhe.Plan) -> dict[str, Any]:
    return {**{name: int(getattr(plan, name)) for name in COUNTS_OF_TFHE}, "seconds": plan.seconds,
            "log_failure": max(plan.log_failure, -1e300)}
