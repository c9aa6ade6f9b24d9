"""`latticino bench messages`: the precision that bootstrapping keeps by default, for messages of every kind and each
level."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np

from .. import errors
from .._provenance import cpu_name
from ..ckks.ciphertext import Ciphertext
from ..ckks.client import Client
from ..ckks.context import Context
from ..claims.known import Range
from ..claims.precision import precision
from ..common import devices
from ..key_generation import keygen
from . import records

PRESET = "n16-d40-boot-v1"
TARGET = 18.0  # bits of precision that the mean error must leave for every message
LEVELS = range(4)


def made(rng: np.random.Generator, slots: int) -> dict[str, np.ndarray]:
    """Slots in the unit box, by kind."""
    random = rng.uniform(-1, 1, slots)
    return {"constant": np.ones(slots), "positive": rng.uniform(0, 0.9, slots),
            "alternating": np.where(np.arange(slots) % 2, -1.0, 1.0),
            "sparse": np.where(np.arange(slots) % 100, 0.0, random), "one slot": np.eye(1, slots, 5)[0],
            "random": random}


def run(args: argparse.Namespace) -> tuple[list[records.Row], bool]:
    """A row for each message and level; False if one keeps fewer bits than the target."""
    kind, index = devices.choose(args.device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.SecurityWarning)
        context = Context(args.preset or PRESET, kind if kind == "cpu" else f"cuda:{index}", threads=args.threads)
        client = keygen(context)
    device = cpu_name() if kind == "cpu" else context._native.device["name"]
    rows: list[records.Row] = []
    good = True
    for level in LEVELS:
        for row in at_level(context, client, level, args.runs or 1):
            enough = row["value"] >= TARGET
            good = good and enough
            print(f"level {level} {row['message']:26} {row['value']:5.1f} bits, worst slot {row['worst_bits']:5.1f}, "
                  f"claimed {row['claimed_bits']:5.1f} and {row['claimed_worst_bits']:5.1f}"
                  f"{'' if enough else '  MISSED'}", flush=True)
            rows.append(records.stamped(row | {"device": device, "backend": kind}))
    return rows, good


def at_level(context: Context, client: Client, level: int, runs: int) -> Iterator[records.Row]:
    """Real messages, and the same times 1 + i, refreshed by the form that the plan chooses without knowing them."""

    def refreshed(x: Ciphertext) -> Ciphertext:
        return x.bootstrap()

    slots, rng = context.slots, np.random.default_rng(level)
    box = Range(-1, 1, (-1, 1))
    start = client.encrypt(np.zeros(slots), level, range=box)
    plan = context.plan(refreshed, start)
    context.use(client.server_keys(plan))
    for _ in range(runs):
        for name, values in made(rng, slots).items():
            for shown, x in ((name, values), (f"{name}, times 1 + i", values * (1 + 1j))):
                y = refreshed(client.encrypt(x, level, range=box))
                found = precision(client.decrypt(y).unmarked(), x)
                yield {"name": "ckks.bootstrap.message", "value": round(found.mean, 2), "unit": "bits",
                       "worst_bits": round(found.worst, 2), "claimed_bits": round(y.expected_bits, 2),
                       "claimed_worst_bits": round(y.expected_worst_bits, 2), "target": TARGET, "message": shown,
                       "level": level, "levels_left": y.level, "form": plan.notes[0], "preset": context.params.name,
                       "params": {"N": 2 * context.slots, "slots": slots}}
