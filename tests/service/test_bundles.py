"""Uploads in chunks: missing chunks, shared chunks, refusals, and cleanup."""

import hashlib
import io
import json
import os
import random
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_jobs import refused
from world import hash_of

import latticino as lt
from latticino.serve.bundles import ATTEMPTS, KEEP_UPLOADS, LEASE
from latticino.serve.manifest import Manifest
from latticino.serve.store import Store
from latticino.serve.tables import bundles, facts, uses


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr("latticino.serve.manifest.CHUNK", 1000)


def manifest_of(data):
    return Manifest.of(io.BytesIO(data))


def upload(rows, tenant, data, chunks=None):
    """Stores chunks as the front does."""
    for at in range(0, len(data), 1000):
        piece = data[at : at + 1000]
        if chunks is None or hashlib.sha256(piece).hexdigest() in chunks:
            rows.blobs.put("chunks", tenant, piece)
            rows.bundles.stored(tenant, hashlib.sha256(piece).hexdigest())


@pytest.mark.stores
def test_an_upload_that_is_resumed(rows):
    tenant, model = rows.tenant("a"), rows.model()
    data = os.urandom(3500)
    manifest = manifest_of(data)
    row, missing = rows.bundles.announce(tenant, model, manifest)
    assert row.state == "uploading" and missing == manifest.chunks and len(missing) == 4
    upload(rows, tenant, data, missing[:2])
    assert refused(409, rows.bundles.commit, tenant, model, row.hash).missing == missing[2:]
    _, rest = rows.bundles.announce(tenant, model, manifest)  # after a lost connection it starts again
    assert rest == missing[2:]
    upload(rows, tenant, data, rest)
    assert rows.bundles.commit(tenant, model, row.hash).state == "uploaded"
    assert rows.bundles.commit(tenant, model, row.hash).state == "uploaded"
    assert rows.bundles.file(tenant, manifest).read() == data


def test_chunks_are_shared_within_a_tenant_only(rows):
    a, b, model, _ = rows.two(bundles=0)
    data = os.urandom(3000)
    _, missing = rows.bundles.announce(a, model, manifest_of(data))
    upload(rows, a, data)
    _, more = rows.bundles.announce(a, model, manifest_of(data + b"x"))
    assert more == (hash_of("x"),)
    _, all_ = rows.bundles.announce(b, model, manifest_of(data))  # b learns nothing about a's bundles
    assert all_ == missing
    refused(409, rows.bundles.commit, b, model, manifest_of(data).hash)
    assert rows.bundles.expected(a, missing[0]) == (1000, True) and rows.bundles.expected(b, missing[0]) == (1000, False)
    refused(404, rows.bundles.expected, rows.tenant("c"), missing[0])


def test_a_bundle_is_one_tenants(rows):
    a, b, model, _ = rows.two(bundles=0)
    hash_ = rows.bundles.announce(a, model, manifest_of(b"keys"))[0].hash
    for call in (rows.bundles.get, rows.bundles.commit, rows.bundles.delete):
        refused(404, call, b, model, hash_)
        refused(404, call, a, rows.model("other" + call.__name__), hash_)
    assert rows.bundles.of(b) == [] and len(rows.bundles.of(a)) == 1


def test_sizes_and_quotas(rows, monkeypatch):
    tenant, model = rows.tenant("a", bytes=5000), rows.model(bundle_bytes=4000)
    assert "at most 4000 for this model" in str(
        refused(413, rows.bundles.announce, tenant, model, manifest_of(bytes(4001))))
    first = manifest_of(os.urandom(3000))
    rows.bundles.announce(tenant, model, first)
    # Bytes that are reserved, not only those that are stored.
    refused(413, rows.bundles.announce, tenant, model, manifest_of(os.urandom(2001)))
    rows.bundles.delete(tenant, model, first.hash)
    rows.bundles.announce(tenant, model, manifest_of(os.urandom(2001)))
    monkeypatch.setattr(rows.blobs, "reserve", 1 << 60)
    refused(507, rows.bundles.announce, tenant, model, manifest_of(os.urandom(100)))
    refused(404, rows.bundles.announce, tenant, hash_of("none"), first)
    refused(410, rows.bundles.announce, tenant, rows.model("old", active=False), first)


def test_a_tenant_has_so_many_bundles(rows, monkeypatch):
    monkeypatch.setattr("latticino.serve.bundles.MAX_BUNDLES", 3)
    a, b, model, _ = rows.two(bundles=0)
    manifests = [manifest_of(bytes([i])) for i in range(4)]
    for manifest in manifests[:3]:
        rows.bundles.announce(a, model, manifest)
    assert "delete bundles" in str(refused(413, rows.bundles.announce, a, model, manifests[3]))
    rows.bundles.announce(a, model, manifests[0])  # a bundle that exists already is not new
    rows.bundles.announce(b, model, manifests[3])
    rows.bundles.delete(a, model, manifests[1].hash)
    rows.bundles.announce(a, model, manifests[3])


@pytest.mark.stores
def test_reasons_are_texts_that_a_store_takes(rows):
    """An error message that a hostile file controls."""
    tenant, model = rows.tenant("a"), rows.model()
    for k, text in enumerate(("\0", "\ud800", "x" * 100_000)):
        hash_ = rows.bundle(tenant, model, k, state="uploaded")
        rows.bundles.refuse(rows.bundles.claim(), text)
        assert rows.bundles.get(tenant, model, hash_).reason == ("\\0", "\\ud800", "x" * 2000)[k]
        ready = rows.bundle(tenant, model, f"ready {k}")
        id_ = rows.submit(tenant, model, ready)
        assert rows.jobs.end(rows.jobs.claim([model]), "failed", text)
        assert rows.job(id_).error == ("\\0", "\\ud800", "x" * 2000)[k]


@pytest.mark.stores
def test_a_bundle_that_goes_leaves_what_others_need(rows, clock):
    tenant, model = rows.tenant("a"), rows.model()
    shared, own = bytes(1000), os.urandom(1000)
    one, two = manifest_of(shared + own), manifest_of(shared)
    for manifest in (one, two):
        rows.bundles.announce(tenant, model, manifest)
    upload(rows, tenant, shared + own)
    rows.bundles.commit(tenant, model, one.hash)
    rows.bundles.delete(tenant, model, one.hash)
    assert rows.bundles.blobs() == {(tenant, two.chunks[0])}
    for _ in range(2):
        assert rows.blobs.has("chunks", tenant, two.chunks[0]) and not rows.blobs.has("chunks", tenant, one.chunks[1])
        assert rows.blobs.sweep("chunks", rows.bundles.blobs, -1) == 0


@pytest.mark.stores
def test_chunks_stay_as_long_as_a_bundle_has_them(rows):
    """Bundles of chunks that others have too, or have twice, come and go in any order."""
    tenant, model, rng, there = rows.tenant("a"), rows.model(), random.Random(1), {}
    names = [hash_of(i) for i in range(9)]
    for _ in range(60):
        if there and rng.random() < 0.5:
            hash_ = rng.choice(sorted(there))
            rows.bundles.delete(tenant, model, hash_)
            del there[hash_]
        else:
            made = Manifest(3000, tuple(rng.choices(names, k=3)))
            rows.bundles.announce(tenant, model, made)
            there[made.hash] = set(made.chunks)
        assert {hash_ for _, hash_ in rows.bundles.blobs()} == set().union(*there.values())


def test_a_bundle_that_goes_reads_no_other_manifest(rows, monkeypatch):
    """A tenant who announces a thousand orders of the same chunks fills no quota. To read all of these manifests would keep
    every writer waiting for a third of a second, at each bundle that goes."""
    tenant, model, names, read = rows.tenant("a"), rows.model(), [hash_of(i) for i in range(20)], []
    made = [Manifest(20_000, (*names[i:], *names[:i])) for i in range(20)]
    for manifest in made:
        rows.bundles.announce(tenant, model, manifest)
    monkeypatch.setattr("latticino.serve.bundles.json", SimpleNamespace(loads=lambda text: read.append(text) or json.loads(text)))
    rows.bundles.delete(tenant, model, made[3].hash)
    assert read == [made[3].to_json()] and len(rows.bundles.blobs()) == 20


@pytest.mark.stores
def test_a_store_that_counted_no_chunks_is_brought_up_to_date(url, rows, clock):
    tenant, model = rows.tenant("a"), rows.model()
    one, two = Manifest(3000, tuple(map(hash_of, "aab"))), Manifest(2000, tuple(map(hash_of, "ac")))
    for manifest in (one, two):
        rows.bundles.announce(tenant, model, manifest)
    with rows.store.write() as c:
        before = set(c.execute(uses.select()).all())
        uses.drop(c)
        c.execute(facts.update().where(facts.c.name == "version").values(value=2.0))
    again = Store(url, clock)
    with again.read() as c:
        assert set(c.execute(uses.select()).all()) == before and len(before) == 3
    again.close()
    rows.bundles.delete(tenant, model, one.hash)
    assert rows.bundles.blobs() == {(tenant, hash_of("a")), (tenant, hash_of("c"))}


def test_a_bundle_with_jobs_stays(rows):
    tenant, model, bundle = rows.ready()
    id_ = rows.submit(tenant, model, bundle)
    refused(409, rows.bundles.delete, tenant, model, bundle)
    rows.jobs.cancel(tenant, id_)
    rows.bundles.delete(tenant, model, bundle)
    refused(404, rows.bundles.get, tenant, model, bundle)


def test_uploads_that_were_left_go(rows, clock):
    tenant, model = rows.tenant("a"), rows.model()
    rows.bundles.announce(tenant, model, manifest_of(b"keys"))
    refused_, ready = (rows.bundle(tenant, model, state, state) for state in ("refused", "ready"))
    with rows.store.write() as c:
        c.execute(bundles.update().values(created=clock.now))
    clock.now += KEEP_UPLOADS - 1
    rows.bundles.sweep()
    assert len(rows.bundles.of(tenant)) == 3
    clock.now += 2
    rows.bundles.sweep()
    assert [row.hash for row in rows.bundles.of(tenant)] == [ready] != [refused_]
    assert (tenant, hashlib.sha256(b"keys").hexdigest()) not in rows.bundles.blobs()


@pytest.mark.stores
def test_checks_have_leases(rows, clock):
    tenant, model = rows.tenant("a"), rows.model()
    hash_ = rows.bundle(tenant, model, state="uploaded")
    first = rows.bundles.claim()
    assert first.hash == hash_ and rows.bundles.claim() is None
    clock.now += LEASE + 1
    second = rows.bundles.claim()
    assert second.lease != first.lease and not rows.bundles.renew(first)
    rows.bundles.accept(first, "id", 1)
    assert rows.bundles.get(tenant, model, hash_).state == "checking"  # the first checker is too late
    rows.bundles.accept(second, "id", 1)
    row = rows.bundles.get(tenant, model, hash_)
    assert (row.state, row.key_id, row.device_bytes) == ("ready", "id", 1)
    other = rows.bundle(tenant, model, "other", state="uploaded")
    rows.bundles.refuse(rows.bundles.claim(), "no keys")
    assert rows.bundles.get(tenant, model, other).reason == "no keys"


def test_a_check_that_never_ends_refuses(rows, clock):
    tenant, model = rows.tenant("a"), rows.model()
    hash_ = rows.bundle(tenant, model, state="uploaded")
    for attempt in range(ATTEMPTS):
        check = rows.bundles.claim()
        if attempt % 2:
            rows.bundles.retry(check)
        else:
            clock.now += LEASE + 1
    assert rows.bundles.claim() is None and rows.bundles.get(tenant, model, hash_).state == "refused"


def test_a_chunk_that_changed_on_disk_is_found(rows):
    tenant, model = rows.tenant("a"), rows.model()
    data = os.urandom(1500)
    manifest = manifest_of(data)
    rows.bundles.announce(tenant, model, manifest)
    upload(rows, tenant, data)
    path = Path(rows.blobs.path("chunks", tenant, manifest.chunks[1]))
    path.write_bytes(bytes(500))
    with pytest.raises(lt.FileError, match="other bytes in chunks"):
        rows.bundles.file(tenant, manifest).read()


@pytest.mark.stores
def test_a_damaged_chunk_is_asked_for_again(rows):
    """This holds for all bundles of the tenant that have the chunk, and for no bundle of another tenant."""
    a, b, model, _ = rows.two(bundles=0)
    data, more = os.urandom(1500), os.urandom(1000)
    for tenant in (a, b):
        for each in (data, data[:1000] + more, more):
            rows.bundles.announce(tenant, model, manifest_of(each))
            upload(rows, tenant, each)
            rows.bundles.commit(tenant, model, manifest_of(each).hash)
    manifest = manifest_of(data)
    assert rows.bundles.withdraw_damaged(a, manifest) == 0
    Path(rows.blobs.path("chunks", a, manifest.chunks[0])).write_bytes(bytes(1000))
    assert rows.bundles.withdraw_damaged(a, manifest) == 1
    states = [[rows.bundles.get(tenant, model, manifest_of(each).hash).state for each in (data, data[:1000] + more, more)]
              for tenant in (a, b)]
    assert states == [["uploading", "uploading", "uploaded"], ["uploaded"] * 3]
    assert refused(409, rows.bundles.commit, a, model, manifest.hash).missing == manifest.chunks[:1]
    assert rows.bundles.announce(a, model, manifest)[1] == manifest.chunks[:1]
    upload(rows, a, data, manifest.chunks[:1])
    assert rows.bundles.commit(a, model, manifest.hash).state == "uploaded"
    assert rows.bundles.file(a, manifest).read() == data
    shutil.rmtree(rows.blobs.folder / "chunks")  # the disk is not mounted
    assert rows.bundles.withdraw_damaged(a, manifest) == 0 and rows.bundles.get(a, model, manifest.hash).state == "uploaded"
