"""Pickles contain files of the library: round trips, worker processes, and objects that cannot be pickled."""

import copy
import copyreg
import pickle
import subprocess
import sys
import textwrap
from random import Random

import numpy as np
import pytest

import latticino as lt


@pytest.fixture(scope="module")
def keys(ctx, client):
    return client.server_keys(lambda a: (a * a).rotate(1), np.zeros(64), public=True)


@pytest.fixture(scope="module")
def exact():
    ctx = lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "cpu", threads=1)
    owner = lt.keygen(ctx)
    ctx.use(owner.server_keys())
    return ctx, owner


def test_ciphertexts_come_back_to_their_context(ctx, client, keys, exact, rng):
    x = rng.uniform(-1, 1, (4, 16))
    a = client.encrypt(x, range=(-1, 1))
    data = pickle.dumps({"a": [a, a]})
    assert lt.to_bytes(a) in data, "the bytes of the file format"
    back = pickle.loads(data)["a"]
    assert back[0].context is ctx and back[0].shape == (4, 16) and back[0].range.claim == "declared"
    assert lt.precision(client.decrypt(back[0]), x).worst > 20
    session = ctx.bind(keys)
    assert pickle.loads(pickle.dumps(session(a))).context is session
    other, owner = exact
    b = pickle.loads(pickle.dumps(owner.encrypt([[1, 2], [3, 4]], "u8")))
    assert b.context is other and owner.decrypt(b).tolist() == [[1, 2], [3, 4]]


def test_keys_parameters_contexts_and_sessions(ctx, keys, exact):
    assert pickle.loads(pickle.dumps(ctx)) is ctx and pickle.loads(pickle.dumps(keys)) is keys
    session = ctx.bind(keys)
    assert pickle.loads(pickle.dumps(session)) is session
    for params in (ctx.params, exact[0].params, lt.preset("n16-d40-boot-v1")):
        assert pickle.loads(pickle.dumps(params)).canonical_text() == params.canonical_text()
        assert copy.deepcopy(params).hash == params.hash
    data = pickle.dumps(keys)
    again = lt.Context(ctx.params, ctx.device)
    loaded = lt.loads(data, again)
    assert loaded is not keys and loaded.id == keys.id and loaded._context is again and loaded.public_key is not None
    clear = lt.Context("test-n10-boot-insecure", "not-encrypted")
    assert pickle.loads(pickle.dumps(clear)) is clear


def test_a_context_is_said(ctx, client, keys, exact, rng):
    x = rng.uniform(-1, 1, 8)
    again = lt.Context(ctx.params, ctx.device)
    data = pickle.dumps((client.encrypt(x), exact[1].encrypt([5], "u8")))
    a, b = lt.loads(data, again, exact[0])
    assert a.context is again and b.context is exact[0]
    with pytest.raises(lt.ContextError, match="lt.loads"):
        lt.loads(data, exact[0])
    with lt.unpickling(again):
        assert pickle.loads(data)[0].context is again
    assert pickle.loads(data)[0].context is ctx
    with pytest.raises(lt.UnsupportedError):
        lt.unpickling(ctx.params)
    foreign = ctx.bind(lt.keygen(ctx).server_keys(lambda v: v * v, x))
    with pytest.raises(lt.KeyError):
        lt.loads(data, foreign)


def test_what_holds_a_secret_or_a_device_refuses(ctx, client, keys, exact):
    ctx.use(keys)
    program = lt.record(lambda a: a * a)
    clear = lt.Context("test-n10-boot-insecure", "not-encrypted")
    for thing in (client, exact[1], client._native, exact[1]._native, client.decrypt(client.encrypt([1.0])), program,
                  client.noise(client.encrypt([1.0])), lt.keygen(clear).encrypt([1.0]),
                  lt.tfhe.Context("test-tfhe-2-2-tiny-insecure", "not-encrypted").encrypt([True])):
        with pytest.raises(lt.UnsupportedError, match=r": had .+; needs .+; "):
            pickle.dumps(thing)
    with pytest.warns(lt.SecretWarning), lt.debug(ctx, client), pytest.raises(lt.UnsupportedError):
        pickle.dumps(ctx)


def test_copies_are_the_objects_themselves(ctx, client, keys, exact):
    x, y = client.encrypt([1.0]), exact[1].encrypt([1], "u8")
    for thing in (x, y, ctx, client, keys, ctx.bind(keys), *exact, exact[0].keys, lt.record(lambda a: a)):
        assert copy.copy(thing) is thing and copy.deepcopy([thing])[0] is thing


def test_a_damaged_pickle_is_a_file_error(client):
    data = bytearray(pickle.dumps(client.encrypt(np.ones(512))))
    data[len(data) // 2] ^= 1
    with pytest.raises(lt.FileError):
        pickle.loads(bytes(data))


class Greedy:
    """Asks for more memory than any machine has when it is loaded."""

    def __reduce__(self):
        return bytearray, (1 << 62,)


def test_a_lack_of_memory_is_no_damaged_pickle():
    """A caller that handles MemoryError, or frees memory and tries again, gets one."""
    with pytest.raises(lt.OutOfMemoryError, match="^loads: had too little memory") as found:
        lt.loads(pickle.dumps(Greedy()))
    assert isinstance(found.value, MemoryError) and isinstance(found.value.__cause__, MemoryError)
    assert not isinstance(found.value, OSError)


def damaged(data, random):
    """One to three changes: of bytes, of bits, of eight bytes at once, of the length. Most are where the opcodes are."""
    b = bytearray(data)
    for _ in range(random.randint(1, 3)):
        at = random.choice([random.randrange(min(120, len(b))), len(b) - 1 - random.randrange(min(260, len(b))),
                            random.randrange(len(b))])
        choice = random.randrange(4)
        if choice == 0:
            b[at] = random.randrange(256)
        elif choice == 1:
            b[at] ^= 1 << random.randrange(8)
        elif choice == 2:
            b[at:at + 8] = random.choice([b"\xff" * 8, bytes(8), b"\xed\xa0\x80" * 2, b"cos\nnice\n"])
        else:
            del b[at:at + random.randint(1, 9)]
    return bytes(b)


@pytest.mark.parametrize("kind", ["array", "keys", "context", "session", "params", "mixed"])
def test_damaged_pickles_raise_only_the_librarys_errors(ctx, client, keys, exact, kind):
    """A damaged pickle may name, call and pass anything: of 3,000 about 700 raised exceptions of Python."""
    thing = {"array": client.encrypt(np.ones(4)), "keys": exact[0].keys, "context": exact[0], "session": ctx.bind(keys),
             "params": ctx.params, "mixed": {"a": [client.encrypt(np.ones(4)), "text", 3, 0.5, None],
                                             "b": (exact[1].encrypt([1, 2], "u8"), {1, 2}, np.arange(3))}}[kind]
    random, count = Random(22), 30 if kind == "session" else 500
    causes = set()
    for protocol in (2, 4, 5):
        data = pickle.dumps(thing, protocol)
        for _ in range(count // 3):
            try:
                lt.loads(damaged(data, random), ctx, exact[0])
            except lt.Error as why:
                str(why).encode()
                causes.add(type(why.__cause__))
    if kind != "session":
        assert len(causes) > 5, causes  # exceptions of Python, which are the causes of errors of the library


WORKERS = textwrap.dedent("""
    import sys
    import multiprocessing
    import warnings
    import numpy as np
    import latticino as lt

    warnings.simplefilter("ignore")

    def square(x):
        return x * x

    def with_context(session, x):
        assert x.context is session
        return x * x + x

    if __name__ == "__main__":
        ctx = lt.Context("test-n10-boot-insecure", "cpu", threads=1)
        client = lt.keygen(ctx)
        session = ctx.bind(client.server_keys(lambda a: a * a, np.zeros(8)))
        values = np.arange(1, 5) / 8
        xs = [session(client.encrypt(np.full(8, v))) for v in values]
        if sys.argv[1] == "pool":
            with multiprocessing.get_context("spawn").Pool(2, lt.unpickling, (session,)) as pool:
                ys = pool.map(square, xs)
        else:
            from joblib import Parallel, delayed
            ys = Parallel(n_jobs=2)(delayed(with_context)(session, x) for x in xs)
        assert all(y.context is session for y in ys)
        got = np.array([client.decrypt(y).unmarked()[0].real for y in ys])
        want = np.arange(1, 5) / 8
        want = want**2 if sys.argv[1] == "pool" else want**2 + want
        assert abs(got - want).max() < 1e-4, got
        print("equal")
""")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pool", "joblib"])
def test_worker_processes(tmp_path, child_environment, kind):
    if kind == "joblib":
        pytest.importorskip("joblib")
    script = tmp_path / "work.py"
    script.write_text(WORKERS)
    done = subprocess.run([sys.executable, str(script), kind], capture_output=True, text=True, env=child_environment,
                          timeout=600)
    assert done.returncode == 0 and done.stdout == "equal\n", done.stderr[-3000:]


def test_a_process_without_the_context_says_what_to_do(client, child_environment, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(pickle.dumps(client.encrypt(np.ones(8))))
    code = ("import pickle, sys, latticino as lt\n"
            "try: pickle.load(open(sys.argv[1], 'rb'))\n"
            "except lt.ContextError as e: print(e)")
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, env=child_environment)
    assert "lt.unpickling" in done.stdout and "test-n10-boot-insecure" in done.stdout, done.stderr


def test_pickles_name_functions_that_stay_where_they_are(ctx, client, keys, exact):
    """A pickle finds its loading function by module and name. Pickles of an earlier version must still find it."""
    clear = lt.Context("test-n10-boot-insecure", "not-encrypted")
    things = [client.encrypt([1.0]), keys, ctx, ctx.bind(keys), ctx.params, exact[0], exact[0].params,
              exact[0].bind(exact[0].keys), exact[1].encrypt([1], "u8"), clear.bind(lt.keygen(clear).server_keys())]
    named = {(x.__module__, x.__qualname__) for x in map(_loader, things)}
    assert named == {("latticino.pickling", name) for name in (
        "_load_array", "_load_keys", "_load_context", "_load_session", "_load_params", "_bind_clear")}


def _loader(thing):
    return copyreg.dispatch_table.get(type(thing), lambda x: x.__reduce__())(thing)[0]
