"""Pickles that hold the bytes of the file format.

A pickled ciphertext or bundle of keys needs a context where it is loaded. Three places are searched in this order: the
contexts given to `loads`; those set by `unpickling`; and the context or session that it was pickled from, if this
process has it. A process has it if it made the pickle, or has loaded a pickle of that context or session.

**A pickle from a stranger runs the stranger's code.** Files and ``lt.from_bytes`` are for bytes from others.
"""

from __future__ import annotations

import copyreg
import os
import pickle
import uuid
import weakref
from collections import deque
from contextvars import ContextVar
from typing import Any, NoReturn

from . import _native, arrays, errors, tfhe
from .ckks.ciphertext import Ciphertext
from .ckks.client import ServerKeys
from .ckks.context import Context
from .ckks.debug import refuse
from .common import roles
from .common.naming import public
from .common.tenancy import BoundSession
from .files import saving as files
from .key_generation import keygen

_KEPT = 4  # the number of contexts and sessions from pickles that a process keeps for later pickles

_tokens: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_known: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_kept: deque[Any] = deque(maxlen=_KEPT)
_given: ContextVar[tuple[Any, ...]] = ContextVar("latticino_unpickling", default=())


class _Process:
    contexts: tuple[Any, ...] = ()


class unpickling:
    """Names the contexts that pickled ciphertexts and keys belong to: ``lt.unpickling(ctx)``. It holds for the whole
    process from then on.

    As an initialiser of worker processes: ``Pool(4, initializer=lt.unpickling, initargs=(session,))`` sends the
    session with its keys once to each. ``with lt.unpickling(ctx): ...`` ends it with the block. Takes contexts and
    sessions, one per set of parameters, of both schemes. UnsupportedError for anything else.
    """

    def __init__(self, *contexts: Context | tfhe.Context) -> None:
        for context in contexts:
            roles.require_kind("unpickling", context, (Context, tfhe.Context), "pass contexts or sessions")
        self._before = _Process.contexts
        _Process.contexts = contexts

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        _Process.contexts = self._before


@public
def loads(data: bytes, *contexts: Context | tfhe.Context) -> Any:
    """``pickle.loads`` for data with ciphertexts or keys that belong to these contexts or sessions.

    Load only pickles of your own: a pickle runs the code of its sender when it is loaded. For data from others use
    ``lt.from_bytes``. ContextError if nothing given has the parameters, KeyError for objects
    under another key than a session's, OutOfMemoryError where memory has run out, FileError for bytes that are no
    pickle, and for anything else that loading raises: its cause is that exception.
    """
    for context in contexts:
        roles.require_kind("loads", context, (Context, tfhe.Context), "pass contexts or sessions")
    roles.require_kind("loads", data, (bytes, bytearray, memoryview), "pass what pickle.dumps gave")
    token = _given.set(contexts)
    try:
        return pickle.loads(data)
    except errors.Error:
        raise
    except MemoryError as why:  # also for a damaged pickle, which may ask for any amount
        raise errors.OutOfMemoryError.explain(
            "loads", f"too little memory for what a pickle of {len(data)} bytes asks for",
            "more of it, or a whole pickle", "load it on a larger machine, or obtain it again") from why
    except Exception as why:  # a damaged pickle may name other functions, and call them with other arguments
        text = arrays.printable(f"{type(why).__name__}: {why}")[:100]
        raise errors.FileError.explain(
            "loads", f"bytes that are no pickle, or one that does not load here ({text})",
            "what pickle.dumps gave, and the modules that it names", "load files with lt.from_bytes") from why
    finally:
        _given.reset(token)


def _token(thing: Any) -> str:
    """A token that identifies this object in every process."""
    if thing not in _tokens:
        _tokens[thing] = uuid.uuid4().hex
        _known[_tokens[thing]] = thing
    return _tokens[thing]


def _remember(thing: Any, token: str) -> Any:
    _tokens[thing], _known[token] = token, thing
    return thing


def _context_for(token: str, name: str, params_hash: str) -> Any:
    """The context that something pickled belongs to."""
    for contexts in (_given.get(), _Process.contexts):
        for context in contexts:
            if context.params.hash == params_hash:
                return context
    context = _known.get(token)
    if context is None or _given.get():
        raise errors.ContextError.explain(
            "unpickle", f"an object of {name} and no context for it", "the context or session that it belongs to",
            "load it with lt.loads(data, ctx), or start workers with initializer=lt.unpickling, initargs=(ctx,)")
    return context


# ---- pickling: functions that loading calls, and those that reduce objects ----


def _load_array(data: bytes, token: str, name: str, params_hash: str) -> Any:
    return files.from_bytes(data, _context_for(token, name, params_hash))


def reduce_array(x: Ciphertext | tfhe.EncryptedArray) -> tuple[Any, ...]:
    """How ciphertexts of both schemes are pickled."""
    params = x.context.params
    return _load_array, (files.to_bytes(x), _token(x.context), params.name, params.hash)


def _load_keys(data: bytes, token: str, of: str, name: str, params_hash: str) -> Any:
    context = _context_for(of, name, params_hash)
    known = _known.get(token)
    if known is not None and known._context is context._root:
        return known
    return _load_bundle(context, token, data)


def reduce_keys(keys: ServerKeys | tfhe.ServerKeys) -> tuple[Any, ...]:
    """How bundles of both schemes are pickled."""
    params = keys._context.params
    return _load_keys, (files.to_bytes(keys), _token(keys), _token(keys._context), params.name, params.hash)


def _load_context(of_tfhe: bool, params: bytes, options: dict[str, Any], token: str,
                  bundles: list[tuple[str, bytes]]) -> Any:
    context = _known.get(token)
    if context is None:
        kind: Any = tfhe.Context if of_tfhe else Context
        load = _native.tfhe_params_from_bytes if of_tfhe else _native.params_from_bytes
        context = _remember(kind(load(params), **options), token)
        _kept.append(context)
    here = {_tokens.get(keys) for keys in context._tenants.values()}
    for name, data in bundles:
        if name not in here:
            context.use(_load_bundle(context, name, data))
    return context


def _load_bundle(context: Any, token: str, data: bytes) -> Any:
    kind: Any = tfhe.ServerKeys if isinstance(context, tfhe.Context) else ServerKeys
    return _remember(files.from_bytes(data, context, kind=kind), token)


def reduce_context(context: Context | tfhe.Context) -> tuple[Any, ...]:
    """Pickles what a context was made from, and the bundles in use."""
    return _load_context, (*_made_from(context), [
        (_token(keys), files.to_bytes(keys)) for keys in _bundles(context)])


def _made_from(context: Any) -> tuple[bool, bytes, dict[str, Any], str]:
    of_tfhe = isinstance(context, tfhe.Context)
    if context.device == "dry":
        raise errors.UnsupportedError.explain(
            "pickle", "the context of a plan", "one with a device", "pickle the context that plans")
    if context.encrypted and not of_tfhe:
        refuse(context, "pickle")  # values next to a secret, in lt.debug
    write = _native.tfhe_params_to_bytes if of_tfhe else _native.params_to_bytes
    return of_tfhe, write(context.params), context._options(), _token(context)


def _bundles(context: Any) -> list[Any]:
    """The bundles in the order of use, so that the one that was used last is also the last one after loading."""
    if not context.encrypted:
        return []
    last = context.keys
    return [k for k in context._tenants.values() if k is not last] + ([] if last is None else [last])


def _load_session(made_from: tuple[Any, ...], bundle: tuple[str, bytes], token: str) -> Any:
    session = _known.get(token)
    if session is None:
        of_tfhe, params, options, name = made_from
        context = _load_context(of_tfhe, params, options, name, [])
        session = _remember(context.bind(_load_bundle(context, *bundle)), token)
        _kept.append(session)
    return session


def reduce_session(session: Any) -> tuple[Any, ...]:
    """Pickles the context without its own bundles, and the bundle of the session."""
    if not session.encrypted:
        return _bind_clear, (session._root,)
    return _load_session, (_made_from(session._root), (_token(session.keys), files.to_bytes(session.keys)),
                           _token(session))


def _bind_clear(context: Any) -> Any:
    """Binds a session of a context that does not encrypt. It has the context and empty keys."""
    return context.bind(keygen(context).server_keys())


def _load_params(of_tfhe: bool, data: bytes) -> Any:
    return _native.tfhe_params_from_bytes(data) if of_tfhe else _native.params_from_bytes(data)


copyreg.pickle(_native.Params, lambda p: (_load_params, (False, _native.params_to_bytes(p))))
copyreg.pickle(_native.TfheParams, lambda p: (_load_params, (True, _native.tfhe_params_to_bytes(p))))


roles.REDUCERS.update({
    Ciphertext: reduce_array, tfhe.EncryptedArray: reduce_array, ServerKeys: reduce_keys, tfhe.ServerKeys: reduce_keys,
    Context: reduce_context, tfhe.Context: reduce_context, BoundSession: reduce_session})


def _refuse_secret(thing: Any) -> NoReturn:
    roles.refuse_pickle("a client, which holds the secret key", "what may leave this process",
                        "use lt.save_secret_key and lt.load_client")


copyreg.pickle(_native.Client, _refuse_secret)
copyreg.pickle(_native.TfheClient, _refuse_secret)


def _forget_all() -> None:
    """Forgets all contexts, because a forked child cannot use those of its parent."""
    _tokens.clear()
    _known.clear()
    _kept.clear()
    _Process.contexts = ()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
