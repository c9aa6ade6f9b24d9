"""Slot layouts, on numbers alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latticino import arrays, errors, layout


@given(st.integers(1, 200), st.sampled_from([1, 2, 8, 32]), st.integers(-300, 300))
@settings(max_examples=200, deadline=None)
def test_rotation_groups_make_a_cyclic_shift(size, most, k):
    values = np.arange(1.0, size + 1)
    slots = arrays.slots_for(size, most, "test")
    pieces = arrays.chunks(values, slots)
    result = []
    for group in layout.rotation_groups(size, slots, k % size):
        total = np.zeros(slots)
        for source, turn, mask in group:
            total += np.roll(pieces[source], -turn) * (1 if mask is None else mask)
        result.append(total)
    np.testing.assert_array_equal(np.concatenate(result)[:size], np.roll(values, -k))


def test_slots_for():
    assert [arrays.slots_for(n, 8, "t") for n in (1, 2, 3, 8, 9, 100)] == [1, 2, 4, 8, 8, 8]
    with pytest.raises(errors.ShapeError):
        arrays.slots_for(0, 8, "t")


def test_repeats_over():
    assert layout.repeats_over((4,), (3, 4)) and layout.repeats_over((), (3,))
    assert not layout.repeats_over((3,), (2, 3)) and not layout.repeats_over((4,), (4, 2))


def test_strided_and_foreign_arrays_are_refused():
    with pytest.raises(errors.ShapeError, match="ascontiguousarray"):
        arrays.as_numpy(np.zeros((4, 4))[:, 0], "encrypt")
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


def test_dlpack_of_another_device_is_refused_by_its_type():
    class OnDevice:
        def __dlpack__(self, **options):
            raise BufferError("not on the CPU")

        def __dlpack_device__(self):
            return 2, 0  # CUDA

    with pytest.raises(errors.ShapeError, match="copy it to the host") as e:
        arrays.as_numpy(OnDevice(), "encrypt")
    assert e.value.operation == "encrypt"


def test_decrypted_values_go_out_through_dlpack():
    values = np.arange(6.0).reshape(2, 3) * 1j
    out = np.from_dlpack(values.view(arrays.PrivateArray))
    np.testing.assert_array_equal(out, values)
    assert np.shares_memory(out, values) and type(out) is np.ndarray


def test_errors_are_also_builtins_and_name_the_operation():
    e = errors.ShapeError.explain("encrypt", "a", "b", "c")
    assert isinstance(e, ValueError) and isinstance(e, errors.Error) and e.operation == "encrypt"
    assert str(e) == "encrypt: had a; needs b; c"
    assert issubclass(errors.OutOfMemoryError, MemoryError) and issubclass(errors.FileError, OSError)
