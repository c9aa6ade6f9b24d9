"""Tables that notebooks show for objects of CKKS. They contain nothing secret."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..claims.precision import in_words
from ..common import display, views

if TYPE_CHECKING:
    from .ciphertext import Ciphertext
    from .client import ServerKeys
    from .context import Context
    from .plan import Plan

_BASIS = {"assumed": "assumed: values in the unit box", "declared": "declared range, at least",
          "calibrated": "calibrated on sample data"}
_KEYS = {"relinearize": "products", "galois": "rotations and conjugation"}


def ciphertext(x: Ciphertext) -> str:
    mean, worst = x.expected_bits, x.expected_worst_bits
    bits = in_words(mean, f"{mean:.1f} bits, worst value {worst:.1f}")
    params = x.context.params
    rows: list[tuple[str, Any]] = [
        ("shape", x.shape), ("level", f"{x.level} of {params.default_level}"), ("scale", f"2^{math.log2(x.scale):.2f}"),
        ("slots", x.slots), ("expected precision", bits), ("which is", _BASIS[x._known.kind]),
        ("values", x._known.range), ("device memory", display.size(x.nbytes)), ("ciphertexts", len(x._held)),
        ("parameters", params.name)]
    notes = [] if x.context.encrypted else ["NOT ENCRYPTED: values in the clear, for debugging"]
    return display.facts("Ciphertext", rows, notes)


def context(c: Context, title: str = "Context") -> str:
    p = c.params
    return display.facts(title, [
        ("parameters", p.name), ("security", views.security(p)), ("device", c.device), ("slots", c.slots),
        ("levels", views.levels(p)), ("scale", f"2^{p.log_scale:g}"),
        ("bootstraps by itself", "yes" if c.auto_bootstrap else "no"), ("bootstrappings so far", c.bootstraps),
        *views.tenancy(c)], views.not_encrypted(c))


def server_keys(k: ServerKeys) -> str:
    """A table of the number of keys of each kind, because there may be hundreds of rotations."""
    kinds: dict[str, int] = {}
    for label in k.labels:
        kind = _KEYS.get(repr(label).partition("[")[0].partition("(")[0], "bootstrapping")
        kinds[kind] = kinds.get(kind, 0) + 1
    return display.facts("Server keys", [
        ("parameters", k._context.params.name), ("of key", k.id), ("memory", display.size(k.bytes)),
        ("evaluation keys", len(k.labels)), *((f"for {kind}", count) for kind, count in kinds.items()),
        ("public key", "yes" if k._public else "no"), ("switching", ", ".join(k.switching) or "no")],
        ["Public: a server computes with them and cannot decrypt."])


def plan(p: Plan) -> str:
    rows: list[tuple[str, Any]] = [
        ("evaluation keys", f"{len(p.keys)}, {display.size(p.key_bytes)}"),
        ("encoded matrices", display.size(p.constant_bytes)), ("peak memory", display.size(p.peak_bytes)),
        ("result levels", ", ".join(map(str, p.levels))),
        *(("expected precision", f"{mean:.1f} bits, worst value {worst:.1f} ({_BASIS[kind]})")
          for mean, worst, kind in p.bits),
        ("bootstrappings", p.bootstraps), *([("table lookups", p.lookups)] if p.lookups else []),
        ("data moved", display.size(p.bytes_moved)), ("predicted time", display.seconds(p.seconds)),
        ("once constants are encoded", display.seconds(p.prepared_seconds)),
        *((f"tables of {slots} slots", f"back by route {way.route}") for (_, slots, _), way in p.repack_routes.items())]
    return display.facts("Plan", rows, p.notes)
