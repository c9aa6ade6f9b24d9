"""A small network on encrypted patients: linear layers in CKKS, exact thresholds in TFHE.

    ./latticino python examples/thresholds.py [--preset n16-d40-boot-v1] [--device cpu|cuda]

Breast cancer (Wisconsin): 30 features, 400 patients to train on in the clear, 169 to test encrypted. The
hidden layer's activation is the sign, which no polynomial is near enough to be exchanged for.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import load_breast_cancer

import latticino as lt

TRAIN = 400


def patients():
    """Features scaled to [-1, 1] and clipped, so that the bounds below hold for everybody."""
    data = load_breast_cancer()
    order = np.random.default_rng(1).permutation(len(data.target))
    x, y = data.data[order], data.target[order]
    low, high = x[:TRAIN].min(0), x[:TRAIN].max(0)
    return np.clip(2 * (x - low) / (high - low) - 1, -1, 1), y


def train(x, y, hidden):
    """Gradient descent with an ever steeper tanh; the output layer again with the sign itself."""
    rng = np.random.default_rng(1)
    w, b = rng.normal(size=(x.shape[1], hidden)) / 4, np.zeros(hidden)
    v, c, t = rng.normal(size=hidden) / 4, 0.0, 2 * y - 1
    for step in range(3000):
        beta = 1 + step / 600
        h = np.tanh(beta * (x @ w + b))
        g = -t / (1 + np.exp(t * (h @ v + c))) / len(t)
        back = np.outer(g, v) * (1 - h * h) * beta
        w, b = w - x.T @ back - 1e-4 * w, b - back.sum(0)
        v, c = v - 0.5 * (h.T @ g + 1e-4 * v), c - 0.5 * g.sum()
    h = np.sign(x @ w + b)
    for _ in range(2000):
        g = -t / (1 + np.exp(t * (h @ v + c))) / len(t)
        v, c = v - 0.2 * (h.T @ g + 1e-3 * v), c - 0.2 * g.sum()
    bound = np.abs(w).sum(0) + np.abs(b)  # of the sum, for features in [-1, 1]
    return w / bound, b / bound, v / (np.abs(v).sum() + abs(c)), c / (np.abs(v).sum() + abs(c))


def network(columns, w, b, v, c):
    """One encrypted vector a feature, an entry a patient -> above 0 where the tumour is benign."""
    score = 0.0
    for unit in range(len(v)):
        total = sum(x * float(weight) for x, weight in zip(columns, w[:, unit])) + float(b[unit])
        score = (2 * total.compare(0.0, bound=0.5) - 1) * float(v[unit]) + score
    return (score + float(c)).compare(0.0, bound=0.5)


parser = argparse.ArgumentParser()
parser.add_argument("--preset", default="n16-d40-boot-v1")
parser.add_argument("--device")
parser.add_argument("--hidden", type=int, default=8)
args = parser.parse_args()

x, y = patients()
w, b, v, c = train(x[:TRAIN], y[:TRAIN], args.hidden)
test, truth = x[TRAIN:], y[TRAIN:]
clear = np.sign(test @ w + b) @ v + c > 0

ctx = lt.Context(args.preset, args.device)
client = lt.keygen(ctx)
columns = list(np.ascontiguousarray(test.T))
plan = ctx.plan(lambda *a: network(a, w, b, v, c), *columns)
print(plan)
ctx.use(client.server_keys(plan))
encrypted = [client.encrypt(column) for column in columns]
start = time.monotonic()
result = network(encrypted, w, b, v, c)
ctx.synchronize()
seconds = time.monotonic() - start
decided = client.decrypt(result).real > 0.5
print(f"{seconds:.1f} s for {len(truth)} patients; right: {np.mean(clear == truth):.3f} in the clear, "
      f"{np.mean(decided == truth):.3f} encrypted; {np.sum(clear != decided)} decided otherwise")
assert np.mean(clear == decided) > 0.96
