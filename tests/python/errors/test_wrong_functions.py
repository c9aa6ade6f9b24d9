"""The same nonsense for functions of encrypted arrays, linear maps, layouts, saved programs, networks and connections."""

import inspect

import numpy as np
import pytest
from test_wrong_arguments import CKKS, misfits, world

import latticino as lt

__all__ = ["world"]

TESTED = {  # tested in test_wrong_arguments.py
    "Context.use", "Context.bind", "Context.plan", "Context.table_report", "Context.encrypt", "Context.encode",
    "Context.bootstrapper", "Context.switch_set", "Context.switching", "Session.adopt", "preset", "keygen",
    "Client.server_keys", "Client.encrypt", "Client.decrypt", "Client.decrypt_for_sharing", "ServerKeys.missing",
    "Ciphertext.declare", "Ciphertext.rotate", "Ciphertext.sum", "Ciphertext.mean", "Ciphertext.var",
    "Ciphertext.spread_sum", "Ciphertext.reshape", "Ciphertext.transpose", "Ciphertext.swapaxes", "Ciphertext.moveaxis",
    "Ciphertext.squeeze", "Ciphertext.expand_dims", "Ciphertext.broadcast_to", "Ciphertext.roll", "Ciphertext.flip",
    "Ciphertext.polyval", "Ciphertext.to_level", "Program.record", "record", "concatenate", "stack", "where", "dot",
    "precision", "debug", "save_params", "load_params", "save_ciphertext", "load_ciphertext", "to_bytes", "from_bytes",
    "save_server_keys", "load_server_keys", "save_secret_key", "load_client", "minimum", "maximum", "tfhe.preset",
    "tfhe.Context.use", "tfhe.Context.bind", "tfhe.Context.plan", "tfhe.Context.encrypt", "tfhe.Session.adopt",
    "tfhe.Client.server_keys", "tfhe.Client.encrypt", "tfhe.Client.decrypt", "tfhe.EncryptedArray.reshape",
    "tfhe.EncryptedArray.transpose", "tfhe.EncryptedArray.astype", "tfhe.EncryptedArray.sum", "tfhe.EncryptedArray.min",
    "tfhe.EncryptedArray.any", "tfhe.EncryptedArray.apply", "tfhe.EncryptedArray.apply_many"}
# Functions that only the library calls, that compute on plain values, or that need a service (tests/service).
LEFT = {"Context.note", "Context.table", "Context.count_bootstraps", "Scalar.mapped", "nn.Network.encrypt",
        "nn.Network.decrypt", "nn.Network.save", "nn.Network.server_keys", "nn.Compiled.save", "nn.Compiled.shadow",
        "nn.Compiled.undecided", "nn.Compiled.measured_bits", "Profile.plot", "nn.Affine.apply", "nn.Affine.scaled", "nn.Lowered.evaluate",
        "nn.Lowered.values", "nn.Node.matrices", "nn.Series.scaled", "Context.forget", "tfhe.Context.forget", "ServerKeys.with_bundle"}


@pytest.fixture(scope="module")
def more(world, tmp_path_factory):
    """The objects that functions, maps and programs are called with."""
    folder, w = tmp_path_factory.mktemp("programs"), world
    w.map, w.fit = lt.matrix_map(np.ones((4, 64))), lt.fit(np.tanh, (-1, 1), 8)
    w.fitted_sign, w.fitted_sort = lt.fit_sign(1.0, 0.1, 8), lt.fit_sort(4, (-1, 1), 8)
    w.path = str(folder / "program")
    lt.save_program(w.path, lambda a, k: a * k, w.ctx, lt.Shape((4,)), k=lt.Scalar(-1, 1))
    w.saved, w.small = lt.load_program(w.path), w.client.encrypt(np.ones(4))
    w.image = w.client.encrypt(np.ones((1, 1, 4, 4)))
    return w


def varied(call, arguments, options=()):
    """For each argument and option, a call in which only this one is wrong."""
    def put(i):
        return lambda v: call(*arguments[:i], v, *arguments[i + 1:])

    out = {str(i): put(i) for i in range(len(arguments))}
    return out | {name: (lambda v, name=name: call(*arguments, **{name: v})) for name in options}


def entered(manager):
    with manager:
        pass


def of_arrays(w):
    x, m, f = w.x, w.square, np.tanh
    ends, gaps = ((0.5, 1.0), 8), ("gap", "bits")
    out = {
        "approximate": (x.approximate, (f, (-1, 1), 8), ("max_degree",)), "inverse": (x.inverse, ends, ("method",)),
        "divide": (x.divide, (x, *ends), ("method",)), "sqrt": (x.sqrt, ends, ("method",)),
        "inverse_sqrt": (x.inverse_sqrt, ends, ("method",)), "sign": (x.sign, (1.0, 0.1, 8), ()), "abs": (x.abs, (1.0, 8), ()),
        "relu": (x.relu, (1.0, 8), ()), "maximum": (x.maximum, (x, 1.0, 8), ()), "minimum": (x.minimum, (x, 1.0, 8), ()),
        "max": (x.max, (None, 1.0, "ranks"), gaps), "argmax": (x.argmax, (1.0, "ranks"), gaps),
        "min": (x.min, (1.0, "ranks"), gaps), "argmin": (x.argmin, (1.0, "ranks"), gaps),
        "compare": (x.compare, (0.5, 1.0, "polynomial"), gaps), "apply": (x.apply, (w.map,), ()),
        "conv": (w.image.conv, (np.ones((1, 1, 2, 2)),), ("bias", "stride", "padding", "dilation", "groups")),
        "average_pool": (w.image.average_pool, (2,), ("stride", "padding", "count_include_pad")),
        "bootstrap": (x.bootstrap, (), list(inspect.signature(x.bootstrap).parameters)),
        "bootstrap_with": (x.bootstrap_with, (x,), list(inspect.signature(x.bootstrap_with).parameters)[1:]),
        "apply_lut": (x.apply_lut, (abs,), list(inspect.signature(x.apply_lut).parameters)[1:])}
    out |= {"clip": (x.clip, (-0.5, 0.5, 1.0, 8), ()), "std": (m.std, (0, 0, False), ("domain", "bits")), "dot": (x.dot, (np.ones(64),), ()),
            "cumsum": (m.cumsum, (0,), ()), **of_shapes(m)}
    named = {f"Ciphertext.{name}": found for name, found in out.items()}
    named |= {f"tfhe.EncryptedArray.{name}": found for name, found in of_both(w.n.broadcast_to((2, 2))).items()}
    named["tfhe.EncryptedArray.clip"] = (w.n.clip, (1, 2), ())
    named |= {name: (getattr(lt, name), (x, (0.5, 1.0), 8), ()) for name in ("exp", "log", "sin", "cos", "tanh", "sigmoid", "sqrt")}
    return named | {
        "sort": (lt.sort, (m, (-1, 1), 8, None, 0), ()), "softmax": (lt.softmax, (m, -1, (-1, 1), 8), ()),
        "logsumexp": (lt.logsumexp, (m, -1, (-1, 1), 8), ()), "top_k": (lt.top_k, (x, 1, 1.0, "ranks"), gaps),
        "convolve": (lt.convolve, (x, [1.0, 2.0], "full"), ()), "correlate": (lt.correlate, (x, [1.0, 2.0], "full"), ()),
        "matrix_power": (lt.matrix_power, (m, 2), ()), "cov": (lt.cov, (m, True, 1), ()),
        "corrcoef": (lt.corrcoef, (m, (0.1, 1), True, 8), ()), "Client.noise": (w.client.noise, (x, np.zeros(64)), ()),
        "tfhe.Client.noise": (w.ints.client.noise, (w.u,), ()), "tfhe.EncryptedArray.max": (w.n.max, (0,), ()),
        "tfhe.EncryptedArray.all": (w.clear.client.encrypt([True]).all, (0,), ())}


def of_shapes(x):
    diagonals = (0, 0, 1)
    return {"diagonal": (x.diagonal, diagonals, ()), "trace": (x.trace, diagonals, ()), "repeat": (x.repeat, (2, 0), ()),
            "take": (x.take, ([0], 0), ()), "prod": (x[:2, :2].prod, (0, True), ())}


def of_both(x):
    return of_shapes(x) | {
        "cumsum": (x.cumsum, (0,), ("dtype",)), "swapaxes": (x.swapaxes, (0, 1), ()), "moveaxis": (x.moveaxis, (0, 1), ()),
        "squeeze": (x.squeeze, (None,), ()), "expand_dims": (x.expand_dims, (0,), ()), "broadcast_to": (x.broadcast_to, (x.shape,), ()),
        "roll": (x.roll, (1, 0), ()), "flip": (x.flip, (0,), ())}


def of_fits_and_maps(w):
    image, kernel, layout = (1, 4, 4), np.ones((1, 1, 2, 2)), w.x.layout
    windows = ("stride", "padding", "dilation", "groups", "target", "keep", "memory")
    return {
        "fit": (lt.fit, (np.tanh, (-1, 1), 8), ("max_degree",)), "Fit.__call__": (w.fit, (0.5,), ()), "Fit.exact": (w.fit.exact, (0.5,), ()),
        "Fit.plot": (w.fit.plot, (None,), ()), "fit_sign": (lt.fit_sign, (1.0, 0.1, 8), ()), "Sign.__call__": (w.fitted_sign, (0.5,), ()),
        "fit_sort": (lt.fit_sort, (4, (-1, 1), 8, None), ()), "Sorting.__call__": (w.fitted_sort, (np.zeros(4),), ()),
        "linear_map": (lt.linear_map, ([0, 1], [1, 0], [1.0, 2.0], (2,), (2,)), ("source", "target", "keep", "memory")),
        "matrix_map": (lt.matrix_map, (np.ones((2, 2)), (2,), (2,)), ()), "diagonal_map": (lt.diagonal_map, ({0: np.ones(4)}, (4,)), ()),
        "diagonal_map of": (lambda v: lt.diagonal_map({0: v}, (4,)), (np.ones(4),), ()),
        "diagonal_map at": (lambda v: lt.diagonal_map({v: np.ones(4)} if getattr(v, "__hash__", None) else v, (4,)), (0,), ()),
        "convolution_map": (lt.convolution_map, (kernel, image), windows),
        "average_pool_map": (lt.average_pool_map, (2, image), ("stride", "padding", "count_include_pad", "target", "keep", "memory")),
        "LinearMap.cost": (w.map.cost, (w.ctx, None, 2), ()), "LinearMap.evaluate": (w.map.evaluate, (np.zeros(64),), ()),
        "LinearMap.__call__": (w.map, (w.x,), ()), "Layout": (lt.Layout, ((4,), 4, 1, np.arange(4)[::-1], "zero", 0.0), ()),
        "Layout.plain": (lt.Layout.plain, ((4,), 4), ("clean", "bound")), "Layout.same": (layout.same, (layout,), ()),
        "Layout.holding": (layout.holding, (1.0,), ()), "Layout.with_rest": (layout.with_rest, ("zero",), ()),
        "Layout.changed": (layout.changed, (True,), ()), "Layout.taken": (lambda v: layout.taken(v, 0.0), (np.arange(3),), ()),
        "Layout.broadcast": (layout.broadcast, ((2, 64),), ()), "Layout.widened": (layout.widened, (128,), ()),
        "Layout.read": (layout.read, (np.zeros(64),), ()), "Layout.rows": (layout.rows, (np.zeros(64),), ())}


def of_the_rest(w):
    saved, small, ctx, path = w.saved, w.small, w.ctx, w.path
    new = path + ".new"
    sizes = [name for name in inspect.signature(lt.make_params).parameters if name not in ("N", "options")]
    return {
        "make_params": (lambda n: lt.make_params(N=n), (1024,), ()), "make_params of": (lambda **o: lt.make_params(N=1024, **o), (), sizes),
        "parameter_costs": (lt.parameter_costs, (CKKS, "cpu"), ()),
        "Context.bootstrap_form": (ctx.bootstrap_form, (1, 64, "real"), ("minimal_keys", "slot_to_coeff_first")),
        "Context.matrix_product": (ctx.matrix_product, (np.ones((4, 4)), 4, 1), ()),
        "Context.switcher": (ctx.switcher, ("x", 4, 1.0), ("minimal_keys", "route")),
        "tfhe.Context.arithmetic_for": (w.ints.ctx.arithmetic_for, (4,), ()),
        "save_program": (lt.save_program, (new, lambda a: a * 2, ctx, lt.Shape((4,))), ()),
        "save_program numbers": (lambda v: lt.save_program(new, lambda a, k: a * k, ctx, lt.Shape((4,)), k=v), (lt.Scalar(0, 1),), ()),
        "load_program": (lt.load_program, (path, "cpu"), ()), "SavedProgram.context": (saved.context, ("cpu",), ("threads", "simd")),
        "SavedProgram.encrypt": (saved.encrypt, (w.client, np.ones(4)), ()), "SavedProgram.decrypt": (saved.decrypt, (w.client, small), ()),
        "SavedProgram.run": (lambda s, a, k: saved.run(s, a, k=k), (w.session, small, 0.5), ()),
        "SavedProgram.compute": (saved.compute, (w.session, [small], {"k": 0.5}, lambda _: None), ()),
        "nn.compile": (lt.nn.compile, (None, np.ones(4)), ()), "nn.load": (lt.nn.load, (path, "cpu"), ("memory",)),
        "nn.Affine": (lt.nn.Affine, ([0, 1], [1, 0], [1.0, 2.0], 2, 2), ()), "nn.Affine.dense": (lt.nn.Affine.dense, (np.ones((2, 2)),), ()),
        "nn.Series": (lt.nn.Series, ((0.0, 1.0), (-1, 1)), ()), "profile": (lambda v: entered(lt.profile(v)), (None,), ()),
        "Profile": (lt.Profile, (None,), ()), "progress": (lambda v: entered(lt.progress(v)), (None,), ()), "loads": (lt.loads, (b"x", ctx), ()),
        "unpickling": (lambda v: entered(lt.unpickling(v)), (None,), ()),
        # With right values these would wait, because no server answers there.
        "connect": (lambda url, token: lt.connect(url, token), ("no address", "\n"), ()),
        "connect files": (lambda **o: lt.connect("https://127.0.0.1:1", "t", cafile="/none", **o), (), ("certificate",)),
        "connect authorities": (lambda v: lt.connect("https://127.0.0.1:1", "t", cafile=v if v is not None else 0), ("/none",), ()),
        "choose": (lambda f, x: lt.choose(f, x, own=0), (lambda a: a, lt.Shape((4,))), ()),  # all presets take a second
        "choose of": (lambda **o: lt.choose(lambda a: a, lt.Shape((4,)), **{"own": 0, **o}), (), ("bits", "device"))}


def calls(groups):
    return {f"{name} {argument}": call for name, (function, arguments, options) in groups.items()
            for argument, call in varied(function, arguments, options).items()}


@pytest.mark.slow
@pytest.mark.parametrize("group", [of_arrays, of_fits_and_maps, of_the_rest])
def test_nonsense(more, group, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # because a text may be the name of a file to write
    bad = misfits(more, calls(group(more)))
    assert not bad, f"{len(bad)} of them:\n" + "\n".join(bad)
    assert lt.precision(more.client.decrypt(more.x), np.linspace(-1, 1, 64)).worst > 15  # operands are still usable


def public():
    """The functions that take arguments, and such methods, by the names of docs/api.md."""
    for prefix, module in (("", lt), ("tfhe.", lt.tfhe), ("nn.", lt.nn)):
        for name in module.__all__:
            found = getattr(module, name)
            if inspect.isfunction(found) and inspect.signature(found).parameters:
                yield prefix + name
            if inspect.isclass(found) and found.__module__.startswith("latticino") and not issubclass(found, Exception):
                own = {method: f for base in reversed(found.__mro__) if base is found or base.__module__.endswith("_methods")
                       for method, f in vars(base).items() if found not in (lt.Answer, lt.tfhe.NotEncryptedArray)}
                yield from (f"{prefix}{name}.{method}" for method, f in own.items()
                            if not method.startswith("_") and inspect.isfunction(f) and len(inspect.signature(f).parameters) > 1)


def test_every_public_callable_takes_nonsense(more):
    tested = {name.partition(" ")[0] for group in (of_arrays, of_fits_and_maps, of_the_rest) for name in group(more)}
    services = {name for name in public() if name.partition(".")[0] in ("Service", "Remote", "Job")}
    results = {name for name in public() if name.partition(".")[2] == "plot"}
    missing = set(public()) - tested - TESTED - LEFT - services - results
    assert not missing, sorted(missing)
    gone = (TESTED | LEFT) - set(public())
    assert not {name for name in gone if name in TESTED}, sorted(gone)
