"""A worker of `Local`: ``python -m latticino.cluster.process``.

A line of its standard input is a line of JSON with `Options`, and every further one is a `Shard`. It answers a line
with ``ready``, and then one with the `Outcome` of each shard. It ends with its standard input.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import warnings

from .. import errors
from .shards import READY, Options, Outcome, Runner, Shard


def main() -> int:
    """Computes until the input ends. Returns 0, or 1 after an error that was reported."""
    warnings.simplefilter("ignore", errors.SecurityWarning)  # the user who saved the program has seen this warning
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # printed text must not be mistaken for an answer

    def answer(line: str) -> None:
        answers.write(line + "\n")
        answers.flush()

    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    options = Options.read(sys.stdin.readline())
    threading.Thread(target=_follow, args=(lines,), daemon=True).start()
    try:
        runner = Runner(options)
    except errors.Error as why:
        answer(Outcome.of(why).to_json())
        return 1
    answer(READY)
    while True:
        outcome = runner.run(Shard.read(lines.get()))
        answer(outcome.to_json())
        if outcome.error == "DeviceError":  # a device that has failed once is not used any more
            return 1


def _follow(lines: queue.SimpleQueue[str]) -> None:
    """Passes lines on. When the input ends, it ends the process, even during a shard. This is safe, because blobs are
    written completely or not at all."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
