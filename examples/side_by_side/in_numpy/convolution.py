"""A convolution with 3 x 3 weights finds the edges of an image of 32 x 32 pixels."""

import numpy as np

y, x = np.mgrid[-1:1:32j, -1:1:32j]
image = np.where(x**2 + y**2 < 0.5, 0.9, 0.1)
kernel = np.array([[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]]) / 8


def convolved(image):
    return sum(kernel[i, j] * image[i:i + 30, j:j + 30] for i in range(3) for j in range(3))


result = convolved(image)
print(f"{np.sum(np.abs(result) > 0.15)} pixels lie on an edge")
