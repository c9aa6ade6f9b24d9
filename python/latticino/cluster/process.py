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
    """Computes until the input ends. The status is 0, or 1 after an error that was told."""
    warnings.simplefilter("ignore", errors.SecurityWarning)  # whoever saved the program has seen it
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what anything prints is no answer

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
        if outcome.error == "DeviceError":  # a device that failed once is not to be trusted
            return 1


def _follow(lines: queue.SimpleQueue[str]) -> None:
    """Passes lines on. Ends the process with its input, in the middle of a shard too: blobs are whole or not there."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
