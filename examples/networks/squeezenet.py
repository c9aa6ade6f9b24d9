"""A SqueezeNet for CIFAR-10 (Iandola et al. 2016) with average pooling and learned polynomials of degree 2.

    python examples/networks/squeezenet.py --out trained/squeezenet
"""

import cifar
import torch
from layers import Quadratic
from shared import Run, options
from torch import nn


class Fire(nn.Module):
    """Few channels by 1 x 1, then `out` channels: one half by 1 x 1, the other by 3 x 3."""

    def __init__(self, channels, few, out):
        super().__init__()
        self.squeeze, self.act1 = nn.Conv2d(channels, few, 1, bias=False), Quadratic(few)
        self.one, self.three = nn.Conv2d(few, out // 2, 1, bias=False), nn.Conv2d(few, out // 2, 3, 1, 1, bias=False)
        self.act2 = Quadratic(out)

    def forward(self, x):
        x = self.act1(self.squeeze(x))
        return self.act2(torch.cat([self.one(x), self.three(x)], 1))


class SqueezeNet(nn.Module):
    """(batch, 3, 32, 32) to (batch, 10). Channels are powers of two; pooling becomes part of the maps next to it."""

    def __init__(self, width):
        super().__init__()
        self.conv, self.act = nn.Conv2d(3, width, 3, 2, 1, bias=False), Quadratic(width)
        self.fires = nn.Sequential(Fire(width, width // 4, 2 * width), nn.AvgPool2d(2),
                                   Fire(2 * width, width // 2, 4 * width), nn.AvgPool2d(2),
                                   Fire(4 * width, width, 4 * width))
        self.last = nn.Conv2d(4 * width, 10, 1)

    def forward(self, x):
        return self.last(self.fires(self.act(self.conv(x)))).mean((2, 3))


def network(width=64):
    return SqueezeNet(width)


def main(arguments=None):
    run = Run(options("squeezenet", 80, 256, 0.1, arguments, teacher_epochs=20, width=64, **cifar.BOUNDS))
    return cifar.train(run, network(run.asked.width), cifar.teacher())


if __name__ == "__main__":
    main()
