"""Measurements: `latticino bench`. The C++ programs of bench/ measure; their rows become a record."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping

from .. import errors, tfhe
from ..ckks.context import preset
from . import records

MEASURES = ("precision", "cpu", "gpu", "gates", "ablation", "systems", "switching", "exactness",
            "messages", "bitpacker", "workloads", "ceilings", "repacking", "host")  # those that run on a device
PARTS = {"exactness": ("gates", "tables", "u8", "wide", "noise"), "bitpacker": ("counts", "chains", "errors", "study"),
         "workloads": ("words", "unpacked", "scales", "sorts", "predictions"),
         "counters": ("forms", "rotations", "bootstrap", "graph")}
# What reads an option, by its name in the arguments. All but "compare" read --record.
READS = {
    "device": tuple(m for m in MEASURES if m != "cpu"),
    "threads": ("precision", "cpu", "gates", "switching", "exactness", "messages", "bitpacker", "workloads",
                "ceilings", "repacking"),
    "files": ("compare", "roofline", "growth", "bitpacker", "workloads"), "tuning": ("gpu",), "part": tuple(PARTS),
    "arithmetic": ("exactness",),
    "plot": ("roofline", "growth", "bitpacker"),
    "preset": tuple(m for m in MEASURES if m not in ("bitpacker", "workloads", "ceilings", "host")),
    "runs": (*(m for m in MEASURES if m != "workloads"), "roofline", "growth", "transforms"),
    "no_peers": ("cpu",),
}
DEFAULTS = {"threads": 0, "arithmetic": "exact", "no_peers": False, "files": []}


def require_read(args: argparse.Namespace) -> None:
    """UnsupportedError for options that this measurement would ignore, ParameterError for unknown sets."""
    for name, readers in READS.items():
        if getattr(args, name) != DEFAULTS.get(name) and args.what not in readers:
            option = "files" if name == "files" else f"--{name.replace('_', '-')}"
            raise errors.UnsupportedError.explain(
                f"bench {args.what}", option, f"{' or '.join(readers)}, which read it", "leave it out")
    if args.part and args.part not in PARTS[args.what]:
        raise errors.UnsupportedError.explain(f"bench {args.what}", f"--part {args.part}", ", ".join(PARTS[args.what]),
                                              "name one of these")
    if args.files and args.what == "workloads" and args.part != "predictions":
        raise errors.UnsupportedError.explain("bench workloads", "files", "--part predictions, which reads records",
                                              "leave them out")
    if args.preset and args.what not in ("switching", "repacking"):
        for name in args.preset.split(","):
            (tfhe.preset if args.what in ("gates", "exactness") else preset)(name)


Measure = Callable[[argparse.Namespace], tuple[list[records.Row], bool]]


def run(args: argparse.Namespace, more: Mapping[str, Measure]) -> int:
    """Runs what `latticino bench` was asked for. Returns status 1 if a stated target was missed. ``more``: measurements
    by programs that use this package."""
    from . import bitpacker, compare, counters, exactness, growth, messages, programs, report, roofline

    require_read(args)
    if args.what == "report":
        return report.run(args.record)
    if args.what == "compare":
        if len(args.files) != 2:
            raise errors.UnsupportedError.explain("bench compare", f"{len(args.files)} records", "two", "name A and B")
        return compare.run(*args.files)
    bench = {"precision": programs.precision, "cpu": programs.cpu, "gpu": programs.gpu, "gates": programs.gates,
             "systems": programs.systems, "ablation": programs.ablation, "switching": programs.switching,
             "roofline": roofline.run, "growth": growth.run, "counters": counters.run, "exactness": exactness.run,
             "messages": messages.run, "bitpacker": bitpacker.run, "transforms": programs.transforms,
             "ceilings": programs.ceilings, "repacking": programs.repacking, **more}[args.what]
    rows, good = bench(args)
    if args.record:
        records.write(args.record, rows)
    if not good:
        print("a stated target was missed", file=sys.stderr)
    return 0 if good else 1
