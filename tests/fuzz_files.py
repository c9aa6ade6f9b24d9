"""What `./latticino test --fuzz` runs: libFuzzer's targets of tests/fuzz, and a record of it.

Each reader of bytes from strangers has a target, a share of the work, and a corpus that is kept in tests/fuzz/corpus.
Those of C++ are programs with ASan and UBSan (tests/fuzz/parsers), those of Python run under Atheris
(tests/fuzz/python_readers.py).
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
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
# What is run: the kept inputs are not (--keep writes them).
PROGRAMS = (*SOURCES, "python", ":(exclude)tests/fuzz/corpus")
SUMS = ("value", "core_hours", "seconds")  # of runs of one commit, which add up


class Programs(NamedTuple):
    """The folder of C++'s targets, and the interpreter that runs Python's."""

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
    """Keeps a folder's files: the same files give the same archive."""
    CORPUS.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(CORPUS / f"{parser}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(folder.iterdir()):
            archive.writestr(zipfile.ZipInfo(path.name), path.read_bytes(), zipfile.ZIP_DEFLATED)


def environment():
    return dict(os.environ, ASAN_OPTIONS="detect_leaks=1:strict_string_checks=1:abort_on_error=1",
                UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1")


def run_to_end(command):
    """Its status, its output, and the core-seconds that it took."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               env=environment())
    with process.stdout:
        said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)  # of this one alone: others run beside it
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, said, used.ru_utime + used.ru_stime


def command_of(programs, parser):
    """The target of a reader. ``programs``: where those of C++ are, and the interpreter of those of Python."""
    if parser in PYTHON_READERS:
        return [str(programs.python), str(CHECKOUT / "tests" / "fuzz" / "python_readers.py"), parser]
    return [str(programs.folder / f"fuzz_{parser}")]


def run(programs, work, parser, limit):
    """Runs one reader until libFuzzer's limit. Gives a row of the record, and the output of the program."""
    grown, kept, found = work / "grown" / parser, unpack(parser, work / "kept" / parser), work / "found"
    for folder in (grown, found):
        folder.mkdir(parents=True, exist_ok=True)
    command = [*command_of(programs, parser), str(grown), str(kept), limit, f"-max_len={LARGEST}",
               f"-timeout={SECONDS_OF_ONE_INPUT}", "-rss_limit_mb=4096", "-print_final_stats=1",
               f"-artifact_prefix={found / parser}-"]
    start = time.monotonic()
    status, said, cores = run_to_end(command)
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
    """Keeps the fewest inputs that reach what all of them reach."""
    merged = work / "merged" / parser
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir(parents=True)
    sources = [merged, unpack(parser, work / "kept" / parser), work / "grown" / parser]
    subprocess.run([*command_of(programs, parser), "-merge=1", f"-max_len={LARGEST}", *map(str, sources)],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, env=environment())
    pack(parser, merged)


def written(path, row):
    """The row in the record: added to the reader's row of the same commit, in place of one of another."""
    rows = json.loads(path.read_text()) if path.exists() else []
    for old in rows:
        if old["name"] == row["name"] and old.get("commit") == row.get("commit"):
            row = {**row, **{key: round(row[key] + old[key], 4) for key in SUMS},
                   "failed": row["failed"] or old["failed"], "coverage": max(row["coverage"], old["coverage"]),
                   "slowest_seconds": max(row["slowest_seconds"], old["slowest_seconds"])}
            row["rate"] = round(row["value"] / max(3600 * row["core_hours"], 1e-9))
    rows = [old for old in rows if old["name"] != row["name"]] + [row]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[\n" + ",\n".join("  " + json.dumps(r) for r in rows) + "\n]\n")


def arguments_of(words):
    parser = argparse.ArgumentParser("latticino test --fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=2, help="of all readers together, of which several run at a time")
    parser.add_argument("--inputs", type=int, help="of each reader, in place of minutes")
    parser.add_argument("--record", type=Path, help="adds a row for each reader to this file")
    parser.add_argument("--only", choices=READERS, action="append", help="one reader; may be repeated")
    parser.add_argument("--keep", action="store_true", help="puts what was found to tests/fuzz/corpus, minimised")
    asked = parser.parse_args(words)
    if not asked.minutes > 0 or (asked.inputs is not None and asked.inputs < 1):
        parser.error("--minutes and --inputs take positive numbers")
    return asked


def readers_of(programs, asked):
    """The readers that were asked for. Those of Python are left out where the interpreter has no Atheris."""
    wanted = asked.only or READERS
    if subprocess.run([programs.python, "-c", "import atheris"], capture_output=True).returncode == 0:
        return wanted
    left = [parser for parser in wanted if parser in PYTHON_READERS]
    if len(left) == len(wanted):
        sys.exit(f"{', '.join(left)}: this version of Python has no Atheris; take one that has, or other readers")
    print(f"left out, as this version of Python has no Atheris: {', '.join(left) or 'nothing'}", flush=True)
    return [parser for parser in wanted if parser not in left]


def main(folder, python, words):
    """How many readers crashed, hung, read where they may not, or asked for too much memory."""
    asked = arguments_of(words)
    programs, failed = Programs(Path(folder), python), []
    work = programs.folder / "inputs"
    readers = readers_of(programs, asked)
    limit = f"-runs={asked.inputs}" if asked.inputs else f"-max_total_time={max(1, round(60 * asked.minutes / len(readers)))}"

    def one(parser):
        row, said = run(programs, work, parser, limit)
        # Atheris cannot merge corpora: for Python the valid inputs of `python_readers.py seeds` are kept.
        if asked.keep and not row["failed"] and parser not in PYTHON_READERS:
            minimise(programs, work, parser)
        return row, said

    with ThreadPoolExecutor(processes()) as several:
        for parser, (row, said) in zip(readers, several.map(one, readers)):
            print(f"{parser}: {row['value']} inputs, {row['rate']} per core-second, coverage {row['coverage']}", flush=True)
            if row["failed"]:
                failed.append(parser)
                print(said[-6000:], flush=True)
            if asked.record:
                written(asked.record, row)
    if failed:
        print(f"failed: {', '.join(failed)}; inputs lie in {work / 'found'}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
