"""Compares captured graphs with PyTorch on random layers and models, and stores small ones for tests without torch.

    ./latticino test --more networks                              # compares, with torch pinned for this part
    python tests/python/nn/make_torch_cases.py --write FILE       # stores tests/python/nn/torch_cases.npz
    python tests/python/nn/make_torch_cases.py --tutorial         # stores examples/encrypted_network.npz

Of each case the file has arrays: the captured graph, inputs, and the outputs of torch.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "docs")]

import notebooks  # noqa: E402 - the checkout's, as all that follow
from latticino import errors  # noqa: E402
from latticino.nn import reference  # noqa: E402
from latticino.nn.builder import from_arrays  # noqa: E402
from latticino.nn.pytorch.capture import capture  # noqa: E402
from latticino.nn.reading import read  # noqa: E402

TUTORIAL = ROOT / "examples" / "encrypted_network.ipynb"
CLOSE = 1e-9  # part of the largest output: both compute in doubles


class Of(nn.Module):
    """A module of a function, and of the modules that it uses."""

    def __init__(self, function, *parts):
        super().__init__()
        self.function, self.parts = function, nn.ModuleList(parts)

    def forward(self, x):
        return self.function(x, *self.parts)


def pick(r, *choices):
    return choices[int(r.integers(len(choices)))]


def convolution(r, axes, transposed=False):
    """A random convolution, and the shape of its input: stride, padding, groups, dilation, odd sizes."""
    groups = pick(r, 1, 1, 2, 3)
    channels, out = groups * int(r.integers(1, 4)), groups * int(r.integers(1, 4))
    kernel = [int(k) for k in r.integers(1, 4, axes)]
    dilation = [int(d) for d in r.integers(1, 3, axes)]
    stride = [int(s) for s in r.integers(1, 4, axes)]
    sizes = [int(n) for n in r.integers(5, 10, axes)]
    kind = getattr(nn, f"Conv{'Transpose' if transposed else ''}{axes}d")
    options = {"stride": stride, "dilation": dilation, "groups": groups, "bias": bool(r.integers(2))}
    if transposed:
        options["padding"] = [int(r.integers(0, k)) for k in kernel]
        options["output_padding"] = [int(r.integers(0, max(s, d))) for s, d in zip(stride, dilation)]
    elif r.random() < 0.2:
        options.update(padding="same", stride=1)
    elif axes < 3 and r.random() < 0.2:
        options.update(padding_mode=pick(r, "reflect", "replicate"), padding=[int(p) for p in r.integers(0, 3, axes)])
    else:
        options["padding"] = [int(p) for p in r.integers(0, 3, axes)]
    return kind(channels, out, kernel, **options), (channels, *sizes)


def trained_norm(r, kind, channels):
    """Batch norm with statistics as after training."""
    norm = kind(channels, affine=bool(r.integers(2)))
    norm.running_mean.copy_(torch.as_tensor(r.normal(size=channels)))
    norm.running_var.copy_(torch.as_tensor(r.random(channels) + 0.5))
    return norm


def pooling(r, axes):
    kind = pick(r, "AvgPool", "MaxPool", "AdaptiveAvgPool")
    sizes = [int(n) for n in r.integers(4, 9, axes)]
    shape = (int(r.integers(1, 4)), *sizes)
    if kind == "AdaptiveAvgPool":
        return getattr(nn, f"{kind}{axes}d")(pick(r, 1, 2, 3)), shape
    kernel = int(r.integers(2, 4))
    options = {"stride": int(r.integers(1, 4)), "padding": int(r.integers(0, kernel // 2 + 1)), "ceil_mode": bool(r.integers(2))}
    if kind == "AvgPool":
        options["count_include_pad"] = bool(r.integers(2))
        if axes > 1 and r.random() < 0.3:
            options["divisor_override"] = 5
    elif r.random() < 0.3 and min(sizes) > 4:
        options.update(dilation=2, padding=0)
    return getattr(nn, f"{kind}{axes}d")(kernel, **options), shape


ACTIVATIONS = [
    nn.ReLU(), nn.ReLU(inplace=True), nn.ReLU6(), nn.LeakyReLU(0.2), nn.ELU(0.7), nn.SELU(), nn.CELU(1.3), nn.GELU(),
    nn.GELU(approximate="tanh"), nn.SiLU(), nn.Mish(), nn.Sigmoid(), nn.Tanh(), nn.Softplus(2.0, 3.0), nn.Hardswish(),
    nn.Hardsigmoid(), nn.Hardtanh(-0.3, 1.2), nn.LogSigmoid(), nn.Softmax(-1), nn.PReLU(), Of(lambda x: x.abs()),
    Of(lambda x: x * x), Of(lambda x: x**3 - 2 * x + 1), Of(lambda x: x.clamp(min=-0.5)), Of(lambda x: x.clamp(max=0.5)),
    Of(lambda x: x.clamp(-1, 0.5)), Of(lambda x: 1 - x / 3), Of(lambda x: torch.exp(-x)), Of(lambda x: F.relu(x).square()),
    Of(lambda x: x.double().square() + x), nn.Softsign(), nn.RReLU(0.1, 0.3), nn.Threshold(0.2, 0.2),
    Of(lambda x: (x.square() + 1) ** -1 + (x.square() + 2) ** -0.5)]

WEIGHTS = torch.as_tensor(np.random.default_rng(0).normal(size=(3, 4, 4)))
HIDDEN = torch.ones(4, 4, dtype=torch.bool).triu(1)


def set_places(x):
    """Values that are set in place: constants, values of the input, sums, and an array of zeros."""
    y, z = x.clone(), torch.zeros_like(x)
    y[:, 1] *= 3
    y[:, :, 0] = 1
    y[:, [0, 2], 2] += 1
    z[:, 0], z[:, 1:] = x[:, 1], 2 * x[:, :2]
    return torch.cat([y, z], 1)


def scores(x):
    return x @ x.transpose(1, 2) / 2


# divisors are above 0; masks hide scores from a softmax
QUOTIENTS = [
    (lambda x: F.normalize(x, dim=1), (5,)), (lambda x: F.normalize(x, p=1.0, dim=1), (5, 2)), (lambda x: x.norm(dim=(1, 2)), (3, 2)),
    (lambda x: F.cosine_similarity(x, WEIGHTS[0, :1], dim=1)[:, None], (4,)), (lambda x: 3 / (x * x + 1), (4,)),
    (lambda x: (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True, unbiased=False) + 0.1).sqrt(), (6,)),
    (lambda x: x.exp() / x.exp().sum(1, keepdim=True), (4,)), (lambda x: torch.cat(torch.var_mean(x, 1, keepdim=True), 1), (5,)),
    (lambda x: torch.log(x * x + 1) - torch.log1p(x.square()), (4,)), (lambda x: 2**x + torch.exp2(x) - torch.expm1(x), (4,)),
    (lambda x: (x * x + 1) ** -2, (4,)), (lambda x: scores(x).masked_fill(HIDDEN, -torch.inf).softmax(-1) @ x, (4, 3)),
    (lambda x: (scores(x) + torch.zeros(4, 4).masked_fill(HIDDEN, -100.0)).softmax(2), (4, 3)),
    (lambda x: (x + torch.zeros(4, 3).masked_fill(HIDDEN[:, :3], -torch.inf)).softmax(1), (4, 3)),
    (lambda x: (x - 100).softmax(1), (4,))]


PLACES = [
    (lambda x: x.flatten(1), (3, 4)), (lambda x: x.reshape(x.shape[0], 4, 3), (3, 4)), (lambda x: x.transpose(1, 2), (3, 4)),
    (lambda x: x.permute(0, 3, 1, 2), (2, 3, 4)), (lambda x: x[:, 1:, ::2], (3, 5)), (lambda x: x[:, -1], (3, 5)),
    (lambda x: torch.cat([x, 2 * x, x[:, :1]], 1), (3, 5)), (lambda x: torch.stack([x, -x], 2), (3, 5)),
    (lambda x: x.chunk(2, 1)[0] * torch.sigmoid(x.chunk(2, 1)[1]), (4, 5)), (lambda x: x.mean(1), (3, 5)),
    (lambda x: x.mean((2, 3), keepdim=True) * x, (3, 4, 5)), (lambda x: x.sum(-1) + x.mean((1, 2))[:, None], (3, 5)),
    (lambda x: F.pad(x, (1, 2, 0, 1), value=0.5), (2, 3, 4)), (lambda x: F.pad(x, (-1, 2)), (2, 3, 4)),
    (lambda x: F.interpolate(x, scale_factor=2), (2, 3, 4)), (lambda x: F.interpolate(x, size=(5, 7), mode="bilinear"), (2, 3, 4)),
    (lambda x: F.pixel_shuffle(x, 2), (8, 3, 4)), (lambda x: x.flip(2), (2, 3, 4)), (lambda x: torch.roll(x, 1, 2), (2, 3, 4)),
    (lambda x: x.unsqueeze(1).expand(-1, 3, -1).squeeze(), (5,)), (lambda x: x @ x.transpose(1, 2), (3, 4)),
    (lambda x: torch.einsum("bij,bkj->bik", x, x + 1), (3, 4)), (lambda x: x.repeat(1, 2, 1), (3, 4)),
    (lambda x: x.unbind(1)[1] - x.split(2, 1)[0].sum(1), (3, 4)), (lambda x: F.glu(x, 1), (4, 5)),
    (lambda x: torch.cat([torch.ones(x.shape[0], 1, 5, dtype=x.dtype), x], 1), (3, 5)),
    (lambda x: F.pad(x, (2, 1, 0, 3), mode="circular"), (2, 4, 5)), (lambda x: x.cumsum(2) - x.cumsum(-2), (3, 5)),
    (lambda x: x.unfold(-1, 3, 1).unfold(1, 2, 2), (5, 4)), (lambda x: x[:, [0, 2, 0]] * x[:, [1]], (3, 5)),
    (lambda x: x[:, [0, 2], [1, 3]], (3, 5)), (lambda x: F.unfold(x, (2, 3), padding=1), (2, 4, 5)),
    (lambda x: x.tril(), (4, 4)), (lambda x: x.masked_fill(torch.eye(4, dtype=torch.bool), 0.5), (4, 4)),
    (lambda x: torch.where(torch.eye(4, dtype=torch.bool), x, x.transpose(1, 2) + 1), (4, 4)),
    (lambda x: x.var(1, keepdim=True) + x.var((1, 2), unbiased=False, keepdim=True), (3, 5)),
    (lambda x: (x.var(-1, correction=0) + 0.1).sqrt(), (3, 5)),
    (lambda x: torch.einsum("bii->bi", x), (4, 4)), (lambda x: x.gather(1, torch.tensor([[0, 2, 2]]).expand(len(x), -1)), (4,)),
    (lambda x: F.fold(x, (4, 5), (2, 2)), (8, 12)), (lambda x: set_places(x), (3, 4)),
    (lambda x: torch.zeros(len(x), 6, dtype=x.dtype).scatter(1, torch.tensor([[1, 5, 0]]).expand(len(x), -1), x), (3,)),
    (lambda x: x.scatter(1, torch.tensor([[1]]).expand(len(x), -1), 7.0), (4,)),
    (lambda x: x[:, :3].scatter_add(1, torch.tensor([[1, 2, 1]]).expand(len(x), -1), x[:, 2:]), (5,)),
    (lambda x: torch.ones(len(x), 3, dtype=x.dtype).index_add(1, torch.tensor([1, 2, 0, 1]), x), (4,)),
    (lambda x: x.index_fill(1, torch.tensor([1]), 2.0) + torch.ones_like(x), (4,)),
    (lambda x: x @ WEIGHTS[:, :, :2], (3, 2, 4)), (lambda x: WEIGHTS[:, :2] @ x, (3, 4, 2)),
    (lambda x: torch.einsum("bij,ijk->bik", x, WEIGHTS), (3, 4)),
    (lambda x: F.bilinear(x[:, :4], x[:, 4:], WEIGHTS[:, :, :2], WEIGHTS[:, 0, 0]), (6,)),
    (lambda x: F.bilinear(x, WEIGHTS[0, :, :1].T.expand(len(x), -1), WEIGHTS[:, :2], None), (2,)),
    (lambda x: F.bilinear(WEIGHTS[:1, 0, :2].expand(len(x), -1), x, WEIGHTS.mT[:, :2]), (4,))]


MAXIMA = [
    (lambda x: x.max(1)[0], (4,)), (lambda x: torch.maximum(x, 2 * x + 1), (4,)), (lambda x: torch.minimum(x, x.flip(1)), (3, 4)),
    (lambda x: torch.maximum(x, torch.ones(4)), (4,)), (lambda x: torch.minimum(torch.ones(3, 1), x), (3, 4)),
    (lambda x: x.amax(2), (2, 3, 4)), (lambda x: x.amin((1, 2)), (3, 4)), (lambda x: x.amax((1, 3), keepdim=True), (2, 3, 4)),
    (lambda x: torch.minimum(x[:, :1], x), (3, 4)), (lambda x: x.min(1, keepdim=True).values - x, (5,)),
    (lambda x: F.adaptive_max_pool1d(x, 3), (2, 6)), (lambda x: F.adaptive_max_pool2d(x, (2, None)), (2, 4, 3)),
    (lambda x: F.adaptive_max_pool3d(x, 1), (2, 4, 2, 3)), (lambda x: x.clamp(min=-WEIGHTS[0, 0].abs(), max=WEIGHTS[0, 1].abs()), (4,)),
    (lambda x: torch.fmin(x, x.flip(1)) + torch.fmax(x, 2 * x), (4,))]

DECIDED = [
    (lambda x: x.argmax(1), (5,)), (lambda x: x.argmin(1, keepdim=True), (4,)), (lambda x: x.argmax(-1), (3, 4)),
    (lambda x: x.argmax(1).float(), (3, 2, 2)), (lambda x: x.softmax(1).argmax(1), (3,)), (lambda x: x > 0.3, (4,)),
    (lambda x: (x <= 0).float().unsqueeze(1), (3, 2)), (lambda x: torch.sign(x), (4,)), (lambda x: x.sign().int(), (3,)),
    (lambda x: torch.heaviside(x, torch.tensor(0.5, dtype=x.dtype)), (4,)), (lambda x: x[:, 0] < x[:, 1], (2,)),
    (lambda x: (x > 0.2).long(), (3,)), (lambda x: torch.sigmoid(x.sum(1)) > 0.7, (3,)), (lambda x: x.max(1).indices, (2,)),
    (lambda x: torch.ge(x, x.mean(1, keepdim=True)), (4,)), (lambda x: x.flatten(1).min(1)[1], (2, 3))]


def sequence_model(r):
    """A recurrent network over (steps, width)."""
    kind, hidden = pick(r, nn.LSTM, nn.GRU, nn.RNN), int(r.integers(2, 5))
    both, first = bool(r.integers(2)), bool(r.integers(2))
    options = {"nonlinearity": pick(r, "tanh", "relu")} if kind is nn.RNN else {}
    part = kind(3, hidden, num_layers=int(r.integers(1, 3)), bidirectional=both, batch_first=first, bias=bool(r.integers(2)), **options)
    last = bool(r.integers(2))

    def run(x, layer):
        out, state = layer(x if first else x.transpose(0, 1))
        if last:
            return (state[0] if isinstance(state, tuple) else state)[-1]
        return out[:, -1] if first else out[-1]

    return Of(run, part), (4, 3)


def encoder(r, tokens=4, width=8):
    layer = nn.TransformerEncoderLayer(width, 2, 12, batch_first=bool(r.integers(2)), norm_first=bool(r.integers(2)),
                                       activation=pick(r, "relu", "gelu"))
    if not layer.self_attn.batch_first:
        return Of(lambda x, part, last: last(part(x.transpose(0, 1)).mean(0)), layer, nn.Linear(width, 3)), (tokens, width)
    return Of(lambda x, part, last: last(part(x).mean(1)), layer, nn.Linear(width, 3)), (tokens, width)


def squared_attention(r, tokens=5, width=6, heads=3):
    """Attention with squares of shifted scores in place of softmax, and quadratics in the layers behind it."""
    parts = [nn.Linear(width, n * width) for n in (3, 1, 2)] + [nn.Linear(2 * width, 3)]
    shift = torch.as_tensor(r.uniform(0.5, 1.5, (heads, 1, 1)))

    def run(x, three, out, first, last):
        q, k, v = (p.reshape(-1, tokens, heads, width // heads).transpose(1, 2) for p in three(x).chunk(3, 2))
        weights = (q @ k.transpose(2, 3) / (width / heads) ** 0.5 + shift).square() / tokens
        x = x + out((weights @ v).transpose(1, 2).reshape(-1, tokens, width))
        y = first(x)
        return last(0.25 * y * y + 0.5 * y).mean(1)

    return Of(run, *parts), (tokens, width)


def mlp(r):
    act = pick(r, nn.ReLU, nn.Tanh, nn.GELU)
    return nn.Sequential(nn.Linear(7, 9), act(), nn.BatchNorm1d(9), nn.Dropout(0.5), nn.Linear(9, 4)), (7,)


def lenet(r):
    return nn.Sequential(nn.Conv2d(1, 4, 5, padding=2), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(4, 6, 3), nn.SiLU(),
                         nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(24, 10)), (1, 12, 12)


def sequence_cnn(r):
    return nn.Sequential(nn.Conv1d(2, 6, 5, stride=2, padding=2), trained_norm(r, nn.BatchNorm1d, 6), nn.ReLU(),
                         nn.Conv1d(6, 6, 3, groups=3, dilation=2), nn.GELU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(),
                         nn.Linear(6, 3)), (2, 33)


class Block(nn.Module):
    def __init__(self, r, channels, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1 = trained_norm(r, nn.BatchNorm2d, out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = trained_norm(r, nn.BatchNorm2d, out)
        self.down = nn.Conv2d(channels, out, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.down(x))


def residual(r):
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), Block(r, 4, 4, 1), Block(r, 4, 6, 2),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 5)), (3, 8, 8)


def vgg(r):
    """Pairs of convolutions with batch norms before each pooling, and linear layers with dropout behind them, as in VGG."""
    def stage(channels, out):
        pair = [(nn.Conv2d(a, out, 3, padding=1), trained_norm(r, nn.BatchNorm2d, out), nn.ReLU(inplace=True)) for a in (channels, out)]
        return [*pair[0], *pair[1], nn.AvgPool2d(2, 2)]

    head = [nn.Flatten(), nn.Linear(32, 16), nn.ReLU(inplace=True), nn.Dropout(0.5), nn.Linear(16, 5)]
    return nn.Sequential(nn.Sequential(*stage(3, 4), *stage(4, 8)), nn.Sequential(*head)), (3, 8, 8)


def normed(r):
    kind = pick(r, nn.LayerNorm(5), nn.LayerNorm((4, 5)), nn.GroupNorm(2, 4), nn.LayerNorm(5, elementwise_affine=False))
    return kind, (4, 5)


def other_norm(r):
    both = bool(r.integers(2))
    tracked = trained_norm(r, lambda n, affine: nn.InstanceNorm1d(n, affine=affine, track_running_stats=True), 4)
    return pick(r, nn.RMSNorm(5, eps=1e-3), nn.InstanceNorm1d(4, affine=both), tracked), (4, 5)


def batch_norm(r):
    axes = int(r.integers(0, 4))
    kind = [nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d][axes]
    return trained_norm(r, kind, 3), (3, *[4, 3, 5][:axes])


GROUPS = {
    "conv": lambda r: convolution(r, int(r.integers(1, 4))), "up": lambda r: convolution(r, int(r.integers(1, 4)), True),
    "pool": lambda r: pooling(r, int(r.integers(1, 4))), "norm": normed, "other_norm": other_norm, "batch_norm": batch_norm,
    "linear": lambda r: (nn.Linear(5, int(r.integers(1, 6)), bias=bool(r.integers(2))), pick(r, (5,), (3, 5), (2, 3, 5))),
    "recurrent": sequence_model, "encoder": encoder, "squared_attention": squared_attention, "mlp": mlp, "lenet": lenet, "sequence_cnn": sequence_cnn,
    "residual": residual, "vgg": vgg}
STORED = {"conv": 4, "up": 3, "pool": 4, "norm": 2, "other_norm": 3, "batch_norm": 2, "linear": 2, "recurrent": 6, "encoder": 2, "squared_attention": 1, "mlp": 1, "lenet": 1,
          "sequence_cnn": 1, "residual": 1, "vgg": 1}
REFUSED = [
    (nn.Embedding(5, 3), torch.zeros(1, 2, dtype=torch.long), "embedding", "look the vectors up on the client"),
    (Of(lambda x: 2 * x.argmax(1)), torch.zeros(1, 4), "mul on what argmax decides", "decrypted ones"),
    (Of(lambda x: torch.where(x > 0, x, 2 * x)), torch.zeros(1, 4), "where on what gt decides", "torch.maximum"),
    (Of(lambda x: x.argmax(1).bool()), torch.zeros(1, 4), "argmax as booleans", "to the client"),
    (Of(lambda x: x == 0), torch.zeros(1, 4), "the operation eq", "comparisons are costly"),
    (Of(lambda x: x.argmax()), torch.arange(4.0)[None], "depends on the inputs beside it", "over other axes"),
    (Of(lambda x: (x, x)), torch.zeros(1, 4), "2 results", "return one tensor"),
    (Of(lambda x: torch.ones(1, 3)), torch.zeros(1, 4), "does not depend on its input", "needs no encryption"),
    (nn.Linear(5, 2), torch.zeros(1, 4), "fails on a sample of shape (1, 4)", "correct the sample"),
    (Of(lambda x: F.dropout(x, 0.5)), torch.ones(1, 4), "two results for one input", "training=self.training"),
    (Of(lambda x: F.dropout(x, 0.5)), torch.zeros(1, 4), "dropout that is always on", "training=self.training"),
    (Of(lambda x: F.dropout2d(x, 0.5)), torch.ones(1, 4, 2, 2), "two results for one input", "training=self.training"),
    (Of(lambda x: 2 * x.long().float()), torch.ones(1, 4), "torch.int64, which rounds them", "to the client"),
    (Of(lambda x: x[:, x.new_tensor([1, 0, 1]) > 0]), torch.ones(1, 3), "torch.export does not follow", "lists of integers"),
    (Of(lambda x: torch.cond(x.sum() > 0, lambda a: 2 * a, lambda a: -a, (x,))), torch.ones(1, 4), "a branch or a loop", "smooth weights"),
    (Of(lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)), torch.ones(1, 1, 4, 4), "the places of the maxima", "return_indices"),
    (Of(lambda x: x.gather(1, x.argmax(1, keepdim=True))), torch.ones(1, 4), "gather on what argmax decides", "decrypted ones"),
    (Of(lambda x: torch.zeros(len(x), 4, dtype=torch.long).copy_(x)), torch.ones(1, 4), "an array of torch.int64", "dtype=x.dtype"),
    (Of(lambda x: x.norm(p=3, dim=1)), torch.ones(1, 4), "a norm of order 3", "use one of them"),
    (Of(lambda x: torch.logsumexp(x, 1)), torch.ones(1, 4), "logsumexp", "of the decrypted values"),
    (nn.Threshold(0.1, 0), torch.zeros(1, 4), "a jump", "the same value for both"),
    (Of(lambda x: x.masked_fill(torch.eye(4, dtype=torch.bool), -torch.inf).relu()), torch.zeros(1, 4, 4),
     "sets values to infinity", "scaled_dot_product_attention"),
    (Of(lambda x: (x + torch.full((4,), -torch.inf)).exp()), torch.zeros(1, 4), "sets values to infinity", "apply softmax directly"),
    (Of(lambda x: x if x.sum() > 0 else -x), torch.zeros(1, 4), "torch.export does not follow", "steps and shapes do not depend on values"),
    (nn.Bilinear(4, 4, 2), torch.zeros(1, 4), "several inputs: input1, input2", "join them into one"),
    (nn.BatchNorm1d(4, track_running_stats=False), torch.ones(1, 4, 3), "batch_norm", "track_running_stats"),
    (nn.AdaptiveMaxPool2d(3), torch.zeros(1, 2, 4, 4), "whose windows differ in size", "take other sizes"),
    (Of(lambda x, part: part(x)[1][1], nn.LSTM(3, 2, batch_first=True)), torch.zeros(1, 4, 3), "cell states", "last hidden state"),
    (Of(lambda x: x - x.mean(0)), torch.zeros(1, 4), "depends on the inputs beside it", "over other axes"),
    (Of(lambda x: x.softmax(0)), torch.ones(3, 4), "depends on the inputs beside it", "over other axes"),
    (nn.TransformerEncoderLayer(4, 2, 8), torch.ones(2, 5, 4), "depends on the inputs beside it", "batch_first=True"),
    (Of(lambda x, part: part(x)[0], nn.LSTM(3, 2)), torch.zeros(2, 6, 3), "6 sequences at a time", "batch_first=True")]


def inputs(r, shape, count=6):
    return torch.as_tensor(r.normal(size=(count, *shape)))


def one_by_one(model, x):
    """torch's result for each input by itself, because an encrypted run computes them so."""
    with torch.no_grad():
        return np.stack([model(one[None]).numpy().reshape(-1) for one in x])


def compare(name, model, shape, r):
    """Captures a model and compares; the graph, the inputs, the outputs."""
    torch.manual_seed(int(r.integers(1 << 30)))
    model = model.double().eval()
    x = inputs(r, shape)
    graph = capture(model, x)
    wanted = one_by_one(model, x)
    got = reference.run(graph, x.numpy())
    if graph.decision is not None:
        got = graph.decision.of(got)
        if got.dtype.kind != wanted.dtype.kind or got.shape[1:] != tuple(model(x[:1]).shape)[1:]:
            raise AssertionError(f"{name}: {got.dtype} of shape {got.shape[1:]}")
        got, wanted = got.astype(float), wanted.astype(float)
    error = np.abs(got.reshape(wanted.shape) - wanted).max() / max(1.0, np.abs(wanted).max())
    if not error < CLOSE:
        raise AssertionError(f"{name}: {model} of {shape} is off by {error:.3g}")
    return graph, x.numpy(), wanted


def cases(seeds):
    """(name, model, shape, random numbers): `seeds` of each group, and every activation and change of places."""
    for group, make in GROUPS.items():
        for seed in range(seeds if isinstance(seeds, int) else seeds[group]):
            r = np.random.default_rng([seed, len(group)])
            torch.manual_seed(seed)
            yield f"{group}-{seed}", *make(r), r
    for i, model in enumerate(ACTIVATIONS):
        yield f"act-{i}", model, (3, 5), np.random.default_rng(i)
    for i, (function, shape) in enumerate(PLACES):
        yield f"places-{i}", Of(function), shape, np.random.default_rng(i)
    for i, (function, shape) in enumerate(QUOTIENTS):
        yield f"quotients-{i}", Of(function), shape, np.random.default_rng(i)
    for i, (function, shape) in enumerate(MAXIMA):
        yield f"maxima-{i}", Of(function), shape, np.random.default_rng(i)
    for i, (function, shape) in enumerate(DECIDED):
        yield f"decided-{i}", Of(function), shape, np.random.default_rng(i)


def refusals():
    """Models that are refused, with words of the message."""
    for model, x, had, remedy in REFUSED:
        try:
            capture(model, x)
        except errors.UnsupportedError as why:
            if had not in str(why) or remedy not in str(why):
                raise AssertionError(f"the message for {had}: {why}") from why
        else:
            raise AssertionError(f"{had} was not refused")
    return len(REFUSED)


def kinds_of_samples():
    """Integers, float32 and float64 in arrays and tensors give the same graph; forward() may have arguments with defaults."""
    class Optional(nn.Linear):
        def forward(self, x, scale=None):
            return super().forward(x)

    model = nn.Sequential(Optional(3, 4), nn.SiLU())
    given = np.arange(6).reshape(2, 3)
    samples = [given, given.astype(np.float32), given.astype(float), torch.as_tensor(given), given.astype(np.uint8), given > 2]
    graphs = {repr(capture(model, x)) for x in samples}
    assert len(graphs) == 1, graphs
    # A module that changes its input in place leaves the sample as it was.
    sample = torch.tensor([[-1.0, 2.0]], dtype=torch.float64)
    changing = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(2, 2)).double()
    got = reference.run(capture(changing, sample), sample.numpy())
    assert sample.tolist() == [[-1, 2]] and np.abs(got - one_by_one(changing, sample.clone())).max() < CLOSE
    # The check with other inputs in one batch makes up inputs, which may lie outside of the module's domain.
    capture(Of(lambda x: (1 - x).sqrt()), torch.full((1, 4), 0.9))
    return len(samples)


def few_digits():
    """Modules of 16-bit types have the graph of their weights in doubles: what torch rounds between layers is no error."""
    for kind in (torch.float16, torch.bfloat16):
        model = nn.Sequential(nn.Linear(9, 32), nn.Tanh(), nn.LayerNorm(32), nn.Linear(32, 4)).to(kind).eval()
        x = torch.randn(4, 9).to(kind)
        got = reference.run(capture(model, x), x.double().numpy())
        assert model[0].weight.dtype == kind  # as it was before
        assert np.abs(got - one_by_one(model.double(), x.double())).max() < CLOSE
    return 2


def trained_in(path):
    """The data, and the model that the first two cells of the tutorial train."""
    names = {}
    for cell in notebooks.codes(path)[:2]:
        exec(notebooks.source(cell), names)
    return names, capture(names["model"], names["x"][:1])


def tutorial():
    """The notebook on encrypted networks runs with PyTorch to its end, and the model that is kept beside it is the one that
    it trains, but for what rounding does to the training."""
    cells = len(list(notebooks.run(TUTORIAL)))
    kept = from_arrays(np.load(TUTORIAL.with_suffix(".npz")))
    names, trained = trained_in(TUTORIAL)
    assert [(n.op, n.shape, n.layer) for n in kept.nodes] == [(n.op, n.shape, n.layer) for n in trained.nodes]
    x, y = names["x"][1500:], names["y"][1500:]
    right = [np.mean(reference.run(g, x).argmax(axis=1) == y) for g in (kept, trained)]
    assert min(right) > 0.88 and abs(right[0] - right[1]) < 0.04, right
    return cells


def keep_tutorial():
    _, trained = trained_in(TUTORIAL)
    arrays = {name: a.astype(np.float32) if a.dtype.kind == "f" else a for name, a in trained.to_arrays().items()}
    np.savez_compressed(TUTORIAL.with_suffix(".npz"), **arrays)


def whole_models(seeds):
    """Lowered graphs of whole models against torch, through polynomials of 9 bits."""
    count = 0
    for group in ("mlp", "lenet", "sequence_cnn", "residual", "vgg", "encoder"):
        for seed in range(seeds):
            r = np.random.default_rng(seed)
            torch.manual_seed(seed)
            model, shape = GROUPS[group](r)
            model = model.double().train()
            x = inputs(r, shape, 200)
            reading = read(model, x, bits=9)
            assert model.training  # as it was before
            wanted = one_by_one(model.eval(), x)
            error = np.abs(reading.lowered.evaluate(x.numpy()).reshape(wanted.shape) - wanted).max() / np.abs(wanted).max()
            assert error < 0.1, (group, seed, error)
            program = torch.export.export(model, (x[:1],))
            assert repr(capture(program, x)) == repr(reading.model)
            count += 1
    return count


def write(path):
    arrays = {}
    for name, model, shape, r in cases(STORED):
        graph, x, wanted = compare(name, model, shape, r)
        arrays.update({f"{name}/{k}": v for k, v in dict(graph.to_arrays(), x=x[:3], y=wanted[:3]).items()})
    np.savez_compressed(path, **arrays)
    print(f"{len({name.split('/')[0] for name in arrays})} cases, {path.stat().st_size:,} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", type=Path, help="store small cases in this file")
    parser.add_argument("--tutorial", action="store_true", help="store the model of the tutorial beside it")
    parser.add_argument("--seeds", type=int, default=10, help="random cases of each kind of layer")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if asked.tutorial:
        return keep_tutorial()
    if asked.write:
        return write(asked.write)
    passed = failed = 0
    for name, model, shape, r in cases(asked.seeds):
        try:
            compare(name, model, shape, r)
            passed += 1
        except Exception as why:
            failed += 1
            print(f"{name}: {type(why).__name__}: {why}", flush=True)
    for check in (refusals, kinds_of_samples, few_digits, tutorial, lambda: whole_models(2)):
        try:
            passed += check()
        except Exception as why:
            failed += 1
            print(f"{type(why).__name__}: {why}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
