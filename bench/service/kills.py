"""Random SIGKILLs of a service under load: nothing acknowledged is lost, nothing is in effect twice.

    ./latticino bench service-kills --kills 1000 --record FILE

Several tenants send jobs all the time, upload bundles and remove them. Meanwhile a front, a checker, a worker, a
connection of the database or a process of its server is killed at a random moment. After each kill the tables are
compared with what the tenants were told. At the end every job has to have its result, with the bytes of a run in this
process.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import time
from collections import Counter
from typing import Any

import postgresql
from clients import Load
from latticino._provenance import cpu_name
from latticino.common.options import count
from latticino.measure.records import Row, stamped
from latticino.serve.store import STORE_ERRORS
from ledger import bundle_faults, faults
from options import positive
from running import alive, until
from setting import Setting, has_postgresql, setting

# The weight with which each is chosen. `server` kills one process of PostgreSQL, which then ends
# all its connections and recovers.
WEIGHTS = {"worker": 9, "front": 4, "checker": 3, "connection": 9, "server": 1}
# Fraction of the kills that come while the service still recovers from the one before.
_AT_ONCE = 0.2
_LONGEST = 30.0  # seconds that a kill waits for jobs
# Seconds until everything that was sent has ended: three leases of a job, or of a checker, and more.
_REST = 200.0


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kills", type=count(1), default=100)
    parser.add_argument("--minutes", type=positive, help="fewer kills where all would take longer")
    parser.add_argument("--seed", type=int, help="default: a random one, which is printed")
    parser.add_argument("--store", choices=("sqlite", "postgresql"), help="default: postgresql where it is installed")
    parser.add_argument("--tenants", type=count(1), default=4)
    parser.add_argument("--clients", type=count(1), default=8, help="threads of each tenant that send jobs")
    parser.add_argument("--workers", type=count(1), default=2)
    parser.add_argument("--jobs", type=int, default=6, help="jobs that end between two kills, at most: each time a "
                        "random number of them; one kill in five does not wait")


def run(args: argparse.Namespace) -> tuple[list[Row], bool]:
    """The row of the record, and whether everything was right."""
    seed = random.SystemRandom().randrange(2**32) if args.seed is None else args.seed
    store = args.store or ("postgresql" if has_postgresql() else "sqlite")
    print(f"seed {seed}, {store}", flush=True)
    with setting(store, ("square", "fresh"), args.tenants, args.workers) as s:
        load = Load(s.tenants, args.clients, 0.4, seed)
        load.start()
        attack = Attack(s, load, random.Random(seed))
        start = time.monotonic()
        for i in range(args.kills):
            if args.minutes is not None and time.monotonic() - start > 60 * args.minutes:
                break
            attack.kill(args.jobs)
            if (i + 1) % 20 == 0 or i + 1 == args.kills:
                print(f"{i + 1} kills, {time.monotonic() - start:.0f} s: {dict(attack.killed)}; tenants: "
                      f"{dict(load.counts)}; {len(attack.wrong) + len(load.wrong)} wrong", flush=True)
        load.stop(_REST)
        attack.examine(at_the_end=True)
        wrong = [*attack.wrong, *load.wrong]
        status = s.running.stop()
        if status:
            wrong.append(f"the service ended with status {status}")
        seconds = time.monotonic() - start
        states, attempts = s.ledger.states(), attack.attempts()
    for what in wrong:
        print("wrong:", what)
    killed = sum(attack.killed.values())
    print(f"{killed} kills in {seconds:.0f} s: {dict(attack.killed)}; jobs {dict(states)}; {len(wrong)} wrong")
    row = {"name": "serve.kills", "value": killed, "unit": "kills", "params": {
        "seed": seed, "store": store, "tenants": args.tenants, "clients": args.tenants * args.clients,
        "workers": args.workers, "jobs_between": args.jobs}, "device": cpu_name(), "backend": "cpu",
        "killed": dict(attack.killed), "wrong": len(wrong), "run_seconds": round(seconds, 1), "jobs": dict(states),
        "acknowledged": sum(states.values()), "jobs_by_attempts": attempts, "comparisons": attack.comparisons,
        "bundles_accepted": load.counts["bundles"], "bundles_given_up": load.counts["bundles given up"],
        "results_fetched": load.counts["fetched"], "asked_again": load.counts["asked again"]}
    return [stamped(row)], not wrong


class Attack:
    """Kills, and compares the tables with the ledger after each kill. ``killed``: number of kills
    by kind. ``wrong``: the contradictions that were found."""

    def __init__(self, s: Setting, load: Load, rng: random.Random) -> None:
        self._s, self._load, self._rng = s, load, rng
        self.killed: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.comparisons = 0

    def kill(self, jobs: int) -> None:
        """Waits until a random number of jobs, up to ``jobs``, have ended. Then kills something, and looks at the
        tables."""
        waits = self._rng.random() >= _AT_ONCE
        least = self._load.counts["done"] + (self._rng.randint(1, max(jobs, 1)) if waits else 0)
        last = time.monotonic() + _LONGEST
        while self._load.counts["done"] < least and time.monotonic() < last:
            time.sleep(0.02)
        time.sleep(self._rng.uniform(0, 0.2))
        kinds = [k for k in WEIGHTS if self._s.server is not None or k not in ("connection", "server")]
        kind = self._rng.choices(kinds, [WEIGHTS[k] for k in kinds])[0]
        if kind in ("connection", "server"):
            until(lambda: self._kill_connection(kind), f"a {kind} to kill")
        else:
            until(lambda: self._kill_process(kind), f"a {kind} to kill")
        self.killed[kind] += 1
        self.examine()

    def examine(self, at_the_end: bool = False) -> None:
        """Compares the tables. A store that is recovering is asked until it answers."""

        def compared() -> bool:
            try:
                sent, accepted = self._s.ledger.snapshot()
                rows, states = self._s.tables.jobs(), self._s.tables.bundles()
            except STORE_ERRORS:
                return False
            kept = self._s.ledger.snapshot()[1]
            self._note(faults(sent, rows, self._s.completions.read(), at_the_end))
            self._note(bundle_faults(accepted, states, kept))
            return True

        until(compared, "an answer of the store")
        self.comparisons += 1

    def attempts(self) -> dict[str, int]:
        """How many jobs needed how many attempts."""
        return {str(k): n for k, n in sorted(Counter(row.attempts for row in self._s.tables.jobs()).items())}

    def _note(self, found: list[str]) -> None:
        for what in found:
            if what not in self.wrong:
                self.wrong.append(what)
                print("wrong:", what, flush=True)

    def _kill_process(self, role: str) -> bool:
        pids = [pid for pid, found in self._s.running.children().items() if found == role]
        if not pids:
            return False  # a new process is about to start
        pid = self._rng.choice(sorted(pids))
        os.kill(pid, signal.SIGKILL)
        until(lambda: not alive(pid), "the end of a killed process")
        return True

    def _kill_connection(self, kind: str) -> bool:
        """Ends a connection of the service, as the database's operator would, or kills the process
        that serves it."""
        import psycopg

        assert self._s.server is not None
        try:
            with psycopg.connect(postgresql.words(self._s.server), autocommit=True, application_name="attack") as c:
                found: list[Any] = c.execute(
                    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' "
                    "AND application_name <> 'attack' AND pid <> pg_backend_pid()").fetchall()
                if not found:
                    return False
                pid = self._rng.choice(sorted(row[0] for row in found))
                if kind == "connection":
                    return bool(c.execute("SELECT pg_terminate_backend(%s)", (pid,)).fetchone()[0])
                os.kill(pid, signal.SIGKILL)
        except psycopg.Error:
            return False  # the database server still recovers from the kill before
        until(lambda: not alive(pid), "the end of a killed process")
        return True
