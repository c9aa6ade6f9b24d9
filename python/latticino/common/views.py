"""Tables that notebooks show for the library's objects. They contain nothing secret."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .. import _native
from . import display

if TYPE_CHECKING:
    from .. import tfhe
    from ..ckks.ciphertext import Ciphertext
    from ..ckks.client import Client, ServerKeys
    from ..ckks.context import Context
    from ..ckks.plan import Plan
    from ..programs.program import Program

_BASIS = {"assumed": "assumed: values in the unit box", "declared": "declared range, at least",
          "calibrated": "calibrated on sample data"}
_KEYS = {"relinearize": "products", "galois": "rotations and conjugation"}


def ciphertext(x: Ciphertext) -> str:
    mean, worst = x.expected_bits, x.expected_worst_bits
    bits = f"{mean:.1f} bits, worst value {worst:.1f}" if math.isfinite(mean) else "exact"
    params = x.context.params
    rows: list[tuple[str, Any]] = [
        ("shape", x.shape), ("level", f"{x.level} of {params.default_level}"), ("scale", f"2^{math.log2(x.scale):.2f}"),
        ("slots", x.slots), ("expected precision", bits), ("which is", _BASIS[x._known.kind]),
        ("values", x._known.range), ("device memory", display.size(x.nbytes)), ("ciphertexts", len(x._held)),
        ("parameters", params.name)]
    notes = [] if x.context.encrypted else ["NOT ENCRYPTED: values in the clear, for debugging"]
    return display.facts("Ciphertext", rows, notes)


def _tenancy(c: Any) -> list[tuple[str, Any]]:
    """The rows of a table on the keys in use, for contexts of both schemes."""
    rows: list[tuple[str, Any]] = [
        ("keys", "none in use" if c.keys is None else f"{display.size(c.keys.bytes)}, of key {c.keys.id}")]
    if c.encrypted:
        resident = c.resident
        budget = "no limit" if resident.budget is None else display.size(resident.budget)
        stored = f"{display.size(resident.bytes)} of {len(resident.bundles)} bundles ({budget})"
        rows += [("keys on the device", stored),
                 ("device memory", f"{display.size(c.live_bytes)}, at most {display.size(c.peak_bytes)}")]
    return rows


def _not_encrypted(c: Any) -> list[str]:
    return [] if c.encrypted else ["NOT ENCRYPTED: values in the clear, for debugging"]


def context(c: Context, title: str = "Context") -> str:
    p = c.params
    return display.facts(title, [
        ("parameters", p.name), ("security", _security(p)), ("device", c.device), ("slots", c.slots),
        ("levels", _levels(p)), ("scale", f"2^{p.log_scale:g}"),
        ("bootstraps by itself", "yes" if c.auto_bootstrap else "no"), ("bootstrappings so far", c.bootstraps),
        *_tenancy(c)], _not_encrypted(c))


def tfhe_context(c: tfhe.Context, title: str = "TFHE context") -> str:
    p = c.params
    return display.facts(title, [
        ("parameters", p.name), ("security", _security(p)), ("device", c.device), ("values", _block(p)),
        ("a bootstrapping fails with", f"2^{p.log_failure:.1f}"), ("arithmetic", c.arithmetic + c._by_number),
        ("re-randomises inputs", "yes" if c.rerandomizes else "no"), *_tenancy(c)], _not_encrypted(c))


def client(c: Client | tfhe.Client) -> str:
    return display.facts("Client", [
        ("parameters", c.context.params.name), ("device", c.context.device), ("key", c.key_id)],
        ["Holds the secret key: never send it. lt.save_secret_key writes it for its owner."])


def server_keys(k: ServerKeys) -> str:
    """A table of the keys by kind, because there may be hundreds of rotations."""
    kinds: dict[str, int] = {}
    for label in k.labels:
        kind = _KEYS.get(repr(label).partition("(")[0], "bootstrapping")
        kinds[kind] = kinds.get(kind, 0) + 1
    return display.facts("Server keys", [
        ("parameters", k._context.params.name), ("of key", k.id), ("memory", display.size(k.bytes)),
        ("evaluation keys", len(k.labels)), *((f"for {kind}", count) for kind, count in kinds.items()),
        ("public key", "yes" if k._public else "no"), ("switching", ", ".join(k.switching) or "no")],
        ["Public: a server computes with them and cannot decrypt."])


def tfhe_server_keys(k: tfhe.ServerKeys) -> str:
    return display.facts("Server keys of TFHE", [
        ("parameters", k._context.params.name), ("of key", k.id), ("memory", display.size(k.bytes)),
        ("public key", "yes" if k.has_public_key else "no")],
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


def tfhe_plan(p: tfhe.Plan) -> str:
    return display.facts("Plan of TFHE", [
        ("parameters", p.params_name), ("arithmetic", p.arithmetic), ("server keys", display.size(p.key_bytes)),
        ("inputs", display.size(p.input_bytes)), ("peak memory", display.size(p.peak_bytes)),
        ("bootstrappings", f"{p.bootstrappings:,} in {p.rounds:,} rounds"),
        ("any of them fails", f"2^{p.log_failure:.1f}"), ("predicted time", display.seconds(p.seconds))])


def program(p: Program) -> str:
    name = getattr(p._function, "__qualname__", type(p._function).__name__)
    rows: list[tuple[str, Any]] = [("function", name)]
    recording = p._recording
    if recording is None:
        return display.facts("Program", rows, ["Not recorded yet: the first call does."])
    forms = getattr(recording, "_forms", None)
    if forms is not None:
        rows += [(f"argument {i}", f"shape {form[0]}") for i, form in enumerate(forms)]
    return display.facts("Program", [*rows, ("memory of its own", display.size(p.arena_bytes))])


def array(x: tfhe.EncryptedArray) -> str:
    """The table of an encrypted array of TFHE."""
    if not x.context.encrypted:
        return display.facts("Values in the clear", [("shape", x.shape), ("type", x.dtype)], _not_encrypted(x.context))
    noise = max(p.norm2 for p in x._parts) ** 0.5
    return display.facts("Encrypted array", [
        ("shape", x.shape), ("type", x.dtype), ("blocks per value", len(x._parts)), ("results", "exact"),
        ("noise", f"{noise:.3g} times that of a bootstrapping"),
        ("the next bootstrapping fails with", f"2^{x.log_failure:.1f}"), ("device memory", display.size(x.nbytes)),
        ("parameters", x.context.params.name)])


def params(p: _native.Params) -> str:
    bits = ""
    if p.has_bootstrap:
        mean, worst = p.bootstrap_precision["random"]
        bits = f"{mean:.1f} bits, worst value {worst:.1f} (values like random numbers)"
    return display.facts(f"Parameters {p.name}", [
        ("security", _security(p)), ("ring degree N", p.n), ("slots", p.max_slots), ("levels", _levels(p)),
        ("scale", f"2^{p.log_scale:g}"), ("modulus of a key", f"{p.log_pq:.0f} bits"),
        ("a fresh ciphertext", display.size(8 * p.n * p.limbs(p.default_level))),
        ("one evaluation key", display.size(p.switching_key_bytes)),
        *([("bootstrapping keeps", bits)] if bits else [])])


def tfhe_params(p: _native.TfheParams) -> str:
    return display.facts(f"Parameters {p.name}", [
        ("security", _security(p)), ("values", _block(p)), ("LWE dimension", p.lwe_dimension),
        ("GLWE dimension and degree", f"{p.glwe_dimension}, {p.n}"),
        ("a bootstrapping fails with", f"2^{p.log_failure:.1f}"),
        ("bootstrapping key", display.size(p.bootstrap_key_bytes)),
        ("key-switching key", display.size(p.key_switch_key_bytes)),
        ("FP64 arithmetic", "yes" if p.has_fft64 else "no")])


class PresetNames(list[str]):
    """The names of presets; notebooks show a table of them."""

    def _repr_html_(self) -> str:
        rows: list[tuple[Any, ...]] = []
        for name in self:
            if name in _native.tfhe_preset_names():
                t = _native.tfhe_preset(name)
                rows.append((name, _block(t), t.n, f"2^{t.log_failure:.0f}", _security(t)))
            else:
                p = _native.preset(name)
                rows.append((name, p.max_slots, _levels(p), f"2^{p.log_scale:g}", _security(p)))
        of_tfhe = bool(self) and self[0] in _native.tfhe_preset_names()
        columns = (("preset", "values", "N", "fails with", "security") if of_tfhe
                   else ("preset", "slots", "levels", "scale", "security"))
        return display.table("Presets", columns, rows)


def _levels(p: _native.Params) -> str:
    after = f", {p.level_after_bootstrap} after bootstrapping" if p.has_bootstrap else ""
    return f"{p.default_level}{after}"


def _block(p: _native.TfheParams) -> str:
    return "booleans" if p.booleans else f"integers in blocks of {p.message_bits} bits, and booleans"


def _security(p: Any) -> str:
    return "128 bits" if p.secure else "NOT held to 128 bits"


# Classes of the extension, which know nothing of notebooks.
_native.Params._repr_html_ = params  # type: ignore[attr-defined]
_native.TfheParams._repr_html_ = tfhe_params  # type: ignore[attr-defined]
