"""BitPacker."""

from .ours import CHAINS, CHAINS_LATER, in_words, trained_at, unpacked
from .rows import DRAWING, HARDWARE, MEASURED, PARTLY, Line, Paper, Ratio, Recorded, Row, whole

ACCELERATOR = "Simulated on CraterLake, an accelerator that has not been built. "
RECORD = "2026-11-25-xeon-bitpacker"
COUNTS = ("./latticino bench bitpacker --part counts --record FILE",)
ERRORS = ("./latticino bench bitpacker --part errors --record FILE",)
SCHEDULES = ("BS19, 35 bits", "BS19, 45 bits", "BS26, 35 bits", "BS26, 45 bits")
BY_COUNT = ("Of this what carries over is counted: limbs by level of chains with the paper's bootstrapping scales under scales of 35 and 45 bits, "
            "planned with real primes at N = 2^16 ([words](lab/primes.md#words-of-28-to-64-bits)). ")

ON_GPU = "Times are of bootstrapping with the deepest sets of each kind on an H200 ([chains](lab/primes.md#deepest-chains-that-bootstrap)). "
CHAINS_COMMAND = ("./latticino bench bitpacker --part chains --device cuda --record FILE",)


def counted(schedule: str, word: int, chain: str) -> Recorded:
    return Recorded(RECORD, "bitpacker.count", {"schedule": schedule, "word": word, "chain": chain})


def unpacked_over_packed(word: int, schedules: tuple[str, ...] = SCHEDULES) -> tuple[Line, ...]:
    return tuple(Line(f"limbs of unpacked chains, {schedule}, words of {word}", "",
                      Ratio(counted(schedule, word, "unpacked"), counted(schedule, word, "packed")))
                 for schedule in schedules)


def per_level(word: int, scale: float, chain: str) -> Ratio:
    """The time of a bootstrapping for each level that the deepest chain leaves."""
    where = {"word": word, "log_scale": scale, "chain": chain}
    record = CHAINS_LATER if chain == "packed" and word in (29, 31) else CHAINS
    return Ratio(*(Recorded(record, "bitpacker.bootstrap", where, member) for member in ("value", "levels_left")), "ms")


def unpacked_on_a_gpu(words: tuple[int, ...]) -> tuple[Line, ...]:
    """Times of the same, by scales at which both kinds of chains are deep."""
    return tuple(Line(f"time of a bootstrapping for each level left, {name}, words of {word}: {kind}", "", per_level(word, scale, chain))
                 for word in words for name, scale, others in (("one word", round(word - 0.3, 1), "single"), ("2^50", 50, "double"))
                 for kind, chain in (("packed", "packed"), ("unpacked", others)))


def errors_of(operation: str) -> tuple[Line, ...]:
    def median(scale: int, word: int, chain: str) -> Recorded:
        return Recorded(RECORD, f"bitpacker.{operation}_error", {"log_scale": scale, "word": word, "chain": chain})

    packed = [Line(f"2^{scale}, packed: median", "", median(scale, 28, "packed")) for scale in range(30, 61, 5)]
    others = [Line(f"2^{scale}, two primes of its own: median", "", median(scale, 31, "double"))
              for scale in range(40, 61, 5)]
    return (*packed, *others)


ROWS = (
    Row("Table 1", "bits kept by five workloads, packed and not: mean and worst case", MEASURED,
        "On packed chains in words of 28 and of 30 bits, at the paper's scales: 2^35 for HELR and the SqueezeNet, 2^45 for the others. Unpacked chains "
        "have words of 64 bits in the paper. Ours are the sets of primes of 25 and 30 bits at these scales; pairs of primes at 2^35 and 2^45 do not exist in such "
        "words ([primes](lab/primes.md)). The unpacked networks on images ran on generated images, the packed ones on test sets. Of HELR ours are the weights "
        "after 32 iterations. The SqueezeNet has three fire modules. [Workloads](workloads.md#in-words-of-28-and-30-bits) has times, limbs and bytes.",
        ("./latticino bench workloads --device cuda --part words --record FILE", "./latticino bench workloads --device cuda --part unpacked --record FILE",
         "./latticino demo helr --scales 35 --repeat 5 --record FILE"),
        tuple(line for label, name, mean, worst, single in (
            ("LogReg", "helr", "11.7", "9", ("11.7", "9")), ("ResNet-20", "resnet20", "20.7", "18", ("20.8", "18")),
            ("RNN", "rnn", "23.3", "22", ("23.2", "22")), ("ResNet-20 with AESPA", "resnet20-aespa", "12.8", "8", ("13.8", "9")),
            ("SqueezeNet", "squeezenet", "15.4", "13", ("15.0", "13")))
              for line in (
                  *(each for word in (28, 30) for each in (
                      Line(f"{label}, words of {word}: mean", f"{mean} bits" if word == 28 else "", in_words(name, word)),
                      Line(f"{label}, words of {word}: worst", f"{worst} bits" if word == 28 else "", in_words(name, word, "measured_worst_bits")))),
                  Line(f"{label}, unpacked: mean", f"{single[0]} bits",
                       trained_at(35, "mean_error_bits", "bits") if name == "helr" else unpacked(name)),
                  Line(f"{label}, unpacked: worst", f"{single[1]} bits",
                       trained_at(35, "max_error_bits", "bits") if name == "helr" else unpacked(name, "measured_worst_bits"))))),
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
    Row("Fig. 11", "time of workloads in words of 28 bits, packed and not", PARTLY,
        ACCELERATOR + "Packed chains are 59 % faster in the mean. " + BY_COUNT + "Unpacked ones would need primes that the ring does not have. "
        + ON_GPU + "At its two scales the ring has primes for both.", (*COUNTS, *CHAINS_COMMAND), unpacked_over_packed(28) + unpacked_on_a_gpu((28,))),
    Row("Fig. 12", "energy of workloads in words of 28 bits, packed and not", HARDWARE, "Energy of an accelerator."),
    Row("Fig. 13", "time of workloads on a CPU in words of 64 bits, packed and not", PARTLY,
        "Packed chains are 24 % faster in the mean (one thread of a Threadripper PRO 3975WX). Residues here have at most 31 bits, so "
        "words of 64 are not offered. " + BY_COUNT, COUNTS, unpacked_over_packed(64)),
    Row("Fig. 14", "time of workloads in words of 28 to 64 bits, packed and not", PARTLY, ACCELERATOR + BY_COUNT + ON_GPU + "Words of 36 bits and more are not offered.",
        (*COUNTS, *CHAINS_COMMAND),
        tuple(Line(f"limbs of packed chains, {SCHEDULES[0]}, words of 28 against {word}", "",
                   Ratio(counted(SCHEDULES[0], 28, "packed"), counted(SCHEDULES[0], word, "packed")))
              for word in (36, 44, 52, 64))
        + tuple(Line(f"time of a bootstrapping for each level left, 2^{scale}, packed, words of {word}", "", per_level(word, scale, "packed"))
                for scale in (35, 45, 50) for word in (28, 29, 30, 31))),
    Row("Fig. 15", "how much slower unpacked chains are, by word", PARTLY,
        ACCELERATOR + "2.18 times at 64 bits, 1.59 at 28, in the mean. " + BY_COUNT + ON_GPU + "Words of 36 bits and more are not offered.",
        (*COUNTS, *CHAINS_COMMAND),
        tuple(line for word in (28, 36, 44, 52, 64) for line in unpacked_over_packed(word, SCHEDULES[:1]))
        + unpacked_on_a_gpu((28, 29, 30, 31))),
    Row("Fig. 16", "time and area by word", HARDWARE, "Area of an accelerator."),
    Row("Fig. 17", "time by size of the register file", HARDWARE, "The register file of an accelerator."),
    Row("Fig. 18", "errors of a rescaling at scales of 30 to 60 bits, a million samples each", MEASURED,
        "A picture of quartiles there, and [here](lab/primes.md#errors-of-divisions). Words of 64 bits are beside it there; here levels with "
        "one or two primes of their own below 2^31. There is no pair of these at 2^35.", ERRORS, errors_of("rescale")),
    Row("Fig. 19", "errors of an adjustment at scales of 30 to 60 bits, a million samples each", MEASURED,
        "As Fig. 18.", ERRORS, errors_of("adjust")),
)

PAPER = Paper(
    "bitpacker", "BitPacker",
    "N. Samardzic, D. Sanchez: BitPacker: Enabling High Arithmetic Efficiency in Fully Homomorphic Encryption Accelerators. "
    "ASPLOS 2024. doi:10.1145/3620665.3640397.",
    "A simulator of the accelerator CraterLake with words of 28 to 64 bits, and one thread of a CPU with words of 64. N = 2^16, "
    "moduli up to 1,596 bits, one to three digits, bootstrapping of 19 or 26 bits.",
    "Words of 32 bits, so that residues have at most 31. Packed sets are those with `w28` to `w30` in their names.",
    whole(1, 1), whole(1, 19), ROWS)
