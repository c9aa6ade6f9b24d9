"""IMDB reviews for the recipes: token ids on the device, and the table of word vectors, which the client keeps."""

import numpy as np
import torch
from shared import folder
from torch import nn

# number of the most frequent words; others count as unknown, so that a checkpoint with Adam's moments stays below 16
# MiB
WORDS = 8192


class Reviews:
    """Training reviews as token ids, (count, tokens), and labels, on the device; the last tokens of each."""

    def __init__(self, device, tokens, limit=0):
        small = 0 < limit <= 8000
        with np.load(folder() / ("imdb_small.npz" if small else "imdb_train.npz"), allow_pickle=False) as f:
            ids, labels = (f[name][: limit or None] for name in ("x_train", "y_train"))
        self.ids, self.labels = on_device(ids, labels, tokens, device)


def test_reviews(device, tokens):
    """The 2,000 test reviews of imdb_small.npz."""
    with np.load(folder() / "imdb_small.npz", allow_pickle=False) as f:
        return on_device(f["x_test"], f["y_test"], tokens, device)


def on_device(ids, labels, tokens, device):
    ids = ids[:, -tokens:].astype(np.int64)
    ids = np.where(ids < WORDS, ids, 1)
    return torch.as_tensor(ids).to(device), torch.as_tensor(labels.astype(np.int64)).to(device)


class Words(nn.Module):
    """Word vectors: (batch, tokens) ids to (batch, tokens, width). Padding, id 0, is zeros and remains so."""

    def __init__(self, width, size=0.1):
        super().__init__()
        self.table = nn.Embedding(WORDS, width, padding_idx=0)
        nn.init.normal_(self.table.weight, std=size)
        with torch.no_grad():
            self.table.weight[0] = 0

    def forward(self, ids, dropped=0.0):
        """`dropped`: the part of the words that count as padding, in training."""
        if self.training and dropped:
            ids = torch.where(torch.rand(ids.shape, device=ids.device) < dropped, 0, ids)
        return self.table(ids)


class WithWords(nn.Module):
    """The parts that are trained: the client's table, and the network that runs encrypted on its vectors."""

    def __init__(self, words, network):
        super().__init__()
        self.words, self.network = words, network

    def forward(self, ids):
        return self.network(self.words(ids))
