"""Layers of the recipes' networks, which cost few levels on encrypted data."""

import math

import torch
from torch import nn
from torch.nn import functional as F

# The coefficients of ReLU in the orthonormal Hermite polynomials h1 = x and h2 = (x^2 - 1) / sqrt(2) under a normal
# distribution (Park et al., "AESPA", 2022): 1 / sqrt(2 pi), 1 / 2, 1 / sqrt(4 pi).
HERMITE = (1 / math.sqrt(2 * math.pi), 0.5, 1 / math.sqrt(4 * math.pi))


class Quadratic(nn.Module):
    """``a x^2 + b x + c`` for each channel, learned: the two powers are normalised apart from each other (AESPA).

    ``x``: (batch, channels, ...). In `eval` it is one polynomial of degree 2: one level between convolutions.

    A value far out is squared in each layer, and grows without bound. In training, values are therefore cut at
    `end` standard deviations of their channel, and those beyond `soft` are penalised, so that the trained network does
    without the cut. Training starts with ReLUs: `rectified` is their share, which falls to 0 (`fade`).
    """

    undecayed = True  # weight decay would make it flat

    def __init__(self, channels, soft=4.0, end=6.0):
        super().__init__()
        self.first, self.second = nn.BatchNorm2d(channels, affine=False), nn.BatchNorm2d(channels, affine=False)
        self.weight = nn.Parameter(torch.tensor(HERMITE).reshape(3, 1, 1, 1).repeat(1, channels, 1, 1))
        self.register_buffer("rectified", torch.zeros(()), persistent=False)
        self.soft, self.end, self.penalty, self.noise = soft, end, None, 0.0

    def forward(self, x):
        if x.dtype == torch.bfloat16:  # because squares would lose too much precision
            x = x.float()
        if self.training:
            x = self.cut(x)
        one = self.first(x)
        y = self.weight[0] + self.weight[1] * one + self.weight[2] * self.second(x * x)
        if self.training:
            y = with_noise(torch.lerp(y, F.relu(one), self.rectified), self.noise)
        return y

    def cut(self, x):
        if self.first.training:
            deviation, mean = torch.std_mean(x.detach(), (0, *range(2, x.ndim)), keepdim=True)
        else:
            mean, deviation = (v[:, None, None] for v in (self.first.running_mean, self.first.running_var.sqrt()))
        deviation = deviation + 1e-3
        size = ((x - mean) / deviation).abs()
        self.penalty = F.huber_loss(F.relu(size - self.soft), torch.zeros_like(x), reduction="sum") / len(x)
        return x.clamp(mean - self.end * deviation, mean + self.end * deviation)


class Cubic(nn.Module):
    """``x - 4 x^3 / 27``: rises like tanh within -1.5 to 1.5, and stays within -1 to 1 for inputs within -3 to 3.

    It is ``-T_3(x / 3)``, a Chebyshev polynomial. In training, inputs are cut to that range, and those beyond ``soft``
    penalised, so that the trained network does without the cut.
    """

    END = 3.0

    def __init__(self, soft=1.75):
        super().__init__()
        self.soft, self.noise = soft, 0.0

    def forward(self, x):
        if self.training:
            x = with_noise(x.clamp(-self.END, self.END), self.noise)
        return x * (1 - x * x * (4 / 27))

    def beyond(self, x):
        return F.relu(x.abs() - self.soft).square().mean()


def with_noise(x, size):
    """x with errors such as encryption causes, relative to the largest value."""
    return x + torch.randn_like(x) * (size * x.detach().abs().amax()) if size else x


def penalty(model):
    """The sum of the penalties of a model's layers for values outside of their ranges, from the last forward pass. The
    layers then drop them, because they hold the graph of that pass."""
    layers = [m for m in model.modules() if getattr(m, "penalty", None) is not None]
    found = [m.penalty for m in layers]
    for m in layers:
        m.penalty = None
    return torch.stack(found).sum() if found else torch.zeros(())


def cut_at(model, end):
    """Sets the limit at which activations cut values off in training, in standard deviations of a channel. It also
    removes the errors that `freeze_norms` adds."""
    for m in model.modules():
        if isinstance(m, Quadratic):
            m.end, m.noise = end, 0.0


def fade(model, share):
    """Sets the share of ReLU in the activations of a model in training."""
    for m in model.modules():
        if hasattr(m, "rectified"):
            m.rectified.fill_(share)


def freeze_norms(model, noise):
    """Fixes normalisations to the statistics that later inputs will get, and adds errors of the size of encryption's in
    training."""
    for m in model.modules():
        if isinstance(m, nn.modules.batchnorm._BatchNorm):
            m.eval()
        if hasattr(m, "noise"):
            m.noise = noise
