"""Tables that notebooks show for objects of either scheme, and rows of them. They contain nothing secret."""

from __future__ import annotations

from typing import Any

from .. import _native
from . import display


def tenancy(c: Any) -> list[tuple[str, Any]]:
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


def not_encrypted(c: Any) -> list[str]:
    return [] if c.encrypted else ["NOT ENCRYPTED: values in the clear, for debugging"]


def client(c: Any) -> str:
    """The table of a client of either scheme."""
    return display.facts("Client", [
        ("parameters", c.context.params.name), ("device", c.context.device), ("key", c.key_id)],
        ["Holds the secret key: never send it. lt.save_secret_key writes it for its owner."])


def params(p: _native.Params) -> str:
    bits = ""
    if p.has_bootstrap:
        mean, worst = p.bootstrap_precision["random"]
        bits = f"{mean:.1f} bits, worst value {worst:.1f} (values like random numbers)"
    return display.facts(f"Parameters {p.name}", [
        ("security", security(p)), ("ring degree N", p.n), ("slots", p.max_slots), ("levels", levels(p)),
        ("scale", f"2^{p.log_scale:g}"), ("modulus of a key", f"{p.log_pq:.0f} bits"),
        ("a fresh ciphertext", display.size(8 * p.n * p.limbs(p.default_level))),
        ("one evaluation key", display.size(p.switching_key_bytes)),
        *([("bootstrapping keeps", bits)] if bits else [])])


def tfhe_params(p: _native.TfheParams) -> str:
    return display.facts(f"Parameters {p.name}", [
        ("security", security(p)), ("values", block(p)), ("LWE dimension", p.lwe_dimension),
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
                rows.append((name, block(t), t.n, f"2^{t.log_failure:.0f}", security(t)))
            else:
                p = _native.preset(name)
                rows.append((name, p.max_slots, levels(p), f"2^{p.log_scale:g}", security(p)))
        of_tfhe = bool(self) and self[0] in _native.tfhe_preset_names()
        columns = (("preset", "values", "N", "fails with", "security") if of_tfhe
                   else ("preset", "slots", "levels", "scale", "security"))
        return display.table("Presets", columns, rows)


def levels(p: _native.Params) -> str:
    after = f", {p.level_after_bootstrap} after bootstrapping" if p.has_bootstrap else ""
    return f"{p.default_level}{after}"


def block(p: _native.TfheParams) -> str:
    return "booleans" if p.booleans else f"integers in blocks of {p.message_bits} bits, and booleans"


def security(p: Any) -> str:
    return "128 bits" if p.secure else "NOT held to 128 bits"


# Classes of the extension, which have no code for notebooks.
_native.Params._repr_html_ = params  # type: ignore[attr-defined]
_native.TfheParams._repr_html_ = tfhe_params  # type: ignore[attr-defined]
