"""A multilayer perceptron of scikit-learn reads 100 handwritten digits."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

X, y = load_digits(return_X_y=True)
X = X / 16
model = MLPClassifier(32, activation="tanh", tol=1e-3, random_state=0).fit(X[:1000], y[:1000])


def predict(x):
    hidden = np.tanh(x @ model.coefs_[0] + model.intercepts_[0])
    return hidden @ model.coefs_[1] + model.intercepts_[1]


result = predict(X[1000:1100])
print(f"{np.mean(result.argmax(axis=1) == y[1000:1100]):.2f} of the digits are read correctly")
