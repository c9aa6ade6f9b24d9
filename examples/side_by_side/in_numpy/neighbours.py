"""Which of 500 points are nearest to a question?"""

import numpy as np

rng = np.random.default_rng(3)
points, question = rng.uniform(-1, 1, (500, 8)), rng.uniform(-1, 1, 8)


def distances(points, question):
    return ((points - question) ** 2).sum(axis=1)


result = distances(points, question)
print("nearest:", np.argsort(result)[:5])
