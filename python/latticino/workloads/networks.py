"""Code that demos of trained networks share: the plan, a comparison of three accuracies, bits, time, memory, a plot.

    networks.run(resnet20_aespa.WORKLOAD, device="cuda", encrypted=100)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import errors, nn
from ..ckks.client import Client
from ..common import display
from ..common.progress_bar import Task
from ..key_generation import keygen
from ..nn import reference
from ..nn.forests.comparing import classes_of
from ..nn.graph import Graph
from . import trained
from .inputs import Inputs, wrong_arrays_as_file_errors

_AT_ONCE = 100  # inputs that are computed in doubles at a time
_POINTS = 0.005  # by how much the shadow may be less accurate
FURTHEST = 16.0  # multiple of the mean error that a plan predicts; normal errors are practically never this large
Weights = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Workload:
    """A network of a recipe, with its data.

    - ``name``, ``record``: of the demo, and of its row in records; ``unit`` of the row: "ms" each input, "s" a run
    - ``each``: what an input is called
    - ``batch``: inputs of a run; ``preset``: where nobody says others
    - ``network``: the graph of the weights; ``data``: what it runs on; ``prepared``: data as the network reads them
    - ``weights``: makes or finds weights where no file is named, with a word on them; None: those that ship
    - ``options``: of `nn.compile`, for the graph
    """

    name: str
    record: str
    unit: str
    each: str
    batch: int
    preset: str
    network: Callable[[Weights], Graph]
    data: Callable[[Weights], Inputs]
    prepared: Callable[[Weights, np.ndarray], np.ndarray]
    weights: Callable[[], tuple[str, Weights]] | None = None
    options: Callable[[Graph], Mapping[str, Any]] = lambda graph: {}

    @property
    def file(self) -> str:
        return self.name.replace("-", "_")


@dataclass
class Result:
    """The measurements of a demo. ``right``: counts of right results for the inputs that ran encrypted: in the clear,
    of the shadow, and encrypted."""

    workload: Workload
    dataset: str
    plan: nn.NetworkPlan
    inputs: int
    accuracy: float = 0.0  # accuracy in the clear
    shadow_accuracy: float = 0.0
    outside: int = 0  # inputs of which a value left a range; they count as wrong
    seconds: list[float] = field(default_factory=list)  # seconds of runs whose weights were already encoded
    first: float = 0.0  # seconds of the first run, which encodes them
    compiling: float = 0.0  # seconds of what came before the first run
    keys: float = 0.0
    encrypted: int = 0  # number of inputs
    right: tuple[int, int, int] = (0, 0, 0)
    equal: int = 0  # encrypted labels that equal those of the shadow
    near: int = 0  # the other labels, for inputs whose two best scores in the shadow are close
    error: float = 0.0  # the worst error of scores, relative to the largest score of the input
    bits: float = 0.0  # bits of the mean error of scores, defined as in the plan
    worst_bits: float = 0.0
    layer_bits: list[float] = field(default_factory=list)  # measured bits of each layer, in one run
    scores: tuple[np.ndarray, np.ndarray] = (np.zeros(0), np.zeros(0))  # scores of the shadow, and encrypted scores
    device: str = ""
    device_name: str = ""
    key_bytes: int = 0
    key_count: int = 0
    peak_bytes: int = 0
    generated: bool = False


@dataclass(frozen=True)
class Made:
    """A workload, compiled, and what it was compiled from. ``seconds`` that compiling took."""

    work: Workload
    enc: nn.Compiled
    weights: Weights
    data: Inputs
    graph: Graph
    seconds: float = 0.0

    def prepared(self, x: np.ndarray) -> np.ndarray:
        return self.work.prepared(self.weights, x)


def compiled(work: Workload, preset: str | None = None, device: str | None = None, batch: int | None = None,
             memory: str | None = None, weights: Path | None = None, say: Callable[..., None] = print) -> Made:
    """The network of a workload on its own data, or on generated ones. ``weights``: a file of the recipe."""
    w = _weights(work, weights, say)
    with wrong_arrays_as_file_errors(f"demo {work.name}", f"the weights of {work.name}",
                                     f"name a file of its recipe, examples/networks/{work.file}.py, with --weights"):
        data, graph = work.data(w), work.network(w)
        calibration = work.prepared(w, data.calibration)
    start = time.monotonic()
    enc = nn.compile(graph, calibration=calibration, preset=preset or work.preset,
                     device=device, memory=memory, images=batch or work.batch, **work.options(graph))
    took = time.monotonic() - start
    say(f"compiled in {took:.0f} s\n{enc.plan}\n")
    if data.labels is None:
        wanted = " and ".join(data.wanted)
        missing = f"LATTICINO_DATA names no folder with {wanted}, so these are " if wanted else ""
        say(f"{missing}{data.name}. Labels are those of the network in the clear, and tell nothing about its accuracy")
    return Made(work, enc, w, data, graph, took)


def run(work: Workload, preset: str | None = None, device: str | None = None, count: int | None = None,
        encrypted: int = 0, batch: int | None = None, memory: str | None = None, threads: int = 0,
        weights: Path | None = None, layers: bool = False, say: Callable[..., None] = print) -> Result:
    """Plans, compares `count` test inputs with the shadow, runs `encrypted` of them encrypted, and prints a table.

    ``weights``: a file of the recipe instead of the shipped one. ``layers``: bits of each layer of a run too.
    """
    made = compiled(work, preset, device, batch, memory, weights, say)
    return run_compiled(made, count, encrypted, threads, layers, say)


def run_compiled(made: Made, count: int | None = None, encrypted: int = 0, threads: int = 0, layers: bool = False,
                 say: Callable[..., None] = print) -> Result:
    """Does what `run` does, for a network that is already compiled."""
    work, enc, data = made.work, made.enc, made.data
    enc.threads = threads
    x = data.test[: count or len(data.test)]
    shadow, clear = in_the_clear(made, x)
    labels = classes_of(clear) if data.labels is None else data.labels[: len(x)]
    result = Result(work, data.name, enc.plan, len(x), generated=data.labels is None,
                    compiling=made.seconds)
    inside = np.isfinite(shadow).all(axis=1)
    result.accuracy = float((classes_of(clear) == labels).mean())
    result.shadow_accuracy = float((inside & (classes_of(shadow) == labels)).mean())
    result.outside = int((~inside).sum())
    if result.outside:
        say(f"{result.outside} {work.each}s have values outside of the ranges of the calibration: they count as wrong")
    if encrypted:
        _encrypted(enc, made.prepared(x[:encrypted]), (clear, shadow, labels), result, layers, say)
    _print(result, say)
    return result


def _weights(work: Workload, path: Path | None, say: Callable[..., None]) -> Weights:
    """The weights of the file, or those that ship with the package or that the workload has."""
    if path is None and work.weights is not None:
        word, found = work.weights()
        say(word)
        return found
    path = trained.shipped(work.file) if path is None else path
    _say_training(trained.record(path), say)
    return trained.read(path)


def _say_training(record: Mapping[str, Any], say: Callable[..., None]) -> None:
    if {"accuracy", "tested", "epochs", "hardware", "date"} <= record.keys():
        say(f"weights of {record['date']}: {record['epochs']} epochs on {record['hardware']}, "
            f"{100 * record['accuracy']:.1f} % of {record['tested']:,} test inputs in PyTorch")


def in_the_clear(made: Made, x: np.ndarray, noise: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The scores of all inputs: those of the shadow, NaN if a value leaves a range, and those of the network in the
    clear. ``noise``: of the sizes that the plan predicts, in the shadow."""
    shadow, clear = [], []
    with Task(f"{made.work.name} in the clear", len(x)) as task:
        for at in range(0, len(x), _AT_ONCE):
            part = made.prepared(x[at : at + _AT_ONCE])
            shadow.append(shadowed(made.enc, part, noise).reshape(len(part), -1))
            clear.append(reference.run(made.graph, part).reshape(len(part), -1))
            task.advance(len(part))
    return np.concatenate(shadow), np.concatenate(clear)


def shadowed(enc: nn.Compiled, x: np.ndarray, noise: bool = False) -> np.ndarray:
    """Results of the shadow; NaN for inputs of which a value leaves the range of a polynomial."""
    try:
        return enc.shadow(x, noise)
    except errors.ValueError:
        if len(x) == 1:
            return np.full((1, *enc.result_shape), np.nan)
        half = len(x) // 2
        return np.concatenate([shadowed(enc, x[:half], noise), shadowed(enc, x[half:], noise)])


def _encrypted(enc: nn.Compiled, x: np.ndarray, known: tuple[np.ndarray, np.ndarray, np.ndarray], result: Result,
               layers: bool, say: Callable[..., None]) -> None:
    """Runs of all inputs of x; the last run is filled up with the first ones."""
    clear, shadow, labels = (part[: len(x)] for part in known)
    inside = np.flatnonzero(np.isfinite(shadow).all(axis=1))  # because encrypt refuses inputs beyond the range
    if not len(inside):
        raise errors.ValueError.explain(f"demo {result.workload.name}", "no input within the ranges", "one or more",
                                        "ask for more with --encrypted")
    start = time.monotonic()
    client = keygen(enc.context)
    enc.context.use(enc.server_keys(client))
    keys = enc.context.keys
    result.device, result.device_name = enc.context.device, enc.context._native.device["name"]
    result.key_bytes, result.key_count = (0, 0) if keys is None else (keys.bytes, len(keys.labels))
    result.keys = time.monotonic() - start
    say(f"{result.key_count} keys, {display.size(result.key_bytes)}, made in {result.keys:.1f} s")
    got = np.zeros((len(inside), *shadow.shape[1:]))
    with Task(f"{result.workload.name}, encrypted", len(inside)) as task:
        for at in range(0, len(inside), enc.images):
            some = np.resize(np.concatenate([inside[at : at + enc.images], inside]), enc.images)
            part = got[at : at + enc.images]
            part[:] = _answer(enc, client, x[some], result)[: len(part)]
            task.advance(len(part))
    _compare(enc, got, tuple(part[inside] for part in (clear, shadow, labels)), result)
    if layers:
        some = np.resize(inside, enc.images)
        result.layer_bits = enc.measured_bits(client, x[some])


def _answer(enc: nn.Compiled, client: Client, x: np.ndarray, result: Result) -> np.ndarray:
    """Scores of one encrypted run. The first one encodes the weights: where others follow, its time does not count.
    The peak is that of runs alone: a client that encrypts on the same device may need more."""
    question = enc.encrypt(client, x if enc.images > 1 else x[0])
    enc.context.reset_peak()
    while True:
        answer = None  # an answer that is kept is no memory of the next run
        start = time.monotonic()
        answer = enc(question)
        enc.context.synchronize()
        took = time.monotonic() - start
        result.peak_bytes = max(result.peak_bytes, enc.context.peak_bytes)
        if result.first:
            result.seconds.append(took)
            break
        result.first = took
        if enc.context.device == "cpu":  # a run takes minutes there
            break
    return enc.decrypt(client, answer).unmarked().reshape(len(x), -1)


def _compare(enc: nn.Compiled, got: np.ndarray, known: tuple[np.ndarray, ...], r: Result) -> None:
    clear, shadow, labels = known
    wrong = got - shadow
    of = [classes_of(scores) for scores in (clear, shadow, got)]
    r.encrypted, r.scores = len(got), (shadow, got)
    r.right = tuple(int((classes == labels).sum()) for classes in of)  # type: ignore[assignment]
    same = of[1] == of[2]
    r.equal, r.near = int(same.sum()), int((~same & close(enc, shadow)).sum())
    r.error = float((np.abs(wrong).max(axis=1) / np.abs(shadow).max(axis=1)).max())
    r.bits = enc._bits_of_results(wrong)
    r.worst_bits = float(-np.log2(max(float(np.abs(wrong).max()), 2.0**-60) / _bound(enc)))


def _bound(enc: nn.Compiled) -> float:
    """The bound of the scores; bits are relative to it."""
    graph = enc._machine.graph
    return float(graph.nodes[graph.output].bound * enc.result_unit)


def close(enc: nn.Compiled, shadow: np.ndarray) -> np.ndarray:
    """For which inputs the predicted error may exchange the two best scores; scores of shape (n, scores) give (n,). The
    measured error would not do, because it would excuse every label: if a label differs, the error is at least half of
    the lead.
    """
    return np.asarray(_lead(shadow) < 2 * FURTHEST * _bound(enc) * 2.0**-enc.plan.bits)


def _lead(scores: np.ndarray) -> np.ndarray:
    """The best score minus the next one. For a single score, whose sign is the class, twice its size."""
    if scores.shape[1] == 1:
        return np.asarray(2 * np.abs(scores[:, 0]))
    best = np.sort(scores, axis=1)
    return np.asarray(best[:, -1] - best[:, -2])


def seconds_of(r: Result) -> list[float]:
    """Seconds of the runs: without the first one, unless there is no other."""
    return r.seconds or ([r.first] if r.first else [])


def _print(r: Result, say: Callable[..., None]) -> None:
    each, ran = r.workload.each, seconds_of(r)
    share = "labels equal to the clear network's" if r.generated else "correct"
    say(f"{share:>36} {'in the clear':>13} {'shadow':>13} {'encrypted':>13}")
    say(f"{f'of {r.inputs:,} {each}s':>36} {r.accuracy:>13.1%} {r.shadow_accuracy:>13.1%} {'-':>13}")
    if not ran:
        say("nothing ran encrypted: --encrypted N runs N")
        return
    right = "".join(f" {n:>13}" for n in r.right)
    say(f"{f'of {r.encrypted:,} that ran encrypted':>36}{right}")
    say(f"encrypted labels equal to the shadow's: {r.equal} of {r.encrypted}"
        + (f", and {r.near} whose two best scores are closer than the predicted error" if r.near else ""))
    took, plan = float(np.median(ran)), r.plan
    rows = [(f"time of a run of {plan.images}" if plan.images > 1 else f"time of {_article(each)}",
             display.seconds(took), display.seconds(plan.seconds))]
    if plan.images > 1:
        rows.append((f"time each {each}", display.seconds(took / plan.images),
                     display.seconds(plan.seconds / plan.images)))
    if r.seconds:
        rows.append(("the first run, with encoding", display.seconds(r.first), "-"))
    rows += [("compiling", display.seconds(r.compiling), "-"), ("making keys", display.seconds(r.keys), "-")]
    rows += [("bits of the mean error of scores", f"{r.bits:.1f}", f"{plan.bits:.1f}"),
             ("bits of the worst error", f"{r.worst_bits:.1f}", "-"),
             ("keys", display.size(r.key_bytes), display.size(plan.key_bytes)),
             ("peak memory", display.size(r.peak_bytes), display.size(plan.peak_bytes))]
    say(f"{'':>36} {'measured':>13} {'predicted':>13}")
    for name, measured, predicted in rows:
        say(f"{name:>36} {measured:>13} {predicted:>13}")
    say(f"scores are within 2^{np.log2(max(r.error, 2.0**-60)):.1f} of the largest of {_article(each)}")


def _article(each: str) -> str:
    return f"{'an' if each[0] in 'aeiou' else 'a'} {each}"


def verdict(r: Result) -> int:
    """0 if the encrypted labels are those of the shadow, and the shadow is as accurate as the network within half a
    point. Labels may differ if scores are closer than the predicted error."""
    if r.equal + r.near < r.encrypted:
        print(f"{r.encrypted - r.equal - r.near} encrypted labels differ from the shadow's", file=sys.stderr)
        return 1
    if r.accuracy - r.shadow_accuracy > _POINTS + 1e-12:
        print(f"the shadow is {100 * (r.accuracy - r.shadow_accuracy):.2f} points less accurate than the network",
              file=sys.stderr)
        return 1
    return 0


def row(r: Result) -> dict[str, Any]:
    """The measurements as a row of a record; UnsupportedError if nothing ran encrypted.

    ``compile_s``, ``keys_s`` and ``first_s``: what a user waits for until the first result. The first run arranges and
    encodes the weights, and records, unless no other run followed, as on a CPU."""
    ran, plan = seconds_of(r), r.plan
    if not ran:
        raise errors.UnsupportedError.explain(f"demo {r.workload.name}", "--record, and nothing that ran encrypted",
                                              "one input or more", "add --encrypted 1")
    factor = 1.0 if r.workload.unit == "s" else 1e3 / plan.images
    low, middle, high = (factor * float(v) for v in np.quantile(ran, [0, 0.5, 1]))
    unit = r.workload.unit
    return {"name": r.workload.record, "value": middle, "unit": unit, "median_of": len(ran), "low": low, "high": high,
            "device": r.device_name, "backend": r.device.partition(":")[0], "mode": "replayed", "preset": plan.preset,
            "params": {"batch": plan.images, "dataset": r.dataset, "inputs": r.inputs, "encrypted": r.encrypted,
                       "level": plan.level, "light_maps": plan.expansions,
                       f"predicted_{unit}": factor * plan.seconds,
                       f"predicted_first_{unit}": factor * plan.first_seconds},
            "compile_s": r.compiling, "keys_s": r.keys, "first_s": r.first,
            "accuracy": r.shadow_accuracy, "clear_accuracy": r.accuracy,
            "correct": dict(zip(("clear", "shadow", "encrypted"), r.right)), "equal_labels": r.equal,
            "bootstraps": plan.bootstraps, "key_bytes": r.key_bytes, "peak_bytes": r.peak_bytes,
            "predicted_key_bytes": plan.key_bytes, "predicted_peak_bytes": plan.peak_bytes,
            "mean_error_bits": r.bits, "max_error_bits": r.worst_bits, "predicted_bits": plan.bits,
            "score_error": r.error}


def plot(r: Result, path: Path) -> None:
    """Draws encrypted scores against those of the shadow, and bits layer by layer."""
    from .demo import require_plots

    require_plots()
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 8), layout="constrained")
    shadow, got = (scores.reshape(-1) for scores in r.scores)
    if len(shadow):
        top.plot(shadow, got, ".", ms=4)
        ends = [float(shadow.min()), float(shadow.max())]
        top.plot(ends, ends, color="0.6", lw=1, zorder=0)
    top.set(xlabel="score of the shadow", ylabel="score of the encrypted run",
            title=f"{r.workload.name} on {r.encrypted} encrypted {r.workload.each}s\n{r.plan.preset}, {r.device}")
    layers = r.plan.layers
    bottom.plot([min(layer.bits, 40) for layer in layers], ".-", label="predicted")
    if r.layer_bits:
        bottom.plot([min(bits, 40) for bits in r.layer_bits], ".-", label="measured in one run")
    for k in (k for k, layer in enumerate(layers) if layer.bootstraps):
        bottom.axvline(k, color="0.85", zorder=0)
    bottom.set(xlabel="layer; grey where bootstrapping comes before", ylabel="bits", ylim=(0, None))
    bottom.legend(loc="upper right")
    figure.savefig(path, dpi=150)
    plt.close(figure)
    print(f"plot written to {path}")

