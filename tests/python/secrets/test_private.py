"""Decrypted values: whatever numpy computes from them keeps the mark, or is refused."""

import copy
import importlib
import io
import math
import os
import pickle

import numpy as np
import pytest

import latticino as lt


@pytest.fixture
def z(client):
    return client.decrypt(client.encrypt([[0.5, 0.25, -0.75], [0.125, 1.0, 0.375]]))


KEPT = {
    "a slice": lambda z: z[0], "a value": lambda z: z[0, 0], "chosen values": lambda z: z[z.real > 0],
    "sum": lambda z: z.sum(), "np.sum": np.sum, "mean": lambda z: z.mean(axis=0), "np.mean": np.mean,
    "max": lambda z: z.real.max(), "std": lambda z: z.std(), "argmax": lambda z: z.real.argmax(), "var": np.var,
    "plus": lambda z: z + 1, "number times a value": lambda z: 2 * z[0, 0], "numpy's number": lambda z: np.float64(2) * z[0, 0],
    "abs": lambda z: abs(z[0, 0]), "compare": lambda z: z.real > 0, "reduce": lambda z: np.add.reduce(z, axis=None),
    "product": lambda z: z @ z.T, "inner product": lambda z: z[0] @ z[0], "dot": lambda z: np.dot(z[0], z[0]),
    "with clear ones": lambda z: np.ones((2, 2)) @ z, "real part": lambda z: z.real, "transposed": lambda z: z.T,
    "astype": lambda z: z.astype(np.complex64), "reshape": lambda z: z.reshape(3, 2), "ravel": lambda z: z.ravel(),
    "concatenate": lambda z: np.concatenate([np.ones((1, 3)), z]), "stack": lambda z: np.stack([z, z]),
    "where": lambda z: np.where(z.real > 0, z, 0), "fft": np.fft.fft, "norm": np.linalg.norm, "einsum": lambda z: np.einsum("ij->i", z),
    "median": lambda z: np.median(z.real), "sort": np.sort, "cumsum": lambda z: z.cumsum(), "round": lambda z: round(z[0, 0], 1),
    "copy": copy.copy, "deepcopy": copy.deepcopy, "np.copy": lambda z: np.copy(z, subok=True), "method copy": lambda z: z.copy(),
    "a row of a loop": lambda z: next(iter(z)), "a value of a loop": lambda z: next(iter(z[0])), "Python's max": lambda z: max(z[0].real),
    "a plain array's dot": lambda z: np.ones(2).dot(z), "np.ndarray.dot": lambda z: np.ndarray.dot(np.ones((3, 2)), z),
    "an object": lambda z: z.astype(object)[0, 0], "a sum of objects": lambda z: z.astype(object).sum(),
    "a ufunc on objects": lambda z: np.add.reduce(z.astype(object), axis=None), "chosen by it": lambda z: np.add(np.ones((2, 3)), 1, where=z.real > 0),
    "in place": lambda z: z.__iadd__(1), "a marked output": lambda z: np.add(z, 1, out=z.copy()), "method round": lambda z: z.round(2),
    "np.asanyarray": np.asanyarray, "take": lambda z: z.take([0, 1]), "broadcast": lambda z: np.broadcast_to(z, (2, 2, 3), subok=True),
    "astype for plain arrays": lambda z: z.astype(complex, subok=False), "base": lambda z: z[0].base, "bits": lambda z: z.view(np.uint64),
    "view": lambda z: z.view(), "its class": lambda z: z.view(type=lt.PrivateArray),
}


@pytest.mark.parametrize("f", KEPT.values(), ids=KEPT)
def test_the_mark_stays(z, f):
    assert type(f(z)) is lt.PrivateArray


def test_several_results_are_marked(z):
    for results in (np.linalg.svd(z), np.split(z, 3, axis=1), divmod(z.real, 2), np.unique(z.real, return_counts=True), list(z[0])):
        assert len(results) > 1 and all(type(r) is lt.PrivateArray for r in results)


def written_to_a_file(z):
    with open(os.devnull, "wb") as file:
        np.lib.format.write_array(file, z)


REFUSED = {
    "pickle": pickle.dumps, "tobytes": lambda z: z.tobytes(), "tolist": lambda z: z.tolist(), "item": lambda z: z.item(0),
    "dump": lambda z: z.dump("never"), "dumps": lambda z: z.dumps(), "tofile": lambda z: z.tofile("never"),
    "save": lambda z: np.save(io.BytesIO(), z), "savez": lambda z: np.savez(io.BytesIO(), z=z),
    "savez compressed": lambda z: np.savez_compressed(io.BytesIO(), z), "savetxt": lambda z: np.savetxt(io.StringIO(), z),
    "float": lambda z: float(z.real[0, 0]), "complex": lambda z: complex(z[0, 0]), "int": lambda z: int(z.real[0, 0]),
    "flat": lambda z: z.flat, "a scalar's bytes": lambda z: z[0, 0].tobytes(), "pickle of a sum": lambda z: pickle.dumps(z.sum()),
    "write_array to a file": written_to_a_file, "trunc": lambda z: math.trunc(z.real[0, 0]),
    "DLPack": np.from_dlpack, "fromiter": lambda z: np.fromiter(z[0].real, float),
    "masked": np.ma.array, "masked where": lambda z: np.ma.masked_where(z.real > 0, z), "masked, a function": np.ma.sum,
    "a plain view": lambda z: z.view(np.ndarray), "a plain view by name": lambda z: z.view(type=np.ndarray),
    "a plain view of a type": lambda z: z.view(np.uint64, np.ndarray), "records": lambda z: z.view(np.recarray),
    "__array__": lambda z: z.__array__(), "memory": lambda z: z.data, "ctypes": lambda z: z.ctypes,
    "interface": lambda z: z.__array_interface__, "struct": lambda z: z.__array_struct__,
}


@pytest.mark.parametrize("f", REFUSED.values(), ids=REFUSED)
def test_ways_out_are_refused(z, f):
    with pytest.raises(lt.UnsupportedError, match=r"decrypt_for_sharing, or x\.unmarked"):
        f(z)


PLAIN_OUTPUTS = {
    "b += x": lambda z, b: b.__iadd__(z), "b @= x": lambda z, b: b[:, :2].__imatmul__(z[:, :2]),
    "ufunc": lambda z, b: np.add(z, 1, out=b), "position": lambda z, b: np.add(z, 1, b),
    "second output": lambda z, b: np.modf(z.real, out=(None, b.real)), "function": lambda z, b: np.concatenate([z, z], out=np.vstack([b, b])),
    "function's position": lambda z, b: np.sum(z, 0, None, b[0]), "method": lambda z, b: z.sum(axis=0, out=b[0]),
    "method's position": lambda z, b: z.sum(0, None, b[0]), "at": lambda z, b: np.add.at(b, [0], z[0]), "copyto": lambda z, b: np.copyto(b, z),
    "copyto by name": lambda z, b: np.copyto(dst=b, src=z), "put": lambda z, b: np.put(b, [0, 1], z[0]),
    "place": lambda z, b: np.place(b, b == 0, z[0]), "putmask": lambda z, b: np.putmask(b, b == 0, z[0]),
    "full_like": lambda z, b: np.full_like(b, z),
    "dot's position": lambda z, b: np.dot(z, z.T, b[:, :2].copy()), "concatenate's position": lambda z, b: np.concatenate([z], 0, b),
    "choose's position": lambda z, b: np.choose([0, 1, 0], z, b[0]), "median's position": lambda z, b: np.median(z.real, 0, b[0].real),
}


@pytest.mark.parametrize("f", PLAIN_OUTPUTS.values(), ids=PLAIN_OUTPUTS)
def test_plain_arrays_are_no_place_for_marked_values(z, f):
    with pytest.raises(lt.UnsupportedError, match=r"leave the output out.*x\.unmarked"):
        f(z, np.zeros((2, 3), complex))


def test_printing_carries_the_mark(z):
    z = np.round(z.real, 3)
    for text in (repr(z), str(z), f"{z[0, 0]:.2f}", repr(z[0, 0]), str(z[0, 0]), np.array2string(z), np.array_repr(z), np.array_str(z),
                 repr(list(z[0]))):
        assert "not to be shared" in text and "0.5" in text


def test_the_owner_takes_the_mark_off(z):
    plain = z.unmarked()
    assert type(plain) is np.ndarray and not np.shares_memory(plain, z)
    np.testing.assert_array_equal(plain, np.array(z))
    assert type(np.array(z)) is type(np.asarray(z)) is np.ndarray  # numpy does not call the class here, as documented
    assert pickle.loads(pickle.dumps(plain)).shape == (2, 3)


def lost_by_assignment(z):
    b = np.zeros(z.shape, z.dtype)
    b[:] = z
    return b


def lost_by(assign):
    def lost(z):
        b = np.zeros(z.shape, z.dtype)
        assign(b, z)
        return b

    return lost


def lost_on_a_diagonal(row):
    np.fill_diagonal(b := np.zeros((len(row),) * 2, row.dtype), row)
    return b.diagonal()


def lost_by_writing(z):
    np.lib.format.write_array(file := io.BytesIO(), z)
    file.seek(0)
    return np.load(file)


def lost_by_saving(z):
    np.save(file := io.BytesIO(), [z])
    file.seek(0)
    return np.load(file)[0]


LOST = {
    "np.array": np.array, "np.asarray": np.asarray, "a list": lambda z: np.array([z])[0], "np.save of a list": lost_by_saving,
    "np.ndenumerate": lambda z: np.array([v for _, v in np.ndenumerate(z)]).reshape(z.shape), "assignment": lost_by_assignment,
    "np.nditer": lambda z: np.array([complex(v) for v in np.nditer(z)]).reshape(z.shape),
    "np.broadcast": lambda z: np.array([v for v, _ in np.broadcast(z, 0)]).reshape(z.shape),
    "np.random": lambda z: np.random.default_rng(1).normal(z, 0),
    "memoryview": memoryview, "np.frombuffer": lambda z: np.frombuffer(z, z.dtype).reshape(z.shape),
    "the base class": lambda z: np.ndarray.view(z, np.ndarray), "np.float64": lambda z: np.array([[np.complex128(v) for v in row] for row in z]),
    "its type": lambda z: np.array([[z.dtype.type(v) for v in row] for row in z]), "as_strided": np.lib.stride_tricks.as_strided,
    "write_array": lost_by_writing, "real": lost_by(lambda b, z: setattr(b, "real", z)),
    "put": lost_by(lambda b, z: b.put(np.arange(z.size), z)), "setfield": lost_by(lambda b, z: b.setfield(z, z.dtype)),
    "choose": lambda z: np.stack([np.full(3, i).choose(z) for i in range(2)]), "np.full": lambda z: np.full(z.shape, z),
    "diagonal": lambda z: np.stack([lost_on_a_diagonal(row) for row in z]), "a buffer": lambda z: np.ndarray(z.shape, z.dtype, z)}


@pytest.mark.parametrize("f", LOST.values(), ids=LOST)
def test_where_the_mark_is_lost_is_documented(z, f):
    """numpy does not call the class there. If such an operation is refused one day, it must leave the list of the
    documentation, and this one."""
    plain = f(z)
    assert type(plain) is not lt.PrivateArray and (np.asarray(plain) == lost_by_assignment(z)).all()
    for way in ("np.array(x)", "np.asarray(x)", "np.ndenumerate(x)", "np.save(file, [x])", "b[...] = x", "np.nditer(x)",
                "np.broadcast(x, y)", "np.random", "memoryview(x)", "np.frombuffer(x)", "np.ndarray.view(x, np.ndarray)",
                "np.float64(x[0])", "x.dtype.type(x[0])", "as_strided(x)", "np.lib.format.write_array(file, x)", "b.real = x", "b.put(i, x)",
                "b.setfield(x, float)", "b.choose(x)", "np.fill_diagonal(b, x)", "np.full(3, x[0])", "np.ndarray(shape, dtype, x)"):
        assert way in lt.PrivateArray.__doc__, way


def test_decisions_and_encryption_take_private_values(client, z):
    assert np.allclose(z, z) and (abs(z) < 2).all() and bool(z[0, 0].real > 0)
    again = client.decrypt(client.encrypt(z))
    assert lt.precision(again, z).worst > 15
    assert lt.precision(client.decrypt(client.encrypt(z[0, 0].real)), z[0, 0].real).worst > 15


# Functions of numpy whose results have no mark, because they read the memory of their argument directly. The class lists them.
BEGIN_WITH_ARRAY = {
    "numpy": {"array", "asarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray", "frombuffer", "ndenumerate", "nditer",
              "broadcast", "poly1d", "record"},
    "numpy.rec": {"fromarrays", "fromrecords"},
    "numpy.ma": {"atleast_1d", "atleast_2d", "atleast_3d", "column_stack", "dstack", "hstack", "row_stack", "stack", "vstack", "frombuffer",
                 "ndenumerate", "flatten_mask"},
    "numpy.lib.stride_tricks": {"as_strided"}}
# Functions whose result describes the array and not its values, or decides something in the owner's program.
OF_NO_VALUE = {
    "shape", "ndim", "size", "isscalar", "iterable", "isfortran", "isrealobj", "iscomplexobj", "mintypecode", "printoptions", "getmask",
    "getmaskarray", "isMA", "isMaskedArray", "isarray", "is_mask", "is_masked", "make_mask", "count_masked", "default_fill_value",
    "maximum_fill_value", "minimum_fill_value", "flatnotmasked_contiguous", "flatnotmasked_edges", "clump_unmasked", "clump_masked",
    "common_type", "finfo", "iinfo", "info", "isdtype", "issubdtype", "result_type", "min_scalar_type"}


def plain_parts(result, depth=0):
    """The types of plain data in a result."""
    if isinstance(result, lt.PrivateArray) or result is None or result is NotImplemented:
        return set()
    if isinstance(result, (np.ndarray, np.generic)) and (result.size == 0 or result is np.ma.masked):
        return set()
    if isinstance(result, (tuple, list)) and depth < 4:
        return set().union(*(plain_parts(part, depth + 1) for part in result))
    return {type(result).__name__}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", ["numpy", "numpy.linalg", "numpy.fft", "numpy.ma", "numpy.rec", "numpy.lib.scimath",
                                    "numpy.lib.stride_tricks"])
def test_every_function_of_an_array_marks_its_result_or_is_documented(module):
    """Calls each function of numpy that takes one array, with arrays of all kinds and some shapes."""
    values = [np.asarray(np.arange(1, 1 + math.prod(shape)).reshape(shape) * 0.37) for shape in ((3,), (3, 3), ())]
    kinds = [x.astype(kind).view(lt.PrivateArray) for x in values for kind in (float, complex, int, bool)]
    known, bad, calls = BEGIN_WITH_ARRAY.get(module, set()) | OF_NO_VALUE, [], 0
    where = importlib.import_module(module)
    for name in dir(where):
        f = getattr(where, name)
        types_and_errors = isinstance(f, type) and issubclass(f, (np.generic, Exception, np.memmap))
        if name.startswith("_") or name in known or types_and_errors or not callable(f) or isinstance(f, type(math)) or name in (
                "save", "savez", "savetxt", "savez_compressed", "test", "show_config", "show_runtime", "ids"):
            continue
        for x in kinds:
            try:
                result = f(x)
            except Exception:
                continue
            calls += 1
            shown = isinstance(result, str) and "not to be shared" in result
            if plain_parts(result) and not shown:
                bad.append(f"{name}: {sorted(plain_parts(result))}")
    assert not bad, sorted(set(bad))
    assert calls > 3 or module in BEGIN_WITH_ARRAY



INDICES = {
    "index": lambda b, i: b[i], "mask": lambda b, i: b[i > 0], "take": lambda b, i: b.take(i), "repeat": lambda b, i: np.arange(2).repeat(i),
    "compress": lambda b, i: b.compress(i > 0), "searchsorted": lambda b, i: b.searchsorted(i), "argpartition": lambda b, i: b.argpartition(i),
    "fromarrays": lambda b, i: np.rec.fromarrays([i]), "masked": lambda b, i: np.ma.stack([i])}


@pytest.mark.parametrize("f", INDICES.values(), ids=INDICES)
def test_indices_lose_the_mark_as_documented(f):
    result = f(np.arange(4), np.array([2, 0]).view(lt.PrivateArray)) if f is not INDICES["mask"] else f(
        np.arange(2), np.array([2, 0]).view(lt.PrivateArray))
    assert not isinstance(result, lt.PrivateArray)
    for way in ("b[x]", "b.take(x)", "b.repeat(x)", "b.compress(x)", "b.searchsorted(x)", "b.argpartition(x)", "np.rec.fromarrays([x])",
                "np.ma.stack([x])", "np.frompyfunc(f, 1, 1)", "np.vectorize(f)"):
        assert way in lt.PrivateArray.__doc__, way
