"""Runs the recipes of examples/networks on a few generated images and reviews, and compiles what they train.

    ./latticino test --more networks            # with torch pinned for this part

Of each recipe: losses fall; a run that stops after an epoch and goes on ends with the same weights; what it wrote is
read again; the network of the recipe compiles, and its shadow is what torch computes; so does what the demo builds.
"""

import contextlib
import importlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "examples" / "networks")]

import latticino as lt  # noqa: E402 - the checkout's
from latticino.nn import reference  # noqa: E402
from latticino.workloads import trained  # noqa: E402

COUNT = 64
# Options of a tiny run, the arguments of the network for the comparison, and the number of calibration inputs.
CASES = {
    "resnet20_aespa": (["--epochs", "4", "--teacher-epochs", "1", "--settle", "2", "--batch", "16", "--peak", "0.02",
                        "--width", "4"], (4,)),
    "squeezenet": (["--epochs", "4", "--teacher-epochs", "0", "--settle", "2", "--batch", "16", "--peak", "0.02",
                    "--width", "8"], (8,)),
    "rnn": (["--epochs", "4", "--batch", "16", "--steps", "12", "--width", "16", "--peak", "0.02"], (12, 16)),
    "transformer": (["--epochs", "4", "--batch", "16", "--tokens", "8", "--width", "16", "--heads", "2", "--layers", "1",
                     "--peak", "0.02"], (8, 16, 2, 1))}


def generated(where):
    """Files of the form of the real data: classes of images differ in colour, reviews in their words."""
    r = np.random.default_rng(0)
    for name, count in (("cifar10_train_1", COUNT), ("cifar10_test_1k", 20)):
        y = r.integers(0, 10, count).astype(np.uint8)
        x = np.random.default_rng(1).integers(0, 200, (10, 1, 1, 3))[y] + r.integers(0, 56, (count, 32, 32, 3))
        np.savez(where / f"{name}.npz", x=x.astype(np.uint8), y=y)
    arrays = {}
    for name, count in (("train", COUNT), ("test", 20)):
        y = r.integers(0, 2, count).astype(np.uint8)
        arrays[f"x_{name}"] = (r.integers(0, 2000, (count, 200)) + 2000 * y.astype(int)[:, None]).astype(np.uint16)
        arrays[f"y_{name}"] = y
    np.savez(where / "imdb_small.npz", **arrays)


def run(recipe, out, *more):
    """A tiny run into a folder: its losses and weights, or None if it stopped on the way."""
    arguments = [*CASES[recipe.__name__][0], "--limit", str(COUNT), "--device", "cpu", "--out", str(out), *more]
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            recipe.main(arguments)
        except SystemExit as why:
            if type(why).__name__ != "Stopped":
                raise
            return None
    record = json.loads((out / f"{recipe.__name__}.json").read_text())
    with np.load(out / f"{recipe.__name__}.npz") as f:
        return record, {name: f[name] for name in f.files}


def trains(recipe, out):
    """The losses fall, and stops on the way change nothing."""
    record, whole = run(recipe, out / "whole")
    for stage, losses in record["losses"].items():
        # In the last epoch of other stages, norms are frozen with the statistics of a few batches here.
        last = losses[-1] if stage == "settled" else losses[-2:][0]
        assert len(losses) == 1 or last < losses[0], (stage, losses)
    assert record["tested"] == 20 and 0 <= record["correct"] <= 20 and record["hardware"]
    calls = [run(recipe, out / "parts", "--stop-after", "1e-9")]
    while calls[-1] is None and len(calls) < 9:
        calls.append(run(recipe, out / "parts", "--stop-after", "1e-9"))
    parts = calls[-1]
    assert parts is not None and len(calls) > 1, "it did not stop on the way"
    assert parts[0]["losses"] == record["losses"]
    assert whole.keys() == parts[1].keys() and all(np.array_equal(whole[k], parts[1][k]) for k in whole)
    try:
        run(recipe, out / "whole", "--seed", "5")
    except SystemExit as why:
        assert "other options" in str(why)
    else:
        raise AssertionError("a checkpoint of another seed was taken")


def compiles(recipe, out):
    """Compiles what was trained, read from its file. The shadow's result is torch's."""
    shared, sizes = importlib.import_module("shared"), CASES[recipe.__name__][1]
    name, x = recipe.__name__, inputs(recipe, sizes)
    model = recipe.network(*sizes)
    path = out / "whole" / f"{name}.npz"
    if hasattr(recipe, "whole"):
        whole = shared.load(recipe.whole(*sizes), path)
        model, x = whole.network, whole.words(x).detach()
    else:
        model = shared.load(model, path)
    enc = lt.nn.compile(model, x[:1], calibration=x.double().numpy(), preset="n16-d45-boot-v1", device="cuda")
    with torch.no_grad():
        wanted = model.double()(x[:4].double()).numpy().reshape(4, -1)
    shadow = enc.shadow(x[:4].double().numpy()).reshape(4, -1)
    error = np.abs(shadow - wanted).max() / np.abs(wanted).max()
    assert error < 1e-6, error


def is_built(recipe, out):
    """The network of the demo, built without torch from the same file, computes what the recipe's does."""
    shared, sizes, name = importlib.import_module("shared"), CASES[recipe.__name__][1], recipe.__name__
    module, path, x = importlib.import_module(f"latticino.workloads.{name}"), out / "whole" / f"{name}.npz", inputs(recipe, sizes)
    w, whole = trained.read(path), hasattr(recipe, "whole")
    model = shared.load((recipe.whole if whole else recipe.network)(*sizes), path).double()
    with torch.no_grad():
        wanted = model(x if whole else x.double()).numpy()
    graph = module.network(w, sizes[0]) if name == "rnn" else module.network(w)
    error = np.abs(reference.run(graph, module.WORKLOAD.prepared(w, x.numpy()) if whole else x.numpy()) - wanted).max()
    assert error < 1e-9 * np.abs(wanted).max(), error


def plans(recipe, out):
    """The plan of random weights: products of encrypted matrices as such, and the shadow is torch's result."""
    del out
    if recipe.__name__ != "transformer":
        return
    with contextlib.redirect_stdout(io.StringIO()):
        made, off = importlib.import_module("plan").main(["--tokens", "16", "--width", "16", "--layers", "1", "--inputs", "8"])
    assert off < 1e-6 and any("matmul" in layer.operations for layer in made.layers), (off, made)


def inputs(recipe, sizes):
    device = torch.device("cpu")
    if hasattr(recipe, "whole"):
        return importlib.import_module("imdb").Reviews(device, sizes[0], 32).ids
    cifar = importlib.import_module("cifar")
    return cifar.normalised(cifar.Images(device, 12).bytes[:, :, 4:36, 4:36])


def main():
    torch.set_num_threads(1)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LATTICINO_DATA"] = folder
        generated(Path(folder))
        for name in sys.argv[1:] or CASES:
            recipe = importlib.import_module(name)
            for check in (trains, compiles, is_built, plans):
                try:
                    check(recipe, Path(folder) / name)
                    passed += 1
                except Exception as why:
                    failed += 1
                    print(f"{name}: {check.__name__}: {type(why).__name__}: {why}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
