"""Saving and loading of TFHE's objects: the container and the checks of saving.py."""

from __future__ import annotations

import builtins
import json
import math
import os
from typing import Any

from .. import _native, errors
from ..common.progress_bar import Task
from ..tfhe import types
from ..tfhe.array import EncryptedArray
from ..tfhe.client import Client, ServerKeys
from ..tfhe.context import Context
from ..tfhe.debug import refuse
from . import notes, secret_files, signing


def save_ciphertext(path: str, x: EncryptedArray, sign: signing.Signer | None) -> None:
    refuse(x.context, "save_ciphertext")
    _native.tfhe_save_ciphertexts(path, x._parts, _note(x), sign)


def load_ciphertext(path: str, context: Context, verify: signing.Verifier | None) -> EncryptedArray:
    refuse(context, "load_ciphertext")
    return _array(context, *_native.tfhe_load_ciphertexts(path, context._native, verify))


def to_bytes(x: EncryptedArray, sign: signing.Signer | None) -> bytes:
    refuse(x.context, "to_bytes")
    return _native.tfhe_ciphertexts_to_bytes(x._parts, _note(x), sign)


def from_bytes(data: bytes, context: Context, verify: signing.Verifier | None) -> EncryptedArray:
    refuse(context, "from_bytes")
    return _array(context, *_native.tfhe_ciphertexts_from_bytes(data, context._native, verify))


def save_server_keys(path: str, context: Context, keys: ServerKeys, sign: signing.Signer | None) -> None:
    refuse(context, "save_server_keys")
    with Task("writing keys", unit="bytes") as step:
        _native.tfhe_save_keys(path, context._native, keys._native, sign, step.advance)


def load_server_keys(path: str, context: Context, verify: signing.Verifier | None) -> ServerKeys:
    refuse(context, "load_server_keys")
    with Task("reading keys", os.path.getsize(path), unit="bytes") as step:
        return ServerKeys(context, _native.tfhe_load_keys(path, context._native, verify, step.advance))


def save_secret_key(path: str, client: Client, passphrase: str | bytes | None) -> None:
    refuse(client.context, "save_secret_key")
    sealed = secret_files.fresh(passphrase) if passphrase is not None else (None, b"")
    _native.tfhe_save_secret_key(path, client._native, *sealed)


def load_client(path: str, context: Context, passphrase: str | bytes | None) -> Client:
    refuse(context, "load_client")
    key = secret_files.key_for(passphrase, _native.tfhe_secret_key_kdf(path))
    return Client(context, _native.tfhe_load_secret_key(path, context._native, key))


def _note(x: EncryptedArray) -> str:
    return json.dumps({"shape": x.shape, "dtype": x.dtype})


def _array(context: Context, parts: list[Any], note: str) -> EncryptedArray:
    """Rebuilds the array. The note comes from an untrusted source, so every field of it is checked."""
    fields = notes.Note.read(note)
    shape = fields.shape("shape")
    try:
        bits = types.bits_of(fields.text("dtype"), context.params, "load")
    except (errors.Error, builtins.ValueError):
        notes.refuse()
    block = max(context.params.message_bits, 1)
    most = types.most_of(min(bits, block))
    fits = len(parts) == max(bits // block, 1) and all(
        p.size == math.prod(shape) and p.largest <= most and (p.encoding == "full") == (bits < 0) for p in parts)
    if not fits:
        raise errors.FileError.explain(
            "load", f"shape {shape} of {types.name_of(bits)} for {len(parts)} batches", "a shape that fits them",
            "use files of this package")
    context._admit("load", [p.key for p in parts])
    return EncryptedArray(context, parts, shape, bits)
