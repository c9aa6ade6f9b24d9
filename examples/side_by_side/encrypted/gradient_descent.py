"""Gradient descent finds the weights of a linear regression on 100 encrypted rows of 8 features."""

import numpy as np

import latticino as lt

rng = np.random.default_rng(7)
X, truth = rng.uniform(-1, 1, (200, 8)), rng.uniform(-1, 1, 8)
y = X @ truth + rng.normal(0, 0.05, 200)


def descent(X, y):
    w = np.zeros(8)
    for _ in range(6):
        w = w - 0.02 * (X.T @ (X @ w - y))
    return w


ctx = lt.Context("test-n12-boot-insecure", "cpu", auto_bootstrap=True)
client = lt.keygen(ctx)
data = client.encrypt(X[:100], like=X[100:]), client.encrypt(y[:100], like=y[100:])
ctx.use(client.server_keys(descent, *data))
result = client.decrypt(descent(*data)).unmarked()
print(f"largest difference to the true weights: {np.abs(result - truth).max():.3f}")
