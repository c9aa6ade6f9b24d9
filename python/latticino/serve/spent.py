"""Idempotency keys whose jobs no longer have a row. A recorded request may be sent again as long as its token is valid,
which is longer than the row of a job is kept."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from .refusals import Refused
from .store import Prepared, Store
from .tables import jobs, spent, tokens
from .tenants import ACTIVE

BATCH = 500  # rows of one transaction, so that other writers can write in between
_AT = sa.bindparam
_SPENT = Prepared(sa.select(spent).where(spent.c.tenant == _AT("tenant"), spent.c.idempotency == _AT("key")))
_LAST = Prepared(sa.select(sa.func.max(tokens.c.expires)).where(
    tokens.c.tenant == _AT("tenant"), tokens.c.expires > _AT("now")))
_PROLONGED = Prepared(spent.update().where(
    spent.c.tenant == _AT("of"), spent.c.idempotency == _AT("key"), spent.c.until < _AT("last")).values(
    until=_AT("last")))


class Spent:
    """The spent keys in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def refuse(self, c: Any, tenant: str, key: str) -> None:
        """Refused (410) for a key that is spent. It stays so while a token lives that may have sent it just now."""
        row = self._row(c, tenant, key)
        if row is None:
            return
        last = _LAST.scalar(c, tenant=tenant, now=self._store.now(c))
        if last is not None and last > row.until:
            with self._store.write() as writer:
                _PROLONGED.change(writer, of=tenant, key=key, last=last)
        raise _gone(row)

    def refuse_in(self, c: Any, tenant: str, key: str) -> None:
        """The same in a transaction that writes and that the refusal undoes: for requests that `refuse` has accepted.
        """
        row = self._row(c, tenant, key)
        if row is not None:
            raise _gone(row)

    def take(self, before: float) -> None:
        """Deletes the rows of jobs that ended before that time. Their keys are spent until the last token of their
        tenants that is valid now has expired."""
        old = sa.select(jobs.c.id).where(jobs.c.state.not_in(ACTIVE), jobs.c.finished < before).limit(BATCH)
        while ids := self._found(old):
            with self._store.write() as c:
                last = sa.select(tokens.c.tenant, sa.func.max(tokens.c.expires).label("until")).where(
                    tokens.c.expires > self._store.now(c)).group_by(tokens.c.tenant).subquery()
                these = jobs.c.id.in_([row.id for row in ids])
                c.execute(spent.insert().from_select(
                    ["tenant", "idempotency", "job", "until"],
                    sa.select(jobs.c.tenant, jobs.c.idempotency, jobs.c.id, last.c.until).join(
                        last, last.c.tenant == jobs.c.tenant).where(these)))
                c.execute(jobs.delete().where(these))

    def sweep(self, now: float) -> None:
        """Deletes keys that no token can send any more."""
        name, late = (spent.c.tenant, spent.c.idempotency), spent.c.until < now
        while old := self._found(sa.select(*name).where(late).limit(BATCH)):
            with self._store.write() as c:
                c.execute(spent.delete().where(sa.tuple_(*name).in_([tuple(row) for row in old]), late))

    def _found(self, query: Any) -> list[Any]:
        with self._store.read() as c:
            return list(c.execute(query).all())

    @staticmethod
    def _row(c: Any, tenant: str, key: str) -> Any:
        return _SPENT.first(c, tenant=tenant, key=key)


def _gone(row: Any) -> Refused:
    return Refused.of(410, "jobs", f"an idempotency key whose job {row.job} has ended, and whose state is deleted",
                      "a key for each request", "make a new key if you want a new job")
