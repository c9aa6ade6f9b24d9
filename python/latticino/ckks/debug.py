"""For debugging: contexts that do not encrypt, and contexts that check the error of every result."""

from __future__ import annotations

import math
import threading
import warnings
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NoReturn, cast
from weakref import WeakKeyDictionary

import numpy as np

from .. import arrays, errors
from ..common import display, roles
from ..common.naming import caller, public
from .ciphertext import Ciphertext
from .client import Client, ServerKeys, SharedValues
from .context import Context
from .encrypting import encrypted_array

_MEAN_SLACK = 3.0  # bits by which an error may exceed its claim before it is reported


class SecretWarning(UserWarning):
    """A secret key, or values in the clear, are in a process that should not keep them."""


class NotEncryptedClient(Client):
    """The client of a context that does not encrypt. It has no key, and values are readable by anyone."""

    def __init__(self, context: Context) -> None:
        self.context = context

    @property
    def key_id(self) -> str:
        """There is no key, so this is None."""
        return "not-encrypted"

    def __repr__(self) -> str:
        return f"Client({self.context.params.name!r}, NOT ENCRYPTED)"

    def server_keys(self, *what: Any, public: bool = False, show: bool | None = None) -> ServerKeys:
        """Returns empty keys. Programs are planned as they would be for real keys."""
        if what and callable(what[0]):
            self.context.plan(what[0], *what[1:])
        return NotEncryptedKeys(self.context)

    @public
    def encrypt(self, x: Any, level: int | None = None, scale: float | None = None, *, range: Any = None,
                like: Any = None) -> Ciphertext:
        """Works like the client of another device, but the values are in the clear, with the level and scale that a
        ciphertext would have."""
        return encrypted_array(self.context, x, level, scale, lambda batch: [], False, range, like)

    @public
    def decrypt(self, x: Ciphertext) -> arrays.PrivateArray:
        """The values with the errors that they would have."""
        if not isinstance(x, Ciphertext):
            raise errors.ShapeError.explain(
                "decrypt", f"a {type(x).__name__}", "a Ciphertext", "encrypt or compute one first")
        if x.context._root is not self.context._root:
            raise errors.ContextError.explain(
                "decrypt", "a ciphertext of another context", "one of this client's", "use the client of that context")
        sample = cast(np.ndarray, x._known.sample)  # there is always one on a context that does not encrypt
        values = np.array(sample[1]).reshape(x.shape)
        return (values.real.copy() if x.dtype.kind == "f" else values).view(arrays.PrivateArray)

    @public
    def decrypt_for_sharing(self, x: Ciphertext, noise_bound: float | None, queries: int,
                            statistical_bits: int = 30) -> SharedValues:
        """UnsupportedError, because nothing is encrypted here."""
        raise errors.UnsupportedError.explain(
            "decrypt_for_sharing", "values that are not encrypted", "encrypted ones", "take a device that encrypts")


class NotEncryptedKeys(ServerKeys):
    """Stands for server keys on a context that does not encrypt."""

    def __init__(self, context: Context) -> None:
        self._context, self._sets, self._public = context._root, [], False

    def _repr_html_(self) -> str:
        return display.facts("Server keys", [("parameters", self._context.params.name), ("memory", "none")],
                             ["NOT ENCRYPTED: values in the clear, for debugging"])

    @property
    def bytes(self) -> int:
        return 0

    @property
    def labels(self) -> list[Any]:
        return []

    @property
    def params_hash(self) -> str:
        return str(self._context.params.hash)

    @property
    def id(self) -> str:
        """There is no key, so this is None."""
        return "not-encrypted"

    def missing(self, plan: Any) -> list[Any]:
        return []


class _Debugger:
    """Decrypts results and compares them with the same operations on the true values."""

    def __init__(self, context: Context, client: Client) -> None:
        self.context, self.client = context, client
        self.checked = 0

    def values(self, x: Ciphertext) -> np.ndarray:
        return x.layout.read(np.concatenate(self.client._native.decrypt(x._parts)))

    def followed(self, x: Ciphertext) -> Ciphertext:
        """Arrays with their true values: the values that operations computed, or the decrypted values if there are
        none. Arrays that other clients encrypted are left as they are."""
        if self.context._native.recording or x._key != self.client.key_id:
            return x
        actual = self.values(x)
        known = x._known
        if not known.shadow or known.sample is None:
            x._known = known.following(actual.astype(complex))
            return x
        self.checked += 1
        error = np.abs(actual - known.sample[0].reshape(actual.shape))
        claimed = known.errors(x.size, x._full)
        if error.mean() > 2**_MEAN_SLACK * claimed[0] and error.max() > 2**_MEAN_SLACK * claimed[1]:
            operation, _, frame = caller()
            where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
            at = int(error.reshape(-1).argmax())
            raise errors.PrecisionError.explain(
                operation, f"a mean error of 2^{math.log2(error.mean()):.1f}, largest at index {at} ({where})",
                f"2^{math.log2(claimed[0]) if claimed[0] > 0 else -math.inf:.1f}, as claimed ({known.within()})",
                "state the true range of the values, scale them into the message box, or report this")
        return x


def debug(context: Context, client: Client) -> AbstractContextManager[bool]:
    """Checks every operation of a context on true values: ``with lt.debug(ctx, client): ...``.

    Every result is decrypted with the client's key and compared with the same operation in the clear. The first one
    whose error exceeds its claim by more than 3 bits raises PrecisionError, which names the operation and the line.
    Tables check that values lie within their bound (ValueError). Recorded programs run their function, so that each of
    its operations is checked. A SecretWarning reminds that a secret is present; nothing can be saved inside
    (UnsupportedError).
    """
    roles.require_kind("debug", context, Context, "pass the context to debug")
    roles.require_kind("debug", client, Client, "pass the client that encrypted the values")
    if not context.encrypted:
        raise errors.UnsupportedError.explain(
            "debug", "a context that does not encrypt", "one that does",
            "read its values directly: they are in the clear")
    if client.context is not context:
        raise errors.ContextError.explain("debug", "a client of another context", "this context's", "pass that client")
    if context._debugger is not None:
        raise errors.UnsupportedError.explain("debug", "a context that is being debugged", "another one",
                                              "leave the outer block first")
    warnings.warn("debug: the secret key decrypts while the server's program runs; use it on a client's machine only",
                  SecretWarning, stacklevel=caller()[1])
    # The context is debugged while this lock is held. `with` takes and releases it in one step each. In a function
    # of ours that ends the block, an interrupt could come before its first line, and debugging would stay on.
    block = threading.Lock()
    context._root._debugging = WeakKeyDictionary({block: _Debugger(context, client)})
    return block


def refuse(context: Context, operation: str) -> None:
    """UnsupportedError for anything that must not leave this process: values in the clear, or values next to a secret.
    """
    if not context.encrypted:
        _refuse(operation, "values that are not encrypted", 'take a device that encrypts ("cpu" or "cuda")')
    if context._debugger is not None:
        _refuse(operation, "a context that is being debugged with the secret key", "save outside of lt.debug")


def _refuse(operation: str, had: str, remedy: str) -> NoReturn:
    raise errors.UnsupportedError.explain(operation, had, "ciphertexts alone", remedy)
