"""Three hospitals, one service: the network of examples/thresholds.py on patients that only their hospital can see.

    ./latticino python examples/served/three_hospitals.py [--preset n16-d40-boot-v1] [--patients 11] [--workers 1]

A service has the weights. Each hospital makes a key of its own, uploads evaluation keys once, and sends its patients
encrypted. Linear layers run in CKKS, exact thresholds in TFHE. Every decision has to be that of the same network in the
clear, though the service sees no feature and no decision. It needs `pip install '.[serve]'`.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import latticino as lt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import thresholds

HOSPITALS = ("north", "south", "west")


def save(path, model, ctx, patients):
    """The network as a file of the operator. Its weights are constants of the program."""
    arguments = [lt.Shape(column.shape, None, (-thresholds.MOST, thresholds.MOST))
                 for column in thresholds.columns_of(patients, model[0].shape[1])]
    lt.save_program(path, lambda *columns: thresholds.network(columns, *model), ctx, *arguments)


@contextmanager
def serving(folder, file, workers):
    """The service as an operator starts it: its address, and a token for each hospital."""
    def latticino(*words):
        return [sys.executable, "-W", "ignore", "-m", "latticino", *words, "--folder", str(folder / "service")]

    tokens = []
    for name in HOSPITALS:
        subprocess.run(latticino("tenants", "add", name), check=True, capture_output=True)
        made = subprocess.run(latticino("tenants", "token", name), check=True, capture_output=True, text=True)
        tokens.append(made.stdout.strip())
    command = latticino("serve", f"thresholds={file}", "--device", "cpu", "--port", "0", "--workers", str(workers))
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        lines = iter(process.stdout.readline, "")
        address = next((found[1] for found in (re.search(r"serving at (\S+)", line) for line in lines) if found), None)
        if address is None:
            raise SystemExit((folder / "log").read_text())
        yield address, tokens
    finally:
        process.terminate()
        process.communicate()


class Hospital:
    """One tenant: its secret key never leaves this object."""

    def __init__(self, url, token, patients):
        self.patients = patients
        service = lt.connect(url, token)
        self.client = lt.keygen(service.context("cpu"))
        self.remote = service.use(self.client)

    def send(self, hidden):
        return self.remote.submit(*thresholds.columns_of(self.patients, hidden))

    def decisions(self, job):
        return job.result().unmarked().real[:len(self.patients)] > 0.5


def served(folder, ctx, model, each, workers):
    """The decisions for the patients of each hospital, as the hospitals decrypt them."""
    save(folder / "thresholds.lt", model, ctx, each[0])
    hidden = model[0].shape[1]
    with serving(folder, folder / "thresholds.lt", workers) as (url, tokens), ThreadPoolExecutor(len(each)) as threads:
        hospitals = list(threads.map(lambda pair: Hospital(url, *pair), zip(tokens, each)))
        start = time.monotonic()
        jobs = list(threads.map(lambda hospital: hospital.send(hidden), hospitals))
        decided = [hospital.decisions(job) for hospital, job in zip(hospitals, jobs)]
        print(f"{time.monotonic() - start:.1f} s for {sum(map(len, each))} patients of {len(each)} hospitals")
        refuse_others(hospitals, jobs)
    return decided


def refuse_others(hospitals, jobs):
    """The data of one hospital are of no use to another: neither its key nor its token opens the answer."""
    assert len({hospital.client.key_id for hospital in hospitals}) == len(hospitals)
    for own, other in zip(hospitals, hospitals[1:] + hospitals[:1]):
        answer = jobs[hospitals.index(own)].data()
        try:
            other.remote.service.part.decrypt(other.client, answer)
            raise AssertionError("a hospital has decrypted the answer to another one")
        except lt.KeyError:
            pass
        assert not {row["id"] for row in own.remote.service.jobs()} & {row["id"] for row in other.remote.service.jobs()}


def compared(name, patients, answers, model):
    """Every decision has to be that of the network in the clear."""
    clear = thresholds.in_the_clear(patients, *model)
    print(f"{name}: {len(patients)} patients, {np.sum(answers != clear)} decided otherwise than in the clear")
    assert (answers == clear).all()


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--preset", default="n16-d40-boot-v1")
    parser.add_argument("--hidden", type=int, default=8, help="units, a power of two")
    parser.add_argument("--patients", type=int, default=11, help="of each hospital")
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args(arguments)
    x, y = thresholds.patients()
    model = thresholds.train(x[:thresholds.TRAIN], y[:thresholds.TRAIN], args.hidden)
    test = x[thresholds.TRAIN:][:len(HOSPITALS) * args.patients]
    truth = y[thresholds.TRAIN:][:len(test)]
    each = np.array_split(test, len(HOSPITALS))
    ctx = lt.Context(args.preset, "cpu")
    with tempfile.TemporaryDirectory() as folder:
        decided = served(Path(folder), ctx, model, each, args.workers)
    for name, patients, answers in zip(HOSPITALS, each, decided):
        compared(name, patients, answers, model)
    print(f"right: {np.mean(np.concatenate(decided) == truth):.4f}")


if __name__ == "__main__":
    main()
