"""The public keys of several clients on one context, for both schemes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from .. import _native, arrays, errors
from . import roles
from .locks import Lock
from .naming import named


class BundleUse(NamedTuple):
    """A bundle of server keys in the store of a context.

    ``id`` of the secret key that it was made from; ``bytes`` in device memory while it is there (``resident``);
    ``host_bytes`` of its form in host memory, which is kept once made; ``pinned`` by a running operation, an evaluator
    or a recorded program; ``last_use`` in seconds since 1970, 0 for never; ``evictions`` so far.
    """

    id: str
    bytes: int
    host_bytes: int
    resident: bool
    pinned: bool
    last_use: float
    evictions: int


@dataclass(frozen=True)
class Residency:
    """Bundles of server keys on a context's device: ``bytes`` of those there now, ``host_bytes`` of forms in host
    memory, the ``budget`` in bytes (None: no limit), ``evictions`` of all bundles that are listed."""

    budget: int | None
    bundles: tuple[BundleUse, ...]

    @property
    def bytes(self) -> int:
        return sum(b.bytes for b in self.bundles if b.resident)

    @property
    def host_bytes(self) -> int:
        return sum(b.host_bytes for b in self.bundles)

    @property
    def evictions(self) -> int:
        return sum(b.evictions for b in self.bundles)


def checked_budget(budget: Any) -> int | None:
    """A number of bytes, at least 1; or None."""
    return None if budget is None else arrays.as_integer(budget, "Context", "key_budget", least=1, most=2**63 - 1)


class Tenancy:
    """Holds bundles of keys, for contexts and sessions of both schemes."""

    params: Any
    keys: Any  # the bundle that was used last
    _lock: Lock
    _store: _native.KeyStore | None  # None for a context without data, or one that does not encrypt
    _evaluator: Any  # for contexts without a store
    _tenants: dict[str, Any]  # by key id: the bundle that was used last

    def _begin_tenancy(self, store: _native.KeyStore | None) -> None:
        self.keys, self._store, self._evaluator, self._tenants, self._lock = None, store, None, {}, Lock()

    @property
    def _root(self) -> Any:
        """The context of a session; for a context, itself."""
        return self

    @property
    def resident(self) -> Residency:
        """Which bundles are in device memory, their bytes and uses. No bundles where nothing is encrypted."""
        if self._store is None:
            return Residency(None, ())
        with named("resident"):
            return Residency(self._store.budget, tuple(BundleUse(*use) for use in self._store.uses()))

    def _use(self, keys: Any, kind: type, remedy: str) -> None:
        roles.require_kind("use", keys, kind, remedy)
        roles.require_keys_of(self, keys)
        with self._lock.own:
            self._tenants[keys.id] = self.keys = keys

    def forget(self, keys: Any) -> None:
        """Ends what `use` did with this bundle: its memory is free as soon as no session and no variable refers to it.
        UnsupportedError for an object that is no bundle of keys."""
        if not hasattr(type(keys), "_new_evaluator"):
            raise errors.UnsupportedError.explain(
                "forget", f"a {type(keys).__name__}", "server keys", "pass the bundle that use() was given")
        key = keys.id
        with self._lock.own:
            if self._tenants.get(key) is keys:
                del self._tenants[key]
            if self.keys is keys:
                self.keys = None

    def _keys_for(self, key: str, operation: str) -> Any:
        """The bundle for operands under that key id. If there is none, the bundle that was used last, which raises the
        right error if keys are needed."""
        keys = self._tenants.get(key) or self.keys
        if keys is None:
            raise errors.KeyError.explain(
                operation, "a context without evaluation keys", "the public keys of a client",
                "ctx.use(keys) with what client.server_keys() gives")
        return keys

    def _evaluator_for(self, key: str) -> Any:
        """An evaluator with the keys for these operands, which stay in device memory for as long as it lives."""
        if self._evaluator is not None:
            return self._evaluator
        keys = self._tenants.get(key) or self.keys
        return self._keyless() if keys is None else keys._new_evaluator()

    def _keyless(self) -> Any:
        """The object with which operations that need no keys compute. Here it is a bundle of keys; KeyError if there is
        none."""
        return self._keys_for("", "evaluator")

    def _hold(self, key: str) -> Any:
        """Keeps the bundle for these operands in device memory for as long as the result lives."""
        return None if self._store is None else self._keys_for(key, "record")._stored.hold()

    @property
    def evaluator(self) -> Any:
        """An evaluator with the bundle that was used last. The bundle stays in device memory for as long as the
        evaluator lives."""
        return self._evaluator_for("")

    def _admit(self, operation: str, keys: Iterable[str]) -> None:
        """KeyError unless objects under these key ids may belong to this context. They all may."""


class BoundSession(Tenancy):
    """The common part of the sessions of both schemes."""

    def _bind(self, context: Any, keys: Any) -> None:
        # A session has the context's parameters, device, caches and locks, and only its keys are its own.
        self.__dict__.update(context.__dict__)
        self._context = context
        self.keys, self._tenants = keys, {keys.id: keys}

    @property
    def _root(self) -> Any:
        return self._context

    @property
    def context(self) -> Any:
        """The context that this session is on."""
        return self._context

    @property
    def key_id(self) -> str:
        """The identity of the secret key that the session's bundle was made from."""
        return str(self.keys.id)

    def _admit(self, operation: str, keys: Iterable[str]) -> None:
        for key in keys if self._store is not None else ():  # a context that does not encrypt has no keys
            if key != self.key_id:
                raise errors.KeyError.explain(
                    operation, f"an object under key {key}", f"one under the session's key {self.key_id}",
                    "use the session of the client that it is from")

    def _require_adoptable(self, x: Any) -> None:
        if x.context is not self._context:
            raise errors.ContextError.explain(
                "adopt", "a ciphertext of another session or context", "one of this session's context",
                "load its bytes with lt.from_bytes(data, session)")

    def use(self, keys: Any) -> NoReturn:
        """UnsupportedError, because a session always has the same bundle."""
        raise errors.UnsupportedError.explain(
            "use", "a session, which has its keys", "a context", "call session.context.bind(keys) for another session")

    def forget(self, keys: Any) -> NoReturn:
        """UnsupportedError, because a session keeps its keys until it ends."""
        raise errors.UnsupportedError.explain(
            "forget", "a session, which has its keys", "a context", "drop the session itself")

    def bind(self, keys: Any) -> NoReturn:
        """UnsupportedError, because sessions are made from a context."""
        raise errors.UnsupportedError.explain(
            "bind", "a session, which has its keys", "a context", "call session.context.bind(keys) for another session")

    def __reduce__(self) -> tuple[Any, ...]:
        return roles.reduced(self)

    def __repr__(self) -> str:
        return f"Session({self.params.name!r}, key {self.key_id})"
