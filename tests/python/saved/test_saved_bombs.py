"""Files that would take far more memory than they have bytes."""

import hashlib
import json
import struct
import zlib

import pytest

import latticino as lt
from latticino.files import containers
from latticino.saved import files
from latticino.saved.arguments import PROGRAM

COUNT = 1 << 22  # numbers of an array of zeros: 32 MiB from 32 KiB


def file_of(kind, arrays):
    """A file of zeros with a correct digest, as anybody can make it."""
    blob = zlib.compress(bytes(8 * COUNT), 1)
    rows = [{"name": str(i), "kind": "<f8", "length": COUNT, "bytes": len(blob)} for i in range(arrays)]
    head = json.dumps({"kind": kind, "arrays": rows}).encode()
    body = struct.pack("<8sIQ", b"LTPROGRM", 1, len(head)) + head + blob * arrays
    return body + hashlib.sha256(body).digest()


@pytest.fixture
def inflated(monkeypatch):
    """Counts the arrays that have been inflated."""
    count, own = [], containers.Container._array
    monkeypatch.setattr(containers.Container, "_array", lambda *a: count.append(1) or own(*a))
    return count


def test_arrays_that_do_not_fit_are_refused_before_they_are_inflated(inflated, monkeypatch):
    monkeypatch.setattr(containers._native, "available_memory", lambda: 16 * COUNT)
    with pytest.raises(lt.OutOfMemoryError, match="free memory"):
        files.from_bytes(file_of("program", 2))
    assert not inflated
    with pytest.raises(lt.FileError):  # it fits, but is no program
        files.from_bytes(file_of("program", 1))
    assert inflated


def test_files_for_clients_have_no_arrays(inflated):
    with pytest.raises(lt.FileError, match="part for clients"):
        files.from_bytes(file_of("client", 1))
    assert not inflated


def test_inputs_of_many_ciphertexts_are_refused_before_any_is_made(tmp_path, monkeypatch):
    context = lt.Context("test-n10-leveled-insecure", "cpu")
    lt.save_program(tmp_path / "program", lambda a, b: a * b, context, lt.Shape((8,)), lt.Shape((8,)))
    head, arrays = PROGRAM.read(str(tmp_path / "program"))
    fields = {name: value for name, value in head._fields.items() if name != "arrays"}
    monkeypatch.setattr(lt._native, "shape_only", lambda *_: pytest.fail("one was made"))
    for counts in ((1 << 20, 1), (1 << 16, 1 << 16)):
        for row, count in zip(fields["inputs"], counts):
            row |= {"ciphertexts": count, "slots": 8}
        with pytest.raises(lt.FileError, match="ciphertexts"):
            files.from_bytes(PROGRAM.to_bytes(fields, arrays))
