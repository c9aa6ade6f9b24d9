"""`latticino demo trees`: boosted trees on digits and a forest on breast cancer data, encrypted and in the clear."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import errors, nn
from ..common import display
from ..common.progress_bar import track
from ..key_generation import keygen
from ..nn.forests.comparing import classes_of

ENCRYPTED = 10  # number of test inputs that run encrypted
_TEST = 0.3  # fraction of the data for tests


@dataclass
class Task:
    """A model with the data that it was not trained on."""

    name: str
    dataset: str
    model: Any
    x_train: np.ndarray
    x: np.ndarray
    y: np.ndarray


@dataclass
class Row:
    """The measurements of a model."""

    task: str
    dataset: str
    plan: nn.NetworkPlan
    inputs: int
    accuracy: float
    shadow_accuracy: float
    device: str
    device_name: str = ""
    seconds: list[float] = field(default_factory=list)
    equal: int = 0  # number of encrypted runs whose class equals that of the shadow
    right: int = 0  # and that of the data
    # error of encrypted scores compared with the shadow's: the worst one, relative to the largest score
    error: float = 0.0
    bits: float = 0.0  # bits of the mean of these errors, relative to the bound of scores, as in the plan
    key_bytes: int = 0
    peak_bytes: int = 0
    compiling: float = 0.0  # seconds that compiling took
    keys: float = 0.0
    # scores of the test inputs, shape (inputs, scores): of the model, of the shadow, and of those that ran encrypted
    scores: tuple[np.ndarray, ...] = (np.zeros((0, 1)),) * 3


def tasks() -> list[Task]:
    """Trains the models, in a few seconds. UnsupportedError without scikit-learn."""
    try:
        from sklearn.datasets import load_breast_cancer, load_digits
        from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
        from sklearn.model_selection import train_test_split
    except ImportError as why:
        raise errors.UnsupportedError.explain(
            "demo trees", "no scikit-learn", "its models and data", errors.install("demo")) from why
    boosted = GradientBoostingClassifier(n_estimators=30, max_depth=2, learning_rate=0.3, random_state=0)
    forest = RandomForestClassifier(40, max_depth=5, random_state=0)
    out = []
    for name, title, data, model in (("boosted trees", "digits 8x8", load_digits(), boosted),
                                     ("forest", "breast cancer", load_breast_cancer(), forest)):
        x, x_test, y, y_test = train_test_split(data.data, data.target, test_size=_TEST, random_state=0,
                                                stratify=data.target)
        out.append(Task(name, title, model.fit(x, y), x, x_test, y_test))
    return out


def run(preset: str | None = None, device: str | None = None, encrypted: int = ENCRYPTED,
        threads: int = 0) -> list[Row]:
    """Compiles each model, measures its accuracy, runs some test inputs encrypted, and prints a table."""
    rows = []
    for task in tasks():
        start = time.monotonic()
        enc = nn.compile(task.model, calibration=task.x_train, preset=preset, device=device)
        enc.threads = threads
        took = time.monotonic() - start
        print(f"{task.name} on {task.dataset}: compiled in {took:.0f} s\n{enc.plan}\n", flush=True)
        rows.append(_measured(task, enc, min(encrypted, len(task.x))))
        rows[-1].compiling = took
    _print(rows)
    return rows


def _measured(task: Task, enc: nn.Compiled, encrypted: int) -> Row:
    shadow = enc.shadow(task.x)
    row = Row(task.name, task.dataset, enc.plan, len(task.x), float(task.model.score(task.x, task.y)),
              float(np.mean(classes_of(shadow) == task.y)), enc.context.device, enc.context._native.device["name"])
    row.scores = (scores_of(task), shadow, shadow[:0])
    if not encrypted:
        return row
    start = time.monotonic()
    client = keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    row.keys = time.monotonic() - start
    keys = enc.context.keys
    row.key_bytes = 0 if keys is None else keys.bytes
    most, wrong = float(np.abs(shadow).max()), np.zeros((encrypted, *shadow.shape[1:]))
    for k in track(range(encrypted), f"{task.name}, encrypted"):
        question, answer = enc.encrypt(client, task.x[k]), None  # an answer that is kept is no memory of the next run
        enc.context.reset_peak()
        start = time.monotonic()
        answer = enc(question)
        enc.context.synchronize()
        row.seconds.append(time.monotonic() - start)
        row.peak_bytes = max(row.peak_bytes, enc.context.peak_bytes)
        got = enc.decrypt(client, answer).unmarked()
        wrong[k] = got - shadow[k]
        row.equal += bool(classes_of(got[None])[0] == classes_of(shadow[k : k + 1])[0])
        row.right += bool(classes_of(got[None])[0] == task.y[k])
    row.error = float(np.abs(wrong).max()) / most
    row.bits = enc._bits_of_results(wrong)
    row.scores = (*row.scores[:2], shadow[:encrypted] + wrong)
    return row


def scores_of(task: Task) -> np.ndarray:
    """The model's own scores of the test inputs, of the kind that the shadow gives: shape (inputs, scores)."""
    model = task.model
    found = (model.decision_function if hasattr(model, "decision_function") else model.predict_proba)(task.x)
    return np.asarray(found).reshape(len(task.x), -1)


def _print(rows: list[Row]) -> None:
    print(f"{'model':>14} {'data':>14} {'clear':>7} {'shadow':>7} {'encrypted':>10} {'as shadow':>10} {'a run':>9} "
          f"{'predicted':>10} {'levels':>7} {'bits':>6} {'predicted':>10}  preset")
    for r in rows:
        ran = len(r.seconds)
        right = f"{r.right} of {ran}" if ran else "-"
        same = f"{r.equal} of {ran}" if ran else "-"
        took = display.seconds(float(np.median(r.seconds))) if ran else "-"
        bits = f"{r.bits:.1f}" if ran else "-"
        print(f"{r.task:>14} {r.dataset:>14} {r.accuracy:>7.1%} {r.shadow_accuracy:>7.1%} {right:>10} {same:>10} "
              f"{took:>9} {display.seconds(r.plan.seconds):>10} {r.plan.level:>7} {bits:>6} {r.plan.bits:>10.1f}  "
              f"{r.plan.preset}")
    print("clear, shadow: share of the test data that is classified right; bits: of the mean error of encrypted scores "
          "to the shadow's, relative to the largest score with its margin, as those of the plan")


def verdict(rows: list[Row]) -> int:
    """0 if encrypted runs gave the classes of the shadow, and shadows are as accurate as the models within a point."""
    for r in rows:
        if r.equal < len(r.seconds) or abs(r.accuracy - r.shadow_accuracy) > 0.01:
            print(f"{r.task} on {r.dataset}: classes differ from those in the clear", file=sys.stderr)
            return 1
    return 0


def row(r: Row) -> dict[str, Any]:
    """The measurements of a model as a row of a record; UnsupportedError if nothing ran encrypted."""
    if not r.seconds:
        raise errors.UnsupportedError.explain("demo trees", "--record, and no input that ran encrypted", "one or more",
                                              "leave --encrypted out")
    return {"name": "trees.input", "value": 1e3 * float(np.median(r.seconds)), "unit": "ms",
            "median_of": len(r.seconds), "low": 1e3 * min(r.seconds), "high": 1e3 * max(r.seconds),
            "device": r.device_name, "backend": r.device.partition(":")[0], "mode": "replayed", "preset": r.plan.preset,
            "params": {"batch": 1, "model": r.task, "dataset": r.dataset, "inputs": r.inputs,
                       "predicted_ms": 1e3 * r.plan.seconds, "level": r.plan.level},
            "accuracy": r.shadow_accuracy, "clear_accuracy": r.accuracy, "bootstraps": r.plan.bootstraps,
            "key_bytes": r.key_bytes, "peak_bytes": r.peak_bytes, "predicted_peak_bytes": r.plan.peak_bytes,
            "score_error": r.error, "score_bits": r.bits,
            "predicted_bits": r.plan.bits, "equal_classes": r.equal, "compile_s": r.compiling, "keys_s": r.keys,
            "first_s": r.seconds[0]}


def plot(rows: list[Row], path: Path) -> None:
    """Draws, for each model, scores against those of the model in the clear, and how far encrypted ones are from the
    shadow's."""
    from .demo import require_plots

    require_plots()
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(rows), figsize=(5.5 * len(rows), 8), layout="constrained", squeeze=False)
    for r, top, bottom in zip(rows, *axes):
        clear, shadow, got = r.scores
        ran = len(got)
        ends = [float(clear.min()), float(clear.max())]
        top.plot(ends, ends, color="0.6", lw=1, zorder=0)
        top.plot(clear.reshape(-1), shadow.reshape(-1), ".", ms=3, color="0.7", label=f"shadow, {len(clear)} inputs")
        top.plot(clear[:ran].reshape(-1), got.reshape(-1), ".", ms=6, color="C0", label=f"encrypted, {ran} inputs")
        top.set(xlabel="score of the model in the clear", ylabel="score",
                title=f"{r.task} on {r.dataset}\n{r.plan.preset}, {r.device}")
        top.legend(loc="upper left")
        # A logarithm has no 0, and two scores may agree to the last bit.
        off = np.maximum(np.abs(got - shadow[:ran]), 2.0**-60)
        bottom.semilogy(clear[:ran].reshape(-1), off.reshape(-1), ".", label="error of an encrypted score")
        if ran:
            bottom.axhline(float(off.mean()), color="C1", lw=1, label="mean")
        bottom.set(xlabel="score of the model in the clear", ylabel="error against the shadow")
        bottom.legend(loc="lower right")
    figure.savefig(path, dpi=150)
    plt.close(figure)
    print(f"plot written to {path}")
