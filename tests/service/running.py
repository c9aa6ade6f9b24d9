"""A service in processes of its own, as an operator starts it."""

import os
import re
import signal
import subprocess
import sys
import time
from functools import lru_cache
from pathlib import Path

import latticino as lt

SECONDS = 120  # that anything here may take on a busy machine


def until(condition, what):
    """The first value of `condition` that holds."""
    last = time.monotonic() + SECONDS
    while time.monotonic() < last:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not in {SECONDS} s: {what}")


class Running:
    """`latticino serve` in a folder. `log` has what its processes wrote."""

    def __init__(self, folder, models, *options, store=None):
        self.folder, self._options = Path(folder), ["--folder", str(folder), *(["--store", store] if store else [])]
        self.folder.mkdir(exist_ok=True)
        self.log = self.folder / "log"
        self._models, self._more = models, options
        self.start()

    def start(self):
        self.out = self.folder / "out"
        environ = dict(os.environ, PYTHONWARNINGS="ignore", OPENBLAS_NUM_THREADS="1")
        with self.out.open("w") as out, self.log.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "latticino", "serve", *self._models, "--port", "0", "--device", "cpu", "--threads", "1",
                 *self._options, *self._more], stdout=out, stderr=log, env=environ)
        self.url = until(self._address, "an address")

    def _address(self):
        assert self.process.poll() is None, self.log.read_text()
        found = re.search(r"serving at (\S+)", self.out.read_text())
        return found and found[1]

    def command(self, *words):
        """What a command of the operator prints."""
        done = subprocess.run([sys.executable, "-m", "latticino", *words, *self._options], capture_output=True, text=True,
                              env=dict(os.environ, PYTHONWARNINGS="ignore"))
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def tenant(self, name, *options):
        """A token of a new tenant."""
        self.command("tenants", "add", name)
        return self.command("tenants", "token", name, *options)

    def pids(self, role):
        """The processes of a role that live, by the log."""
        started = re.findall(rf'"event": "process.started", "role": "{role}", "pid": (\d+)', self.log.read_text())
        return [int(pid) for pid in started if alive(int(pid))]

    def kill(self, role):
        """Kills one process of a role, which cannot tidy up: its id."""
        pid = until(lambda: self.pids(role), f"a {role}")[0]
        os.kill(pid, signal.SIGKILL)
        until(lambda: not alive(pid), "the end of a killed process")
        return pid

    def kill_in_the_middle(self, running):
        """Kills a worker while each worker has a job; `running` counts those that run."""
        last = time.monotonic() + SECONDS
        while time.monotonic() < last:
            pids = self.pids("worker")
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            found = running()
            if found == len(pids):
                os.kill(pids[0], signal.SIGKILL)
            for pid in pids[found == len(pids):]:
                os.kill(pid, signal.SIGCONT)
            if found == len(pids):
                return pids[0]
            time.sleep(0.02)
        raise AssertionError("no moment when each worker has a job")

    def stop(self):
        """Asks it to stop: the status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS)


def alive(pid):
    """Whether a process runs; one that ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def saved_network(folder, make, preset, **options):
    """A network in a folder: what `enc.save` writes for both sides, and samples."""
    from latticino.nn.compiling import compiled

    graph, x = make()
    enc = compiled(graph, x, preset, "cpu", **options)
    enc.save(folder)
    return enc, x


@lru_cache
def loaded(folder):
    return lt.nn.load(folder / "server.network", "cpu")


@lru_cache
def with_keys(folder, bundle):
    """A session of its own for each bundle, on one context."""
    context = loaded(folder).context
    return context.bind(lt.from_bytes(bundle, context, kind=lt.ServerKeys))


def direct(folder, bundle, body, final=True):
    """The result's file of a run in this process, without a service."""
    return lt.to_bytes(loaded(folder)(lt.from_bytes(body, with_keys(folder, bundle))), final=final)
