"""Sessions: contexts that are bound to the keys of one client."""

from __future__ import annotations

from typing import Any

from ..common import roles, views
from ..common.tenancy import BoundSession
from .ciphertext import Ciphertext
from .context import Context


class Session(BoundSession, Context):
    """One client's keys on a context: ``ctx.bind(keys)``.

    Takes the place of a context: ``encrypt`` (with the bundle's public key), ``plan``, ``lt.from_bytes(data, session)``
    and so on. Ciphertexts that it makes, loads or adopts belong to it, and operations on them use its bundle only: a
    ciphertext under another key is a KeyError, one of another session or of the context itself beside them a
    ContextError. Sessions share the context's device, constants and memory budget, and may be used side by side in
    threads.
    """

    def __init__(self, context: Context, keys: Any) -> None:
        self._bind(context, keys)

    def adopt(self, x: Ciphertext) -> Ciphertext:
        """A ciphertext of the session's context as one of the session; no copy. KeyError where another key made it,
        ContextError for one of another session."""
        roles.require_kind("adopt", x, Ciphertext, "encrypt or load one first")
        if x.context is self:
            return x
        self._require_adoptable(x)
        self._admit("adopt", [p.key for p in x._parts])
        return Ciphertext(self, x._parts, x.layout, x._known)

    def _repr_html_(self) -> str:
        return views.context(self, f"Session of key {self.key_id}")

    __call__ = adopt
