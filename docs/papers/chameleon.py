"""Chameleon."""

import math

from . import counted
from .ours import FORMS, GATES, GATES_EXACT, REPACKING, SWITCH
from .rows import DRAWING, MEASURED, OTHERS, Line, Paper, Ratio, Recorded, Row, whole

DEFAULT = "switch-n16-d40-fp64-v1"


# The forms of Table 3 with their times on an A100. Blocks wait for their neighbours; a switching point is at 64 chunks.
TABLE_3 = {"M1": ("BD-NTT-2", 0, ("9.59", "9.87", "12.33", "16.99", "32.36")),
           "M2": ("OSSP-BD-NTT-2", 64, ("7.78", "7.95", "10.16", "14.23", "27.88")),
           "M3": ("OSSP-PCS-BD-NTT-2", 64, ("6.82", "6.93", "8.87", "12.47", "24.31")),
           "M4": ("TA-NTT-2", 0, ("11.02", "11.10", "12.78", "15.03", "24.17")),
           "M5": ("OSSP-TA-NTT-2", 64, ("9.21", "9.56", "10.89", "13.02", "21.30")),
           "M6": ("OSSP-PCS-TA-NTT-2", 64, ("7.19", "8.02", "9.55", "11.15", "19.01"))}
SYNCS = ("simple", "tree", "lock-free", "grid", "local")


def form(log_n: int, name: str, sync: str = "local", chunks: int = 0) -> Recorded:
    return Recorded(FORMS, "ntt.form", {"N": 2**log_n, "form": name, "sync": sync, "chunks": chunks})


def forms_of_table_3() -> tuple[Line, ...]:
    return tuple(line for i, log_n in enumerate(range(12, 17)) for line in (
        *(Line(f"N = 2^{log_n}, {key}", f"{times[i]} us (A100)", form(log_n, name, chunks=chunks))
          for key, (name, chunks, times) in TABLE_3.items()),
        Line(f"N = 2^{log_n}, our transform", "", form(log_n, "ours", "none"))))


def gains(log_n: int, slow: str, fast: str, theirs: str) -> tuple[Line, ...]:
    return tuple(Line(f"{fast} over {slow}, N = 2^{log_n}, {sync}", theirs, Ratio(form(log_n, slow, sync), form(log_n, fast, sync)))
                 for sync in SYNCS)


def switching_points(log_n: int) -> tuple[Line, ...]:
    """Lines for all switching points with chunks of 4 to 4096 entries."""
    points = [4**i for i in range(6) if 4 <= 2**log_n >> 2 * i <= 4096]
    return tuple(Line(f"N = 2^{log_n}, {chunks} chunks", "in the picture",
                      form(log_n, "OSSP-PCS-TA-NTT-2" if chunks > 1 else "OSSP-TA-NTT-2", chunks=chunks)) for chunks in points)


def repacked(way: str, member: str, unit: str) -> Recorded:
    return Recorded(REPACKING, "switch.repack_product", {"rows": 256, "way": way}, member, unit)


def at_its_size(name: str) -> Recorded:
    return Recorded("2026-11-28-h200-chameleon", f"ckks.{name}", {"limbs": 90, "batch": 1})


def bootstrapping_per(*counts: int) -> Recorded:
    return Recorded("2026-11-28-h200-chameleon", "ckks.bootstrap", {}, "value", "ns", 1e6 / math.prod(counts))


def leveled(name: str, log_n: int, limbs: int) -> Recorded:
    return Recorded("2026-11-28-h200-leveled", f"ckks.{name}", {"N": 2**log_n, "limbs": limbs})


def gate(preset: str, arithmetic: str) -> Recorded:
    record = GATES if arithmetic == "fft64" else GATES_EXACT
    return Recorded(record, "tfhe.gate_latency", {"preset": preset, "batch": 1, "arithmetic": arithmetic})


def gates_of(n: int, ring: int, theirs: str, rate: str) -> tuple[Line, ...]:
    preset = f"chameleon-{n}-legacy"
    exact = Recorded(GATES, "tfhe.gate_latency", {"preset": preset, "batch": 1, "arithmetic": "exact"})
    many = Recorded(GATES, "tfhe.gate_throughput", {"preset": preset, "batch": 4096, "arithmetic": "fft64"})
    return (Line(f"n = {n}, N = {ring}: one gate, exact", theirs, exact if n == 630 else gate(preset, "exact")),
            Line(f"n = {n}, N = {ring}: one gate, FP64", theirs, gate(preset, "fft64")),
            Line(f"n = {n}, N = {ring}: gates per second; ours 4096 at a time, FP64", rate, many))


def switched(slots: int, parts: tuple[str, str, str, str]) -> tuple[Line, ...]:
    names = ("extract", "lut", "repack", "round_trip")
    labels = ("to coefficients, and extraction", "tables", "repacking", "all")
    return tuple(Line(f"{slots} slots: {label}", f"{figure} ms",
                      Recorded(SWITCH, f"switch.{name}", {"preset": DEFAULT, "slots": slots}))
                 for label, figure, name in zip(labels, parts, names))


ROWS = (
    Row("Table 1", "how often a batch of tables reads the bootstrapping key", DRAWING,
        "A formula: n steps for the whole batch in place of n for each ciphertext. Here exact rotations can go "
        "step by step for a whole batch, and other kernels read the key through the L2 ([kernels of TFHE](lab/tfhe.md))."),
    Row("Table 2", "rotations, products and keys of a repacking, by three ways to multiply a matrix and a vector", MEASURED,
        "Counts of 256 rows on a small set at N = 2^12, as a CPU ran them. Baby and giant steps take twice the root of n rotations, "
        "less two, of which the paper stores the baby steps. Its third way is our route matvec ([switching](lab/switching.md)).",
        ("./latticino bench repacking --record FILE",),
        (*(line for way, theirs in (("diagonals", ("n rotations", "n products", "n keys")),
                                    ("pegasus", ("about the root of n", "n", "about the root of n")),
                                    ("rotation-free", ("0", "n", "0")))
           for line in (Line(f"{way}: rotations", theirs[0], repacked(way, "key_switches", "key switches")),
                        Line(f"{way}: products", theirs[1], repacked(way, "products", "products")),
                        Line(f"{way}: keys", theirs[2], repacked(way, "rotation_keys", "rotation keys")),
                        Line(f"{way}: time", "not given", repacked(way, "value", "ms")))),)),
    Row("Table 3", "time of one transform of 2^12 to 2^16, by the paper's six forms (RTX 3070 and A100)", MEASURED,
        "The paper's forms and our transform, on one limb over and over on the same memory. M1 is two decomposed stages, M4 two "
        "aggregated ones; M2 and M5 have a switching point, M3 and M6 shuffled coefficients as well. The paper's residues have "
        "56 bits, ours 30: one of theirs holds as much as two of ours. [Transform forms](lab/transform-forms.md) says what else "
        "differs.", ("./latticino bench transforms --record FILE",), forms_of_table_3()),
    Row("Table 4", "addition, product and rotation of CKKS at N = 2^13 to 2^15, beside three libraries on a CPU", MEASURED,
        "The paper's moduli have 218, 438 and 881 bits, and it does not say which of its two GPUs it took. Ours are the sets for 2^40 at these N, "
        "at their top: log2(P Q) is 201, 430 and 827, in 8, 13 and 21 limbs. Products are relinearised. Figures of the CPU libraries are theirs; [CPU](lab/cpu.md) has such a comparison.",
        ("bench_operations --preset n15-d40-leveled-v1 --limbs 21 --batches 1 --output FILE",),
        tuple(Line(f"{label}, N = 2^{log_n}", f"{time} ms", leveled(name, log_n, limbs))
              for label, name, theirs in (("addition", "add", ("0.01", "0.02", "0.03")),
                                          ("product", "mul_relin", ("0.11", "0.32", "1.29")),
                                          ("rotation", "rotate", ("0.10", "0.29", "1.22")))
              for time, log_n, limbs in zip(theirs, (13, 14, 15), (8, 13, 21)))),
    Row("Table 5", "product, rotation and bootstrapping of CKKS with 45 digits and 2305 bits, beside four GPU libraries", MEASURED,
        "`chameleon-d51-legacy` has the paper's sizes: 90 limbs in 45 digits. The paper has 350 ns for a bootstrapping, amortised in a way that it "
        "does not state; ours is 120.5 ms with minimal keys, for 32,768 slots and 29 levels. At N = 2^16 a modulus of 2305 bits is far below 128 bits of "
        "security, and one evaluation key takes 2.2 GB. Kernels take up to 32 digits, so a key switch of 45 is a sum of two.",
        ("bench_operations --preset chameleon-d51-legacy --limbs 90,2 --batches 1 --output FILE",
         "bench_bootstrap --preset chameleon-d51-legacy --minimal-keys 1 --stc-first 1 --output FILE"),
        (Line("product", "5.42 ms (A100)", at_its_size("mul_relin")), Line("rotation", "5.13 ms (A100)", at_its_size("rotate")),
         Line("bootstrapping, amortised; ours per slot", "350 ns", bootstrapping_per(32768)),
         Line("the same per slot and level left", "", bootstrapping_per(32768, 29)))),
    Row("Table 6", "one gate at three parameter sets, beside a CPU library and three GPU programs", MEASURED,
        "The paper does not say which of its two GPUs it took (RTX 3070 or A100). Its rate is one gate after the other. It states "
        "80, 110 and 128 bits of security for its sets. They bear the word `legacy` here, and the noise of the last one is not "
        "published. For a single gate of the first and the last set exact arithmetic is faster; a context takes the faster one by set and batch.",
        ("./latticino bench gates --record FILE",),
        (*gates_of(500, 1024, "1.51 ms", "667"), *gates_of(630, 1024, "1.67 ms", "599"),
         *gates_of(592, 2048, "2.30 ms", "435"))),
    Row("Table 7", "a function of 64, 256 and 1024 CKKS slots by tables of TFHE, in parts, beside Pegasus on a CPU", MEASURED,
        "The paper does not say which GPU it took. Ours looks tables up at 128 bits of security and "
        "N = 2^16. Pegasus takes 39.9, 154 and 504 s on a CPU, as the paper reports it.",
        ("./latticino bench switching --record FILE",),
        (*switched(64, ("19", "555", "61", "635")), *switched(256, ("53", "1,979", "173", "2,205")),
         *switched(1024, ("178", "6,826", "310", "7,314")))),
    Row("Fig. 1", "the four phases of a switch", DRAWING, "A drawing. Ours are in [switching](switching.md)."),
    Row("Fig. 2", "where Pegasus spends its time on a CPU", OTHERS, "Pegasus was measured by the paper's authors."),
    Row("Fig. 3", "tables for a batch, slot by slot and step by step", DRAWING,
        "A drawing. Ours are in [kernels of TFHE](lab/tfhe.md)."),
    Row("Fig. 4", "repacking without rotations", DRAWING, "A drawing. Ours is route matvec in [switching](switching.md)."),
    Row("Fig. 5", "a butterfly cut in two halves", DRAWING, "A drawing. Ours is in [transform forms](lab/transform-forms.md)."),
    Row("Fig. 6", "steps of a transform of 16 points, with halves of butterflies", DRAWING, "A drawing of steps in time."),
    Row("Fig. 7", "two threads joined to one", DRAWING, "A drawing. Ours is in [transform forms](lab/transform-forms.md)."),
    Row("Fig. 8", "steps of a transform of 16 points, with joined threads", DRAWING, "A drawing of steps in time."),
    Row("Fig. 9", "coefficients in another order, so that a block needs no other block", DRAWING,
        "A drawing. Ours is in [transform forms](lab/transform-forms.md). Columns and rows of our transforms serve the same end."),
    Row("Fig. 10", "where a transform changes from one phase to the other", DRAWING, "A drawing."),
    Row("Fig. 11", "time of a transform by form and by five kinds of synchronisation", MEASURED,
        "The paper names one of its five kinds, Local Sync. Ours are a counter, a tree of counters, a word per block, the barrier "
        "of CUDA's grids, and blocks that wait for their neighbours. The record has all forms, also three fused stages.",
        ("./latticino bench transforms --record FILE",),
        (*gains(13, "BASE-NTT", "BD-NTT-2", "1.20 to 1.37 times"), *gains(15, "BASE-NTT", "TA-NTT-2", "1.20 to 1.32 times"),
         *gains(16, "BD-NTT-2", "TA-NTT-2", "1.26 to 1.33 times"))),
    Row("Fig. 12", "why warps wait, by form of transform", MEASURED,
        "Cycles of a warp for each instruction at N = 2^13 / 2^16, in all and by what it waits for; the paper does not say at which N its picture is. "
        "Blocks wait for their neighbours; a switching point is at 64 chunks. "
        "[Transform forms](lab/transform-forms.md#why-warps-wait) has the other reasons and kinds of synchronisation.",
        (counted.COMMAND.format("forms"),), counted.waits()),
    Row("Fig. 13", "gain of coefficients in another order", MEASURED,
        "The paper does not say where its shuffled forms change from one phase to the other. Ours change in the middle: at 64 "
        "chunks of 2^12 entries, and at 256 of 2^16.", ("./latticino bench transforms --record FILE",),
        (Line("N = 2^12, two decomposed stages", "1.25 times",
              Ratio(form(12, "BD-NTT-2"), form(12, "OSSP-PCS-BD-NTT-2", chunks=64))),
         Line("N = 2^16, two aggregated stages", "1.20 times",
              Ratio(form(16, "TA-NTT-2"), form(16, "OSSP-PCS-TA-NTT-2", chunks=256))))),
    Row("Fig. 14", "time of a transform by the place of the change between phases", MEASURED,
        "The paper's best place is at 64 chunks on both of its GPUs. Ours are two aggregated stages with shuffled coefficients, "
        "a block for each chunk.", ("./latticino bench transforms --record FILE",),
        tuple(line for log_n in range(12, 17) for line in switching_points(log_n))),
)

PAPER = Paper(
    "chameleon", "Chameleon",
    "Z. Wang, H. He, L. Zhao, P. Li, Z. Li, D. Meng, R. Hou: Chameleon: An Efficient FHE Scheme Switching Acceleration on GPUs.",
    "RTX 3070 and A100. Words of 64 bits (residues of 56), kernels launched one by one. Most tables do not say which of the two "
    "GPUs they are from.",
    "Ours are words of 32 bits, replayed as graphs on an H200, which is a larger GPU than either.",
    whole(1, 7), whole(1, 14), ROWS)
