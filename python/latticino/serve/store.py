"""Transactions on the tables of a service: SQLite for one machine, PostgreSQL for several. Statements of requests and
jobs have a text that is made once.

SQLAlchemy takes longer to build such a statement, and then to run it, than SQLite takes to answer. A worker pays most:
its run has filled the processor's caches with other things. So on SQLite the text goes to Python's driver directly.
"""

from __future__ import annotations

import fcntl
import sqlite3
import threading
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from .. import errors
from . import packages, tables

Clock = Callable[[], float]

# errors of a store that does not answer, or is busy for too long
STORE_ERRORS = (sa.exc.DBAPIError, sa.exc.TimeoutError)
BUSY_MS = 30_000  # milliseconds that a writer of SQLite waits for another process
_READ, _WRITE = "BEGIN", "BEGIN IMMEDIATE"  # how SQLite begins a transaction that reads, and one that writes
_LOOK = 0.001  # seconds between two checks whether another process still writes
# The page cache of a connection. A front opens one more each time that more requests than ever come at the same moment,
# even after an hour, so that each has to be small beside the process. The system caches the same pages: with 512 KiB
# no statement of a request was faster. After a commit of another process SQLite drops all of them anyway.
_CACHE_KIB = 64


class Store:
    """A database of ``url``, such as ``sqlite:///folder/service.sqlite`` or ``postgresql+psycopg://user@host/name``.

    SQLite is in WAL mode and synchronous, so that what was committed outlives a loss of power. The tables are made
    where they are not there, also in a database of an earlier version. FileError for a database that cannot be opened,
    or of a later version of the tables.
    ``clock``: seconds since 1970 in place of the database's own, for tests.
    """

    def __init__(self, url: str, clock: Clock | None = None) -> None:
        self.url, self._clock = url, clock
        self._engine = _engine(url)
        self.sqlite = self._engine.dialect.name == "sqlite"
        self._reading, self._writing = threading.local(), threading.Lock()
        self._turns: BinaryIO | None = None
        # Connections of SQLite that are open and unused, for readers and for the one writer. The one that was used last
        # is used next, so that few are open: each keeps pages of the database and its statements in memory.
        self._idle: dict[str, list[Any]] = {_READ: [], _WRITE: []}
        try:
            with self.write() as c:
                if not self.sqlite:  # if two processes make the tables at the same time
                    c.execute(sa.text("SELECT pg_advisory_xact_lock(7107)"))
                tables.make(c)
                self._require_version(c)
        except errors.FileError:
            self.close()
            raise
        except sa.exc.SQLAlchemyError as why:
            self.close()
            raise errors.FileError.explain(
                "store", f"{_without_password(url)}: {type(why).__name__}: {first_line(why)}",
                "a database that can be opened and changed", "check --store, its permissions, and the room on "
                "its disk") from why

    def _require_version(self, c: Any) -> None:
        found = c.execute(sa.select(tables.facts.c.value).where(tables.facts.c.name == "version")).scalar()
        if found is None:
            c.execute(tables.facts.insert(), [{"name": "version", "value": tables.VERSION},
                                              {"name": "clock", "value": 0.0}])
        elif found in tables.OLDER:
            tables.count_uses(c)
            c.execute(tables.facts.update().where(tables.facts.c.name == "version").values(value=tables.VERSION))
        elif found != tables.VERSION:
            raise errors.FileError.explain("store", f"tables of version {found:g}", f"version {tables.VERSION}",
                                           "use the release that made them, or a new store")

    @contextmanager
    def read(self) -> Iterator[Any]:
        """A connection that sees one state of the database. A block within this one, in the same thread, sees the same
        state. ``raw`` of it: the connection of SQLite's driver, or None of PostgreSQL."""
        held = getattr(self._reading, "connection", None)
        if held is not None:
            yield held
            return
        with self._transaction(_READ) as c:
            self._reading.connection = c
            try:
                yield c
            finally:
                self._reading.connection = None

    @contextmanager
    def write(self) -> Iterator[Any]:
        """A connection in a transaction that is committed at the end, and undone if the block raises. ``raw`` as of
        `read`. Writers of SQLite take the lock when they begin: one that read first would fail if another took the lock
        before it."""
        with self._turn(), self._transaction(_WRITE) as c:
            yield c

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Any]:
        """A connection in a transaction. That of SQLite is opened once: SQLAlchemy takes longer to hand one out, and to
        begin and end a transaction on it, than SQLite takes to answer a request."""
        if not self.sqlite:
            with self._engine.connect() as c, c.begin():
                c.raw = None
                yield c
            return
        idle = self._idle[begin]
        try:
            c = idle.pop()
        except IndexError:  # there is none, or another thread took the last one
            c = self._opened()
        try:
            _called(c.raw, begin)
            yield c
            _called(c.raw, "COMMIT")
        except BaseException:
            self._undo(c, idle)
            raise
        if c.in_transaction():
            c.rollback()  # tells SQLAlchemy that nothing is open any more
        idle.append(c)

    def _opened(self) -> Any:
        c: Any = self._engine.connect()
        c.raw = c.connection.dbapi_connection
        return c

    def _undo(self, c: Any, idle: list[Any]) -> None:
        """Rolls back a transaction that failed. If even this fails, the connection is not used again."""
        try:
            c.raw.rollback()
            c.rollback()
        except (sqlite3.Error, sa.exc.SQLAlchemyError):
            c.invalidate()
            c.close()
        else:
            idle.append(c)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Lets the writers of SQLite in one at a time, in all processes.

        A writer that SQLite itself makes wait looks for its lock after pauses of up to 0.1 s. Here it looks each
        `_LOOK` seconds. TimeoutError of SQLAlchemy after `BUSY_MS`, as long as SQLite would wait."""
        if not self.sqlite:
            yield
            return
        last = time.monotonic() + BUSY_MS / 1000
        with self._writing:  # threads of a process share the file's lock
            self._turns = self._turns or _turns(self.url)
            while not _taken(self._turns):
                if time.monotonic() > last:
                    raise sa.exc.TimeoutError("another process has written for too long")
                time.sleep(_LOOK)
            try:
                yield
            finally:
                fcntl.flock(self._turns, fcntl.LOCK_UN)

    def now(self, c: Any) -> float:
        """The time of all machines that share the store."""
        if self._clock is not None:
            return self._clock()
        if self.sqlite:
            return time.time()
        return float(c.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())")).scalar())

    def close(self) -> None:
        for idle in self._idle.values():
            while idle:
                idle.pop().close()
        self._engine.dispose()
        turns, self._turns = self._turns, None
        if turns is not None:
            turns.close()


def _engine(url: str) -> Any:
    try:
        parsed = sa.engine.make_url(url)
    except sa.exc.ArgumentError as why:
        raise errors.ValueError.explain("store", "what is no address of a database",
                                        "sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME",
                                        "correct --store") from why
    kind = parsed.get_backend_name()
    if kind not in ("sqlite", "postgresql"):
        raise errors.UnsupportedError.explain("store", f"a database {kind}", "SQLite or PostgreSQL", "use one of them")
    if kind == "postgresql":
        packages.require("store", ("psycopg",))
        return sa.create_engine(parsed.set(drivername="postgresql+psycopg"), pool_size=20, max_overflow=40,
                                pool_pre_ping=True)
    if not parsed.database or parsed.database == ":memory:":
        raise errors.UnsupportedError.explain("store", "a database in memory", "a file, which outlives the process",
                                              "name one: sqlite:///folder/service.sqlite")
    # More connections than the front has threads.
    engine = sa.create_engine(parsed, pool_size=40, max_overflow=20, pool_timeout=60,
                              connect_args={"timeout": BUSY_MS / 1000, "check_same_thread": False})
    sa.event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # because `Store._transaction` begins transactions
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={BUSY_MS}",
                   f"cache_size=-{_CACHE_KIB}"):
        connection.execute(f"PRAGMA {pragma}")


def _called(raw: Any, text: str) -> None:
    try:
        raw.execute(text)
    except sqlite3.Error as why:
        raise explained(why, text) from why


def _turns(url: str) -> BinaryIO:
    """The file that writers of an SQLite database lock before they write."""
    path = Path(str(sa.engine.make_url(url).database) + "-turns")
    try:
        return path.open("ab")
    except OSError as why:
        raise errors.FileError.explain("store", f"{path}: {why}", "a folder that can be written to",
                                       "check --store, its permissions, and the room on its disk") from why


def _taken(turns: BinaryIO) -> bool:
    try:
        fcntl.flock(turns, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def first_line(why: BaseException) -> str:
    lines = str(why).splitlines()
    return lines[0] if lines else ""


def _without_password(url: str) -> str:
    try:
        return str(sa.engine.make_url(url).render_as_string(hide_password=True))
    except sa.exc.ArgumentError:
        return "a store"


# ---- statements ----

_DIALECT: Any = sqlite.dialect(paramstyle="qmark")


class _Text(NamedTuple):
    """``names`` of the parameters in order; ``fixed``: values of those that are part of the statement; ``row``: makes a
    row of a tuple; ``booleans``: columns that SQLite stores as integers."""

    text: str
    names: tuple[str, ...]
    fixed: dict[str, Any]
    row: Any
    booleans: tuple[int, ...]


class Prepared:
    """A statement of SQLAlchemy. Parameters are its ``bindparam``. ``c``: the connection of a `Store`."""

    def __init__(self, statement: Any) -> None:
        self._statement, self._made = statement, _text(statement)

    def rows(self, c: Any, **values: Any) -> list[Any]:
        """All rows. Their columns are attributes."""
        if c.raw is None:
            return list(c.execute(self._statement, values))
        return [self._row(found) for found in self._fetched(c.raw, values)]

    def first(self, c: Any, **values: Any) -> Any:
        """The first row, or None."""
        if c.raw is None:
            return c.execute(self._statement, values).first()
        found = self._fetched(c.raw, values)
        return self._row(found[0]) if found else None

    def scalar(self, c: Any, **values: Any) -> Any:
        """The first column of the first row; None if there is no row."""
        if c.raw is None:
            return c.execute(self._statement, values).scalar()
        found = self._fetched(c.raw, values)
        return self._row(found[0])[0] if found else None

    def change(self, c: Any, **values: Any) -> int:
        """Changes rows and returns their number. PostgreSQL does not state it for an insertion."""
        if c.raw is None:
            return int(c.execute(self._statement, values).rowcount)
        try:
            return int(c.raw.execute(self._made.text, self._given(values)).rowcount)
        except sqlite3.Error as why:
            raise explained(why, self._made.text) from why

    def _fetched(self, raw: Any, values: dict[str, Any]) -> list[Any]:
        try:  # all rows, because a statement that was not read to its end would keep its view of the database
            found: list[Any] = raw.execute(self._made.text, self._given(values)).fetchall()
        except sqlite3.Error as why:
            raise explained(why, self._made.text) from why
        return found

    def _given(self, values: dict[str, Any]) -> list[Any]:
        fixed = self._made.fixed
        return [values[name] if name in values else fixed[name] for name in self._made.names]

    def _row(self, found: Any) -> Any:
        for at in self._made.booleans:
            if found[at] is not None:
                found = (*found[:at], bool(found[at]), *found[at + 1:])
        return self._made.row(found)


def _text(statement: Any) -> _Text:
    made = statement.compile(dialect=_DIALECT)
    needed = {bind.key for bind in made.binds.values() if bind.required}
    whole = made.construct_expanded_state(dict.fromkeys(needed))  # each value of a list becomes a parameter
    fixed = {name: value for name, value in whole.parameters.items() if name not in needed}
    columns = list(statement.selected_columns) if statement.is_select else []
    names = [column.name if getattr(column, "name", None) else f"column_{at}" for at, column in enumerate(columns)]
    row: Any = namedtuple("Row", names, rename=True)  # type: ignore[misc]
    return _Text(whole.statement, tuple(whole.positiontup), fixed, row._make,
                 tuple(at for at, column in enumerate(columns) if isinstance(column.type, sa.Boolean)))


def explained(why: sqlite3.Error, text: str) -> BaseException:
    """The SQLAlchemy error for an error of the driver, as SQLAlchemy itself would raise it."""
    error: BaseException = sa.exc.DBAPIError.instance(text, None, why, sqlite3.Error)
    return error
