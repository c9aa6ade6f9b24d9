"""Signatures of files: Ed25519 from the package `cryptography`, which is imported where one is asked for and not
before.

What is signed, and where it lies in a file, is in src/io/signature.h. Keys are those of
``cryptography.hazmat.primitives.asymmetric.ed25519``, or their 32 raw bytes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from .. import errors
from ..common import roles

# message -> (public key, signature)
Signer = Callable[[bytes], tuple[bytes, bytes]]
# (message, public key and signature of the file, if it has them); raises unless the file may be trusted
Verifier = Callable[[bytes, "bytes | None", "bytes | None"], None]

_RAW = (bytes, bytearray, memoryview)


def signer(operation: str, key: Any) -> Signer | None:
    """A function that signs with an Ed25519 private key; None without a key.

    UnsupportedError for another kind of key, or without the package `cryptography`; ValueError for raw bytes that are
    no key.
    """
    if key is None:
        return None
    ed25519 = _ed25519(operation)
    if isinstance(key, _RAW):
        key = _from_raw(operation, ed25519.Ed25519PrivateKey.from_private_bytes, key)
    roles.require_kind(operation, key, ed25519.Ed25519PrivateKey, "Ed25519PrivateKey.generate() makes one")
    public = key.public_key().public_bytes_raw()
    return lambda message: (public, key.sign(message))


def verifier(operation: str, key: Any) -> Verifier | None:
    """A function that accepts files signed under an Ed25519 public key, and raises FileError for all others. It is None
    without a key. It raises the errors of `signer` for other keys."""
    if key is None:
        return None
    ed25519 = _ed25519(operation)
    invalid = importlib.import_module("cryptography.exceptions").InvalidSignature
    if isinstance(key, _RAW):
        key = _from_raw(operation, ed25519.Ed25519PublicKey.from_public_bytes, key)
    roles.require_kind(operation, key, ed25519.Ed25519PublicKey, "private_key.public_key() gives one")
    wanted = key.public_bytes_raw()
    needs = f"a file signed with the key {wanted.hex()[:16]}"

    def verify(message: bytes, public: bytes | None, signature: bytes | None) -> None:
        if signature is None or public is None:
            raise errors.FileError.explain(operation, "a file without a signature", needs,
                                           "ask its sender for a signed one")
        if public != wanted:
            raise errors.FileError.explain(operation, f"a file that names the key {public.hex()[:16]}", needs,
                                           "ask its sender which key signs")
        try:
            key.verify(signature, message)
        except invalid as why:
            raise errors.FileError.explain(operation, "a file that was altered, or a forged signature", needs,
                                           "obtain the file again") from why

    return verify


def _ed25519(operation: str) -> Any:
    try:
        return importlib.import_module("cryptography.hazmat.primitives.asymmetric.ed25519")
    except ImportError as why:
        raise errors.UnsupportedError.explain(
            operation, "a signature without the package cryptography", "that package, 40 or later",
            errors.install("sign")) from why


def _from_raw(operation: str, build: Callable[[bytes], Any], raw: Any) -> Any:
    try:
        return build(bytes(raw))
    except ValueError as why:
        raise errors.ValueError.explain(operation, f"{memoryview(raw).nbytes} bytes that are no Ed25519 key",
                                        "32 bytes", "pass public_bytes_raw() or private_bytes_raw() of a key") from why
