"""A small network of handwritten digits as a program for a service: 64 pixels, 24 squares, ten scores. Usage:
``digits.py FILE``, then ``./latticino serve digits=FILE --page build/wasm/web`` (docs/browser.md).
"""

import sys

from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

import latticino as lt


class Digits:
    """V (W x + b)^2 + c of 64 pixels from 0 to 1: three levels."""

    def __init__(self, preset="n13-d30-leveled-v1"):
        data = load_digits()
        pixels = data.data / 16
        found = PCA(24, random_state=0).fit(pixels)
        self.inner = found.components_ / 2
        self.shift = 1 - self.inner @ found.mean_  # W x + b has mean 1, so squares keep the order of most values
        fitted = LogisticRegression(max_iter=2000).fit((pixels @ self.inner.T + self.shift) ** 2, data.target)
        self.outer, self.bias = fitted.coef_ / 8, fitted.intercept_ / 8
        self.accuracy = fitted.score((pixels @ self.inner.T + self.shift) ** 2, data.target)
        self.preset = preset

    def scores(self, x):
        inner = self.inner @ x + self.shift
        return self.outer @ (inner * inner) + self.bias

    def save(self, path):
        context = lt.Context(self.preset, device="cpu", threads=1)
        lt.save_program(path, self.scores, context, lt.Shape((64,), None, (0, 1)))


if __name__ == "__main__":
    Digits().save(sys.argv[1])
