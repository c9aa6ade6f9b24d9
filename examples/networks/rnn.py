"""A recurrent network of 200 steps and width 128 for IMDB reviews, its activation a polynomial of degree 3.

    python examples/networks/rnn.py --out trained/rnn

The client looks word vectors up in a table that holds them already multiplied by the input weights. Encrypted, 32
reviews lie side by side: `lt.nn.compile(network, vectors[:1], calibration=vectors, images=32)`.
"""

import imdb
import torch
from layers import Cubic
from shared import Run, correct_of, fit, options
from torch import nn
from torch.nn import functional as F

STEPS, WIDTH = 200, 128
DROPPED = 0.3  # part of the words that are left out in training
PENALTY = 1.0
KEPT = 0.98  # factor of a state from step to step at the beginning: the network starts as a sum of its words
NOISE, FROZEN = 2.0**-12, 0.1


class Rnn(nn.Module):
    """``h[t] = p(W h[t - 1] + x[t])``, then one linear layer: (batch, steps, width) to (batch, 1)."""

    def __init__(self, steps=STEPS, width=WIDTH):
        super().__init__()
        self.steps, self.state, self.act = steps, nn.Linear(width, width, bias=False), Cubic()
        self.last, self.penalty = nn.Linear(width, 1), None
        with torch.no_grad():
            self.state.weight.copy_(KEPT * torch.eye(width) + torch.randn(width, width) * (0.01 / width**0.5))

    def forward(self, x):
        h, beyond = self.act(x[:, 0]), []
        for t in range(1, self.steps):
            before = self.state(h) + x[:, t]
            h = self.act(before)
            if self.training:
                beyond.append(self.act.beyond(before))
        if beyond:
            self.penalty = torch.stack(beyond).mean()
        return self.last(h)


def network(steps=STEPS, width=WIDTH):
    return Rnn(steps, width)


def whole(steps=STEPS, width=WIDTH):
    """The client's table and the network, as they are trained and stored."""
    return imdb.WithWords(imdb.Words(width), network(steps, width))


def sample(count, steps=STEPS, width=WIDTH):
    """Word vectors of training reviews, of a table before training."""
    reviews = imdb.Reviews(torch.device("cpu"), steps, count)
    return imdb.Words(width)(reviews.ids).detach()


def bounded(model):
    """Divides the matrix by its largest singular value where that exceeds 1, so that states do not grow."""
    weight = model.network.state.weight
    with torch.no_grad():
        weight /= torch.linalg.matrix_norm(weight, 2).clamp(min=1.0)


def main(arguments=None):
    run = Run(options("rnn", 20, 250, 2e-3, arguments, steps=STEPS, width=WIDTH))
    asked = run.asked
    reviews = imdb.Reviews(run.device, asked.steps, asked.limit)
    model = whole(asked.steps, asked.width).to(run.device)
    bounded(model)

    def loss_of(model, index):
        scores = model.network(model.words(reviews.ids[index], DROPPED))[:, 0]
        wanted = reviews.labels[index].float() * 0.9 + 0.05  # smoothed labels
        beyond, model.network.penalty = model.network.penalty, None
        return F.binary_cross_entropy_with_logits(scores, wanted) + PENALTY * beyond

    def with_errors(model):
        model.network.act.noise = NOISE

    fit(run, "rnn", model, loss_of, len(reviews.labels), last=(max(1, round(FROZEN * asked.epochs)), with_errors),
        decay=1e-2, adam=True, after=bounded)
    ids, labels = imdb.test_reviews(run.device, asked.steps)
    return run.finish(model, correct_of(model, ids, labels), len(labels), trained_on=len(reviews.labels))


if __name__ == "__main__":
    main()
