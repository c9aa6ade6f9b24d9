"""A request that is sent again makes no second job, as long as a token can send it."""

from pathlib import Path

import pytest
import sqlalchemy as sa
from test_jobs import refused
from test_routes import asked
from world import hash_of

from latticino.serve import spent
from latticino.serve.front import Front, Settings
from latticino.serve.jobs import Limits
from latticino.serve.store import Store
from latticino.serve.tables import VERSION, facts, jobs, tokens
from latticino.serve.tables import spent as keys

DAY = 86_400.0
WEEK = Limits().keep_rows


class Sender:
    """The front, a tenant, and a request that it sends several times."""

    def __init__(self, rows, days=30):
        self.rows = rows
        self.tenant, self.model, self.bundle = rows.ready()
        self.token = rows.tenants.token("a", days=days)
        self.app = Front(rows.store, rows.blobs, Settings(rate=1e9, burst=1e9), lambda: False).app()

    def sends(self, token=None, body=b"x" * 10, key="recorded"):
        return asked((self.app, token or self.token), "POST", "/v1/jobs", {"model": "m", "bundle": self.bundle}, body,
                     {"idempotency-key": key})

    def ends(self):
        assert self.rows.jobs.finish(self.rows.jobs.claim([self.model]), hash_of("r"), 7, 1.0)

    def count(self, table):
        with self.rows.store.read() as c:
            return c.execute(sa.select(sa.func.count()).select_from(table)).scalar()


@pytest.fixture
def sender(rows):
    return Sender(rows)


@pytest.mark.stores
def test_a_replay_after_the_row_of_its_job_is_gone(sender, rows, clock):
    status, first = sender.sends()
    sender.ends()
    clock.now += WEEK - 60
    rows.jobs.sweep()
    again, same = sender.sends()
    assert (status, again, same["id"], same["state"]) == (202, 200, first["id"], "done")
    clock.now += 120
    rows.jobs.sweep()
    assert sender.count(jobs) == 0 and rows.jobs.latest(sender.tenant) == []
    for body in (b"x" * 10, b"y" * 10):
        status, said = sender.sends(body=body)
        assert status == 410 and first["id"] in said["message"] and "new key" in said["message"]
    assert sender.count(jobs) == 0 and sender.sends(key="another")[0] == 202
    clock.now += 30 * DAY - WEEK - 120  # of the token, of which a minute is left
    rows.jobs.sweep()
    assert sender.sends()[0] == 410 and sender.count(keys) == 1
    clock.now += 120
    rows.jobs.sweep()
    assert sender.sends()[0] == 401 and sender.count(keys) == 0


@pytest.mark.stores
def test_a_request_that_is_refused_so_is_not_taken_from_its_record_later(sender, rows, clock):
    """The token was made after everything that is known about the key of the request."""
    sender.sends()
    sender.ends()
    clock.now += WEEK + 60
    rows.jobs.sweep()
    younger = rows.tenants.token("a", days=60)
    assert sender.sends(younger)[0] == 410
    clock.now += 31 * DAY
    rows.jobs.sweep()
    assert sender.sends()[0] == 401 and sender.sends(younger)[0] == 410
    clock.now += 30 * DAY
    rows.jobs.sweep()
    assert sender.count(keys) == 0


@pytest.mark.stores
def test_keys_of_a_tenant_whose_tokens_are_revoked_are_not_kept(sender, rows, clock):
    sender.sends()
    sender.ends()
    rows.tenants.revoke("a")
    other = rows.tenant("b")
    rows.tenants.token("b", days=90)
    rows.bundle(other, sender.model)
    rows.submit(other, sender.model, sender.bundle)
    sender.ends()
    clock.now += WEEK + 60
    rows.jobs.sweep()
    with rows.store.read() as c:
        assert c.execute(sa.select(keys.c.tenant)).scalars().all() == [other] and sender.count(jobs) == 0


@pytest.mark.stores
def test_the_queue_itself_refuses_a_spent_key(sender, rows, clock):
    """If the row of the job is removed between the two checks of a request."""
    request = rows.request(sender.model, sender.bundle)
    rows.jobs.submit(sender.tenant, request)
    sender.ends()
    clock.now += WEEK + 60
    rows.jobs.sweep()
    assert "is deleted" in str(refused(410, rows.jobs.submit, sender.tenant, request)) and sender.count(jobs) == 0
    other = rows.tenant("b")
    rows.bundle(other, sender.model)
    assert rows.jobs.submit(other, request)[1]  # another tenant's key is another key


@pytest.mark.stores
def test_many_rows_go_in_several_transactions(sender, rows, clock, monkeypatch):
    monkeypatch.setattr(spent, "BATCH", 3)
    ids = {rows.submit(sender.tenant, sender.model, sender.bundle) for _ in range(8)}
    for _ in ids:
        sender.ends()
    stays = rows.submit(sender.tenant, sender.model, sender.bundle)
    clock.now += WEEK + 60
    rows.jobs.sweep()
    with rows.store.read() as c:
        assert set(c.execute(sa.select(keys.c.job)).scalars()) == ids
    assert [row.id for row in rows.jobs.latest(sender.tenant)] == [stays]
    clock.now += 30 * DAY
    rows.jobs.sweep()
    assert sender.count(keys) == 0 and sender.count(tokens) == 1


@pytest.mark.stores
def test_a_store_of_the_first_version_is_brought_up_to_date(url, sender, rows, clock):
    """Its rows stay, and from then on its keys are kept."""
    id_ = sender.sends()[1]["id"]
    sender.ends()
    with rows.store.write() as c:
        keys.drop(c)
        c.execute(facts.update().where(facts.c.name == "version").values(value=1.0))
    again = Store(url, clock)
    with again.read() as c:
        assert c.execute(sa.select(facts.c.value).where(facts.c.name == "version")).scalar() == VERSION
    again.close()
    assert rows.job(id_).state == "done"
    clock.now += WEEK + 60
    rows.jobs.sweep()
    assert sender.sends()[0] == 410


def test_what_a_key_takes(sender, rows):
    with rows.store.write() as c:
        before = c.execute(sa.text("PRAGMA page_count")).scalar() * c.execute(sa.text("PRAGMA page_size")).scalar()
        c.execute(keys.insert(), [{"tenant": sender.tenant, "idempotency": hash_of(i)[:32], "job": hash_of(-i)[:32], "until": 1e9 + i}
                                  for i in range(20_000)])
        after = c.execute(sa.text("PRAGMA page_count")).scalar() * c.execute(sa.text("PRAGMA page_size")).scalar()
    taken = (after - before) / 20_000
    assert 160 < taken < 180 and "takes 0.2 KB" in (Path(__file__).parents[3] / "docs/serving.md").read_text()
