"""The targets of the CUDA backend on an H200, and the check of `latticino bench gpu`, `switching` and `demo`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from . import report
from .records import Row

DEVICE = "NVIDIA H200"
# name, preset, params -> (target to reach, target beyond it), in microseconds; bytes for peaks.
BOOT = {"n16-d40-boot-v1": (10_500, 7_000), "n16-d35-boot-v1": (10_500, 7_000)}
OPERATIONS = {
    ("ckks.mul_relin_rescale", 47, 1): (190, 140), ("ckks.mul_relin_rescale", 23, 1): (108, 75),
    ("ckks.mul_relin_rescale", 13, 1): (65, 45), ("ckks.mul_relin_rescale", 7, 1): (36, 25),
    ("ckks.rotate", 47, 1): (180, 130), ("ckks.rotate", 23, 1): (100, 70),
    ("ckks.rotate", 13, 1): (60, 42), ("ckks.rotate", 7, 1): (33, 22),
    ("ckks.rescale", 47, 1): (45, 35), ("ckks.rescale", 23, 1): (28, 18),
    ("ckks.rotate", 13, 16): (32, 25),
}
BOOT_SET = "n16-d40-boot-v1"
# The limit of the bytes of keys, sums of their digits and tables of BOOT_SET: with all keys (0), with minimal keys (1).
MAX_BYTES = {0: 7 * 2**30, 1: 2 * 2**30}
MAX_LONGER = 1.8  # time with minimal keys over time with all keys
CHOSEN_SETS = (BOOT_SET, "n16-d40-boot-v2")
# In the form that plans choose, of these sets: (message, slots, bootstrappings at once), in microseconds for each.
CHOSEN_BOOT = {("complex", 2**15, 1): 6_800, ("complex", 2**15, 8): 5_500, ("real", 2**14, 1): 5_000,
               ("real", 2**14, 8): 4_200}
HELR = (6_500, None)  # for mini-batches of the papers, submitted one operation after the other
HELR_SIZES = {"rows": 1024, "features": 196, "iterations": 32}
SWITCH_SET = "switch-n16-d40-fp64-v1"
SWITCH = {  # microseconds, by benchmark and slots; for other slots no target is stated
    ("switch.lut", 1024): 120_000, ("switch.repack", 1024): 30_000,
    ("switch.round_trip", 64): 50_000, ("switch.round_trip", 256): 80_000,
    ("switch.round_trip", 1024): 200_000, ("switch.round_trip", 2**15): 3_500_000,
}
# A gate, or a table without its key switch, in the faster arithmetic: milliseconds, or how many per second.
GATES = {
    # Targets for a gate of this shape: with one key bit per step, and with three.
    ("tfhe.gate_latency", "chameleon-630-legacy", 1): 0.9, ("tfhe.gate_latency", "chameleon-630-group3-legacy", 1): 0.9,
    ("tfhe.gate_throughput", "chameleon-630-legacy", 4096): 85_000,
    ("tfhe.pbs_latency", "tfhe-2-2-v1", 1): 1.2, ("tfhe.pbs_latency", "tfhe-2-2-group3-fft64-v1", 1): 0.9,
    ("tfhe.pbs_throughput", "tfhe-2-2-v2", 4096): 60_000,
}
SCALE = {"us": 1.0, "ms": 1e3, "s": 1e6}


class Goal(NamedTuple):
    """Targets of a workload: ``us`` of a run, or of an input if records have that; ``least``: of other members of the
    row, on real data; ``near``: how far ``accuracy`` may be below ``clear_accuracy``."""

    us: float
    least: Mapping[str, float] = {}
    near: float | None = None


_BITS = dict.fromkeys(("mean_error_bits", "sorted_mean_error_bits", "reversed_mean_error_bits",
                       "duplicates_mean_error_bits"), 12.0)
WORKLOADS = {  # by name and batch
    ("resnet20.image", 1): Goal(200_000, {"accuracy": 0.911}),
    ("resnet20.image", 16): Goal(35_000, {"accuracy": 0.911}),
    ("resnet20_aespa.image", 1): Goal(80_000, {"clear_accuracy": 0.91}, 0.005),
    ("resnet20_aespa.image", 16): Goal(10_000, {"clear_accuracy": 0.91}, 0.005),
    ("squeezenet.image", 1): Goal(30_000, {"clear_accuracy": 0.85}),
    ("rnn.run", 32): Goal(650_000, {"accuracy": 0.82}), ("rnn.run", 512): Goal(1_000_000, {"accuracy": 0.82}),
    ("sort.run", 1): Goal(1_000_000, _BITS), ("resnet18.image", 1): Goal(1_000_000),
    ("transformer.run", 1): Goal(300_000, near=0.01),
}
SORTED = 2**14  # number of values
TESTED = 1000  # number of inputs from which on an accuracy is meaningful


def target(row: Row) -> tuple[float, float | None] | None:
    """(target to reach, target beyond it) for a row in microseconds; None if nothing is stated."""
    params = row.get("params", {})
    if row.get("device") != DEVICE:
        return None
    if row["name"] == "helr.iteration":
        return HELR if row.get("preset") == BOOT_SET and HELR_SIZES.items() <= params.items() else None
    if goal(row) is not None:
        return WORKLOADS[row["name"], params["batch"]].us, None
    if row.get("mode") == "immediate":
        return None
    if row["name"] == "ckks.bootstrap":
        if _is_chosen(row):
            least = CHOSEN_BOOT.get((params.get("message", ""), params.get("slots", 0), params.get("batch", 1)))
            return (least, None) if least else None
        options = ("minimal_keys", "chain", "slot_to_coeff_first", "over_mod_raise", "arcsine", "log_message_ratio")
        plain = not any(params.get(name) for name in options) and params.get("slots") == 2**15
        return BOOT.get(row.get("preset", "")) if plain else None
    if row.get("preset") == SWITCH_SET:
        of_slots = SWITCH.get((row["name"], params.get("slots", 0)))
        return (of_slots, None) if of_slots else None
    if row.get("preset") != "n16-d40-boot-v1":
        return None
    return OPERATIONS.get((row["name"], params.get("limbs"), params.get("batch", 1)))


def goal(row: Row) -> Goal | None:
    """The target for a row of a workload; None if nothing is stated."""
    params = row.get("params", {})
    found = WORKLOADS.get((row["name"], params.get("batch", 0)))
    return None if row["name"] == "sort.run" and params.get("values") != SORTED else found


def check_workloads(rows: list[Row]) -> bool:
    """The same for accuracy and precision of workloads, on any device. Accuracy targets are for real data only."""
    good = True
    for row in rows:
        wanted, params = goal(row), row.get("params", {})
        if wanted is None or str(params.get("dataset", "")).startswith("generated"):
            continue
        if params.get("inputs", TESTED) < TESTED:
            continue
        least = dict(wanted.least)
        if wanted.near is not None:
            least["accuracy"] = row["clear_accuracy"] - wanted.near
        for name, value in least.items():
            met = row[name] >= value - 1e-9
            good &= met
            print(f"{row['name']:24} {name} {row[name]:.4g}, at least {value:.4g}: {'met' if met else 'MISSED'}")
    return good


def check(rows: list[Row]) -> bool:
    """Prints every stated target with the measured value, and returns whether all were met."""
    good = True
    for row in rows:
        stated = target(row)
        if stated is None:
            continue
        us = row["value"] * SCALE[row["unit"]]
        least, beyond = stated
        good &= us <= least
        word = "MISSED" if us > least else "beyond" if beyond and us <= beyond else "met"
        print(f"{row['name']:24} {_shape(row):22} {us:10.1f} us, to reach {least:8.0f}, "
              + (f"beyond {beyond:8.0f}: {word}" if beyond else word))
    return good


def check_memory(rows: list[Row]) -> bool:
    """Whether keys, sums of digits and tables of bootstrapping take no more than the stated bytes."""
    good = True
    for row in rows:
        if not _is_boot(row) or "key_bytes" not in row:
            continue
        minimal = row["params"].get("minimal_keys", 0)
        held, most = row["key_bytes"] + row.get("sum_bytes", 0) + row["matrix_bytes"], MAX_BYTES[minimal]
        good &= held <= most
        print(f"{'minimal ' if minimal else ''}keys, sums of digits and tables {held / 2**30:.2f} GiB, "
              f"at most {most / 2**30:.0f}: {'met' if held <= most else 'MISSED'}")
    return good


def check_minimal_keys(rows: list[Row]) -> bool:
    """Whether minimal keys lengthen the bootstrapping by no more than stated, if both were measured."""
    times = {row["params"].get("minimal_keys", 0): row["value"] for row in rows if _is_boot(row)}
    if len(times) < 2:
        return True
    ratio = times[1] / times[0]
    print(f"minimal keys {ratio:.2f} times as long, at most {MAX_LONGER}: "
          f"{'met' if ratio <= MAX_LONGER else 'MISSED'}")
    return ratio <= MAX_LONGER


def _is_boot(row: Row) -> bool:
    """A bootstrapping of BOOT_SET of all slots, with all keys or minimal ones and no other option."""
    params = row.get("params", {})
    others = ("chain", "slot_to_coeff_first", "over_mod_raise", "arcsine", "log_message_ratio")
    return (row["name"] == "ckks.bootstrap" and row.get("preset") == BOOT_SET and params.get("slots") == 2**15
            and not any(params.get(name) for name in others))


def _is_chosen(row: Row) -> bool:
    """A bootstrapping of CHOSEN_SETS with SlotToCoeff first and OverModRaise, as plans choose it, and all keys."""
    params = row.get("params", {})
    others = ("minimal_keys", "chain", "arcsine", "log_message_ratio")
    return (row.get("preset") in CHOSEN_SETS
            and bool(params.get("slot_to_coeff_first") and params.get("over_mod_raise"))
            and not any(params.get(name) for name in others))


def _shape(row: Row) -> str:
    if row["name"] == "ckks.bootstrap":
        return row["preset"]
    if row["name"] == "helr.iteration":
        return f"{row['params']['rows']} x {row['params']['features']}"
    if row["name"].startswith("switch."):
        return f"{row['params']['slots']} slots"
    if goal(row) is not None:
        return f"batch {row['params']['batch']}"
    return f"{row['params'].get('limbs', '')} limbs, batch {row['params'].get('batch', 1)}"


def check_gates(rows: list[Row]) -> bool:
    """Does the same for gates, with the best row of each that has a target."""
    good = True
    for (name, preset, batch), needed in GATES.items():
        found = [row for row in rows if (row["name"], row.get("preset")) == (name, preset)
                 and row["params"]["batch"] == batch and row.get("device") == DEVICE]
        if not found:
            continue
        rate = found[0]["unit"] == report.RATE
        best = (max if rate else min)(found, key=lambda row: row["value"])
        met = best["value"] >= needed if rate else best["value"] <= needed
        good &= met
        print(f"{name:24} {preset:27} {best['value']:10.2f} {best['unit']} ({best['params']['arithmetic']}), "
              f"to reach {needed}: {'met' if met else 'MISSED'}")
    return good
