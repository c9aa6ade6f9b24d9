"""Gradient descent finds the weights of a linear regression on 100 rows of 8 features."""

import numpy as np

rng = np.random.default_rng(7)
X, truth = rng.uniform(-1, 1, (200, 8)), rng.uniform(-1, 1, 8)
y = X @ truth + rng.normal(0, 0.05, 200)


def descent(X, y):
    w = np.zeros(8)
    for _ in range(6):
        w = w - 0.02 * (X.T @ (X @ w - y))
    return w


result = descent(X[:100], y[:100])
print(f"largest difference to the true weights: {np.abs(result - truth).max():.3f}")
