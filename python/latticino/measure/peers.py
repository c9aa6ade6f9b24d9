"""Measures one other library in this process and prints rows as JSON: `-m latticino.measure.peers NAME`.

Sets are chosen like ours: 128-bit security, scale 2^40, the full modulus of the ring degree.
"""

from __future__ import annotations

import json
import os
import sys
import time

import numpy as np

# The process measures one library on one thread, as its own documentation asks for it.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def median_ms(body, runs: int = 5) -> float:
    body()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        body()
        times.append(time.perf_counter() - start)
    return float(np.median(times) * 1e3)


def tenseal() -> list[dict]:
    """SEAL through TenSEAL: rotation is not exposed alone, so products are measured."""
    import tenseal as ts

    rows = []
    for log_n, middle in ((14, 8), (15, 18)):
        context = ts.context(ts.SCHEME_TYPE.CKKS, 1 << log_n, coeff_mod_bit_sizes=[60] + [40] * middle + [60],
                             n_threads=1)
        context.global_scale = 2.0**40
        x = ts.ckks_vector(context, np.random.default_rng(1).uniform(-1, 1, 1 << (log_n - 1)).tolist())
        rows.append({"operation": "multiply, relin., rescale", "log_n": log_n, "threads": 1,
                     "ms": median_ms(lambda: x * x)})
    return rows


def openfhe() -> list[dict]:
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
        for operation, body in (("multiply, relinearise", lambda: context.EvalMult(x, x)),
                                ("rotate", lambda: context.EvalRotate(x, 1))):
            rows.append({"operation": operation, "log_n": log_n, "threads": 1, "ms": median_ms(body)})
    return rows


if __name__ == "__main__":
    print(json.dumps({"tenseal": tenseal, "openfhe": openfhe}[sys.argv[1]]()))
