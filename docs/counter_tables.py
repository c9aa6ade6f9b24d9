"""Tables of hardware counters, from rows of `latticino bench counters`: head and cells. make_tables.py writes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]
Cells = tuple[tuple[str, ...], list[tuple[str, ...]]]
CLASSES = ("transforms", "conversions", "products with keys", "last steps", "automorphisms", "element-wise",
           "other", "all")
PASSES = {"intt_rows": "rows of the input", "mod_up": "ModUp tile", "key_inner": "`key_inner`",
          "mod_switch_tile": "ModDown tile", "subtract_scale": "`subtract_scale`", "rotation": "all five"}
SHARES = {"issue_percent": "issue slots", "alu_percent": "ALU", "multiply_percent": "multiplier", "l2_percent": "L2",
          "from_sm_percent": "network to the L2", "to_sm_percent": "network from the L2", "dram_percent": "DRAM"}
BATCHES = (1, 4, 16)
FORMS = {"BASE-NTT": "radix 2", "BD-NTT-2": "BD-2", "BD-NTT-3": "BD-3", "TA-NTT-2": "TA-2", "TA-NTT-3": "TA-3",
         "OSSP-BD-NTT-2": "BD-2, switching point", "OSSP-PCS-BD-NTT-2": "BD-2, switching point, shuffled",
         "OSSP-TA-NTT-2": "TA-2, switching point", "OSSP-PCS-TA-NTT-2": "TA-2, switching point, shuffled",
         "ours": "ours"}
SYNCS = ("simple", "tree", "lock-free", "grid", "local")
SEEN = 0.5  # cycles: a stall reason that is below this in every form is summed with the others


def having(rows: Iterable[Row], name: str, **wanted: Any) -> Row | None:
    """The first row of that name with these parameters."""
    return next((r for r in rows if r["name"] == f"counters.{name}" and wanted.items() <= r["params"].items()), None)


def beside(values: Iterable[float | None], form: str = ".0f") -> str:
    return " / ".join("-" if value is None else f"{value:{form}}" for value in values)


def stalls(rows: list[Row], n: int = 2**16) -> Cells:
    """Cycles of a warp for each instruction, by stall reason, for forms whose blocks wait for their neighbours."""
    found = {key: having(rows, "form", N=n, form=key, sync="none" if key == "ours" else "local") for key in FORMS}
    made = {key: row for key, row in found.items() if row}
    reasons = sorted({k for row in made.values() for k in row if k.startswith("stalled_") and row[k] >= SEEN},
                     key=lambda k: -max(row.get(k, 0) for row in made.values()))
    cells = []
    for key, row in made.items():
        rest = row["value"] - sum(row.get(k, 0) for k in reasons)
        cells.append((FORMS[key], f"{row['us']:.1f}", f"{row['value']:.1f}", *(f"{row.get(k, 0):.1f}" for k in reasons),
                      f"{rest:.1f}", f"{row['divergent_branches']:.1f}"))
    named = tuple(k.removeprefix("stalled_").replace("_", " ") for k in reasons)
    return ("form", "us", "cycles", *named, "others", "divergent branches"), cells


def stalls_by_barrier(rows: list[Row], n: int = 2**16) -> Cells:
    """All cycles of a warp for each instruction, by form and kind of synchronisation."""
    cells = []
    for key in list(FORMS)[:5]:
        found = [having(rows, "form", N=n, form=key, sync=sync) for sync in SYNCS]
        cells.append((FORMS[key], *(f"{row['value']:.1f}" if row else "-" for row in found)))
    return ("form", *SYNCS), cells


def rotation_shares(rows: list[Row], limbs: int = 47, operands: str = "cold") -> Cells:
    """How busy each pass of a rotation keeps the parts of the GPU, for 1, 4 and 16 rotations at a time."""
    cells = []
    for key, label in PASSES.items():
        found = [having(rows, "pass", limbs=limbs, batch=batch, operands=operands, **{"pass": key})
                 for batch in BATCHES]
        cells.append((label, beside((row and row["us"] / row["params"]["batch"] for row in found), ".1f"),
                      *(beside(row and row.get(member) for row in found) for member in SHARES)))
    return ("pass", "us of each", *(f"{label}, %" for label in SHARES.values())), cells


def bootstrap_roofline(rows: list[Row], formula: dict[str, float], memory: float, l2: float, issue: float,
                       multiply: float, newer: int = 0) -> Cells:
    """Bytes and shares of ceilings of each class of kernels in a bootstrapping. `formula`: bytes by class, each input
    and output once. The ceilings are per second."""
    cells = []
    for name in CLASSES:
        row = having(rows, "bootstrap", slot_to_coeff_first=newer, over_mod_raise=newer, **{"class": name})
        if row is None:
            continue
        seconds = row["us"] * 1e-6
        network, dram = row["to_sm_bytes"] + row["from_sm_bytes"], row["dram_read"] + row["dram_write"]
        least = sum(formula.values()) if name == "all" else formula.get(name)
        cells.append((name, str(row["params"]["launches"]), f"{row['us'] / 1e3:.2f}",
                      f"{least / 1e9:.1f}" if least else "-",
                      f"{row['to_sm_bytes'] / 1e9:.1f} + {row['from_sm_bytes'] / 1e9:.1f}",
                      f"{row['l2_bytes'] / 1e9:.1f}",
                      f"{row['dram_read'] / 1e9:.1f} + {row['dram_write'] / 1e9:.1f}",
                      f"{100 * network / seconds / l2:.0f}", f"{100 * dram / seconds / memory:.0f}",
                      f"{100 * 32 * row['warp_instructions'] / seconds / issue:.0f}",
                      f"{100 * 32 * row['multiply_instructions'] / seconds / multiply:.0f}"))
    return ("kernels", "launches", "ms", "GB, by formula", "GB to + from multiprocessors", "GB by the L2's counter",
            "GB read + written in DRAM", "of the L2's rate, %", "of DRAM's, %", "of the issue rate, %",
            "of the multiplier's, %"), cells
