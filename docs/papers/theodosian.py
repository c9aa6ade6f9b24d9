"""Theodosian."""

from . import counted
from .ours import (
    ABLATION,
    D40,
    GROWTH,
    NEWER,
    PIPELINING,
    STAGES,
    SYSTEMS,
    bootstrapping,
    gained,
    of_cheddar,
    residual_at,
    training,
)
from .rows import COMPUTED, DRAWING, HARDWARE, MEASURED, PARTLY, Line, Paper, Ratio, Recorded, Row, whole

FASTEST = {"slot_to_coeff_first": 1, "over_mod_raise": 1}
D35 = "n16-d35-boot-v1"
CHEDDAR = "+ parallel fusion"  # the last step of the ablation that its paper has, too


def at_its_sizes(member: str = "value", unit: str = "") -> Recorded:
    """100 bootstrappings with the paper's secret and sizes."""
    return Recorded(SYSTEMS, "ckks.bootstrap", {"preset": "theodosian-d35-legacy", "median_of": 100}, member, unit)


def with_newer(member: str = "value", unit: str = "") -> Recorded:
    return Recorded(NEWER, "ckks.bootstrap", {"preset": "theodosian-d35-legacy", "median_of": 100, **FASTEST}, member, unit)


CLASSES = ("transforms", "conversions", "products with keys", "last steps", "automorphisms", "element-wise")


def by_class(name: str, member: str = "value", unit: str = "ms", factor: float = 1.0) -> Recorded:
    """A figure of the kernels of one class of a bootstrapping, which run alone in a graph."""
    return Recorded(ABLATION, "ablation.class", {"step": "+ graph", "class": name}, member, unit, factor)


def by_limbs(least: int) -> Recorded:
    return Recorded(ABLATION, "ablation.limbs", {"least": least})


def grown(limbs: int, batch: int, member: str = "value", unit: str = "", factor: float = 1.0,
          operands: str = "cold") -> Recorded:
    """The time of each rotation of a batch."""
    where = {"axis": "batch", "limbs": limbs, "batch": batch, "operands": operands}
    return Recorded(GROWTH, "growth.rotate", where, member, unit, factor)


def grown_at_23(batch: int, operands: str) -> Recorded:
    return Recorded("2026-11-28-h200-growth", "growth.rotate", {"axis": "batch", "limbs": 23, "batch": batch, "operands": operands})


def pipelined(limbs: int, form: str) -> Recorded:
    where = {"limbs": limbs, "aux": 12, "operands": "cold", "form": form}
    return Recorded(PIPELINING, "pipelining.rotate", where)


def stages(limbs: int, footprints: tuple[str, str, str], moved: tuple[str, str, str]) -> tuple[Line, ...]:
    """The largest pass of each stage, and what all its passes read and write. 12 limbs are one digit."""
    def stage(number: int, member: str) -> Recorded:
        return Recorded(STAGES, "growth.stage", {"limbs": limbs, "stage": number, "one_digit": int(limbs == 12)}, member, "MB", 1e-6)

    return (*(Line(f"{limbs} limbs, stage {i}: footprint", f"{theirs} MB" if theirs else "", stage(i, "value"))
              for i, theirs in enumerate(footprints, 1)),
            *(Line(f"{limbs} limbs, stage {i}: transactions", f"{theirs} MB", stage(i, "bytes_moved"))
              for i, theirs in enumerate(moved, 1)))


ROWS = (
    Row("Table I", "the parameter set: 48 limbs, four digits, P Q up to 2^1746, scale 2^40, encapsulation weight 32", COMPUTED,
        f"`{D40}` has 47 limbs, four digits, P Q of 1745.9 bits, the same scale and the same weight. Its main secret is uniform "
        "ternary; the paper gives the weight 2^15.", (f"./latticino explain {D40}",)),
    Row("Table II", "bootstrapping, HELR and ResNet-20 on three GPUs, beside four libraries", MEASURED,
        "Both are graphs, but our iterations of HELR are submitted step by step. All at 2^40. Figures of other libraries are theirs.",
        ("./latticino bench gpu --record FILE", "./latticino demo --repeat 5 --record FILE",
         "./latticino bench workloads --device cuda --part scales --record FILE"),
        (Line("bootstrapping, 13 levels left", "23.6 ms (H100), 31.8 ms (A100 80GB), 15.2 ms (RTX 5090)", bootstrapping()),
         Line("an iteration of HELR", "26.5 ms (H100), 37.5 ms (A100 80GB), 14.1 ms (RTX 5090)", training()),
         Line("an image by ResNet-20", "740 ms (H100), 966 ms (A100 80GB), 467 ms (RTX 5090)", residual_at(40)))),
    Row("Table III", "memory that the stages of a key switch touch, and what they move, by number of limbs (48, 24, 12)", MEASURED,
        "Counted from the records of a rotation, at the paper's sizes. The paper counts what passes through the L2 between its kernels, ours "
        "is each input and output of our passes once. The first stage moves less because our tiles convert and transform columns in one pass. The third "
        "touches more: its last pass adds the input and writes a new result. What passes through the L2 here is in Nsight's counters.",
        ("bench_growth --device cpu --stages 48,24,12 --limbs= --degrees= --batch-limbs= --output FILE", counted.COMMAND.format("rotations")),
        (*stages(48, ("62.9", "", "50.3"), ("352", "233", "201")), *stages(24, ("18.9", "", "25.2"), ("101", "81.8", "107")),
         *stages(12, ("6.30", "", "12.6"), ("31.5", "34.6", "69.2")), *counted.through_l2())),
    Row("Table IV", "bootstrapping at 2^35, 15 levels left, with newer algorithms (RTX 5090): time and the mean of the largest "
        "errors", MEASURED,
        f"The paper's secret has weight 1024 and P Q 1711 bits, as `theodosian-d35-legacy`. `{D35}` has a "
        "uniform ternary secret and 1741 bits. Of the three newer algorithms OverModRaise is here, with SlotToCoeff first. "
        "[Subring encapsulation and compressed plaintexts](lab/newer-algorithms.md) are not, but for diagonals that repeat. The paper measured Cheddar's code, too (23.18 ms), and reports 14.17 ms of HEAAN2.",
        ("./latticino bench systems --preset theodosian-d35-legacy --runs 100 --record FILE",
         "bench_bootstrap --device cuda --preset theodosian-d35-legacy --stc-first 1 --over-raise 1 --runs 100 --output FILE", "./latticino bench gpu --record FILE"),
        (Line("its sizes, 15 levels left", "16.21 ms", at_its_sizes()),
         Line("the mean of 100 largest errors", "18.57 bits", at_its_sizes("mean_of_largest_error_bits", "bits")),
         Line("its sizes, with newer algorithms", "12.75 ms", with_newer()),
         Line("the mean of 100 largest errors", "18.70 bits", with_newer("mean_of_largest_error_bits", "bits")),
         Line("ours with a uniform secret", "", bootstrapping(D35)),
         Line("largest error", "", bootstrapping(D35, "max_error_bits", "bits")))),
    Row("Fig. 1", "L2 capacity, bandwidths and rates of multiplications of several GPUs", HARDWARE,
        "Ceilings of our H200 are in [the roofline](lab/roofline.md). `./latticino bench ceilings` measures those of the GPU at hand."),
    Row("Fig. 2", "how busy the pipes and the L2 are in transforms and conversions, and their times without the arithmetic "
        "(RTX 5090)", PARTLY,
        "Nsight's counters of the five passes at 47 limbs, for 1, 4 and 16 rotations at a time, where the paper has 10 to 264 limbs. The paper's network "
        "to the L2 is some 80 % busy in large cases, ours 27 %. Our conversions contain column transforms. No kernel was timed without its "
        "arithmetic, and useful multiplications are not told from others.",
        (counted.COMMAND.format("rotations"),),
        counted.busy_parts() + (Line("conversion without overflow of its sums: gain", "1.50 times"),)),
    Row("Fig. 3", "roofline of bootstrapping and its kernels (RTX 5090)", MEASURED,
        "The paper counts what passes through the L2, at least 8.8 and 7.3 ms of it. Ours are Nsight's counters of every launch, one after the other, with "
        "caches as they are. Its newer algorithms are three, ours SlotToCoeff first and OverModRaise. The paper's multiplications are "
        "those of data alone, ours all of the multiplier's pipe. Times in a graph stand beside. [The roofline](lab/roofline.md#a-whole-bootstrapping) has "
        "shares of ceilings.",
        (counted.COMMAND.format("bootstrap"), "bench_bootstrap --device cuda --runs 10 --output FILE",
         "bench_bootstrap --device cuda --stc-first 1 --over-raise 1 --runs 10 --output FILE", "./latticino bench ablation --record FILE"),
        (Line("each input and output once", "", bootstrapping(member="bytes_moved", unit="GB", factor=1e-9)),
         Line("the same, newer algorithms", "", bootstrapping(member="bytes_moved", unit="GB", factor=1e-9, **FASTEST)),
         *counted.roofline(),
         *(Line(f"{name}: time, alone in a graph", "", by_class(name)) for name in CLASSES))),
    Row("Fig. 4", "how busy kernels are by size of batch (RTX 5090, 24 and 48 limbs)", MEASURED,
        "Shares and bytes are of 1 / 4 / 16 rotations at a time, each with operands of its own and one key, at 23 and 47 limbs. Our conversion contains column "
        "transforms, and one pass transforms rows. Times are of each rotation. Their gain goes on beyond the size of the L2 (60 MB on an H200), also where "
        "the same operands come again and again ([growth](lab/growth.md)).",
        (counted.COMMAND.format("rotations"), "./latticino bench growth --record FILE --plot growth.png"),
        counted.by_batches() + tuple(Line(f"a rotation at 23 limbs, {batch} at a time, {operands} operands", "in the picture", grown_at_23(batch, operands))
              for operands in ("cold", "warm") for batch in (1, 4, 16))),
    Row("Fig. 5", "the steps of a key switch, batched and pipelined", DRAWING,
        "A drawing. Ours is five passes ([key switching](lab/key-switching.md)); all digits of a stage are one launch."),
    Row("Fig. 6", "use of DRAM and L2 by the stages of a key switch (RTX 5090), and a drawing of pipelining", MEASURED,
        "Means by time over the passes of a stage, of one rotation at 47 limbs: one launch after the other, caches as they are. The paper has four digits as "
        "well, and pipelines the stages 2 and 3.",
        (counted.COMMAND.format("rotations"),), counted.stages()),
    Row("Fig. 7", "(a) gain of each step in a key switch, (b) time and memory of batches at 12 limbs (RTX 5090)", MEASURED,
        "Ours begin with all of Cheddar's fusions (the step *+ parallel fusion*), the paper's with Cheddar's code. Its fusion beyond Cheddar's is our "
        "transforms in the products with keys and in conversions. Its conversion kernel is faster on integers, ours on matrix units. "
        "Its batches of polynomials are in our first step; their gain is that over the last step without them. With the inner product split as "
        "in the paper, complementary pipelining is slower here than the rotation that ships ([ablation](lab/ablation.md#one-rotation-in-two-branches)). "
        "Memory by batch is in [growth](lab/growth.md).",
        ("./latticino bench ablation --record FILE", "bench_pipelining --device cuda --output FILE",
         "bench_growth --limbs= --degrees= --batch-limbs 12,13 --output FILE"),
        (Line("all steps, 24 limbs (23 here)", "1.90 times, from Cheddar's code", gained("rotate", CHEDDAR, "+ graph", 23)),
         Line("all steps, 48 limbs (47 here)", "1.57 times, from Cheddar's code", gained("rotate", CHEDDAR, "+ graph")),
         Line("fusion beyond Cheddar's, 48 limbs (47 here)", "little", gained("rotate", CHEDDAR, "+ tiles")),
         Line("the conversion kernel, 48 limbs (47 here)", "8 %", gained("rotate", "+ tiles", "+ matrix units")),
         Line("a graph, 48 limbs (47 here)", "9 % of the time", gained("rotate", "+ overlap of launches", "+ graph")),
         Line("several polynomials at once, 48 limbs (47 here)", "1.46 and 1.36 times (stages 1 and 3)",
              gained("rotate", "all but batches", "+ graph")),
         Line("complementary pipelining, 48 limbs (47 here)", "1.04 times", Ratio(pipelined(47, "whole"), pipelined(47, "tile-first"))),
         Line("the same, over the split inner product one after the other", "", Ratio(pipelined(47, "split"), pipelined(47, "tile-first"))),
         Line("two rotations at once", "", gained("rotate", "two programs in turn", "two programs at once")),
         Line("best batch, 12 limbs (64 at a time)", "1.65 times", Ratio(grown(12, 1), grown(12, 64))),
         Line("the same, 13 limbs of two digits", "", Ratio(grown(13, 1), grown(13, 64))),
         *(line for batch in (1, 2, 4, 8, 16, 32, 64) for line in (
             Line(f"{batch} at a time, 12 limbs: each", "in the picture", grown(12, batch)),
             Line("memory, with key and operands", "12.6 MB at most in a stage" if batch == 1 else "in the picture",
                  grown(12, batch, "footprint_bytes", "MB", 1e-6)))))),
    Row("Fig. 8", "(a) gain of each step in a bootstrapping, (b) time by number of limbs, for three workloads (RTX 5090)", PARTLY,
        "(b) is a bootstrapping alone, the kernels of each range in a graph of their own; HELR and ResNet-20 by limbs are missing. (a) begins with "
        "Cheddar's fusions, as in Fig. 7. Double hoisting is in all steps here, as in Cheddar's code.",
        ("./latticino bench ablation --record FILE", "./latticino bench gpu --record FILE"),
        (Line("fusion beyond Cheddar's", "7 %", gained("bootstrap", CHEDDAR, "+ tiles")),
         Line("the conversion kernel", "in the picture", gained("bootstrap", "+ tiles", "+ matrix units")),
         Line("a graph", "in the picture", gained("bootstrap", "+ overlap of launches", "+ graph")),
         Line("several polynomials at once", "in the picture", gained("bootstrap", "all but batches", "+ graph")),
         Line("all steps", "1.45 times (from Cheddar's code)", gained("bootstrap", CHEDDAR, "+ graph")),
         Line("Cheddar's code and ours as graphs", "22.1 and 15.2 ms, both on an RTX 5090", bootstrapping(),
              of_cheddar("ckks.bootstrap", preset=D40, minimal_keys=0)),
         *(Line(f"bootstrapping, {least} to {least + 9} limbs", "in the picture", by_limbs(least)) for least in (1, 11, 21, 31, 41)),
         Line("share of HELR's time at 20 limbs or fewer", "82 %"))),
)
PAPER = Paper(
    "theodosian", "Theodosian",
    "W. Choi, H. Yu, J. Kim, H. Ji, J. Park, J. H. Ahn: Theodosian: A Deep Dive into Memory-Hierarchy-Centric FHE Acceleration.",
    "RTX 5090 unless the row says otherwise, and A100 80GB, H100. Words of 32 bits, N = 2^16, at most 48 limbs, four digits, P Q up "
    "to 2^1746, scale 2^40. Its kernels are Cheddar's, with changes, as CUDA graphs.",
    "Ours is `n16-d40-boot-v1` on an H200, whose L2 has 60 MB where the RTX 5090 has 98.",
    ("I", "II", "III", "IV"), whole(1, 8), ROWS)
