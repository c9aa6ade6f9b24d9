"""Lines of figures from hardware counters of the GPU (`./latticino bench counters`)."""

from .ours import COUNTED_BOOT, COUNTED_FORMS, COUNTED_PASSES
from .rows import Line, Mean, Recorded, Several, Sum

COMMAND = "./latticino bench counters --part {} --record FILE"
PASSES = {"intt_rows": "rows of the input", "mod_up": "conversion up", "key_inner": "products with keys",
          "mod_switch_tile": "conversion down", "subtract_scale": "last step"}
BATCHES = (1, 4, 16)
NETWORK, DRAM = ("to_sm_bytes", "from_sm_bytes"), ("dram_read", "dram_write")
# Counters of the profiler for the parts of a bootstrapping that Theodosian's paper examines.
BUSY = {"alu_percent": "ALU", "multiply_percent": "FMA", "from_sm_percent": "network from the multiprocessors to the L2",
        "to_sm_percent": "network from the L2 to the multiprocessors", "l2_percent": "L2"}
CLASSES = ("transforms", "conversions", "products with keys", "last steps", "automorphisms", "element-wise")
FORMS = (("BASE-NTT", 0), ("BD-NTT-2", 0), ("BD-NTT-3", 0), ("TA-NTT-2", 0), ("TA-NTT-3", 0), ("OSSP-PCS-BD-NTT-2", 64),
         ("OSSP-PCS-TA-NTT-2", 64), ("ours", 0))
DIVERGENT = {"BASE-NTT": "11.13 branches", "BD-NTT-2": "27.83 branches", "BD-NTT-3": "51.48 branches"}  # what the paper's text has
REASONS = {"barrier": "at barriers", "long_scoreboard": "for global memory", "wait": "a fixed time",
           "branch_resolving": "for branches"}


def one(name: str, limbs: int, batch: int, member: str, unit: str = "%", factor: float = 1.0, operands: str = "cold") -> Recorded:
    where = {"pass": name, "limbs": limbs, "batch": batch, "operands": operands}
    return Recorded(COUNTED_PASSES, "counters.pass", where, member, unit, factor)


def by_batch(name: str, limbs: int, member: str, operands: str = "cold") -> Several:
    """A share for batches of 1, 4 and 16."""
    return Several(tuple(Mean((one(name, limbs, batch, member, operands=operands),)) for batch in BATCHES))


def busy_parts() -> tuple[Line, ...]:
    """Theodosian's Fig. 2a."""
    return tuple(Line(f"{label}: {part}", "in the picture", by_batch(name, 47, member))
                 for name, label in PASSES.items() for member, part in BUSY.items())


def by_batches() -> tuple[Line, ...]:
    """Theodosian's Fig. 4, and whole rotations whose operands are cold or warm."""
    shown = {"intt_rows": "rows of the input", "mod_up": "conversion up", "subtract_scale": "last step"}
    parts = {"from_sm_percent": "network to the L2", "multiply_percent": "FMA"}
    lines = []
    for limbs in (23, 47):
        for name, label in shown.items():
            lines += [Line(f"{label}, {limbs} limbs: {part}", "in the picture", by_batch(name, limbs, member))
                      for member, part in parts.items()]
            moved = Several(tuple(_dram(name, limbs, batch) for batch in BATCHES))
            lines.append(Line(f"{label}, {limbs} limbs: DRAM, for each rotation", "in the picture", moved))
        for operands in ("cold", "warm"):
            lines += [Line(f"a rotation, {limbs} limbs, {operands} operands: {part}", "", by_batch("rotation", limbs, member, operands=operands))
                      for member, part in (("issue_percent", "issue slots"), ("dram_percent", "DRAM"))]
    return tuple(lines)


def _dram(name: str, limbs: int, batch: int) -> Sum:
    return Sum(tuple(one(name, limbs, batch, member, "MB", 1e-6 / batch) for member in ("dram_read", "dram_write")))


def stages() -> tuple[Line, ...]:
    """Theodosian's Fig. 6."""
    passes = {"stage 1, conversion up": ("intt_rows", "mod_up"), "stage 2, products with keys": ("key_inner",),
              "stage 3, conversion down": ("mod_switch_tile", "subtract_scale")}
    parts = {"dram_percent": "DRAM", "l2_percent": "L2", "from_sm_percent": "network to the L2", "to_sm_percent": "network from the L2"}
    return tuple(Line(f"{label}: {part}", "in the picture", Mean(tuple(one(name, 47, 1, member) for name in names)))
                 for label, names in passes.items() for member, part in parts.items())


def through_l2() -> tuple[Line, ...]:
    """Theodosian's Table III, counted: what passes between multiprocessors and L2."""
    stages = (("intt_rows", "mod_up"), ("key_inner",), ("mod_switch_tile", "subtract_scale"))
    return tuple(Line(f"{limbs} limbs, stage {i}: between multiprocessors and L2", "",
                      Sum(tuple(one(name, limbs, 1, member, "MB", 1e-6) for name in names for member in NETWORK)))
                 for limbs in (47, 23) for i, names in enumerate(stages, 1))


def of_bootstrapping(name: str, members: tuple[str, ...], newer: int = 0, unit: str = "GB", factor: float = 1e-9) -> Sum:
    where = {"class": name, "slot_to_coeff_first": newer, "over_mod_raise": newer}
    return Sum(tuple(Recorded(COUNTED_BOOT, "counters.bootstrap", where, member, unit, factor) for member in members))



def roofline() -> tuple[Line, ...]:
    """Theodosian's Fig. 3."""
    lines = [Line("between multiprocessors and L2", "53 GB", of_bootstrapping("all", NETWORK)),
             Line("the same, newer algorithms", "44 GB", of_bootstrapping("all", NETWORK, 1)),
             Line("DRAM", "in the picture", of_bootstrapping("all", DRAM)),
             Line("the same, newer algorithms", "in the picture", of_bootstrapping("all", DRAM, 1))]
    for name in CLASSES:
        lines += [Line(f"{name}: between multiprocessors and L2", "in the picture", of_bootstrapping(name, NETWORK)),
                  Line(f"{name}: DRAM", "in the picture", of_bootstrapping(name, DRAM)),
                  Line(f"{name}: multiplications", "in the picture",
                       of_bootstrapping(name, ("multiply_instructions",), unit="G", factor=32e-9)),
                  Line(f"{name}: time", "in the picture", of_bootstrapping(name, ("us",), unit="ms", factor=1e-3))]
    return tuple(lines)


def waits() -> tuple[Line, ...]:
    """Chameleon's Fig. 12."""
    def way(log_n: int, form: str, chunks: int, member: str, unit: str = "cycles") -> Recorded:
        where = {"N": 2**log_n, "form": form, "sync": "none" if form == "ours" else "local", "chunks": chunks}
        return Recorded(COUNTED_FORMS, "counters.form", where, member, unit)

    shown = {"value": "all", **{f"stalled_{reason}": why for reason, why in REASONS.items()}}
    waiting = tuple(Line(f"{form}: {what}", "" if form == "ours" else "in the picture",
                         Several(tuple(way(log_n, form, chunks, member) for log_n in (13, 16))))
                    for form, chunks in FORMS for member, what in shown.items())
    return waiting + tuple(Line(f"{form}, N = 2^16: divergent branches", theirs, way(16, form, 0, "divergent_branches", "branches"))
                           for form, theirs in DIVERGENT.items())
