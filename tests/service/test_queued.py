"""The sum of the queue is an upper bound between two looks, and exact where it decides."""

import secrets

import pytest

from latticino.serve import tenants
from latticino.serve.jobs import Jobs, Limits, Request
from latticino.serve.refusals import Refused

pytestmark = pytest.mark.stores


@pytest.fixture
def sums(monkeypatch):
    """The number of sums that were made."""
    made, plain = [], tenants._SUM.scalar
    monkeypatch.setattr(tenants._SUM, "scalar", lambda c: made.append(0) or plain(c))
    return made


def send(rows, jobs, tenant, model, bundle):
    key, input_ = secrets.token_hex(8), "0" * 64
    jobs.preview(tenant, key, model, bundle, 10)
    return jobs.submit(tenant, Request(key, model, bundle, input_, 10))[0]


def test_a_long_queue_is_summed_once_for_many_requests(rows, sums):
    tenant, model, bundle = rows.ready()
    jobs = Jobs(rows.store, Limits(seconds=1e6))
    for _ in range(10):
        send(rows, jobs, tenant, model, bundle)
    assert len(sums) == (2 if rows.store.sqlite else 20)  # of the first preview, and of the first writer


def test_the_limit_is_exact(rows, sums):
    tenant, model, bundle = rows.ready()
    each = send(rows, Jobs(rows.store, Limits(seconds=1e6)), tenant, model, bundle).seconds
    jobs = Jobs(rows.store, Limits(seconds=5.5 * each))
    ids = [send(rows, jobs, tenant, model, bundle).id for _ in range(4)]
    with pytest.raises(Refused) as why:
        send(rows, jobs, tenant, model, bundle)
    assert why.value.status == 429
    jobs.cancel(tenant, ids[0])  # the bound does not include it; the sum does
    send(rows, jobs, tenant, model, bundle)
    with pytest.raises(Refused):
        jobs.submit(tenant, Request("x", model, bundle, "0" * 64, 10))


def test_what_other_processes_add_counts_after_a_second(rows, monkeypatch):
    tenant, model, bundle = rows.ready()
    now = [100.0]
    monkeypatch.setattr(tenants.time, "monotonic", lambda: now[0])
    other = Jobs(rows.store, Limits(seconds=1e6))
    each = send(rows, other, tenant, model, bundle).seconds
    jobs = Jobs(rows.store, Limits(seconds=20.5 * each))
    send(rows, jobs, tenant, model, bundle)
    for _ in range(30):
        send(rows, other, tenant, model, bundle)
    now[0] += 1.5
    with pytest.raises(Refused):
        jobs.submit(tenant, Request("x", model, bundle, "0" * 64, 10))
