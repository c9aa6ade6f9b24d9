"""New secret keys, of either scheme."""

from __future__ import annotations

from typing import overload

from . import _native, tfhe
from .ckks.client import Client
from .ckks.context import Context
from .ckks.debug import NotEncryptedClient
from .common import roles
from .tfhe.debug import NotEncryptedClient as NotEncryptedTfheClient


@overload
def keygen(context: Context) -> Client: ...


@overload
def keygen(context: tfhe.Context) -> tfhe.Client: ...


def keygen(context: Context | tfhe.Context) -> Client | tfhe.Client:
    """A new secret key for the context's parameters, from the operating system's randomness."""
    if isinstance(context, tfhe.Context):
        if not context.encrypted:
            return NotEncryptedTfheClient(context)
        roles.warn_of_security("keygen", context.params)
        return tfhe.Client(context, _native.TfheClient(context._native))
    roles.require_kind("keygen", context, Context, "make one with lt.Context(preset), or lt.tfhe.Context(preset)")
    if not context.encrypted:
        return NotEncryptedClient(context)
    roles.warn_of_security("keygen", context.params)
    return Client(context, _native.Client(context._native))
