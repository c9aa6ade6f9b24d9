"""`latticino bench growth`: time and memory of a rotation against limbs, N and batch, and the plot."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import programs, records
from .records import Row

L2_BYTES = {"NVIDIA H200": 60e6}


def run(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Measures, or takes records of growth, and draws them where a plot was asked for."""
    if args.files:
        rows = [r for path in args.files for r in records.read(Path(path)) if r["name"] == "growth.rotate"]
    else:
        rows, _ = programs.run_program("bench_growth", {"device": "cuda", "runs": args.runs or 15})
    if args.plot:
        plot(rows, args.plot)
    return rows, True


def series(rows: list[Row], axis: str, by: str) -> dict[int | None, list[Row]]:
    """The rows of one axis in lines of equal limbs (batch) or one line, in the order of the axis."""
    key = {"limbs": "limbs", "N": "N", "batch": "batch"}[axis]
    lines: dict[int | None, list[Row]] = {}
    for row in sorted((r for r in rows if r.get("axis") == axis), key=lambda r: r["params"][key]):
        lines.setdefault(row["params"][by] if by else None, []).append(row)
    return lines


def plot(rows: list[Row], path: Path) -> None:
    """Three panels: microseconds of one rotation against limbs, N and batch; over it the memory touched."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    l2 = L2_BYTES.get(rows[0].get("device", ""))
    panels = (("limbs", "", "limbs"), ("N", "", "N"), ("batch", "limbs", "independent rotations in a batch"))
    for ax, (axis, by, label) in zip(axes, panels):
        for value, line in series(rows, axis, by).items():
            x = [r["params"][axis] for r in line]
            time, = ax.plot(x, [r["value"] for r in line], "o-", label=f"{value} limbs" if value else "time")
            over = [r for r in line if l2 and r["footprint_bytes"] > l2]
            if over and over[0] is not line[0]:
                ax.plot(over[0]["params"][axis], over[0]["value"], "s", ms=11, mfc="none", color=time.get_color())
        ax.set(xlabel=label, ylabel="us a rotation")
        if axis != "limbs":
            ax.set_xscale("log", base=2)
        if axis == "N":
            ax.set_yscale("log", base=2)
        else:
            ax.set_ylim(0, None)  # a logarithmic axis has no 0
        if by:
            ax.legend()
        ax.grid(alpha=0.3)
    device = rows[0].get("device", "")
    figure.suptitle(f"Key switching of one rotation, {device}; squares: the first point whose memory exceeds the L2")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)
    print(f"plot written to {path}")
