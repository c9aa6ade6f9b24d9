"""Saving and loading of TFHE's objects: the container and the checks of latticino.files."""

from __future__ import annotations

import json
import math
from typing import Any

from .. import _native, errors
from . import types
from .array import EncryptedArray
from .client import Client, ServerKeys
from .context import Context
from .debug import refuse


def save_ciphertext(path: str, x: EncryptedArray) -> None:
    refuse(x.context, "save_ciphertext")
    _native.tfhe_save_ciphertexts(path, x._parts, _note(x))


def load_ciphertext(path: str, context: Context) -> EncryptedArray:
    refuse(context, "load_ciphertext")
    return _array(context, *_native.tfhe_load_ciphertexts(path, context._native))


def to_bytes(x: EncryptedArray) -> bytes:
    refuse(x.context, "to_bytes")
    return _native.tfhe_ciphertexts_to_bytes(x._parts, _note(x))


def from_bytes(data: bytes, context: Context) -> EncryptedArray:
    refuse(context, "from_bytes")
    return _array(context, *_native.tfhe_ciphertexts_from_bytes(data, context._native))


def save_server_keys(path: str, context: Context, keys: ServerKeys) -> None:
    refuse(context, "save_server_keys")
    _native.tfhe_save_keys(path, context._native, keys._native)


def load_server_keys(path: str, context: Context) -> ServerKeys:
    refuse(context, "load_server_keys")
    return ServerKeys(context, _native.tfhe_load_keys(path, context._native))


def save_secret_key(path: str, client: Client) -> None:
    refuse(client.context, "save_secret_key")
    _native.tfhe_save_secret_key(path, client._native)


def load_client(path: str, context: Context) -> Client:
    refuse(context, "load_client")
    return Client(context, _native.tfhe_load_secret_key(path, context._native))


def _note(x: EncryptedArray) -> str:
    return json.dumps({"shape": x.shape, "dtype": x.dtype})


def _array(context: Context, parts: list, note: str) -> EncryptedArray:
    """Rebuilds the array; the note comes from outside, so every field of it is checked."""
    try:
        fields: dict[str, Any] = json.loads(note)
        shape = tuple(int(n) for n in fields["shape"])
        bits = types.bits_of(str(fields["dtype"]), context.params, "load")
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError, errors.Error) as why:
        raise errors.FileError.explain(
            "load", "a note that is no array description", "a file written by save_ciphertext",
            "use files of this package") from why
    block = max(context.params.message_bits, 1)
    most = types.most_of(min(bits, block))
    fits = len(parts) == max(bits // block, 1) and all(
        p.size == math.prod(shape) and p.largest <= most and (p.encoding == "full") == (bits < 0) for p in parts)
    if not fits or min(shape, default=1) < 1:
        raise errors.FileError.explain(
            "load", f"shape {shape} of {types.name_of(bits)} for {len(parts)} batches", "a shape that fits them",
            "use files of this package")
    context._admit("load", [p.key for p in parts])
    return EncryptedArray(context, parts, shape, bits)
