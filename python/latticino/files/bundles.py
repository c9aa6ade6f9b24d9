"""Bundles of server keys as one file, one stream, or bytes, of either scheme (src/io/bundle_file.h)."""

from __future__ import annotations

import os
from typing import Any

from .. import _native, errors, tfhe
from ..ckks.client import ServerKeys
from ..ckks.context import Context
from ..ckks.debug import refuse
from ..common.progress_bar import Task
from ..tfhe.debug import refuse as refuse_tfhe

KIND = "a bundle of keys"  # the name that the extension uses
_KEYS, _PUBLIC = "keys", "public"  # names of parts; all other parts have the name of their set of switching


def is_stream(path: Any, *methods: str) -> bool:
    """Whether it is a file object, judged by its methods, and not a path."""
    return not isinstance(path, (str, bytes, os.PathLike)) and any(callable(getattr(path, m, None)) for m in methods)


# ---- writing ----


def _writer(keys: ServerKeys | tfhe.ServerKeys) -> _native.BundleWriter:
    context: Any = keys._context
    if isinstance(keys, tfhe.ServerKeys):
        refuse_tfhe(context, "save_server_keys")
        writer = _native.BundleWriter("TFHE", keys.params_hash)
        writer.add_tfhe_keys(context._native, keys._native)
        return writer
    refuse(context, "save_server_keys")
    writer = _native.BundleWriter("CKKS", keys.params_hash)
    writer.add_keys(context._native, keys._native)
    if keys.public_key is not None:
        writer.add_public_key(context._native, keys.public_key)
    for name, switch_keys in keys._switching.items():
        writer.add_switch_keys(name, context.switching(name), switch_keys)
    return writer


def length(keys: ServerKeys | tfhe.ServerKeys) -> int:
    """The number of bytes of the single file, without a signature."""
    return _writer(keys).length


def to_bytes(keys: ServerKeys | tfhe.ServerKeys, signer: Any) -> bytes:
    writer = _writer(keys)
    with Task("writing keys", writer.length, unit="bytes") as step:
        return writer.to_bytes(signer, step.advance)


def to_file(path: str, keys: ServerKeys | tfhe.ServerKeys, signer: Any) -> None:
    writer = _writer(keys)
    with Task("writing keys", writer.length, unit="bytes") as step:
        writer.to_file(path, signer, step.advance)


def _require_open(operation: str, file: Any) -> None:
    if getattr(file, "closed", False):
        raise errors.UnsupportedError.explain(
            operation, "a closed file", "an open one", "use it inside of its with block")


def to_stream(file: Any, keys: ServerKeys | tfhe.ServerKeys, signer: Any) -> None:
    _require_open("save_server_keys", file)
    writer = _writer(keys)
    with Task("writing keys", writer.length, unit="bytes") as step:
        writer.to_stream(file, signer, step.advance)


# ---- reading ----


def from_bytes(data: bytes, context: Context | tfhe.Context, verifier: Any) -> Any:
    if _native.bytes_type(data) != KIND:
        raise errors.FileError.explain(
            "from_bytes", _native.bytes_type(data), KIND,
            "leave kind out for a ciphertext; bundles are from to_bytes(keys)")
    with Task("reading keys", len(data), unit="bytes") as step:
        return _read(context, _native.BundleReader.of_bytes(data, _scheme(context), verifier, step.advance))


def from_file(path: str, context: Context | tfhe.Context, verifier: Any) -> Any:
    with Task("reading keys", os.path.getsize(path), unit="bytes") as step:
        return _read(context, _native.BundleReader.of_file(path, _scheme(context), verifier, step.advance))


def from_stream(file: Any, context: Context | tfhe.Context, verifier: Any) -> Any:
    _require_open("load_server_keys", file)
    with Task("reading keys", unit="bytes") as step:
        return _read(context, _native.BundleReader.of_stream(file, _scheme(context), verifier, step.advance))


def _scheme(context: Context | tfhe.Context) -> str:
    if isinstance(context, tfhe.Context):
        refuse_tfhe(context, "load_server_keys")
        return "TFHE"
    refuse(context, "load_server_keys")
    return "CKKS"


def _read(context: Context | tfhe.Context, reader: _native.BundleReader) -> Any:
    reader.require_params(context.params)
    names = reader.names
    if names[:1] != [_KEYS]:
        _refuse(f"parts {names}", "evaluation keys as the first part")
    if isinstance(context, tfhe.Context):
        if len(names) != 1:
            _refuse(f"parts {names}", "one part of TFHE")
        keys = reader.tfhe_keys(_native_of(context))
        reader.finish()
        return tfhe.ServerKeys(context, keys)
    native, public, switching = reader.keys(context._native), None, {}
    known = _native.switch_sets_for(context.params)
    for name in names[1:]:
        if name == _PUBLIC:
            public = reader.public_key(context._native)
        elif name in known:
            switching[name] = reader.switch_keys(context.switching(name))
        else:
            _refuse(f"a part of the name {name!r}", "a public key, or keys of a set of switching of these parameters")
    reader.finish()
    require_one_key(native, public, switching)
    return ServerKeys(context, native, public, switching)


def _native_of(context: tfhe.Context) -> _native.TfheContext:
    assert context._native is not None  # this is only for contexts that do not encrypt, which were refused before
    return context._native


def _refuse(had: str, needs: str) -> None:
    raise errors.FileError.explain("load_server_keys", had, needs, "obtain the bundle again")


def require_one_key(native: Any, public: Any, switching: dict[str, Any]) -> None:
    """Raises KeyError if parts of a bundle were made from other secret keys."""
    for other in (public, *switching.values()):
        if other is not None and other.id != native.id:
            raise errors.KeyError.explain(
                "load_server_keys", f"keys of {other.id} beside a bundle of {native.id}", "files of one secret key",
                "bring over all files of the bundle")
