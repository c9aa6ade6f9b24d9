"""Mean, variance and correlation of two encrypted columns of 10,000 values."""

import numpy as np

import latticino as lt

rng = np.random.default_rng(5)
height = rng.normal(1.72, 0.09, 10_000)
weight = 0.24 * height**2 + rng.normal(0, 0.09, 10_000)


def statistics(x, y):
    return x.mean(), y.mean(), x.var(), y.var(), ((x - x.mean()) * (y - y.mean())).mean()


ctx = lt.Context("n14-d40-leveled-v1", "cpu")
client = lt.keygen(ctx)
x, y = client.encrypt(height, range=(1, 2.5)), client.encrypt(weight, range=(0, 2))
ctx.use(client.server_keys(statistics, x, y))
result = np.array([client.decrypt(z).unmarked() for z in statistics(x, y)])
print(f"means {result[0]:.3f} and {result[1]:.3f}, correlation {result[4] / np.sqrt(result[2] * result[3]):.3f}")
