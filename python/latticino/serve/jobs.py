"""The queue of jobs: rules for adding jobs, for giving them to workers, and for what follows.

A job is *queued*, then *running* under the lease of one worker, then *done*, *failed*, *cancelled*, *expired* (its
deadline has passed) or *poisoned* (its workers died three times). A worker renews its lease. Where it stops, another
one takes the job. Every change by a worker names its lease, so one whose lease has lapsed changes nothing any more.

Tenants share the workers by start-time fair queueing (Goyal, Vin, Cheng, 1996). A job's start tag is the finish tag of
its tenant's job before it, or the clock where that is later; its finish tag lies the predicted seconds, divided by the
tenant's weight, behind. The smallest start tag runs first, and the clock is the start tag of the job that was taken
last.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import sqlalchemy as sa

from .manifest import is_hash
from .models import Facts
from .refusals import Refused, not_found
from .spent import Spent
from .store import Prepared, Store
from .tables import bundles, facts, jobs, models, storable, tenants, workers
from .tenants import ACTIVE, HELD, Names, Queued, bytes_of, locked, with_model_named

Ended = Literal["done", "failed", "cancelled", "expired", "poisoned"]
Verdict = Literal["go on", "cancel", "late", "lost"]

LEASE = 30.0  # in seconds
RENEWAL = 10.0
ATTEMPTS = 3  # tries of a job
SEEN = 30.0  # seconds since a worker last reported
_ID = re.compile(r"[0-9a-f]{32}")  # the form of a job's id
_KEPT = 3600.0  # seconds before and after now: a clock that was set back leaves rows that lie ahead
_WINDOW = 16  # candidates that a claim looks at
_NEAR = 2.0  # predicted seconds by which a job whose keys are loaded may overtake others

_AT, _TOTAL = sa.bindparam, sa.func.coalesce(sa.func.sum(jobs.c.seconds), sa.literal_column("0.0"))
_BY_KEY = Prepared(sa.select(jobs).where(jobs.c.tenant == _AT("tenant"), jobs.c.idempotency == _AT("key")))
_ONE = sa.select(jobs).where(jobs.c.id == _AT("id"), jobs.c.tenant == _AT("tenant"))
_JOB, _LOCKED_JOB = Prepared(_ONE), Prepared(_ONE.with_for_update())
_NAME_OF = Prepared(sa.select(models.c.name).where(models.c.digest == _AT("digest")))
_BEFORE = Prepared(sa.select(_TOTAL).where(jobs.c.state.in_(ACTIVE), jobs.c.start_tag < _AT("tag")))
_TENANT = Prepared(sa.select(tenants).where(tenants.c.id == _AT("tenant")))
_MODEL = Prepared(sa.select(models).where(models.c.digest == _AT("digest")))
_STATE = sa.select(bundles.c.state).where(
    bundles.c.tenant == _AT("tenant"), bundles.c.model == _AT("model"), bundles.c.hash == _AT("hash"))
_BUNDLE, _LOCKED_BUNDLE = Prepared(_STATE), Prepared(_STATE.with_for_update())
_COUNTED = sa.select(sa.func.count()).select_from(workers).where(workers.c.seen.between(_AT("first"), _AT("last")))
_ALIVE = Prepared(_COUNTED)
_OWN = (jobs.c.tenant == _AT("tenant"), jobs.c.state.in_(ACTIVE))
_WITH_INPUT = Prepared(sa.select(jobs.c.id).where(*_OWN, jobs.c.input == _AT("hash")).limit(1))
# The limits for a request, apart from the queue of all tenants.
_LOAD = Prepared(sa.select(
    sa.select(sa.func.count()).select_from(jobs).where(*_OWN).scalar_subquery().label("active"),
    sa.select(_TOTAL).where(*_OWN).scalar_subquery().label("seconds"),
    HELD.label("held"), _COUNTED.scalar_subquery().label("alive")))
_CLOCK = Prepared(sa.select(facts.c.value).where(facts.c.name == "clock"))
_ADDED = Prepared(jobs.insert().values({name: _AT(name) for name in (
    "id", "tenant", "idempotency", "model", "bundle", "input", "input_size", "final", "result_size", "seconds",
    "start_tag", "created", "deadline")} | {"state": "queued", "attempts": 0, "progress": 0.0, "cancel": False}))
_TAGGED = Prepared(tenants.update().where(tenants.c.id == _AT("tenant")).values(finish_tag=_AT("tag")))
_CLAIMED = Prepared(jobs.update().where(jobs.c.id == _AT("job")).values(
    state="running", attempts=_AT("tries"), lease=_AT("held"), lease_until=_AT("until"), progress=0.0))
_LATER = Prepared(facts.update().where(facts.c.name == "clock", facts.c.value < _AT("tag")).values(value=_AT("tag")))
_USED = Prepared(bundles.update().where(
    bundles.c.tenant == _AT("of"), bundles.c.model == _AT("for"), bundles.c.hash == _AT("named")).values(
    used=_AT("now")))
_DONE = Prepared(jobs.update().where(
    jobs.c.id == _AT("job"), jobs.c.state == "running", jobs.c.lease == _AT("held")).values(
    state="done", finished=_AT("now"), lease=None, lease_until=None, result=_AT("file"), result_size=_AT("size"),
    progress=1.0, real_seconds=_AT("took")))
_LEARNT = Prepared(models.update().where(models.c.digest == _AT("model")).values(
    seconds=0.8 * models.c.seconds + 0.2 * _AT("took", type_=sa.Double)))


@lru_cache(maxsize=64)
def _latest_of(names: Names) -> Prepared:
    """The latest jobs of a tenant, of models with these names."""
    return Prepared(sa.select(jobs).where(
        jobs.c.tenant == _AT("tenant"), *with_model_named(jobs.c.model, names)).order_by(
        jobs.c.created.desc(), jobs.c.id).limit(_AT("most")))


@lru_cache(maxsize=64)
def _candidates_of(digests: tuple[str, ...]) -> tuple[Prepared, Prepared]:
    """The first waiting job of some models, and the first whose worker has died, within their deadlines."""
    gone = (jobs.c.state == "running", jobs.c.attempts < ATTEMPTS, sa.not_(jobs.c.cancel), sa.or_(
        jobs.c.lease_until < _AT("now"), jobs.c.lease_until > _AT("longest")))
    columns = [jobs.c[name] for name in ("id", "tenant", "model", "bundle", "input", "final", "deadline", "attempts",
                                         "start_tag")]
    queued, lapsed = (Prepared(sa.select(*columns).where(
        *where, jobs.c.model.in_(digests), sa.or_(jobs.c.deadline.is_(None), jobs.c.deadline >= _AT("now")),
    ).order_by(jobs.c.start_tag, jobs.c.id).limit(_WINDOW).with_for_update(skip_locked=True))
        for where in ((jobs.c.state == "queued",), gone))
    return queued, lapsed


@dataclass(frozen=True)
class Limits:
    """Of all tenants together: predicted ``seconds`` that may wait for each worker; for how long results stay, and the
    rows of jobs. A repeated request gets the job itself for as long; after that it is refused (`spent`)."""

    seconds: float = 3600.0
    keep_results: float = 86_400.0
    keep_rows: float = 7 * 86_400.0


@dataclass(frozen=True)
class Request:
    """A job to be. ``idempotency``: the same key asks for the same job again. ``input``: SHA-256 of the body, whose
    bytes are stored. ``final``: the result is cut to what its owner needs to decrypt it. ``deadline``: seconds from
    now."""

    idempotency: str
    model: str
    bundle: str
    input: str
    input_size: int
    final: bool = True
    deadline: float | None = None


@dataclass(frozen=True)
class Claim:
    """A job under a lease of its worker."""

    id: str
    tenant: str
    model: str
    bundle: str
    input: str
    final: bool
    deadline: float | None
    lease: str
    attempt: int


class Jobs:
    """The queue in a store."""

    def __init__(self, store: Store, limits: Limits | None = None) -> None:
        self._store, self.limits, self._queued = store, limits or Limits(), Queued(store.sqlite)
        self._spent = Spent(store)

    # ---- for tenants ----

    def preview(self, tenant: str, idempotency: str, model: str, bundle: str, input_size: int) -> tuple[bool, int]:
        """Refuses a request as `submit` would, before its body is read. Passes if its key has already made a job.

        Returns whether it has, and how many bytes of its quota the tenant has left."""
        with self._store.read() as c:
            owner = _TENANT.first(c, tenant=tenant)
            if _BY_KEY.first(c, tenant=tenant, key=idempotency) is not None:
                return True, owner.most_bytes - bytes_of(c, tenant)
            self._spent.refuse(c, tenant, idempotency)
            row = self._require_ready(c, tenant, model, bundle)
            return False, self._require_room(c, owner, row, input_size)

    def known(self, tenant: str, request: Request) -> Any | None:
        """The row of the job that the request's key has made; None for a new key. Refused (409) if it asked for
        something else."""
        with self._store.read() as c:
            return self._known(c, tenant, request)

    def submit(self, tenant: str, request: Request) -> tuple[Any, bool]:
        """The row of the job, and whether it is new.

        Refused: 404 without such a bundle, 409 while it is not ready or for a key that asked for something else, 410
        for a retired model or a key whose job has no row any more, 429 where a quota or the queue is full.
        """
        with self._store.write() as c:
            owner = locked(c, tenant)
            row = self._known(c, tenant, request)
            if row is not None:
                return row, False
            self._spent.refuse_in(c, tenant, request.idempotency)
            model = self._require_ready(c, tenant, request.model, request.bundle, lock=True)
            self._require_room(c, owner, model, request.input_size, writes=True)
            now, clock = self._store.now(c), self._clock(c)
            tag = max(clock, owner.finish_tag)
            _TAGGED.change(c, tenant=tenant, tag=tag + model.seconds / owner.weight)
            self._queued.add(model.seconds)
            _ADDED.change(c, id=secrets.token_hex(16), tenant=tenant, idempotency=request.idempotency,
                          model=request.model, bundle=request.bundle, input=request.input,
                          input_size=request.input_size, final=request.final,
                          result_size=Facts.read(model.facts).result_bytes, seconds=model.seconds, start_tag=tag,
                          created=now, deadline=None if request.deadline is None else now + request.deadline)
            return self._known(c, tenant, request), True

    def needs_input(self, tenant: str, hash_: str) -> bool:
        """Whether a job that waits or runs has this input."""
        with self._store.read() as c:
            return _WITH_INPUT.first(c, tenant=tenant, hash=hash_) is not None

    def get(self, tenant: str, id_: str, names: Names = None) -> Any:
        """The row of a job; Refused (404) for what the tenant has not made, or not of a model with these ``names``."""
        with self._store.read() as c:
            return _one(c, tenant, id_, names)

    def states(self, ids: Collection[str]) -> dict[str, str]:
        """The states of jobs of any tenants."""
        with self._store.read() as c:
            rows = c.execute(sa.select(jobs.c.id, jobs.c.state).where(jobs.c.id.in_(_padded_to_power_of_two(ids))))
            return {row.id: row.state for row in rows}

    def latest(self, tenant: str, names: Names = None, most: int = 100) -> list[Any]:
        """The rows of a tenant's latest jobs, of models with these ``names``."""
        with self._store.read() as c:
            return _latest_of(names).rows(c, tenant=tenant, most=most)

    def cancel(self, tenant: str, id_: str, names: Names = None) -> Any:
        """Cancels a job that waits. Asks the worker of a job that runs to stop. Deletes the result of a job that has
        ended. Returns the row after that. Refused as of `get`."""
        with self._store.write() as c:
            owner = locked(c, tenant)
            row = _one(c, tenant, id_, names, lock=True)
            if row.state == "queued":
                self._end(c, row.id, "cancelled")
                c.execute(tenants.update().where(tenants.c.id == tenant).values(
                    finish_tag=owner.finish_tag - row.seconds / owner.weight))  # it has used nothing of its share
            elif row.state == "running":
                c.execute(jobs.update().where(jobs.c.id == id_).values(cancel=True))
            else:
                c.execute(jobs.update().where(jobs.c.id == id_).values(result=None, result_size=0))
            return _one(c, tenant, id_)

    def seconds_before(self, row: Any) -> float:
        """Predicted seconds until a job that waits begins: those of all jobs before it, shared by the workers."""
        with self._store.read() as c:
            before = _BEFORE.scalar(c, tag=row.start_tag)
            return float(before) / max(self.workers_alive(c), 1)

    # ---- for workers ----

    def claim(self, models_: Collection[str], resident: Collection[tuple[str, str, str]] = (),
              likely: bool = False) -> Claim | None:
        """The next job for a worker that has these models, or None. ``resident``: bundles, as (tenant, model, hash),
        that it has on its device: their jobs go ahead of others by up to `_NEAR` seconds of the clock. ``likely``:
        there was a job a moment ago, so that it is not worth a look first whether there is one."""
        if not likely:
            with self._store.read() as c:
                if not self._candidates(c, models_):  # most calls of an idle worker end here, without a lock
                    return None
        with self._store.write() as c:
            now = self._store.now(c)
            rows = self._candidates(c, models_)
            if not rows:
                return None
            near = [r for r in rows if r.start_tag <= rows[0].start_tag + _NEAR]
            row = next((r for r in near if (r.tenant, r.model, r.bundle) in resident), rows[0])
            lease = secrets.token_hex(16)
            _CLAIMED.change(c, job=row.id, tries=row.attempts + 1, held=lease, until=now + LEASE)
            _LATER.change(c, tag=row.start_tag)
            _USED.change(c, **{"of": row.tenant, "for": row.model, "named": row.bundle, "now": now})
        return Claim(row.id, row.tenant, row.model, row.bundle, row.input, row.final, row.deadline, lease,
                     row.attempts + 1)

    def renew(self, claim: Claim, progress: float) -> Verdict:
        """Holds a job for another `LEASE` seconds, and says whether to go on."""
        with self._store.write() as c:
            now = self._store.now(c)
            held = c.execute(jobs.update().where(*_held(claim)).values(lease_until=now + LEASE, progress=progress))
            if not held.rowcount:
                return "lost"
        return self.verdict(claim)

    def verdict(self, claim: Claim) -> Verdict:
        """Whether the worker of a job should continue with it."""
        with self._store.read() as c:
            row = c.execute(sa.select(jobs.c.cancel).where(*_held(claim))).first()
            if row is None:
                return "lost"
            if row.cancel:
                return "cancel"
            return "late" if claim.deadline is not None and self._store.now(c) > claim.deadline else "go on"

    def finish(self, claim: Claim, result: str, size: int, real_seconds: float) -> bool:
        """Ends a job with a result, whose blob is already stored. Returns False if another worker has the job; then
        nothing changes."""
        with self._store.write() as c:
            done = _DONE.change(c, job=claim.id, held=claim.lease, now=self._store.now(c), file=result, size=size,
                                took=real_seconds)
            if done:
                _LEARNT.change(c, model=claim.model, took=real_seconds)
            return bool(done)

    def end(self, claim: Claim, state: Ended, error: str | None = None) -> bool:
        """Ends a job without a result. Returns False if another worker has it."""
        with self._store.write() as c:
            return self._end(c, claim.id, state, claim, error=None if error is None else storable(error))

    def release(self, claim: Claim, error: str | None = None, blame: bool = True) -> None:
        """Gives a job back to the queue, or ends it as poisoned if this was its last try. Without ``blame`` it does not
        count as a try."""
        with self._store.write() as c:
            if blame and claim.attempt >= ATTEMPTS:
                self._end(c, claim.id, "poisoned", claim, error=None if error is None else storable(error))
            else:
                c.execute(jobs.update().where(*_held(claim)).values(
                    state="queued", lease=None, lease_until=None, attempts=claim.attempt - (not blame)))

    # ---- for the service ----

    def sweep(self) -> None:
        """Ends jobs whose deadline has passed, or whose workers died too often. Deletes old results and rows, and old
        keys of idempotency."""
        with self._store.write() as c:
            now = self._store.now(c)
            lapsed = (jobs.c.state == "running", _lapsed(now))
            late = (jobs.c.deadline.is_not(None), jobs.c.deadline < now)
            for state, where in (("cancelled", (*lapsed, jobs.c.cancel)), ("expired", (*lapsed, *late)),
                                 ("expired", (jobs.c.state == "queued", *late)),
                                 ("poisoned", (*lapsed, jobs.c.attempts >= ATTEMPTS))):
                error = f"its workers died {ATTEMPTS} times" if state == "poisoned" else None
                c.execute(jobs.update().where(*where).values(
                    state=state, finished=now, lease=None, lease_until=None, error=error))
            retired = sa.select(models.c.digest).where(sa.not_(models.c.active))
            c.execute(jobs.update().where(jobs.c.state == "queued", jobs.c.model.in_(retired)).values(
                state="failed", finished=now, error="its model is not served any more"))
            c.execute(jobs.update().where(
                jobs.c.state.not_in(ACTIVE), jobs.c.finished < now - self.limits.keep_results,
                jobs.c.result.is_not(None)).values(result=None, result_size=0))
            c.execute(workers.delete().where(sa.not_(workers.c.seen.between(now - _KEPT, now + _KEPT))))
        self._spent.take(now - self.limits.keep_rows)
        self._spent.sweep(now)

    def blobs(self, area: Literal["inputs", "results"]) -> set[tuple[str, str]]:
        """Blobs that jobs still need, as (tenant, hash)."""
        column, where = ((jobs.c.input, jobs.c.state.in_(ACTIVE)) if area == "inputs"
                         else (jobs.c.result, jobs.c.result.is_not(None)))
        with self._store.read() as c:
            return {(row[0], row[1]) for row in c.execute(sa.select(jobs.c.tenant, column).where(where))}

    def workers_alive(self, c: Any) -> int:
        now = self._store.now(c)
        return int(_ALIVE.scalar(c, first=now - SEEN, last=now + SEEN))

    # ---- helpers ----

    def _known(self, c: Any, tenant: str, request: Request) -> Any | None:
        row = _BY_KEY.first(c, tenant=tenant, key=request.idempotency)
        if row is not None and (row.model, row.bundle, row.input, row.final) != (
                request.model, request.bundle, request.input, request.final):
            raise Refused.of(409, "jobs", "an idempotency key of another request", "a key for each request",
                             "make a new key")
        return row

    @staticmethod
    def _require_ready(c: Any, tenant: str, digest: str, bundle: str, lock: bool = False) -> Any:
        model = _MODEL.first(c, digest=digest)
        if model is None:
            raise not_found("jobs", "model")
        if not model.active:
            raise Refused.of(410, "jobs", "a model that is not served any more", "one that is",
                             "ask for the models again")
        query = _LOCKED_BUNDLE if lock else _BUNDLE
        state = query.scalar(c, tenant=tenant, model=digest, hash=bundle) if is_hash(bundle) else None
        if state is None:
            raise not_found("jobs", "bundle of keys")
        if state != "ready":
            raise Refused.of(409, "jobs", f"a bundle of keys that is {state}", "one that is ready",
                             "wait for its check, or upload another one")
        return model

    def _require_room(self, c: Any, owner: Any, model: Any, input_size: int, writes: bool = False) -> int:
        """The number of bytes that are left of the tenant's quota. Refused if they are not enough, or if the queue is
        full."""
        now = self._store.now(c)
        own = _LOAD.first(c, tenant=owner.id, first=now - SEEN, last=now + SEEN)
        alive = max(own.alive, 1)
        if own.active >= owner.most_jobs:
            raise _full(f"{own.active} jobs of this tenant", f"less than {owner.most_jobs}", model.seconds / alive)
        over = own.seconds + model.seconds - owner.most_seconds
        if own.active and over > 0:
            raise _full(f"{own.seconds:.0f} predicted seconds of this tenant", f"at most {owner.most_seconds:.0f}",
                        over / alive)
        waiting = self._queued.seconds(c, (self.limits.seconds - model.seconds) * alive, writes)
        over = waiting / alive + model.seconds - self.limits.seconds
        if waiting and over > 0:
            raise _full(f"{waiting / alive:.0f} predicted seconds in the queue", f"at most {self.limits.seconds:.0f}",
                        over)
        room = owner.most_bytes - int(own.held)
        if input_size + Facts.read(model.facts).result_bytes > room:
            raise Refused.of(413, "jobs", f"{input_size} bytes and a result, beside {own.active} jobs that wait or run",
                             f"{max(room, 0)} of its quota",
                             "wait for these jobs, or delete results or bundles that are not needed any more")
        return int(room)

    @staticmethod
    def _clock(c: Any) -> float:
        return float(_CLOCK.scalar(c))

    def _candidates(self, c: Any, models_: Collection[str]) -> list[Any]:
        """The first of the waiting jobs and of those whose worker has died, within their deadlines."""
        now = self._store.now(c)
        queued, lapsed = _candidates_of(tuple(sorted(models_)))
        found = queued.rows(c, now=now) + lapsed.rows(c, now=now, longest=now + LEASE + RENEWAL)
        return sorted(found, key=lambda row: (row.start_tag, row.id))

    def _end(self, c: Any, id_: str, state: Ended, claim: Claim | None = None, **values: Any) -> bool:
        where = (jobs.c.id == id_,) if claim is None else _held(claim)
        return bool(c.execute(jobs.update().where(*where).values(
            state=state, finished=self._store.now(c), lease=None, lease_until=None, **values)).rowcount)


def _padded_to_power_of_two(ids: Collection[str]) -> list[str]:
    """The ids, with one of them repeated until their number is a power of two. A connection keeps the last 128
    statements that it has prepared, one for each number of ids; that for 500 ids takes 0.1 MB."""
    found = list(ids)
    return found + found[-1:] * ((1 << max(len(found) - 1, 0).bit_length()) - len(found))


def _full(had: str, needs: str, seconds: float) -> Refused:
    return Refused.of(429, "jobs", had, needs, "send it again later", retry_after=max(seconds, 1.0))


def _lapsed(now: float) -> Any:
    """Whether the lease of a running job has ended. A lease that ends later than any new lease could was given before
    the clock was set back."""
    return sa.or_(jobs.c.lease_until < now, jobs.c.lease_until > now + LEASE + RENEWAL)


def _held(claim: Claim) -> tuple[Any, ...]:
    return jobs.c.id == claim.id, jobs.c.state == "running", jobs.c.lease == claim.lease


def _one(c: Any, tenant: str, id_: str, names: Names = None, lock: bool = False) -> Any:
    row = (_LOCKED_JOB if lock else _JOB).first(c, id=id_, tenant=tenant) if _ID.fullmatch(id_) else None
    if row is None or not (names is None or _NAME_OF.scalar(c, digest=row.model) in names):
        raise not_found("jobs", "job")
    return row
