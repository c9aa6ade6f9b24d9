"""The two roles of TFHE: a client that holds the secret key, and what a server computes with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .. import _native, arrays, errors
from ..claims.measured import TfheNoise
from ..common import roles, views
from ..common.naming import public
from ..common.progress_bar import Task, as_shown
from . import notebook, types
from .array import EncryptedArray

if TYPE_CHECKING:
    from .context import Context


class ServerKeys(roles.Handle):
    """Bootstrapping and key-switching keys: all that a server may know. It cannot decrypt.

    One set of keys serves every program. ``bytes``: what they take in device memory, with the second
    form that FP64 arithmetic makes at its first bootstrapping; files of them are a half or less of what
    the exact arithmetic takes.
    """

    def __init__(self, context: Context, native: Any) -> None:
        self._context = context._root
        self._bytes: int
        self._id: str
        self._params_hash: str
        if native is None:
            return
        self._bytes, self._id = native.device_bytes(context._native), native.id
        self._params_hash = native.params_hash
        self._stored = self._context._store.add_tfhe(context._native, native)

    @property
    def _native(self) -> Any:
        # keys may be in host memory: this brings them back, and keeps them on the device while they are used
        return self._stored.keys

    def _new_evaluator(self) -> Any:
        return self._stored.evaluator

    @property
    def bytes(self) -> int:
        return self._bytes

    @property
    def params_hash(self) -> str:
        return self._params_hash

    @property
    def has_public_key(self) -> bool:
        """Whether the bundle has a public key (``server_keys(public=True)``)."""
        return bool(self._native.has_public_key)

    @property
    def id(self) -> str:
        """The identity of the secret key that these keys were made from."""
        return self._id

    def __repr__(self) -> str:
        return f"ServerKeys({self._context.params.name!r}, {self.bytes / 2**20:.0f} MiB)"

    def _repr_html_(self) -> str:
        return notebook.server_keys(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return roles.reduced(self)


class Client(roles.Handle):
    """The key's owner: generates keys, encrypts and decrypts. Made by ``lt.keygen(ctx)``.

    Threads of one process may share it. Never send it to a server.
    """

    def __init__(self, context: Context, native: _native.TfheClient | None) -> None:
        if native is not None:
            roles.require_secret(native, _native.TfheClient)
            context._admit("client", [native.key_id])
        self.context = context
        self._native: Any = native  # None on a context that does not encrypt

    @property
    def key_id(self) -> str:
        """The identity of the secret key. Every ciphertext and key that was made under it has the same id."""
        return str(self._native.key_id)

    def __repr__(self) -> str:
        return f"Client({self.context.params.name!r}, key {self.key_id})"

    def _repr_html_(self) -> str:
        return views.client(self)

    def __reduce__(self) -> NoReturn:
        roles.refuse_pickle("a client, which holds the secret key", "what may leave this process",
                            "use lt.save_secret_key and lt.load_client")

    def server_keys(self, *, public: bool = False, show: bool | None = None) -> ServerKeys:
        """The keys that a server needs, the same for every program.

        ``public``: with a public key, by which the server encrypts (``ctx.encrypt``) and re-randomises
        ciphertexts. ``show`` decides on a progress bar (None: what `lt.progress` says).
        """
        public = arrays.as_flag(public, "server_keys", "public")
        with Task("generating keys", self.context.params.lwe_dimension, as_shown(show)) as step:

            def report(done: int, total: int) -> None:
                step.advance(done * self.context.params.lwe_dimension // total - step.done)

            native = self._native.server_keys(report, public)
        return ServerKeys(self.context, native)

    @public
    def encrypt(self, x: Any, dtype: types.Type | None = None) -> EncryptedArray:
        """Encrypts booleans or unsigned integers of any shape.

        ``dtype``: ``"bool"``, ``"u2"`` to ``"u64"``, ``"m4"``, or one of numpy's; left out, that of an array of
        bool or uint8 to uint64. Files of fresh encryptions store one word per block and a seed for the others.

        Raises ParameterError for types that the set does not hold, ValueError for values that the type
        does not, ShapeError for real numbers.
        """
        values, bits = types.of_type(x, dtype, self.context.params, "encrypt")
        return self.context._array(self._encrypt(values.reshape(-1), bits), values.shape, bits)

    @public
    def decrypt(self, x: EncryptedArray) -> np.ndarray:
        """The values, of the array's shape, in the smallest of numpy's types that holds them.

        They are exact, without the noise of a CKKS decryption. They are not safe to share with somebody who chose the
        inputs (docs/security.md). KeyError if another key made it, LevelError if the noise that a ciphertext claims
        makes a wrong value more likely than the set states.
        """
        if not isinstance(x, EncryptedArray):
            raise errors.ShapeError.explain(
                "decrypt", f"a {type(x).__name__}", "an EncryptedArray", "encrypt or compute one first")
        if x.context._root is not self.context._root:
            raise errors.ContextError.explain(
                "decrypt", "an array of another context", "this client's context",
                "use the client that was made for that context")
        return self._decrypt(x._parts).astype(types.numpy_type(x.bits)).reshape(x.shape)

    @public
    def noise(self, x: EncryptedArray) -> TfheNoise:
        """The noise that the ciphertexts of an array really have, beside the noise that they claim; for the owner of
        the key only. The result is marked as not to be shared. Raises as `decrypt`; UnsupportedError if nothing is
        encrypted."""
        self.decrypt(x)  # raises for arrays of another context or key
        if not x.context.encrypted:
            raise errors.UnsupportedError.explain(
                "noise", "values in the clear", "an encrypted array", "take a device that encrypts")
        params = x.context.params
        variance, _ = params.variances(x.context.arithmetic != "exact")
        error = np.concatenate([self._native.errors(p) for p in x._parts])
        padding = 1 if x.bits < 0 else 2
        margin = 0.125 if params.booleans else 2.0 ** -(params.message_bits + params.carry_bits + padding)
        return TfheNoise(error, math.sqrt(max(p.norm2 for p in x._parts) * variance), margin)

    def _encrypt(self, values: np.ndarray, bits: int) -> Any:
        return self._native.encrypt(values, bits)

    def _decrypt(self, parts: Any) -> np.ndarray:
        return np.asarray(self._native.decrypt(parts))
