"""A context: parameters on a device with the public keys to compute with. It cannot decrypt."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .. import _native, arrays, errors
from ..common import devices, roles, views
from ..common.constants import ConstantCache
from ..common.naming import public
from ..common.progress_bar import Task
from ..common.tenancy import BoundSession, Tenancy, checked_budget
from ..ops.scalar import Scalar
from . import notebook
from . import switching as switching_of
from .bootstrapping import Bootstrapping
from .ciphertext import Ciphertext
from .client import ServerKeys
from .encoding import Encodings
from .encrypting import encrypted_array
from .plan import Plan, dry_run
from .switchers import Switchers
from .switching import TableReport

NOT_ENCRYPTED = devices.NOT_ENCRYPTED


def preset(name: str) -> _native.Params:
    """The named, versioned parameters of CKKS; ParameterError lists near names."""
    name = arrays.as_text(name, "preset", "name")
    if name in _native.tfhe_preset_names():
        raise errors.ParameterError.explain(
            "preset", f"the TFHE set {name!r}", "a CKKS set", "lt.tfhe.Context and lt.tfhe.preset take it")
    if name not in _native.preset_names():
        raise arrays.unknown_preset(name, _native.preset_names(),
                                   "lt.presets() lists all; lt.make_params makes a set of your own")
    return _native.preset(name)


def presets() -> list[str]:
    """The names of all parameter sets of CKKS."""
    return views.PresetNames(_native.preset_names())


class Context(Tenancy, roles.Handle):
    """Parameters on a device. Server side: holds evaluation keys, never a secret.

    - ``params``: a preset's name, or checked parameters
    - ``device``: ``"cpu"``, ``"cuda"``, ``"cuda:1"``, or None (CUDA if it was built and there is a GPU, else the CPU)
    - ``threads``: of the CPU; 0 means all cores
    - ``simd``: False chooses the plain reference code
    - ``auto_bootstrap``: if an operation needs more levels than its operand has, the context bootstraps the operand
      first. It also does so if the result would be below level 3 (for the named sets). The fastest and most precise
      form of bootstrapping needs level 3.
    - ``tuning``: the path of a table for the GPU that `latticino tune` wrote. Empty: the table of the library.
    - ``key_budget``: bytes of device memory for bundles of server keys. None: no limit. At the limit, the bundles that
      were least recently used move to host memory, where they take about half as much. A bundle moves back when it is
      used (`resident`). A bundle does not count while it is loaded or made.

    Threads may share a context.

    The device ``"not-encrypted"`` computes on **values in the clear**, with the levels, scales, errors and precision of
    encrypted ones, but no keys: for debugging at full speed. So a missing key is no error there. Where encrypted values
    would raise KeyError, it computes, with or without `use`. `plan` names the keys that a program needs.

    Raises ParameterError, DeviceError, FileError or OutOfMemoryError.
    """

    def __init__(self, params: str | _native.Params = "n16-d40-boot-v1", device: str | None = None, *,
                 threads: int = 0, simd: bool = True, auto_bootstrap: bool = False, tuning: str = "",
                 key_budget: int | None = None) -> None:
        self.params = preset(params) if isinstance(params, str) else params
        threads, tuning = devices.as_threads(threads), devices.as_tuning(tuning)
        simd = arrays.as_flag(simd, "Context", "simd")
        auto_bootstrap = arrays.as_flag(auto_bootstrap, "Context", "auto_bootstrap")
        roles.require_kind("Context", self.params, _native.Params,
                           "name a preset, or take what lt.make_params or lt.load_params gives")
        self._tuning = tuning
        if isinstance(device, str) and device == NOT_ENCRYPTED:
            self.device, self.threads, self.simd = device, 1, simd
            timed = devices.rate_device("cpu", 1, simd)
            run = _native.DryRun(self.params)
            self._setup(run.context, auto_bootstrap, timed=timed)
            self._products.limit = math.inf
            self._evaluator = run.evaluator
            return
        roles.warn_of_security("Context", self.params)
        budget = checked_budget(key_budget)
        kind, index = devices.choose(device)
        self.device = kind if kind == "cpu" else f"cuda:{index}"
        self.threads, self.simd = threads, simd
        self._setup(_native.Context.create(self.params, kind, index, threads, simd, tuning), auto_bootstrap)
        self._store = _native.KeyStore.of_ckks(self._native, budget)

    def _setup(self, native: _native.Context, auto_bootstrap: bool, sets: list[str] | None = None,
               timed: tuple[str, int] | None = None, like: Context | None = None) -> None:
        """``sets``: sets of switching, the default one first, if they differ from this device's own. ``timed``: the
        machine whose rates a plan uses. ``like``: the context that a twin stands for."""
        self._begin_tenancy(None)
        self._native = native
        self._timed: Any = timed
        self.auto_bootstrap = auto_bootstrap
        # The debugger of the last lt.debug block. It is in use as long as that block holds its lock.
        self._debugging: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self.bootstraps = 0  # number of bootstrappings done so far, in all threads
        self._notes: list[str] = []  # notes on a twin's program, for its plan
        self._bootstrapping: Bootstrapping = Bootstrapping(
            native, devices.rate_device(self.device, self.threads, self.simd) if timed is None else timed,
            None if like is None else like._bootstrapping)
        self._encodings: Encodings = Encodings(native)
        if sets is None:
            kind, _, index = self.device.partition(":")
            sets = _native.switch_sets_for(self.params, kind not in ("dry", NOT_ENCRYPTED) and devices.fast_doubles(
                kind, int(index or 0), self.threads, self.simd))
        self._switchers: Switchers = Switchers(native, sets, self._lock, timed,
                                               None if like is None else like._switchers)
        # Recordings pin these caches; nn limits their size.
        self._constants: ConstantCache[_native.Plaintext] = self._encodings.constants
        self._products: ConstantCache[Any] = self._encodings.products
        self._tables: ConstantCache[_native.SwitchTable] = self._switchers.tables
        self._maps = self._encodings.maps

    @classmethod
    def _for_plans(cls, params: str | _native.Params, kind: str, auto_bootstrap: bool) -> Context:
        """A context that can only plan, for a device of that kind, which need not be present."""
        out = cls.__new__(cls)
        out.params = preset(params) if isinstance(params, str) else params
        out.device, out.threads, out.simd = kind, 0, True
        out._tuning = ""
        fast = kind == "cuda" or devices.fast_doubles(kind, 0, 0, True)
        out._setup(_native.DryRun(out.params).context, auto_bootstrap, _native.switch_sets_for(out.params, fast))
        return out

    @classmethod
    def _idle(cls, params: str | _native.Params, counts: _native.IdleCounts) -> Context:
        """A context on a device that computes nothing, and counts what it is asked to do. The host works as it does for
        a GPU."""
        out = cls.__new__(cls)
        out.params = preset(params) if isinstance(params, str) else params
        out.device, out.threads, out.simd = "cuda:0", 0, True
        out._tuning = ""
        out._setup(_native.Context.create_idle(out.params, counts), False, _native.switch_sets_for(out.params, True),
                   ("cuda", 1))
        out._store = _native.KeyStore.of_ckks(out._native, None)
        return out

    def _dry(self) -> tuple[Context, _native.DryRun]:
        """A twin without data, and the object that notes which keys a program uses on the twin."""
        run = _native.DryRun(self.params)
        twin = Context.__new__(Context)
        twin.params, twin.device, twin.threads, twin.simd = self.params, "dry", 0, self.simd
        twin._setup(run.context, self.auto_bootstrap, self._sets_of_switching(),
                    devices.rate_device(self.device, self.threads, self.simd), self)
        twin._products.limit = math.inf  # so that a plan counts all of them
        twin._evaluator = run.evaluator
        return twin, run

    # ---- properties ----

    @property
    def _debugger(self) -> Any:
        """The debugger that lt.debug set on the context. Sessions are debugged with their context."""
        blocks = self._root._debugging
        if not blocks:
            return None
        return next((found for block, found in blocks.items() if block.locked()), None)

    @property
    def encrypted(self) -> bool:
        """Whether this context computes on ciphertexts: False for the device ``"not-encrypted"``."""
        return self.device != NOT_ENCRYPTED

    @property
    def _without_data(self) -> bool:
        """Whether operations have no ciphertexts: in dry runs, and on the device that does not encrypt."""
        return self.device in ("dry", NOT_ENCRYPTED)

    @property
    def slots(self) -> int:
        """Number of values that one ciphertext holds: N/2. Longer vectors become several ciphertexts."""
        return int(self.params.max_slots)

    @property
    def level(self) -> int:
        """Level of fresh ciphertexts: multiplications in sequence before bootstrapping."""
        return int(self.params.default_level)

    @property
    def peak_bytes(self) -> int:
        """The most device memory that was in use at once since the start or `reset_peak`."""
        return self._native.peak_bytes

    @property
    def live_bytes(self) -> int:
        """Device memory in use now: keys, constants and ciphertexts."""
        return self._native.live_bytes

    def reset_peak(self) -> None:
        self._native.reset_peak()

    def _clear_unused(self) -> None:
        """Sets the device memory that is kept for reuse to zero, so that nothing of an earlier ciphertext is in it."""
        self._native.clear_unused()

    def synchronize(self) -> None:
        """Waits until the device has completed all submitted work."""
        self._native.synchronize()

    def explain(self) -> str:
        """Levels, scales, primes, security, keys and precision of the parameters, as a table."""
        return str(self.params.explain())

    def __repr__(self) -> str:
        if not self.encrypted:
            return f"Context({self.params.name!r}, NOT ENCRYPTED: values in the clear, for debugging)"
        keys = f"{self.keys.bytes / 2**20:.0f} MiB of keys" if self.keys else "no keys"
        return f"Context({self.params.name!r}, device={self.device!r}, slots={self.slots}, {keys})"

    def _repr_html_(self) -> str:
        return notebook.context(self)

    def _options(self) -> dict[str, Any]:
        """The options with which it was made, apart from the parameters."""
        budget = None if self._store is None else self._store.budget
        return {"device": self.device, "threads": self.threads if self.encrypted else 0, "simd": self.simd,
                "auto_bootstrap": self.auto_bootstrap, "tuning": self._tuning, "key_budget": budget}

    def __reduce__(self) -> tuple[Any, ...]:
        return roles.reduced(self)

    # ---- keys ----

    def use(self, keys: ServerKeys) -> Context:
        """Computes with these public keys; returns the context itself.

        Bundles of several clients may be in use at once: operations take the bundle with the key id of their operands.
        A bundle stays in use until `forget`, or until another bundle of the same key replaces it. The attribute `keys`
        is the bundle of the last call, and `encrypt` uses its public key. Whoever sends a ciphertext can write any key
        id into it. So if the clients do not trust each other, call `bind` instead. ContextError if the keys were made
        for other parameters or for another context's device, UnsupportedError if the argument is no bundle of keys.
        """
        self._use(keys, ServerKeys, "client.server_keys(program, x) makes them")
        return self

    @public
    def bind(self, keys: ServerKeys) -> Session:
        """A session: this context with exactly these public keys. Many can be used at once. Raises as `use`."""
        roles.require_kind("bind", keys, ServerKeys, "client.server_keys(program, x) makes them")
        roles.require_keys_of(self, keys)
        return Session(self, keys)

    def _keyless(self) -> _native.Evaluator:
        return _native.Evaluator(self._native, None)

    def plan(self, program: Callable[..., Any], *examples: Any, **scalars: Scalar) -> Plan:
        """Runs ``program`` without data and reports what it needs.

        Examples are arrays (taken as fresh encryptions), ciphertexts, or Shape objects. The plan
        lists the evaluation keys, their bytes, the peak memory, levels and the predicted time.
        ``scalars``: parameters that stand for any number of a range, such as ``eta=lt.Scalar(-1, 1)``; a program of
        `lt.record` knows its own.
        Raises what the program would raise, LevelError for instance, before any key exists.
        """
        roles.require_function("plan", program)
        for name, s in scalars.items():
            roles.require_kind("plan", s, Scalar, f"declare its range: {name}=lt.Scalar(low, high)")
        with Task("planning"):
            return dry_run(self, program, examples, scalars)

    @public
    def table_report(self, f: Callable[[float], float], bound: float = 1.0, *, slots: int | None = None,
                     switching: str | None = None, route: str = "automatic") -> TableReport:
        """Predicted errors of ``x.apply_lut(f, bound)``; needs no keys.

        The route back depends on the ``slots`` of the ciphertexts (None: all) and on the options, as in
        `apply_lut`. Gives
        a named tuple of ``route``, ``argument`` (deviation of the noise beside x), ``mean`` and ``deviation``
        of the error for values uniform within the bound, and ``largest`` for any value, all absolute. Raises
        what `apply_lut` would for f and the bound.
        """
        return switching_of.table_report(self, f, bound, slots, switching, route)

    # ---- data ----

    @public
    def encrypt(self, x: Any, level: int | None = None, scale: float | None = None, *,
                range: Any = None, like: Any = None) -> Ciphertext:
        """Encrypts with the bundle's public key (``client.server_keys(..., public=True)``).

        ``x``: numbers of any shape, real or complex; NaN, infinity and values over the message
        bound raise. See Client.encrypt for the options, and for the owner's (smaller and less noisy) encryption.
        """
        key: Any = self.keys.public_key if self.keys else None
        if key is None and self.encrypted:
            raise errors.KeyError.explain(
                "encrypt", "a context without a public key", "a bundle that has one",
                "make it with client.server_keys(..., public=True), or encrypt with the client")
        return encrypted_array(self, x, level, scale, lambda batch: [_native.encrypt_public(key, p) for p in batch],
                               True, range, like)

    @public
    def encode(self, values: np.ndarray, level: int, scale: float) -> _native.Plaintext:
        """Encodes up to N/2 flat values (a power of two of them) at a level and scale.

        Constants that were encoded recently are kept (common/constants.py).
        """
        return self._encodings.plain(values, level, scale)

    # ---- circuits, built once ----

    @public
    def bootstrapper(self, slots: int | None = None, message: str = "complex",
                     minimal_keys: bool = False, slot_to_coeff_first: bool = False,
                     over_mod_raise: bool = False, arcsine: int = 0,
                     log_message_ratio: int = 0) -> _native.Bootstrapper:
        """The object that bootstraps ciphertexts of `slots` slots with ``"complex"`` or ``"real"`` values, with these
        options.

        See Ciphertext.bootstrap for the options, and `bootstrap_form` for what it chooses.
        """
        return self._bootstrapping.bootstrapper(
            slots, message, minimal_keys=minimal_keys, slot_to_coeff_first=slot_to_coeff_first,
            over_mod_raise=over_mod_raise, arcsine=arcsine, log_message_ratio=log_message_ratio)

    @public
    def bootstrap_form(self, level: int, slots: int | None = None, message: str = "complex",
                       minimal_keys: bool = False, slot_to_coeff_first: bool | None = None,
                       over_mod_raise: bool | None = None, arcsine: int | None = None,
                       log_message_ratio: int | None = None, random_like: bool = False) -> _native.BootstrapChoice:
        """The form that `Ciphertext.bootstrap` takes for a ciphertext at `level`, and why (``.reason``).

        Options that are None are chosen by the level, the slots and what is declared, never by data.
        LevelError or ParameterError for an option that cannot be met.
        """
        return self._bootstrapping.form(level, slots, message, minimal_keys, slot_to_coeff_first, over_mod_raise,
                                        arcsine, log_message_ratio, random_like)

    def _refreshes(self, x: _native.Contents, levels: int) -> bool:
        """Whether ``auto_bootstrap`` refreshes x before an operation that takes `levels`."""
        return self.auto_bootstrap and self._bootstrapping.native.refreshes(x, levels)

    @public
    def switch_set(self, name: str | None = None, key: str = "") -> str:
        """The name of a set of switching for these parameters; the default one for None.

        The default is a set whose keys are in use, if there is one. Otherwise it depends on the device: tables in FP64
        on a GPU that is fast at it and on a CPU with vector code, exact tables elsewhere.
        """
        return self._switchers.named(name, self._sets_of_switching(key))

    def _sets_of_switching(self, key: str = "") -> list[str]:
        """The names of the sets, the default one first. For a twin, the keys do not matter, because they are only those
        that its program asked for so far."""
        if self._without_data:
            return self._switchers.sets
        keys = self._tenants.get(key) or self.keys
        return self._switchers.ordered(keys.switching if keys else [])

    @public
    def switching(self, name: str) -> _native.SwitchContext:
        """Both schemes on this device, for the set `name`."""
        return self._switchers.context(name)

    @public
    def switcher(self, name: str, slots: int, bound: float, minimal_keys: bool = False,
                 route: str = "automatic", key_id: str = "") -> _native.Switcher:
        """The object that looks up the values (up to `bound`) of ciphertexts of `slots` slots in tables; built once.

        ``route``: the way back (`Ciphertext.apply_lut`); ``"automatic"`` is ``"matvec"`` if the keys in use have that
        route for so many slots. ``key_id`` of the ciphertexts chooses among several bundles.
        """
        name = arrays.as_text(name, "switching", "name")
        slots = arrays.as_integer(slots, "switching", "slots", 1, self.slots)
        minimal_keys, route = arrays.as_flag(minimal_keys, "switching", "minimal_keys"), arrays.as_text(
            route, "switching", "route")
        bound = arrays.as_real(bound, "switching", "bound", above=0)
        if not self._without_data:
            keys = self._keys_for(key_id, "apply_lut")
            held: _native.Switcher = keys._switcher(name, slots, bound, minimal_keys, route)
            return held
        return self._switchers.without_data(name, slots, bound, minimal_keys, route)

    def table(self, key: tuple[Any, ...], make: Callable[[], _native.SwitchTable]) -> _native.SwitchTable:
        """The table with this `key`. Tables that were made recently are kept, so programs with tables can be
        recorded."""
        return self._switchers.tables.get(key, make)

    def count_bootstraps(self, count: int) -> None:
        with self._lock.own:
            self.bootstraps += count

    def note(self, text: str) -> None:
        """Adds a text to the notes of a plan, once."""
        if self.device == "dry" and text not in self._notes:
            self._notes.append(text)

    def matrix_product(self, w: np.ndarray, slots: int, level: int) -> _native.MatrixProduct:
        """A plain matrix encoded for vectors at `level`. Matrices that were encoded recently are kept."""
        array = arrays.as_numpy(w, "matrix")
        if array.ndim != 2:
            raise errors.ShapeError.explain("matrix", f"shape {array.shape}", "a matrix", "reshape it")
        return self._encodings.matrix(array, arrays.as_integer(slots, "matrix", "slots", 1, self.slots),
                                      arrays.as_integer(level, "matrix", "level", 1, self.params.top_level))


class Session(BoundSession, Context):
    """One client's keys on a context: ``ctx.bind(keys)``.

    Use it in place of a context: ``encrypt`` (with the bundle's public key), ``plan``, ``lt.from_bytes(data, session)``
    and so on. Ciphertexts that it makes, loads or adopts belong to it, and operations on them use its bundle only. A
    ciphertext under another key raises KeyError. Operands of another session, or of the context itself, raise
    ContextError. Sessions share the context's device, constants and memory budget. Threads may use several sessions at
    the same time.
    """

    def __init__(self, context: Context, keys: Any) -> None:
        roles.require_kind("Session", context, Context, "pass the context, or call its bind(keys)")
        roles.require_kind("Session", keys, ServerKeys, "client.server_keys(program, x) makes them")
        self._bind(context, keys)

    @public
    def adopt(self, x: Ciphertext) -> Ciphertext:
        """Makes a ciphertext of the session's context belong to the session, without a copy. KeyError if it is under
        another key, ContextError if it belongs to another session."""
        roles.require_kind("adopt", x, Ciphertext, "encrypt or load one first")
        if x.context is self:
            return x
        self._require_adoptable(x)
        self._admit("adopt", [p.key for p in x._parts])
        return Ciphertext(self, x._parts, x.layout, x._known)

    def _repr_html_(self) -> str:
        return notebook.context(self, f"Session of key {self.key_id}")

    __call__ = adopt
