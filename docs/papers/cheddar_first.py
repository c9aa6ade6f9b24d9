"""Cheddar, the first version on arXiv."""

from .ours import (
    FORMS,
    TILES,
    TRANSFORMS,
    TWIDDLES,
    made_twiddles,
    of_set,
    of_shape,
    operation,
    recurrent,
    residual_at,
    trained_at,
)
from .rows import COMPUTED, DRAWING, HARDWARE, MEASURED, PARTLY, Cited, Line, Paper, Recorded, Row, whole


def transform(limbs: int) -> Recorded:
    where = {"N": 65536, "limbs": limbs, "polynomials": 1, "form": 0}
    return Recorded(TRANSFORMS, "poly.ntt", where)


def of_limbs(limbs: int) -> Recorded:
    where = {"limbs": limbs, "polynomials": 1, "form": 0, "twiddles": "made"}
    return Recorded(TWIDDLES, "poly.ntt", where)


def split(form: str, chunks: int) -> Recorded:
    """One limb in two launches, as Chameleon's forms: rows and columns of a split, and values of a thread."""
    return Recorded(FORMS, "ntt.form", {"N": 65536, "form": f"OSSP-PCS-{form}", "sync": "launches", "chunks": chunks})


PAIRS = "n16-d48-dr-boot-v1"
PHANTOM = (("Phantom's code", Cited("Phantom (64-bit limbs), measured 2026-11", "ckks.mul_relin", {"limbs": 47})),)
ROWS = (
    Row("Table 1", "modular reductions: instructions, constants, range of results", DRAWING,
        "The same table as the ASPLOS version's Table 3, where our cycles stand."),
    Row("Table 2", "the parameter set: scale 2^48 by pairs of primes, 54 limbs, 14 auxiliary primes, P Q up to 2^1767", COMPUTED,
        "`n16-d48-dr-boot-v1` has 52 limbs, 13 auxiliary primes, four digits and P Q of 1742 bits, because 1767 bits exceed the 128-bit table "
        "of today. It leaves 22 limbs (10 levels) where the paper leaves 24.", ("./latticino explain n16-d48-dr-boot-v1",)),
    Row("Table 3", "five GPUs: peak integer rate, memory", HARDWARE,
        "Specifications of V100, RTX 4090, A100 (40 and 80 GB) and MI100."),
    Row("Table 4", "bootstrapping, HELR, RNN and ResNet-20 on four GPUs, beside other GPU libraries and FPGAs", MEASURED,
        "At 2^48 by pairs of primes, as the paper's. It leaves 24 limbs after bootstrapping, ours 22 (10 levels). The RNN, ResNet-20 and "
        "HELR are graphs. Figures of other libraries are theirs.",
        ("./latticino bench systems --record FILE", "./latticino demo helr --scales 48 --repeat 5 --record FILE",
         "./latticino bench workloads --device cuda --part scales --record FILE", "./latticino demo rnn --preset n16-d48-dr-boot-v1 --encrypted 64 --record FILE"),
        (Line("bootstrapping", "48.5 ms (A100 80GB), 53.4 ms (A100 40GB), 51.9 ms (RTX 4090), 112 ms (V100)", of_set(PAIRS)),
         Line("an iteration of HELR", "50.7 ms (A100 80GB), 54.1 ms (A100 40GB), 37.8 ms (RTX 4090), 85.8 ms (V100)", trained_at(48)),
         Line("RNN, 200 steps of 32 x 128", "4.33 s (A100 80GB), 4.80 s (A100 40GB), 4.69 s (RTX 4090)", recurrent()),
         Line("an image by ResNet-20", "1.50 s (A100 80GB), 1.67 s (A100 40GB)", residual_at(48)))),
    Row("Table A1", "notation", DRAWING, "Our words are in the [glossary](glossary.md)."),
    Row("Fig. 1", "time of a transform by split of N and by values per thread (A100 40GB, 54 and 28 limbs)", PARTLY,
        "The paper's best split is 128 x 512, with 16 and 8 values per thread; its times are in the picture only. Ours is 256 x 256 with 16 "
        "values. Other splits are those of [Chameleon's forms](lab/transform-forms.md) on one limb, in two launches, with two or four values "
        "per thread. Splits of 54 and 28 limbs are missing.",
        ("bench_transforms --log-n 16 --limbs 54,28,1 --polynomials 1 --output FILE", "./latticino bench transforms --record FILE"),
        (Line("54 limbs", "in the picture", of_limbs(54)), Line("28 limbs", "in the picture", of_limbs(28)),
         Line("1 limb", "not given", transform(1)),
         *(Line(f"1 limb, {chunks} x {65536 // chunks}, {values} values per thread", "not given", split(form, chunks))
           for form, values, splits in (("TA-NTT-2", 4, (16, 64, 256, 1024)), ("BD-NTT-2", 2, (64, 256, 1024))) for chunks in splits))),
    Row("Fig. 2", "gain of twiddles made on the fly (RTX 4090)", MEASURED,
        "Row transforms here make most of their twiddles, too ([key switching](lab/key-switching.md)). The program measures them "
        "with all twiddles loaded as well.", ("bench_transforms --log-n 16 --limbs 54,28 --polynomials 1 --output FILE",),
        tuple(line for limbs, theirs in ((54, "18.5 % more"), (28, "14.5 % more")) for line in (
            Line(f"{limbs} limbs, forward", theirs, made_twiddles(limbs)),
            Line(f"{limbs} limbs, inverse", "", made_twiddles(limbs, "poly.intt"))))),
    Row("Fig. 3", "transforms with the change to Montgomery form merged in", DRAWING,
        "A drawing. Residues here are not in Montgomery form ([architecture](architecture.md))."),
    Row("Fig. 4", "time of base conversion by shape of tile (A100 40GB)", MEASURED,
        "The paper's best tile is 1.98 times (54 limbs) and 1.69 times (28 limbs) as fast as the library 100x. Ours are conversions up of "
        "all digits, column transforms included, in each kind of tile with all targets in one block; the record also has those whose "
        "targets are split over two to four blocks, of which none is faster.",
        ("bench_records --tiles 1 --only poly.mod_up --limbs 47,23 --output FILE",),
        tuple(Line(f"{limbs} limbs, {kind} tiles", "in the picture", Recorded(TILES, "poly.mod_up", {"limbs": limbs, "tile": number}))
              for limbs in (47, 23) for number, kind in enumerate(("wide", "deep", "narrow")))
        + tuple(Line(f"{limbs} limbs, tiles shared by teams of warps", "in the picture",
                     Recorded(TILES, "poly.mod_up", {"limbs": limbs, "tile": 16})) for limbs in (47, 23))),
    Row("Fig. 5", "addition, plain product and product beside two libraries, by class of kernel (A100 40GB, 54 and 28 limbs)",
        MEASURED,
        "The paper gives factors in its text, and times in the picture. Ours have 12 auxiliary primes where the paper has 14, so that 54 limbs are five "
        "digits. Classes are passes alone, in graphs of their own. Phantom's code was measured at 47 limbs.",
        ("bench_records --limbs 54,28 --output FILE",),
        (Line("product, relinearised, 47 limbs", "", operation("mul_relin", 47), PHANTOM),
         *(Line(f"{label}, {limbs} limbs", theirs, of_shape(name, limbs)) for limbs in (54, 28) for label, name, theirs in (
             ("addition", "ckks.add", "0.90 to 1.28 times as fast as Phantom"), ("plain product", "ckks.mul_plain", "0.90 to 1.28 times as fast as Phantom"),
             ("product, relinearised", "ckks.mul_relin", "1.70 to 2.00 times as fast as Phantom"), ("of it: rows of the input", "poly.product_rows", "in the picture"),
             ("of it: conversion up", "poly.mod_up", "in the picture"), ("of it: products with keys", "poly.key_inner_product", "in the picture"),
             ("of it: conversion down", "poly.mod_switch_tile", "in the picture"), ("of it: last step", "poly.subtract_scale", "in the picture"))))),
)

PAPER = Paper(
    "cheddar-v1", "Cheddar (first arXiv version)",
    "J. Kim, W. Choi, J. H. Ahn: Cheddar: A Swift Fully Homomorphic Encryption Library for CUDA GPUs. arXiv 2407.13055, version 1.",
    "V100, A100 (40 and 80 GB) and RTX 4090. Words of 32 bits with two primes per level, N = 2^16, scale 2^48, 54 limbs at most, "
    "14 auxiliary primes, four digits, P Q up to 2^1767.",
    "Ours is `n16-d40-boot-v1`: the scale 2^40, 47 limbs and 12 auxiliary primes.",
    (*whole(1, 4), "A1"), whole(1, 5), ROWS)
