"""Transactions on the tables of a service: SQLite for one machine, PostgreSQL for several."""

from __future__ import annotations

import fcntl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import sqlalchemy as sa

from .. import errors
from . import packages, tables

Clock = Callable[[], float]

STORE_ERRORS = (sa.exc.DBAPIError, sa.exc.TimeoutError)  # of a store that is away, or busy for too long
BUSY_MS = 30_000  # that a writer of SQLite waits for another process
_LOOK = 0.001  # seconds between two looks at whether another process still writes
_CACHE_KIB = 512  # of a connection; a process has dozens of them, and the system's cache has the same pages


class Store:
    """A database of ``url``, such as ``sqlite:///folder/service.sqlite`` or ``postgresql+psycopg://user@host/name``.

    SQLite is in WAL mode and synchronous, so that what was committed outlives a loss of power. The tables are made
    where they are not there. FileError for a database that cannot be opened, or of another version of the tables.
    ``clock``: seconds since 1970 in place of the database's own, for tests.
    """

    def __init__(self, url: str, clock: Clock | None = None) -> None:
        self.url, self._clock = url, clock
        self._engine = _engine(url)
        self.sqlite = self._engine.dialect.name == "sqlite"
        self._reading, self._writing = threading.local(), threading.Lock()
        self._turns: BinaryIO | None = None
        try:
            with self.write() as c:
                if not self.sqlite:  # two processes that both make the tables
                    c.execute(sa.text("SELECT pg_advisory_xact_lock(7107)"))
                tables.metadata.create_all(c)
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
        elif found != tables.VERSION:
            raise errors.FileError.explain("store", f"tables of version {found:g}", f"version {tables.VERSION}",
                                           "use the release that made them, or a new store")

    @contextmanager
    def read(self) -> Iterator[Any]:
        """A connection that sees one state of the database. A block within this one, in the same thread, sees the same
        state."""
        held = getattr(self._reading, "connection", None)
        if held is not None:
            yield held
            return
        with self._engine.connect().execution_options(latticino_begin="BEGIN") as c, c.begin():
            self._reading.connection = c
            try:
                yield c
            finally:
                self._reading.connection = None

    @contextmanager
    def write(self) -> Iterator[Any]:
        """A connection in a transaction that is committed at the end, and undone if the block raises."""
        with self._turn(), self._engine.connect() as c, c.begin():
            yield c

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
    # As many connections as the front has threads: those beyond the pool would be opened for each request. The one that
    # was used last is used next (LIFO), so that few are open: each keeps pages of the database in memory.
    engine = sa.create_engine(parsed, pool_size=40, max_overflow=20, pool_timeout=60, pool_use_lifo=True,
                              connect_args={"timeout": BUSY_MS / 1000, "check_same_thread": False})
    sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where `_begin_sqlite` says so
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={BUSY_MS}",
                   f"cache_size=-{_CACHE_KIB}"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(c: Any) -> None:
    """Writers take the lock when they begin. One that read first would fail if another took the lock before it."""
    c.exec_driver_sql(c.get_execution_options().get("latticino_begin", "BEGIN IMMEDIATE"))


def _turns(url: str) -> BinaryIO:
    """The file that writers of a database of SQLite lock before they write."""
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
