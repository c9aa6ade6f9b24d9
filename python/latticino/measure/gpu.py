"""`latticino bench gpu`: full-slot bootstrapping as one replayed graph, checked by decryption."""

from __future__ import annotations

import argparse

import numpy as np

from ..client import keygen
from ..context import Context
from ..precision import precision
from ..program import record
from . import Rows, seconds

MOST_MS, MOST_BYTES = 21.0, 8 * 2**30  # on an H200


def run(args: argparse.Namespace) -> tuple[Rows, bool]:
    name = args.preset or "n16-d40-boot-v1"
    context = Context(name, args.device or "cuda")
    client = keygen(context)
    rng = np.random.default_rng()
    z = rng.uniform(-1, 1, context.slots) + 1j * rng.uniform(-1, 1, context.slots)
    context.use(client.server_keys(lambda a: a.bootstrap(), z))
    program = record(lambda a: a.bootstrap())
    program.record(client.encrypt(np.zeros(context.slots), level=0))
    context.reset_peak()
    x = client.encrypt(z, level=0)
    found = precision(client.decrypt(program(x)), z)
    took = seconds(lambda: program(x), context.synchronize, args.runs or 20)
    peak = context.peak_bytes
    fine = took * 1e3 <= MOST_MS and peak <= MOST_BYTES and found.mean > 15
    print(f"{name} on {context._native.device['name']}: bootstrapping {took * 1e3:.2f} ms replayed, {found}, "
          f"peak {peak / 2**30:.2f} GiB (targets {MOST_MS} ms, {MOST_BYTES / 2**30:.0f} GiB: "
          f"{'met' if fine else 'MISSED'})")
    return [{"preset": name, "device": context._native.device["name"], "operation": "bootstrap, full slots",
             "mode": "replayed", "ms": took * 1e3, "mean_bits": found.mean, "worst_bits": found.worst,
             "peak_bytes": peak}], fine
