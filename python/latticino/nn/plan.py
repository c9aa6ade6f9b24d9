"""The costs of running a network, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..ckks.plan import Plan
from ..common import display


@dataclass(frozen=True)
class LayerPlan:
    """What one layer of the user's model needs.

    - ``packing``: where the values of its result lie
    - ``level``, ``limbs``: the level at which it begins, and the number of primes there
    - ``bootstraps``: bootstrappings before or in it
    - ``diagonals``: of its linear maps
    - ``keys``: evaluation keys that no earlier layer uses
    - ``bytes``: of its weights, as they are kept
    - ``seconds``: predicted time, once the weights are encoded
    - ``bits``: expected precision of its result, relative to the largest value in the calibration
    """

    layer: str
    operations: str
    packing: str
    level: int
    limbs: int
    bootstraps: int
    diagonals: int
    keys: int
    bytes: int
    seconds: float
    bits: float


@dataclass(frozen=True)
class NetworkPlan:
    """What a network needs to run encrypted. ``print`` it for a table.

    - ``layers``: a `LayerPlan` per layer
    - ``program``: keys, memory and predicted time of the whole run, as `Context.plan` gives them
    - ``light``: nodes of the lowered graph whose weights are kept as integers, which every run expands on the device,
      because there is not enough memory for all of them encoded
    - ``preset``, ``device``: what the plan is for
    - ``images``: inputs per run
    - ``halves``: whether imaginary parts of slots hold half of these inputs
    - ``level``: at which inputs are encrypted
    - ``bits``: expected precision of the result, relative to its largest value in the calibration
    - ``gap``: of a network that ends with a comparison, the smallest distance of two scores, or of a value and its
      threshold, that it always tells apart; 0 for other networks
    - ``notes``: what was chosen, and why
    """

    layers: tuple[LayerPlan, ...]
    program: Plan
    preset: str
    device: str
    images: int
    level: int
    bits: float
    notes: tuple[str, ...] = ()
    light: tuple[int, ...] = ()
    halves: bool = False
    gap: float = 0.0

    @property
    def seconds(self) -> float:
        """Predicted time of a run after the first one, which finds the weights encoded."""
        return self.program.prepared_seconds

    @property
    def first_seconds(self) -> float:
        """Predicted time of the device in the first run, which encodes the weights. What the host does before, such as
        arranging the weights, is not predicted."""
        return self.program.seconds

    @property
    def bootstraps(self) -> int:
        return self.program.bootstraps

    @property
    def key_bytes(self) -> int:
        return self.program.key_bytes

    @property
    def peak_bytes(self) -> int:
        """Device memory at the worst moment, keys and weights included, once the run is recorded."""
        return self.program.recorded_peak_bytes

    @property
    def weight_bytes(self) -> int:
        """Weights of all layers, as they are kept."""
        return sum(layer.bytes for layer in self.layers)

    @property
    def expansions(self) -> int:
        """How many maps expand their weights in a run."""
        return len(self.light)

    def _facts(self) -> list[tuple[str, str]]:
        each = f", {display.seconds(self.seconds / self.images)} each" if self.images > 1 else ""
        p = self.program
        return [
            ("preset", f"{self.preset}, for {self.device}"),
            ("input", f"{self.images} a run{', half of them in imaginary parts' * self.halves}, encrypted at level "
                      f"{self.level}"),
            ("evaluation keys", f"{len(p.keys)}, {display.size(p.key_bytes)}"),
            ("weights", display.size(p.constant_bytes)),
            ("peak memory", display.size(self.peak_bytes)),
            ("bootstrappings", f"{p.bootstraps}"),
            ("predicted time", display.seconds(self.seconds) + each),
            ("and for encoding", f"{display.seconds(self.first_seconds - self.seconds)} in the first run"),
            ("expected precision", f"{self.bits:.1f} bits of the largest result"),
            *([("tells apart", f"values that differ by {self.gap:.3g} or more")] if self.gap else []),
        ]

    def _rows(self) -> list[tuple[str, ...]]:
        return [(r.layer, r.operations, r.packing, str(r.level), str(r.limbs), str(r.bootstraps or ""),
                 f"{r.diagonals:,}" if r.diagonals else "", str(r.keys or ""), display.size(r.bytes) if r.bytes else "",
                 display.seconds(r.seconds), f"{r.bits:.1f}") for r in self.layers]

    def __repr__(self) -> str:
        return "\n".join([*_aligned([_COLUMNS, *self._rows()]), "",
                          *(f"{name:<20}{value}" for name, value in self._facts()), *self.notes])

    def _repr_html_(self) -> str:
        title = f"Plan of a network: {display.seconds(self.seconds)} on {self.device}"
        return (display.table(title, _COLUMNS, self._rows(), words=_LEFT)
                + display.facts("In all", self._facts(), self.notes))


_COLUMNS = ("layer", "operations", "packing", "level", "limbs", "boots", "diagonals", "new keys", "weights", "time",
            "bits")
_LEFT = 3  # the first columns contain text, and are aligned on the left


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(text.ljust(w) if i < _LEFT else text.rjust(w)
                      for i, (text, w) in enumerate(zip(row, widths))).rstrip() for row in rows]
