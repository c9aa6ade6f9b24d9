"""`latticino bench workloads --part predictions`: what the plan of each workload predicts for each card, compared with
measurements: in the records that are named, or in all of the checkout. It needs no GPU.

    ./latticino bench workloads --part predictions --record predictions.json
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from .. import nn
from ..ckks.context import Context
from ..ckks.plan import Plan
from ..claims.precision import Precision
from ..common import devices, display
from ..measure import records
from ..measure.records import Row
from . import data, demo, helr, networks, trees
from . import sort as sorting

NAME = "workload.prediction"
PRESET = "n16-d40-boot-v1"  # the set of the workloads that are no networks
# Networks, and the batches of each beside that of its demo.
_NETWORKS: tuple[tuple[Any, ...], ...] = (("resnet20", 16), ("resnet20-aespa", 16), ("squeezenet",), ("rnn", 512),
                                          ("transformer",), ("resnet18",))
Say = Callable[..., None]


class Case(NamedTuple):
    """A workload as a record measures it: its name, the row's name and unit, the inputs of a run, and what else tells
    such rows apart. ``plans``: makes the prediction."""

    workload: str
    record: str
    unit: str
    batch: int
    same: dict[str, Any]
    plans: Callable[[], Row]


def cases() -> list[Case]:
    """All workloads, as their demos run them, and the batches that the documents state."""
    out = [_network(name, batch) for name, *batches in _NETWORKS for batch in (None, *batches)]
    out += [Case("trees", "trees.input", "ms", 1, {"model": task.name}, partial(_trees, task))
            for task in trees.tasks()]
    chosen = demo.choose_data(None)
    settings = helr.Settings(iterations=32, rows=1024) if "MNIST" in chosen.name else helr.Settings(16, 128)
    out.append(Case("helr", "helr.iteration", "ms", 1, {"rows": settings.rows, "dataset": chosen.name},
                    lambda: _helr(chosen, settings)))
    return [*out, Case("sort", "sort.run", "s", 1, {"values": sorting.LARGE, "bits": sorting.BITS}, _sort)]


def run(names: Sequence[str], measured: Sequence[Row], say: Say = print) -> list[Row]:
    """A row for each workload, or those that are named, and each card; prints them beside the newest measurements."""
    rows = []
    for case in cases():
        if names and case.workload not in names:
            continue
        for rates, card in devices.CARDS.items():
            with devices.timed_on(rates):
                made = case.plans()
            rows.append({"name": NAME, "unit": case.unit, "device": card, "backend": "cuda", **made,
                         "params": {"workload": case.workload, "record": case.record, "batch": case.batch,
                                    **case.same}})
            say(" | ".join(cells(rows[-1], beside(rows[-1], measured))), flush=True)
    return rows


# ---- predictions of plans ----


def _network(name: str, batch: int | None = None) -> Case:
    work: networks.Workload = importlib.import_module(f".{name.replace('-', '_')}", __package__).WORKLOAD
    images = batch or work.batch

    def plans() -> Row:
        made = networks.compiled(work, None, "cuda", images, say=lambda *_: None)
        return _network_row(made.enc.plan, 1 if work.unit == "s" else 1e3 / images)

    return Case(name, work.record, work.unit, images, {}, plans)


def _trees(task: trees.Task) -> Row:
    return _network_row(nn.compile(task.model, calibration=task.x_train, device="cuda").plan, 1e3)


def _network_row(plan: nn.NetworkPlan, factor: float) -> Row:
    return {"value": factor * plan.seconds, "first": factor * plan.first_seconds, "preset": plan.preset,
            "level": plan.level, "bootstraps": plan.bootstraps, "key_bytes": plan.program.key_bytes,
            "peak_bytes": plan.peak_bytes, "predicted_bits": plan.bits}


def _helr(chosen: data.Dataset, settings: helr.Settings) -> Row:
    """Seconds of an iteration, if the step of each level has a recording."""
    trainer = helr.Trainer(Context._for_plans(PRESET, "cuda", False), settings)
    batches = data.batches(chosen, settings.rows)[: settings.iterations]
    plan = trainer.context.plan(trainer.cycle, *trainer.examples(batches[0]))
    bits = _bits_of_training(chosen.name, settings)
    return _plan_row(plan, 1e3 / trainer.steps_between) | {
        "peak_bytes": trainer.peak_bytes(batches[0], len(batches), True), "level": trainer.start_level,
        "predicted_bits": bits.mean, "predicted_worst_bits": bits.worst}


@cache
def _bits_of_training(name: str, settings: helr.Settings) -> Precision:
    """Of the weights at the end. They are the same on each card."""
    trainer = helr.Trainer(Context._for_plans(PRESET, "cuda", False), settings, sampled=True)
    chosen = demo.choose_data("mnist" if "MNIST" in name else "digits")
    return trainer.predicted_precision(data.batches(chosen, settings.rows)[: settings.iterations])


def _sort() -> Row:
    plan = sorting.planned(Context._for_plans(PRESET, "cuda", False), sorting.LARGE, sorting.BITS)
    return _plan_row(plan, 1) | {"predicted_bits": plan.bits[0][0], "level": None}


def _plan_row(plan: Plan, factor: float) -> Row:
    return {"value": factor * plan.prepared_seconds, "first": factor * plan.seconds, "preset": PRESET,
            "bootstraps": plan.bootstraps, "key_bytes": plan.key_bytes, "peak_bytes": plan.peak_bytes}


# ---- comparison with measurements ----


def beside(row: Row, measured: Iterable[Row]) -> Row | None:
    """The newest measurement of the same workload on the same card with the same keys and level: others ran an earlier
    plan. Of rows that are sorted by date."""
    wanted = {k: v for k, v in row["params"].items() if k not in ("workload", "record")}
    found = None
    for other in measured:
        params = other.get("params", {})
        if (other.get("name") == row["params"]["record"] and other.get("device") == row["device"]
                and other.get("preset") == row["preset"] and not params.get("light_maps")
                and all(params.get(k) == v for k, v in wanted.items())
                and other.get("key_bytes") == row["key_bytes"] and params.get("level", row["level"]) == row["level"]
                and (other.get("mode") == "replayed" or row["params"]["workload"] == "sort")):
            found = other
    return found


HEAD = ("workload", "card", "time", "peak memory", "keys", "bits", "measured")


def cells(row: Row, other: Row | None) -> list[str]:
    """A line of the table: the prediction, and the measurement if there is one."""
    params = row["params"]
    name = params["workload"] + (f", {params['model']}" if "model" in params else "") + (
        f", {params['batch']} a run" if params["batch"] > 1 else "")
    told = [_pair(row, other, "value", lambda v: f"{v:.3g} {row['unit']}"),
            _pair(row, other, "peak_bytes", display.size), _pair(row, other, "key_bytes", display.size),
            _bits(row, other)]
    return [name, row["device"].split()[1], *told, "-" if other is None else other["date"]]


def _pair(row: Row, other: Row | None, key: str, shown: Callable[[Any], str]) -> str:
    if other is None:
        return shown(row[key])
    apart = 100 * (row[key] / other[key] - 1)
    return f"{shown(row[key])}, {shown(other[key])} ({apart:+.0f} %)"


def _bits(row: Row, other: Row | None) -> str:
    if "predicted_bits" not in row:
        return "-"
    of = None if other is None else other.get("score_bits", other.get("mean_error_bits"))
    return f"{row['predicted_bits']:.1f}" + ("" if of is None else f", {of:.1f}")


def measurements(files: Sequence[Path]) -> list[Row]:
    """The rows of these records, or of all records of the checkout, the oldest first."""
    rows = [row for path in files for row in records.read(path)]
    if not files:
        found = [json.loads(path.read_text()) for path in sorted(records.FOLDER.glob("*.json"))]
        rows = [row for record in found if isinstance(record, list) for row in record if isinstance(row, dict)]
    return sorted(rows, key=lambda row: str(row.get("date", "")))
