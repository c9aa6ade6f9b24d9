"""Several clients' keys on one context: bound sessions, threads, a memory budget."""

import concurrent.futures
import threading
import time

import numpy as np
import pytest

import latticino as lt

CKKS, TFHE = "test-n10-leveled-insecure", "test-tfhe-2-2-tiny-insecure"


def program(x):
    return (x * x).rotate(1)


def result(x):
    return np.roll(x * x, -1)


class World:
    """Clients of one context, with a bundle each."""

    def __init__(self, scheme, device, count, **options):
        self.scheme = scheme
        if scheme == "ckks":
            self.ctx = lt.Context(CKKS, device, threads=1, **options)
        else:
            self.ctx = lt.tfhe.Context(TFHE, device, threads=1, **options)
        self.clients = [lt.keygen(self.ctx) for _ in range(count)]
        self.bundles = [self.keys(c) for c in self.clients]

    def keys(self, client):
        if self.scheme == "tfhe":
            return client.server_keys(show=False)
        return client.server_keys(program, np.zeros(16), public=True, show=False)

    def data(self, i):
        return np.linspace(0, 1, 16) + i / 100 if self.scheme == "ckks" else np.arange(4, dtype=np.uint8) % (i + 2)

    def encrypt(self, client, x):
        return client.encrypt(x, range=(0, 2)) if self.scheme == "ckks" else client.encrypt(x, dtype="u2")

    def compute(self, y):
        return program(y) if self.scheme == "ckks" else y + y

    def right(self, client, y, x):
        got = client.decrypt(y)
        return np.allclose(got, result(x), atol=1e-2) if self.scheme == "ckks" else (got == (x + x) % 4).all()

    def once(self, i, session=None):
        x = self.data(i)
        y = self.encrypt(self.clients[i], x)
        return self.right(self.clients[i], self.compute(session(y) if session else y), x)


@pytest.fixture(params=["ckks", "tfhe"])
def world(request, device):
    return World(request.param, device, 2)


def size_of_one(scheme, device):
    one = World(scheme, device, 1)
    return one.ctx.resident.bytes


def run_threads(count, work):
    failures = []

    def guarded(i):
        try:
            work(i)
        except BaseException as why:  # a failure in a thread fails the test
            failures.append(why)

    threads = [threading.Thread(target=guarded, args=(i,), daemon=True) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(600)
        assert not t.is_alive(), "a thread hangs"
    assert not failures, failures


def test_threads_that_use_different_bundles_do_not_disturb_each_other(world):
    def work(i):
        for _ in range(90 if world.scheme == "ckks" else 10):
            world.ctx.use(world.bundles[i])
            assert world.once(i)

    run_threads(2, work)
    assert world.ctx.keys in world.bundles


def test_what_use_replaces_and_what_forget_takes_back(world):
    first, second = world.bundles
    again = world.keys(world.clients[0])
    world.ctx.use(first).use(second)
    assert world.ctx.keys is second and world.once(0) and world.once(1)
    world.ctx.use(again)  # replaces the bundle of the first key
    world.bundles = [second]
    del first
    assert len(world.ctx.resident.bundles) == 2 and world.once(0)
    world.ctx.forget(again)
    assert world.ctx.keys is None and world.once(1)
    with pytest.raises(lt.KeyError):
        world.compute(world.encrypt(lt.keygen(type(world.ctx)(world.ctx.params, world.ctx.device)), world.data(0)))
    world.ctx.forget(second)
    with pytest.raises(lt.KeyError):
        world.once(1)


@pytest.mark.parametrize("scheme", ["ckks", "tfhe"])
@pytest.mark.parametrize("count", [2, 8])
def test_sessions_in_threads_share_a_budget(scheme, count, device):
    budget = 2 * size_of_one(scheme, device)
    world = World(scheme, device, count, key_budget=budget)
    sessions = [world.ctx.bind(keys) for keys in world.bundles]

    def work(i):
        for _ in range(180 // count if scheme == "ckks" else 6):
            assert world.once(i, sessions[i])

    run_threads(count, work)
    resident = world.ctx.resident
    assert resident.bytes <= budget == resident.budget and len(resident.bundles) == count
    assert all(b.last_use > 0 and not b.pinned for b in resident.bundles)
    if count > 2:
        assert resident.evictions >= count - 2 and 0 < resident.host_bytes < count * budget / 2


def test_sessions_keep_to_their_own(world):
    a, b = (world.ctx.bind(keys) for keys in world.bundles)
    one, two = world.clients
    x, y = a(world.encrypt(one, world.data(0))), b(world.encrypt(two, world.data(1)))
    assert x.context is a and a(x) is x and isinstance(a, type(world.ctx))
    assert world.right(one, world.compute(x), world.data(0)) and world.compute(x).context is a
    with pytest.raises(lt.ContextError):
        x + y
    with pytest.raises(lt.ContextError):
        x + world.encrypt(one, world.data(0))  # of the context itself
    with pytest.raises(lt.ContextError):
        b.adopt(x)
    with pytest.raises(lt.KeyError):
        b.adopt(world.encrypt(one, world.data(0)))
    data = lt.to_bytes(x)
    assert lt.from_bytes(data, a).context is a
    with pytest.raises(lt.KeyError):
        lt.from_bytes(data, b)
    for wrong in (lambda: a.use(world.bundles[0]), lambda: a.bind(world.bundles[1])):
        with pytest.raises(lt.UnsupportedError):
            wrong()
    with pytest.raises(lt.ContextError):
        type(world.ctx)(world.ctx.params, world.ctx.device, threads=1).bind(world.bundles[0])
    with pytest.raises(lt.KeyError):
        lt.keygen(a)  # the secret key would not be the one of the session's bundle
    assert a.plan(world.compute, x).operations == world.ctx.plan(world.compute, x).operations > 0
    assert one.key_id in repr(a)


def test_a_client_works_under_its_session(world, tmp_path):
    session = world.ctx.bind(world.bundles[0])
    lt.save_secret_key(tmp_path / "secret", world.clients[0])
    client = lt.load_client(tmp_path / "secret", session)
    x = world.encrypt(client, world.data(0))
    assert x.context is session and world.right(client, world.compute(x), world.data(0))
    other = world.ctx.bind(world.bundles[1])
    with pytest.raises(lt.KeyError):
        lt.load_client(tmp_path / "secret", other)


@pytest.mark.parametrize("scheme", ["ckks", "tfhe"])
def test_sessions_where_nothing_is_encrypted(scheme):
    world = World(scheme, "not-encrypted", 1)
    session = world.ctx.bind(world.bundles[0])
    assert world.once(0, session) and world.ctx.resident.bundles == ()


def test_a_session_encrypts_with_its_own_public_key(device):
    world = World("ckks", device, 2)
    sessions = [world.ctx.bind(keys) for keys in world.bundles]
    for i, session in enumerate(sessions):
        y = world.compute(session.encrypt(world.data(i), range=(0, 2)))
        assert world.right(world.clients[i], y, world.data(i))


def test_recorded_programs_keep_their_bundle_and_their_session(world):
    budget = int(1.5 * size_of_one(world.scheme, world.ctx.device))
    tight = World(world.scheme, world.ctx.device, 2, key_budget=budget)
    a, b = (tight.ctx.bind(keys) for keys in tight.bundles)
    x = a(tight.encrypt(tight.clients[0], tight.data(0)))
    recorded = lt.record(tight.compute)
    assert tight.right(tight.clients[0], recorded(x), tight.data(0)) and recorded(x).context is a
    y = b(tight.encrypt(tight.clients[1], tight.data(1)))
    with pytest.raises(lt.ContextError):
        recorded(y)
    with pytest.raises(lt.OutOfMemoryError, match="recorded"):
        tight.compute(y)
    assert tight.right(tight.clients[0], recorded(x), tight.data(0))
    del recorded
    assert tight.right(tight.clients[1], tight.compute(y), tight.data(1))


def test_programs_of_sessions_replay_beside_each_other(world):
    sessions = [world.ctx.bind(keys) for keys in world.bundles]

    def work(i):
        recorded = None
        for n in range(20):
            recorded = lt.record(world.compute) if n % 2 == 0 else recorded
            x = sessions[i](world.encrypt(world.clients[i], world.data(i)))
            assert world.right(world.clients[i], recorded(x), world.data(i))

    run_threads(2, work)


@pytest.mark.parametrize("scheme", ["ckks", "tfhe"])
def test_bundles_go_to_host_memory_and_come_back_with_the_same_bits(scheme, device, tmp_path):
    size = size_of_one(scheme, device)
    world = World(scheme, device, 2, key_budget=size + size // 2)
    assert [b.resident for b in world.ctx.resident.bundles] == [False, True]
    host = world.ctx.resident.bundles[0].host_bytes
    assert 0 < host < 0.6 * size
    x = world.ctx.bind(world.bundles[0])(world.encrypt(world.clients[0], world.data(0)))
    first = lt.to_bytes(world.compute(x))
    assert world.once(1, world.ctx.bind(world.bundles[1]))
    assert lt.to_bytes(world.compute(x)) == first and world.ctx.resident.evictions >= 3
    lt.save_server_keys(tmp_path / "keys", world.ctx, world.bundles[1])  # this brings it back
    assert lt.load_server_keys(tmp_path / "keys", world.ctx).id == world.bundles[1].id


def test_budgets_that_cannot_be(device):
    size = size_of_one("ckks", device)
    with pytest.raises(lt.OutOfMemoryError, match="key budget"):
        World("ckks", device, 1, key_budget=size // 2)
    for wrong in (0, -1, 2.5, "much"):
        with pytest.raises(lt.Error):
            lt.Context(CKKS, device, key_budget=wrong)


def test_switching_keys_go_and_come_back_with_their_bundle(device):
    ctx = lt.Context("test-n10-boot-insecure", device, threads=1)
    f = np.sign
    x = np.array([-0.5, 0.5, 0.25, -0.25])
    clients = [lt.keygen(ctx) for _ in range(2)]
    plan = ctx.plan(lambda v: v.apply_lut(f), lt.Shape((4,)))
    size = clients[0].server_keys(plan, show=False)
    assert size.switching
    used = ctx.resident.bytes
    del size
    tight = lt.Context("test-n10-boot-insecure", device, threads=1, key_budget=used + used // 2)
    clients = [lt.keygen(tight) for _ in range(2)]
    sessions = [tight.bind(c.server_keys(plan, show=False)) for c in clients]
    for _ in range(2):
        for client, session in zip(clients, sessions):
            got = client.decrypt(session(client.encrypt(x)).apply_lut(f)).real
            assert np.abs(got - f(x)).max() < 0.3
    assert tight.resident.evictions >= 3 and tight.resident.bytes <= tight.resident.budget * 1.5


def test_what_needs_no_keys_needs_none_beside_bundles_of_others(device):
    """A sum of one client's ciphertexts while only the bundle of another client is in use."""
    ctx = lt.Context(CKKS, device, threads=1)
    first, second, third = (lt.keygen(ctx) for _ in range(3))
    bundles = [c.server_keys(program, np.zeros(16), show=False) for c in (first, second)]
    ctx.use(bundles[0]).use(bundles[1]).forget(bundles[1])
    for client in (first, second, third):
        x = client.encrypt([0.25, 0.5])
        assert np.allclose(client.decrypt(x + x), [0.5, 1], atol=1e-2)
    with pytest.raises(lt.KeyError, match="server_keys"):
        x * x


@pytest.mark.parametrize("scheme", ["ckks", "tfhe"])
def test_arrays_of_a_recorded_function_are_refused_in_other_threads(scheme, device):
    """The thread would wait for the recording, which waits for the thread."""
    world = World(scheme, device, 1)
    world.ctx.use(world.bundles[0])
    kept = []

    def body(y):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            kept.append(pool.submit(world.compute, y).result(300))
        return kept[-1]

    y = world.encrypt(world.clients[0], world.data(0))
    with pytest.raises(lt.ContextError, match="another thread"):
        lt.record(body)(y)
    assert world.once(0)
    recorded = lt.record(world.compute)
    assert world.right(world.clients[0], recorded(y), world.data(0))


def test_the_state_of_a_context_can_be_read_while_a_program_is_recorded(world):
    """The recording holds the queue while its function waits for the interpreter: no thread may wait the other way round."""
    world.ctx.use(world.bundles[0])
    seen, reading = [], threading.Event()
    y = world.encrypt(world.clients[0], world.data(0))

    def read():
        reading.wait(300)
        for _ in range(20):
            seen.append((repr(world.ctx), repr(y), world.ctx.resident, world.ctx.keys.bytes, world.ctx.live_bytes, y.nbytes))
            world.encrypt(world.clients[0], world.data(0))

    def body(y):
        reading.set()
        time.sleep(0.2)
        return world.compute(y)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    recorded = lt.record(body)
    assert world.right(world.clients[0], recorded(y), world.data(0))
    thread.join(300)
    assert len(seen) == 20
