"""Measurements: `latticino bench`. The C++ programs of bench/ measure; their rows become a record."""

from __future__ import annotations

import argparse
import sys

from .. import errors
from . import records


def run(args: argparse.Namespace) -> int:
    """Does what `latticino bench` was asked for; status 1 where a stated target was missed."""
    from . import compare, exactness, growth, messages, programs, report, roofline

    if args.what == "report":
        return report.run(args.record)
    if args.what == "compare":
        if len(args.files) != 2:
            raise errors.UnsupportedError.explain("bench compare", f"{len(args.files)} records", "two", "name A and B")
        return compare.run(*args.files)
    bench = {"precision": programs.precision, "cpu": programs.cpu, "gpu": programs.gpu, "gates": programs.gates,
             "systems": programs.systems, "ablation": programs.ablation, "switching": programs.switching,
             "roofline": roofline.run, "growth": growth.run, "exactness": exactness.run,
             "messages": messages.run}[args.what]
    rows, good = bench(args)
    if args.record:
        records.write(args.record, rows)
    if not good:
        print("a stated target was missed", file=sys.stderr)
    return 0 if good else 1
