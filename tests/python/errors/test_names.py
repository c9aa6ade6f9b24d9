"""Errors and warnings name what the user called, not a step of it: with wrong axes, missing levels and keys, and values out of range."""

import warnings

import numpy as np
import pytest

import latticino as lt

VALUES = np.linspace(-1, 1, 16).reshape(4, 4)
CKKS = "test-n10-boot-insecure"


@pytest.fixture(scope="module")
def bare():
    """A client whose server has hardly any keys."""
    ctx = lt.Context(CKKS, "cpu", threads=1)
    client = lt.keygen(ctx)
    ctx.use(client.server_keys(lambda x: x.conj(), VALUES, show=False))
    return client


@pytest.fixture(scope="module")
def clear():
    return lt.keygen(lt.Context(CKKS, "not-encrypted"))


WITHOUT_KEYS = {
    "sum": lambda x: x.sum(), "mean": lambda x: x.mean(0), "var": lambda x: x.var(), "cumsum": lambda x: x.cumsum(), "trace": lambda x: x.trace(),
    "spread_sum": lambda x: x.spread_sum(), "dot": lambda x: x.dot(np.ones((4, 4))), "matmul": lambda x: x @ np.ones((4, 4)),
    "polyval": lambda x: x.polyval([1.0, 2, 3]), "approximate": lambda x: x.approximate(np.tanh, (-4, 4)), "power": lambda x: x**3,
    "inverse": lambda x: x.inverse((0.5, 1)), "inverse_sqrt": lambda x: x.inverse_sqrt((0.5, 1)), "sqrt": lambda x: x.sqrt((0.5, 1)),
    "sign": lambda x: x.sign(1.0, 0.1, 10), "abs": lambda x: x.abs(bits=4), "relu": lambda x: x.relu(bits=4), "clip": lambda x: x.clip(0, 0.5, bits=4),
    "maximum": lambda x: x.maximum(0.5, bits=4), "compare": lambda x: x.compare(0.5), "max": lambda x: x.max(), "argmax": lambda x: x.argmax(),
    "min": lambda x: x.min(), "argmin": lambda x: x.argmin(), "apply_lut": lambda x: x.apply_lut(abs), "bootstrap": lambda x: x.bootstrap(),
    "bootstrap_with": lambda x: x.bootstrap_with(x), "divide": lambda x: x.divide(x, (0.5, 1)), "std": lambda x: x.std(domain=(0.1, 1)),
    "rotate": lambda x: x.rotate(1), "tanh": lambda x: lt.tanh(x, (-1, 1)), "softmax": lambda x: lt.softmax(x, -1, (-1, 1), 4),
    "sort": lambda x: lt.sort(x[:, :2], (-1, 1), 4), "top_k": lambda x: lt.top_k(x.reshape(-1), 1), "cov": lt.cov, "corrcoef": lambda x: lt.corrcoef(x, (0.1, 1)),
    "convolve": lambda x: lt.convolve(x[0], np.ones(3)), "prod": lambda x: x.prod()}


@pytest.mark.filterwarnings("ignore::latticino.RangeWarning")
@pytest.mark.parametrize("name", WITHOUT_KEYS)
def test_missing_keys(bare, name):
    with pytest.raises(lt.KeyError, match=f"^{name}: had no ") as why:
        WITHOUT_KEYS[name](bare.encrypt(VALUES, range=(-1, 1)))
    assert why.value.operation == name


AT_LEVEL_0 = {
    "mean": lambda x: x.mean(), "var": lambda x: x.var(), "cumsum": lambda x: x.cumsum(0), "spread_sum": lambda x: x.spread_sum(),
    "multiply": lambda x: x * x, "divide": lambda x: x / 3, "power": lambda x: x**2, "clip": lambda x: np.clip(x, 0, 0.5), "exp": lambda x: lt.exp(x, (-1, 1)),
    "sqrt": lambda x: lt.sqrt(x, (0.1, 1)), "matmul": lambda x: np.ones(4) @ x, "imag": lambda x: x.imag, "dot": lambda x: lt.dot([x], [x])}


@pytest.mark.parametrize("name", AT_LEVEL_0)
def test_missing_levels(clear, name):
    values = VALUES * (1 + 1j) if name == "imag" else VALUES
    with pytest.raises(lt.LevelError, match=f"^{name}: had level 0") as why:
        AT_LEVEL_0[name](clear.encrypt(values, 0))
    assert why.value.operation == name


WRONG = {
    "cumsum": lambda x: x.cumsum(axis=7), "trace": lambda x: x.trace(0, 5, 6), "sum": lambda x: x.sum(7), "sort": lambda x: lt.sort(x, (-1, 1), axis=7),
    "divide": lambda x: x / np.ones((3, 3)), "subtract": lambda x: x - 1e300, "multiply": lambda x: x * np.full(4, 1e300), "add": lambda x: x + np.ones(3),
    "encrypt": lambda x: x.context.encrypt(VALUES, range=(1, -1)), "declare": lambda x: x.declare(2, 1), "compare": lambda x: x.compare(1e300),
    "max": lambda x: x.max(np.ones(3)), "matmul": lambda x: x @ np.ones((3, 3)), "apply": lambda x: x.apply(lt.matrix_map(np.ones((2, 3)))),
    "Range": lambda x: lt.Range(1, -1), "corrcoef": lambda x: lt.corrcoef(x[0, 0], (0.1, 1)), "roll": lambda x: x.roll(1, 9),
    "index": lambda x: x[9], "concatenate": lambda x: lt.concatenate([x, x.reshape(-1)])}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(clear, name):
    with pytest.raises(lt.Error, match=f"^{name}: had ") as why:
        WRONG[name](clear.encrypt(VALUES))
    assert why.value.operation == name


@pytest.mark.parametrize("f", [lambda x: x + [], lambda x: [] * x, lambda x: x / [], lambda x: x - np.zeros((0, 3))])
def test_operands_without_values(clear, f):
    """numpy's result has no values. Earlier, Python's own IndexError was raised here."""
    with pytest.raises(lt.ShapeError, match="had an operand of shape .0.*needs at least one value"):
        f(clear.encrypt(0.5))


def test_files_and_shared_values(bare, tmp_path):
    path, x = str(tmp_path / "none"), bare.encrypt(VALUES)
    for call in (lt.load_params, lambda p: lt.load_ciphertext(p, bare.context), lambda p: lt.load_client(p, bare.context),
                 lambda p: lt.load_server_keys(p, bare.context)):
        with pytest.raises(lt.FileError, match=r"^load_\w+: had .*none"):
            call(path)
    with pytest.raises(lt.FileError, match="^from_bytes: had 3 bytes"):
        lt.from_bytes(b"cpu", bare.context)
    with pytest.raises(lt.Error, match="^decrypt_for_sharing: had sigma"):
        bare.decrypt_for_sharing(x, 2.0**70, 1)
    with pytest.raises(lt.ScaleError, match="^encrypt: had a coefficient"):
        bare.encrypt(VALUES * 1e100, range=(-1e100, 1e100))


def test_programs_keep_the_names_of_their_operations(clear):
    big = lt.Shape((4,), 0, (0, 300))
    with pytest.raises(lt.ScaleError, match="^add: had values that may reach 600"):
        clear.context.plan(lambda x: x + x, big)
    with pytest.raises(lt.ScaleError, match="^mean: had|^sum: had"):
        clear.context.plan(lambda x: x.sum(), big)
    with pytest.raises(lt.LevelError, match="^multiply: had level 0"):
        clear.context.plan(lambda x: x * x, big)


@pytest.mark.parametrize("name", ["exp", "sigmoid", "approximate"])
def test_notes_of_plans_name_the_operation(clear, tmp_path, name):
    """Earlier every one named approximate. A saved program has only the step that its function consists of."""
    def program(x):
        return x.real.approximate(np.tanh, (-0.5, 0.5)) if name == "approximate" else getattr(lt, name)(x.real, (-0.5, 0.5))

    note, = clear.context.plan(program, lt.Shape((4,))).notes
    assert note.startswith(f"{name}: values outside of the domain -0.5 to 0.5")
    lt.save_program(tmp_path / "program", program, clear.context, lt.Shape((4,)))
    note, = lt.load_program(tmp_path / "program").plan.notes
    assert note.startswith("approximate: values outside of the domain -0.5 to 0.5")


def test_code_beside_the_package_is_not_part_of_it(clear):
    """A file whose path begins with that of the package was taken for one of the package."""
    path = lt.__file__.replace("__init__.py", "").rstrip("/") + "_of_mine.py"
    code = compile("def mine(x):\n    return x + x\n", path, "exec")
    scope = {}
    exec(code, scope)
    with pytest.warns(lt.RangeWarning, match="^add: had") as seen:
        scope["mine"](clear.encrypt(np.full(4, 300.0), 0, range=(0, 300)))
    assert seen[0].filename == path


def test_warnings_name_the_operation_and_the_line(clear):
    x = clear.encrypt(np.full(4, 300.0), 0, range=(0, 300))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        _ = x + x
        _ = np.sum(x)
    assert [str(w.message).partition(":")[0] for w in seen] == ["add", "sum"]
    assert all(w.filename == __file__ for w in seen)


def test_the_debugger_names_the_operation():
    ctx = lt.Context("test-n10-leveled-insecure", "cpu", threads=1)
    client = lt.keygen(ctx)
    x = client.encrypt(np.full(4, 0.5))
    ctx.use(client.server_keys(lambda x: x.prod(), x, show=False))
    with pytest.warns(lt.SecretWarning), lt.debug(ctx, client):
        y = client.encrypt(np.full(4, 0.5))
        y._known = y._known.following(np.full(4, 0.5 + 2.0**-10, complex))  # claims that it has lost most of its bits
        with pytest.raises(lt.PrecisionError, match="^prod: had a mean error .*test_names.py"):
            y.prod()


@pytest.mark.parametrize("name", ["scale", "limbs", "log_q", "rescale_factor", "message_bound"])
@pytest.mark.parametrize("level", [99, -1, "x"])
def test_facts_of_parameters(name, level):
    with pytest.raises(lt.ValueError, match=f"^{name}: had level="):
        getattr(lt.preset(CKKS), name)(level)


@pytest.mark.parametrize("name, security, had", [
    ("a b", 128, "the name 'a b'; needs only a-z"), ("x" * 300, 128, "a name of 300 bytes; needs 1 to 100 bytes"),
    ("a; needs b", 128, "the name 'a; needs b'; needs only a-z"), ("insecure", 128, "a set that is not insecure named insecure; needs a name without"),
    ("own", None, "an insecure set named own; needs a name that contains")])
def test_names_of_sets(name, security, had):
    """Earlier the message had a second message in brackets."""
    with pytest.raises(lt.ParameterError, match=rf"^make_params: had {had}[^()]*; ask for name=None$"):
        lt.make_params(N=2**10, levels=2, scale=2**30, name=name, security=security) if security is None else lt.make_params(N=2**13, name=name)
