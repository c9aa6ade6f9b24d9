"""A service with tenants in a temporary folder, which is removed when the program ends. The
programs kills and soak start with it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import postgresql
from clients import Tenant
from latticino.serve.store import Store
from latticino.serve.tenants import Tenants
from ledger import Completions, Ledger, Tables
from running import Running, on_device
from samples import Program


@dataclass
class Setting:
    """``server``: the folder of PostgreSQL, or None where the store is SQLite."""

    running: Running
    tenants: list[Tenant]
    programs: list[Program]
    ledger: Ledger
    tables: Tables
    completions: Completions
    server: str | None


def has_postgresql() -> bool:
    return postgresql.program("initdb") is not None


@contextmanager
def setting(store: str, programs: Sequence[str], tenants: int, workers: int, spare: int | None = None,
            device: str = "cpu") -> Iterator[Setting]:
    """``store``: "sqlite" or "postgresql". The service runs, and each tenant has keys there. ``spare``: workers have
    memory for the bundles of all tenants and so many more; None: for all there will ever be. ``device``: of the
    workers; results are compared with those of this processor."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="latticino-attack-")))
        server = stack.enter_context(postgresql.server()) if store == "postgresql" else None
        url = f"sqlite:///{folder}/service/service.sqlite" if server is None else postgresql.address(server)
        made = [Program(folder, name) for name in programs]
        # In the way latticino.serve.sessions counts them.
        sizes = [p.facts.key_bytes * 3 // 2 if device == "cpu" else p.facts.key_bytes // 2 for p in made]
        room = [] if spare is None else ["--host-memory", str(tenants * sum(sizes) + spare * min(sizes))]
        running = Running(folder / "service", [p.argument for p in made], "--workers", str(workers), "--rate", "100000",
                          "--polls", "100000", *room, *on_device(device), store=url)
        stack.callback(running.stop)
        own = Store(url)
        stack.callback(own.close)
        known = Tenants(own)
        ledger = Ledger()

        def id_of(name: str) -> str:
            return next(row.id for row in known.all() if row.name == name)

        clients = [Tenant(running, made, f"tenant-{i}", id_of, ledger) for i in range(tenants)]
        yield Setting(running, clients, made, ledger, Tables(own), Completions(running.log), server)
