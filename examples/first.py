"""Encrypt two vectors, compute, bootstrap, decrypt, print the precision.

    ./latticino python examples/first.py [--preset n16-d40-boot-v1] [--device cpu|cuda]
"""

import argparse

import numpy as np

import latticino as lt

parser = argparse.ArgumentParser()
parser.add_argument("--preset", default="n16-d40-boot-v1")
parser.add_argument("--device")
args = parser.parse_args()

ctx = lt.Context(args.preset, args.device)
x, y = np.random.uniform(-1, 1, (2, ctx.slots))


def program(a, b):
    return ((a * b + 0.5) ** 2 * 0.25).bootstrap() - a.rotate(3)


plan = ctx.plan(program, x, y)
print(ctx, plan, sep="\n")
client = lt.keygen(ctx)
ctx.use(client.server_keys(plan))
result = program(client.encrypt(x), client.encrypt(y))
print(result)
print(lt.precision(client.decrypt(result), (x * y + 0.5) ** 2 / 4 - np.roll(x, -3)))
