"""A transformer encoder of 2 layers, width 128 and 128 tokens for IMDB reviews, without softmax and layer norm.

    python examples/networks/transformer.py --out trained/transformer

Batch norm takes the place of layer norm, and squares of shifted scores, divided by the number of tokens, that of
softmax: neither a division nor an exponential is left. The client looks up word vectors and adds those of positions.
"""

import imdb
import torch
from layers import freeze_norms, penalty
from shared import Run, correct_of, fit, options
from torch import nn
from torch.nn import functional as F

LAYERS, TOKENS, WIDTH, HEADS = 2, 128, 128, 4
DROPPED = 0.2  # part of the words that are left out in training
PENALTY, SPREAD = 0.1, 4.0


class Norm(nn.Module):
    """Batch norm of (batch, tokens, width), with one mean and deviation for each entry of the width."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.penalty = nn.BatchNorm1d(width), None

    def forward(self, x):
        y = self.norm(x.transpose(1, 2)).transpose(1, 2)
        if self.training:
            self.penalty = F.relu(y.abs() - SPREAD).square().mean()
        return y


class Attention(nn.Module):
    """Weights ``(scores + shift)^2 / tokens`` for each head."""

    def __init__(self, width, heads, tokens):
        super().__init__()
        self.heads, self.tokens, self.each = heads, tokens, width // heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.shift = nn.Parameter(torch.ones(heads, 1, 1))

    def forward(self, x):
        q, k, v = (part(x).reshape(-1, self.tokens, self.heads, self.each).transpose(1, 2)
                   for part in (self.query, self.key, self.value))
        weights = (q @ k.transpose(2, 3) / self.each**0.5 + self.shift).square() / self.tokens
        return self.out((weights @ v).transpose(1, 2).reshape(-1, self.tokens, self.heads * self.each))


class Square(nn.Module):
    """``a x^2 + b x`` with learned coefficients for each entry of the width."""

    undecayed = True

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([[0.25], [0.5]]).repeat(1, width))

    def forward(self, x):
        return self.weight[0] * x * x + self.weight[1] * x


class Layer(nn.Module):
    """Attention and two linear layers, each added to its input."""

    def __init__(self, width, heads, tokens):
        super().__init__()
        self.norm1, self.attention, self.norm2 = Norm(width), Attention(width, heads, tokens), Norm(width)
        self.first, self.second = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm3, self.act = Norm(2 * width), Square(2 * width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.second(self.act(self.norm3(self.first(self.norm2(x)))))


class Transformer(nn.Module):
    """(batch, tokens, width) to (batch, 1): the mean of the layers' results over the tokens."""

    def __init__(self, tokens=TOKENS, width=WIDTH, heads=HEADS, layers=LAYERS):
        super().__init__()
        self.layers = nn.Sequential(*(Layer(width, heads, tokens) for _ in range(layers)))
        self.norm, self.last = Norm(width), nn.Linear(width, 1)

    def forward(self, x):
        return self.last(self.norm(self.layers(x)).mean(1))


class Positions(nn.Module):
    """Word vectors plus those of positions, on the client."""

    def __init__(self, tokens, width):
        super().__init__()
        self.words, self.places = imdb.Words(width), nn.Parameter(torch.randn(tokens, width) * 0.02)

    def forward(self, ids, dropped=0.0):
        return self.words(ids, dropped) + self.places


def network(tokens=TOKENS, width=WIDTH, heads=HEADS, layers=LAYERS):
    return Transformer(tokens, width, heads, layers)


def whole(tokens=TOKENS, width=WIDTH, heads=HEADS, layers=LAYERS):
    """The client's tables and the network, as they are trained and stored."""
    return imdb.WithWords(Positions(tokens, width), network(tokens, width, heads, layers))


def sample(count, tokens=TOKENS, width=WIDTH, *_):
    """Vectors of training reviews, of tables before training."""
    reviews = imdb.Reviews(torch.device("cpu"), tokens, count)
    return Positions(tokens, width)(reviews.ids).detach()


def main(arguments=None):
    run = Run(options("transformer", 12, 125, 1e-3, arguments, tokens=TOKENS, width=WIDTH, heads=HEADS, layers=LAYERS))
    asked = run.asked
    reviews = imdb.Reviews(run.device, asked.tokens, asked.limit)
    model = whole(asked.tokens, asked.width, asked.heads, asked.layers).to(run.device)

    def loss_of(model, index):
        scores = model.network(model.words(reviews.ids[index], DROPPED))[:, 0]
        wanted = reviews.labels[index].float() * 0.9 + 0.05
        return F.binary_cross_entropy_with_logits(scores, wanted) + PENALTY * penalty(model)

    def frozen(model):
        freeze_norms(model, 0.0)

    fit(run, "transformer", model, loss_of, len(reviews.labels), last=(max(1, asked.epochs // 10), frozen), decay=0.05,
        adam=True)
    ids, labels = imdb.test_reviews(run.device, asked.tokens)
    return run.finish(model, correct_of(model, ids, labels), len(labels), trained_on=len(reviews.labels))


if __name__ == "__main__":
    main()
