"""Parts of the service that need no further package: blobs, manifests, rates, and errors about missing packages."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import latticino as lt
from latticino.serve import manifest, packages
from latticino.serve.blobs import Blobs
from latticino.serve.manifest import CHUNK, Joined, Manifest
from latticino.serve.refusals import Refused
from latticino.serve.requests import limits

A, B = "a" * 16, "b" * 16


@pytest.fixture
def blobs(tmp_path):
    return Blobs(tmp_path / "blobs")


def files(blobs):
    return [p for p in blobs.folder.rglob("*") if p.is_file() and p.name != ".lock"]


def test_a_blob_has_its_name_when_it_is_whole(blobs):
    data = os.urandom(100_000)
    name = blobs.put("chunks", A, data)
    assert name == hashlib.sha256(data).hexdigest() and blobs.read("chunks", A, name) == data
    assert blobs.put("chunks", A, data) == name and len(files(blobs)) == 1
    with blobs.writer("chunks", A) as writer:
        writer.write(b"half")
    with pytest.raises(RuntimeError), blobs.writer("chunks", A) as writer:
        writer.write(b"half")
        raise RuntimeError
    assert len(files(blobs)) == 1


def test_owners_lie_apart(blobs):
    name = blobs.put("results", A, b"x")
    assert blobs.has("results", A, name) and not blobs.has("results", B, name) and not blobs.has("inputs", A, name)
    with pytest.raises(lt.FileError, match="no blob"):
        blobs.read("results", B, name)
    for wrong in (("results", A, "../" + name[3:]), ("results", "..", name), ("results", A, name.upper()), ("other", A, name),
                  ("results", A + "/..", name), ("results", "", name)):
        with pytest.raises(lt.ValueError):
            blobs.path(*wrong)


def test_the_room_of_a_disk(tmp_path, monkeypatch):
    """Results may take the reserve; what requests bring may not."""
    blobs, asked = Blobs(tmp_path / "blobs", reserve=30), []

    def disk_usage(folder):
        asked.append(folder)
        return SimpleNamespace(total=1000, used=890, free=100)

    monkeypatch.setattr("latticino.serve.blobs.shutil.disk_usage", disk_usage)
    assert (blobs.holds(100), blobs.holds(101)) == (True, False)
    assert blobs.room() == 70 and (blobs.require_room(70), blobs.require_room(71)) == (True, False)
    assert set(asked) == {blobs.folder}


def test_bytes_that_changed_are_found(blobs):
    name = blobs.put("inputs", A, b"right")
    Path(blobs.path("inputs", A, name)).write_bytes(b"wrong")
    with pytest.raises(lt.FileError, match="other bytes"):
        blobs.read("inputs", A, name)


def test_bytes_that_changed_are_replaced_by_the_same_upload(blobs):
    name = blobs.put("inputs", A, b"right")
    assert blobs.intact("inputs", A, name)
    Path(blobs.path("inputs", A, name)).write_bytes(b"wrong")
    assert not blobs.intact("inputs", A, name)
    assert blobs.put("inputs", A, b"right") == name and blobs.read("inputs", A, name) == b"right"
    Path(blobs.path("inputs", A, name)).unlink()
    assert not blobs.intact("inputs", A, name) and len(files(blobs)) == 0
    shutil.rmtree(blobs.folder / "inputs")
    with pytest.raises(OSError):  # a disk that is not mounted has lost nothing
        blobs.intact("inputs", A, name)


def test_sweeping(blobs):
    kept, gone = blobs.put("inputs", A, b"kept"), blobs.put("inputs", A, b"gone")
    assert blobs.sweep("inputs", lambda: {(A, kept)}, age=60) == 0  # both are young, and a row may be about to come
    other = blobs.put("inputs", B, b"kept")
    assert blobs.sweep("inputs", lambda: {(A, kept)}, age=-1) == 2
    assert blobs.has("inputs", A, kept) and not blobs.has("inputs", A, gone) and not blobs.has("inputs", B, other)


def test_a_blob_that_is_stored_again_is_not_swept(blobs):
    """A blob that exists may be relied on, even if a sweeper has already listed it as old."""
    name = blobs.put("inputs", A, b"again")
    os.utime(blobs.path("inputs", A, name), (1, 1))

    def kept():
        blobs.put("inputs", A, b"again")
        return set()

    assert blobs.sweep("inputs", kept, age=60) == 0 and blobs.has("inputs", A, name)


def test_what_killed_writers_left_goes(blobs):
    left = blobs.folder / "tmp" / "x"
    left.write_bytes(b"half")
    blobs.sweep_unfinished(60)
    assert left.exists()
    os.utime(left, (1, 1))
    blobs.sweep_unfinished(60)
    assert not left.exists()


def test_writers_in_threads(blobs):
    data = [os.urandom(1000) for _ in range(8)]
    threads = [threading.Thread(target=lambda i=i: [blobs.put("chunks", A, d) for d in data]) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert {p.read_bytes() for p in files(blobs)} == set(data)


def test_manifests(monkeypatch):
    monkeypatch.setattr(manifest, "CHUNK", 1000)
    data = os.urandom(2500)
    made = Manifest.of(io.BytesIO(data))
    assert made.size == 2500 and [made.sizes()[c] for c in made.chunks] == [1000, 1000, 500]
    assert Manifest.read(json.loads(made.to_json())) == made
    assert made.hash == hashlib.sha256((2500).to_bytes(8, "little") + b"".join(map(bytes.fromhex, made.chunks))).hexdigest()
    assert Manifest.of(io.BytesIO(data[:-1])).hash != made.hash
    joined = Joined(iter([data[:1000], b"", data[1000:]]))
    assert io.BufferedReader(joined).read() == data


H = "ab" * 32


@pytest.mark.parametrize("wrong", [
    None, [], "x", 3, {}, {"size": 10}, {"chunks": [H]}, {"size": "10", "chunks": [H]}, {"size": 0, "chunks": []},
    {"size": True, "chunks": [H]}, {"size": -1, "chunks": [H]}, {"size": 1.5, "chunks": [H]}, {"size": 10, "chunks": []},
    {"size": 10, "chunks": [H, H]}, {"size": 10, "chunks": [H[:-1]]}, {"size": 10, "chunks": [H.upper()]},
    {"size": 10, "chunks": [3]}, {"size": CHUNK + 1, "chunks": [H]}, {"size": 2**60, "chunks": [H]},
    {"size": CHUNK + 1, "chunks": [H, H]}, {"size": 10, "chunks": {"0": H}}], ids=str)
def test_what_is_no_manifest(wrong):
    with pytest.raises(lt.ValueError):
        Manifest.read(wrong)


def test_a_chunk_may_repeat():
    assert Manifest.read({"size": 2 * CHUNK, "chunks": [H, H]}).sizes() == {H: CHUNK}


def test_rates(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(limits.time, "monotonic", lambda: now[0])
    rate = limits.Rate(2.0, 3.0)
    for _ in range(3):
        rate.spend("a")
    with pytest.raises(Refused) as why:
        rate.spend("a")
    assert why.value.status == 429 and why.value.retry_after == 0.5
    rate.spend("b")
    now[0] = 0.5
    rate.spend("a")
    with pytest.raises(Refused):
        rate.spend("a")


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr(packages, "NAMES", ("json", "no_such_package"))
    with pytest.raises(lt.UnsupportedError, match=r"without no_such_package.*from a checkout of Latticino: pip install '.\[serve\]'"):
        packages.require("serve")


def test_the_packages_are_those_that_serve_installs():
    """All but psycopg, which only a PostgreSQL store needs."""
    listed = (Path(__file__).parents[3] / "requirements" / "serve.txt").read_text()
    names = set(re.findall(r"^([a-z-]+)", listed, re.MULTILINE)) - {"psycopg"}
    assert {name.replace("-", "_") for name in names} == set(packages.NAMES)


def test_the_package_needs_none_of_them(child_environment):
    """Importing the package, and the client of a service, imports no package of a server."""
    code = ("import sys, latticino, latticino.serve.manifest\n"
            f"assert not {set(packages.NAMES)} & {{name.partition('.')[0] for name in sys.modules}}")
    subprocess.run([sys.executable, "-c", code], check=True, env=child_environment)
