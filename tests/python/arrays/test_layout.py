"""Slot layouts, tested on plain numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import latticino as lt
from latticino import arrays, errors
from latticino.common import layout


@given(st.integers(0, 2**32))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_layouts_are_written_as_runs_and_read_again(seed):
    rng = np.random.default_rng(seed)
    places = np.arange(48).reshape(4, 12)
    for chosen in (places.T, places[::2, 1::3], places[rng.integers(0, 4, 3)], np.broadcast_to(places[:, :1], (4, 5)),
                   np.roll(places, 5), rng.permutation(48), places[1, 2]):
        written = layout.Layout(chosen.shape, 16, 3, np.array(chosen), "unknown", 2.5)
        read = layout.from_runs(written.runs(), chosen.shape, 16, 3, "unknown", 2.5)
        assert read.same(written) and (read.rest, read.bound) == (written.rest, written.bound) and read.name == written.name
        values = rng.uniform(size=48)
        np.testing.assert_array_equal(read.read(values), values[chosen])


@pytest.mark.parametrize("runs", [[[0, 1, 5]], [[0, 1, 4], [0, 1, 1]], [[-1, 1, 4]], [[46, 1, 4]], [[0, 2**50, 4]], [[3, -1, 5]], [[0, 1, 0]],
                                  [[0, 0, 2**40]]])
def test_runs_that_do_not_fit_are_refused(runs):
    with pytest.raises(ValueError):
        layout.from_runs(runs, (4,), 16, 3, "zero", 0.0)


def test_slices_know_what_lies_beside_them():
    whole = layout.Layout.plain((4, 8), 32)
    index = np.arange(32).reshape(4, 8)
    assert whole.taken(index.T, 1.0)[0].clean and whole.taken(index[::-1], 1.0)[0].rest == "zero"
    column, parts = whole.taken(index[:, 1], 2.0)
    assert (column.rest, column.bound, parts) == ("unknown", 2.0, [0]) and not column.is_plain and column.injective
    padded = layout.Layout.plain((3, 5), 16)
    assert padded.taken(np.arange(15).reshape(3, 5).T, 1.0)[0].rest == "zero"
    several, parts = layout.Layout.plain((4, 16), 16).taken(np.arange(64).reshape(4, 16)[1:3], 1.0)
    assert several.is_plain and several.clean and parts == [1, 2]
    assert not whole.taken(np.broadcast_to(index[:1], (3, 8)), 1.0)[0].injective


def test_slots_for():
    assert [arrays.slots_for(n, 8, "t") for n in (1, 2, 3, 8, 9, 100)] == [1, 2, 4, 8, 8, 8]
    with pytest.raises(errors.ShapeError):
        arrays.slots_for(0, 8, "t")


def test_repeats_over():
    assert layout.repeats_over((4,), (3, 4)) and layout.repeats_over((), (3,))
    assert not layout.repeats_over((3,), (2, 3)) and not layout.repeats_over((4,), (4, 2))


class Frame:
    """Behaves like a pandas frame: its values are only available by __array__, in column order."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asfortranarray(self.values)


@pytest.mark.parametrize("make", [
    lambda v: v[::-1, ::2], lambda v: np.asfortranarray(v), lambda v: v.T, lambda v: v.astype(">f8"), lambda v: v.astype(">i4")[1:],
    lambda v: Frame(v), lambda v: list(map(list, v)), lambda v: np.broadcast_to(v[0], v.shape), lambda v: v.astype(np.float16),
    lambda v: memoryview(v), lambda v: v[1, 2]])
def test_numbers_in_any_memory_order_are_copied_in(make):
    values = np.arange(12.0).reshape(3, 4)
    given = make(values)
    wanted = np.asarray(given)
    have = arrays.as_numpy(given, "encrypt")
    assert have.flags.c_contiguous and have.dtype.isnative and have.shape == wanted.shape
    np.testing.assert_array_equal(have, wanted)
    np.testing.assert_array_equal(arrays.as_slots(given, "encrypt"), wanted.astype(complex).ravel())


def test_pandas_and_torch_where_they_are_installed():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    np.testing.assert_array_equal(arrays.as_numpy(frame, "encrypt"), [[1, 3], [2, 4]])
    np.testing.assert_array_equal(arrays.as_numpy(frame["b"], "encrypt"), [3, 4])


def test_tensors_that_record_gradients_are_copied_in():
    torch = pytest.importorskip("torch")
    x = torch.arange(6.0, requires_grad=True).reshape(2, 3)
    np.testing.assert_array_equal(arrays.as_numpy(x.T, "encrypt"), np.arange(6.0).reshape(2, 3).T)


def test_tensors_that_numpy_cannot_read_are_refused():
    """Detaching such a tensor gave another one that is refused, without end."""
    torch = pytest.importorskip("torch")
    for x in (torch.ones(2, dtype=torch.bfloat16), torch.tensor([1 + 2j]).conj(), torch.eye(2).to_sparse(), torch.empty(2, device="meta"),
              torch.ones(2, dtype=torch.bfloat16, requires_grad=True)):
        with pytest.raises(errors.ShapeError, match=r"^encrypt: had a DLPack tensor that numpy cannot read .*x.to_dense\(\)"):
            arrays.as_numpy(x, "encrypt")


def test_objects_whose_tensors_are_never_lent_are_refused():
    class Tensor:
        def __dlpack__(self, **options):
            raise BufferError("a type that numpy does not have")

        def __dlpack_device__(self):
            return 1, 0  # the device type of host memory

        def detach(self):
            return Tensor()

    with pytest.raises(errors.ShapeError, match="numpy cannot read"):
        arrays.as_numpy(Tensor(), "encrypt")


@pytest.mark.parametrize("scheme", ["ckks", "tfhe"])
def test_arrays_of_pandas_may_be_the_first_operand(client, scheme):
    pandas = pytest.importorskip("pandas")
    if scheme == "tfhe":
        client = lt.keygen(lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "not-encrypted"))
        client.context.use(client.server_keys())
    dtype = np.uint8 if scheme == "tfhe" else float
    values = np.array([3, 1, 2], dtype)
    x, series = client.encrypt(np.array([1, 0, 1], dtype)), pandas.Series(values, index=[2, 0, 1])
    for f in (lambda a, b: a * b, lambda a, b: a + b, np.multiply):
        np.testing.assert_allclose(np.array(client.decrypt(f(series, x))), f(values, np.array([1, 0, 1], dtype)), atol=1e-6)
    frame = pandas.DataFrame([values])
    assert isinstance(frame - x, type(x)) and (frame - x).shape == (1, 3)


def test_other_arrays_leave_operators_to_encrypted_ones(client):
    """pandas leaves operators to objects with a higher priority. The highest priority of pandas is that of frames, 4000."""
    assert client.encrypt([1.0]).__pandas_priority__ > 4000


def test_foreign_arrays_are_refused():
    for bad in (["a"], [None], np.zeros(3, dtype=np.longdouble).astype(object)):
        with pytest.raises(errors.ShapeError, match="dtype"):
            arrays.as_numpy(bad, "encrypt")


def test_dlpack_is_read():
    class Tensor:
        def __init__(self, x):
            self.x = x

        def __dlpack__(self, **options):
            return self.x.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    x = np.arange(5.0)
    np.testing.assert_array_equal(arrays.as_numpy(Tensor(x), "encrypt"), x)

    class OfOwnType(Tensor):
        """A tensor like one of bfloat16 in PyTorch: numpy has no such type, and every detach() makes another tensor."""

        def __dlpack__(self, **options):
            raise RuntimeError("Unsupported dtype in DLTensor.")

        def detach(self):
            return OfOwnType(self.x)

    with pytest.raises(errors.ShapeError, match=r"Unsupported dtype.*of a type that numpy has; .*x.float\(\) for bfloat16"):
        arrays.as_numpy(OfOwnType(x), "encrypt")


def test_tensors_that_dlpack_does_not_lend_are_detached():
    class Tensor:
        requires_grad = True

        def __init__(self, x):
            self.x = x

        def __dlpack__(self, **options):
            raise BufferError("requires grad")

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

        def detach(self):
            return self.x[:, ::2]

    x = np.arange(8.0).reshape(2, 4)
    np.testing.assert_array_equal(arrays.as_numpy(Tensor(x), "encrypt"), x[:, ::2])


def test_dlpack_of_another_device_is_refused_by_its_type():
    class OnDevice:
        def __dlpack__(self, **options):
            raise BufferError("not on the CPU")

        def __dlpack_device__(self):
            return 2, 0  # the device type of CUDA

    with pytest.raises(errors.ShapeError, match="copy it to the host") as e:
        arrays.as_numpy(OnDevice(), "encrypt")
    assert e.value.operation == "encrypt"


def test_decrypted_values_go_out_through_dlpack_once_unmarked():
    values = np.arange(6.0).reshape(2, 3) * 1j
    private = values.view(arrays.PrivateArray)
    with pytest.raises(errors.UnsupportedError, match="unmarked"):
        np.from_dlpack(private)
    out = np.from_dlpack(private.unmarked())
    np.testing.assert_array_equal(out, values)
    assert type(out) is np.ndarray


def test_errors_are_also_builtins_and_name_the_operation():
    e = errors.ShapeError.explain("encrypt", "a", "b", "c")
    assert isinstance(e, ValueError) and isinstance(e, errors.Error) and e.operation == "encrypt"
    assert str(e) == "encrypt: had a; needs b; c"
    assert issubclass(errors.OutOfMemoryError, MemoryError) and issubclass(errors.FileError, OSError)
