"""Sessions of TFHE: contexts that are bound to the keys of one client."""

from __future__ import annotations

from typing import Any

from ..common import roles, views
from ..common.tenancy import BoundSession
from .array import EncryptedArray
from .context import Context


class Session(BoundSession, Context):
    """One client's keys on a context: ``ctx.bind(keys)``, as ``lt.Session`` of CKKS."""

    def __init__(self, context: Context, keys: Any) -> None:
        self._bind(context, keys)

    def adopt(self, x: EncryptedArray) -> EncryptedArray:
        """An array of the session's context as one of the session; no copy. KeyError where another key made it,
        ContextError for one of another session."""
        roles.require_kind("adopt", x, EncryptedArray, "encrypt or load one first")
        if x.context is self:
            return x
        self._require_adoptable(x)
        if self.encrypted:
            self._admit("adopt", [p.key for p in x._parts])
        return type(x)(self, x._parts, x.shape, x.bits)

    def _repr_html_(self) -> str:
        return views.tfhe_context(self, f"TFHE session of key {self.key_id}")

    __call__ = adopt
