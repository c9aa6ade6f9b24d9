"""Every public callable and argument takes nonsense: lt.Error (or numpy's own exception, or a result) within a second."""

import time
import types
import warnings
from decimal import Decimal

import numpy as np
import pytest

import latticino as lt
from tfhe_world import GATES, INTEGERS, World

CKKS = "test-n10-boot-insecure"


class Hostile:
    """Every conversion of this object raises an error of its own."""

    def _fail(self, *arguments, **options):
        raise LookupError("hostile")

    __array__ = __index__ = __float__ = __complex__ = __iter__ = __len__ = __repr__ = __str__ = __bool__ = __fspath__ = _fail


@pytest.fixture(scope="module")
def world():
    """The objects that arguments may be, of both schemes."""
    w = types.SimpleNamespace()
    w.ctx, w.other = (lt.Context(CKKS, "cpu", threads=1) for _ in range(2))
    w.client, w.stranger = lt.keygen(w.ctx), lt.keygen(w.other)
    x = np.linspace(-1, 1, 64)
    w.plan = w.ctx.plan(lambda a: (a * a).rotate(1).conj().sum(), x)
    w.keys = w.client.server_keys(w.plan, public=True)
    w.ctx.use(w.keys)
    w.x, w.foreign = w.client.encrypt(x), w.stranger.encrypt(x)
    w.square = w.client.encrypt(x.reshape(8, 8))
    w.program = lt.record(lambda a: a * 2)
    w.scaled = lt.record(lambda a, c: a * c, c=lt.Scalar(0, 2)).record(w.x)
    w.session = w.ctx.bind(w.keys)
    w.bits, w.ints, w.clear = World(GATES, "cpu"), World(INTEGERS, "cpu"), World(INTEGERS, "not-encrypted")
    w.b = w.bits.client.encrypt([True, False])
    w.u = w.ints.client.encrypt([3, 1], "u4")
    w.m = w.ints.client.encrypt([3, 1], "m4")
    w.n = w.clear.client.encrypt([3, 1], "u4")
    return w


def nonsense(w):
    """Wrong values by name, so that a failure says which one was passed."""
    numbers = [-1, 0, 1, 2, 2.5, 1e300, float("nan"), float("inf"), 1j, complex("nan"), 2**40, 2**70, -(2**70), 10**400,
               10**5000, Decimal("NaN"), np.int8(-3), np.uint64(2**63), np.float32(0.5), np.array(3), np.array(0.5), np.longdouble(2)]
    things = [None, True, "", "x", "u²", "\ud800", "a\0b", b"cpu", [], [[1], [1, 2]], [None], np.zeros(0), np.zeros((3, 0)),
              np.array(["a"]), np.array([object()]), np.ma.masked_array([1.0], [True]), {}, {1}, object(), object, Hostile(),
              (n for n in range(2)), range(3), lambda: None, lambda v: None, lambda *v: Hostile()]
    ours = [w.ctx, w.other, w.client, w.stranger, w.keys, w.plan, w.foreign, w.x, w.program, w.ctx.params, lt, lt.Context,
            lt.Shape((10**15,)), lt.tfhe.Shape((10**15,), "u4"), lt.Shape("x", None), lt.Shape((-1,), 2.5), w.ints.ctx, w.ints.client,
            w.ints.ctx.keys, w.ints.ctx.params, w.b, w.u, w.m, w.n]
    return numbers + things + ours


def calls(w, folder):
    """Calls that take one argument each. Their other arguments are right."""
    path, x, u, b, n = str(folder / "file"), w.x, w.u, w.b, w.n
    c, t = w.ctx, w.ints.ctx
    out = {
        "preset": lt.preset, "tfhe.preset": lt.tfhe.preset, "keygen": lt.keygen, "record": lambda v: lt.record(v),
        "Context params": lambda v: lt.Context(v, "cpu"), "Context device": lambda v: lt.Context(CKKS, v),
        "Context threads": lambda v: lt.Context(CKKS, "cpu", threads=v), "Context simd": lambda v: lt.Context(CKKS, "cpu", simd=v),
        "Context auto": lambda v: lt.Context(CKKS, "cpu", auto_bootstrap=v), "Context tuning": lambda v: lt.Context(CKKS, "cpu", tuning=v),
        "use": lambda v: w.other.use(v), "plan program": lambda v: c.plan(v, x), "plan example": lambda v: c.plan(lambda a: a + a, v),
        "table_report f": lambda v: c.table_report(v), "table_report bound": lambda v: c.table_report(abs, v),
        "table_report set": lambda v: c.table_report(abs, switching=v), "switch_set": c.switch_set, "switching": c.switching,
        "bootstrapper slots": lambda v: c.bootstrapper(v), "bootstrapper message": lambda v: c.bootstrapper(64, v),
        "encode values": lambda v: c.encode(v, 1, 2.0**40), "encode level": lambda v: c.encode(np.ones(4), v, 2.0**40),
        "encode scale": lambda v: c.encode(np.ones(4), 1, v), "ctx.encrypt": lambda v: c.encrypt(v),
        "encrypt": lambda v: w.client.encrypt(v), "encrypt level": lambda v: w.client.encrypt([1.0], v),
        "encrypt scale": lambda v: w.client.encrypt([1.0], None, v), "encrypt range": lambda v: w.client.encrypt([0.5], range=v),
        "encrypt like": lambda v: w.client.encrypt([0.5], like=v), "decrypt": lambda v: w.client.decrypt(v),
        "sharing x": lambda v: w.client.decrypt_for_sharing(v, 2.0**9, 1), "sharing bound": lambda v: w.client.decrypt_for_sharing(x, v, 1),
        "sharing queries": lambda v: w.client.decrypt_for_sharing(x, 2.0**9, v),
        "sharing bits": lambda v: w.client.decrypt_for_sharing(x, 2.0**9, 1, v),
        "server_keys": lambda v: w.client.server_keys(v), "server_keys public": lambda v: w.client.server_keys(public=v),
        "server_keys show": lambda v: w.client.server_keys(show=v), "missing": lambda v: w.keys.missing(v), "plan or": lambda v: w.plan | v,
        "add": lambda v: x + v, "radd": lambda v: v + x, "sub": lambda v: x - v, "rsub": lambda v: v - x, "mul": lambda v: x * v,
        "rmul": lambda v: v * x, "div": lambda v: x / v, "rdiv": lambda v: v / x, "pow": lambda v: x**v, "rpow": lambda v: v**x,
        "matmul": lambda v: x @ v, "rmatmul": lambda v: v @ x, "rotate": x.rotate, "sum axis": w.square.sum, "spread": w.square.spread_sum,
        "polyval": x.polyval, "polyval basis": lambda v: x.polyval([1, 2], v), "polyval domain": lambda v: x.polyval([1, 2], "chebyshev", v),
        "bootstrap": lambda v: x.bootstrap(v), "bootstrap keys": lambda v: x.bootstrap("real", v), "bootstrap_with": lambda v: x.bootstrap_with(v),
        "lut": lambda v: x.apply_lut(v), "lut bound": lambda v: x.apply_lut(abs, v), "lut where": lambda v: x.apply_lut(abs, where=v),
        "lut set": lambda v: x.apply_lut(abs, switching=v), "lut keys": lambda v: x.apply_lut(abs, minimal_keys=v),
        "lut route": lambda v: x.apply_lut(abs, route=v), "compare": lambda v: x.compare(v), "compare bound": lambda v: x.compare(0.5, v),
        "max": lambda v: x.max(v), "max bound": lambda v: x.max(bound=v), "argmax": x.argmax, "to_level": x.to_level,
        "declare": x.declare, "declare high": lambda v: x.declare(-1.0, v),
        "Range low": lambda v: lt.Range(v, 10.0), "Range high": lambda v: lt.Range(-10.0, v), "Range imag": lambda v: lt.Range(imag=v),
        "Range rms": lambda v: lt.Range(rms=v), "Range random": lambda v: lt.Range(random=v),
        "program": lambda v: w.program(v), "dot": lambda v: lt.dot(v, [x]), "dot y": lambda v: lt.dot([x], v),
        "precision": lambda v: lt.precision(v, [1.0]), "precision y": lambda v: lt.precision([1.0], v),
        "debug": lambda v: lt.debug(v, w.client).__enter__(), "debug client": lambda v: lt.debug(w.other, v).__enter__(),
        "save_params path": lambda v: lt.save_params(v if not isinstance(v, (str, bytes)) else path, c.params),
        "save_params": lambda v: lt.save_params(path, v), "load_params": lt.load_params,
        "save_ciphertext": lambda v: lt.save_ciphertext(path, v), "load_ciphertext": lambda v: lt.load_ciphertext(v, c),
        "load_ciphertext ctx": lambda v: lt.load_ciphertext(path, v), "to_bytes": lt.to_bytes, "from_bytes": lambda v: lt.from_bytes(v, c),
        "from_bytes ctx": lambda v: lt.from_bytes(b"x", v), "save_server_keys": lambda v: lt.save_server_keys(path, v, w.keys),
        "save_server_keys keys": lambda v: lt.save_server_keys(path, c, v), "load_server_keys": lambda v: lt.load_server_keys(v, c),
        "load_server_keys ctx": lambda v: lt.load_server_keys(path, v), "save_secret_key": lambda v: lt.save_secret_key(path, v),
        "load_client": lambda v: lt.load_client(v, c), "load_client ctx": lambda v: lt.load_client(path, v),
        "tfhe.Context params": lambda v: lt.tfhe.Context(v, "cpu"), "tfhe.Context device": lambda v: lt.tfhe.Context(INTEGERS, v),
        "tfhe.Context threads": lambda v: lt.tfhe.Context(INTEGERS, "cpu", threads=v),
        "tfhe.Context simd": lambda v: lt.tfhe.Context(INTEGERS, "cpu", simd=v),
        "tfhe.Context arithmetic": lambda v: lt.tfhe.Context(INTEGERS, "cpu", arithmetic=v),
        "tfhe.use": lambda v: lt.tfhe.Context(INTEGERS, "cpu").use(v), "tfhe.plan": lambda v: t.plan(v, u),
        "tfhe.plan example": lambda v: t.plan(lambda a: ~a, v), "tfhe.encrypt": lambda v: w.ints.client.encrypt(v),
        "tfhe.encrypt typed": lambda v: w.ints.client.encrypt(v, "u4"), "tfhe.encrypt dtype": lambda v: w.ints.client.encrypt([1], v),
        "tfhe.decrypt": lambda v: w.ints.client.decrypt(v),
        "minimum": lambda v: lt.minimum(n, v), "maximum": lambda v: lt.maximum(v, n), "concatenate": lt.concatenate, "stack": lt.stack,
        "concatenate list": lambda v: lt.concatenate([n, v]), "concatenate axis": lambda v: lt.concatenate([n, n], v),
        "stack list": lambda v: lt.stack([n, v]), "stack axis": lambda v: lt.stack([n, n], v),
        "where": lambda v: lt.where(v, n, n), "where x": lambda v: lt.where(n > 1, v, n), "where dtype": lambda v: lt.where(n > 1, n, n, v),
    }
    m = w.square
    out |= {
        "ckks getitem": lambda v: m[v], "ckks getitem second": lambda v: m[0, v], "ckks reshape": m.reshape,
        "ckks reshape second": lambda v: m.reshape(1, v), "ckks transpose": m.transpose, "ckks swapaxes": lambda v: m.swapaxes(0, v),
        "ckks moveaxis": lambda v: m.moveaxis(v, 0), "ckks moveaxis to": lambda v: m.moveaxis(0, v), "ckks squeeze": m.squeeze,
        "ckks expand_dims": m.expand_dims, "ckks broadcast_to": m.broadcast_to, "ckks roll": m.roll, "ckks roll axis": lambda v: m.roll(1, v),
        "ckks flip": m.flip, "ckks keepdims": lambda v: m.sum(0, v), "ckks mean": m.mean, "ckks var": m.var,
        "ckks ddof": lambda v: m.var(ddof=v), "ckks stack": lambda v: lt.stack([m, v]), "ckks stack axis": lambda v: lt.stack([m, m], v),
        "ckks concatenate": lambda v: lt.concatenate([m, v]), "ckks concatenate axis": lambda v: lt.concatenate([m, m], v)}
    for name in ("and", "or", "xor", "add", "sub", "mul", "lt", "le", "eq", "lshift", "rshift", "mod", "floordiv", "pow", "getitem"):
        method = f"__{name}__"
        out |= {f"tfhe clear {name}": lambda v, m=method: getattr(n, m)(v)}
        out |= {f"tfhe bool {name}": lambda v, m=method: getattr(b, m)(v)}
        if name in ("add", "and", "getitem", "lshift", "pow"):
            out |= {f"tfhe int {name}": lambda v, m=method: getattr(u, m)(v)}
            out |= {f"tfhe m4 {name}": lambda v, m=method: getattr(w.m, m)(v)}
    for name in ("reshape", "transpose", "astype", "sum", "min", "any", "apply", "apply_many"):
        out |= {f"tfhe {name}": lambda v, m=name: getattr(n, m)(v)}
    out |= {"tfhe sum dtype": lambda v: n.sum(dtype=v), "tfhe apply other": lambda v: n.astype("u2").apply(lambda a, c=0: a, v),
            "tfhe apply dtype": lambda v: n.apply(lambda a: a, dtype=v)}
    s = w.session
    out |= {
        "Context budget": lambda v: lt.Context(CKKS, "cpu", key_budget=v), "tfhe.Context budget": lambda v: lt.tfhe.Context(INTEGERS, "cpu", key_budget=v),
        "bind": lambda v: w.other.bind(v), "tfhe.bind": lambda v: t.bind(v), "forget": lambda v: w.other.forget(v), "adopt": s.adopt,
        "session use": s.use, "session forget": s.forget, "session bind": s.bind, "session encrypt": lambda v: s.encrypt(v),
        "session plan": lambda v: s.plan(lambda a: a + a, v), "session keygen": lambda v: lt.load_client(v, s),
        "program.record": lambda v: lt.record(lambda a: a + a).record(v), "program pair": lambda v: lt.record(lambda a, b: a + b)(x, v),
        "record number": lambda v: lt.record(lambda a, c: a * c, c=v), "program number": lambda v: w.scaled(x, c=v),
        "plan number": lambda v: c.plan(lambda a, c: a * c, x, c=v), "Scalar": lt.Scalar, "Scalar high": lambda v: lt.Scalar(0, v),
        "Scalar product": lambda v: lt.Scalar(1, 2) * v, "Scalar quotient": lambda v: v / lt.Scalar(1, 2),
        "Scalar power": lambda v: lt.Scalar(1, 2) ** v,
        "recorded result": lambda v: lt.record(lambda a: v)(x), "planned result": lambda v: c.plan(lambda a: v, x),
        "server_keys program": lambda v: w.client.server_keys(lambda a: a + a, v),
        "passphrase": lambda v: lt.save_secret_key(path + ".secret", w.client, passphrase=v),
        "tfhe.server_keys public": lambda v: w.ints.client.server_keys(public=v, show=False) if v is not True else None,
        "Shape": lambda v: lt.Shape(v), "Shape level": lambda v: c.plan(lambda a: a + a, lt.Shape((4,), v)),
        "tfhe.Shape": lambda v: t.plan(lambda a: ~a, lt.tfhe.Shape(v, "u4")), "tfhe.Shape dtype": lambda v: t.plan(lambda a: ~a, lt.tfhe.Shape((2,), v)),
    }
    for name in ("scale", "limbs", "log_q", "rescale_factor", "message_bound"):
        out |= {f"params.{name}": getattr(c.params, name)}
    return out


def passed(value, error):
    """lt.Error; Python's TypeError if it is Python, not this library, that found no operator; numpy's own errors; what a
    function that was passed raises when it is called."""
    own = callable(value) and isinstance(error, TypeError) and "argument" in str(error) and "incompatible" not in str(error)
    return isinstance(error, lt.Error) or type(error).__module__.startswith("numpy") or own or (
        isinstance(error, TypeError) and "unsupported operand" in str(error))


def described(value):
    return f"{type(value).__name__} {lt.arrays.shown(value)}"


def misfits(w, every):
    """The calls for which a wrong argument caused neither a result nor an error that says what to do."""
    bad = []
    for name, call in every.items():
        for value in nonsense(w):
            # Processor time, because other processes run at the same time; a call that hangs is ended by the test's
            # time limit.
            start = time.process_time()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    call(value)
            except Exception as e:
                # Raised by the argument's own reflected operator.
                hostile = isinstance(e, LookupError) and str(e) == "hostile"
                if not passed(value, e):
                    bad.append(f"{name}({described(value)}): {type(e).__name__}: {str(e).splitlines()[0][:120] if str(e) else ''}")
                elif isinstance(e, lt.Error) and not hostile and (
                        not all(part in str(e) for part in (": had ", "; needs ", "; ")) or len(str(e)) > 700):
                    bad.append(f"{name}({described(value)}): message {str(e)[:150]!r}")
            seconds = time.process_time() - start
            # A passphrase takes a second by design, make_params looks for a change that is accepted, and a valid argument
            # of a sort makes its fits.
            slow = name == "passphrase" or name.startswith(("make_params", "sort", "fit_sort"))
            if seconds > (10 if slow else 1):
                bad.append(f"{name}({described(value)}): {seconds:.1f} s")
    return bad


@pytest.mark.slow
def test_nonsense(world, tmp_path):
    bad = misfits(world, calls(world, tmp_path))
    assert not bad, f"{len(bad)} of them:\n" + "\n".join(bad)
    assert lt.precision(world.client.decrypt(world.x), np.linspace(-1, 1, 64)).worst > 15  # operands are still usable
