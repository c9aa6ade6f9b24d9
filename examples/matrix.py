"""A dense layer with a polynomial activation on one encrypted vector, replayed.

    ./latticino python examples/matrix.py [--preset n14-d40-leveled-v1] [--device cpu|cuda]
"""

import argparse
import time

import numpy as np

import latticino as lt

parser = argparse.ArgumentParser()
parser.add_argument("--preset", default="n14-d40-leveled-v1")
parser.add_argument("--device")
args = parser.parse_args()

rng = np.random.default_rng()
ctx = lt.Context(args.preset, args.device)
client = lt.keygen(ctx)
w, bias = rng.normal(size=(128, 32)) / 16, rng.normal(size=32) / 4
sigmoid = [0.5, 0.197, 0.0, -0.004]


def layer(a):
    return (a @ w + bias).polyval(sigmoid)


x = rng.uniform(-1, 1, 128)
ctx.use(client.server_keys(layer, x))
program = lt.record(layer)
for _ in range(3):
    x = rng.uniform(-1, 1, 128)
    a = client.encrypt(x)
    start = time.monotonic()
    y = program(a)
    ctx.synchronize()
    expected = np.polynomial.polynomial.polyval(x @ w + bias, sigmoid)
    print(f"{time.monotonic() - start:.3f} s, {lt.precision(client.decrypt(y), expected)}")
