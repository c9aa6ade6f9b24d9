"""Tenants of a service, their quotas, and their bearer tokens."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from .. import arrays, errors
from .store import Prepared, Store
from .tables import chunks, jobs, models, tenants, tokens

PREFIX = "lt_"  # prefix of a token, so that scanners for secrets find published tokens
Names = frozenset[str] | None  # names of models that a token is for; None: all
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Quota:
    """What a tenant may hold at a time. ``bytes`` of bundles, inputs and results; ``jobs`` that wait or run, and their
    predicted ``seconds``. ``weight`` of its share beside other tenants'."""

    bytes: int = 64 << 30
    jobs: int = 1000
    seconds: float = 24 * 3600.0
    weight: float = 1.0


@dataclass(frozen=True)
class Identity:
    """The sender of a request: the tenant of its token, and the models that the token is for (None: all)."""

    tenant: str
    token: str  # the hash of the token
    models: Names

    def may_use(self, model: str) -> bool:
        return self.models is None or model in self.models


@dataclass(frozen=True)
class Tenant:
    """A row for its operator. ``held``: bytes that it has stored; ``waiting``: jobs that wait or run."""

    id: str
    name: str
    quota: Quota
    tokens: int
    held: int
    waiting: int


class Tenants:
    """Adds and lists tenants, makes tokens, and finds the tenant of a token."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, name: str, quota: Quota | None = None) -> str:
        """Adds a tenant, and returns its id. ValueError for a name that is taken, or that is not a valid name."""
        quota = quota or Quota()
        require_name("tenants", name)
        weight = arrays.as_real(quota.weight, "tenants", "weight", above=0)
        id_ = secrets.token_hex(8)
        try:
            with self._store.write() as c:
                c.execute(tenants.insert().values(
                    id=id_, name=name, created=self._store.now(c), weight=weight, most_bytes=quota.bytes,
                    most_jobs=quota.jobs, most_seconds=quota.seconds, finish_tag=0.0))
        except sa.exc.IntegrityError as why:
            raise errors.ValueError.explain("tenants", f"the name {name!r}, which is taken", "a new name",
                                            "choose another") from why
        return id_

    def token(self, name: str, models: Sequence[str] | None = None, days: float = 30.0) -> str:
        """A new token of a tenant, for these models (None: all), valid for so many days. Only its hash is stored."""
        days = arrays.as_real(days, "tenants", "days", above=0)
        for model in models or ():
            require_name("tenants", model)
        text = PREFIX + secrets.token_urlsafe(32)
        with self._store.write() as c:
            now = self._store.now(c)
            c.execute(tokens.insert().values(
                hash=hashed(text), tenant=self._id(c, name), created=now, expires=now + days * 86_400,
                models=None if models is None else json.dumps(sorted(models))))
        return text

    def revoke(self, name: str) -> int:
        """Takes back all tokens of a tenant. Returns how many."""
        with self._store.write() as c:
            return int(c.execute(tokens.delete().where(tokens.c.tenant == self._id(c, name))).rowcount)

    def identify(self, token: str) -> Identity | None:
        """The tenant of a token; None for a token that does not exist or has expired."""
        with self._store.read() as c:
            row = _TOKEN.first(c, hash=hashed(token))
            if row is None or row.expires <= self._store.now(c):
                return None
        return Identity(row.tenant, row.hash, None if row.models is None else frozenset(json.loads(row.models)))

    def all(self) -> list[Tenant]:
        """A row for each tenant."""
        with self._store.read() as c:
            return [self._row(c, row) for row in c.execute(sa.select(tenants).order_by(tenants.c.name))]

    def _row(self, c: Any, row: Any) -> Tenant:
        def count(table: Any, *where: Any) -> int:
            return int(c.execute(sa.select(sa.func.count()).select_from(table).where(
                table.c.tenant == row.id, *where)).scalar())

        return Tenant(row.id, row.name, Quota(row.most_bytes, row.most_jobs, row.most_seconds, row.weight),
                      count(tokens, tokens.c.expires > self._store.now(c)), bytes_of(c, row.id),
                      count(jobs, jobs.c.state.in_(ACTIVE)))

    @staticmethod
    def _id(c: Any, name: str) -> str:
        found = c.execute(sa.select(tenants.c.id).where(tenants.c.name == name)).scalar() if is_name(name) else None
        if found is None:
            raise errors.ValueError.explain("tenants", f"no tenant {arrays.shown(name)}", "one that exists",
                                            "latticino tenants list names them")
        return str(found)


ACTIVE = ("queued", "running")  # states of jobs
_TENANT = sa.bindparam("tenant")
_TOKEN = Prepared(sa.select(tokens).where(tokens.c.hash == sa.bindparam("hash")))
_LOCKED = Prepared(sa.select(tenants).where(tenants.c.id == _TENANT).with_for_update())
_ZERO = sa.literal_column("0")
# What a tenant has stored or reserved: chunks of its bundles; inputs of jobs that have not ended, and the most that
# their results take; results.
HELD = (
    sa.select(sa.func.coalesce(sa.func.sum(chunks.c.size), _ZERO)).where(
        chunks.c.tenant == _TENANT).scalar_subquery()
    + sa.select(sa.func.coalesce(sa.func.sum(jobs.c.input_size + jobs.c.result_size), _ZERO)).where(
        jobs.c.tenant == _TENANT, jobs.c.state.in_(ACTIVE)).scalar_subquery()
    + sa.select(sa.func.coalesce(sa.func.sum(jobs.c.result_size), _ZERO)).where(
        jobs.c.tenant == _TENANT, jobs.c.result.is_not(None)).scalar_subquery())
_HELD = Prepared(sa.select(HELD.label("held")))


def locked(c: Any, tenant: str) -> Any:
    """The row of the tenant, locked until the transaction ends."""
    return _LOCKED.first(c, tenant=tenant)


def bytes_of(c: Any, tenant: str) -> int:
    """What a tenant has stored or reserved: `HELD`."""
    return int(_HELD.scalar(c, tenant=tenant))


def hashed(token: str) -> str:
    """What the store keeps of a token: a hash. A token is 256 random bits, so no slower hash is needed."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def with_model_named(column: Any, names: Names) -> tuple[Any, ...]:
    """The condition that the model, given by a column with its digest, has one of these names."""
    return () if names is None else (column.in_(sa.select(models.c.digest).where(models.c.name.in_(sorted(names)))),)


def is_name(name: object) -> bool:
    """Whether the text is a valid name of a tenant or a model. Other texts are not looked up, because the store might
    not accept them."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def require_name(operation: str, name: str) -> str:
    """ValueError unless it can name a tenant or a model."""
    if not is_name(name):
        raise errors.ValueError.explain(operation, f"the name {arrays.shown(name)}",
                                        "1 to 64 letters, digits, dots, dashes and underscores", "choose another")
    return name


# ---- the queue of all tenants ----

_TRUSTED = 1.0  # seconds for which a sum is used, because another process may have added jobs since then
_SUM = Prepared(sa.select(sa.func.coalesce(sa.func.sum(jobs.c.seconds), sa.literal_column("0.0"))).where(
    jobs.c.state.in_(ACTIVE)))


class Queued:
    """A sum over a queue of ten thousand jobs takes a millisecond, and each new job is compared with it twice.

    So an older sum is kept. With all that this process has added since, it is an upper bound: jobs that end make the
    true sum smaller. A request that this bound admits needs no new sum. ``serial``: writers of the store come one after
    the other, so that a writer's sum lacks no job of another one. Without it every sum is new.
    """

    def __init__(self, serial: bool) -> None:
        self._serial, self._lock = serial, threading.Lock()
        self._most, self._until = 0.0, 0.0

    def seconds(self, c: Any, enough: float, writes: bool) -> float:
        """The sum, or an upper bound of ``enough`` at most. ``writes``: whether ``c`` is that of a writer."""
        with self._lock:
            if time.monotonic() < self._until and self._most <= enough:
                return self._most
        found = float(_SUM.scalar(c))
        if self._serial and writes:  # a reader may see an older state, without jobs that were counted here
            with self._lock:
                self._most, self._until = found, time.monotonic() + _TRUSTED
        return found

    def add(self, seconds: float) -> None:
        """Counts a job of the current writer."""
        with self._lock:
            self._most += seconds
