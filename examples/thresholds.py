"""A network on encrypted patients: linear layers in CKKS, exact thresholds in TFHE, the clear model's decisions.

    ./latticino python examples/thresholds.py [--preset n16-d40-boot-v1] [--device cpu|cuda] [--all] [--record FILE]

Breast cancer (Wisconsin): 30 features, 400 patients to train on in the clear, 169 to test encrypted (32 of them
on a CPU, unless --all). The hidden layer's activation is the sign, which no polynomial is near enough to be
exchanged for. Features are eighths of the patients, as odd numbers from -7 to 7, and weights are integers whose sums
are odd: no sum is nearer to 0 than 1, many deviations of the noise beside a bound of about 100.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

import latticino as lt
from latticino._provenance import cpu_name
from latticino.measure import records

TRAIN, SAMPLE = 400, 32
MOST = 7  # the largest size of a feature, which is the number of its thresholds
WEIGHTS = 13  # sum of the sizes of a hidden unit's weights, before rounding
VOTES = 20  # the same for the output layer


def patients():
    """Each feature by the eighth of the training patients that it is in: -7, -5 .. 7."""
    data = load_breast_cancer()
    order = np.random.default_rng(1).permutation(len(data.target))
    x, y = data.data[order], data.target[order]
    cuts = np.quantile(x[:TRAIN], np.arange(1, MOST + 1) / (MOST + 1), axis=0)
    return 2 * (x[:, None, :] > cuts).sum(1) - MOST, y


def rounded(weights, bias, total):
    """Integers near multiples of them, of sizes that add up to about `total`; sums of odd numbers become odd."""
    scale = total / np.abs(weights).sum(0)
    weights = np.rint(weights * scale)
    odd = np.abs(weights).sum(0) % 2
    return weights, 2 * np.rint((bias * scale - 1 + odd) / 2) + 1 - odd


def train(x, y, hidden):
    """Gradient descent with a tanh that becomes steeper; then the output layer again, with the sign itself."""
    rng = np.random.default_rng(1)
    w, b = rng.normal(size=(x.shape[1], hidden)) / 4, np.zeros(hidden)
    v, c, t = rng.normal(size=hidden) / 4, 0.0, 2 * y - 1
    unit = x / MOST
    for step in range(3000):
        beta = 1 + step / 600
        h = np.tanh(beta * (unit @ w + b))
        g = -t / (1 + np.exp(t * (h @ v + c))) / len(t)
        back = np.outer(g, v) * (1 - h * h) * beta
        w, b = w - unit.T @ back - 1e-4 * w, b - back.sum(0)
        v, c = v - 0.5 * (h.T @ g + 1e-4 * v), c - 0.5 * g.sum()
    w, b = rounded(w, MOST * b, WEIGHTS)
    h = np.sign(x @ w + b)
    for _ in range(2000):
        g = -t / (1 + np.exp(t * (h @ v + c))) / len(t)
        v, c = v - 0.2 * (h.T @ g + 1e-3 * v), c - 0.2 * g.sum()
    return w, b, *rounded(v, c, VOTES)


def network(columns, w, b, v, c):
    """A ciphertext per feature, shape (hidden, patients) with equal rows -> above 0.5 where the tumour is benign.

    Two round trips for all patients: every hidden unit of everyone, then every decision. Sums lie between -1 and 1 as
    they are divided by the most that they can be.
    """
    def rows(values):
        return np.repeat(values[:, None], columns[0].shape[1], axis=1)

    bound, most = MOST * np.abs(w).sum(0) + np.abs(b), np.abs(v).sum() + abs(c)
    total = sum(x * rows(weights / bound) for x, weights in zip(columns, w)) + rows(b / bound)
    signs = 2 * total.declare(-1, 1).compare(0.0, bound=0.5) - 1
    votes = (signs * rows(v / most)).sum(axis=0) + float(c / most)
    return votes.declare(-1, 1).compare(0.0, bound=0.5)


def in_the_clear(x, w, b, v, c):
    """The decisions that the encrypted ones must equal."""
    return np.sign(x @ w + b) @ v + c > 0


def columns_of(x, hidden):
    """An array for each feature, for a number of patients that is a power of two. Those after the last patient have
    only zeros."""
    room = 1 << (len(x) - 1).bit_length()
    padded = np.pad(x, ((0, room - len(x)), (0, 0)))
    return [np.tile(column, (hidden, 1)) for column in padded.T]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--preset", default="n16-d40-boot-v1")
    parser.add_argument("--device")
    parser.add_argument("--hidden", type=int, default=8, help="units, a power of two")
    parser.add_argument("--all", action="store_true", help="all patients on a CPU, too")
    parser.add_argument("--record", type=Path, help="a JSON file to write what was measured to")
    args = parser.parse_args()

    x, y = patients()
    model = train(x[:TRAIN], y[:TRAIN], args.hidden)
    ctx = lt.Context(args.preset, args.device)
    everyone = args.all or ctx.device.startswith("cuda")
    test, truth = (part[TRAIN:] if everyone else part[TRAIN:TRAIN + SAMPLE] for part in (x, y))
    clear = in_the_clear(test, *model)

    client = lt.keygen(ctx)
    columns = columns_of(test, args.hidden)
    plan = ctx.plan(lambda *a: network(a, *model), *columns)
    print(plan)
    ctx.use(client.server_keys(plan))
    encrypted = [client.encrypt(column) for column in columns]
    start = time.monotonic()
    result = network(encrypted, *model)
    ctx.synchronize()
    seconds = time.monotonic() - start
    decided = client.decrypt(result).unmarked().real[:len(test)] > 0.5
    thresholds = columns[0].shape[1] * (args.hidden + 1)
    print(f"{seconds:.1f} s for {len(truth)} of {len(x) - TRAIN} patients, {thresholds} thresholds in two "
          f"round trips; right: {np.mean(clear == truth):.4f} in the clear, {np.mean(decided == truth):.4f} encrypted; "
          f"{np.sum(clear != decided)} decided otherwise")
    if args.record:
        on_gpu = ctx.device.startswith("cuda")
        records.write(args.record, [records.stamped({
            "name": "switch.thresholds", "value": round(seconds, 4), "unit": "s",
            "device": ctx._native.device["name"] if on_gpu else cpu_name(), "backend": ctx.device.partition(":")[0],
            "mode": "immediate", "preset": args.preset, "switching": ctx.switch_set(), "patients": len(truth),
            "accuracy_clear": round(float(np.mean(clear == truth)), 4),
            "accuracy_encrypted": round(float(np.mean(decided == truth)), 4),
            "decided_otherwise": int(np.sum(clear != decided)),
            "params": {"hidden": args.hidden, "slots": columns[0].size}})])
    assert (clear == decided).all()


if __name__ == "__main__":
    main()
