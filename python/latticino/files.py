"""Saving and loading, of either scheme. Files carry a version, the parameters' hash and key ids, and are checked
before anything is allocated; damaged, truncated or foreign ones raise FileError or ContextError."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any, overload

from . import _native, errors, roles, tfhe
from .ciphertext import Ciphertext
from .client import Client, ServerKeys
from .context import Context
from .debug import refuse
from .known import Known
from .tfhe import files as tfhe_files

PUBLIC_SUFFIX = ".public"


def save_params(path: str | os.PathLike, params: _native.Params | _native.TfheParams) -> None:
    """Writes parameters; `load_params` reads them back, checked again."""
    roles.require_kind("save_params", params, (_native.Params, _native.TfheParams), "lt.preset(name) gives them")
    if isinstance(params, _native.TfheParams):
        return _native.tfhe_save_params(os.fspath(path), params)
    _native.save_params(os.fspath(path), params)


def load_params(path: str | os.PathLike) -> _native.Params | _native.TfheParams:
    """Parameters from a file, checked as if they were new."""
    if _native.file_scheme(os.fspath(path)) == "TFHE":
        return _native.tfhe_load_params(os.fspath(path))
    return _native.load_params(os.fspath(path))


def save_ciphertext(path: str | os.PathLike, x: Ciphertext | tfhe.EncryptedArray) -> None:
    """Writes an encrypted array; a fresh one under the secret key stores a seed for its uniform part: half
    of a CKKS ciphertext, all but a word of a TFHE one."""
    roles.require_kind("save_ciphertext", x, (Ciphertext, tfhe.EncryptedArray), "encrypt it first")
    if isinstance(x, tfhe.EncryptedArray):
        return tfhe_files.save_ciphertext(os.fspath(path), x)
    refuse(x.context, "save_ciphertext")
    _native.save_ciphertexts(os.fspath(path), x._parts, _note(x))


@overload
def load_ciphertext(path: str | os.PathLike, context: Context) -> Ciphertext: ...


@overload
def load_ciphertext(path: str | os.PathLike, context: tfhe.Context) -> tfhe.EncryptedArray: ...


def load_ciphertext(path: str | os.PathLike, context: Context | tfhe.Context) -> Ciphertext | tfhe.EncryptedArray:
    """An encrypted array from a file, for a context of the same parameters."""
    _require_context("load_ciphertext", context)
    if isinstance(context, tfhe.Context):
        return tfhe_files.load_ciphertext(os.fspath(path), context)
    refuse(context, "load_ciphertext")
    return _ciphertext(context, *_native.load_ciphertexts(os.fspath(path), context._native))


def to_bytes(x: Ciphertext | tfhe.EncryptedArray) -> bytes:
    """The same as a file's bytes, for sending."""
    roles.require_kind("to_bytes", x, (Ciphertext, tfhe.EncryptedArray), "encrypt it first")
    if isinstance(x, tfhe.EncryptedArray):
        return tfhe_files.to_bytes(x)
    refuse(x.context, "to_bytes")
    return _native.ciphertexts_to_bytes(x._parts, _note(x))


@overload
def from_bytes(data: bytes, context: Context) -> Ciphertext: ...


@overload
def from_bytes(data: bytes, context: tfhe.Context) -> tfhe.EncryptedArray: ...


def from_bytes(data: bytes, context: Context | tfhe.Context) -> Ciphertext | tfhe.EncryptedArray:
    """An encrypted array from the bytes of `to_bytes`; the bytes may come from anybody."""
    _require_context("from_bytes", context)
    roles.require_kind("from_bytes", data, (bytes, bytearray, memoryview), "pass what to_bytes gave")
    data = bytes(data)
    if isinstance(context, tfhe.Context):
        return tfhe_files.from_bytes(data, context)
    refuse(context, "from_bytes")
    return _ciphertext(context, *_native.ciphertexts_from_bytes(data, context._native))


def save_server_keys(path: str | os.PathLike, context: Context | tfhe.Context, keys: ServerKeys | tfhe.ServerKeys) -> None:
    """Writes the bundle; a public key goes beside it, with ``.public`` added to the name, and the keys of
    each set of switching, with the set's name added. What an older bundle left there under these names goes."""
    _require_context("save_server_keys", context)
    roles.require_kind("save_server_keys", keys, tfhe.ServerKeys if isinstance(context, tfhe.Context) else ServerKeys,
                       "client.server_keys() of a client of this context makes them")
    if isinstance(context, tfhe.Context):
        return tfhe_files.save_server_keys(os.fspath(path), context, keys)
    refuse(context, "save_server_keys")
    _native.save_keys(os.fspath(path), context._native, keys._native)
    public, switching = _beside(path, context)
    for name, beside in switching.items():
        if name in keys._switching:
            _native.save_switch_keys(beside, context.switching(name), keys._switching[name])
        else:
            Path(beside).unlink(missing_ok=True)
    if keys.public_key is not None:
        _native.save_public_key(public, context._native, keys.public_key)
    else:
        Path(public).unlink(missing_ok=True)


@overload
def load_server_keys(path: str | os.PathLike, context: Context) -> ServerKeys: ...


@overload
def load_server_keys(path: str | os.PathLike, context: tfhe.Context) -> tfhe.ServerKeys: ...


def load_server_keys(path: str | os.PathLike, context: Context | tfhe.Context) -> ServerKeys | tfhe.ServerKeys:
    """A bundle from a file, with the public key and the switching keys beside it if there are any.

    KeyError where those were made from another secret key than the bundle.
    """
    _require_context("load_server_keys", context)
    if isinstance(context, tfhe.Context):
        return tfhe_files.load_server_keys(os.fspath(path), context)
    refuse(context, "load_server_keys")
    native = _native.load_keys(os.fspath(path), context._native)
    beside, others = _beside(path, context)
    public = _native.load_public_key(beside, context._native) if os.path.exists(beside) else None
    switching = {name: _native.load_switch_keys(other, context.switching(name))
                 for name, other in others.items() if os.path.exists(other)}
    for other in (public, *switching.values()):
        if other is not None and other.id != native.id:
            raise errors.KeyError.explain(
                "load_server_keys", f"keys of {other.id} beside a bundle of {native.id}", "files of one secret key",
                "bring over all files of the bundle")
    return ServerKeys(context, native, public, switching)


def _beside(path: str | os.PathLike, context: Context) -> tuple[str, dict[str, str]]:
    """Where a bundle's public key lies, and the keys of each set of switching."""
    path = os.fspath(path)
    return path + PUBLIC_SUFFIX, {name: f"{path}.{name}" for name in _native.switch_sets_for(context.params)}


def save_secret_key(path: str | os.PathLike, client: Client | tfhe.Client) -> None:
    """Writes the secret key, readable by its owner only and not encrypted: keep it accordingly."""
    roles.require_kind("save_secret_key", client, (Client, tfhe.Client), "lt.keygen(ctx) gives a client")
    if isinstance(client, tfhe.Client):
        return tfhe_files.save_secret_key(os.fspath(path), client)
    refuse(client.context, "save_secret_key")
    _native.save_secret_key(os.fspath(path), client._native)


@overload
def load_client(path: str | os.PathLike, context: Context) -> Client: ...


@overload
def load_client(path: str | os.PathLike, context: tfhe.Context) -> tfhe.Client: ...


def load_client(path: str | os.PathLike, context: Context | tfhe.Context) -> Client | tfhe.Client:
    """The client whose secret key `save_secret_key` wrote."""
    _require_context("load_client", context)
    if isinstance(context, tfhe.Context):
        return tfhe_files.load_client(os.fspath(path), context)
    refuse(context, "load_client")
    return Client(context, _native.load_secret_key(os.fspath(path), context._native))


def _require_context(operation: str, context: Any) -> None:
    roles.require_kind(operation, context, (Context, tfhe.Context), "make one with the parameters of the file")


def _note(x: Ciphertext) -> str:
    r = x.range  # what samples showed is stated as a range: it holds for them alone
    return json.dumps({"shape": x.shape, "clean": x._clean, "error": x._known.error, "range": {
        "claim": r.claim if r.claim == "assumed" else "declared", "random": r.random,
        "numbers": [r.low, r.high, r.imag_low, r.imag_high, r.bound, r.rms]}})


def _ciphertext(context: Context, parts: list[_native.Ciphertext], note: str) -> Ciphertext:
    """Rebuilds the array; the note comes from outside, so every field of it is checked."""
    try:
        fields: dict[str, Any] = json.loads(note)
        shape = tuple(int(n) for n in fields["shape"])
        error, clean = float(fields["error"]), bool(fields["clean"])
        known = _range(fields.get("range"))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError, IndexError, errors.ValueError) as why:
        raise errors.FileError.explain(
            "load", "a note that is no array description", "a file written by save_ciphertext",
            "use files of this package") from why
    size, slots = math.prod(shape), parts[0].slots if parts else 0
    fits = slots and -(-size // slots) == len(parts) and all(p.slots == slots for p in parts)
    if not fits or min(shape, default=1) < 1 or not math.isfinite(error) or error < 0:
        raise errors.FileError.explain(
            "load", f"shape {shape} for {len(parts)} ciphertexts", "a shape that fits them",
            "use files of this package")
    context._admit("load", [p.key for p in parts])
    return Ciphertext(context, parts, shape, Known.fresh(known, error), clean)


def _range(stated: Any) -> _native.Range:
    """The range that a file states; before version 3 there was none. ValueError for one that is none."""
    if stated is None:
        return _native.Range.assumed(False)
    numbers = [float(v) for v in stated["numbers"]]
    claim = ("assumed", "declared").index(stated["claim"])
    if len(numbers) != 6 or not all(map(math.isfinite, numbers)) or min(numbers[4:]) < 0:
        raise ValueError("no range")
    return _native.Range.rebuilt(claim, numbers, bool(stated["random"]))
