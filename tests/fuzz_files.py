"""What `./latticino test --fuzz` runs: libFuzzer's targets of tests/fuzz, and a record of it.

Each reader of bytes from strangers has a target, a share of the work, and a corpus that is kept in tests/fuzz/corpus.
Those of C++ are programs with ASan and UBSan (tests/fuzz/parsers), those of Python run under Atheris
(tests/fuzz/python_readers.py).

With --total a run goes on where the last one was stopped: it takes up the counts of the record and the inputs that it
found, which lie below build/fuzz.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).resolve().parent))
from sanitizer_record import CHECKOUT, SOURCES, _provenance
from tiers import processes

CORPUS = CHECKOUT / "tests" / "fuzz" / "corpus"
LARGEST = 32 << 10  # bytes of an input; payloads are filled in (tests/fuzz/parsers/input.h)
SECONDS_OF_ONE_INPUT = 10
PYTHON_READERS = ("programs", "networks", "array_notes", "results", "numbers", "manifests", "requests")
READERS = ("switch_keys", "ckks_public_key", "tfhe_keys", "ckks_keys", "ckks_secret_key", "ckks_ciphertexts",
           "tfhe_ciphertexts", "tfhe_secret_key", "ckks_params", "tfhe_params", "ckks_params_text", "tfhe_params_text",
           "header", "tuning_table", "note", "ckks_bundle", "tfhe_bundle", "ckks_answers", *PYTHON_READERS)
# The sources of what is run, without the kept inputs (--keep writes them).
PROGRAMS = (*SOURCES, "python", ":(exclude)tests/fuzz/corpus")
SUMS = ("value", "core_hours", "seconds")  # of runs of one commit, which add up
PIECE = 100_000  # a record is written after so many inputs of a reader: at most these are lost if the run is stopped


class Programs(NamedTuple):
    """The folder of the C++ targets, and the interpreter that runs the Python targets."""

    folder: Path
    python: str


def unpack(parser, folder):
    """The kept corpus of a reader as files in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = CORPUS / f"{parser}.zip"
    if path.exists():
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
    return folder


def pack(parser, folder):
    """Archives the files of a folder. The same files give the same archive."""
    CORPUS.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(CORPUS / f"{parser}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(folder.iterdir()):
            archive.writestr(zipfile.ZipInfo(path.name), path.read_bytes(), zipfile.ZIP_DEFLATED)


def environment():
    return dict(os.environ, ASAN_OPTIONS="detect_leaks=1:strict_string_checks=1:abort_on_error=1",
                UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1")


class Children:
    """The programs that run. `stop` ends them, and no other one starts. An interrupt does not reach them by itself."""

    def __init__(self):
        self.stopped, self._lock, self._running = False, threading.Lock(), set()

    def start(self, command):
        """Starts a process. Returns None after `stop`."""
        with self._lock:
            if self.stopped:
                return None
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                       env=environment(), start_new_session=True)
            self._running.add(process)
            return process

    def ended(self, process):
        with self._lock:
            self._running.remove(process)

    def stop(self):
        with self._lock:
            self.stopped = True
            for process in self._running:
                process.terminate()

    @contextmanager
    def stopping(self):
        """Stops them if the block is interrupted."""
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
        for number, handler in before.items():
            if handler != signal.SIG_IGN:  # by nohup
                signal.signal(number, lambda number, _: sys.exit(128 + number))
        try:
            yield
        except BaseException:
            self.stop()
            raise
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def run_to_end(command, children):
    """Runs a command. Gives its status, its output and the core-seconds that it took; None if it was stopped."""
    process = children.start(command)
    if process is None:
        return None
    with process.stdout:
        said = process.stdout.read()
    children.ended(process)  # before wait(): after it, the process id may belong to another process
    _, status, used = os.wait4(process.pid, 0)  # the usage of this process alone: others run at the same time
    process.returncode = os.waitstatus_to_exitcode(status)
    return None if children.stopped else (process.returncode, said, used.ru_utime + used.ru_stime)


def command_of(programs, parser):
    """The target of a reader. ``programs``: the folder of the C++ targets, and the interpreter of the Python targets.
    """
    if parser in PYTHON_READERS:
        return [str(programs.python), str(CHECKOUT / "tests" / "fuzz" / "python_readers.py"), parser]
    return [str(programs.folder / f"fuzz_{parser}")]


def run(programs, work, parser, limit, children):
    """Runs one reader until libFuzzer's limit. Gives a row of the record, and the output of the program; None if it was
    stopped."""
    grown, kept, found = work / "grown" / parser, unpack(parser, work / "kept" / parser), work / "found"
    for folder in (grown, found):
        folder.mkdir(parents=True, exist_ok=True)
    command = [*command_of(programs, parser), str(grown), str(kept), limit, f"-max_len={LARGEST}",
               f"-timeout={SECONDS_OF_ONE_INPUT}", "-rss_limit_mb=4096", "-print_final_stats=1",
               f"-artifact_prefix={found / parser}-"]
    start = time.monotonic()
    ended = run_to_end(command, children)
    if ended is None:
        return None
    status, said, cores = ended
    seconds = time.monotonic() - start

    def last(pattern):
        numbers = re.findall(pattern, said)
        return int(numbers[-1]) if numbers else 0

    inputs = last(r"number_of_executed_units: (\d+)")
    row = {"name": "fuzz.files." + parser, "value": inputs, "unit": "inputs", "failed": bool(status),
           "rate": round(inputs / max(cores, 1e-9)), "rate_unit": "inputs per core-second",
           "core_hours": round(cores / 3600, 4), "seconds": round(seconds, 1), "coverage": last(r" cov: (\d+)"),
           "slowest_seconds": last(r"slowest_unit_time_sec: (\d+)"), "largest_input": LARGEST,
           "sanitizers": [] if parser in PYTHON_READERS else ["address", "undefined"], "device": _provenance.cpu_name(), **_provenance.commit(PROGRAMS),
           "date": time.strftime("%Y-%m-%d", time.gmtime())}
    return row, said


def minimise(programs, work, parser):
    """Keeps the smallest set of inputs that reaches everything that all of them reach."""
    merged = work / "merged" / parser
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir(parents=True)
    sources = [merged, unpack(parser, work / "kept" / parser), work / "grown" / parser]
    subprocess.run([*command_of(programs, parser), "-merge=1", f"-max_len={LARGEST}", *map(str, sources)],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, env=environment())
    pack(parser, merged)


def written(path, row):
    """The row in the record. It is added to the reader's row of the same sources, and replaces a row of others."""
    rows = json.loads(path.read_text()) if path.exists() else []
    for old in rows:
        if old["name"] == row["name"] and sources_of(old) == sources_of(row):
            row = {**row, **{key: round(row[key] + old[key], 4) for key in SUMS},
                   "failed": row["failed"] or old["failed"], "coverage": max(row["coverage"], old["coverage"]),
                   "slowest_seconds": max(row["slowest_seconds"], old["slowest_seconds"])}
            row["rate"] = round(row["value"] / max(3600 * row["core_hours"], 1e-9))
    rows = [old for old in rows if old["name"] != row["name"]] + [row]
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")  # if the run is stopped here, the old or the new file is complete
    new.write_text("[\n" + ",\n".join("  " + json.dumps(r) for r in rows) + "\n]\n")
    new.replace(path)


def sources_of(row):
    """The commit, and whether the sources differed from it."""
    return row.get("commit"), row.get("dirty")


def inputs_of(path, parser):
    """How many inputs of a reader the record has of these sources."""
    rows = json.loads(path.read_text()) if path.exists() else []
    now = sources_of(_provenance.commit(PROGRAMS))
    return sum(row["value"] for row in rows if row["name"] == "fuzz.files." + parser and sources_of(row) == now)


def arguments_of(words):
    parser = argparse.ArgumentParser("latticino test --fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=2, help="of all readers together, of which several run at a time")
    parser.add_argument("--inputs", type=int, help="of each reader, in place of minutes")
    parser.add_argument("--total", type=int, help="of all readers together, in place of minutes, those of the record among "
                        "them: the same command goes on with a run that was stopped")
    parser.add_argument("--record", type=Path, help="adds a row for each reader to this file")
    parser.add_argument("--only", choices=READERS, action="append", help="one reader; may be repeated")
    parser.add_argument("--keep", action="store_true", help="puts what was found to tests/fuzz/corpus, minimised")
    asked = parser.parse_args(words)
    if not asked.minutes > 0 or (asked.inputs is not None and asked.inputs < 1):
        parser.error("--minutes and --inputs take positive numbers")
    if asked.total is not None and (asked.total < 1 or asked.inputs is not None or asked.record is None):
        parser.error("--total takes a positive number, a --record with the counts, and no --inputs")
    return asked


def readers_of(programs, asked):
    """The readers that were asked for. Those of Python are left out if the interpreter has no Atheris."""
    wanted = asked.only or READERS
    if subprocess.run([programs.python, "-c", "import atheris"], capture_output=True).returncode == 0:
        return wanted
    left = [parser for parser in wanted if parser in PYTHON_READERS]
    if len(left) == len(wanted):
        sys.exit(f"{', '.join(left)}: this version of Python has no Atheris; take one that has, or other readers")
    print(f"left out, as this version of Python has no Atheris: {', '.join(left) or 'nothing'}", flush=True)
    return [parser for parser in wanted if parser not in left]


class Fuzzing:
    """Readers that run at the same time, and their record."""

    def __init__(self, programs, asked, readers):
        self.programs, self.asked, self.work = programs, asked, programs.folder / "inputs"
        self.share = None if asked.total is None else -(-asked.total // len(readers))  # of a reader
        seconds = max(1, round(60 * asked.minutes / len(readers)))
        self.limit = f"-runs={asked.inputs}" if asked.inputs else f"-max_total_time={seconds}"
        self.children, self.failed, self._lock = Children(), [], threading.Lock()

    def reader(self, parser):
        """Runs one reader. If the number of inputs is given, it runs in pieces."""
        while True:
            left = None if self.share is None else self.share - inputs_of(self.asked.record, parser)
            if left is not None and left <= 0:
                return
            limit = self.limit if left is None else f"-runs={min(left, PIECE)}"
            ended = run(self.programs, self.work, parser, limit, self.children)
            if ended is None:
                return
            row, said = ended
            if left is not None and not row["value"]:  # nothing was read, and another try would read nothing either
                row["failed"] = True
            # Atheris cannot merge corpora: for Python the valid inputs of `python_readers.py seeds` are kept.
            if self.asked.keep and not row["failed"] and parser not in PYTHON_READERS:
                minimise(self.programs, self.work, parser)
            self.tell(parser, row, said)
            if left is None or row["failed"]:
                return

    def tell(self, parser, row, said):
        with self._lock:
            if self.asked.record:
                written(self.asked.record, row)
            of = "" if self.share is None else f" ({inputs_of(self.asked.record, parser)} of {self.share})"
            print(f"{parser}: {row['value']} inputs{of}, {row['rate']} per core-second, coverage {row['coverage']}", flush=True)
            if row["failed"]:
                self.failed.append(parser)
                print(said[-6000:], flush=True)


def main(folder, python, words):
    """The number of readers that crashed, hung, read invalid memory, or asked for too much memory."""
    asked = arguments_of(words)
    programs = Programs(Path(folder), python)
    readers = readers_of(programs, asked)
    fuzzing = Fuzzing(programs, asked, readers)
    with ThreadPoolExecutor(processes()) as several, fuzzing.children.stopping():
        list(several.map(fuzzing.reader, readers))
    if asked.total is not None:
        print(f"{sum(inputs_of(asked.record, parser) for parser in readers)} inputs of {asked.total} are recorded", flush=True)
    if fuzzing.failed:
        print(f"failed: {', '.join(fuzzing.failed)}; inputs lie in {fuzzing.work / 'found'}")
    return len(fuzzing.failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
