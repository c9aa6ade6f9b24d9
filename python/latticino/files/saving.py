"""Saving and loading, of either scheme. Files carry a version, the parameters' hash and key ids, and are checked
before anything is allocated; damaged, truncated or foreign ones raise FileError or ContextError.

The checksum of a file finds accidents: whoever alters a file can renew it. ``sign=`` puts an Ed25519 signature behind a
file, and ``verify=`` loads only what is signed under that key (`signing`, docs/security.md).

Bundles of server keys are several files beside each other, or one: a file, a stream or bytes (`bundles`)."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast, overload

from .. import _native, arrays, errors, tfhe
from ..ckks import answer
from ..ckks.ciphertext import Ciphertext
from ..ckks.client import Client, ServerKeys
from ..ckks.context import Context
from ..ckks.debug import refuse
from ..common import roles
from ..common.layout import Layout, from_runs
from ..common.naming import public
from ..common.progress_bar import Task
from . import bundles, notes, secret_files, signing
from . import saving_tfhe as tfhe_files

PUBLIC_SUFFIX = ".public"
_WITH_RANGE, _FINAL, _CALIBRATED, _FINAL_CALIBRATED = 3, 4, 5, 6  # format versions (src/io/container.h)
_CLAIMS = ("assumed", "declared", "calibrated")
_LARGEST = 1e308  # limit for the bounds in a note
_LONGEST_NOTE = 1 << 16  # limit of a note in bytes, as in src/io
_MAX_PLACES = 1 << 24  # the most values of an array whose layout is not the plain one

Path_: TypeAlias = "str | bytes | os.PathLike[Any]"


@public
def save_params(path: Path_, params: _native.Params | _native.TfheParams, *, sign: Any = None) -> None:
    """Writes parameters; `load_params` reads them back, checked again. ``sign``: an Ed25519 private key."""
    roles.require_kind("save_params", params, (_native.Params, _native.TfheParams), "lt.preset(name) gives them")
    if isinstance(params, _native.TfheParams):
        return _native.tfhe_save_params(_path("save_params", path), params, signing.signer("save_params", sign))
    _native.save_params(_path("save_params", path), params, signing.signer("save_params", sign))


@public
def load_params(path: Path_, *, verify: Any = None) -> _native.Params | _native.TfheParams:
    """Parameters from a file, checked as if they were new. ``verify``: the Ed25519 public key that must have signed."""
    name, check = _path("load_params", path), signing.verifier("load_params", verify)
    if _native.file_scheme(name) == "TFHE":
        return _native.tfhe_load_params(name, check)
    return _native.load_params(name, check)


@public
def save_ciphertext(path: Path_, x: Ciphertext | tfhe.EncryptedArray, *, sign: Any = None) -> None:
    """Writes an encrypted array; a fresh one under the secret key stores a seed for its uniform part: half
    of a CKKS ciphertext, all but a word of a TFHE one. ``sign``: an Ed25519 private key, of `cryptography` or 32 bytes.

    FileError if the path names a symbolic link, a device or a pipe: saving replaces regular files only.
    """
    roles.require_kind("save_ciphertext", x, (Ciphertext, tfhe.EncryptedArray), "encrypt it first")
    if isinstance(x, tfhe.EncryptedArray):
        return tfhe_files.save_ciphertext(_path("save_ciphertext", path), x, signing.signer("save_ciphertext", sign))
    _require_data("save_ciphertext", x)
    _native.save_ciphertexts(_path("save_ciphertext", path), x._parts, note_of(x),
                             signing.signer("save_ciphertext", sign), _version_of(x))


@overload
def load_ciphertext(path: Path_, context: Context, *, verify: Any = ...) -> Ciphertext: ...


@overload
def load_ciphertext(path: Path_, context: tfhe.Context, *, verify: Any = ...) -> tfhe.EncryptedArray: ...


@public
def load_ciphertext(path: Path_, context: Context | tfhe.Context, *,
                    verify: Any = None) -> Ciphertext | tfhe.EncryptedArray:
    """An encrypted array from a file, for a context of the same parameters. ``verify``: the Ed25519 public key that
    must have signed it; FileError otherwise."""
    _require_context("load_ciphertext", context)
    if isinstance(context, tfhe.Context):
        return tfhe_files.load_ciphertext(_path("load_ciphertext", path), context,
                                          signing.verifier("load_ciphertext", verify))
    refuse(context, "load_ciphertext")
    return described(context, *_native.load_ciphertexts(_path("load_ciphertext", path), context._native,
                                                          signing.verifier("load_ciphertext", verify)))


@public
def to_bytes(x: Ciphertext | tfhe.EncryptedArray | ServerKeys | tfhe.ServerKeys, *, final: bool = False,
             sign: Any = None) -> bytes:
    """An encrypted array or a bundle of server keys as a file's bytes, for sending.

    ``final``: for a CKKS ciphertext that is an answer; it takes as few bytes as its claimed precision allows. It is
    brought to level 0, and bits below its error are left out; the error grows by at most 4 % (0.06 bits). If the range
    of the values was declared, bits above the range are left out as well. What is read back is an `Answer`, which can
    only be decrypted. If the values may not fit the modulus of level 0, the bytes hold the array at the lowest level
    that they fit, and no bits are left out. UnsupportedError for other objects.
    ``sign``: an Ed25519 private key.
    """
    final = arrays.as_flag(final, "to_bytes", "final")
    kinds = (Ciphertext, tfhe.EncryptedArray, ServerKeys, tfhe.ServerKeys)
    roles.require_kind("to_bytes", x, kinds, "encrypt it first")
    signer = signing.signer("to_bytes", sign)
    if final and not isinstance(x, Ciphertext):
        raise errors.UnsupportedError.explain(
            "to_bytes", f"final=True for a {type(x).__name__}", "a Ciphertext of CKKS", "leave the option out")
    if isinstance(x, (ServerKeys, tfhe.ServerKeys)):
        return bundles.to_bytes(x, signer)
    if isinstance(x, tfhe.EncryptedArray):
        return tfhe_files.to_bytes(x, signer)
    _require_data("to_bytes", x)
    if final:
        higher = answer.raised(x)
        if higher is not None:
            return _native.ciphertexts_to_bytes(higher._parts, note_of(higher), signer, _version_of(higher))
        return answer.to_bytes(x, signer, note_of, _FINAL_CALIBRATED if _is_calibrated(x) else _FINAL)
    return _native.ciphertexts_to_bytes(x._parts, note_of(x), signer, _version_of(x))


@overload
def from_bytes(data: bytes, context: Context, *, kind: None = ..., verify: Any = ...) -> Ciphertext: ...


@overload
def from_bytes(data: bytes, context: tfhe.Context, *, kind: None = ...,
               verify: Any = ...) -> tfhe.EncryptedArray: ...


@overload
def from_bytes(data: bytes, context: Context, *, kind: type[ServerKeys], verify: Any = ...) -> ServerKeys: ...


@overload
def from_bytes(data: bytes, context: tfhe.Context, *, kind: type[tfhe.ServerKeys],
               verify: Any = ...) -> tfhe.ServerKeys: ...


@public
def from_bytes(data: bytes, context: Context | tfhe.Context, *, kind: Any = None,
               verify: Any = None) -> Ciphertext | tfhe.EncryptedArray | ServerKeys | tfhe.ServerKeys:
    """An encrypted array from the bytes of `to_bytes`; the bytes may come from anybody.

    ``kind``: ``lt.ServerKeys`` (``lt.tfhe.ServerKeys`` of TFHE) for a bundle of server keys. FileError for another
    kind than was asked for, so a program that expects a ciphertext never gets
    keys. ``verify``: the Ed25519 public key that must have
    signed the bytes.
    """
    _require_context("from_bytes", context)
    roles.require_kind("from_bytes", data, (bytes, bytearray, memoryview), "pass what to_bytes gave")
    try:
        data = bytes(data)
    except ValueError as why:  # raised by a memoryview that was released
        raise errors.ValueError.explain("from_bytes", str(why), "a memoryview that is in use",
                                        "pass the bytes themselves") from why
    check = signing.verifier("from_bytes", verify)
    if kind is not None:
        _require_kind_of_keys(context, kind)
        loaded: ServerKeys | tfhe.ServerKeys = bundles.from_bytes(data, context, check)
        return loaded
    if isinstance(context, tfhe.Context):
        return tfhe_files.from_bytes(data, context, check)
    refuse(context, "from_bytes")
    return described(context, *_native.ciphertexts_from_bytes(data, context._native, check))


def _require_kind_of_keys(context: Context | tfhe.Context, kind: Any) -> None:
    wanted = tfhe.ServerKeys if isinstance(context, tfhe.Context) else ServerKeys
    if kind is not wanted:
        name = "lt.tfhe.ServerKeys" if wanted is tfhe.ServerKeys else "lt.ServerKeys"
        raise errors.UnsupportedError.explain(
            "from_bytes", f"kind={arrays.shown(kind)}", f"None or {name}", "leave it out for an encrypted array")


@public
def save_server_keys(path: Path_ | BinaryIO, context: Context | tfhe.Context, keys: ServerKeys | tfhe.ServerKeys, *,
                     one_file: bool = False, sign: Any = None) -> None:
    """Writes the bundle; a public key goes beside it, with ``.public`` added to the name, and the keys of
    each set of switching, with the set's name added. Files that an older bundle left under these names are removed.

    ``one_file``: all in one file. A binary file object, a pipe or a socket's file for instance, takes the same bytes;
    they are written piece by piece, and nothing is held twice. ``sign``: an Ed25519 private key, which signs each of
    the files."""
    _require_context("save_server_keys", context)
    roles.require_kind("save_server_keys", keys, tfhe.ServerKeys if isinstance(context, tfhe.Context) else ServerKeys,
                       "client.server_keys() of a client of this context makes them")
    one_file = arrays.as_flag(one_file, "save_server_keys", "one_file")
    signer = signing.signer("save_server_keys", sign)
    if bundles.is_stream(path, "write"):
        return bundles.to_stream(path, keys, signer)
    name = _path("save_server_keys", path)
    if one_file:
        bundles.to_file(name, keys, signer)
        for beside in _all_beside(name, context):
            _remove(beside)
        return
    if isinstance(context, tfhe.Context):
        return tfhe_files.save_server_keys(name, context, cast(tfhe.ServerKeys, keys), signer)
    refuse(context, "save_server_keys")
    bundle = cast(ServerKeys, keys)
    with Task("writing keys", bundles.length(bundle), unit="bytes") as step:
        _native.save_keys(name, context._native, bundle._native, signer, step.advance)
    public, switching = _beside(name, context)
    for kind, beside in switching.items():
        if kind in bundle._switching:
            _native.save_switch_keys(beside, context.switching(kind), bundle._switching[kind], signer)
        else:
            _remove(beside)
    if bundle.public_key is not None:
        _native.save_public_key(public, context._native, bundle.public_key, signer)
    else:
        _remove(public)


def _remove(path: str) -> None:
    """Removes the file that an older bundle left, if it is a regular file."""
    file = Path(path)
    try:
        if file.is_symlink() or (file.exists() and not file.is_file()):
            raise OSError("not a regular file")
        file.unlink(missing_ok=True)
    except OSError as why:
        raise errors.FileError.explain("save_server_keys", f"{path}: {why}", "no file of another bundle there",
                                       "remove it, or save to another path") from why


@overload
def load_server_keys(path: Path_ | BinaryIO, context: Context, *, verify: Any = ...) -> ServerKeys: ...


@overload
def load_server_keys(path: Path_ | BinaryIO, context: tfhe.Context, *, verify: Any = ...) -> tfhe.ServerKeys: ...


@public
def load_server_keys(path: Path_ | BinaryIO, context: Context | tfhe.Context, *,
                     verify: Any = None) -> ServerKeys | tfhe.ServerKeys:
    """A bundle from its one file, or from a file with the public key and the switching keys beside it if there are any.

    A binary file object is read to the end of the bundle and no further; it may be a pipe. ``verify``: the
    Ed25519 public key that must have signed each of these files; FileError otherwise.

    KeyError if these keys were made from another secret key than the bundle.
    """
    _require_context("load_server_keys", context)
    check = signing.verifier("load_server_keys", verify)
    if bundles.is_stream(path, "read", "readinto"):
        streamed: ServerKeys | tfhe.ServerKeys = bundles.from_stream(path, context, check)
        return streamed
    name = _path("load_server_keys", path)
    if _native.file_type(name) == bundles.KIND:
        loaded: ServerKeys | tfhe.ServerKeys = bundles.from_file(name, context, check)
        return loaded
    if isinstance(context, tfhe.Context):
        return tfhe_files.load_server_keys(name, context, check)
    refuse(context, "load_server_keys")
    with Task("reading keys", os.path.getsize(name), unit="bytes") as step:
        native = _native.load_keys(name, context._native, check, step.advance)
    beside, others = _beside(name, context)
    public = _native.load_public_key(beside, context._native, check) if os.path.lexists(beside) else None
    switching = {kind: _native.load_switch_keys(other, context.switching(kind), check)
                 for kind, other in others.items() if os.path.lexists(other)}
    bundles.require_one_key(native, public, switching)
    return ServerKeys(context, native, public, switching)


def _all_beside(path: str, context: Context | tfhe.Context) -> list[str]:
    """Names of files that a bundle of several files may have left."""
    if isinstance(context, tfhe.Context):
        return []
    public, switching = _beside(path, context)
    return [public, *switching.values()]


def _beside(path: str, context: Context) -> tuple[str, dict[str, str]]:
    """The paths of a bundle's public key and of its keys for each set of switching."""
    return path + PUBLIC_SUFFIX, {name: f"{path}.{name}" for name in _native.switch_sets_for(context.params)}


@public
def save_secret_key(path: Path_, client: Client | tfhe.Client, *,
                    passphrase: str | bytes | None = None) -> None:
    """Writes the secret key, readable by its owner only (mode 600).

    With a passphrase it is encrypted: scrypt (N = 2^17, r = 8, p = 1), ChaCha20, HMAC-SHA-256. Without one it is not
    encrypted: keep the file as you keep private keys. A file of that name is replaced once
    everything is on disk; FileError if the name is a device, a FIFO, a folder or a symbolic link.
    """
    roles.require_kind("save_secret_key", client, (Client, tfhe.Client), "lt.keygen(ctx) gives a client")
    if isinstance(client, tfhe.Client):
        return tfhe_files.save_secret_key(_path("save_secret_key", path), client, passphrase)
    refuse(client.context, "save_secret_key")
    sealed = secret_files.fresh(passphrase) if passphrase is not None else (None, b"")
    _native.save_secret_key(_path("save_secret_key", path), client._native, *sealed)


@overload
def load_client(path: Path_, context: Context, *, passphrase: str | bytes | None = None) -> Client: ...


@overload
def load_client(path: Path_, context: tfhe.Context, *,
                passphrase: str | bytes | None = None) -> tfhe.Client: ...


@public
def load_client(path: Path_, context: Context | tfhe.Context, *,
                passphrase: str | bytes | None = None) -> Client | tfhe.Client:
    """The client whose secret key `save_secret_key` wrote, with the passphrase that it was saved with.

    FileError if the file's group or others may read or write it, and for damaged ones; KeyError where
    the passphrase is wrong, missing, or given for a file without one.
    """
    _require_context("load_client", context)
    name = _path("load_client", path)
    if isinstance(context, tfhe.Context):
        return tfhe_files.load_client(name, context, passphrase)
    refuse(context, "load_client")
    kdf = _native.secret_key_kdf(name)
    key = secret_files.key_for(passphrase, kdf)
    return Client(context, _native.load_secret_key(name, context._native, key))


def _require_context(operation: str, context: Any) -> None:
    roles.require_kind(operation, context, (Context, tfhe.Context), "make one with the parameters of the file")


def _path(operation: str, path: Any) -> str:
    return arrays.as_path(path, operation)


def _require_data(operation: str, x: Ciphertext) -> None:
    """Refuses an array that must not leave this process, and one without data."""
    refuse(x.context, operation)
    if x._parts and x.context.device == "dry":
        raise errors.ContextError.explain(
            operation, "an array from inside of a plan, which has no data", "a result of the program",
            "return it from the function, and write what a run gives")


def _is_calibrated(x: Ciphertext) -> bool:
    return x._known.widest.claim == "calibrated"


def _version_of(x: Ciphertext) -> int:
    """The oldest version that can hold what `note_of` writes. Earlier readers take every range for a declared one."""
    return _CALIBRATED if _is_calibrated(x) else _WITH_RANGE


def note_of(x: Ciphertext, known: _native.Known | None = None, *, as_declared: bool = False) -> str:
    """The note of an array, which a file contains in addition to its ciphertexts. `known` replaces what is known about
    the array. Of a sample, the note contains only the range, and that there was a sample; the sample stays in this
    process. ``as_declared``: of an argument that is encrypted with this range, whatever the range comes from."""
    r, where = x._known.widest, x.layout
    error = (known or x._known).error
    fields = {"shape": x.shape, "clean": x._clean, "error": _finite(float(f"{error:.6g}")), "range": {
        "claim": "declared" if as_declared and r.claim == "calibrated" else r.claim, "random": r.random,
        "numbers": [_finite(r.low, -1), _finite(r.high), _finite(r.imag_low, -1), _finite(r.imag_high),
                    _finite(r.bound), _finite(r.rms)]}}
    if where.is_plain and where.rest != "unknown" and where.bound <= r.bound:
        return json.dumps(fields)
    # Readers of the first version would take this for a plain layout. So the note has no shape, which they refuse.
    fields |= {"layout": {"rest": where.rest, "bound": _finite(where.bound), "runs": where.runs()}}
    text = json.dumps({"version": 2, "array": fields}, separators=(",", ":"))
    if len(text) >= _LONGEST_NOTE or where.size > _MAX_PLACES:
        raise errors.UnsupportedError.explain(
            "save_ciphertext", "an array whose layout is too irregular for a file",
            f"a layout of less than {_LONGEST_NOTE} bytes, for up to {_MAX_PLACES:,} values", "save x.contiguous()")
    return text


def _finite(number: float, sign: int = 1) -> float:
    """An upper bound (or a lower one, with the sign -1) as a number that JSON can contain. Infinity, or NaN from
    infinity times 0, becomes a number of size 1e308, which also states no real bound."""
    return sign * _LARGEST if math.isnan(number) else min(max(number, -_LARGEST), _LARGEST)


def described(context: Context, parts: list[_native.Ciphertext], note: str, final: bool) -> Ciphertext:
    """Rebuilds the array. The note comes from an untrusted source, so every field of it is checked."""
    fields = notes.Note.read(note)
    inner = fields.part("array")
    if inner is not None and fields.number("version") != 2:
        raise errors.FileError.explain("load", "a later version of an array's description", "version 2 or earlier",
                                       "use a later version of this package")
    fields = inner or fields
    shape, error, clean = fields.shape("shape"), fields.number("error"), fields.flag("clean")
    known = _range(fields.part("range"))
    slots = parts[0].slots if parts else 0
    fits = slots and all(p.slots == slots for p in parts)
    where = Layout.plain(shape, slots, clean, known.bound) if fits and inner is None else None
    if fits and inner is not None:
        where = _layout(inner.part("layout"), shape, slots, len(parts))
    if where is None or where.count != len(parts) or error < 0:
        raise errors.FileError.explain(
            "load", f"shape {shape} for {len(parts)} ciphertexts", "a shape that fits them",
            "use files of this package")
    context._admit("load", [p.key for p in parts])
    kind = answer.Answer if final else Ciphertext
    return kind(context, parts, where, _native.Known.fresh(known, error))


def _layout(stated: notes.Note | None, shape: tuple[int, ...], slots: int, count: int) -> Layout:
    """The layout that a file states; FileError if it is not valid."""
    if stated is None or math.prod(shape) > _MAX_PLACES:
        notes.refuse()
    rest, bound = stated.text("rest"), stated.number("bound")
    if rest not in ("zero", "filler", "unknown") or bound < 0:
        notes.refuse()
    try:
        return from_runs(stated.runs("runs"), shape, slots, count, rest, bound)  # type: ignore[arg-type]
    except ValueError:
        notes.refuse()


def _range(stated: notes.Note | None) -> _native.Range:
    """The range that a file states; before version 3 there was none. FileError if it is not valid."""
    if stated is None:
        return _native.Range.assumed(False)
    numbers, claim = stated.numbers("numbers", 6), stated.text("claim")
    if claim not in _CLAIMS or min(numbers[4:]) < 0:
        notes.refuse()
    try:
        return _native.Range.rebuilt(_CLAIMS.index(claim), numbers, stated.flag("random"))
    except errors.ValueError:
        notes.refuse()
