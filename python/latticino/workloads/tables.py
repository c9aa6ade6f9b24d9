"""`latticino bench workloads`: the papers' workloads at other scales and in other words, and what plans predict. Plans
and the noise of the shadow need no GPU; with ``--device cuda`` the same workloads also run."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors
from ..ckks.context import Context
from ..ckks.plan import Plan
from ..common import devices
from ..functions.sorting import fit_sort
from ..measure import records
from ..measure.records import Row
from ..nn.forests.comparing import classes_of
from . import data, demo, helr, networks, predictions
from . import sort as sorting

# BitPacker, Table 1: the workloads, with log2 of the scale in which the paper computes each (its Section 5).
LOG_SCALES = {"resnet20": 45, "resnet20-aespa": 45, "rnn": 45, "squeezenet": 35, "helr": 35}
WORDS = (28, 30)
# Cheddar, Table 6: log2 of its scales.
SCALES = (30, 35, 40, 48)
IMAGES = 1000  # inputs of the test set for the shadow
ENCRYPTED = 20  # inputs of a network that run on a GPU
SORTED = sorting.LARGE
SORTS = 3  # of the random numbers, of whose times a row has the median
PREDICTED = "NVIDIA H200, predicted"
Say = Callable[..., None]


def run(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Rows of both tables, or of a part of them (``--part words``, ``unpacked``, ``scales``, or ``sorts`` for the sorts
    of ``scales`` alone); or ``--part predictions`` beside the records that are named."""
    if args.part == "predictions":
        if args.device is not None:
            raise errors.UnsupportedError.explain(
                "bench workloads", "--device beside --part predictions", "one of them",
                "leave --device out: plans of all cards are made")
        made = predictions.run((), predictions.measurements(args.files))
        return [records.stamped(row) for row in made], True
    measured = args.device is not None and devices.choose(args.device)[0] == "cuda"
    rows: list[Row] = []
    for parts, table in (((None, "words"), word_rows), ((None, "unpacked"), unpacked_rows),
                         ((None, "scales"), scale_rows), ((None, "scales", "sorts"), sort_rows)):
        if args.part in parts:
            rows += [records.stamped(row) for row in table(measured, args.device, args.threads)]
    return rows, True


# ---- BitPacker, Table 1 ----


def word_rows(measured: bool, device: str | None, threads: int, names: tuple[str, ...] = (),
              say: Say = print) -> list[Row]:
    """For each workload, or those that are named, a row on the chain of words of 28 bits, and one on that of 30."""
    return [_workload_row(name, packed(LOG_SCALES[name], word), {"word": word}, measured, device, threads, say)
            for name in names or LOG_SCALES for word in WORDS]


def unpacked_rows(measured: bool, device: str | None, threads: int, names: tuple[str, ...] = (),
                  say: Say = print) -> list[Row]:
    """The same workloads on sets of the same scales that are not packed: primes of 25 and of 30 bits."""
    return [_workload_row(name, unpacked(LOG_SCALES[name]), {"chain": "25-30"}, measured, device, threads, say)
            for name in names or LOG_SCALES]


def _workload_row(name: str, preset: str, chosen: dict[str, Any], measured: bool, device: str | None, threads: int,
                  say: Say) -> Row:
    if name == "helr":
        made = _helr_row(preset) | (_helr_run(preset, device, threads) if measured else {})
    else:
        network = networks.compiled(_workload(name), preset, device if measured else "cuda")
        made = _network_row(network, preset) | (_network_run(network, threads) if measured else {})
    made["params"] |= {"workload": name, **chosen, "log_scale": LOG_SCALES[name]}
    bits = f", {made['predicted_bits']:.1f} bits" if "predicted_bits" in made else ""
    primes = f"words of {chosen['word']} bits" if "word" in chosen else f"primes of {chosen['chain']} bits"
    say(f"{name:>15}, {primes}: {made['value']:.4g} {made['unit']} predicted{bits}", flush=True)
    return made


def packed(scale: int, word: int) -> str:
    """The BitPacker set of that scale in words of so many bits."""
    return f"n16-d{scale}-w{word}-boot-v1"


def unpacked(scale: int) -> str:
    return f"n16-d{scale}-boot-v1"


def _workload(name: str) -> networks.Workload:
    found: networks.Workload = importlib.import_module(f".{name.replace('-', '_')}", __package__).WORKLOAD
    return found


def _planned(context: Context, preset: str, plan: Plan, level: int) -> Row:
    """The row of every plan."""
    params = context.params
    return {"name": "workload.plan", "device": PREDICTED, "preset": preset, "level": level,
            "limbs": params.limbs(level), "limbs_top": params.limbs(params.top_level),
            "ciphertext_bytes": 2 * 4 * params.n * params.limbs(level), "bootstraps": plan.bootstraps,
            "key_count": len(plan.keys), "key_bytes": plan.key_bytes, "weight_bytes": plan.constant_bytes,
            "peak_bytes": plan.peak_bytes}


def _network_row(made: networks.Made, preset: str) -> Row:
    plan = made.enc.plan
    context = Context._for_plans(preset, "cuda", False)
    return _planned(context, preset, plan.program, plan.level) | {
        "value": 1e3 * plan.seconds, "unit": "ms", "predicted_bits": plan.bits, "peak_bytes": plan.peak_bytes,
        "params": {"batch": plan.images}}


def _network_run(made: networks.Made, threads: int) -> Row:
    r = networks.run_compiled(made, ENCRYPTED, ENCRYPTED, threads)
    return {"measured": 1e3 * float(np.median(networks.seconds_of(r))), "measured_on": r.device_name,
            "measured_bits": r.bits, "measured_worst_bits": r.worst_bits, "inputs": r.encrypted}


def _helr_row(preset: str) -> Row:
    """Precision of an iteration. A plan's claim for the weights would be for any batch, and says nothing about real
    ones."""
    context, trainer, batches = _training(preset)
    plan = context.plan(trainer.cycle, *trainer.examples(batches[0]))
    return _planned(context, preset, plan, trainer.start_level) | {
        "value": 1e3 * plan.prepared_seconds / trainer.steps_between, "unit": "ms",
        "params": {"batch": 1, "rows": trainer.settings.rows, "steps": trainer.steps_between}}


def _training(preset: str) -> tuple[Context, helr.Trainer, list[Any]]:
    context = Context._for_plans(preset, "cuda", False)
    chosen = demo.choose_data(None)
    settings = helr.Settings(iterations=32, rows=1024 if "MNIST" in chosen.name else 128)
    return context, helr.Trainer(context, settings), data.batches(chosen, settings.rows)


def _helr_run(preset: str, device: str | None, threads: int) -> Row:
    r = demo.run(preset, device, threads=threads)
    last = r.rows[-1].precision
    return {"measured": 1e3 * float(np.median(r.walls)) / len(r.rows), "measured_on": r.device_name,
            "measured_bits": last.mean, "measured_worst_bits": last.worst, "accuracy": r.accuracy}


# ---- Cheddar, Table 6 ----


def scale_rows(measured: bool, device: str | None, threads: int, scales: tuple[int, ...] = SCALES,
               images: int = IMAGES, say: Say = print) -> list[Row]:
    """A row of ResNet-20 for each scale, and one of HELR where it runs."""
    rows = []
    for scale in scales:
        preset = demo.PRESET_BY_SCALE[scale]
        made = [_resnet20(preset, device if measured else None, threads, images)]
        if measured:
            made.append(demo.row(demo.run(preset, device, threads=threads)))
        rows += [_at(scale, row, say) for row in made]
    return rows


def sort_rows(measured: bool, device: str | None, threads: int, scales: tuple[int, ...] = SCALES,
              say: Say = print) -> list[Row]:
    """A row of a sort for each scale: as it ran, or what its plan says."""
    return [_at(scale, _sort(demo.PRESET_BY_SCALE[scale], sorting.BITS_AT[scale], measured, device, threads), say)
            for scale in scales]


def _at(scale: int, row: Row, say: Say) -> Row:
    row["params"]["log_scale"] = scale
    bits = f", {row['mean_error_bits']:.1f} bits" if row["name"] == "sort.run" else ""
    say(f"2^{scale} {row['name']:>18}: {row['value']:.4g} {row['unit']}{bits}", flush=True)
    return row


def _resnet20(preset: str, device: str | None, threads: int, images: int) -> Row:
    """The accuracy of the shadow with noise on test images. Images of which a value leaves a range count as wrong.
    ``device``: where some of them run encrypted too; None: none do."""
    try:
        made = networks.compiled(_workload("resnet20"), preset, device or "cuda")
    except (errors.LevelError, errors.ScaleError, errors.ParameterError, errors.ValueError) as why:
        # A ValueError, because errors bring values out of the range of an activation.
        return {"name": "resnet20.refused", "value": 0.0, "unit": "%", "preset": preset, "why": str(why),
                "params": {"images": images}}
    x = made.data.test[:images]
    noisy, clear = networks.in_the_clear(made, x, noise=True)
    exact, _ = networks.in_the_clear(made, x)
    labels = classes_of(clear) if made.data.labels is None else made.data.labels[: len(x)]
    inside = [np.isfinite(scores).all(axis=1) for scores in (noisy, exact, clear)]
    right = [100 * float((fits & (classes_of(scores) == labels)).mean())
             for fits, scores in zip(inside, (noisy, exact, clear))]
    wrong = (noisy - exact)[inside[0] & inside[1]]
    ran = _network_run(made, threads) if device else {}
    return {**ran, "name": "resnet20.accuracy", "unit": "%", "preset": preset, "device": "none: the shadow with noise",
            "value": right[0], "shadow_accuracy": right[1], "clear_accuracy": right[2],
            "outside": int((~inside[0]).sum()), "predicted_bits": made.enc.plan.bits,
            "shadow_bits": made.enc._bits_of_results(wrong) if len(wrong) else 0.0,
            "predicted": made.enc.plan.seconds, "bootstraps": made.enc.plan.bootstraps,
            "params": {"images": len(x), "generated": int(made.data.labels is None)}}


def _sort(preset: str, bits: float, measured: bool, device: str | None, threads: int) -> Row:
    """Of as many numbers as the paper's."""
    try:
        if measured:
            return sorting.row(sorting.run(preset, device, SORTED, bits, threads, SORTS))
        plan = sorting.planned(Context._for_plans(preset, "cuda", False), SORTED, bits)
    except (errors.LevelError, errors.PrecisionError) as why:
        return {"name": "sort.refused", "value": 0.0, "unit": "bits", "preset": preset, "why": str(why),
                "params": {"values": SORTED, "bits": bits}}
    return {"name": "sort.plan", "value": plan.bits[0][0], "unit": "bits", "preset": preset, "device": PREDICTED,
            "worst_bits": plan.bits[0][1], "predicted": plan.prepared_seconds, "bootstraps": plan.bootstraps,
            "key_bytes": plan.key_bytes, "peak_bytes": plan.peak_bytes,
            "params": {"values": SORTED, "bits": bits, "stages": fit_sort(SORTED, (0, 1), bits).stages}}
