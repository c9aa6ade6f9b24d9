"""Statements whose text is made once give the same as SQLAlchemy, and transactions end as their block does."""

import threading

import pytest
import sqlalchemy as sa

from latticino.serve import tables
from latticino.serve.jobs import Jobs
from latticino.serve.models import Facts
from latticino.serve.store import Prepared, Store
from latticino.serve.waiting import MAX_JOBS

pytestmark = pytest.mark.stores

MODELS = tables.models
NAMED = sa.select(MODELS).where(MODELS.c.name.in_(("a", "b")), MODELS.c.seconds < sa.bindparam("most"))
ADDED = Prepared(MODELS.insert().values(
    digest=sa.bindparam("digest"), name=sa.bindparam("name"), active=sa.bindparam("active"), facts="{}",
    seconds=sa.bindparam("seconds"), created=0.0))


def add(c, digest, name, active=True, seconds=1.5):
    ADDED.change(c, digest=digest, name=name, active=active, seconds=seconds)


def test_rows_are_those_of_sqlalchemy(store):
    with store.write() as c:
        for digest, name, active, seconds in (("1", "a", True, 1.5), ("2", "b", False, 1.5), ("3", "c", True, 1.5),
                                              ("4", "a", True, 9.0)):
            add(c, digest, name, active, seconds)
    wanted = Prepared(NAMED.order_by(MODELS.c.digest))
    with store.read() as c:
        found = wanted.rows(c, most=5.0)
        plain = c.execute(NAMED.order_by(MODELS.c.digest), {"most": 5.0}).all()
        assert [tuple(row) for row in found] == [tuple(row) for row in plain] and len(found) == 2
        assert (found[1].digest, found[1].active, found[0].active) == ("2", False, True)
        assert isinstance(found[1].active, bool) and isinstance(found[0].seconds, float)
        assert wanted.first(c, most=5.0) == found[0] and wanted.first(c, most=0.0) is None
        assert (wanted.scalar(c, most=5.0), wanted.scalar(c, most=0.0)) == ("1", None)


def test_changes_are_counted_and_undone_with_their_transaction(store):
    change = Prepared(MODELS.update().where(MODELS.c.seconds < sa.bindparam("most")).values(active=False))
    with store.write() as c:
        add(c, "1", "a")
        add(c, "2", "b")
    with pytest.raises(ZeroDivisionError), store.write() as c:
        assert change.change(c, most=5.0) == 2
        c.execute(MODELS.delete().where(MODELS.c.digest == "2"))
        raise ZeroDivisionError
    with store.read() as c:
        assert [row.active for row in c.execute(sa.select(MODELS.c.active))] == [True, True]


def test_an_error_is_one_of_sqlalchemy_and_the_next_transaction_begins_anew(store):
    with store.write() as c:
        add(c, "1", "a")
    with pytest.raises(sa.exc.IntegrityError), store.write() as c:
        add(c, "2", "b")
        add(c, "1", "a")
    with store.write() as c:
        add(c, "3", "c")
    with store.read() as c:
        assert set(c.execute(sa.select(MODELS.c.digest)).scalars()) == {"1", "3"}


def test_a_parameter_that_is_missing_is_no_null(store):
    with pytest.raises((KeyError, sa.exc.StatementError)), store.write() as c:
        ADDED.change(c, digest="1", name="a", active=True)


def test_a_reader_sees_one_state_while_others_write(store):
    count = Prepared(sa.select(sa.func.count()).select_from(MODELS))
    if not store.sqlite:
        pytest.skip("a transaction of PostgreSQL sees what was committed before each statement")
    with store.read() as c:
        assert count.scalar(c) == 0

        def write():
            with store.write() as other:
                add(other, "1", "a")

        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        with store.read() as again:
            assert count.scalar(c) == count.scalar(again) == 0
    with store.read() as c:
        assert count.scalar(c) == 1


def test_connections_are_used_again_and_closed(store):
    """One reads and one writes, so that neither keeps the statements of both."""
    if not store.sqlite:
        pytest.skip("SQLAlchemy keeps those of PostgreSQL")
    wrote, read = set(), set()
    for _ in range(5):
        with store.write() as c:
            wrote.add(id(c))
        with store.read() as c:
            read.add(id(c))
    assert len(wrote) == len(read) == 1 and wrote != read and store._engine.pool.checkedout() == 2
    store.close()
    assert store._engine.pool.checkedout() == 0
    with store.read() as c:
        assert c.raw is not None


def test_long_polls_make_few_statements(store):
    """A statement for each number of jobs that are waited for would fill the memory of every connection, for hours."""
    asked, texts = Jobs(store), set()
    sa.event.listen(store._engine, "before_cursor_execute", lambda _c, _cursor, text, *_: texts.add(text))
    for count in range(MAX_JOBS + 1):
        assert asked.states([f"{i:032x}" for i in range(count)]) == {}
    assert 0 < len(texts) <= 12


def test_facts_of_a_model_are_parsed_once():
    text = Facts("program", "a", "b", "p", "c", (), (), {}, 1, 2, 0.5, 3).to_json()
    assert Facts.read(text) is Facts.read(text)


def test_two_threads_may_want_the_last_connection(tmp_path):
    """One that saw an unused connection may find that another thread has just taken it."""

    class Taken(list):
        def __bool__(self):
            return True

    store = Store(f"sqlite:///{tmp_path / 'store.db'}")
    store._idle["BEGIN"] = Taken()
    for _ in range(2):
        with store.read() as c:
            assert c.raw.execute("SELECT 1").fetchone() == (1,)
    store._idle["BEGIN"] = list(store._idle["BEGIN"])
    store.close()
