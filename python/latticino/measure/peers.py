"""Measures one other library in this process and prints rows as JSON: `python peers.py NAME`.

A program of its own that needs nothing but the library: it runs in the Python that the library was
built for (peer_environments.py), not in that of this package. Sets are chosen like ours: 128-bit
security, scale 2^40, the full modulus of the ring degree.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

RUNS = 5
SETS = ((14, 8), (15, 18))  # log2 N, levels of 40 bits; SEAL allows 438 bits in all at 2^14

# The process measures one library on one thread, in the way the library's own documentation asks for.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def measure(library: str, name: str, log_n: int, limbs: int, body: Callable[..., object]) -> dict[str, Any]:
    """The row of one operation: the median, after one run that is not counted."""
    body()
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        body()
        times.append(time.perf_counter() - start)
    return {"name": name, "value": statistics.median(times) * 1e3, "unit": "ms", "median_of": RUNS,
            "backend": "cpu", "library": library, "preset": "none",
            "params": {"N": 1 << log_n, "limbs": limbs, "slots": 1 << (log_n - 1), "batch": 1, "threads": 1}}


def values(count: int) -> list[float]:
    source = random.Random(1)
    return [source.uniform(-1, 1) for _ in range(count)]


def tenseal() -> list[dict[str, Any]]:
    """Measures SEAL through TenSEAL. TenSEAL does not expose a rotation alone, so products are measured."""
    import tenseal as ts

    rows = []
    for log_n, middle in SETS:
        context = ts.context(ts.SCHEME_TYPE.CKKS, 1 << log_n, coeff_mod_bit_sizes=[59] + [40] * middle + [59],
                             n_threads=1)
        context.global_scale = 2.0**40
        x = ts.ckks_vector(context, values(1 << (log_n - 1)))
        rows.append(measure(f"TenSEAL {version('tenseal')}", "ckks.mul_relin_rescale", log_n, middle + 1,
                            lambda x=x: x * x))
    return rows


def openfhe() -> list[dict[str, Any]]:
    """Measures OpenFHE at the most levels that its own check of 128 bits accepts, without automatic rescaling."""
    import openfhe as fhe

    rows = []
    for log_n, most in SETS:
        context, depth = _deepest(fhe, log_n, most)
        for feature in (fhe.PKESchemeFeature.PKE, fhe.PKESchemeFeature.KEYSWITCH, fhe.PKESchemeFeature.LEVELEDSHE):
            context.Enable(feature)
        keys = context.KeyGen()
        context.EvalMultKeyGen(keys.secretKey)
        context.EvalRotateKeyGen(keys.secretKey, [1])
        x = context.Encrypt(keys.publicKey, context.MakeCKKSPackedPlaintext(values(1 << (log_n - 1))))
        library = f"OpenFHE {version('openfhe')}"
        rows.append(measure(library, "ckks.mul_relin", log_n, depth + 1, lambda c=context, x=x: c.EvalMult(x, x)))
        rows.append(measure(library, "ckks.rotate", log_n, depth + 1, lambda c=context, x=x: c.EvalRotate(x, 1)))
    return rows


def _deepest(fhe: Any, log_n: int, most: int) -> tuple[Any, int]:
    for depth in range(most, 0, -1):
        parameters = fhe.CCParamsCKKSRNS()
        parameters.SetRingDim(1 << log_n)
        parameters.SetMultiplicativeDepth(depth)
        parameters.SetScalingModSize(40)
        parameters.SetScalingTechnique(fhe.ScalingTechnique.FIXEDMANUAL)
        try:
            return fhe.GenCryptoContext(parameters), depth
        except RuntimeError as why:
            refused = why
    raise refused


if __name__ == "__main__":
    print(json.dumps({"tenseal": tenseal, "openfhe": openfhe}[sys.argv[1]]()))
