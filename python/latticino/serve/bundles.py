"""Bundles of keys of tenants: announced by a manifest, uploaded in chunks, checked, then used by jobs.

A bundle is *uploading*, then *uploaded*, then *checking* under the lease of one checker, then *ready* or *refused*.
It is found by tenant, model and hash. The key id that it states is only a claim of its sender, and is not used to find
it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from .blobs import Blobs
from .logs import log, tenant_tag
from .manifest import Joined, Manifest, is_hash
from .models import Facts
from .refusals import Refused, not_found
from .store import Prepared, Store
from .tables import bundles, chunks, jobs, models, storable, uses
from .tenants import ACTIVE, Names, bytes_of, is_name, locked, with_model_named

LEASE = 60.0  # seconds of a checker's lease
ATTEMPTS = 3
MAX_BUNDLES = 1000  # the most bundles of a tenant
_BATCH = 500  # files that are removed in one transaction, so that other writers can write in between
KEEP_UPLOADS = 86_400.0  # seconds that an upload may take
_USELESS = ("uploading", "refused")
_SHOWN = [column for column in bundles.c if column.name != "manifest"]  # because manifests may have half a megabyte
_NAMED = sa.select(bundles).where(bundles.c.tenant == sa.bindparam("tenant"), bundles.c.model == sa.bindparam("model"),
                                  bundles.c.hash == sa.bindparam("hash"))
_ITS_USE = (uses.c.tenant == sa.bindparam("of"), uses.c.hash == sa.bindparam("chunk"))
_ONE_MORE, _ONE_LESS = (uses.update().where(*_ITS_USE).values(count=uses.c.count + by) for by in (1, -1))
_NO_USE = uses.delete().where(*_ITS_USE)
_NO_CHUNK = chunks.delete().where(chunks.c.tenant == sa.bindparam("of"), chunks.c.hash == sa.bindparam("chunk"))
_ROW, _LOCKED_ROW = Prepared(_NAMED), Prepared(_NAMED.with_for_update())


@lru_cache(maxsize=64)
def _bundles_of_tenant(names: Names) -> Prepared:
    """The bundles of a tenant, for models with these names."""
    return Prepared(sa.select(*_SHOWN).where(
        bundles.c.tenant == sa.bindparam("tenant"), *with_model_named(bundles.c.model, names)).order_by(
        bundles.c.created.desc()))


@lru_cache(maxsize=64)
def _bundle_with_chunk(names: Names) -> Prepared:
    """A bundle of a tenant, for a model with one of these names, whose manifest names a chunk."""
    return Prepared(sa.select(bundles.c.hash).where(
        bundles.c.tenant == sa.bindparam("tenant"), *with_model_named(bundles.c.model, names),
        bundles.c.manifest.like(sa.bindparam("chunk"))).limit(1))


@dataclass(frozen=True)
class Check:
    """A bundle under the lease of a checker."""

    tenant: str
    model: str
    hash: str
    manifest: Manifest
    lease: str


class Bundles:
    """The bundles in a store, and their chunks among the blobs."""

    def __init__(self, store: Store, blobs: Blobs) -> None:
        self._store, self._blobs = store, blobs
        self._checked, self._checks = dict[str, int](), 0  # which check was the last one of a tenant

    # ---- for tenants ----

    def announce(self, tenant: str, model: str, manifest: Manifest) -> tuple[Any, tuple[str, ...]]:
        """The row of the bundle, and which chunks are missing. The same manifest again gives the same bundle.

        Refused: 404 or 410 without such a model, 413 for more bytes than a bundle of the model or the tenant's quota
        has, 507 where the disk is full.
        """
        with self._store.write() as c:
            owner = locked(c, tenant)
            limit = _limit(c, model)
            row = self._row(c, tenant, model, manifest.hash)
            if row is None:
                if manifest.size > limit:
                    raise Refused.of(413, "keys", f"a bundle of {manifest.size} bytes",
                                     f"at most {limit} for this model",
                                     "send the keys that the model needs, and no others")
                count = c.execute(sa.select(sa.func.count()).select_from(bundles).where(
                    bundles.c.tenant == tenant)).scalar()
                if count >= MAX_BUNDLES:
                    raise Refused.of(413, "keys", f"{count} bundles of this tenant", f"less than {MAX_BUNDLES}",
                                     "delete bundles that are not needed any more")
                self._reserve(c, owner, manifest)
                c.execute(bundles.insert().values(
                    tenant=tenant, model=model, hash=manifest.hash, manifest=manifest.to_json(), size=manifest.size,
                    state="uploading", created=self._store.now(c), used=self._store.now(c), attempts=0))
                _count(c, tenant, manifest)
                row = self._row(c, tenant, model, manifest.hash)
            return row, self._missing(c, tenant, manifest)

    def expected(self, tenant: str, chunk: str, names: Names = None) -> tuple[int, bool]:
        """The bytes of a chunk, and whether it is stored. Refused (404) for one that no manifest of the tenant, for a
        model with these ``names``, names."""
        with self._store.read() as c:
            row = None
            if is_hash(chunk):
                row = c.execute(sa.select(chunks).where(chunks.c.tenant == tenant, chunks.c.hash == chunk)).first()
            if row is None or not (names is None
                                   or _bundle_with_chunk(names).first(c, tenant=tenant, chunk=f"%{chunk}%")):
                raise not_found("keys", "announced chunk")
            return row.size, bool(row.stored)

    def stored(self, tenant: str, chunk: str) -> None:
        """Notes that a chunk is stored. It is deleted again if no manifest names it any more."""
        with self._store.write() as c:
            known = c.execute(chunks.update().where(chunks.c.tenant == tenant, chunks.c.hash == chunk).values(
                stored=True)).rowcount
        if not known:
            self._blobs.discard("chunks", tenant, chunk)
            raise not_found("keys", "announced chunk")

    def commit(self, tenant: str, model: str, hash_: str) -> Any:
        """Ends an upload, so that the bundle is checked next. Returns its row. Refused (409), with the chunks that are
        missing, if some are."""
        with self._store.write() as c:
            locked(c, tenant)
            row = self._row(c, tenant, model, hash_)
            if row is None:
                raise not_found("keys", "bundle of keys")
            missing = self._missing(c, tenant, _manifest(row))
            if missing:
                raise Refused.of(409, "keys", f"{len(missing)} chunks fewer than the manifest names", "all of them",
                                 "upload those that are missing", missing=missing)
            if row.state == "uploading":
                c.execute(bundles.update().where(*_named(row)).values(state="uploaded"))
            return self._row(c, tenant, model, hash_)

    def get(self, tenant: str, model: str, hash_: str) -> Any:
        """The row of a bundle; Refused (404) for what the tenant has not made."""
        with self._store.read() as c:
            row = self._row(c, tenant, model, hash_)
        if row is None:
            raise not_found("keys", "bundle of keys")
        return row

    def of(self, tenant: str, names: Names = None) -> list[Any]:
        """The rows of a tenant's bundles, for models with these ``names``, without manifests."""
        with self._store.read() as c:
            return _bundles_of_tenant(names).rows(c, tenant=tenant)

    def versions(self, tenant: str, model: str, hash_: str, names: Names = None) -> list[str]:
        """The digests of the models with a name, served or not, for which a tenant has a bundle; a digest stands for
        itself. Refused (404) if there are none with these ``names``."""
        found: list[str] = []
        if is_name(model) and is_hash(hash_):
            with self._store.read() as c:
                found = list(c.execute(sa.select(models.c.digest).join(
                    bundles, bundles.c.model == models.c.digest).where(
                        bundles.c.tenant == tenant, bundles.c.hash == hash_, *with_model_named(bundles.c.model, names),
                        sa.or_(models.c.name == model, models.c.digest == model))).scalars())
        if not found:
            raise not_found("keys", "bundle of keys")
        return found

    def delete(self, tenant: str, model: str, hash_: str) -> None:
        """Removes a bundle, and its chunks that no other one has. Refused: 404; 409 while jobs need it."""
        with self._store.write() as c:
            locked(c, tenant)
            row = self._row(c, tenant, model, hash_, lock=True)
            if row is None:
                raise not_found("keys", "bundle of keys")
            waiting = c.execute(sa.select(sa.func.count()).select_from(jobs).where(
                jobs.c.tenant == tenant, jobs.c.model == model, jobs.c.bundle == hash_,
                jobs.c.state.in_(ACTIVE))).scalar()
            if waiting:
                raise Refused.of(409, "keys", f"a bundle that {waiting} jobs need", "one without jobs",
                                 "cancel them, or wait for them")
            useless = sorted(self._remove(c, row))
        with suppress(OSError):  # files that stay are removed later
            for at in range(0, len(useless), _BATCH):
                self._discard(tenant, useless[at : at + _BATCH])

    # ---- for checkers and workers ----

    def claim(self) -> Check | None:
        """The next bundle to check, or None. Tenants take turns, so that a thousand bundles of one tenant hold up those
        of another one by a single check."""
        with self._store.write() as c:
            now = self._store.now(c)
            waiting = sa.or_(bundles.c.state == "uploaded", sa.and_(bundles.c.state == "checking", sa.or_(
                bundles.c.lease_until < now, bundles.c.lease_until > now + 2 * LEASE)))
            first = sa.select(bundles.c.tenant, sa.func.min(bundles.c.created)).where(waiting)
            oldest: dict[str, float] = dict(map(tuple, c.execute(first.group_by(bundles.c.tenant))))
            if not oldest:
                return None
            following = min(oldest, key=lambda tenant: (self._checked.get(tenant, 0), oldest[tenant]))
            row = c.execute(sa.select(bundles).where(waiting, bundles.c.tenant == following).order_by(
                bundles.c.created).limit(1).with_for_update(skip_locked=True)).first()
            if row is None:
                return None
            self._checks += 1
            self._checked[following] = self._checks
            if row.attempts >= ATTEMPTS:
                c.execute(bundles.update().where(*_named(row)).values(
                    state="refused", lease=None, reason=f"keys: had a bundle whose check did not end in {ATTEMPTS} "
                    "tries; needs a check that ends; delete the bundle, then upload it again"))
                return None
            lease = secrets.token_hex(16)
            c.execute(bundles.update().where(*_named(row)).values(
                state="checking", attempts=row.attempts + 1, lease=lease, lease_until=now + LEASE))
        return Check(row.tenant, row.model, row.hash, _manifest(row), lease)

    def renew(self, check: Check) -> bool:
        """Holds a bundle for another `LEASE` seconds; False if another checker has it."""
        with self._store.write() as c:
            return bool(c.execute(bundles.update().where(*_named(check), bundles.c.lease == check.lease).values(
                lease_until=self._store.now(c) + LEASE)).rowcount)

    def accept(self, check: Check, key_id: str, device_bytes: int) -> None:
        with self._store.write() as c:
            c.execute(bundles.update().where(*_named(check), bundles.c.lease == check.lease).values(
                state="ready", lease=None, key_id=storable(key_id), device_bytes=device_bytes))

    def refuse(self, check: Check, reason: str) -> None:
        with self._store.write() as c:
            c.execute(bundles.update().where(*_named(check), bundles.c.lease == check.lease).values(
                state="refused", lease=None, reason=storable(reason)))

    def retry(self, check: Check, blame: bool = True) -> None:
        """Gives a bundle back that could not be checked for reasons outside of it. It will be checked again. Without
        ``blame`` this does not count as a try."""
        with self._store.write() as c:
            c.execute(bundles.update().where(*_named(check), bundles.c.lease == check.lease).values(
                state="uploaded", lease=None, attempts=bundles.c.attempts - (0 if blame else 1)))

    def withdraw_damaged(self, tenant: str, manifest: Manifest) -> int:
        """Reads all chunks of a bundle, and marks those as missing that are lost or damaged.

        Each bundle of the tenant that has one of them counts as being uploaded again. Its tenant uploads the same file
        once more, which replaces them. Returns their number; 0 if the folder of blobs does not answer."""
        try:
            bad = {hash_ for hash_ in set(manifest.chunks) if not self._blobs.intact("chunks", tenant, hash_)}
        except OSError:
            return 0
        if not bad:
            return 0
        with self._store.write() as c:
            locked(c, tenant)
            c.execute(chunks.update().where(chunks.c.tenant == tenant, chunks.c.hash.in_(bad)).values(stored=False))
            for row in c.execute(sa.select(bundles).where(
                    bundles.c.tenant == tenant, bundles.c.state.in_(("uploaded", "checking", "ready")))).all():
                if bad & set(_manifest(row).chunks):
                    c.execute(bundles.update().where(*_named(row)).values(
                        state="uploading", lease=None, lease_until=None, attempts=0, created=self._store.now(c)))
        log("bundle.damaged", tenant=tenant_tag(tenant), bundle=manifest.hash[:16], chunks=len(bad))
        return len(bad)

    def file(self, tenant: str, manifest: Manifest) -> Joined:
        """All bytes of a bundle: see `Blobs.joined`."""
        return self._blobs.joined(tenant, manifest)

    def manifest(self, tenant: str, model: str, hash_: str) -> Manifest:
        return _manifest(self.get(tenant, model, hash_))

    # ---- for the service ----

    def sweep(self) -> None:
        """Removes uploads that were never finished, and bundles that were refused, after a day."""
        with self._store.read() as c:
            old = c.execute(sa.select(bundles.c.tenant, bundles.c.model, bundles.c.hash).where(
                bundles.c.state.in_(_USELESS), bundles.c.created < self._store.now(c) - KEEP_UPLOADS)).all()
        for tenant, model, hash_ in old:
            with self._store.write() as c:
                locked(c, tenant)
                row = self._row(c, tenant, model, hash_, lock=True)
                if row is not None and row.state in _USELESS:
                    self._remove(c, row)

    def blobs(self) -> set[tuple[str, str]]:
        """Chunks that a manifest names, as (tenant, hash)."""
        with self._store.read() as c:
            return {(row.tenant, row.hash) for row in c.execute(sa.select(chunks.c.tenant, chunks.c.hash))}

    @staticmethod
    def chunks_in(store: Store) -> int:
        """The number of chunks of all tenants that are stored."""
        with store.read() as c:
            return int(c.execute(sa.select(sa.func.count()).select_from(chunks).where(chunks.c.stored)).scalar())

    # ---- helpers ----

    def _reserve(self, c: Any, owner: Any, manifest: Manifest) -> None:
        known = set(c.execute(sa.select(chunks.c.hash).where(chunks.c.tenant == owner.id)).scalars())
        fresh = {hash_: size for hash_, size in manifest.sizes().items() if hash_ not in known}
        room = max(owner.most_bytes - bytes_of(c, owner.id), 0)
        if sum(fresh.values()) > room:
            raise Refused.of(413, "keys", f"{sum(fresh.values())} bytes", f"{room} of its quota",
                             "delete bundles or results that are not needed any more")
        if not self._blobs.require_room(sum(fresh.values())):
            raise Refused.of(507, "keys", f"{sum(fresh.values())} bytes", "as much room on the disk of the service",
                             "ask its operator")
        if fresh:
            c.execute(chunks.insert(), [{"tenant": owner.id, "hash": hash_, "size": size, "stored": False}
                                        for hash_, size in fresh.items()])

    @staticmethod
    def _missing(c: Any, tenant: str, manifest: Manifest) -> tuple[str, ...]:
        stored = set(c.execute(sa.select(chunks.c.hash).where(chunks.c.tenant == tenant, chunks.c.stored)).scalars())
        return tuple(dict.fromkeys(hash_ for hash_ in manifest.chunks if hash_ not in stored))

    @staticmethod
    def _row(c: Any, tenant: str, model: str, hash_: str, lock: bool = False) -> Any:
        if not is_hash(hash_):
            return None
        return (_LOCKED_ROW if lock else _ROW).first(c, tenant=tenant, model=model, hash=hash_)

    def _discard(self, tenant: str, hashes: Sequence[str]) -> None:
        """Removes the files of chunks that no bundle has. The tenant's row is locked, so that none is announced
        meanwhile. Otherwise they would take room beside the quota until the next cleanup."""
        with self._store.write() as c:
            locked(c, tenant)
            known = set(c.execute(sa.select(chunks.c.hash).where(
                chunks.c.tenant == tenant, chunks.c.hash.in_(hashes))).scalars())
            for hash_ in hashes:
                if hash_ not in known:
                    self._blobs.discard("chunks", tenant, hash_)

    @staticmethod
    def _remove(c: Any, row: Any) -> set[str]:
        """Deletes a row. Returns the chunks that no bundle has any more."""
        c.execute(bundles.delete().where(*_named(row)))
        own = set(_manifest(row).chunks)
        c.execute(_ONE_LESS, [{"of": row.tenant, "chunk": hash_} for hash_ in own])
        useless = own - _used(c, row.tenant)
        if useless:
            these = [{"of": row.tenant, "chunk": hash_} for hash_ in useless]
            c.execute(_NO_USE, these)
            c.execute(_NO_CHUNK, these)
        return useless


def _used(c: Any, tenant: str) -> set[str]:
    """The chunks that bundles of a tenant have."""
    return set(c.execute(sa.select(uses.c.hash).where(uses.c.tenant == tenant, uses.c.count > 0)).scalars())


def _count(c: Any, tenant: str, manifest: Manifest) -> None:
    """Counts the chunks of a new bundle. The tenant's row is locked."""
    own, known = set(manifest.chunks), _used(c, tenant)
    if own & known:
        c.execute(_ONE_MORE, [{"of": tenant, "chunk": hash_} for hash_ in own & known])
    if own - known:
        c.execute(uses.insert(), [{"tenant": tenant, "hash": hash_, "count": 1} for hash_ in own - known])


def _limit(c: Any, model: str) -> int:
    row = c.execute(sa.select(models).where(models.c.digest == model)).first()
    if row is None:
        raise not_found("keys", "model")
    if not row.active:
        raise Refused.of(410, "keys", "a model that is not served any more", "one that is", "ask for the models again")
    return Facts.read(row.facts).bundle_bytes


def _manifest(row: Any) -> Manifest:
    return Manifest.read(json.loads(row.manifest))


def _named(row: Any) -> tuple[Any, ...]:
    return bundles.c.tenant == row.tenant, bundles.c.model == row.model, bundles.c.hash == row.hash
