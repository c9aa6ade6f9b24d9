"""CIFAR-10 for the recipes: images on the device, a teacher with ReLUs, and students that learn from it."""

import functools

import numpy as np
import torch
from layers import cut_at, fade, freeze_norms, penalty
from shared import correct_of, fit, folder
from torch import nn
from torch.nn import functional as F

MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
SHARE, WARMTH = 0.8, 3.0  # weight of the teacher's scores in the loss, and their temperature
# Options of a student: the weight of the penalty, the part of the steps in which ReLUs become polynomials, and where
# values are cut off; then the same for the last epochs.
BOUNDS = {"penalty": 0.0005, "fade": 0.5, "end": 5.0, "settle": 20, "settle_peak": 0.01,
          "settle_penalty": 0.001, "settle_end": 20.0}
NOISE, FROZEN = 2.0**-12, 0.05  # errors of activations in the last epochs, and the part of these epochs


class Images:
    """Training images as bytes on the device, (count, 3, 32, 32), with four pixels of reflected border."""

    def __init__(self, device, limit=0):
        parts = [np.load(folder() / f"cifar10_train_{k}.npz", allow_pickle=False) for k in
                 ((1,) if 0 < limit <= 10_000 else range(1, 6))]
        x, y = (np.concatenate([part[name] for part in parts])[: limit or None] for name in "xy")
        self.labels = torch.as_tensor(y.astype(np.int64)).to(device)
        plain = torch.as_tensor(x).permute(0, 3, 1, 2).to(device)
        self.bytes = torch.cat([F.pad(part.float(), (4, 4, 4, 4), mode="reflect").byte() for part in plain.split(5000)])

    def batch(self, index):
        """Random crops, half of them mirrored, normalised: (batch, 3, 32, 32)."""
        n, device = len(index), index.device
        row, column = (torch.randint(0, 9, (n, 1), device=device) + torch.arange(32, device=device) for _ in range(2))
        column = torch.where(torch.rand(n, 1, device=device) < 0.5, column.flip(1), column)
        x = self.bytes[index[:, None, None, None], torch.arange(3, device=device)[:, None, None], row[:, None, :, None],
                       column[:, None, None, :]]
        return normalised(x)


@functools.cache
def statistics(device):
    """Mean and deviation of the channels. They are kept on the device, because a recording must not copy anything to a
    GPU."""
    return tuple(torch.tensor(v, device=device).reshape(3, 1, 1) for v in (MEAN, DEVIATION))


def normalised(x):
    mean, deviation = statistics(x.device)
    return ((x.float() / 255 - mean) / deviation).contiguous(memory_format=torch.channels_last)


def test_images(device):
    """The 1,000 test images, normalised, and their labels."""
    with np.load(folder() / "cifar10_test_1k.npz", allow_pickle=False) as f:
        return (normalised(torch.as_tensor(f["x"]).permute(0, 3, 1, 2).to(device)),
                torch.as_tensor(f["y"].astype(np.int64)).to(device))


def half_precision(device):
    """Convolutions in bfloat16 on a GPU."""
    return torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda")


def train(run, student, teacher):
    """The teacher on labels, the student on the teacher's scores and labels, and the student's files.

    `BOUNDS` are the options of the student. In the epochs of ``--settle`` it trains as it will run: norms are frozen,
    and the limit at which values are cut off is so large that it is hardly ever reached. So it learns to keep values
    small without the limit. Without epochs of the teacher (``--teacher-epochs 0``) the student learns from smoothed
    labels alone.
    """
    asked, images = run.asked, Images(run.device, run.asked.limit)
    count = len(images.labels)
    student, teacher = (m.to(run.device, memory_format=torch.channels_last) for m in (student, teacher))

    def of_teacher(model, index):
        with half_precision(run.device):
            scores = model(images.batch(index))
        return F.cross_entropy(scores.float(), images.labels[index])

    def of_student(model, index, weight=asked.penalty):
        x, labels = images.batch(index), images.labels[index]
        with half_precision(run.device):
            scores = model(x).float()
            if asked.teacher_epochs:
                with torch.no_grad():
                    wanted = F.softmax(teacher(x).float() / WARMTH, 1)
        if not asked.teacher_epochs:
            return F.cross_entropy(scores, labels, label_smoothing=0.1) + weight * penalty(model)
        soft = F.kl_div(F.log_softmax(scores / WARMTH, 1), wanted, reduction="batchmean") * WARMTH**2
        return SHARE * soft + (1 - SHARE) * F.cross_entropy(scores, labels) + weight * penalty(model)

    test, labels = test_images(run.device)

    def right(model):
        return f"{correct_of(model, test, labels)} of {len(labels)} right"

    more = {}
    if asked.teacher_epochs:
        fit(run, "teacher", teacher, of_teacher, count, asked.teacher_epochs, check=right)
        more["teacher_accuracy"] = correct_of(teacher, test, labels) / len(labels)

    def last(epochs):
        return max(1, round(FROZEN * epochs)), lambda model: freeze_norms(model, NOISE)

    def softer(model, done):
        fade(model, max(0.0, 1 - done / asked.fade) if asked.fade else 0.0)

    cut_at(student, asked.end)
    fit(run, "student", student, of_student, count, last=last(asked.epochs), before=softer, check=right)
    if asked.settle:
        cut_at(student, asked.settle_end)
        settling = functools.partial(of_student, weight=asked.settle_penalty)
        fit(run, "settled", student, settling, count, asked.settle, asked.settle_peak,
            last=(asked.settle, lambda model: freeze_norms(model, NOISE)), check=right)
    return run.finish(student, correct_of(student, test, labels), len(labels), trained_on=count, **more)


class Block(nn.Module):
    """Two convolutions and a shortcut without weights: `act(channels)` makes an activation with its normalisation."""

    def __init__(self, channels, out, stride, act):
        super().__init__()
        self.conv1, self.act1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False), act(out)
        self.conv2, self.norm, self.act2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out), act(out)
        self.stride, self.more = stride, (out - channels) // 2

    def forward(self, x):
        y = self.norm(self.conv2(self.act1(self.conv1(x))))
        if self.stride > 1:  # every second pixel, and channels of zeros on both sides
            x = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.more, self.more))
        return self.act2(x + y)


class ResNet20(nn.Module):
    """He et al.'s network for CIFAR-10, of 16, 32 and 64 channels at `width` 16. (batch, 3, 32, 32) to (batch, 10)."""

    def __init__(self, act, width=16):
        super().__init__()
        self.conv, self.act = nn.Conv2d(3, width, 3, 1, 1, bias=False), act(width)
        sizes = [width << stage for stage in range(3) for _ in range(3)]
        self.blocks = nn.Sequential(*(Block(a, b, 1 + (b > a), act) for a, b in zip([width, *sizes], sizes)))
        self.linear = nn.Linear(sizes[-1], 10)

    def forward(self, x):
        return self.linear(self.blocks(self.act(self.conv(x))).mean((2, 3)))


def relu(channels):
    return nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU())


def teacher(width=32):
    """A ResNet-20 of twice the width, with ReLUs, which never runs encrypted."""
    return ResNet20(relu, width)
