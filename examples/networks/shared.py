"""Code that the recipes share: a training loop that continues from checkpoints, weights, and a record of how they were
made.

    run = Run(options("resnet20_aespa", epochs=100, batch=256, peak=0.1))
    fit(run, "student", model, loss_of, count=50_000)
    run.finish(model, accuracy(...), count=1_000)

An epoch takes its random numbers from the seed and its own number, so that a run that was interrupted between two
epochs ends with the weights of one that was not.
"""

import argparse
import datetime
import json
import math
import os
import platform
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

MOST_BYTES = 16 << 20  # the most bytes of a checkpoint
WARM = 0.2  # part of the steps in which the learning rate rises
CLIP = 1.0  # largest norm of the gradients of a step


class Stopped(SystemExit):
    """The time limit of a call has passed. The next call continues."""


def options(name, epochs, batch, peak, arguments=None, **more):
    """The options of a recipe. `more`: further ones, with their values."""
    parser = argparse.ArgumentParser(description=f"Trains {name}; needs LATTICINO_DATA, see README.md.")
    for key, value in dict(out=f"trained/{name}", seed=1, epochs=epochs, batch=batch, peak=peak, limit=0,
                           stop_after=0.0, **more).items():
        parser.add_argument("--" + key.replace("_", "-"), type=type(value), default=value)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    asked = parser.parse_args(arguments)
    asked.name = name
    return asked


class Run:
    """A running recipe: where it writes, and how long it has taken in all of its calls."""

    def __init__(self, asked):
        self.asked, self.name, self.device = asked, asked.name, torch.device(asked.device)
        self.out = Path(asked.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.start, self.before = time.monotonic(), 0.0
        self.losses = {}  # for each stage, the mean loss of each epoch
        torch.manual_seed(asked.seed)

    @property
    def seconds(self):
        return self.before + time.monotonic() - self.start

    def restore(self, stage, model, optimizer):
        """The epoch at which a stage continues."""
        path = self.out / f"{stage}.checkpoint"
        if not path.exists():
            return 0
        found = torch.load(path, map_location=self.device, weights_only=True)
        if found["recipe"] != self.recipe():
            raise SystemExit(f"{path} is of a run with other options: {found['recipe']}; take another --out")
        model.load_state_dict(found["model"])
        optimizer.load_state_dict(found["optimizer"])
        self.before = max(self.before, found["seconds"])
        self.losses[stage] = found["losses"]
        return found["epoch"]

    def keep(self, stage, epoch, model, optimizer):
        """Writes a checkpoint, which replaces the one before."""
        path = self.out / f"{stage}.checkpoint"
        torch.save({"recipe": self.recipe(), "epoch": epoch, "seconds": self.seconds, "losses": self.losses[stage],
                    "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path.with_suffix(".new"))
        size = path.with_suffix(".new").stat().st_size
        if size > MOST_BYTES:
            raise SystemExit(f"a checkpoint of {size:,} bytes, more than {MOST_BYTES:,}: take a smaller network")
        os.replace(path.with_suffix(".new"), path)
        if self.asked.stop_after and time.monotonic() - self.start > self.asked.stop_after:
            raise Stopped(f"stopped after epoch {epoch} of {stage}: the same command goes on")

    def recipe(self):
        """The options that decide the result."""
        return {k: v for k, v in vars(self.asked).items() if k not in ("out", "stop_after", "device")}

    def finish(self, model, correct, count, **more):
        """Writes NAME.npz, with the arrays of the state dictionary in float32, and NAME.json, and prints their content.
        """
        state = {k: v for k, v in model.state_dict().items() if v.is_floating_point()}
        arrays = {k: v.detach().float().cpu().numpy() for k, v in state.items()}
        np.savez_compressed(self.out / f"{self.name}.npz", **arrays)
        cuda = self.device.type == "cuda"
        record = {**self.recipe(), "losses": self.losses, "correct": correct, "tested": count,
                  "accuracy": correct / count,
                  "parameters": sum(p.numel() for p in model.parameters()), "seconds": round(self.seconds, 1),
                  "hardware": torch.cuda.get_device_name() if cuda else platform.processor() or platform.machine(),
                  "torch": torch.__version__, "date": datetime.date.today().isoformat(), **more}
        (self.out / f"{self.name}.json").write_text(json.dumps(record, indent=2) + "\n")
        print(f"{self.name}: {correct} of {count} right after {self.seconds:.0f} s; {self.out}/{self.name}.npz")
        return record


def fit(run, stage, model, loss_of, count, epochs=None, peak=None, last=None, decay=5e-4, adam=False, before=None,
        after=None, check=None):
    """Trains a model for all epochs of a stage.

    ``loss_of(model, index)``: the loss of the training samples with these numbers. ``last``: (epochs, function): what
    is done to the model before each of so many last epochs. ``before(model, done)``: before each step, with the share
    of the steps that are done. ``after(model)``: after each step. ``check(model)``: a word on the model in
    `eval`, shown after every tenth epoch.
    """
    asked, epochs = run.asked, run.asked.epochs if epochs is None else epochs
    peak = asked.peak if peak is None else peak
    batch = min(asked.batch, count)
    steps = count // batch
    optimizer = optimizer_of(model, decay, adam)
    gradients = Gradients(model, loss_of, batch, run.device)
    for epoch in range(run.restore(stage, model, optimizer), epochs):
        model.train()
        if last is not None and epoch >= epochs - last[0]:
            last[1](model)
            if epoch == epochs - last[0]:
                gradients.forget()
        gradients.record()
        torch.manual_seed(1_000_003 * asked.seed + epoch)
        order = torch.randperm(count).to(run.device)
        total = torch.zeros((), device=run.device)
        for k in range(steps):
            done = (epoch * steps + k) / (epochs * steps)
            for group in optimizer.param_groups:
                group["lr"] = rate(done, peak)
            if before is not None:
                before(model, done)
            total += gradients(order[k * batch : (k + 1) * batch])
            nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()
            if after is not None:
                after(model)
        mean = float(total) / steps
        if not math.isfinite(mean):
            raise SystemExit(f"{stage}: the loss is {mean} in epoch {epoch + 1}: take a smaller --peak")
        more = f", {check(model.eval())}" if check is not None and (epoch + 1) % 10 == 0 else ""
        print(f"{stage} {epoch + 1}/{epochs}: loss {mean:.4f}{more}, {run.seconds:.0f} s", flush=True)
        run.losses.setdefault(stage, []).append(round(mean, 4))
        run.keep(stage, epoch + 1, model, optimizer)
    return model.eval()


class Gradients:
    """The loss of a batch, and its gradients in the parameters.

    On a GPU the kernels of one batch are recorded once and then replayed, as networks of this size take longer to
    launch than to compute. A recording keeps the mode that the layers had, and no host code runs in it: `forget` drops
    it where layers changed.
    """

    def __init__(self, model, loss_of, batch, device):
        self.model, self.loss_of = model, loss_of
        self.replayed, self.graph = device.type == "cuda", None
        self.index = torch.arange(batch, device=device)

    def forget(self):
        self.graph = None

    def record(self):
        """Records a batch if none is recorded. Changes neither parameters nor statistics."""
        if not self.replayed or self.graph is not None:
            return
        kept = {name: value.clone() for name, value in self.model.state_dict().items()}
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):  # libraries choose kernels and take memory outside of the recording
            for _ in range(3):
                self.compute()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        self.model.zero_grad(set_to_none=True)  # frees their gradients outside of the recording, too
        with torch.cuda.graph(self.graph):
            self.loss = self.compute()
        self.model.load_state_dict(kept)

    def compute(self):
        self.model.zero_grad(set_to_none=True)
        loss = self.loss_of(self.model, self.index)
        loss.backward()
        return loss.detach()

    def __call__(self, index):
        if not self.replayed:
            self.index = index
            return self.compute()
        self.index.copy_(index)
        self.graph.replay()
        return self.loss


def optimizer_of(model, decay, adam):
    """SGD with Nesterov momentum, or AdamW. Weight decay applies to matrices and kernels, and not to parameters of
    activations."""
    kept = {id(p) for m in model.modules() if getattr(m, "undecayed", False) for p in m.parameters(recurse=False)}
    every = [p for p in model.parameters() if p.requires_grad]
    heavy = [p for p in every if p.ndim > 1 and id(p) not in kept]
    names = {id(p) for p in heavy}
    light = [p for p in every if id(p) not in names]
    groups = [{"params": heavy, "weight_decay": decay}, {"params": light, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1.0) if adam else torch.optim.SGD(groups, lr=1.0, momentum=0.9, nesterov=True)


def rate(done, peak):
    """One cycle of the learning rate: it rises linearly, and falls along a cosine to a thousandth."""
    if done < WARM:
        return peak * (0.04 + 0.96 * done / WARM)
    return peak * (0.001 + 0.999 * (1 + math.cos(math.pi * (done - WARM) / (1 - WARM))) / 2)


def load(model, path):
    """The model with the weights of a recipe's .npz file, in `eval`. Their names are those of its state dictionary."""
    with np.load(path, allow_pickle=False) as f:
        state = {name: torch.as_tensor(f[name]) for name in f.files}
    # Counts of batches, which nothing reads, were left out.
    counts = {k: v for k, v in model.state_dict().items() if not v.is_floating_point()}
    model.load_state_dict({**state, **counts})
    return model.eval()


def folder():
    where = os.environ.get("LATTICINO_DATA")
    if not where:
        raise SystemExit("set LATTICINO_DATA to the folder with the training data: see README.md")
    return Path(where)


def correct_of(model, inputs, labels, at_once=500):
    """The number of labels that a model predicts correctly, in float32: (count, ...) tensors. A single output is the
    logit of label 1."""
    found = 0
    with torch.no_grad():
        for x, y in zip(inputs.split(at_once), labels.split(at_once)):
            scores = model(x)
            found += int(((scores[:, 0] > 0) == y if scores.shape[1] == 1 else scores.argmax(1) == y).sum())
    return found
