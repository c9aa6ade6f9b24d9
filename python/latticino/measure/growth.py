"""`latticino bench growth`: time and memory of a rotation against limbs, N and batch, and the plot."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .. import errors
from . import programs, records
from .records import Row

L2_BYTES = {"NVIDIA H200": 60e6}
PANELS = (("limbs", "", "limbs"), ("N", "", "N"), ("batch", "limbs", "independent rotations in a batch"))


def run(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """Measures, or takes records of growth, and draws them if a plot was asked for."""
    if args.files:
        rows = [r for path in args.files for r in records.read(Path(path)) if r["name"] == "growth.rotate"]
        if not rows:
            raise errors.UnsupportedError.explain(
                "bench growth", "records without rows growth.rotate", "those of latticino bench growth --record",
                "name another file")
    else:
        rows, _ = programs.run_program("bench_growth", {"device": "cuda", "runs": args.runs or 15})
    if args.plot:
        plot(rows, args.plot)
    return rows, True


def series(rows: list[Row], axis: str, by: str) -> dict[int | None, list[Row]]:
    """Rows of one axis with cold operands, in lines of equal limbs (batch) or one line, in the order of the axis."""
    key = {"limbs": "limbs", "N": "N", "batch": "batch"}[axis]
    lines: dict[int | None, list[Row]] = {}
    drawn = (r for r in rows if r.get("axis") == axis and r.get("operands") != "warm")
    for row in sorted(drawn, key=lambda r: r["params"][key]):
        lines.setdefault(row["params"][by] if by else None, []).append(row)
    return lines


def plot(rows: list[Row], path: Path) -> None:
    """Three panels: microseconds of one rotation against limbs, N and batch; on a second axis the memory
    that one batch touches."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    l2 = L2_BYTES.get(rows[0].get("device", ""))
    for ax, (axis, by, label) in zip(axes, PANELS):
        memory = ax.twinx()
        for value, line in series(rows, axis, by).items():
            draw(ax, memory, line, axis, f"{value} limbs" if value else "time", l2)
        if l2:
            memory.axhline(l2 / 1e6, color="gray", lw=0.8, ls=":")
        ax.set(xlabel=label, ylabel="us per rotation")
        memory.set_ylabel("MB touched (dashed)")
        if axis != "limbs":
            ax.set_xscale("log", base=2)
        for y in (ax, memory):
            if axis == "N" or (axis, y) == ("batch", memory):
                y.set_yscale("log", base=2)
            else:
                y.set_ylim(0, None)  # a logarithmic axis has no 0
        if by:
            for y, more in ((ax, 1.15), (memory, 4)):  # leaves space for the legend above the lines
                y.set_ylim(None, y.get_ylim()[1] * more)
            ax.legend(loc="upper center", ncols=4, columnspacing=1, fontsize="small")
        ax.grid(alpha=0.3)
    device = rows[0].get("device", "")
    figure.suptitle(f"Key switching of one rotation, {device}; dotted: the L2, squares: the first point beyond it")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)
    print(f"plot written to {path}")


def draw(ax: Any, memory: Any, line: list[Row], axis: str, label: str, l2: float | None) -> None:
    """Draws one line of times and, in the same colour, one of memory."""
    x = [r["params"][axis] for r in line]
    time, = ax.plot(x, [r["value"] for r in line], "o-", label=label)
    memory.plot(x, [r["footprint_bytes"] / 1e6 for r in line], ".--", color=time.get_color(), alpha=0.6, lw=1)
    over = [r for r in line if l2 and r["footprint_bytes"] > l2]
    if over and over[0] is not line[0]:
        ax.plot(over[0]["params"][axis], over[0]["value"], "s", ms=11, mfc="none", color=time.get_color())
