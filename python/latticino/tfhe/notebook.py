"""Tables that notebooks show for objects of TFHE. They contain nothing secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common import display, views

if TYPE_CHECKING:
    from .array import EncryptedArray
    from .client import ServerKeys
    from .context import Context
    from .plan import Plan


def context(c: Context, title: str = "TFHE context") -> str:
    p = c.params
    return display.facts(title, [
        ("parameters", p.name), ("security", views.security(p)), ("device", c.device), ("values", views.block(p)),
        ("a bootstrapping fails with", f"2^{p.log_failure:.1f}"), ("arithmetic", c.arithmetic + c._by_number),
        ("re-randomises inputs", "yes" if c.rerandomizes else "no"), *views.tenancy(c)], views.not_encrypted(c))


def server_keys(k: ServerKeys) -> str:
    return display.facts("Server keys of TFHE", [
        ("parameters", k._context.params.name), ("of key", k.id), ("memory", display.size(k.bytes)),
        ("public key", "yes" if k.has_public_key else "no")],
        ["Public: a server computes with them and cannot decrypt."])


def plan(p: Plan) -> str:
    return display.facts("Plan of TFHE", [
        ("parameters", p.params_name), ("arithmetic", p.arithmetic), ("server keys", display.size(p.key_bytes)),
        ("inputs", display.size(p.input_bytes)), ("peak memory", display.size(p.peak_bytes)),
        ("bootstrappings", f"{p.bootstrappings:,} in {p.rounds:,} rounds"),
        ("any of them fails", f"2^{p.log_failure:.1f}"), ("predicted time", display.seconds(p.seconds))])


def array(x: EncryptedArray) -> str:
    """The table of an encrypted array of TFHE."""
    if not x.context.encrypted:
        return display.facts("Values in the clear", [("shape", x.shape), ("type", x.dtype)],
                             views.not_encrypted(x.context))
    noise = max(p.norm2 for p in x._parts) ** 0.5
    return display.facts("Encrypted array", [
        ("shape", x.shape), ("type", x.dtype), ("blocks per value", len(x._parts)), ("results", "exact"),
        ("noise", f"{noise:.3g} times that of a bootstrapping"),
        ("the next bootstrapping fails with", f"2^{x.log_failure:.1f}"), ("device memory", display.size(x.nbytes)),
        ("parameters", x.context.params.name)])
