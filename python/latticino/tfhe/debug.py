"""The objects of a context that does not encrypt: arrays in the clear, with names that say so."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .. import errors
from . import engine, types
from .array import EncryptedArray
from .client import Client, ServerKeys

if TYPE_CHECKING:
    from .context import Context


class NotEncryptedArray(EncryptedArray):
    """Values **in the clear** where an EncryptedArray would be: for debugging at full speed.

    Same operations, results and errors, but those of keys and noise. Files and bytes of it are refused,
    so that it is never sent in place of a ciphertext.
    """

    __slots__ = ()

    @property
    def values(self) -> np.ndarray:
        """The values, which anybody can read."""
        return np.asarray(self._parts.values.astype(types.numpy_type(self.bits)).reshape(self.shape))

    @property
    def nbytes(self) -> int:
        """Bytes of host memory of the values."""
        return int(self._parts.values.nbytes)

    @property
    def log_failure(self) -> float:
        """Minus infinity: without encryption nothing fails."""
        return -math.inf

    def __repr__(self) -> str:
        return f"NotEncryptedArray({self.values}, {self.dtype})  # NOT ENCRYPTED"


class NotEncryptedClient(Client):
    """The client of a context that does not encrypt. It has no key, and values are readable by anyone."""

    def __init__(self, context: Context) -> None:
        super().__init__(context, None)

    @property
    def key_id(self) -> str:
        """A fixed name: there is no key that could have an identity."""
        return "not-encrypted"

    def server_keys(self, *, public: bool = False, show: bool | None = None) -> ServerKeys:
        """Empty keys, because nothing is encrypted."""
        return NotEncryptedKeys(self.context)

    def _encrypt(self, values: np.ndarray, bits: int) -> engine.Values:
        return engine.Values(values, bits)

    def _decrypt(self, parts: engine.Values) -> np.ndarray:
        return parts.values


class NotEncryptedKeys(ServerKeys):
    """Stands for server keys on a context that does not encrypt."""

    def __init__(self, context: Context) -> None:
        super().__init__(context, None)

    @property
    def bytes(self) -> int:
        return 0

    @property
    def params_hash(self) -> str:
        return str(self._context.params.hash)

    @property
    def has_public_key(self) -> bool:
        """True, because no public key is needed."""
        return True

    @property
    def id(self) -> str:
        """A fixed name, the same as `NotEncryptedClient.key_id`: there is no key that could have an identity."""
        return "not-encrypted"


def refuse(context: Context, operation: str) -> None:
    """UnsupportedError for values that are not encrypted, because elsewhere they could be taken for ciphertexts."""
    if not context.encrypted:
        raise errors.UnsupportedError.explain(
            operation, "values that are not encrypted", "encrypted ones",
            'take a device that encrypts ("cpu" or "cuda") for what leaves this process')
