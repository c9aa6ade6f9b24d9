"""Programs from untrusted sources: whatever their bytes are, loading gives a program or an lt.Error, and takes little
memory."""

import contextlib
import copy
import hashlib
import json
import random
import resource
import struct
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import latticino as lt
from latticino.files import containers
from latticino.measure.fuzz import saved_programs
from latticino.saved import files
from latticino.saved.arguments import PROGRAM, Decoder

SHAPE = lt.Shape((8,), None, (-1, 1))
ARRAY = {"array": {"name": "0", "dtype": "float64", "shape": [8]}}


@pytest.fixture(scope="module")
def known():
    return saved_programs.seeds()


@pytest.fixture(scope="module")
def head():
    """A program of one step, x * x, and an array that it does not use."""
    ctx = lt.Context("test-n10-leveled-insecure", "cpu", threads=1)
    data = files.captured(lambda x: (x * x) + np.arange(8), ctx, (SHAPE,), {})
    found, arrays = PROGRAM.from_bytes(data)
    return {k: v for k, v in found._fields.items() if k != "arrays"}, arrays


def step(op, *results, **arguments):
    return {"op": op, "arguments": arguments, "results": [{"shape": list(shape)} for shape in results]}


def of_steps(head, *steps, outputs=None, **fields):
    """The bytes of a program with these steps."""
    own = {**copy.deepcopy(head[0]), "steps": list(steps), "outputs": [len(steps)] if outputs is None else outputs, **fields}
    return PROGRAM.to_bytes(own, head[1])


def refusal(data):
    with pytest.raises(lt.FileError) as why:
        files.from_bytes(data)
    return str(why.value)


X = {"of": 0}


@pytest.mark.parametrize("said, steps", [
    ("an operation that does not exist", [step("__reduce__", (8,), self=X)]),
    ("an operation that does not exist", [step("eval", (8,), self=X)]),
    ("an operation that does not exist", [step("__class__", (8,), self=X)]),
    # An operation of the other scheme.
    ("an operation that does not exist", [step("astype", (8,), self=X, dtype="u8")]),
    ("an operation that does not exist", [step("lt.save_params", (8,), self=X)]),
    ("a result that does not exist yet", [step("add", (8,), self=X, other={"of": 1})]),  # a cycle
    ("a result that does not exist yet", [step("add", (8,), self={"of": 2}, other=X), step("neg", (8,), self=X)]),
    ("a result that does not exist yet", [step("neg", (8,), self={"of": -1})]),
    ("a result that does not exist yet", [step("neg", (8,), self={"of": 1 << 70})]),
    ("a result that does not exist yet", [step("neg", (8,), self={"of": True})]),
    ("an argument of an unknown kind", [step("neg", (8,), self={"code": "1"})]),
    ("an argument of an unknown kind", [step("neg", (8,), self={"ellipsis": False})]),
    ("an argument that is none", [step("add", (8,), self=X, other={"of": 0, "array": 1})]),
    ("an argument that an operation has not", [step("neg", (8,), self=X, other=1)]),
    ("arguments that an operation has not", [step("add", (8,), other=X)]),
    ("arguments that an operation has not", [step("add", (8,), self=X, other={"options": {"x": 1}})]),
    ("a step without results", [step("neg", self=X)]),
    ("an array that is too large", [step("neg", (1 << 25,), self=X)]),
    ("a note that is no array", [step("neg", (1 << 30, 1 << 30, 1 << 30), self=X)]),
    ("a note that is no array", [step("neg", (0,), self=X)]),
    ("results of shapes ((8,),)", [step("neg", (9,), self=X)]),
    ("results of shapes ((8,),)", [step("neg", (8,), (8,), self=X)]),
    ("broadcast_to: had a result of 1,073,741,824 values", [step("broadcast_to", (8,), self=X, shape={"tuple": [1 << 27, 8]})]),
    ("index: had", [step("getitem", (8,), self=X, index=8)]),
    ("an encrypted array", [step("neg", (8,), self=3)]),
    ("steps that cannot run", [step("approximate", (8,), self=X, f=3)]),
    ("steps that cannot run", [step("polyval", (8,), self=X, coefficients=[1] * 255)]),
    ("an array that is not there", [step("add", (8,), self=X, other={"array": {"name": "7", "dtype": "float64", "shape": [8]}})]),
    ("an array that is not there", [step("add", (8,), self=X, other={"array": {"name": "0", "dtype": "object", "shape": [8]}})]),
    ("an array of another size", [step("add", (8,), self=X, other={"array": {"name": "0", "dtype": "float64", "shape": [8]}})]),
    ("numbers that their type does not hold", [step("add", (8,), self=X, other={"array": {"name": "0", "dtype": "bool", "shape": [8]}})]),
    ("an argument that is none", [step("add", (8,), self=X, other=json.loads("[" * 20 + "]" * 20))]),
])
def test_steps_that_are_refused(head, said, steps):
    assert said in refusal(of_steps(head, *steps))


def test_a_program_without_steps_gives_its_argument(head):
    assert files.from_bytes(of_steps(head)).outputs[0].shape == (8,)


def test_the_values_that_are_alive_at_once_are_bounded(head):
    """Found from the stated shapes, before anything runs."""
    steps = [step("neg", (1 << 24,), self=X)] * 5
    assert "more values at once than a program may have" in refusal(of_steps(head, *steps, outputs=[1, 2, 3, 4, 5], single=False))
    assert "results of shapes" in refusal(of_steps(head, *steps))  # only the last of them is kept


@pytest.mark.parametrize("said, fields", [
    ("results that are none", {"outputs": []}), ("outputs that are no counts", {"outputs": [9]}),
    ("no inputs", {"inputs": []}), ("a kind that does not exist", {"kind": "code"}),
    ("a scheme or a device", {"scheme": "bfv"}), ("a scheme or a device", {"device": "tpu"}),
    ("parameters that are none", {"params": "zz"}), ("", {"params": "00" * 100}), ("no list scalars", {"scalars": 3}),
    ("numbers without names", {"scalars": [{"name": "a b", "range": {"claim": "declared", "random": False, "numbers": [-1, 1, 0, 0, 1, 1]}}]}),
    ("", {"scalars": [{"name": "a", "range": {"claim": "declared", "random": False, "numbers": [1, -1, 0, 0, 1, 1]}}]})])
def test_heads_that_are_refused(head, said, fields):
    assert said in refusal(of_steps(head, **{"outputs": [0], **fields}))


def test_inputs_that_are_refused(head):
    good = head[0]["inputs"][0]
    for change in ({"slots": 3}, {"slots": 1 << 40}, {"ciphertexts": 1 << 30}, {"level": 99}, {"scale": 1e300}, {"scale": -1},
                   {"note": "{"}, {"note": good["note"].replace("[8]", "[9007199254740991]")}, {"ciphertexts": 2}):
        refusal(of_steps(head, inputs=[{**good, **change}]))


def test_damage_is_found(head):
    data = of_steps(head)
    rng = np.random.default_rng(1)
    for _ in range(60):
        bad = bytearray(data)
        bad[int(rng.integers(len(bad)))] ^= 1 << int(rng.integers(8))
        refusal(bytes(bad))
    for cut in (0, 8, 20, len(data) - 1):
        refusal(data[:cut])
    refusal(data + b"x")


def test_other_versions_and_files(head, tmp_path):
    data = bytearray(of_steps(head))
    data[8:12] = struct.pack("<I", 2)
    assert "format version 2" in refusal(bytes(data[:-32]) + hashlib.sha256(data[:-32]).digest())
    for name in ("no such file", "."):
        with pytest.raises(lt.FileError):
            lt.load_program(tmp_path / name)
    with pytest.raises(lt.DeviceError):
        files.from_bytes(bytes(data), "tpu")


def test_arrays_do_not_inflate_beyond_their_bytes(head):
    """A gigabyte in a hundred bytes is refused before anything is allocated."""
    data = of_steps(head)
    length = struct.unpack_from("<8sIQ", data)[2]
    own = json.loads(data[20:20 + length])
    own["arrays"][0]["length"] = containers._MAX_NUMBERS
    text = json.dumps(own).encode()
    body = struct.pack("<8sIQ", PROGRAM.magic, PROGRAM.version, len(text)) + text + data[20 + length:-32]
    assert "an array that does not fit" in refusal(body + hashlib.sha256(body).digest())


def test_a_refusal_takes_little_memory_and_time(head):
    """Steps that would make large arrays of small ones, each within the limits for files."""
    picked = {"array": {"name": "0", "dtype": "int64", "shape": [8]}}
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    bombs = [
        [step("expand_dims", (8, 1), self=X, axis=1), step("mul", (8, 1 << 21), self={"of": 1}, other=X)],
        [step("conv", (8,), self=X, weight=[[[1.0]]], padding=1 << 40)],
        [step("average_pool", (8,), self=X, size=1 << 40)],
        [step("getitem", (8, 8), self=X, index={"tuple": [None, picked, None]})],
        [step("lt.stack", (1 << 21, 8), arrays=[X] * 1000, axis=0)],
        [step("lt.matrix_power", (8,), x=X, n=1 << 60)],
        [step("lt.linear_map", (8,), self={"map": {"rows": picked["array"], "columns": picked["array"], "values": picked["array"],
              "shape_in": [8], "shape_out": [1 << 53], "keep": True, "memory": 1, "operation": "linear_map", "shared": False}},
              xs={"tuple": [X]})]]
    for steps in bombs:
        refusal(of_steps(head, *steps))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10  # KiB
    assert time.process_time() - start < 10


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["of", "array", "tuple", "slice", "range", "fit", "table", "map", "complex", "options", "name", "x"]), inner,
        max_size=3), max_leaves=12)


@given(VALUES)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_any_argument_is_read_or_refused(value):
    with contextlib.suppress(lt.Error):
        Decoder({"0": np.arange(8.0)}).argument(value, 2)


@given(st.integers(0, 2**62))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_changed_programs_are_refused_or_loaded(known, seed):
    """`latticino fuzz --part program-files` does the same without end."""
    result = saved_programs.attempt(seed, saved_programs.mutated(known, random.Random(seed)))
    assert not result.wrong, result.program
