"""Our figures, and those of other people's code on the same card, that several papers need."""

from .rows import Cited, Ratio, Recorded

BOOT = "2026-11-23-h200-bootstrap"
OPERATIONS = "2026-11-23-h200-operations"
ABLATION = "2026-11-28-h200-ablation"
GROWTH = "2026-11-28-h200-growth-12"  # at the limbs of a paper
SHAPES = "2026-11-28-h200-shapes"
ROOFLINE = "2026-11-28-h200-roofline-shapes"
COUNTED_FORMS = "2026-11-28-h200-counters-forms-later"
COUNTED_PASSES = "2026-11-28-h200-counters-rotations"
COUNTED_BOOT = "2026-11-28-h200-counters-bootstrap"
TRANSFORMS = "2026-11-23-h200-transforms"
GATES = "2026-11-23-h200-gates"
GATES_EXACT = "2026-11-23-h200-gates-exact"
SWITCH = "2026-11-23-h200-switch"
REPACKING = "2026-11-26-xeon-repacking"
HELR = "2026-11-27-h200-helr"
RNN = "2026-11-28-h200-rnn-pairs"
SORT = "2026-11-27-h200-sort"
SYSTEMS = "2026-11-28-h200-systems"
SCALES = "2026-11-28-h200-helr-scales"
SEPARATE = "2026-11-28-h200-helr-separate"
STAGES = "2026-11-28-cpu-key-switch-stages"
TILES = "2026-11-28-h200-tiles"
PIPELINING = "2026-11-28-h200-pipelining"
AT_SCALES = "2026-11-28-h200-scales"
WORDS = "2026-11-28-h200-words"
SORTS = "2026-11-28-h200-sorts"
FORMS = "2026-11-27-h200-forms"
TWIDDLES = "2026-11-27-h200-twiddles"
CHAINS = "2026-11-28-h200-bitpacker"
CHAINS_LATER = "2026-11-28-h200-bitpacker-later"  # packed ones in words of 29 and 31 bits
UNPACKED = "2026-11-29-h200-unpacked"
NEWER = "2026-11-28-h200-theodosian-newer"
LAUNCHED = "Cheddar 1.0, measured 2026-11, in one run with its graphs"
AS_GRAPH = "Cheddar 1.0, measured 2026-11, captured into a CUDA graph"
D40 = "n16-d40-boot-v1"
N16 = 65536


def bootstrapping(preset: str = D40, member: str = "value", unit: str = "", factor: float = 1.0,
                  **options: int) -> Recorded:
    where = {"preset": preset, "slots": 32768, "minimal_keys": 0, "slot_to_coeff_first": 0, "over_mod_raise": 0}
    return Recorded(BOOT, "ckks.bootstrap", where | options, member, unit, factor)


def operation(name: str, limbs: int) -> Recorded:
    return Recorded(OPERATIONS, f"ckks.{name}", {"limbs": limbs, "batch": 1})


def ablated(name: str, step: str, limbs: int = 47) -> Recorded:
    return Recorded(ABLATION, f"ablation.{name}", {"step": step, "limbs": limbs})


def gained(name: str, above: str, below: str, limbs: int = 47) -> Ratio:
    """How much the steps of the ablation after one, up to another, gain together."""
    return Ratio(ablated(name, above, limbs), ablated(name, below, limbs))


def training(member: str = "value", unit: str = "", factor: float = 1.0) -> Recorded:
    return Recorded(HELR, "helr.iteration", {"mode": "immediate"}, member, unit, factor)


def made_twiddles(limbs: int, name: str = "poly.ntt") -> Ratio:
    """The gain of a transform whose rows make their twiddles."""
    where = {"limbs": limbs, "polynomials": 1, "form": 0}
    return Ratio(*(Recorded(TWIDDLES, name, where | {"twiddles": how}) for how in ("loaded", "made")))


def trained_at(scale: int, member: str = "value", unit: str = "", factor: float = 1.0) -> Recorded:
    preset = "n16-d48-dr-boot-v1" if scale == 48 else f"n16-d{scale}-boot-v1"
    return Recorded(SCALES, "helr.iteration", {"preset": preset}, member, unit, factor)


def of_set(preset: str, member: str = "value", unit: str = "") -> Recorded:
    """A bootstrapping with the set, in the one run that has all sets."""
    return Recorded(SYSTEMS, "ckks.bootstrap", {"preset": preset}, member, unit)


def sorted_at(scale: int, member: str = "value", unit: str = "", factor: float = 1.0) -> Recorded:
    return Recorded(AT_SCALES, "sort.run", {"log_scale": scale}, member, unit, factor)


def sorted_finely(scale: int, member: str = "value", unit: str = "") -> Recorded:
    """A sort of as many bits as the scale allows."""
    preset = "n16-d48-dr-boot-v1" if scale == 48 else f"n16-d{scale}-boot-v1"
    return Recorded(SORTS, "sort.run", {"preset": preset}, member, unit)


def residual_at(scale: int, member: str = "measured", unit: str = "ms", factor: float = 1.0) -> Recorded:
    """ResNet-20 at a scale: 20 encrypted images one after the other, and `shadow` on 1,000 images."""
    return Recorded(AT_SCALES, "resnet20.accuracy", {"log_scale": scale}, member, unit, factor)


def in_words(workload: str, word: int, member: str = "measured_bits", unit: str = "bits") -> Recorded:
    return Recorded(WORDS, "workload.plan", {"workload": workload, "word": word}, member, unit)


def unpacked(workload: str, member: str = "measured_bits") -> Recorded:
    return Recorded(UNPACKED, "workload.plan", {"workload": workload}, member, "bits")


def of_shape(name: str, limbs: int, member: str = "value", unit: str = "", factor: float = 1.0) -> Recorded:
    """A record of operations at a number of limbs that a paper has."""
    return Recorded(SHAPES, name, {"limbs": limbs}, member, unit, factor)


def counted_work(name: str, limbs: int, member: str = "instructions", unit: str = "G", factor: float = 1e-9) -> Recorded:
    """The same, and the least work that formulas give."""
    return Recorded(ROOFLINE, f"roofline.{name}", {"limbs": limbs}, member, unit, factor)


def sorting(member: str = "value", unit: str = "", factor: float = 1.0) -> Recorded:
    return Recorded(SORT, "sort.run", {"values": 16384}, member, unit, factor)


def recurrent(member: str = "value", unit: str = "", factor: float = 1.0) -> Recorded:
    return Recorded(RNN, "rnn.run", {"batch": 32}, member, unit, factor)


def of_cheddar(name: str, **where: object) -> tuple[tuple[str, Cited], ...]:
    """Figures of Cheddar's own code on an H200, in one run: each kernel launched by itself, and the same as one graph."""
    return (("its code", Cited(LAUNCHED, name, where)), ("its code as a graph", Cited(AS_GRAPH, name, where)))
