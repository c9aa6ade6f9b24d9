"""Tenants and their tokens."""

import pytest
import sqlalchemy as sa
from world import hash_of

import latticino as lt
from latticino.serve.tables import tokens
from latticino.serve.tenants import PREFIX


@pytest.mark.stores
def test_tokens(rows, clock):
    tenant, other = rows.tenant("hospital-a"), rows.tenant("hospital-b")
    token = rows.tenants.token("hospital-a", ["score", "risk"], days=2)
    every = rows.tenants.token("hospital-b")
    assert token.startswith(PREFIX) and len(token) > 40 and token != every
    who = rows.tenants.identify(token)
    assert who.tenant == tenant and who.may_use("score") and not who.may_use("other")
    assert rows.tenants.identify(every).tenant == other and rows.tenants.identify(every).may_use("other")
    for wrong in ("", PREFIX, token[:-1], token + "x", token.upper(), "\udc80"):
        assert rows.tenants.identify(wrong) is None
    clock.now += 2 * 86_400
    assert rows.tenants.identify(token) is None and rows.tenants.identify(every) is not None
    assert rows.tenants.revoke("hospital-b") == 1 and rows.tenants.identify(every) is None


def test_the_store_has_no_token(rows):
    rows.tenant("a")
    token = rows.tenants.token("a")
    with rows.store.read() as c:
        held = [str(value) for row in c.execute(sa.select(tokens)) for value in row]
    assert not any(token in text or token[len(PREFIX):] in text for text in held)


def test_names_and_amounts(rows):
    rows.tenant("a")
    for call in (lambda: rows.tenant("a"), lambda: rows.tenant(""), lambda: rows.tenant("a b"), lambda: rows.tenant("x" * 65),
                 lambda: rows.tenant("c", weight=0.0), lambda: rows.tenants.token("none"), lambda: rows.tenants.token("a", days=-1)):
        with pytest.raises(lt.ValueError):
            call()


def test_what_an_operator_sees(rows):
    tenant, model, bundle = rows.ready("a", jobs=7)
    rows.tenants.token("a")
    rows.submit(tenant, model, bundle)
    done = rows.submit(tenant, model, bundle)
    rows.jobs.finish(rows.jobs.claim([model]), hash_of("r"), 500, 1.0)
    row, = rows.tenants.all()
    assert (row.name, row.quota.jobs, row.tokens, row.waiting) == ("a", 7, 1, 1) and done
    assert row.held == 10 + 124 + 500  # input and reserved result of the waiting job, and a result
