"""Writes the tables of figures of README.md and docs/ from bench/records and from plans.

A page marks the place of a table with two comments, for example ``<!-- table: bootstrapping -->`` and ``<!-- end -->``.
What stands between them comes from the function of that name below. ``./latticino python docs/make_tables.py`` rewrites
every page, and tests/docs/test_tables.py fails where a page and its records differ. ``./latticino bench roofline RECORD
--plot docs/roofline.png`` draws the picture.
"""

from __future__ import annotations

import json
import math
import re
import sys
import tokenize
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import counter_tables
import latticino as lt
from latticino import _native, nn
from latticino.common import devices
from latticino.nn.builder import Builder
from latticino.nn.labels.decisions import Decision
from latticino.nn.lowered import Lowered
from latticino.nn.maps.transforms import with_moves
from latticino.nn.placement import Rates
from latticino.nn.ranges import MARGIN
from latticino.nn.reading import Reading, read
from latticino.nn.run import Machine
from latticino.nn.units import scaled
from papers.cheddar import AT_FOUR_SCALES

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/guide.md", "docs/performance.md", "docs/choose.md", "docs/functions.md",
         "docs/network_layers.md", "docs/parameters.md", "docs/workloads.md", "docs/lab/primes.md",
         "docs/lab/roofline.md", "docs/lab/transform-forms.md")
# The record of each subject: the newest one that is complete.
RECORDS = {"operations": "2026-11-23-h200-operations", "bootstrap": "2026-11-23-h200-bootstrap",
           "precision": "2026-11-21-h200-precision", "cpu": "2026-11-21-xeon-cpu", "peers": "2026-11-22-epyc-cpu",
           "gates": "2026-11-23-h200-gates", "gates_cpu": "2026-11-23-epyc-tfhe", "switch": "2026-11-23-h200-switch",
           "switch_exact": "2026-11-23-h200-switch-exact",
           "training": "2026-11-27-h200-helr", "packing": "2026-11-29-cpu-packing",
           "chains": "2026-11-28-h200-bitpacker", "later_chains": "2026-11-28-h200-bitpacker-later",
           "networks": "2026-11-27-h200-networks",
           "sort": "2026-11-27-h200-sort", "sorts": "2026-11-28-h200-sorts",
           "words": "2026-11-28-h200-words", "scales": "2026-11-28-h200-scales",
           "helr_scales": "2026-11-28-h200-helr-scales",
           "counted_forms": "2026-11-28-h200-counters-forms", "counted_passes": "2026-11-28-h200-counters-rotations",
           "counted_boot": "2026-11-28-h200-counters-bootstrap", "ceilings": "2026-11-28-h200-ceilings",
           "classes": "2026-11-28-h200-ablation",
           "rnn": "2026-11-27-h200-rnn", "together": "2026-11-27-h200-bootstrap-batch",
           "bands": "2026-11-28-h200-bands"}
D40 = "n16-d40-boot-v1"
LIMBS = (47, 23, 13, 7)
CHEDDAR = "Cheddar 1.0, measured 2026-11"
# From one run: each kernel launched by itself, and the same kernels captured into a CUDA graph, as ours are.
CHEDDAR_BOTH = (f"{CHEDDAR}, in one run with its graphs", f"{CHEDDAR}, captured into a CUDA graph")
Row = dict[str, Any]


@lru_cache
def record(subject: str) -> list[Row]:
    return json.loads((ROOT / "bench" / "records" / f"{RECORDS[subject]}.json").read_text())


@lru_cache
def references() -> list[Row]:
    return json.loads((ROOT / "python" / "latticino" / "measure" / "references.json").read_text())


def found(rows: Iterable[Row], name: str, **wanted: Any) -> Row:
    """The first row of that name whose members or parameters are these; 0 stands for a parameter that is not there."""
    for row in rows:
        if row["name"] == name and all(row.get(k, row.get("params", {}).get(k, 0)) == v for k, v in wanted.items()):
            return row
    raise LookupError(f"no row {name} with {wanted}")


def bootstrap(**options: int) -> Row:
    wanted = {"preset": D40, "slots": 32768, "minimal_keys": 0, "slot_to_coeff_first": 0, "over_mod_raise": 0}
    return found(record("bootstrap"), "ckks.bootstrap", **wanted | options)


def bootstrap_in_bands() -> Row:
    """The median of several runs of one ciphertext, in the form that plans choose."""
    runs = [row for row in record("bands") if row["name"] == "ckks.bootstrap" and row["preset"] == "n16-d40-boot-v2"
            and row["params"]["batch"] == 1 and row["params"]["slots"] == 32768 and row["params"].get("over_mod_raise")]
    return sorted(runs, key=lambda row: row["value"])[len(runs) // 2]


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    cells = list(head)
    lines = [cells, ["---"] * len(cells), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def three(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def rounded(rate: float) -> str:
    """A rate, rounded to hundreds."""
    return f"{round(rate, -2):,.0f}"


def gigabytes(count: float) -> str:
    return f"{count / 1e9:.2f} GB"


def megabytes(count: float) -> str:
    return f"{count / 1e6:,.1f} MB" if count < 1e8 else f"{count / 1e6:,.0f} MB"


def bits(row: Row) -> str:
    return f"{row['mean_error_bits']:.1f}, {row['max_error_bits']:.1f}"


def gate(name: str, preset: str, batch: int, arithmetic: str = "fft64", subject: str = "gates") -> float:
    return found(record(subject), f"tfhe.{name}", preset=preset, batch=batch, arithmetic=arithmetic)["value"]


def other(name: str, source: str, **wanted: Any) -> float:
    return found((r for r in references() if r["source"].startswith(source)), name, **wanted)["value"]


def cheddar(name: str, unit: str, **wanted: Any) -> str:
    launched, graph = (three(other(name, source, **wanted)) for source in CHEDDAR_BOTH)
    return f"{graph} {unit} as a graph, {launched} {unit} without"


# ---- README.md ----

def summary() -> str:
    boot = bootstrap()
    training, eager = (found(record("training"), "helr.iteration", mode=mode) for mode in ("replayed", "immediate"))
    image, sort = found(record("networks"), "resnet20.image"), found(record("sort"), "sort.run", values=16384)
    fine = found(record("sorts"), "sort.run", preset=D40)
    reviews = found(record("rnn"), "rnn.run", batch=32)
    on_cpu = found(record("cpu"), "ckks.bootstrap", threads=1)
    product, rotation = (found(record("operations"), f"ckks.{name}", limbs=13, batch=1)["value"]
                         for name in ("mul_relin_rescale", "rotate"))
    trip = found(record("switch"), "switch.round_trip", preset="switch-n16-d40-fp64-v1", slots=1024)
    table_set, gates = "tfhe-2-2-v2", "tfhe-gates-v2"
    return table(("one NVIDIA H200, unless a CPU is named", "Latticino", "others"), [
        ("bootstrapping of 2^15 complex slots, 13 levels left, 128-bit parameters", f"{three(boot['value'])} ms",
         f"{cheddar('ckks.bootstrap', 'ms', preset=D40)} (Cheddar, same GPU)"),
        ("the same on one thread of a server CPU", f"{three(on_cpu['value'] / 1e3)} s",
         f"{three(other('ckks.bootstrap', 'Lattigo'))} s (Lattigo, another CPU)"),
        ("product of two ciphertexts at 13 limbs, rescaled", f"{three(product)} us",
         f"{cheddar('ckks.mul_relin_rescale', 'us', limbs=13)} (Cheddar, same GPU)"),
        ("rotation at 13 limbs", f"{three(rotation)} us",
         f"{cheddar('ckks.rotate', 'us', limbs=13)} (Cheddar, same GPU)"),
        ("one iteration of logistic regression on encrypted MNIST, batches of 1024 rows",
         f"{three(training['value'])} ms as a graph, {three(eager['value'])} ms without, "
         f"{100 * training['accuracy']:.1f} % accurate",
         f"{three(other('helr.iteration', 'Theodosian'))} ms (Theodosian's paper, H100)"),
        ("one image through ResNet-20 with ReLUs, encrypted CIFAR-10", f"{three(image['value'])} ms",
         f"{three(other('resnet20.image', 'Theodosian'))} ms (Theodosian's paper, H100)"),
        ("32 film reviews through a recurrent network of 200 steps", f"{three(reviews['value'])} s",
         f"{three(other('rnn.run', 'Cheddar'))} s (Cheddar's paper, A100)"),
        ("sorting 2^14 encrypted numbers; bits of the largest error", "without a graph " + ", or ".join(
            f"{three(row['value'])} s with {row['max_error_bits']:.1f} bits" for row in (fine, sort)),
         f"{three(other('sort.run', 'Cheddar'))} s with {float(AT_FOUR_SCALES[40][2][1]):.1f} bits (Cheddar's paper, "
         "H100)"),
        ("TFHE table look-ups per second (integers of 2 message and 2 carry bits, 4096 at a time)",
         rounded(gate("pbs_throughput", table_set, 4096)),
         f"{other('tfhe.pbs_throughput', 'tfhe-rs', batch=4096):,.0f} (tfhe-rs, same GPU)"),
        ("one TFHE gate, 128-bit parameters", f"{three(gate('gate_latency', gates, 1))} ms", ""),
        ("any function of 1024 CKKS slots by tables of TFHE, and back", f"{three(trip['value'])} ms",
         f"{three(other('switch.round_trip', 'Chameleon', slots=1024))} ms (Chameleon's paper, another GPU)")])


# ---- docs/performance.md ----

def operations() -> str:
    names = {"multiply, relinearise and rescale": ("mul_relin_rescale", 1), "rotate": ("rotate", 1),
             "rotate, per rotation of 16 with one key": ("rotate", 16),
             "rotate, per rotation of 8 of one ciphertext (hoisted)": ("rotate_hoisted", 1), "rescale": ("rescale", 1),
             "add": ("add", 1)}
    rows = [(label, *(three(found(record("operations"), f"ckks.{name}", limbs=limbs, batch=batch)["value"])
                      for limbs in LIMBS)) for label, (name, batch) in names.items()]
    for label, name in (("multiply, relinearise and rescale", "mul_relin_rescale"), ("rotate", "rotate")):
        for how, source in zip(("without a graph", "as a graph"), CHEDDAR_BOTH):
            rows.append((f"Cheddar on the same GPU, {how}: {label}",
                         *(three(other(f"ckks.{name}", source, limbs=limbs)) for limbs in LIMBS)))
    return table(("microseconds, by number of limbs", *map(str, LIMBS)), rows)


def bootstrapping() -> str:
    def of(label: str, row: Row) -> tuple[str, ...]:
        return (label, f"{three(row['value'])} ms", str(row["levels_left"]), bits(row), gigabytes(row["key_bytes"]),
                gigabytes(row["peak_bytes"]))

    def line(label: str, **options: Any) -> tuple[str, ...]:
        return of(label, bootstrap(**options))

    sets = [line(f"`n16-d{scale}-boot-v1`", preset=f"n16-d{scale}-boot-v1") for scale in (30, 35, 40, 45, 50)]
    options = [line("`n16-d40-boot-v1`, minimal keys", minimal_keys=1),
               line("`n16-d40-boot-v1`, SlotToCoeff first", slot_to_coeff_first=1),
               line("`n16-d40-boot-v1`, OverModRaise", over_mod_raise=1),
               line("`n16-d40-boot-v1`, SlotToCoeff first and OverModRaise", slot_to_coeff_first=1, over_mod_raise=1),
               of("`n16-d40-boot-v2`, SlotToCoeff first and OverModRaise", bootstrap_in_bands()),
               line("`n16-d40-boot-v1`, 256 slots", slots=256)]
    return table(("set and options", "time", "levels left", "bits kept: mean, worst", "keys", "peak memory"),
                 sets + options)


def bootstrappings_together() -> str:
    def line(label: str, **options: Any) -> tuple[str, ...]:
        rows = {row["params"]["batch"]: row for row in record("together")
                if row["params"].get("slot_to_coeff_first") and options.items() <= row["params"].items()}
        return (label, *(f"{three(rows[batch]['value'])} ms" if batch in rows else "" for batch in (1, 4, 8)),
                gigabytes(rows[1]["peak_bytes"]), gigabytes(rows[8]["peak_bytes"]))

    return table(("values", "one", "each of 4", "each of 8", "peak memory of one", "of 8"),
                 [line("complex, 32,768 slots", message="complex", slots=32768),
                  line("real, 16,384 slots", message="real", slots=16384)])


def bootstrapping_of_others() -> str:
    rows = [r for r in references() if r["name"] == "ckks.bootstrap" and r["backend"] == "cuda"
            and "H200" in r["device"] and not r["params"].get("minimal_keys")]
    return table(("library that it is compared with", "time", "levels left and bits"),
                 [(f"{r['source']}, `{r['preset']}`", f"{three(r['value'])} ms", r.get("note", "")) for r in rows])


def precision() -> str:
    kinds = ("complex", "constant", "spike", "alternating", "chain")
    sets = [f"n16-d{scale}-boot-v1" for scale in (30, 35, 40, 45, 50)] + ["n16-d40-structured-v1"]
    rows = []
    for preset in sets:
        found_ = [found(record("precision"), "ckks.bootstrap_precision", preset=preset, message=kind) for kind in kinds]
        rows.append((f"`{preset}`", *(f"{row['mean_error_bits']:.1f}" for row in found_)))
    return table(("mean bits kept", "random", "all slots 1", "one slot 1", "+1, -1, +1 ...",
                  "random, after 50 bootstrappings"), rows)


def cpu() -> str:
    shapes = ((D40, 47), (D40, 23), (D40, 7), ("n15-d40-leveled-v1", 21), ("n14-d40-leveled-v1", 13))
    names = {"multiply, relinearise and rescale": "mul_relin_rescale", "rotate": "rotate", "rescale": "rescale",
             "encode and encrypt": "encrypt", "decrypt and decode": "decrypt"}
    rows = [(label, *(" / ".join(three(found(record("cpu"), f"ckks.{name}", preset=preset, limbs=limbs,
                                             threads=threads)["value"]) for threads in (1, 2))
                      for preset, limbs in shapes)) for label, name in names.items()]
    return table(("milliseconds on 1 / 2 threads", *(f"`{preset}`, {limbs} limbs" for preset, limbs in shapes)), rows)


def tfhe() -> str:
    sets = (("gates", "gate", "tfhe-gates-v2"), ("gates", "gate", "tfhe-gates-v1"),
            ("tables, 2 message and 2 carry bits", "pbs", "tfhe-2-2-v1"),
            ("tables, 2 message and 2 carry bits", "pbs", "tfhe-2-2-v2"),
            ("the same with keys of three bits per step", "pbs", "tfhe-2-2-group3-fft64-v1"))
    rows = []
    for label, kind, preset in sets:
        rows.append((label, f"`{preset}`", f"{gate(f'{kind}_latency', preset, 1):.2f} ms",
                     *(rounded(gate(f"{kind}_throughput", preset, batch)) for batch in (132, 4096))))
    return table(("what", "set", "one alone", "per second, 132 at a time", "per second, 4096 at a time"), rows)


def switching() -> str:
    rows = [r for subject, sets in (("switch", "-fp64-v1"), ("switch_exact", "-v1")) for r in record(subject)
            if r["name"] == "switch.round_trip" and r["preset"].endswith(sets)]
    return table(("set", "slots", "route", "round trip"),
                 [(f"`{r['preset']}`", str(r["params"]["slots"]), r["params"]["route"], f"{three(r['value'])} ms")
                  for r in rows])


# ---- docs/choose.md ----

def _plan_of_product(preset: str) -> tuple[Any, float, float]:
    """The plan of a product of two fresh arrays; seconds on one CPU thread with AVX-512, and on an H200."""
    plans = []
    for rates in (("avx512", 1), ("cuda", 1)):
        with mock.patch.object(devices, "rate_device", lambda *_, rates=rates: rates):
            context = lt.Context(preset, "cpu")
            shape = lt.Shape((context.slots,))
            plans.append(context.plan(lambda a, b: a * b, shape, shape))
    return plans[0], plans[0].seconds, plans[1].seconds


def leveled() -> str:
    rows = []
    for preset in (p for p in lt.presets() if "-leveled-" in p and not p.startswith("test")):
        p = _native.preset(preset)
        plan, cpu_time, gpu_time = _plan_of_product(preset)
        rows.append((f"`{preset}`", f"{p.max_slots:,}", str(p.default_level), f"2^{p.log_scale:g}",
                     megabytes(2 * 4 * p.n * p.limbs(p.default_level)), megabytes(p.switching_key_bytes),
                     megabytes(plan.peak_bytes), f"{three(1e3 * cpu_time)} ms", f"{three(1e6 * gpu_time)} us"))
    return table(("preset", "slots", "levels", "scale", "a fresh ciphertext", "one key", "memory for one product",
                  "product, one CPU thread", "product, H200"), rows)


def bootstrapped() -> str:
    rows = []
    for scale in (30, 35, 40, 45, 50):
        preset = f"n16-d{scale}-boot-v1"
        p, row = _native.preset(preset), bootstrap(preset=preset)
        rows.append((f"`{preset}`", f"{p.max_slots:,}", f"{p.default_level}, {row['levels_left']}", bits(row),
                     megabytes(2 * 4 * p.n * p.limbs(p.default_level)), gigabytes(row["key_bytes"]),
                     gigabytes(row["peak_bytes"]), f"{three(row['value'])} ms"))
    return table(("preset", "slots", "levels: fresh, after bootstrapping", "bits kept: mean, worst",
                  "a fresh ciphertext", "keys for bootstrapping", "peak memory", "bootstrapping, H200"), rows)


def tfhe_sets() -> str:
    rows = []
    for preset in (p for p in lt.tfhe.presets() if p.startswith("tfhe-")):
        t = lt.tfhe.preset(preset)
        kind = "gate" if t.booleans else "pbs"
        times = []
        for subject in ("gates_cpu", "gates"):
            known: dict[str, float] = {}  # by arithmetic, of the first run of the record
            for r in record(subject):
                if (r["name"], r["preset"], r["params"]["batch"]) == (f"tfhe.{kind}_latency", preset, 1):
                    known.setdefault(r["params"]["arithmetic"], r["value"])
            times.append(f"{min(known.values()):.2f} ms" if known else "not measured")
        rows.append((f"`{preset}`", "booleans" if t.booleans else f"integers, {t.message_bits} bits per block",
                     f"2^{t.stated_log_failure:.0f}", megabytes(t.bootstrap_key_bytes + t.key_switch_key_bytes),
                     f"{4 * (t.big_dimension + 1) / 1e3:.1f} kB", *times))
    return table(("preset", "values", "failure probability, stated", "keys in memory", "a ciphertext",
                  "one gate or table, one CPU thread", "the same, H200"), rows)


def functions() -> str:
    """Costs of fits, for several precisions."""
    wanted: list[tuple[str, Callable[..., Any], tuple[float, float]]] = [
        ("exp", np.exp, (-1, 1)), ("exp", np.exp, (-8, 0)), ("log", np.log, (0.1, 1)), ("sin", np.sin, (-4, 4)),
        ("tanh", np.tanh, (-4, 4)), ("sigmoid", lambda v: 0.5 + 0.5 * np.tanh(v / 2), (-8, 8)),
        ("sqrt", np.sqrt, (0.01, 1)),
        ("1/x", lambda v: 1 / v, (1, 2)), ("1/x", lambda v: 1 / v, (0.1, 1)), ("1/x", lambda v: 1 / v, (0.01, 1)),
        ("1/sqrt(x)", lambda v: v**-0.5, (0.01, 1))]
    rows = []
    for name, f, domain in wanted:
        cells = [f"`{name}`", f"{domain[0]:g} to {domain[1]:g}"]
        for bits in (10, 16, 20, 26):
            fit = lt.fit(f, domain, bits)
            cells.append(f"{fit.degree}: {fit.levels}, {fit.products}")
        rows.append(cells)
    return table(["Function", "Domain", *(f"{b} bits: degree: levels, products" for b in (10, 16, 20, 26))], rows)


def signs() -> str:
    """Costs of compositions, by gap and precision."""
    rows = []
    for gap in (4, 6, 8, 10, 13, 16):
        cells = [f"2^-{gap}"]
        for bits in (8, 13, 20):
            fit = lt.fit_sign(1, 2.0**-gap, bits)
            cells.append(f"{', '.join(map(str, fit.degrees))}: {fit.levels}, {fit.products}")
        rows.append(cells)
    return table(["Gap of the bound", *(f"{b} bits: degrees: levels, products" for b in (8, 13, 20))], rows)


TRIES = {"a model of scikit-learn": ["sklearn_model"], "a multilayer perceptron": ["perceptron"],
         "mean, variance, correlation of 10,000 values": ["columns"], "500 nearest neighbours": ["neighbours"],
         "a convolution": ["convolution"], "gradient descent": ["gradient_descent"],
         "a service over HTTP": ["service_server", "service_client"]}


def lines_of_code(path: Path) -> int:
    """Lines with code: no blank lines, comments or docstrings."""
    with path.open("rb") as file:
        tokens = list(tokenize.tokenize(file.readline))
    beside = {tokenize.ENCODING, tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
              tokenize.ENDMARKER}
    held, before = set[int](), tokenize.NEWLINE
    for token in tokens:
        if token.type in beside:
            before = token.type if token.type not in (tokenize.COMMENT, tokenize.NL) else before
        elif token.type != tokenize.STRING or before not in (tokenize.ENCODING, tokenize.NEWLINE, tokenize.INDENT):
            held |= set(range(token.start[0], token.end[0] + 1))
            before = token.type
    return len(held)


def tries() -> list[tuple[str, int, int]]:
    """The title of a program, and its lines in numpy and on encrypted data."""
    folder = ROOT / "examples" / "side_by_side"
    return [(what, *(sum(lines_of_code(folder / side / f"{name}.py") for name in names)
                     for side in ("in_numpy", "encrypted"))) for what, names in TRIES.items()]


def side_by_side() -> str:
    """Lines of programs in numpy and here."""
    rows = []
    for (what, clear, encrypted), names in zip(tries(), TRIES.values()):
        links = ", ".join(f"[{name}.py](../examples/side_by_side/encrypted/{name}.py)" for name in names)
        rows.append([what, links, str(clear), str(encrypted)])
    return table(["Program", "On encrypted data", "Lines in numpy", "Lines here"], rows)


def comparisons() -> str:
    """Costs and precision of comparisons of two arrays."""
    def planned(**options: Any) -> Any:
        with mock.patch.object(devices, "rate_device", lambda *_: ("cuda", 1)):
            context = lt.Context(D40, "cpu", auto_bootstrap=True)
            shape = lt.Shape((1 << 14,), None, (-1, 1))
            return context.plan(lambda a, b: a.compare(b, 1.0, **options), shape, shape)

    rows = []
    for log_gap, bits in ((5, 8), (7, 13), (9, 13), (11, 13), (9, 20)):
        fit = lt.fit_sign(2, 2.0**-log_gap, bits - 1)
        plan = planned(method="polynomial", gap=2.0**-log_gap, bits=bits)
        rows.append((f'`"polynomial"`, `bits={bits}`', f"2^-{log_gap}", f"{fit.bits + 1:.1f}", str(fit.levels),
                     str(plan.bootstraps), "0", f"{three(1e3 * plan.prepared_seconds)} ms"))
    plan = planned()
    rows.append(('`"table"`', "2^-6", f"{plan.bits[0][0]:.1f}", "to that after a bootstrapping", str(plan.bootstraps),
                 f"{plan.lookups:,}", f"{three(1e3 * plan.prepared_seconds)} ms"))
    return table(("method", "values differ by", "bits of 0 and 1", "levels", "bootstrappings", "tables looked up",
                  "predicted time"), rows)


def largest() -> str:
    """Costs of the ways to the largest value's index."""
    rows = []
    for count in (10, 32):
        for method, options in (("rounds", {}), ("ranks", {}), ("polynomial", {"gap": 1 / 64, "bits": 12})):
            def program(a: Any, method: str = method, options: dict[str, Any] = options) -> Any:
                return a.argmax(1.0, method, **options)

            with mock.patch.object(devices, "rate_device", lambda *_: ("cuda", 1)):
                context = lt.Context(D40, "cpu", auto_bootstrap=True)
                plan = context.plan(program, lt.Shape((count,), None, (-1, 1)))
            rows.append((str(count), f'`"{method}"`', f"{plan.lookups:,}", str(plan.bootstraps),
                         f"{three(1e3 * plan.prepared_seconds)} ms", megabytes(plan.key_bytes)))
    return table(("values", "method", "tables looked up", "bootstrappings", "predicted time", "keys"), rows)


def sorting() -> str:
    """Cost and precision of sorts, by count and bits."""
    rows = []
    d35, d40 = "n16-d35-boot-v1", "n16-d40-boot-v1"
    for preset, count, bits in ((d40, 2**7, 12), (d40, 2**14, 12), (d35, 2**14, 13)):
        fit = lt.fit_sort(count, (0, 1), bits)
        rng = np.random.default_rng(1)
        random, few = rng.uniform(0, 1, count), rng.integers(0, 100, count) / 100
        reached = [-np.log2(np.abs(fit(x) - np.sort(x)).mean()) for x in (random, np.sort(random), few)]
        with mock.patch.object(devices, "rate_device", lambda *_: ("cuda", 1)):
            shape = lt.Shape((count,), None, (0, 1))
            plan = lt.Context(preset, "cpu").plan(lambda a, bits=bits: lt.sort(a, bits=bits), shape)
        rows.append((f"{count:,}", str(bits), f"`{preset}`", str(fit.stages), str(fit.levels), str(plan.bootstraps),
                     *(f"{b:.1f}" for b in reached), f"{three(plan.prepared_seconds)} s"))
    return table(("values", "`bits`", "set", "stages", "levels of a stage", "bootstrappings",
                  "mean bits: random values", "sorted values", "100 different values", "predicted time"), rows)


# ---- docs/network_layers.md ----

def _read(make: Callable[[Builder], int], shape: tuple[int, ...], bound: float, **options: Any) -> Reading:
    """A model of one input, with calibration data whose bound this is, spread evenly."""
    build = Builder(shape)
    graph = build.graph(make(build))
    inputs = max(2, min(1000, 50_000 // math.prod(shape)))
    x = np.random.default_rng(0).uniform(-bound, bound, (inputs, *shape)) / MARGIN
    x.reshape(-1)[:2] = -bound / MARGIN, bound / MARGIN
    return read(graph, calibration=x, **options)


def activations() -> str:
    """Costs of activations, by the largest value before them."""
    bounds = (2, 4, 8)
    names = {"SiLU": "silu", "GELU": "gelu", "sigmoid": "sigmoid", "tanh": "tanh", "softplus": "softplus", "ELU": "elu",
             "hardswish": "hardswish", "ReLU": "relu", "LeakyReLU": "leaky_relu", "abs": "abs"}
    return table(("activation", *(f"values up to {b}" for b in bounds)),
                 [(label, *(_activation(name, b) for b in bounds)) for label, name in names.items()])


def _activation(name: str, bound: float) -> str:
    fit, = _read(lambda build: build.activation(0, name, "act"), (50,), bound).fits.values()
    kind = "composed sign" if fit.terms[0].gated else f"degree {fit.terms[0].chain[0].degree}"
    return f"{kind}: {fit.cost[0]}, {fit.cost[1]}"


def layers() -> str:
    """Costs of layers that run from the top level of a preset, predicted for an H200."""
    r = np.random.default_rng(1)
    image, shape = (16, 32, 32), (64,)
    wanted: list[tuple[str, Callable[[Builder], int], tuple[int, ...], Any]] = [
        ("`Linear(64, 64)`", lambda b: b.linear(0, r.normal(size=(64, 64))), shape, None),
        ("`Linear(512, 512)`", lambda b: b.linear(0, r.normal(size=(512, 512))), (512,), None),
        ("`Conv2d(16, 16, 3)`", lambda b: b.conv(0, r.normal(size=(16, 16, 3, 3)), padding=1), image, None),
        ("`Conv2d(16, 32, 3, stride=2)`",
         lambda b: b.conv(0, r.normal(size=(32, 16, 3, 3)), stride=2, padding=1), image, None),
        ("SiLU", lambda b: b.activation(0, "silu", "act"), image, None),
        ("ReLU as one polynomial", lambda b: b.activation(0, "relu", "act"), image, "polynomial"),
        ("ReLU as a composed sign", lambda b: b.activation(0, "relu", "act"), image, "composite")]
    rows = []
    for label, make, of, choice in wanted:
        found = _read(make, of, 8.0, fits={"act": choice} if choice else None)
        levels, seconds, diagonals = _cost(found.lowered)
        rows.append((label, str(levels), f"{diagonals:,}" if diagonals else "", f"{three(1e3 * seconds)} ms"))
    boot = bootstrap()
    rows.append(("bootstrapping, measured", f"gives {boot['levels_left']}", "", f"{three(boot['value'])} ms"))
    return table(("layer", "levels", "diagonals", "predicted time"), rows)


def _cost(lowered: Lowered) -> tuple[int, float, int]:
    """Levels, predicted seconds on an H200 and diagonals of all steps, one after the other from the top level."""
    with mock.patch.object(devices, "rate_device", lambda *_: ("cuda", 1)):
        context = lt.Context(D40, "cpu")
        graph = with_moves(scaled(lowered).graph, context.slots, 1)
        machine = Machine(graph, context.slots)
        rates = Rates(machine, context)
        at, seconds = {0: context.level}, 0.0
        for i, node in enumerate(graph.nodes[1:], 1):
            step = rates.node(i, min(at[j] for j in node.inputs))
            assert step is not None
            at[i], seconds = step.level, seconds + step.seconds
    return context.level - at[graph.output], seconds, sum(t.diagonals for ts in machine.transforms for t in ts)


def labels() -> str:
    """Costs of comparisons at the end of a network, by polynomials and by tables of TFHE, predicted for an H200."""
    gap = 1 / 64
    wanted: list[tuple[str, Callable[[Builder], int], int, Callable[[Any], Any]]] = [
        *((f"`argmax` of {n}", lambda b: b.argmax(0, gap=gap), n,
           lambda a, method="ranks" if n <= 40 else "rounds": a.argmax(1.0, method)) for n in (2, 10, 40, 100)),
        ("10 thresholds", lambda b: b.positive(0, gap), 10, lambda a: a.apply_lut(lambda v: float(v > 0)))]
    rows = []
    with mock.patch.object(devices, "rate_device", lambda *_: ("cuda", 1)):
        for label, make, count, tables in wanted:
            build = Builder((count,))
            graph = build.graph(make(build), Decision("step", "bool", (count,)) if "thresholds" in label else None)
            x = np.random.default_rng(0).uniform(-1, 1, (1000, count)) / MARGIN
            x[0] = (-1.0) ** np.arange(count) / MARGIN
            plan = nn.compile(graph, calibration=x, preset=D40, device="cuda").plan
            other = lt.Context(D40, "cpu", auto_bootstrap=True).plan(tables, lt.Shape((count,), None, (-1, 1)))
            rows.append((label, str(plan.level), str(plan.bootstraps), f"{three(1e3 * plan.seconds)} ms",
                         f"{three(1e3 * other.prepared_seconds)} ms"))
    return table(("result", "level of the input", "bootstrappings", "predicted time", "by tables of TFHE"), rows)


def packing() -> str:
    """Results for random schedules, by the terminals that a level may have."""
    layouts = {"lists": "the first ones of one list or of two", "free": "any"}
    rows = []
    for layout, label in layouts.items():
        row = found(record("packing"), "params.packing", layout=layout)
        rows.append((label, f"{row['params']['schedules']:,}", f"{row['packed']:,} ({100 * row['value']:.1f} %)",
                     f"{row['sets']:,}", f"{row['refused']:,}", f"{row['refused_with_scales_that_do']:,}",
                     str(row["wrong"]),
                     f"{row['mean_seconds']:.2f} s, {row['longest_seconds']:.1f} s"))
    return table(("terminals of a level", "schedules", "packed", "of these sets", "refused",
                  "of these with scales that do", "wrong answers", "processor time: mean, longest"), rows)


CHAINS = {"packed": "packed", "single": "one prime per level", "double": "two primes per level",
          "3 primes": "three primes per level"}


def chains() -> str:
    """The deepest chains that bootstrap, packed and with primes of each level's own, and their times at the highest
    level that is left."""
    def key(row: Row) -> tuple[int, float, str]:
        return row["params"]["word"], row["params"]["log_scale"], row["params"]["chain"]

    rows, times = [], {}
    later = {key(row) for row in record("later_chains")}
    # Later rows stand where those of the same words, scale and chain stood.
    found = sorted([row for row in record("chains") if key(row) not in later] + record("later_chains"),
                   key=lambda row: (*key(row)[:2], key(row)[2] != "packed"))
    for row in found:
        if row["name"] in ("bitpacker.bootstrap", "bitpacker.rotate", "bitpacker.multiply"):
            times.setdefault((row["name"], key(row)), row)  # the first: of the highest level
    for row in found:
        size = row["params"]
        scale = "one word" if size["log_scale"] < size["word"] else f"2^{size['log_scale']:g}"
        head = (str(size["word"]), scale, CHAINS[size["chain"]])
        if row["name"] == "bitpacker.chain":
            boot, rotate, multiply = (times[f"bitpacker.{name}", key(row)]
                                      for name in ("bootstrap", "rotate", "multiply"))
            rows.append((*head, str(row["levels_left"]), str(row["limbs_top"]), f"{row['value']:.1f}",
                         f"{row['evalmod_bits']:g}", f"{boot['mean_error_bits']:.1f}", f"{boot['value']:.2f} ms",
                         f"{boot['value'] / row['levels_left']:.2f} ms", f"{rotate['value']:.0f} us",
                         f"{multiply['value']:.0f} us"))
        elif row["name"] == "bitpacker.refused":
            rows.append((*head, "none", *[""] * 8))
    return table(("words", "scale", "chain", "levels left", "limbs at the top", "limbs per level", "EvalMod, bits",
                  "bits, mean", "bootstrapping", "per level left", "rotation", "product"), rows)


# ---- docs/workloads.md ----

def words() -> str:
    """Workloads on packed chains in words of 28 and 30 bits, predicted and measured."""
    rows = []
    for row in record("words"):
        size = row["params"]
        predicted = f", {row['predicted_bits']:.1f} bits" if "predicted_bits" in row else ""
        rows.append((f"`{size['workload']}`", f"`{row['preset']}`", f"{row['limbs']} of {row['limbs_top']}",
                     megabytes(row["ciphertext_bytes"]), gigabytes(row["key_bytes"]), gigabytes(row["weight_bytes"]),
                     str(row["bootstraps"]), f"{three(row['value'])} ms{predicted}",
                     f"{three(row['measured'])} ms, {row['measured_bits']:.1f} bits",
                     f"{row['measured_worst_bits']:.1f} bits"))
    return table(("workload", "set", "limbs of inputs, of the top", "a ciphertext", "keys", "weights", "bootstrappings",
                  "predicted", "measured", "worst value"), rows)


def scales() -> str:
    """Accuracy, bits and times of three workloads at four scales, compared with those of the paper."""
    rows = []
    for scale in sorted(AT_FOUR_SCALES):
        preset = "n16-d48-dr-boot-v1" if scale == 48 else f"n16-d{scale}-boot-v1"
        helr = found(record("helr_scales"), "helr.iteration", preset=preset)
        made = {row["name"].partition(".")[0]: row for row in record("scales")
                if row["params"]["log_scale"] == scale and row["name"] not in ("sort.plan", "helr.iteration")}
        image, sort = made["resnet20"], made["sort"]
        (iteration, learned), (each, right), (whole, worst) = AT_FOUR_SCALES[scale]
        rows.append((
            f"2^{scale}",
            f"{helr['value']:.2f} ms, {100 * helr['accuracy']:.2f} %, {helr['mean_error_bits']:.1f} bits",
            f"{iteration} ms, {learned} %",
            f"{image['measured']:.0f} ms, {image['value']:.1f} %, {image['measured_bits']:.1f} bits, "
            f"{image['bootstraps']}" if "measured" in image else "refused",
            f"{each} s, {right} %",
            f"{sort['value']:.2f} s, {sort['mean_error_bits']:.1f} and {sort['max_error_bits']:.1f} bits"
            if sort["value"] else "refused",
            f"{whole} s, {worst} bits"))
    return table(("scale", "HELR: an iteration, accuracy, bits of the weights", "the paper's",
                  "ResNet-20: an image, accuracy, bits of the scores, bootstrappings", "the paper's",
                  "sort of 2^14 numbers, exchanges of 12 bits: time, bits of the mean and of the largest error",
                  "the paper's: time, bits of the largest error"), rows)


# ---- docs/lab/transform-forms.md and docs/lab/roofline.md: hardware counters ----

def stalls() -> str:
    return table(*counter_tables.stalls(record("counted_forms")))


def stalls_small() -> str:
    return table(*counter_tables.stalls(record("counted_forms"), 2**13))


def stalls_by_barrier() -> str:
    return table(*counter_tables.stalls_by_barrier(record("counted_forms")))


def rotation_shares() -> str:
    return table(*counter_tables.rotation_shares(record("counted_passes")))


def rotation_shares_small() -> str:
    return table(*counter_tables.rotation_shares(record("counted_passes"), 23))


def bootstrap_roofline() -> str:
    return _bootstrap_roofline("+ graph", 0)


def bootstrap_roofline_newer() -> str:
    return _bootstrap_roofline("+ OverModRaise", 1)


def _bootstrap_roofline(step: str, newer: int) -> str:
    formula = {row["params"]["class"]: row["bytes_moved"] for row in record("classes")
               if row["name"] == "ablation.class" and row["step"] == step}
    rates = [found(record("ceilings"), f"ceiling.{kind}")["value"] for kind in ("memory", "l2", "issue", "multiply")]
    return table(*counter_tables.bootstrap_roofline(record("counted_boot"), formula, *rates, newer))


TABLES: dict[str, Callable[[], str]] = {
    f.__name__: f for f in (summary, operations, bootstrapping, bootstrappings_together, bootstrapping_of_others,
                            precision, cpu, tfhe, switching, leveled, bootstrapped, tfhe_sets, functions, signs,
                            side_by_side, sorting, largest, comparisons, activations, layers, labels, packing, chains,
                            words, scales, stalls, stalls_small, stalls_by_barrier, rotation_shares,
                            rotation_shares_small, bootstrap_roofline, bootstrap_roofline_newer)}
MARKED = re.compile(r"(<!-- table: (\w+) -->\n).*?(?=<!-- end -->)", re.DOTALL)


def rewritten(page: Path) -> str:
    """The text of a page with its tables as the records have them."""
    return MARKED.sub(lambda m: f"{m[1]}\n{TABLES[m[2]]()}\n\n", page.read_text())


def main() -> None:
    for name in PAGES:
        page = ROOT / name
        page.write_text(rewritten(page))


if __name__ == "__main__":
    main()
