"""Cheddar, as published at ASPLOS 2026."""

from .ours import (
    ABLATION,
    AS_GRAPH,
    AT_SCALES,
    D40,
    SEPARATE,
    bootstrapping,
    counted_work,
    gained,
    made_twiddles,
    of_cheddar,
    of_set,
    of_shape,
    operation,
    residual_at,
    sorted_at,
    sorted_finely,
    trained_at,
    training,
)
from .rows import (
    COMPUTED,
    DRAWING,
    HARDWARE,
    MEASURED,
    PARTLY,
    Cited,
    Line,
    Paper,
    Ratio,
    Recorded,
    Refused,
    Row,
    whole,
)

BUTTERFLIES = "2026-11-28-h200-butterflies"
# Table 6 of the paper. The key is log2 of the scale. There are three pairs for each scale:
# - HELR: milliseconds per iteration, and accuracy in %
# - ResNet-20: seconds per image, and accuracy in %
# - sort: seconds per sort, and bits of the largest error (by the note of that table)
AT_FOUR_SCALES = {48: (("44.3", "96.42"), ("1.20", "91.96"), ("14.83", "12.84")),
                  40: (("40.7", "96.37"), ("1.05", "91.95"), ("10.20", "12.08")),
                  35: (("39.3", "96.12"), ("0.82", "91.88"), ("9.51", "11.90")),
                  30: (("34.4", "52.21"), ("0.68", "9.59"), ("8.49", "9.17"))}


def per_level(preset: str) -> Ratio:
    return Ratio(of_set(preset), of_set(preset, "levels_left", "levels"), "ms per level")


def conversions(step: str) -> Recorded:
    return Recorded(ABLATION, "ablation.class", {"step": step, "class": "conversions"})


def butterfly(product: str) -> Recorded:
    where = {"product": product, "prime": "by lane", "direction": "forward"}
    return Recorded(BUTTERFLIES, "cuda.butterfly", where)


def on_our_card(name: str, limbs: int) -> tuple[tuple[str, Cited], ...]:
    """The paper's code: of one run with its graphs where there are any, else launched kernel by kernel."""
    launched = ("its code", Cited("Cheddar 1.0, measured 2026-11", f"ckks.{name}", {"limbs": limbs}))
    graph = ("its code as a graph", Cited(AS_GRAPH, f"ckks.{name}", {"limbs": limbs}))
    return {"rotate": of_cheddar("ckks.rotate", limbs=limbs), "rescale": (launched, graph)}.get(name, (launched,))


PASSES_OF_A_ROTATION = (("intt_rows", "rows of the input"), ("mod_up", "conversion up"), ("key_inner", "products with keys"),
                        ("mod_switch_tile", "conversion down"), ("subtract_scale", "last step"))
ROWS = (
    Row("Table 1", "notation", DRAWING, "Our words are in the [glossary](glossary.md)."),
    Row("Table 2", "a chain of 25- and 30-bit primes for the scale 2^40: primes, modulus and scale of each level",
        COMPUTED, f"`{D40}` has the same numbers of primes of either kind at the levels 0 to 4, and the moduli of 50, 90, "
        "130, 170 and 210 bits. Its levels for bootstrapping take two primes each, as the paper's do.", (f"./latticino explain {D40}",)),
    Row("Table 3", "modular reductions: instructions, constants, range of results", MEASURED,
        "The paper counts instructions. Ours are cycles of a whole butterfly, alone in registers: the multiplications, two "
        "additions and their corrections. In such a butterfly signed Montgomery reduction takes no fewer cycles than unsigned: its result has to "
        "be made positive. The library has no Barrett and no unsigned Montgomery reduction.",
        ("bench_butterflies --output FILE",),
        (Line("signed Montgomery", "one high and one low product, one addition; 1 constant per prime",
              butterfly("montgomery")),
         Line("Shoup", "two low products, one addition; a constant per factor", butterfly("shoup")),
         Line("Shoup, results reduced later", "", butterfly("shoup_lazy")),
         Line("unsigned Montgomery", "one wide and one low product, one addition of 64 bits; 1 constant per prime", butterfly("montgomery_unsigned")),
         Line("Barrett", "a high and a low product and an addition of 64 bits; 1 constant per prime", butterfly("barrett")))),
    Row("Table 4", "seven GPUs: peak integer rate, memory", HARDWARE,
        "Specifications of V100, A100, H100, RTX 4090, RTX 5090 and MI100. We measure on one H200; its ceilings are in "
        "[the roofline](lab/roofline.md)."),
    Row("Table 5", "bootstrapping, HELR and ResNet-20 on six GPUs, beside other GPU libraries and FPGAs", MEASURED,
        "The paper measures kernels that are launched one by one, ours are one graph; at 2^40 HELR is submitted step by step, at 2^35 it is "
        "graphs. Figures of other libraries are theirs.",
        ("./latticino bench gpu --record FILE", "./latticino demo --repeat 5 --record FILE",
         "./latticino demo helr --separate --repeat 5 --record FILE", "./latticino demo helr --scales 35 --repeat 5 --record FILE",
         "./latticino bench workloads --device cuda --part scales --record FILE"),
        (Line("bootstrapping, 2^40, 13 levels left", "31.2 ms (H100), 40.0 ms (A100 80GB), 42.5 ms (A100 40GB), 31.6 ms (RTX 4090), "
              "22.1 ms (RTX 5090), 73.8 ms (V100)", bootstrapping(), of_cheddar("ckks.bootstrap", preset=D40, minimal_keys=0)),
         Line("bootstrapping, 2^35", "28.7 ms (H100), 19.8 ms (RTX 5090)", bootstrapping("n16-d35-boot-v1")),
         Line("an iteration of HELR, 2^40", "40.7 ms (H100), 51.9 ms (A100 80GB), 51.4 ms (A100 40GB), 29.9 ms (RTX 4090), "
              "25.9 ms (RTX 5090), 79.6 ms (V100)", training()),
         Line("the same, weights and momentum bootstrapped apart", "57.4 ms (A100 80GB)", Recorded(SEPARATE, "helr.iteration")),
         Line("an iteration of HELR, 2^35", "39.3 ms (H100), 25.5 ms (RTX 5090)", trained_at(35)),
         Line("an image by ResNet-20, 2^40", "1.05 s (H100), 1.32 s (A100 80GB), 1.36 s (A100 40GB), 0.72 s (RTX 5090)", residual_at(40)),
         Line("an image by ResNet-20, 2^35", "0.82 s (H100), 0.57 s (RTX 5090)", residual_at(35)))),
    Row("Table 6", "HELR, ResNet-20 and a sort of 2^14 numbers at four scales: time, and accuracy or bits (H100)", MEASURED,
        "At 2^30 the weights of HELR keep one bit at the end, and the accuracy suffers, less than in the paper. ResNet-20 is refused "
        "there: errors take values out of the range of a ReLU. At 2^48 "
        "ours is `n16-d48-dr-boot-v1`, whose levels are pairs of primes. Accuracies of ResNet-20 are those of the shadow with noise on 1,000 images; "
        "times are of encrypted ones, with 28, 19 and 18 bootstrappings. HELR and ResNet-20 are graphs, the sort is submitted step by "
        "step. The paper's bits of a sort are of the largest error. The largest errors of our sorts of 10 and 13 bits, at 2^30 and 2^35, are "
        "larger than the paper's, that of 15 bits at 2^40 is about the same, that of 16 bits at 2^48 smaller. `./latticino bench workloads --device cuda --part sorts` has sorts of 12 "
        "and 15.5 bits at these scales, which an earlier build refused; they are not measured yet.",
        ("./latticino demo helr --scales 30,35,40,45,48,50 --repeat 5 --record FILE",
         "./latticino bench workloads --device cuda --part scales --record FILE",
         "./latticino demo sort --preset n16-d30-boot-v1 --bits 10 --repeat 3 --record FILE"),
        (*(line for scale, ((time, share), _, _) in AT_FOUR_SCALES.items()
           for line in (Line(f"HELR at 2^{scale}: an iteration", f"{time} ms", trained_at(scale)),
                        Line(f"HELR at 2^{scale}: accuracy", f"{share} %", trained_at(scale, "accuracy", "%", 100)))),
         *(line for scale, (_, (time, share), _) in AT_FOUR_SCALES.items() if scale > 30
           for line in (Line(f"ResNet-20 at 2^{scale}: an image", f"{time} s", residual_at(scale)),
                        Line(f"ResNet-20 at 2^{scale}: accuracy", f"{share} %", residual_at(scale, "value", "%")))),
         Line("ResNet-20 at 2^30", "{} s; {} %".format(*AT_FOUR_SCALES[30][1]),
              Refused(AT_SCALES, "resnet20.refused", {"log_scale": 30})),
         *(line for scale in (48, 40, 35)
           for line in (Line(f"sort of 12 bits at 2^{scale}: time", "", sorted_at(scale)),
                        Line(f"sort of 12 bits at 2^{scale}: bits of the largest error", "",
                             sorted_at(scale, "max_error_bits", "bits")))),
         *(line for scale, (_, _, (time, kept)) in AT_FOUR_SCALES.items()
           for line in (Line(f"sort at 2^{scale}, of 10, 13, 15 or 16 bits: time", f"{time} s", sorted_finely(scale)),
                        Line(f"sort at 2^{scale}: bits of the largest error", f"{kept} bits",
                             sorted_finely(scale, "max_error_bits", "bits")),
                        Line(f"sort at 2^{scale}: bits of the mean error", "", sorted_finely(scale, "mean_error_bits", "bits")))))),
    Row("Table 7", "product, rotation, addition and rescaling beside three libraries (RTX 4090)", MEASURED,
        "48 and 24 limbs there, 47 and 23 here, 12 auxiliary primes. The product is relinearised and not rescaled. Ours are "
        "graphs. The three libraries with 64-bit limbs were measured by the paper's authors.",
        ("./latticino bench gpu --record FILE",),
        tuple(Line(f"{label}, {limbs} limbs", f"{theirs} us", operation(name, limbs), on_our_card(name, limbs))
              for limbs, figures in ((47, (533, 476, 48, 68)), (23, (222, 191, 11, 47)))
              for (label, name), theirs in zip((("product", "mul_relin"), ("rotation", "rotate"), ("addition", "add"),
                                                ("rescaling", "rescale")), figures))),
    Row("Table 8", "the four steps of the ablation study (Fig. 8)", DRAWING,
        "The command begins at the paper's baseline, and adds lazy reduction and twiddles made on the fly one by one. [Ablation](lab/ablation.md#from-cheddars-baseline) has its steps beside the paper's."),
    Row("Fig. 1", "integer operations and memory traffic of rotation, product and rescaling, by words of 64 or 32 bits and by "
        "the kind of rescaling (RTX 4090)", PARTLY,
        "The paper gives these figures in a picture only, at 11 levels left. There the sets for 2^48 by pairs and for 2^40 by ratios have 24 and 17 "
        "limbs here, with 12 auxiliary primes. Instructions are from formulas, bytes are each input and output of each of our passes once. Residues of "
        "64 bits are not offered.",
        ("bench_records --limbs 24,17 --output FILE", "./latticino bench roofline bench/records/2026-11-28-h200-shapes.json --record FILE"),
        tuple(Line(f"{label}, {kind}: {what}", "in the picture", counted_work(name, limbs, member, unit, factor))
              for label, name in (("rotation", "rotate"), ("product", "mul_relin"), ("rescaling", "rescale"))
              for kind, limbs in (("2^48 by pairs", 24), ("2^40 by ratios", 17))
              for what, member, unit, factor in (("instructions", "instructions", "G", 1e-9), ("bytes", "bytes_moved", "MB", 1e-6)))),
    Row("Fig. 2", "which primes each level and the keys have, by kind of rescaling", COMPUTED,
        "The command prints the primes of each level. Sets here use the 25-30 system, or BitPacker chains ([parameters]"
        "(parameters.md)).", (f"./latticino explain {D40}", "./latticino explain n16-d35-w30-boot-v1")),
    Row("Fig. 3", "roofline and times of a rotation's kernels with lazy reduction and twiddles made on the fly (48 limbs, RTX "
        "4090)", MEASURED,
        "Conversions here run on the matrix units, which the paper does not use. So the gain of lazy reduction is that of the "
        "ablation's first steps, which do without them: all conversions of a bootstrapping, and a rotation of 47 limbs. Twiddles are those of whole "
        "transforms of 47 limbs. The roofline has our passes at 48 limbs: least instructions for each byte, by formulas, and their rate.",
        ("./latticino bench ablation --record FILE", "./latticino bench transforms --record FILE", "bench_records --limbs 48 --output FILE",
         "./latticino bench roofline bench/records/2026-11-28-h200-shapes.json --record FILE"),
        (Line("gain of base conversion by lazy reduction", "1.89 times",
              Ratio(conversions("baseline"), conversions("+ lazy reduction"))),
         Line("gain of a rotation by it", "in the picture", gained("rotate", "baseline", "+ lazy reduction")),
         Line("gain of transforms by twiddles made on the fly: forward", "1.16 times", made_twiddles(47)),
         Line("the same, inverse", "", made_twiddles(47, "poly.intt")),
         Line("gain of a rotation by them", "in the picture", gained("rotate", "+ lazy reduction", "+ kernel options")),
         Line("rotation: the five passes together", "in the picture", of_shape("ckks.rotate", 48)),
         *(line for name, label in PASSES_OF_A_ROTATION for line in (
             Line(f"{label}: time", "in the picture", of_shape(f"poly.{name}", 48)),
             Line(f"{label}: instructions for each byte", "in the picture",
                  Ratio(counted_work(name, 48, factor=1.0), counted_work(name, 48, "bytes_moved", factor=1.0), "")),
             Line(f"{label}: instructions in a second", "in the picture",
                  Ratio(counted_work(name, 48, factor=1e-6), counted_work(name, 48, "value", factor=1.0), "T")))))),
    Row("Fig. 4", "the steps of a rescaling, fused and not", DRAWING,
        "A drawing. Ours is three passes: `poly.rescale_rows`, `poly.rescale_tile`, `poly.rescale_last` ([key switching]"
        "(lab/key-switching.md))."),
    Row("Fig. 5", "the steps of a linear transform, fused and not", DRAWING,
        "A drawing. Ours is described in [the evaluator](evaluator.md#linear-transforms)."),
    Row("Fig. 6", "the parts of the library", DRAWING, "A drawing. Ours are in [architecture](architecture.md)."),
    Row("Fig. 7", "(a) time of bootstrapping for each level left, (b) times of workloads, by kind of rescaling (H100)", PARTLY,
        "One graph here. At 2^48 ours is `n16-d48-dr-boot-v1`, whose levels are pairs of primes. Words of 64 bits are not offered: at 2^48 the "
        "paper's bootstrapping in words of 32 bits is 1.18 times as fast as in words of 64. The share of bootstrapping in workloads is missing. "
        "The paper says that workloads gain 1.07 to 1.41 times at 2^40, and 1.13 to 1.56 times at 2^35.",
        ("./latticino bench systems --record FILE", "./latticino demo helr --scales 35,40,48 --repeat 5 --record FILE",
         "./latticino bench workloads --device cuda --part scales --record FILE"),
        (Line("2^48", "in the picture", per_level("n16-d48-dr-boot-v1")),
         *(Line(f"2^{scale}", "in the picture" if scale < 40 else "2.40 ms per level, from 31.2 ms and 13 levels" if scale == 40
                else "", per_level(f"n16-d{scale}-boot-v1")) for scale in (30, 35, 40, 45, 50)),
         *(Line(f"gain of 2^{scale} over pairs at 2^48: {name}", theirs, Ratio(at(48), at(scale)))
           for name, at, paper in (("HELR", trained_at, ("44.3 and 40.7 ms", "39.3 ms")), ("ResNet-20", residual_at, ("1.20 and 1.05 s", "0.82 s")),
                                   ("sort of 12 bits", sorted_at, ("14.83 and 10.20 s", "9.51 s")))
           for scale, theirs in zip((40, 35), paper)))),
    Row("Fig. 8", "ablation of bootstrapping, HELR, ResNet-20 and sorting on four GPUs, by class of kernel", PARTLY,
        "Bootstrapping alone. The first step is the paper's baseline (Table 8). [Ablation](lab/ablation.md#from-cheddars-baseline) "
        "has the time of each class of kernels. Sums of automorphisms and of products with plaintexts are one pass from the third step on; in "
        "the paper a part of them belongs to the baseline, so that our third step gains more. Workloads are missing.",
        ("./latticino bench ablation --record FILE",),
        (Line("gain by kernels", "5 to 7 % (mean of workloads)", gained("bootstrap", "baseline", "+ kernel options")),
         Line("gain by sequential fusion", "18 to 22 % (mean of workloads)", gained("bootstrap", "+ kernel options", "+ sequential fusion")),
         Line("gain by parallel fusion", "12 to 23 % (mean of workloads)", gained("bootstrap", "+ sequential fusion", "+ parallel fusion")),
         Line("kernels and both fusions", "1.38 to 1.41 times (mean of workloads)", gained("bootstrap", "baseline", "+ parallel fusion")),
         Line("what is added here after them", "", gained("bootstrap", "+ parallel fusion", "+ graph")))),
)

PAPER = Paper(
    "cheddar", "Cheddar (ASPLOS 2026)",
    "Cheddar, by the authors of the [first version](#cheddar-first-arxiv-version), whose title and number stand there. ASPLOS 2026.",
    "V100, A100 (40 and 80 GB), H100, RTX 4090 and RTX 5090. Words of 32 bits, N = 2^16, P Q below 2^1776, four digits, scale "
    "2^40, 13 levels left after bootstrapping, unless the row says otherwise.",
    "Ours is `n16-d40-boot-v1`: the same N, scale, digits and levels, P Q below 2^1746. The paper's code was also measured on "
    "our H200, with kernels launched one by one and captured into a CUDA graph. Ours are graphs, so the second figure compares "
    "like with like.",
    whole(1, 8), whole(1, 8), ROWS)
