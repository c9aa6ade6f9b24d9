"""What tests of the service share: a clock, rows without a model behind them, and a service in processes of its own."""

import hashlib
import json
import socket

from latticino.serve.blobs import Blobs
from latticino.serve.bundles import Bundles
from latticino.serve.jobs import Jobs, Limits, Request
from latticino.serve.manifest import Manifest
from latticino.serve.models import Facts, Port
from latticino.serve.tables import bundles, jobs, models, workers
from latticino.serve.tenants import Quota, Tenants


class Clock:
    """A clock that tests move."""

    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


class BlobsOnALargeDisk(Blobs):
    """Blobs for which this machine's disk counts as one with 1 PiB free: tests announce more bytes than they store."""

    def _free(self):
        return 1 << 50


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def hash_of(text):
    return hashlib.sha256(str(text).encode()).hexdigest()


def carry_out(worker, claim):
    """Runs one job and stores its result, in this thread."""
    taken = worker._held(claim)
    worker._conclude(taken, worker._computed(taken))


class Rows:
    """Tenants, models and bundles as rows, for tests of the queue."""

    def __init__(self, store, blobs):
        self.store, self.blobs = store, blobs
        self.tenants, self.bundles, self.jobs = Tenants(store), Bundles(store, blobs), Jobs(store)
        self.count = 0

    def limit(self, **limits):
        self.jobs = Jobs(self.store, Limits(**limits))

    def model(self, name="m", seconds=1.0, active=True, bundle_bytes=1 << 30, result_bytes=100):
        digest = hash_of(name)
        facts = Facts("network", digest, hash_of("client"), "set", "0", (Port("x", (4,), 1, 10),),
                      (Port("y", (4,), 0, result_bytes),), {}, 1000, bundle_bytes, seconds, 5000)
        with self.store.write() as c:
            c.execute(models.insert().values(digest=digest, name=name, active=active, facts=facts.to_json(),
                                             seconds=seconds, created=0.0))
        return digest

    def tenant(self, name, **quota):
        return self.tenants.add(name, Quota(**quota))

    def bundle(self, tenant, model, name="b", state="ready"):
        hash_ = hash_of(name)
        manifest = Manifest(10, (hash_of("chunk"),))
        with self.store.write() as c:
            c.execute(bundles.insert().values(tenant=tenant, model=model, hash=hash_, manifest=manifest.to_json(), size=10,
                                              state=state, created=0.0, used=0.0, attempts=0))
        return hash_

    def ready(self, name="a", model=None, **quota):
        """A tenant with a bundle for a model. Returns all three."""
        model = model or self.model()
        tenant = self.tenant(name, **quota)
        return tenant, model, self.bundle(tenant, model)

    def two(self, bundles=2, **quota):
        """Two tenants, the first with this quota, their model, and the hash of the bundle that so many of them have."""
        a, b, model = self.tenant("a", **quota), self.tenant("b"), self.model()
        made = [self.bundle(tenant, model) for tenant in (a, b)[:bundles]]
        return a, b, model, made[0] if made else None

    def request(self, model, bundle, **options):
        self.count += 1
        return Request(**{"idempotency": f"key {self.count}".replace(" ", ""), "model": model, "bundle": bundle,
                          "input": hash_of(self.count), "input_size": 10, **options})

    def submit(self, tenant, model, bundle, **options):
        return self.jobs.submit(tenant, self.request(model, bundle, **options))[0].id

    def job(self, id_):
        with self.store.read() as c:
            return c.execute(jobs.select().where(jobs.c.id == id_)).one()

    def alive(self, count, now):
        with self.store.write() as c:
            for i in range(count):
                c.execute(workers.insert().values(id=f"w{i}", seen=now, device="cpu", counters=json.dumps({})))
