"""Random model graphs: every kind of layer, odd sizes, strides, paddings, groups and dilations."""

import math

import numpy as np

from latticino.nn.builder import Builder

SMOOTH = ["silu", "gelu", "sigmoid", "tanh", "softplus", "elu", "hardswish", "mish"]
KINKED = ["relu", "leaky_relu", "abs", "clip", "hardsigmoid"]


def convolution(r, build, x, transposed=False):
    """A random convolution of (channels, places...)."""
    channels, *sizes = build.shape(x)
    groups = int(r.choice([g for g in (1, 2, channels) if channels % g == 0]))
    out = groups * int(r.integers(1, 4))
    kernel = [int(r.integers(1, min(n, 3) + 1)) for n in sizes]
    dilation = [int(r.integers(1, 3)) if (k - 1) * 2 < n else 1 for k, n in zip(kernel, sizes)]
    shape = (channels, out // groups, *kernel) if transposed else (out, channels // groups, *kernel)
    weight = r.normal(size=shape) / math.sqrt(channels // groups * math.prod(kernel))
    bias = r.normal(size=out) if r.random() < 0.5 else None
    stride = [int(r.integers(1, 4)) for _ in sizes]
    if transposed:
        return build.conv_transpose(x, weight, bias, stride=stride, padding=0, dilation=dilation, groups=groups,
                                    output_padding=[int(r.integers(0, s)) for s in stride], layer="up")
    padding = [(int(r.integers(0, 3)), int(r.integers(0, 3))) for _ in sizes]
    return build.conv(x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups, layer="conv")


def activated(r, build, x, kinked=True):
    name = str(r.choice(SMOOTH + (KINKED if kinked else [])))
    return build.activation(x, name, name)


def layer(r, build, x, step):
    """Adds one more random layer after x."""
    shape = build.shape(x)
    kind = r.choice(["conv", "up", "norm", "pool", "act", "residual", "branches", "permute", "slice", "square", "gate",
                     "pair", "mean", "scale", "linear"])
    if kind in ("conv", "up") and len(shape) > 1 and math.prod(shape) < 400:
        return convolution(r, build, x, kind == "up")
    if kind == "norm":
        n = shape[0]
        return build.batch_norm(x, r.normal(size=n), r.random(n) + 0.5, r.normal(size=n), r.normal(size=n), layer="norm")
    if kind == "pool" and len(shape) > 1 and min(shape[1:]) > 1:
        return build.avg_pool(x, 2, int(r.integers(1, 3)), int(r.integers(0, 2)), ceil=bool(r.random() < 0.5),
                              count_padding=bool(r.random() < 0.5), layer="pool")
    if kind == "residual":
        return build.add(activated(r, build, x), x, "residual")
    if kind == "branches":
        return build.concat([build.scale(x, r.normal(), "left"), activated(r, build, x), x], 0, "branches")
    if kind == "permute" and len(shape) > 1:
        return build.permute(x, r.permutation(len(shape)), "permute")
    if kind == "slice":
        axis = int(r.integers(len(shape)))
        first = int(r.integers(shape[axis]))
        return build.slice(x, axis, first, shape[axis], int(r.integers(1, 3)), "slice")
    if kind == "square":
        return build.scale(build.mul(x, x, "square"), 0.25, "square")
    if kind == "gate":
        return build.mul(build.activation(x, "sigmoid", "gate"), x, "gate")
    if kind == "pair":
        return build.sub(activated(r, build, x), activated(r, build, x), "pair")
    if kind == "mean" and len(shape) > 1:
        return build.mean(x, [int(r.integers(len(shape)))], bool(r.random() < 0.5), "mean")
    if kind == "linear":
        return build.linear(x, r.normal(size=(int(r.integers(1, 6)), shape[-1])) / math.sqrt(shape[-1]), None, "linear")
    if kind == "scale":
        return build.shift(build.scale(x, r.normal(size=shape), "scale"), r.normal(size=shape), "shift")
    return activated(r, build, x)


def network(seed, layers=7):
    """A random graph, and inputs for it."""
    r = np.random.default_rng(seed)
    shape = [(3, 5, 7), (2, 9), (11,), (4, 6, 6), (1, 8, 5), (2, 3, 4, 5)][seed % 6]
    build = Builder(shape)
    x = build.input
    for step in range(layers):
        x = layer(r, build, x, step)
    if seed % 3:
        x = build.linear(build.flatten(x), r.normal(size=(4, build.nodes[x].size)) / 3, r.normal(size=4), "last")
    return build.graph(x), r.normal(size=(60, *shape))
