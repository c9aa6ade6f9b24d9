"""`latticino bench bitpacker`: compares packed chains with others, in limbs, bytes, time and errors."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import packing_counts, programs, records
from .records import Row

SCALES = "30,35,40,45,50,55,60"  # log2 of the scales at which errors are measured, as in the paper's Figs. 18 and 19
SAMPLES = 1_000_000
SCHEDULES = 10_000
ERRORS = {"bitpacker.rescale_error": "rescale", "bitpacker.adjust_error": "adjust"}
# On a CPU few sets are timed, with minimal keys: a bootstrapping takes seconds, and all keys 6 GB.
ON_CPU = {"words": 28, "scales": "word,35", "minimal-keys": 1}


def run(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Counts for words of 28 to 64 bits, chains for those of 28 to 31 with their times, and errors of divisions; or one
    of these parts, or the study of random schedules. ``--plot`` draws the errors, also of records that are named."""
    if args.files:
        rows, good = [r for path in args.files for r in records.read(Path(path))], True
    else:
        rows, good = measured(args)
    if args.plot:
        plot(rows, args.plot)
    return rows, good


def measured(args: argparse.Namespace) -> tuple[list[Row], bool]:
    rows: list[Row] = []
    good = True
    parts = (args.part,) if args.part else ("counts", "chains", "errors")
    device = programs.device_of(args.device)
    if "counts" in parts:
        rows += [records.stamped(row) for row in packing_counts.rows()]
    if "chains" in parts:
        options = {"part": "chains", "device": device, "threads": args.threads}
        if device == "cuda":
            chosen = [options | {"runs": args.runs or 11}]
        else:  # all chains, and the times of one
            chosen = [options | {"runs": 0}, options | ON_CPU | {"runs": args.runs or 1}]
        for each in chosen:
            more, well = programs.run_program("bench_bitpacker", each)
            rows, good = rows + more, good and well
    if "study" in parts:  # needs no device: it measures the planner alone, and takes an hour of one core
        options = {"threads": args.threads, "schedules": args.runs or SCHEDULES}
        more, well = programs.run_program("packing_study", options)
        rows, good = rows + more, good and well
    if "errors" in parts:
        for words, scales in ((28, SCALES), (31, SCALES)):
            more, well = programs.run_program("bench_bitpacker", {
                "part": "errors", "device": device, "threads": args.threads, "words": words, "scales": scales,
                "samples": SAMPLES})
            rows, good = rows + more, good and well
    return rows, good


def boxes(rows: list[Row], name: str) -> dict[str, list[Row]]:
    """Rows of one operation by kind of chain, by scale: packed ones in words of 28 bits, others in words of 31."""
    out: dict[str, list[Row]] = {}
    for row in sorted((r for r in rows if r["name"] == name), key=lambda r: r["params"]["log_scale"]):
        packed = row["params"]["chain"] == "packed"
        if packed == (row["params"]["word"] == 28):
            label = "packed, words of 28 bits" if packed else "primes of its own, words of 31 bits"
            out.setdefault(label, []).append(row)
    return out


def plot(rows: list[Row], path: Path) -> None:
    """Two panels of boxes, quartiles with the ends as whiskers: bits without error by scale, of rescale and adjust."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12, 3.8), layout="constrained", sharey=True)
    for ax, (name, title) in zip(axes, ERRORS.items()):
        for i, (label, line) in enumerate(sorted(boxes(rows, name).items())):
            stats = [{"whislo": r["least"], "q1": r["low"], "med": r["value"], "q3": r["high"], "whishi": r["most"]}
                     for r in line]
            at = [r["params"]["log_scale"] + 1.4 * (i - 0.5) for r in line]
            drawn = ax.bxp(stats, positions=at, widths=1.1, showfliers=False, patch_artist=True, manage_ticks=False,
                           boxprops={"facecolor": f"C{i}", "alpha": 0.6}, medianprops={"color": "black"})
            drawn["boxes"][0].set_label(label)
        ax.set(title=title, xlabel="log2 of the scale")
        ax.grid(alpha=0.3)
        ax.legend(fontsize="small")
    axes[0].set_ylabel("bits without error")
    figure.suptitle("Errors of slots, N = 2^16: boxes are quartiles, whiskers the least and the most")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)
    print(f"plot written to {path}")
