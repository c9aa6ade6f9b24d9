"""A trained model of scikit-learn tells for 169 patients how likely a tumour is benign. It sees no patient's data."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

import latticino as lt

X, y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
model = LogisticRegression(C=0.05).fit(X[:400], y[:400])


def predict(x):
    return lt.sigmoid(x @ model.coef_.T + model.intercept_, domain=(-25, 25), bits=10)


ctx = lt.Context("n15-d40-leveled-v1", "cpu")
client = lt.keygen(ctx)
x = client.encrypt(X[400:], like=X[:169])
ctx.use(client.server_keys(predict, x))
result = client.decrypt(predict(x)).unmarked()
print(f"{np.mean((result[:, 0] > 0.5) == y[400:]):.3f} of the patients are classified correctly")
