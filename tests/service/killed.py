"""Ends or disturbs this process at a step of a shard or of a job, once for each mark in the folder LATTICINO_MARKS.

A mark is a file: ``load`` (before programs and keys are read), ``compute`` (after a step of the program) and ``written`` (after
a result was stored) kill the process; ``other`` changes a bit of a result. The process that removes a mark executes it.
A mark with ``.always`` behind its name stays. Before a worker of a service dies, it writes the number of jobs that it
holds into the file ``held.STEP`` beside that folder: it may have taken the next job while it computed or stored one.

It is a worker of `Local` (as a program), a preload of `dask worker`, and, as sitecustomize, part of every Python of a service.
"""

import os
import signal
import sys
import threading
from pathlib import Path

held, turn = set(), threading.Lock()


def marked(step):
    folder = Path(os.environ["LATTICINO_MARKS"])
    if (folder / f"{step}.always").exists():
        return True
    try:
        (folder / step).unlink()
    except FileNotFoundError:
        return False
    return True


def die(step):
    if marked(step):
        with turn:
            Path(os.environ["LATTICINO_MARKS"]).with_name(f"held.{step}").write_text(str(len(held)))
            os.kill(os.getpid(), signal.SIGKILL)


def count_held_jobs():
    from latticino.serve.jobs import Jobs

    claim = Jobs.claim

    def claiming(self, *arguments, **options):
        with turn:
            claimed = claim(self, *arguments, **options)
            if claimed is not None:
                held.add(claimed.lease)
            return claimed

    def ending(method):
        def ended(self, claim, *arguments, **options):
            result = method(self, claim, *arguments, **options)
            held.discard(claim.lease)
            return result

        return ended

    Jobs.claim = claiming
    Jobs.finish, Jobs.end, Jobs.release = ending(Jobs.finish), ending(Jobs.end), ending(Jobs.release)


def disturb():
    from latticino.cluster import shards
    from latticino.serve import blobs, models

    count_held_jobs()

    opened, ran, put = shards.open_model, models.Model.run, blobs.Blobs.put
    load_keys = models.Model.load_keys

    def opening(*arguments, **options):
        die("load")
        return opened(*arguments, **options)

    def loading(self, file):
        die("load")
        return load_keys(self, file)

    def running(self, session, inputs, final, after):
        def step(done):
            die("compute")
            after(done)

        return ran(self, session, inputs, final, step)

    def putting(self, area, owner, data):
        if area == "results" and marked("other"):
            data = data[:-200] + bytes([data[-200] ^ 1]) + data[-199:]
        hash_ = put(self, area, owner, data)
        if area == "results":
            die("written")
        return hash_

    shards.open_model, models.Model.run, blobs.Blobs.put, models.Model.load_keys = opening, running, putting, loading


if __name__ == "__main__":
    disturb()
    from latticino.cluster.process import main

    sys.exit(main())
elif (__name__ != "sitecustomize" or "latticino.serve.process" in sys.orig_argv) and os.environ.get("LATTICINO_MARKS"):
    disturb()
