"""`latticino bench precision`: what bootstrapping does to messages, random and structured."""

from __future__ import annotations

import argparse
import time

import numpy as np

from ..client import Client, keygen
from ..context import Context
from . import Rows

# Mean and worst bits of 20 full-slot runs on random messages that must be reached.
TARGETS = {"n16-d40-boot-v1": (21.5, 19.4), "n16-d35-boot-v1": (19.5, 16.5)}
STRUCTURED_TOLERANCE = 1.0  # bits between measured and predicted
CHAIN = 50


def structured(slots: int) -> dict[str, np.ndarray]:
    """Messages whose coefficients are large, by the names of Params.bootstrap_precision."""
    spike = np.zeros(slots)
    spike[0] = 1.0
    return {"constant": np.ones(slots), "spike": spike, "alternating": np.resize([1.0, -1.0], slots)}


def bits(errors: list[np.ndarray]) -> tuple[float, float]:
    """-log2 of the mean and of the largest error of all runs."""
    joined = np.concatenate(errors)
    return float(-np.log2(joined.mean())), float(-np.log2(joined.max()))


def refreshed(context: Context, client: Client, values: np.ndarray) -> tuple[np.ndarray, float]:
    """Errors after one bootstrapping, and its seconds."""
    x = client.encrypt(values, level=0)
    start = time.perf_counter()
    y = x.bootstrap()
    context.synchronize()
    took = time.perf_counter() - start
    return np.abs(np.array(client.decrypt(y)) - values), took


def run(args: argparse.Namespace) -> tuple[Rows, bool]:
    rows: Rows = []
    good = True
    for name in [args.preset] if args.preset else list(TARGETS):
        context = Context(name, args.device, threads=args.threads)
        client = keygen(context)
        context.use(client.server_keys(lambda x: x.bootstrap(), np.zeros(context.slots)))
        print(f"{name} on {context.device}: {context.params.level_after_bootstrap} levels left, "
              f"{context.slots} slots, log2 PQ {context.params.log_pq:.0f}", flush=True)
        for measure in (_random, _structured, _chain):
            found, fine = measure(context, client, args.runs)
            rows += [{"preset": name, "device": context.device, **row} for row in found]
            good &= fine
    return rows, good


def _random(context: Context, client: Client, runs: int | None) -> tuple[Rows, bool]:
    rng = np.random.default_rng()
    errors, times = [], []
    for _ in range(runs or 20):
        z = rng.uniform(-1, 1, context.slots) + 1j * rng.uniform(-1, 1, context.slots)
        error, took = refreshed(context, client, z)
        errors.append(error)
        times.append(took)
    mean, worst = bits(errors)
    target = TARGETS.get(context.params.name, (0.0, 0.0))
    fine = mean >= target[0] and worst >= target[1]
    print(f"  random        mean {mean:.2f} bits, worst {worst:.2f} bits over {len(errors)} runs "
          f"(target {target[0]}, {target[1]}: {'met' if fine else 'MISSED'}); {np.median(times):.2f} s each", flush=True)
    row = {"message": "random", "mean_bits": mean, "worst_bits": worst, "runs": len(errors),
           "seconds": float(np.median(times)), "levels_left": context.params.level_after_bootstrap,
           "predicted_mean_bits": context.params.bootstrap_precision["random"][0]}
    return [row], fine


def _structured(context: Context, client: Client, _: int | None) -> tuple[Rows, bool]:
    predicted, rows, good = context.params.bootstrap_precision, [], True
    for name, z in structured(context.slots).items():
        mean, worst = bits([refreshed(context, client, z)[0]])
        expected = predicted[name][0]
        fine = abs(mean - expected) <= STRUCTURED_TOLERANCE
        good &= fine
        print(f"  {name:13} mean {mean:.2f} bits, predicted {expected:.2f} "
              f"({'agrees' if fine else 'DIFFERS'})", flush=True)
        rows.append({"message": name, "mean_bits": mean, "worst_bits": worst, "runs": 1,
                     "predicted_mean_bits": expected})
    return rows, good


def _chain(context: Context, client: Client, runs: int | None) -> tuple[Rows, bool]:
    """Bootstraps one ciphertext again and again: errors may add up, but never grow faster."""
    rng = np.random.default_rng()
    length = CHAIN if not runs or runs >= 20 else runs
    z = rng.uniform(-1, 1, context.slots) + 1j * rng.uniform(-1, 1, context.slots)
    x = client.encrypt(z, level=0)
    means = []
    for _ in range(length):
        x = x.bootstrap()
        means.append(float(np.abs(np.array(client.decrypt(x)) - z).mean()))
    # Independent errors grow as the square root of the count; twice that is called a drift.
    fine = means[-1] <= 2 * means[0] * np.sqrt(length)
    print(f"  chain of {length}   first {-np.log2(means[0]):.2f} bits, last {-np.log2(means[-1]):.2f} bits "
          f"({'no drift' if fine else 'DRIFT'})", flush=True)
    return [{"message": "chain", "runs": length, "mean_bits": -float(np.log2(means[-1])),
             "first_mean_bits": -float(np.log2(means[0]))}], fine
