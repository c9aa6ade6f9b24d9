"""Measures one other library in this process and prints rows as JSON: `-m latticino.measure.peers NAME`.

Sets are chosen like ours: 128-bit security, scale 2^40, the full modulus of the ring degree.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

import numpy as np

from .records import Row, cpu_name

RUNS = 5

# The process measures one library on one thread, as its own documentation asks for it.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def measure(library: str, name: str, log_n: int, limbs: int, body: Callable[[], object]) -> Row:
    """The row of one operation: the median after one run that is not counted."""
    body()
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        body()
        times.append(time.perf_counter() - start)
    return {"name": name, "value": float(np.median(times) * 1e3), "unit": "ms", "median_of": RUNS,
            "device": cpu_name(), "backend": "cpu", "library": library, "preset": "none",
            "params": {"N": 1 << log_n, "limbs": limbs, "slots": 1 << (log_n - 1), "batch": 1, "threads": 1}}


def tenseal() -> list[Row]:
    """SEAL through TenSEAL: rotation is not exposed alone, so products are measured."""
    import tenseal as ts

    rows = []
    for log_n, middle in ((14, 8), (15, 18)):
        context = ts.context(ts.SCHEME_TYPE.CKKS, 1 << log_n, coeff_mod_bit_sizes=[60] + [40] * middle + [60],
                             n_threads=1)
        context.global_scale = 2.0**40
        x = ts.ckks_vector(context, np.random.default_rng(1).uniform(-1, 1, 1 << (log_n - 1)).tolist())
        rows.append(measure(f"TenSEAL {version('tenseal')}", "ckks.mul_relin_rescale", log_n, middle + 1,
                            lambda: x * x))
    return rows


def openfhe() -> list[Row]:
    """OpenFHE; with its automatic scaling a product rescales its operands when it has to."""
    import openfhe as fhe

    rows = []
    for log_n, depth in ((14, 8), (15, 18)):
        parameters = fhe.CCParamsCKKSRNS()
        parameters.SetRingDim(1 << log_n)
        parameters.SetMultiplicativeDepth(depth)
        parameters.SetScalingModSize(40)
        context = fhe.GenCryptoContext(parameters)
        for feature in (fhe.PKESchemeFeature.PKE, fhe.PKESchemeFeature.KEYSWITCH, fhe.PKESchemeFeature.LEVELEDSHE):
            context.Enable(feature)
        keys = context.KeyGen()
        context.EvalMultKeyGen(keys.secretKey)
        context.EvalRotateKeyGen(keys.secretKey, [1])
        values = np.random.default_rng(1).uniform(-1, 1, 1 << (log_n - 1)).tolist()
        x = context.Encrypt(keys.publicKey, context.MakeCKKSPackedPlaintext(values))
        library = f"OpenFHE {version('openfhe')}"
        rows.append(measure(library, "ckks.mul_relin", log_n, depth + 1, lambda: context.EvalMult(x, x)))
        rows.append(measure(library, "ckks.rotate", log_n, depth + 1, lambda: context.EvalRotate(x, 1)))
    return rows


if __name__ == "__main__":
    print(json.dumps({"tenseal": tenseal, "openfhe": openfhe}[sys.argv[1]]()))
