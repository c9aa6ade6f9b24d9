"""Operations that cannot become data raise an error that names the operation and what to change."""

import inspect
import pickle

import numpy as np
import pytest

import latticino as lt
from latticino.saved import files, operations

CKKS, TFHE = "test-n10-boot-insecure", "test-tfhe-2-2-tiny-insecure"
ONE = lt.Shape((4,), None, (-1, 1))
U2 = lt.tfhe.Shape((2,), "u2")


@pytest.fixture(scope="module")
def ctx():
    return lt.Context(CKKS, "cpu", threads=1)


@pytest.fixture(scope="module")
def exact():
    return lt.tfhe.Context(TFHE, "cpu", threads=1)


def refused(context, program, *examples, **scalars):
    """The message of the error, which must be an error of the library."""
    with pytest.raises(lt.Error) as why:
        files.captured(program, context, examples, scalars)
    return f"{type(why.value).__name__}: {why.value}"


def test_what_a_function_may_not_do(ctx, tmp_path):
    client = lt.keygen(ctx)
    outside = client.encrypt(np.ones(4))
    lt.save_ciphertext(tmp_path / "x", outside)
    for program, said in [
            (lambda x: x + outside, "ContextError: add: had an encrypted array from outside of the function"),
            (lambda x: outside * x, "ContextError: "),
            (lambda x: lt.dot([x], [outside]), "ContextError: lt.dot: had an encrypted array from outside"),
            (lambda x: lt.stack([x, outside]), "ContextError: lt.stack: had an encrypted array from outside"),
            (lambda x: x * client.encrypt(np.ones(4)), "ContextError: mul: had an encrypted array from outside"),
            (lambda x: outside, "ContextError: save_program: had an encrypted array from outside"),
            (lambda x: x if client.decrypt(x)[0] > 0 else -x, "UnsupportedError: decrypt: had an array of a function that"),
            (lambda x: x if (x > 0) else -x, "UnsupportedError: compare: "),
            (lambda x: x if x else -x, "UnsupportedError: bool: "),
            (lambda x: lt.to_bytes(x), "UnsupportedError: to_bytes: had the ciphertexts of an array of a function"),
            (lambda x: lt.save_ciphertext(tmp_path / "y", x), "UnsupportedError: save_ciphertext: had the ciphertexts"),
            (lambda x: pickle.dumps(x), "UnsupportedError: pickle: had an array of a function that is being saved"),
            (lambda x: np.asarray(x), "UnsupportedError: numpy: "), (lambda x: x.nothing, ""),
            (lambda x: None, "ShapeError: save_program: had a function that returns a NoneType"),
            (lambda x: [x, 3], "ShapeError: save_program: had a function that returns a list"),
            (lambda x: x * eval, "ShapeError: multiply: "),
            (lambda x: x + lt.Scalar(-1, 1), "ContextError: add: had a Scalar from outside of the function"),
            (lambda x: x.polyval([1] * 4096), "LevelError: polyval: "),
            (lambda x: x.sum(axis=7), "ShapeError: sum: ")]:
        if said:
            assert refused(ctx, program, ONE).startswith(said)
        else:
            with pytest.raises(AttributeError):
                files.captured(program, ctx, (ONE,), {})


def test_numbers_of_a_run(ctx):
    eta = lt.Scalar(-1, 1)
    assert refused(ctx, lambda x, eta: x * eta.mapped(np.sin, -1, 1), ONE, eta=eta).startswith(
        "UnsupportedError: mapped: had a function of a number that each run brings")
    assert refused(ctx, lambda x, eta: x if eta else -x, ONE, eta=eta).startswith("UnsupportedError: scalar: ")
    assert refused(ctx, lambda x, eta: x * (eta * np.ones(4)), ONE, eta=eta).startswith("UnsupportedError: multiply: ")
    assert refused(ctx, lambda x, eta: eta, ONE, eta=eta).startswith("ShapeError: save_program: ")
    assert refused(ctx, lambda x, eta: x, ONE, eta=3).startswith("UnsupportedError: save_program: had int")
    assert refused(ctx, lt.record(lambda x, eta: x, eta=eta), ONE, eta=eta).startswith(
        "UnsupportedError: save_program: had numbers declared beside a recorded program")


def test_arrays_are_of_use_while_the_function_runs(ctx):
    kept = []

    def keeps(x):
        kept.append(x)
        return x + 1
    files.captured(keeps, ctx, (ONE,), {})
    with pytest.raises(lt.ContextError, match="add: had an array that was kept from inside a captured function"):
        kept[0] + 1
    assert refused(ctx, lambda x: x + kept[0], ONE).startswith("ContextError: add: had an encrypted array from outside")
    assert kept[0].shape == (4,) and kept[0].level == ctx.level and "Captured" in repr(kept[0])


def test_integers(exact):
    outside = lt.keygen(exact).encrypt([1, 2], "u2")
    for program, said in [
            (lambda x: x + outside, "ContextError: add: had an encrypted array from outside"),
            (lambda x: lt.where(x > 1, x, outside), "ContextError: lt.where: had an encrypted array from outside"),
            (lambda x: x.rerandomize(), "UnsupportedError: rerandomize: had fresh randomness"),
            (lambda x: x if x == 1 else -x, "UnsupportedError: bool: "),
            (lambda x: lt.to_bytes(x), "UnsupportedError: to_bytes: had the ciphertexts"),
            (lambda x: lt.softmax(x), "UnsupportedError: lt.softmax: had an operation that programs of TFHE cannot have"),
            (lambda x: lt.keygen(exact).decrypt(x), "")]:
        assert refused(exact, program, U2).startswith(said)
    assert refused(exact, lambda x, k: x, U2, k=lt.Scalar(0, 1)).startswith(
        "UnsupportedError: save_program: had declared numbers beside arrays of TFHE")


def test_examples_and_contexts(ctx, exact):
    assert refused(ctx, lambda x: x, np.full(4, 2.0)).startswith("ValueError: save_program: had values outside of -1 to 1")
    assert refused(ctx, lambda: 1).startswith("ShapeError: save_program: had no example")
    assert refused(3, lambda x: x, ONE).startswith("UnsupportedError: save_program: had int")
    assert refused(ctx, 3, ONE).startswith("UnsupportedError: save_program: had int")
    other = lt.keygen(lt.Context(CKKS, "cpu", threads=1)).encrypt(np.ones(4))
    assert refused(ctx, lambda x: x, other).startswith("ContextError: save_program: had another context's array")
    for path in ("", "no/such/folder/x"):
        with pytest.raises(lt.FileError):
            lt.save_program(path, lambda x: x + 1, ctx, ONE)


def test_a_computed_array_as_an_example(ctx):
    """Its layout, level and range are those of the input."""
    client = lt.keygen(ctx)
    x = (client.encrypt(np.arange(4) / 4, range=(0, 1)) * 0.5)[1:3]
    program = files.from_bytes(files.captured(lambda x: x + 1, ctx, (x,), {}))
    assert program.inputs[0].shape == (2,) and program.inputs[0].level == ctx.level - 1
    ctx.use(client.server_keys(program.plan))
    assert np.allclose(client.decrypt(program.run(ctx, x)), [1.125, 1.25], atol=1e-6)
    with pytest.raises(lt.UnsupportedError, match="encrypt: had an input in a layout"):
        program.encrypt(client, np.zeros(2))


# Methods that call others, or that return facts without data.
DERIVED = {
    "ckks": {"apply", "ravel", "T", "context", "layout", "shape", "ndim", "dtype", "size", "level", "scale", "slots",
             "nbytes", "expected_bits", "expected_worst_bits", "range"},
    "tfhe": {"apply", "ravel", "T", "cumsum", "context", "shape", "bits", "dtype", "size", "ndim", "nbytes", "log_failure",
             "rerandomize"},
    "scalar": {"range", "mapped"}}
OF_PYTHON = {
    "__init__", "__len__", "__iter__", "__bool__", "__copy__", "__deepcopy__", "__reduce__", "__repr__", "__array__",
    "__array_function__", "__array_ufunc__", "__hash__", "__doc__", "__module__", "__slots__", "__pos__", "__float__", "__int__",
    "__complex__", "__index__", "__abs__", "__round__", "__annotations__", "__static_attributes__", "__firstlineno__"}


@pytest.mark.parametrize("scheme, kind, methods", [
    ("ckks", lt.Ciphertext, operations.CKKS_METHODS), ("tfhe", lt.tfhe.EncryptedArray, operations.TFHE_METHODS),
    ("scalar", lt.Scalar, operations.SCALAR_METHODS)])
def test_every_method_is_a_step_or_uses_steps(scheme, kind, methods):
    """A method that is new must be marked `program_step`, or a program that uses it could not be saved."""
    known = {name for name in vars(kind) if not name.startswith("_") or name.startswith("__")} - OF_PYTHON
    refused = set() if scheme == "tfhe" else {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
    if scheme == "ckks":
        refused |= {name for name, method in vars(kind).items() if method is kind._of_integers} | {"__rpow__"}
    assert known - set(methods) - DERIVED[scheme] - refused == set()
    assert set(methods) <= {name for name, _ in inspect.getmembers(kind)}
    # Untrusted files can call the methods that are marked. These must only return arrays and numbers.
    assert not set(methods) & (DERIVED[scheme] | OF_PYTHON | refused) and len(methods) == len(set(methods))


def test_every_function_of_arrays_is_a_step_or_uses_steps():
    of_arrays = {"approximate"}
    for name in lt.__all__:
        function = getattr(lt, name)
        if inspect.isfunction(function) and "Ciphertext" in str(inspect.signature(function)):
            of_arrays.add(name)
    own = {f"lt.{name}" for name in of_arrays} - {"lt.approximate"}
    derived = {"lt.exp", "lt.log", "lt.sin", "lt.cos", "lt.tanh", "lt.sigmoid", "lt.sqrt"}
    of_files = {"lt.save_ciphertext", "lt.load_ciphertext", "lt.to_bytes", "lt.from_bytes"}
    assert own - set(operations.names("ckks")) - derived - of_files == set()
