"""`latticino demo`: trains on encrypted digits, and compares with the same training in the clear."""

from __future__ import annotations

import importlib.util
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import errors
from ..ckks.ciphertext import Ciphertext
from ..ckks.client import Client
from ..ckks.context import Context
from ..claims.precision import Precision, precision
from ..common.progress_bar import track
from ..key_generation import keygen
from . import data, helr

MIB = 2**20
PRESET_BY_SCALE = {scale: f"n16-d{scale}-boot-v1" for scale in (30, 35, 40, 45, 50)} | {48: "n16-d48-dr-boot-v1"}


@dataclass
class Row:
    """The measurement of one iteration."""

    iteration: int
    seconds: float
    level: int
    bootstrapped: bool
    precision: Precision
    accuracy: float
    clear_accuracy: float


@dataclass
class Result:
    """The measurements of the demo; `walls` are the times of all steps and bootstrappings of each training."""

    dataset: str
    preset: str
    device: str
    sizes: dict[str, int] = field(default_factory=dict)  # facts of the parameters and the mini-batches
    device_name: str = ""
    rows: list[Row] = field(default_factory=list)  # iterations of the last training
    walls: list[float] = field(default_factory=list)
    bootstraps: int = 0
    accuracy: float = 0.0
    clear_accuracy: float = 0.0
    key_bytes: int = 0
    key_count: int = 0
    device_peak_bytes: int = 0
    host_peak_bytes: int = 0
    predicted: float = 0.0
    predicted_key_bytes: int = 0
    predicted_peak_bytes: int = 0
    mode: str = "immediate"  # or replayed


def choose_data(name: str | None) -> data.Dataset:
    """The named data; otherwise MNIST if it is available, and the bundled digits if not."""
    if name is None:
        name = "mnist" if data.mnist_path() else "digits"
    if name not in ("mnist", "digits"):
        raise errors.UnsupportedError.explain("demo", f"--data {name}", "digits or mnist", "name one of them")
    return data.mnist() if name == "mnist" else data.digits()


def run(preset: str, device: str | None = None, dataset: str | None = None, iterations: int | None = None,
        rows: int | None = None, threads: int = 0, repeat: int = 1, merged: bool = True,
        recorded: bool | None = None) -> Result:
    """Trains encrypted `repeat` times, printing one line for each iteration, and returns the measurements.

    ``merged``: weights and momentum are refreshed as one; False: each by a bootstrapping of its own.
    ``recorded``: whether steps are recorded first and then replayed. None: only on a GPU, because submitting each
    operation would take the host longer than the GPU computes. A CPU gains nothing from it.
    """
    for name, value in (("repeat", repeat), ("iterations", iterations), ("rows", rows)):
        if value is not None and value < 1:
            raise errors.ValueError.explain("demo", f"--{name} {value}", "1 or more", "leave it out for the default")
    if rows is not None and rows & (rows - 1):
        raise errors.ValueError.explain("demo", f"--rows {rows}", "a power of two", "leave it out for the default")
    chosen = choose_data(dataset)
    context = Context(preset, device, threads=threads)
    large = context.device != "cpu" and "MNIST" in chosen.name
    settings = helr.Settings(iterations=(32 if large else 16) if iterations is None else iterations,
                             rows=(1024 if large else 128) if rows is None else rows, merged=merged)
    params = context.params
    sizes = {"N": params.n, "limbs": params.limbs(params.top_level), "slots": context.slots, "batch": 1,
             "threads": threads, "rows": settings.rows, "features": chosen.x_train.shape[1] - 1,
             **({} if merged else {"separate": 1})}
    result = Result(chosen.name, preset, context.device, sizes, context._native.device["name"])
    print(f"{chosen.name}: {len(chosen.x_train)} rows to train on, {len(chosen.x_test)} to test; "
          f"batches of {settings.rows} x {chosen.columns}")
    print(f"parameters {preset}: N = 2^{context.params.log_n}, log2 PQ = {context.params.log_pq:.0f}, "
          f"device {context.device} ({context._native.device['name']})")
    batches = data.batches(chosen, settings.rows)[: settings.iterations]
    trainer = helr.Trainer(context, settings)

    plan = context.plan(trainer.cycle, *trainer.examples(batches[0]))
    result.predicted = plan.prepared_seconds / trainer.steps_between * settings.iterations
    if recorded or (recorded is None and context.device.startswith("cuda")):
        result.mode = "replayed"
    result.predicted_key_bytes, result.predicted_peak_bytes = plan.key_bytes, (
        trainer.peak_bytes(batches[0], len(batches), result.mode == "replayed"))
    print(f"plan: {len(plan.keys)} evaluation keys, {plan.key_bytes / MIB:,.0f} MiB; peak memory about "
          f"{result.predicted_peak_bytes / MIB:,.0f} MiB; about {result.predicted:,.0f} s for all iterations")
    start = time.monotonic()
    client = keygen(context)
    context.use(client.server_keys(plan))
    result.key_bytes, result.key_count = context.keys.bytes, len(context.keys.labels)
    print(f"keys generated in {time.monotonic() - start:.1f} s: {result.key_count} keys, "
          f"{result.key_bytes / MIB:,.0f} MiB")
    start = time.monotonic()
    encrypted = [trainer.encrypt(client, z) for z in track(batches, "encrypting")]
    print(f"{len(encrypted)} batches encrypted in {time.monotonic() - start:.1f} s")
    if result.mode == "replayed":
        start = time.monotonic()
        count = trainer.record(trainer.first_state(client, chosen.columns), encrypted[0])
        context.synchronize()
        print(f"{count} steps of different levels recorded in {time.monotonic() - start:.1f} s")
    for _ in range(repeat):
        _train(trainer, client, chosen, batches, encrypted, result)
    _summary(result)
    return result


def _train(trainer: helr.Trainer, client: Client, chosen: data.Dataset, batches: list[Any], encrypted: list[Any],
           result: Result) -> None:
    context, settings = trainer.context, trainer.settings
    state = trainer.first_state(client, chosen.columns)
    clear = helr.clear_training(batches, settings)
    result.rows = []
    print(f"{'iteration':>9} {'time':>8} {'level':>6} {'':>10} {'precision':>24} {'accuracy':>9} {'clear':>7}")
    for t, (step, expected) in enumerate(zip(_steps(trainer, state, encrypted, result.mode), clear)):
        got = np.array(client.decrypt(step.state)) * settings.bound
        row = Row(t + 1, step.seconds, step.state.level, step.bootstrapped, precision(got, expected),
                  data.accuracy(got.real, chosen.x_test, chosen.y_test),
                  data.accuracy(expected.real, chosen.x_test, chosen.y_test))
        result.rows.append(row)
        print(f"{row.iteration:>9} {_time(row.seconds):>8} {row.level:>6} {'bootstrap' if row.bootstrapped else '':>10}"
              f" {row.precision!s:>24} {row.accuracy:>8.1%} {row.clear_accuracy:>7.1%}", flush=True)
    result.walls.append(sum(row.seconds for row in result.rows))
    result.bootstraps = sum(row.bootstrapped for row in result.rows) * (1 if settings.merged else 2)
    # After several trainings, report the one that ended furthest from the clear one.
    last = result.rows[-1]
    if len(result.walls) == 1 or (abs(last.accuracy - last.clear_accuracy)
                                  > abs(result.accuracy - result.clear_accuracy)):
        result.accuracy, result.clear_accuracy = last.accuracy, last.clear_accuracy
    result.device_peak_bytes = context.peak_bytes
    result.host_peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@dataclass
class _Step:
    """One iteration: the state after it, and its time. This is its own time on a CPU without replays; otherwise it is
    the mean of all iterations."""

    state: Ciphertext
    seconds: float
    bootstrapped: bool


def _steps(trainer: helr.Trainer, state: Ciphertext, batches: list[Any], mode: str) -> Iterator[_Step]:
    """The steps of a training. It does not wait for a GPU, nor for replays, because no step needs the host."""
    waits = mode == "immediate" and trainer.context.device == "cpu"
    done: list[_Step] = []
    start = time.monotonic()
    for t, eta in enumerate(helr.momentum(trainer.settings.iterations)):
        due, begun = trainer.needs_refresh(state), time.monotonic()
        state = trainer.refreshed_step(state, batches[t % len(batches)], eta)
        if waits:
            trainer.context.synchronize()
            yield _Step(state, time.monotonic() - begun, due)
        else:
            done.append(_Step(state, 0.0, due))
    if waits:
        return
    trainer.context.synchronize()
    mean = (time.monotonic() - start) / len(done)
    yield from (_Step(step.state, mean, step.bootstrapped) for step in done)


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.1f} ms"


def _summary(r: Result) -> None:
    low, middle, high = np.quantile(r.walls, [0.25, 0.5, 0.75])
    trained = "" if len(r.walls) == 1 else (f" (median of {len(r.walls)} trainings, {_time(low / len(r.rows))} to "
                                            f"{_time(high / len(r.rows))} between the quartiles)")
    print(f"\naccuracy {r.accuracy:.2%} encrypted, {r.clear_accuracy:.2%} in the clear; "
          f"{len(r.rows)} iterations with {r.bootstraps} bootstrappings in {middle:.1f} s: "
          f"{_time(middle / len(r.rows))} an iteration{trained}")
    print(f"peak memory {r.host_peak_bytes / MIB:,.0f} MiB of the process, {r.device_peak_bytes / MIB:,.0f} MiB "
          f"of the library's buffers; evaluation keys {r.key_count}, {r.key_bytes / MIB:,.0f} MiB")


def verdict(r: Result) -> int:
    """0 if the encrypted training ended within a point of the clear one. Otherwise it prints the difference and returns
    1."""
    if abs(r.accuracy - r.clear_accuracy) <= 0.01 + 1e-12:
        return 0
    print(f"the accuracy differs by {100 * abs(r.accuracy - r.clear_accuracy):.2f} points from that in the clear: "
          "more than one", file=sys.stderr)
    return 1


def row(r: Result) -> dict[str, Any]:
    """The measurements as a row of a record; the value is the mean over all iterations of a training."""
    low, middle, high = (1e3 * float(x) / len(r.rows) for x in np.quantile(r.walls, [0.25, 0.5, 0.75]))
    spread = {"low": low, "high": high} if len(r.walls) > 1 else {}
    return {"name": "helr.iteration", "value": middle, "unit": "ms", "median_of": len(r.walls), **spread,
            "device": r.device_name, "backend": r.device.partition(":")[0], "mode": r.mode,
            "preset": r.preset,
            "params": {**r.sizes, "iterations": len(r.rows), "dataset": r.dataset,
                       "predicted_ms": 1e3 * r.predicted / len(r.rows)},
            "accuracy": r.accuracy, "clear_accuracy": r.clear_accuracy, "bootstraps": r.bootstraps,
            "key_bytes": r.key_bytes, "peak_bytes": r.device_peak_bytes,
            "predicted_key_bytes": r.predicted_key_bytes, "predicted_peak_bytes": r.predicted_peak_bytes,
            "mean_error_bits": r.rows[-1].precision.mean, "max_error_bits": r.rows[-1].precision.worst}


def require_plots() -> None:
    """Raises UnsupportedError if nothing can draw."""
    if importlib.util.find_spec("matplotlib") is None:
        raise errors.UnsupportedError.explain(
            "demo", "no matplotlib", "it for the plot", errors.install("demo") + ", or --no-plot")


def plot(result: Result, path: Path) -> None:
    """Draws accuracy and precision by iteration."""
    require_plots()
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    steps = [r.iteration for r in result.rows]
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 6), sharex=True, layout="constrained")
    top.plot(steps, [100 * r.clear_accuracy for r in result.rows], "s", ms=10, mfc="none", color="C1",
             label="training on the same data in the clear")
    top.plot(steps, [100 * r.accuracy for r in result.rows], ".-", color="C0", label="training on encrypted data")
    top.set(ylabel="correct on the test set, %", ylim=(0, 105),
            title=f"Logistic regression on encrypted images\n{result.dataset} ({result.preset}, {result.device})")
    top.legend(loc="lower right")
    bottom.plot(steps, [r.precision.mean for r in result.rows], ".-", label="mean of all weights")
    bottom.plot(steps, [r.precision.worst for r in result.rows], ".-", label="worst weight")
    refreshed = [r.iteration for r in result.rows if r.bootstrapped]
    for i, step in enumerate(refreshed):
        bottom.axvline(step, color="0.8", zorder=0, label="" if i else "bootstrapping before this iteration")
    bottom.set(xlabel="iteration", ylabel="bits in which the weights agree", ylim=(0, None))
    bottom.legend(loc="lower left")
    figure.savefig(path, dpi=150)
    plt.close(figure)
    print(f"plot written to {path}")
