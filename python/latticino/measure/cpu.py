"""`latticino bench cpu`: the operations on one thread and on all, and peers beside them."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys

import numpy as np

from ..client import keygen
from ..context import Context
from ..precision import precision
from . import Rows, seconds

SETS = ("n14-d40-leveled-v1", "n15-d40-leveled-v1", "n16-d40-boot-v1")


def run(args: argparse.Namespace) -> tuple[Rows, bool]:
    rows: Rows = []
    cores = args.threads or os.cpu_count() or 1
    for threads in sorted({1, cores}):
        for name in [args.preset] if args.preset else SETS:
            rows += _operations(name, threads, args.runs or 5)
            if Context(name, "cpu", threads=1).params.has_bootstrap:
                rows += _bootstrap(name, threads, args.runs or 3)
    rows += _peers()
    return rows, True


def _row(name: str, threads: int, operation: str, level: int, took: float, **more) -> dict:
    print(f"{name:22} {threads:2} threads  {operation:24} level {level:2}  {took * 1e3:10.2f} ms", flush=True)
    return {"preset": name, "threads": threads, "operation": operation, "level": level, "ms": took * 1e3, **more}


def _operations(name: str, threads: int, runs: int) -> Rows:
    """Product with relinearisation, rotation and rescale at the level of fresh ciphertexts; with
    bootstrapping also a rotation with every limb."""
    context = Context(name, "cpu", threads=threads)
    client = keygen(context)
    values = np.random.default_rng(1).uniform(-1, 1, context.slots)
    levels = [context.level] + ([context.params.top_level] if context.params.has_bootstrap else [])
    keys = [context.plan(lambda a: (a * a, a.rotate(1)), client.encrypt(values, level)) for level in levels]
    context.use(client.server_keys(*keys))
    e, rows = context.evaluator, []
    for level in levels:
        x = client.encrypt(values, level)._parts[0]
        limbs = {"limbs": context.params.limbs(level)}
        # The product of two ciphertexts before the rescale, and with it in one division.
        product = e.tensor(x, x)
        cases = {
            "rotate": lambda x=x: e.rotate(x, 1),
            "multiply, relinearise": lambda x=x: e.relinearize(e.tensor(x, x)),
            "multiply, relin., rescale": lambda x=x: e.multiply(x, x),
        }
        if level == context.level:
            cases["rescale"] = lambda product=product: e.rescale(product)
        for operation, body in cases.items():
            rows.append(_row(name, threads, operation, level, seconds(body, context.synchronize, runs), **limbs))
    return rows


def _bootstrap(name: str, threads: int, runs: int) -> Rows:
    context = Context(name, "cpu", threads=threads)
    client = keygen(context)
    rng = np.random.default_rng()
    z = rng.uniform(-1, 1, context.slots) + 1j * rng.uniform(-1, 1, context.slots)
    context.use(client.server_keys(lambda a: a.bootstrap(), z))
    x = client.encrypt(z, level=0)
    result = []
    took = seconds(lambda: result.append(x.bootstrap()), context.synchronize, runs)
    found = precision(client.decrypt(result[-1]), z)
    print(f"{'':22} bootstrapping: {found}, peak {context.peak_bytes / 2**30:.2f} GiB of buffers", flush=True)
    return [_row(name, threads, "bootstrap, full slots", result[-1].level, took, mean_bits=found.mean,
                 worst_bits=found.worst, peak_bytes=context.peak_bytes)]


def _peers() -> Rows:
    """Other libraries, if installed, each in a process of its own."""
    rows = []
    for name in ("tenseal", "openfhe"):
        if importlib.util.find_spec(name) is None:
            print(f"{name}: not installed, left out")
            continue
        done = subprocess.run([sys.executable, "-m", "latticino.measure.peers", name], capture_output=True, text=True)
        if done.returncode:
            print(f"{name}: failed\n{done.stderr[-500:]}")
            continue
        for row in json.loads(done.stdout):
            print(f"{name:22} {row['threads']:2} threads  {row['operation']:24} N = 2^{row['log_n']}  {row['ms']:10.2f} ms")
            rows.append({"library": name, **row})
    return rows


