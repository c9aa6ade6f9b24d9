"""Passphrases of secret-key files: scrypt makes the key with which they are encrypted."""

from __future__ import annotations

import hashlib
import os
import unicodedata

from .. import errors

Kdf = tuple[int, int, int, bytes]
"""scrypt's log2 N, r, p, and a salt of 32 bytes."""

COSTS = (17, 8, 1)
"""128 MiB and about half a second for each guess."""


def fresh(passphrase: str | bytes) -> tuple[Kdf, bytes]:
    """A new salt, and the key of 64 bytes that it gives with the passphrase."""
    kdf = (*COSTS, os.urandom(32))
    return kdf, derive(passphrase, kdf)


def key_for(passphrase: str | bytes | None, kdf: Kdf | None) -> bytes:
    """The key that opens a file whose header names `kdf` (None: not encrypted). Without a passphrase it is empty."""
    if passphrase is None:
        return b""
    if kdf is None:
        raise errors.KeyError.explain("load_client", "a passphrase for a secret key that is not encrypted",
                                      "none", "load it without one, and save it again with one")
    return derive(passphrase, kdf)


def derive(passphrase: str | bytes, kdf: Kdf) -> bytes:
    """The key of 64 bytes. Text is taken in Unicode's form NFC, as UTF-8, so that all keyboards give the same bytes.

    ValueError for an empty passphrase or one that is neither text nor bytes; OutOfMemoryError where
    scrypt's memory is not to be had; UnsupportedError for a Python without scrypt.
    """
    if not isinstance(passphrase, (str, bytes)) or not passphrase:
        what = "an empty passphrase" if isinstance(passphrase, (str, bytes)) else (
            f"a passphrase of type {type(passphrase).__name__}")
        raise errors.ValueError.explain("passphrase", what, "text or bytes, not empty", "choose one, or leave it out")
    if not hasattr(hashlib, "scrypt"):
        raise errors.UnsupportedError.explain("passphrase", "a Python without hashlib.scrypt",
                                              "one built with OpenSSL 1.1 or later", "use another Python")
    try:
        data = unicodedata.normalize("NFC", passphrase).encode() if isinstance(passphrase, str) else passphrase
    except UnicodeEncodeError as why:
        raise errors.ValueError.explain("passphrase", "text with half a surrogate pair", "text that UTF-8 can hold",
                                        "pass it as bytes") from why
    log_n, r, p, salt = kdf
    # scrypt's table, and the memory that OpenSSL takes in addition.
    most = 128 * r * ((1 << log_n) + p + 2) + (1 << 20)
    try:
        return hashlib.scrypt(data, salt=salt, n=1 << log_n, r=r, p=p, maxmem=most, dklen=64)
    except (MemoryError, ValueError) as why:
        raise errors.OutOfMemoryError.explain("passphrase", f"scrypt with {most >> 20} MiB",
                                              "that much free memory", "free some") from why
