"""`latticino bench counters`: hardware counters of a GPU, by Nsight Compute.

Three parts run a program under the profiler, each several times, and make rows of what it counts:

- ``forms``: why warps wait, in the transforms of Chameleon's paper and in ours;
- ``rotations``: the five passes of rotations by limbs and batch: bytes, and how busy DRAM, L2, network and pipes are;
- ``bootstrap``: every kernel of a bootstrapping, summed by class.

``graph`` counts a bootstrapping that is one graph as a whole. Only this part does not run one kernel after the other.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from .. import errors
from ..files import regular
from . import ncu, programs, records
from .ncu import Launch
from .records import Row

LIMIT = 200.0  # seconds of one run of the profiler
TIME = "gpu__time_duration.sum"
# Each launch runs once. The program is started again for each group of counters. So memory need not be saved and
# restored between launches, and caches keep what the kernel before has left.
AS_THEY_RUN = ("--replay-mode", "application", "--cache-control", "none", "--profile-from-start", "off")
# Small kernels with little memory, which one run of the program can repeat for each group of counters.
AGAIN = ("--cache-control", "none", "--profile-from-start", "off")
WHOLE = ("--replay-mode", "app-range", "--cache-control", "none")

# Classes of kernels, the same as those of records in bench/ablation.cc.
CLASSES = {
    "transforms": ("transform_rows", "transform_kept_rows", "transform_columns", "transform_block"),
    "conversions": ("convert_tile", "convert_few", "convert_entries", "mod_raise"),
    "products with keys": ("key_inner", "key_inner_batch"),
    "last steps": ("mod_down_finish",),
    "automorphisms": ("automorphism",),
    "element-wise": ("linear", "tensor", "dot", "copy"),
}
PASSES = ("intt_rows", "mod_up", "key_inner", "mod_switch_tile", "subtract_scale")
CLASSES_OF_PASSES = ("transforms", "conversions", "products with keys", "conversions", "last steps")

BYTES = {TIME: "ns", "dram__bytes_read.sum": "dram_read", "dram__bytes_write.sum": "dram_write",
         "lts__t_bytes.sum": "l2_bytes"}
NETWORK = {TIME: "ns", "l1tex__m_xbar2l1tex_read_bytes.sum": "to_sm_bytes",
           "l1tex__m_l1tex2xbar_write_bytes.sum": "from_sm_bytes"}
SHARES = {TIME: "ns", "dram__bytes.avg.pct_of_peak_sustained_elapsed": "dram_percent",
          "lts__t_bytes.avg.pct_of_peak_sustained_elapsed": "l2_percent",
          "lts__t_sectors.avg.pct_of_peak_sustained_elapsed": "l2_sector_percent",
          "l1tex__m_xbar2l1tex_read_sectors.avg.pct_of_peak_sustained_elapsed": "to_sm_percent",
          "l1tex__m_l1tex2xbar_req_cycles_active.avg.pct_of_peak_sustained_elapsed": "from_sm_percent",
          "lts__lts2xbar_cycles_active.avg.pct_of_peak_sustained_elapsed": "from_l2_percent",
          "lts__xbar2lts_cycles_active.avg.pct_of_peak_sustained_elapsed": "to_l2_percent"}
INSTRUCTIONS = {"smsp__inst_executed.sum": "warp_instructions",
                "sm__inst_executed_pipe_fmaheavy.sum": "multiply_instructions",
                "sm__inst_executed_pipe_alu.sum": "alu_instructions"}
PIPES = {TIME: "ns", "smsp__issue_active.avg.pct_of_peak_sustained_active": "issue_percent",
         "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active": "alu_percent",
         "sm__inst_executed_pipe_fmaheavy.avg.pct_of_peak_sustained_active": "multiply_percent",
         "sm__warps_active.avg.pct_of_peak_sustained_active": "warps_percent"}

REASONS = ("barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle",
           "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction", "not_selected",
           "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait")
STALLS = {TIME: "ns", "smsp__inst_executed.sum": "warp_instructions",
          "smsp__average_warp_latency_per_inst_issued.ratio": "latency",
          **{f"smsp__average_warps_issue_stalled_{r}_per_issue_active.ratio": f"stalled_{r}" for r in REASONS}}
DIVERGENCE = {TIME: "ns", "smsp__inst_executed.sum": "warp_instructions",
              "smsp__sass_branch_targets_threads_divergent.avg": "divergent_branches",
              "smsp__sass_branch_targets_threads_divergent.sum": "divergent_branches_in_all"}
PER_ISSUE = "smsp__inst_executed.sum"

Options = dict[str, str | int]
BOOTSTRAP: Options = {"device": "cuda", "preset": "n16-d40-boot-v1", "profile": 1}
ORDERS: tuple[Options, ...] = ({}, {"stc-first": 1, "over-raise": 1})
SIZES = ("N", "limbs", "slots", "batch", "slot_to_coeff_first", "over_mod_raise")


def class_of(kernel: str) -> str:
    """The class of a kernel; ``other`` for a kernel of no class."""
    return next((name for name, kernels in CLASSES.items() if ncu.base_name(kernel) in kernels), "other")


def _counted(name: str, options: Options, groups: Sequence[dict[str, str]], how: Sequence[str],
             made: Callable[[list[Row], list[Launch]], list[Row]]) -> list[Row]:
    """The rows that `made` makes from the program's output and from its launches, with the counters of all groups. A
    group that fails is reported and left out, unless it is the first."""
    profiles: list[ncu.Profile] = []
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "rows.json"
        command = [str(programs.path_of(name)), f"--output={output}", *(f"--{k}={v}" for k, v in options.items())]
        for group in groups:
            start = time.monotonic()
            try:
                profiles.append(ncu.profile(command, list(group), how, LIMIT, _say))
            except ncu.ProfilerError as why:
                if not profiles:
                    raise
                _say(f"without the group of {', '.join(group.values())}: {why}")
                continue
            _say(f"{name}: {len(profiles[-1].launches)} launches, {len(group)} counters, "
                 f"{time.monotonic() - start:.0f} s")
        try:
            return made(records.read(output), ncu.merged(profiles))
        except ncu.ProfilerError as why:
            raise ncu.ProfilerError(str(why), "".join(p.said for p in profiles)) from why


def _say(text: str) -> None:
    print(text, flush=True)


def _rounded(values: dict[str, float]) -> Row:
    """Our values; nanoseconds become microseconds."""
    out: Row = {name: round(value, 3) for name, value in values.items() if name != "ns"}
    return ({"us": round(values["ns"] / 1e3, 3)} if "ns" in values else {}) | out


def _row(name: str, value: float, unit: str, source: Row, params: Row, values: dict[str, float]) -> Row:
    row: Row = {"name": f"counters.{name}", "value": value, "unit": unit, "device": source["device"], "backend": "cuda",
                "mode": "profiled", "preset": source["preset"], "params": params, **_rounded(values)}
    return records.stamped(row)


# ---- forms ----

def forms() -> list[Row]:
    options: Options = {"log-n": "13,16", "syncs": "simple,tree,lock-free,grid,local", "chunks": "0,64", "profile": 1}
    return _counted("bench_transform_forms", options, (STALLS, DIVERGENCE), AGAIN, form_rows)


def form_rows(ways: list[Row], launches: list[Launch]) -> list[Row]:
    """A row for each form. The profiler's launches come in the order of the program's rows; our own transform may take
    several, of kernels with other names."""
    left = list(launches)
    rows = []
    for way in ways:
        ours = way["params"]["form"] == "ours"
        own: list[Launch] = []
        while left and (ncu.base_name(left[0].kernel) != "transform") == ours and (ours or len(own) < way["launches"]):
            own.append(left.pop(0))
        if not own or (not ours and len(own) != way["launches"]):
            raise ncu.ProfilerError(f"{len(launches)} launches do not fit the {len(ways)} rows of the program, from "
                                    f"{way['params']} on")
        values = ncu.summed(own, STALLS | DIVERGENCE, PER_ISSUE)
        rows.append(_row("form", round(values["latency"], 3) if "latency" in values else _all_reasons(values), "cycles",
                         way, way["params"] | {"launches": len(own)}, values))
    if left:
        raise ncu.ProfilerError(f"{len(left)} launches more than the {len(ways)} rows of the program have")
    return rows


def _all_reasons(values: dict[str, float]) -> float:
    """The cycles that a warp takes for an instruction. By Little's law this is the number of waiting warps for each
    instruction that is issued."""
    return round(sum(v for k, v in values.items() if k.startswith("stalled_")), 3)


# ---- rotations ----

def rotations() -> list[Row]:
    options: Options = {"profile": 1, "limbs": "", "degrees": "", "batch-limbs": "23,47", "batches": "1,4,16"}
    return _counted("bench_growth", options, (BYTES, SHARES, NETWORK, PIPES), AS_THEY_RUN, pass_rows)


def rounds_of(launches: list[Launch]) -> Iterator[list[list[Launch]]]:
    """The launches of one rotation, or of one batch, after the other: a list for each of its five passes."""
    runs = [(kind, list(own)) for kind, own in groupby(launches, lambda x: class_of(x.kernel))]
    for at in range(0, len(runs), len(PASSES)):
        kinds, parts = zip(*runs[at:at + len(PASSES)])
        if kinds != CLASSES_OF_PASSES:
            raise ncu.ProfilerError(f"a rotation of {', '.join(kinds)}, where {', '.join(CLASSES_OF_PASSES)} was due")
        yield list(parts)


def pass_rows(cases: list[Row], launches: list[Launch]) -> list[Row]:
    """A row for each pass of each case, and one for all passes of it."""
    found = list(rounds_of(launches))
    if len(found) != len(cases):
        raise ncu.ProfilerError(f"{len(found)} rotations were counted, and the program made {len(cases)}")
    names = BYTES | SHARES | NETWORK | PIPES
    rows = []
    for case, parts in zip(cases, found):
        for name, own in [*zip(PASSES, parts), ("rotation", [x for part in parts for x in part])]:
            values = ncu.summed(own, names)
            params = case["params"] | {"pass": name, "operands": case["operands"], "launches": len(own)}
            row = _row("pass", round(values.get("ns", 0) / 1e3, 3), "us", case, params, values)
            moved = {"bytes_moved": case["bytes_moved"] * case["params"]["batch"]} if name == "rotation" else {}
            rows.append(row | moved)
    return rows


# ---- bootstrap ----

def bootstrap() -> list[Row]:
    rows: list[Row] = []
    for chosen in ORDERS:
        options = {**BOOTSTRAP, "runs": 1, "replay": 0, **chosen}
        rows += _counted("bench_bootstrap", options, (BYTES, NETWORK | INSTRUCTIONS), AS_THEY_RUN, class_rows)
    return rows


def class_rows(made: list[Row], launches: list[Launch]) -> list[Row]:
    """Rows for all launches, for each class, and for each kernel."""
    source, = made
    names = BYTES | NETWORK | INSTRUCTIONS
    by_class: dict[str, list[Launch]] = {}
    by_kernel: dict[str, list[Launch]] = {}
    for launch in launches:
        by_class.setdefault(class_of(launch.kernel), []).append(launch)
        by_kernel.setdefault(ncu.base_name(launch.kernel), []).append(launch)
    if other := {ncu.base_name(x.kernel) for x in by_class.get("other", [])}:
        _say(f"of no class: {', '.join(sorted(other))}")
    parts = [("bootstrap", "all", launches), *(("bootstrap", name, own) for name, own in by_class.items()),
             *(("bootstrap_kernel", name, own) for name, own in by_kernel.items())]
    rows = []
    for kind, name, own in parts:
        values = ncu.summed(own, names)
        params = _sizes(source) | {"kernel" if kind == "bootstrap_kernel" else "class": name, "launches": len(own)}
        row = _row(kind, values.get("l2_bytes", 0.0), "bytes", source, params, values)
        rows.append(row | ({"bytes_moved": source["bytes_moved"]} if name == "all" else {}))
    return rows


def _sizes(source: Row) -> Row:
    return {k: source["params"].get(k, 0) for k in SIZES}


def graph() -> list[Row]:
    """A bootstrapping as it runs: one graph, whose kernels overlap."""
    rows: list[Row] = []
    for chosen in ORDERS:
        options = {**BOOTSTRAP, "runs": 2, "replay": 1, **chosen}
        rows += _counted("bench_bootstrap", options, (BYTES,), WHOLE, graph_rows)
    return rows


def graph_rows(made: list[Row], launches: list[Launch]) -> list[Row]:
    source, = made
    if len(launches) != 1:
        raise ncu.ProfilerError(f"{len(launches)} ranges, where one was marked")
    values = ncu.summed(launches, BYTES)
    row = _row("bootstrap_graph", values.get("l2_bytes", 0.0), "bytes", source, _sizes(source), values)
    return [row | {"bytes_moved": source["bytes_moved"]}]


PARTS: dict[str, Callable[[], list[Row]]] = {"forms": forms, "rotations": rotations, "bootstrap": bootstrap,
                                             "graph": graph}


def _keep(record: Path | None, part: str, said: str) -> None:
    """Writes the profiler's output of a part that failed next to the record, so that it can be read without a GPU."""
    if record and said:
        path = record.with_name(f"{record.stem}-{part}.txt")
        regular.require_replaceable(path, "profiler's text")
        path.write_text(said)
        _say(f"what the profiler printed is in {path}")


def run(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Counts all parts, or one. The record is written after each part, so that a part that fails does not lose the rows
    of the others."""
    programs.device_of("cuda")  # raises DeviceError if there is none
    rows: list[Row] = []
    failed: dict[str, str] = {}
    for name in (args.part,) if args.part else PARTS:
        _say(f"== {name}")
        try:
            rows += PARTS[name]()
        except ncu.ProfilerError as why:
            failed[name] = str(why)
            _say(f"{name} failed: {why}")
            _keep(args.record, name, why.said)
        if args.record and rows:
            records.write(args.record, rows)
    if failed:
        raise errors.Error.explain(
            "bench counters", f"no counters of {', '.join(failed)} ({next(iter(failed.values())).splitlines()[0]})",
            "Nsight Compute (ncu) that may read the GPU's counters",
            "see the messages above; --part takes one part alone")
    return rows, True
