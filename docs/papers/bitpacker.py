"""BitPacker."""

from .ours import training
from .rows import DRAWING, HARDWARE, LATER, PARTLY, Line, Paper, Row, whole

ACCELERATOR = "Simulated on CraterLake, an accelerator that has not been built. "
STUDY = ("packing_study --sets",)
ROWS = (
    Row("Table 1", "bits kept by five workloads, packed and not: mean and worst case", PARTLY,
        "Only LogReg has a counterpart with a record: HELR with the scale 2^40, on a chain of the 25-30 system; the "
        "paper's has 2^35 and words of 28 bits. The networks run here, but have no records yet; the SqueezeNet "
        "has three fire modules.",
        ("./latticino demo --repeat 5 --record FILE", "./latticino demo resnet20 --encrypted 1 --record FILE",
         "./latticino demo resnet20-aespa --encrypted 100 --record FILE", "./latticino demo rnn --encrypted 64 --record FILE",
         "./latticino demo squeezenet --encrypted 100 --record FILE"),
        (Line("LogReg: mean", "11.7 bits", training("mean_error_bits", "bits")),
         Line("LogReg: worst", "9 bits", training("max_error_bits", "bits")),
         Line("ResNet-20", "20.7 bits, worst 18"), Line("ResNet-20 with AESPA", "12.8 bits, worst 8"),
         Line("RNN", "23.3 bits, worst 22"), Line("SqueezeNet", "15.4 bits, worst 13"))),
    Row("Fig. 1", "unused bits of words, packed and not", DRAWING, "A drawing of six scales in words of 64 bits."),
    Row("Fig. 2", "what a plaintext and a ciphertext are", DRAWING, "A drawing."),
    Row("Fig. 3", "the modulus over a program with bootstrapping", DRAWING, "A drawing."),
    Row("Fig. 4", "moduli and scales of three levels, not packed", DRAWING, "A drawing."),
    Row("Fig. 5", "moduli and scales of three levels, packed", DRAWING,
        "A drawing. `./latticino explain n14-d35-w28-leveled-v1` prints such a chain."),
    Row("Fig. 6", "a rescaling between packed levels", DRAWING, "A drawing. Ours is in [parameters](parameters.md)."),
    Row("Fig. 7", "an adjustment between packed levels", DRAWING, "A drawing. Ours is in [parameters](parameters.md)."),
    Row("Fig. 8", "what a choice of moduli depends on", DRAWING, "A drawing."),
    Row("Fig. 9", "the parts of CraterLake", HARDWARE, "A drawing of an accelerator."),
    Row("Fig. 10", "energy of a product by number of residues", HARDWARE, "Energy of an accelerator's units."),
    Row("Fig. 11", "time of workloads in words of 28 bits, packed and not", HARDWARE,
        ACCELERATOR + "Packed chains are 59 % faster in the mean. Counts of limbs, which carry over, are not recorded yet; "
        "[sizes of primes](lab/primes.md#bitpacker-chains-for-bootstrapping) has those of four packed chains.", STUDY),
    Row("Fig. 12", "energy of workloads in words of 28 bits, packed and not", HARDWARE, "Energy of an accelerator."),
    Row("Fig. 13", "time of workloads on a CPU in words of 64 bits, packed and not", LATER,
        "Packed chains are 24 % faster in the mean (one thread of a Threadripper PRO 3975WX). Residues here have at most 31 bits, so "
        "words of 64 are not offered. No workload was timed on the packed sets of 28 to 30 bits."),
    Row("Fig. 14", "time of workloads in words of 28 to 64 bits, packed and not", HARDWARE,
        ACCELERATOR + "Counts of limbs by word are not recorded yet.", STUDY),
    Row("Fig. 15", "how much slower unpacked chains are, by word", HARDWARE,
        ACCELERATOR + "2.18 times at 64 bits, 1.59 at 28, in the mean. Counts of limbs by word are not recorded yet.", STUDY),
    Row("Fig. 16", "time and area by word", HARDWARE, "Area of an accelerator."),
    Row("Fig. 17", "time by size of the register file", HARDWARE, "The register file of an accelerator."),
    Row("Fig. 18", "errors of a rescaling at scales of 30 to 60 bits, a million samples each", LATER,
        "A picture of quartiles there. No command here draws such samples. `tests/noise` holds rescalings to their predicted variance."),
    Row("Fig. 19", "errors of an adjustment at scales of 30 to 60 bits, a million samples each", LATER,
        "A picture of quartiles there. No command here draws such samples."),
)

PAPER = Paper(
    "bitpacker", "BitPacker",
    "N. Samardzic, D. Sanchez: BitPacker: Enabling High Arithmetic Efficiency in Fully Homomorphic Encryption Accelerators. "
    "ASPLOS 2024. doi:10.1145/3620665.3640397.",
    "A simulator of the accelerator CraterLake with words of 28 to 64 bits, and one thread of a CPU with words of 64. N = 2^16, "
    "moduli up to 1,596 bits, one to three digits, bootstrapping of 19 or 26 bits.",
    "Words of 32 bits, so that residues have at most 31. Packed sets are those with `w28` to `w30` in their names.",
    whole(1, 1), whole(1, 19), ROWS)
