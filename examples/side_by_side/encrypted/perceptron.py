"""A multilayer perceptron of scikit-learn reads 100 handwritten digits that are encrypted."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import latticino as lt

X, y = load_digits(return_X_y=True)
X = X / 16
model = MLPClassifier(32, activation="tanh", tol=1e-3, random_state=0).fit(X[:1000], y[:1000])


def predict(x):
    hidden = lt.tanh(x @ model.coefs_[0] + model.intercepts_[0], domain=(-8, 8), bits=8)
    return hidden @ model.coefs_[1] + model.intercepts_[1]


ctx = lt.Context("n15-d40-leveled-v1", "cpu")
client = lt.keygen(ctx)
x = client.encrypt(X[1000:1100], like=X[:100])
ctx.use(client.server_keys(predict, x))
result = client.decrypt(predict(x)).unmarked()
print(f"{np.mean(result.argmax(axis=1) == y[1000:1100]):.2f} of the digits are read correctly")
