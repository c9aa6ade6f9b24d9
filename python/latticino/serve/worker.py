"""A worker: one process that owns a device, claims jobs and runs them with the keys of their tenants."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO, NoReturn, TypeAlias, cast

from .. import errors
from .blobs import Away, Blobs
from .bundles import Bundles
from .jobs import Claim, Jobs, Limits
from .leases import ClaimedJob, Holder, Prefetcher, Stopped
from .logs import log, tenant_tag
from .models import AnyKeys, Facts, Given, Model, open_model
from .registry import Registry
from .resources import Resources, key_budgets
from .sessions import Name, Sessions
from .store import STORE_ERRORS, Store
from .tables import workers

BEAT = 5.0  # seconds between two signs of life
_FULL = 5.0  # seconds until another try where the disk is full
# Seconds before the expected end of a run at which the next job is taken, beside those that it took to read the inputs
# of the last one. The transactions take 5 ms or less. Some times as much leaves room for a busy disk.
_LEAD = 0.05
# Seconds that a job waits for a run which takes longer than the last one. Then it goes back to the queue, where an idle
# worker finds it. To give it back and take it again costs two transactions, about 2 % of this.
_PATIENCE = 0.5
_AWAIT = 1.0  # seconds between two searches for models in a store without any
_IDLE = (0.02, 0.2)  # seconds between two queries of an empty queue: at first, and at most
# Errors that a tenant's own data cause. A DeviceError or a lack of memory is not the fault of a job.
_FAULTS = (errors.FileError, errors.KeyError, errors.ContextError, errors.ShapeError, errors.LevelError,
           errors.ScaleError, errors.ValueError, errors.UnsupportedError, errors.ParameterError)

Ending: TypeAlias = tuple[str, "str | None"]  # how a job has ended, and why
Rest: TypeAlias = Callable[[], Ending]


@dataclass
class Counters:
    """What a worker has done so far, for metrics."""

    jobs: dict[str, int] = field(default_factory=dict)  # number of jobs by how they ended
    predicted_seconds: float = 0.0
    real_seconds: float = 0.0

    def count(self, ended: str) -> None:
        self.jobs[ended] = self.jobs.get(ended, 0) + 1


class Worker:
    """Runs jobs of all active models until ``stop`` is set."""

    def __init__(self, store: Store, blobs: Blobs, resources: Resources, stop: threading.Event,
                 limits: Limits | None = None) -> None:
        self.id = secrets.token_hex(8)
        self._store, self._blobs, self._resources, self._stop = store, blobs, resources, stop
        self._jobs, self._bundles, self._registry = Jobs(store, limits), Bundles(store, blobs), Registry(store, blobs)
        share = 1.5 if resources.device == "cpu" else 0.5
        self._sessions, self._counters = Sessions(resources.for_host(), share), Counters()
        self._models: dict[str, tuple[Model, Facts]] = {}
        self._seconds: dict[str, float] = {}  # of the last run of a model
        self._ran_for: dict[str, str] = {}  # the tenant of the last run of a model
        self._reading = 0.0  # seconds that it took to read the inputs of the last job

    def run(self) -> None:
        """Opens the models, then works. OutOfMemoryError if they do not fit beside one bundle of keys each."""
        memory = self._open_models()
        beats = threading.Thread(target=self._beat, daemon=True, name="beats")
        beats.start()
        log("worker.ready", worker=self.id, device=self._resources.device, memory=memory,
            models=len(self._models))
        try:
            self._loop()
        finally:
            self._stop.set()  # an unexpected error also ends the process, and another one is started
            beats.join()
        log("worker.stopped", worker=self.id)

    def _loop(self) -> None:
        """Computes job after job. Other threads take the next one and store the results of the one before meanwhile."""
        with Prefetcher(self._take, self._give_back, _PATIENCE) as ahead, ThreadPoolExecutor(1, "behind") as behind:
            try:
                self._compute(ahead, behind)
            finally:
                self._stop.set()  # before the job taken ahead is given back, so that no other job is taken
                left = None
                with suppress(*STORE_ERRORS):
                    left = ahead.following()
                if left is not None:
                    behind.submit(self._give_back, left)

    def _compute(self, ahead: Prefetcher[ClaimedJob], behind: ThreadPoolExecutor) -> None:
        pause, stored = _IDLE[0], behind.submit(_nothing)
        while not self._stop.is_set():
            try:
                taken = ahead.following() or self._take(likely=False)
            except STORE_ERRORS as why:  # the store does not answer
                log("worker.trouble", worker=self.id, error=type(why).__name__)
                taken, pause = None, 1.0
            if taken is None:
                if stored.done():
                    stored.result()  # raises unexpected errors
                self._stop.wait(pause)
                pause = min(2 * pause, max(_IDLE[1], pause))
                continue
            pause = _IDLE[0]
            rest = self._computed(taken, ahead.start)
            try:
                stored.result()  # one at a time, so that results do not pile up if the disk is slow
            finally:
                stored = behind.submit(self._conclude, taken, rest)
        stored.result()

    # ---- start ----

    def _open_models(self) -> int:
        """Returns the bytes of device memory that are divided among them."""
        rows = self._awaited()
        known = [Facts.read(row.facts) for row in rows]
        memory = self._resources.for_device()
        budgets = key_budgets(known, memory)
        for facts, budget in zip(known, budgets):
            model = open_model(self._registry.file(facts.digest), self._resources.device,
                               threads=self._resources.threads, key_budget=budget)
            self._models[facts.digest] = model, facts
        return memory

    def _awaited(self) -> list[Any]:
        """The rows of all active models. A worker may be started before its service: it waits for them."""
        said = False
        while not self._stop.is_set():
            rows = list(self._registry.active())
            if rows:
                return rows
            if not said:
                log("worker.waiting", worker=self.id, message="worker: had a store without models; needs one of a "
                    "service; start latticino serve on it")
            said = True
            self._stop.wait(_AWAIT)
        return []

    # ---- a job ----

    def _take(self, likely: bool = True) -> ClaimedJob | None:
        """The next job, with its lease and its inputs. Several threads call this, but never two at the same time."""
        if self._stop.is_set():
            return None
        claim = self._jobs.claim(self._models.keys(), self._sessions.names, likely=likely)
        return None if claim is None else self._held(claim)

    def _held(self, claim: Claim) -> ClaimedJob:
        holder = Holder(self._jobs, claim, self._stop, self._resources.grace)
        holder.begin()
        start = time.monotonic()
        given: Given | Exception
        try:
            given = self._given(claim)
        except Exception as why:
            given = why
        self._reading = time.monotonic() - start
        return ClaimedJob(claim, holder, given)

    def _given(self, claim: Claim) -> Given:
        """The inputs on the device. The keys of the job may not be there yet, so `Model.run` compares them."""
        model, facts = self._models[claim.model]
        body: bytes = _lacking(lambda: self._blobs.read("inputs", claim.tenant, claim.input))
        return model.given(parts_of(body, facts))

    def _give_back(self, taken: ClaimedJob) -> None:
        """Puts a job that was not begun back into the queue. It does not count as a try."""
        self._conclude(taken, partial(self._stopped, taken.claim, "stop"))

    def _computed(self, taken: ClaimedJob, begun: Callable[[float | None], None] = lambda _: None) -> Rest:
        """Runs a job. Returns a function that stores how the job ended. Another thread may call it. ``begun`` is called
        when the keys are there, with the seconds after which the next job is to be taken, or None if no run of the
        model was timed."""
        claim = taken.claim
        try:
            start = time.monotonic()
            result = self._result(taken, begun)
            return partial(self._kept, claim, result, time.monotonic() - start)
        except Stopped as why:
            return partial(self._stopped, claim, why.why)
        except Away as why:  # a FileError, for which no job is at fault
            return partial(self._returned, claim, str(why))
        except _FAULTS as why:
            return partial(self._failed, claim, f"{type(why).__name__}: {why}")
        except _Full as why:
            return partial(self._returned, claim, str(why))
        except (errors.OutOfMemoryError, errors.DeviceError, _Lacking) as why:
            self._sessions.clear()
            if isinstance(why, errors.DeviceError):
                self._stop.set()  # a device that has failed once is not used again: another process starts anew
            return partial(self._retried, claim, f"{type(why).__name__}: {why}")
        except STORE_ERRORS as why:
            return partial(_raise, why)
        except BaseException:
            taken.holder.end()  # the job is not concluded, so its lease expires
            raise

    def _conclude(self, taken: ClaimedJob, rest: Rest) -> None:
        claim = taken.claim
        try:
            ended, error = rest()
        except STORE_ERRORS as why:  # the store does not answer: the lease expires, and the job is claimed again
            log("worker.trouble", worker=self.id, error=type(why).__name__)
            return
        finally:
            taken.holder.end()
        self._counters.count(ended)
        log("job." + ended, worker=self.id, job=claim.id, tenant=tenant_tag(claim.tenant), attempt=claim.attempt,
            seconds=round(time.monotonic() - taken.holder.since, 3),
            error=None if error is None else error.partition(":")[0])

    def _result(self, taken: ClaimedJob, begun: Callable[[float | None], None]) -> bytes:
        claim, holder = taken.claim, taken.holder
        model, facts = self._models[claim.model]
        if not self._blobs.holds(facts.result_bytes):
            raise _Full(facts.result_bytes)
        given, taken.given = taken.given, None  # freed with the run, before memory is cleared for the next tenant
        if given is None or isinstance(given, errors.OutOfMemoryError):
            given = self._given(claim)  # the run that took the memory at the first try has ended
        if isinstance(given, Exception):
            raise given
        name = Name(claim.tenant, claim.model, claim.bundle)
        session = self._sessions.get(name, model, facts.key_bytes, lambda: self._keys(name, model))
        self._clear_for(claim, model)
        holder.after(0.0)
        # Not earlier: to load keys may take longer than the run, and most jobs find them in memory.
        usual, start = self._seconds.get(claim.model), time.monotonic()
        lead = _LEAD + min(self._reading, _PATIENCE / 2)  # more would be longer than a job may wait
        begun(None if usual is None else max(usual - lead, 0.0))
        result = model.run(session, given, claim.final, holder.after)
        self._seconds[claim.model] = time.monotonic() - start
        return result

    def _clear_for(self, claim: Claim, model: Model) -> None:
        """Before a run for another tenant, clears what the run for the last one has left in memory. Each model has its
        own memory."""
        if self._ran_for.get(claim.model, claim.tenant) != claim.tenant:
            model.context._clear_unused()
        self._ran_for[claim.model] = claim.tenant

    def _kept(self, claim: Claim, result: bytes, seconds: float) -> Ending:
        """Stores the result and then the state of the job. ``seconds``: those of the run."""
        start = time.monotonic()
        try:
            stored = self._blobs.put("results", claim.tenant, result)
        except OSError as why:
            return self._returned(claim, str(_Full(len(result), f" ({why.strerror})")))
        seconds += time.monotonic() - start
        if not self._jobs.finish(claim, stored, len(result), seconds):
            return "lost", None
        self._counters.predicted_seconds += self._models[claim.model][1].predicted_seconds
        self._counters.real_seconds += seconds
        return "done", None

    def _failed(self, claim: Claim, error: str) -> Ending:
        self._jobs.end(claim, "failed", error)
        return "failed", error

    def _returned(self, claim: Claim, error: str) -> Ending:
        """Gives a job back that is not at fault: it waits until the disk has room, or the folder of blobs answers."""
        self._jobs.release(claim, blame=False)
        log("worker.trouble", worker=self.id, error=error)
        self._stop.wait(_FULL)
        return "returned", error

    def _retried(self, claim: Claim, error: str) -> Ending:
        self._jobs.release(claim, error=error)
        return "retried", error

    def _keys(self, name: Name, model: Model) -> AnyKeys:
        """Reads a bundle that a checker has accepted. If it is damaged now, that is not the fault of the job."""
        manifest = _lacking(lambda: self._bundles.manifest(*name))
        try:
            keys: AnyKeys = _lacking(
                lambda: model.load_keys(cast(BinaryIO, self._bundles.file(name.tenant, manifest))))
        except _Lacking:
            self._bundles.withdraw_damaged(name.tenant, manifest)
            raise
        return keys

    def _stopped(self, claim: Claim, why: str) -> Ending:
        if why == "cancel":
            self._jobs.end(claim, "cancelled")
        elif why == "late":
            self._jobs.end(claim, "expired")
        elif why == "stop":
            self._jobs.release(claim, blame=False)
        return {"cancel": "cancelled", "late": "expired", "stop": "returned"}.get(why, "lost"), None

    # ---- signs of life ----

    def _beat(self) -> None:
        while True:
            try:
                self._say()
                if {row.digest for row in self._registry.active()} != self._models.keys():
                    log("worker.outdated", worker=self.id)
                    self._stop.set()  # the process that replaces this one opens the current models
            except STORE_ERRORS as why:
                log("worker.trouble", worker=self.id, error=type(why).__name__)
            if self._stop.wait(BEAT):
                break
        with suppress(*STORE_ERRORS), self._store.write() as c:
            c.execute(workers.delete().where(workers.c.id == self.id))

    def _say(self) -> None:
        counters = json.dumps(self.counters())
        with self._store.write() as c:
            now = self._store.now(c)
            known = c.execute(workers.update().where(workers.c.id == self.id).values(seen=now, counters=counters))
            if not known.rowcount:
                c.execute(workers.insert().values(id=self.id, seen=now, device=self._resources.device,
                                                  counters=counters))

    def counters(self) -> dict[str, Any]:
        resident = [model.context.resident for model, _ in self._models.values()]
        return {"jobs": dict(self._counters.jobs), "predicted_seconds": self._counters.predicted_seconds,
                "real_seconds": self._counters.real_seconds, "key_hits": self._sessions.hits,
                "key_misses": self._sessions.misses, "bundles_dropped": self._sessions.dropped,
                "evictions": sum(r.evictions for r in resident), "resident_bytes": sum(r.bytes for r in resident),
                "bundles": len(self._sessions.names)}


class _Full(Exception):
    """The disk has no room for a result of so many bytes."""

    def __init__(self, size: int, why: str = "") -> None:
        super().__init__(f"the disk of the blobs takes no result of {size} bytes{why}; make room, and jobs go on")


class _Lacking(Exception):
    """Something of the service that a job needs is missing for now."""


def _nothing() -> None:
    pass


def _raise(why: Exception) -> NoReturn:
    raise why


def _lacking(read: Any) -> Any:
    try:
        return read()
    except Away:
        raise
    except (errors.FileError, errors.KeyError, errors.ContextError) as why:
        raise _Lacking(str(why)) from why


def parts_of(body: bytes, facts: Facts) -> Sequence[bytes]:
    """The files of the inputs in a request's body. FileError for a body of another length."""
    if len(body) != facts.request_bytes:
        raise errors.FileError.explain("jobs", f"{len(body)} bytes", f"{facts.request_bytes} for this model",
                                       "encrypt the inputs as the model says")
    out, at = [], 0
    for port in facts.inputs:
        out.append(body[at : at + port.bytes])
        at += port.bytes
    return out
