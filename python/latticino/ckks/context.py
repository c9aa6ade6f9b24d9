"""A context: parameters on a device with the public keys to compute with. It cannot decrypt."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .. import _native, arrays, errors
from ..claims import noise
from ..claims.known import RangeWarning, as_complex, as_range, fresh
from ..common import devices, roles, views
from ..common.constants import ConstantCache
from ..common.layout import Layout
from ..common.progress_bar import Task
from ..common.tenancy import BoundSession, Tenancy, checked_budget
from ..linear import LinearMap
from ..ops.scalar import Scalar
from . import switching as switching_of
from .ciphertext import Ciphertext
from .client import ServerKeys
from .plan import Plan, RepackRoute, dry_run
from .switching import TableReport

NOT_ENCRYPTED = devices.NOT_ENCRYPTED
_MAX_BATCH = 16  # ciphertexts that are encoded and encrypted in one go
_LARGE_MATRIX = 1 << 14  # entries from which encoding may take over a second


def preset(name: str) -> _native.Params:
    """The named, versioned parameters of CKKS; ParameterError lists near names."""
    name = arrays.as_text(name, "preset", "name")
    if name in _native.tfhe_preset_names():
        raise errors.ParameterError.explain(
            "preset", f"the TFHE set {name!r}", "a CKKS set", "lt.tfhe.Context and lt.tfhe.preset take it")
    return _native.preset(name)


def presets() -> list[str]:
    """The names of all parameter sets of CKKS."""
    return views.PresetNames(_native.preset_names())


class Context(Tenancy, roles.Handle):
    """Parameters on a device. Server side: holds evaluation keys, never a secret.

    ``params`` is a preset's name or checked parameters; ``device`` is ``"cpu"``, ``"cuda"``,
    ``"cuda:1"`` or None (CUDA where it was built and a GPU answers); ``threads`` 0 means all cores;
    ``simd=False`` chooses the plain reference code. With ``auto_bootstrap`` an operation that lacks
    levels refreshes its operand first, and so does one that would end below the level from which the cheapest and
    most precise form of bootstrapping is possible (level 3 of the named sets). ``tuning`` names a table of `latticino
    tune` that chooses the GPU's kernel variants instead of the shipped one. May be shared between threads.

    ``key_budget``: bytes of device memory for bundles of server keys (None: no limit). Beyond it those that were not
    used for the longest time go to host memory, about half as large, until they are used again (`resident`). A
    bundle that is loaded or made takes its memory beside the budget until there is room.

    The device ``"not-encrypted"`` computes on **values in the clear**, with the levels, scales, errors and precision of
    encrypted ones, but no keys: for debugging at full speed.

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
            self._setup(_native.Context.create_dry(self.params), auto_bootstrap)
            self._timed = devices.timed_as("cpu", 1, simd)
            self._products.limit = math.inf
            self._evaluator = _native.Evaluator(self._native, _native.KeyRecorder(self._native))
            return
        roles.warn_of_security("Context", self.params)
        budget = checked_budget(key_budget)
        kind, index = devices.choose(device)
        self.device = kind if kind == "cpu" else f"cuda:{index}"
        self.threads, self.simd = threads, simd
        self._setup(_native.Context.create(self.params, kind, index, threads, simd, tuning), auto_bootstrap)
        self._store = _native.KeyStore.of_ckks(self._native, budget)

    def _setup(self, native: _native.Context, auto_bootstrap: bool, fast_doubles: bool | None = None) -> None:
        self._begin_tenancy(None)
        self._native = native
        self.auto_bootstrap = auto_bootstrap
        self._debugging: Any = None  # of lt.debug
        self.bootstraps = 0  # done so far, in all threads
        self._bootstrappers: dict[tuple[Any, ...], _native.Bootstrapper] = {}
        self._products: ConstantCache[Any] = ConstantCache(4 * 2**30, lambda m: m.bytes)
        # Encoded diagonals of linear maps, as long as those live.
        self._maps: WeakKeyDictionary[LinearMap, dict[tuple[Any, ...], _native.BlockTransform]] = WeakKeyDictionary()
        self._constants: ConstantCache[_native.Plaintext] = ConstantCache(256 * 2**20, lambda p: p.nbytes)
        self._forms: dict[tuple[Any, ...], _native.BootstrapChoice] = {}
        self._notes: list[str] = []  # of a twin's program, for its plan
        self._switching: dict[str, _native.SwitchContext] = {}
        self._switch_keys: dict[str, _native.SwitchKeys] = {}  # of a twin
        # The device's first choice first. A twin's are those of what it is like.
        kind, _, index = self.device.partition(":")
        if fast_doubles is None:
            fast_doubles = kind not in ("dry", NOT_ENCRYPTED) and devices.fast_doubles(
                kind, int(index or 0), self.threads, self.simd)
        self._switch_sets: list[str] = _native.switch_sets_for(self.params, fast_doubles)
        self._switchers: dict[tuple[Any, ...], _native.Switcher] = {}  # of a twin; others lie with their keys
        self._repack_routes: dict[tuple[str, int, str], RepackRoute] = {}  # that a twin's program takes
        self._known_repack_routes: dict[tuple[str, int, bool, str], RepackRoute] = {}  # comparing them takes a second
        self._tables: ConstantCache[_native.SwitchTable] = ConstantCache(64 * 2**20, lambda t: t.bytes)

    @classmethod
    def _for_plans(cls, params: str | _native.Params, kind: str, auto_bootstrap: bool) -> Context:
        """A context that can do nothing but plan: for a device of that kind, which need not be there."""
        out = cls.__new__(cls)
        out.params = preset(params) if isinstance(params, str) else params
        out.device, out.threads, out.simd = kind, 0, True
        out._tuning = ""
        fast = kind == "cuda" or devices.fast_doubles(kind, 0, 0, True)
        out._setup(_native.Context.create_dry(out.params), auto_bootstrap, fast)
        return out

    def _dry(self) -> tuple[Context, _native.KeyRecorder]:
        """A twin without data, and what will have noted the keys that a program uses on it."""
        twin = Context.__new__(Context)
        twin.params, twin.device, twin.threads, twin.simd = self.params, "dry", 0, self.simd
        twin._setup(_native.Context.create_dry(self.params), self.auto_bootstrap)
        twin._switch_sets = self._sets_of_switching()
        twin._products.limit = math.inf  # a plan counts them all
        twin._timed = devices.timed_as(self.device, self.threads, self.simd)
        twin._known_repack_routes = self._known_repack_routes
        twin._forms = self._forms
        recorder = _native.KeyRecorder(twin._native)
        twin._evaluator = _native.Evaluator(twin._native, recorder)
        return twin, recorder

    # ---- facts ----

    @property
    def _debugger(self) -> Any:
        """Of lt.debug: sessions are debugged with their context."""
        return self._root._debugging

    @property
    def encrypted(self) -> bool:
        """Whether this context computes on ciphertexts: False for the device ``"not-encrypted"``."""
        return self.device != NOT_ENCRYPTED

    @property
    def _without_data(self) -> bool:
        """Whether operations are planned only: dry runs, and where values stay in the clear."""
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

    def synchronize(self) -> None:
        """Waits until the device has done all that was asked of it."""
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
        return views.context(self)

    def _options(self) -> dict[str, Any]:
        """What it was made from, beside the parameters."""
        budget = None if self._store is None else self._store.budget
        return {"device": self.device, "threads": self.threads if self.encrypted else 0, "simd": self.simd,
                "auto_bootstrap": self.auto_bootstrap, "tuning": self._tuning, "key_budget": budget}

    def __reduce__(self) -> tuple[Any, ...]:
        return roles.reduced(self)

    # ---- keys ----

    def use(self, keys: ServerKeys) -> Context:
        """Computes with these public keys; returns the context itself.

        Bundles of several keys may be in use at once: operations take the one of their operands' key id. A bundle
        replaces another one of the same key only, and stays until `forget`. The attribute `keys` is the bundle of the
        last call, and `encrypt` uses its public key. A key id is only a claim of the sender of an operand: for
        clients that do not trust each other, call
        `bind`. Raises ContextError where they were made for other parameters or lie on another
        context's device, UnsupportedError for what is no bundle of keys.
        """
        self._use(keys, ServerKeys, "client.server_keys(program, x) makes them")
        return self

    def bind(self, keys: ServerKeys) -> Session:
        """A session: this context with exactly these public keys, beside others in other threads. Raises as `use`."""
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
        return self._encrypt(x, level, scale, lambda batch: [_native.encrypt_public(key, p) for p in batch],
                             True, range, like)

    def _encrypt(self, x: Any, level: int | None, scale: float | None,
                 encrypt: Callable[[list[_native.Plaintext]], list[_native.Ciphertext]],
                 public: bool, stated: Any = None, like: Any = None) -> Ciphertext:
        if self._native.recording:
            raise errors.UnsupportedError.explain(
                "encrypt", "a recording", "fresh randomness at every run, which a replay cannot have",
                "encrypt outside of the recorded function and pass the result")
        level = self.level if level is None else arrays.as_integer(level, "encrypt", "level")
        if not 0 <= level <= self.params.top_level:
            raise errors.LevelError.explain(
                "encrypt", f"level {arrays.shown(level)}", f"a level from 0 to {self.params.top_level}", "leave it out")
        scale = self.params.scale(level) if scale is None else arrays.as_real(scale, "encrypt", "scale", finite=False)
        if not (1 <= scale < math.inf and math.log2(scale) < self.params.log_q(level)):
            raise errors.ScaleError.explain(
                "encrypt", f"scale {scale}", f"one from 1 to less than 2^{self.params.log_q(level):.1f}",
                "leave it out for the canonical scale")
        array = arrays.as_numpy(x, "encrypt")
        values = arrays.as_slots(array, "encrypt")
        slots = arrays.slots_for(values.size, self.slots, "encrypt")
        known = self._known_of(array, values, stated, like, noise.fresh(self.params, scale, slots, public))
        rows = arrays.rows(values, slots)
        batches = [rows[first : first + _MAX_BATCH] for first in range(0, len(rows), _MAX_BATCH)]
        if not self.encrypted:
            parts = [_native.shape_only(self._native, level, float(scale), slots) for _ in rows]
        elif len(batches) == 1:
            parts = encrypt(_native.encode_all(self._native, rows, level, float(scale)))
        else:
            parts = []
            with Task("encrypting", len(rows)) as step:
                for batch in batches:
                    parts += encrypt(_native.encode_all(self._native, batch, level, float(scale)))
                    step.advance(len(batch))
        return Ciphertext(self, parts, Layout.plain(array.shape, slots), known)

    def _known_of(self, array: np.ndarray, values: np.ndarray, stated: Any, like: Any, error: float) -> _native.Known:
        """What is known of values to encrypt: what the caller states, never what they are."""
        if stated is not None and like is not None:
            raise errors.UnsupportedError.explain(
                "encrypt", "a range and sample data", "one of them", "leave range out, or like")
        if like is not None:
            sample = arrays.as_numpy(like, "encrypt")
            arrays.as_slots(sample, "encrypt")
            if sample.shape != array.shape:
                raise errors.ShapeError.explain(
                    "encrypt", f"sample data of shape {sample.shape}", f"the shape of the values, {array.shape}",
                    "pass like=data of that shape")
            if array.dtype.kind == "c" and sample.dtype.kind != "c":
                raise errors.ValueError.explain(
                    "encrypt", "complex values and real sample data", "sample data of the values' type",
                    "pass like=data of complex numbers")
            return self._fresh(_native.range_of_sample(as_complex(sample), not np.iscomplexobj(sample)), error, array,
                               sample)
        known = _native.Range.assumed(array.dtype.kind != "c") if stated is None else as_range(stated)
        if known.contains(_native.Range.of(values)):
            return self._fresh(known, error, array)
        if stated is not None:
            raise errors.ValueError.explain(
                "encrypt", f"values outside of the declared range ({known})", "values within it", "correct the range")
        warnings.warn("encrypt: values lie outside of -1 to 1, the range that is assumed where none is stated; "
                      "the claimed precision will not hold; state the range: encrypt(x, range=(low, high))",
                      RangeWarning, stacklevel=4)
        return self._fresh(known, error, array)

    def _fresh(self, known: _native.Range, error: float, values: np.ndarray,
               sample: np.ndarray | None = None) -> _native.Known:
        if not self.encrypted or self._debugger is not None:
            return _native.Known.with_shadow(known, error, as_complex(values))
        return fresh(known, error, sample)

    def encode(self, values: np.ndarray, level: int, scale: float) -> _native.Plaintext:
        """Encodes up to N/2 flat values (a power of two of them) at a level and scale.

        Constants that were encoded recently are kept (common/constants.py).
        """
        usual = type(values) is np.ndarray and values.dtype == np.complex128  # what operations pass
        if not (usual and type(level) is int and abs(level) < 2**31 and type(scale) is float):
            values = arrays.as_numpy(values, "encode")
            level = arrays.as_integer(level, "encode", "level", 0, self.params.top_level)
            scale = arrays.as_real(scale, "encode", "scale", above=0)
        values = np.ascontiguousarray(values, dtype=np.complex128).reshape(-1)
        key = (hashlib.sha256(values.data).digest(), values.size, level, scale)
        return self._constants.get(key, lambda: _native.encode(self._native, values, level, scale))

    def _encode_named(self, name: tuple[Any, ...], make: Callable[[], np.ndarray], level: int,
                      scale: float) -> _native.Plaintext:
        """Encodes what ``make`` gives, which ``name`` tells from all else that has a name: looked up, it is
        neither made nor compared."""
        return self._constants.get((name, level, scale), lambda: _native.encode(self._native, make(), level, scale))

    # ---- circuits, built once ----

    def bootstrapper(self, slots: int | None = None, message: str = "complex",
                     minimal_keys: bool = False, slot_to_coeff_first: bool = False,
                     over_mod_raise: bool = False, arcsine: int = 0,
                     log_message_ratio: int = 0) -> _native.Bootstrapper:
        """The object that bootstraps ciphertexts of `slots` slots with ``"complex"`` or ``"real"`` values, with these
        options.

        See Ciphertext.bootstrap for the options, and `bootstrap_form` for what it chooses.
        """
        kind = self._message_kind(message)
        slots = self.slots if slots is None else arrays.as_integer(slots, "bootstrap", "slots", 1, self.slots)
        options: Any = (*(arrays.as_flag(flag, "bootstrap", name) for name, flag in (
            ("minimal_keys", minimal_keys), ("slot_to_coeff_first", slot_to_coeff_first),
            ("over_mod_raise", over_mod_raise))),
            arrays.as_integer(arcsine, "bootstrap", "arcsine", 0, 7),
            arrays.as_integer(log_message_ratio, "bootstrap", "log_message_ratio", 0, 64))
        key = (slots, message, *options)
        with self._lock:
            if key not in self._bootstrappers:
                self._bootstrappers[key] = _native.Bootstrapper(self._native, slots, kind, *options)
            return self._bootstrappers[key]

    @staticmethod
    def _message_kind(message: str) -> _native.Message:
        kinds = {"complex": _native.Message.Complex, "real": _native.Message.Real,
                 "merged": _native.Message.MergedReals}
        if not isinstance(message, str) or message not in kinds:
            raise errors.UnsupportedError.explain(
                "bootstrap", f"message={arrays.shown(message)}", " or ".join(map(repr, kinds)), "name one of them")
        return kinds[message]

    def bootstrap_form(self, level: int, slots: int | None = None, message: str = "complex",
                       minimal_keys: bool = False, slot_to_coeff_first: bool | None = None,
                       over_mod_raise: bool | None = None, arcsine: int | None = None,
                       log_message_ratio: int | None = None, random_like: bool = False) -> _native.BootstrapChoice:
        """The form that `Ciphertext.bootstrap` takes for a ciphertext at `level`, and why (``.reason``).

        Options that are None are chosen by the level, the slots and what is declared, never by data.
        LevelError or ParameterError for an option that cannot be met.
        """
        kind = self._message_kind(message)
        level = arrays.as_integer(level, "bootstrap", "level", 0, self.params.top_level)
        slots = self.slots if slots is None else arrays.as_integer(slots, "bootstrap", "slots", 1, self.slots)
        minimal_keys, random_like = (arrays.as_flag(x, "bootstrap", name) for x, name in (
            (minimal_keys, "minimal_keys"), (random_like, "random_like")))
        slot_to_coeff_first, over_mod_raise = (
            None if x is None else arrays.as_flag(x, "bootstrap", name) for x, name in (
                (slot_to_coeff_first, "slot_to_coeff_first"), (over_mod_raise, "over_mod_raise")))
        arcsine = None if arcsine is None else arrays.as_integer(arcsine, "bootstrap", "arcsine", 0, 7)
        log_message_ratio = None if log_message_ratio is None else arrays.as_integer(
            log_message_ratio, "bootstrap", "log_message_ratio", 0, 64)
        first = self.params.default_level - self.params.level_after_bootstrap  # SlotToCoeff's levels
        key = (min(level, first) if slot_to_coeff_first else level >= first, slots, message, minimal_keys,
               slot_to_coeff_first, over_mod_raise, arcsine, log_message_ratio, random_like)
        with self._lock:
            if key not in self._forms:  # a prediction takes longer than a bootstrapping
                self._forms[key] = _native.choose_form(
                    self.params, level, slots, kind, minimal_keys, slot_to_coeff_first, over_mod_raise,
                    arcsine, log_message_ratio, random_like)
            return self._forms[key]

    def _refreshes(self, level: int, levels: int, slots: int) -> bool:
        """Whether ``auto_bootstrap`` refreshes at `level` before an operation that takes `levels`.

        It does where the levels do not suffice, and where the operation would end below the level that SlotToCoeff
        first needs, if that is the form chosen there and a refresh gains levels.
        """
        if not self.auto_bootstrap or not self.params.has_bootstrap:
            return False
        if level < levels:
            return True
        first = self.params.default_level - self.params.level_after_bootstrap
        if levels == 0 or level - levels >= first or level < first:
            return False
        form = self.bootstrap_form(level, slots)
        return form.slot_to_coeff_first and level < form.output_level

    def switch_set(self, name: str | None = None, key: str = "") -> str:
        """The name of a set of switching for these parameters; the default one for None.

        That is one whose keys are in use, if there are any; else the device's: tables in FP64 on a GPU that is fast at
        it and on a CPU with vector code, exact ones elsewhere.
        """
        name = None if name is None else arrays.as_text(name, "switching", "switching")
        sets = self._sets_of_switching(key)
        if not sets or name not in (None, *sets):
            raise errors.ParameterError.explain(
                "switching", f"the set {name!r} with {self.params.name}", " or ".join(sets) or "other parameters",
                "name one of these" if sets else "choose parameters that a set of switching belongs to")
        return name or sets[0]

    def _sets_of_switching(self, key: str = "") -> list[str]:
        """The default first. Keys of a twin are those that its program asked for so far: they decide nothing."""
        if self._without_data:
            return self._switch_sets
        keys = self._tenants.get(key) or self.keys
        used = keys.switching if keys else []
        return sorted(self._switch_sets, key=lambda name: name not in used)

    def switching(self, name: str) -> _native.SwitchContext:
        """Both schemes on this device, for the set `name`."""
        name = arrays.as_text(name, "switching", "name")
        with self._lock:
            if name not in self._switching:
                self._switching[name] = _native.SwitchContext.create(name, self._native)
            return self._switching[name]

    def switcher(self, name: str, slots: int, bound: float, minimal_keys: bool = False,
                 route: str = "automatic", key_id: str = "") -> _native.Switcher:
        """The object that looks up the values (up to `bound`) of ciphertexts of `slots` slots in tables; built once.

        ``route``: the way back (`Ciphertext.apply_lut`); ``"automatic"`` is ``"matvec"`` where the keys in
        use are for it and for so many slots. ``key_id`` of the ciphertexts chooses among several bundles.
        """
        slots = arrays.as_integer(slots, "switching", "slots", 1, self.slots)
        minimal_keys, route = arrays.as_flag(minimal_keys, "switching", "minimal_keys"), arrays.as_text(
            route, "switching", "route")
        bound = arrays.as_real(bound, "switching", "bound", above=0)
        if not self._without_data:
            held: _native.Switcher = self._keys_for(key_id)._switcher(name, slots, bound, minimal_keys, route)
            return held
        key = (name, slots, bound, minimal_keys, route)
        with self._lock:
            if key not in self._switchers:
                route = self._repack_route(name, slots, minimal_keys, route).route
                self._switchers[key] = _native.Switcher(
                    self.switching(name), self._keys_of(name), *key[1:4], route=route)
            return self._switchers[key]

    def _repack_route(self, name: str, slots: int, minimal_keys: bool, route: str) -> RepackRoute:
        """The way back that a plan decides on, with keys for it."""
        key = (name, slots, minimal_keys, route)
        if key not in self._known_repack_routes:
            native = self.switching(name)
            # What is asked for by name is made whatever it takes.
            budget: dict[str, Any] = {} if route == "automatic" else {"budget": 2**63}
            self._known_repack_routes[key] = RepackRoute(*native.choose_route(*key[1:], *self._timed, **budget))
        way = self._repack_routes[name, slots, route] = self._known_repack_routes[key]
        if way.route == "matvec":
            self._keys_of(name).add_without_data(self.switching(name), slots, way.product_slots)
        return way

    def table(self, key: tuple[Any, ...], make: Callable[[], _native.SwitchTable]) -> _native.SwitchTable:
        """The table with this `key`. Tables that were made recently are kept, so programs with tables can be
        recorded."""
        return self._tables.get(key, make)

    def _keys_of(self, name: str) -> _native.SwitchKeys:
        if name not in self._switch_keys:
            self._switch_keys[name] = _native.SwitchKeys.without_data(self.switching(name))
        return self._switch_keys[name]

    def count_bootstraps(self, count: int) -> None:
        with self._lock:
            self.bootstraps += count

    def note(self, text: str) -> None:
        """Adds a text to the notes of a plan, once."""
        if self.device == "dry" and text not in self._notes:
            self._notes.append(text)

    def matrix_product(self, w: np.ndarray, slots: int, level: int) -> _native.MatrixProduct:
        """A plain matrix encoded for vectors at `level`. Matrices that were encoded recently are kept."""
        w = np.ascontiguousarray(w, dtype=np.complex128)
        key = (hashlib.sha256(w.data).digest(), w.shape, slots, level)

        def encoded() -> _native.MatrixProduct:
            if w.size < _LARGE_MATRIX:
                return _native.MatrixProduct(self._native, w, slots, level)
            with Task(f"encoding a matrix of shape {w.shape}"):
                return _native.MatrixProduct(self._native, w, slots, level)

        product: _native.MatrixProduct = self._products.get(key, encoded)
        return product


class Session(BoundSession, Context):
    """One client's keys on a context: ``ctx.bind(keys)``.

    Takes the place of a context: ``encrypt`` (with the bundle's public key), ``plan``, ``lt.from_bytes(data, session)``
    and so on. Ciphertexts that it makes, loads or adopts belong to it, and operations on them use its bundle only: a
    ciphertext under another key is a KeyError, one of another session or of the context itself beside them a
    ContextError. Sessions share the context's device, constants and memory budget, and may be used side by side in
    threads.
    """

    def __init__(self, context: Context, keys: Any) -> None:
        self._bind(context, keys)

    def adopt(self, x: Ciphertext) -> Ciphertext:
        """A ciphertext of the session's context as one of the session; no copy. KeyError where another key made it,
        ContextError for one of another session."""
        roles.require_kind("adopt", x, Ciphertext, "encrypt or load one first")
        if x.context is self:
            return x
        self._require_adoptable(x)
        self._admit("adopt", [p.key for p in x._parts])
        return Ciphertext(self, x._parts, x.layout, x._known)

    def _repr_html_(self) -> str:
        return views.context(self, f"Session of key {self.key_id}")

    __call__ = adopt
