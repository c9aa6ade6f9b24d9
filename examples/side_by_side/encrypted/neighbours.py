"""Which of 500 encrypted points are nearest to an encrypted question?"""

import numpy as np

import latticino as lt

rng = np.random.default_rng(3)
points, question = rng.uniform(-1, 1, (500, 8)), rng.uniform(-1, 1, 8)


def distances(points, question):
    return ((points - question) ** 2).sum(axis=1)


ctx = lt.Context("n14-d40-leveled-v1", "cpu")
client = lt.keygen(ctx)
ctx.use(client.server_keys(distances, points, question))
result = client.decrypt(distances(client.encrypt(points), client.encrypt(question))).unmarked()
print("nearest:", np.argsort(result)[:5])
