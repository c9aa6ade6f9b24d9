"""A context of TFHE: parameters on a device with the public keys to compute with. It cannot decrypt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _native, arrays, errors
from ..common import devices, roles, views
from ..common.naming import called, public
from ..common.tenancy import BoundSession, Tenancy, checked_budget
from . import notebook, types
from .array import EncryptedArray
from .client import ServerKeys
from .debug import NotEncryptedArray
from .engine import NotEncryptedEvaluator
from .plan import Plan, dry_run

NOT_ENCRYPTED = "not-encrypted"
ARITHMETICS = ("auto", "exact", "fft64")
# The most bootstrappings of a round that run at once. On a GPU, memory limits them. On a CPU, a small limit lets the
# progress bar move.
_MAX_BATCH_CUDA, _MAX_BATCH_CPU = 1 << 16, 256


def preset(name: str) -> _native.TfheParams:
    """The named, versioned parameters of TFHE; ParameterError lists near names."""
    name = arrays.as_text(name, "preset", "name")
    if name in _native.preset_names():
        raise errors.ParameterError.explain(
            "preset", f"the CKKS set {name!r}", "a TFHE set", "lt.Context and lt.preset take it")
    if name not in _native.tfhe_preset_names():
        raise arrays.unknown_preset(name, _native.tfhe_preset_names(), "lt.tfhe.presets() lists all")
    return _native.tfhe_preset(name)


def presets() -> list[str]:
    """The names of all parameter sets of TFHE."""
    return views.PresetNames(_native.tfhe_preset_names())


class Context(Tenancy, roles.Handle):
    """TFHE parameters on a device. Server side: holds evaluation keys, never a secret.

    ``params``: a preset's name (``tfhe-2-2-v1``; for booleans alone ``tfhe-gates-v2`` in FP64 and
    ``tfhe-gates-v1`` in exact arithmetic) or checked parameters. ``device``, ``threads``, ``simd`` and
    ``tuning`` as for ``lt.Context``. The device ``"not-encrypted"`` computes on **values in the clear**, for debugging
    at full speed. Functions, results and errors are the same, except for errors of keys and noise: a missing key is no
    error there. ``key_budget`` as for ``lt.Context``. ``arithmetic`` multiplies the
    polynomials of blind rotations: ``"exact"`` modulo primes, ``"fft64"`` by transforms in FP64.
    ``None`` or ``"auto"`` takes the faster one of the device, by measured times. For sets over one prime, where both
    give the same bits, that may depend on how many ciphertexts are computed at once; `arithmetic_for` tells. For other
    sets it is one for all. Both use the same keys and ciphertexts. ``rerandomize`` adds an encryption of zero to
    ciphertexts from files and bytes, and to their sums, before each table or gate, so that their sender cannot choose
    the rounding errors (docs/security.md). It needs ``server_keys(public=True)``. May be shared between threads.
    SecurityWarning for sets below 128 bits, and for those that fail more often than 2^-128.

    Raises ParameterError (in FP64 also for sets whose shape it cannot serve, or whose failure
    probability its rounding would exceed), DeviceError, FileError or OutOfMemoryError.
    """

    _without_keys: _native.TfheKeylessEngine | None = None  # made when ciphertexts without keys are first used

    def __init__(self, params: str | _native.TfheParams = "tfhe-2-2-v1", device: str | None = None, *,
                 threads: int = 0, simd: bool = True, tuning: str = "", arithmetic: str | None = None,
                 rerandomize: bool = False, key_budget: int | None = None) -> None:
        self.params = preset(params) if isinstance(params, str) else params
        roles.require_kind("tfhe.Context", self.params, _native.TfheParams,
                           "name a preset of TFHE, or take what lt.load_params gives")
        if not isinstance(device, str) or device != NOT_ENCRYPTED:
            roles.warn_of_security("tfhe.Context", self.params)
        threads, tuning = devices.as_threads(threads), devices.as_tuning(tuning)
        simd = arrays.as_flag(simd, "Context", "simd")
        if arithmetic is not None and (not isinstance(arithmetic, str) or arithmetic not in ARITHMETICS):
            raise errors.ParameterError.explain(
                "Context", f"arithmetic={arrays.shown(arithmetic)}", '"auto", "exact" or "fft64"',
                "name one of them, or leave it out")
        self.threads, self.simd, self._tuning = threads, simd, tuning
        self.rerandomizes = arrays.as_flag(rerandomize, "Context", "rerandomize")
        self._begin_tenancy(None)
        # None on a context that does not encrypt. Code that would use it is refused before.
        self._native: _native.TfheContext = None  # type: ignore[assignment]
        if isinstance(device, str) and device == NOT_ENCRYPTED:
            self._rule = _native.TfheArithmetic.choose(self.params, arithmetic or "", "cpu", 0, threads, simd)
            _native.TfheContext.create_dry(self.params, self._rule)  # raises the errors that a device would raise
            self.device = self._kind = device
            self._evaluator = NotEncryptedEvaluator(self.params.message_bits, types.plain_bits(self.params))
            return
        budget = checked_budget(key_budget)
        kind, index = devices.choose(device)
        self._rule = _native.TfheArithmetic.choose(self.params, arithmetic or "", kind, index, threads, simd, tuning)
        self._native = _native.TfheContext.create(self.params, kind, index, threads, simd, tuning, self._rule,
                                                  self.rerandomizes)
        self.device = kind if kind == "cpu" else f"cuda:{index}"
        self._kind = kind
        self._store = _native.KeyStore.of_tfhe(self._native, budget)

    @classmethod
    def _for_plans(cls, params: _native.TfheParams, kind: str, rule: _native.TfheArithmetic,
                   rerandomizes: bool) -> Context:
        """A context that can only plan, for a device of that kind, which need not exist here."""
        out = cls.__new__(cls)
        out._begin_tenancy(None)
        out.params, out.device, out._kind, out._rule = params, kind, kind, rule
        out.threads, out.simd, out._tuning, out.rerandomizes = 0, True, "", rerandomizes
        out._native = _native.TfheContext.create_dry(params, rule, rerandomizes)
        return out

    def _dry(self) -> tuple[Context, int]:
        """A twin without data that splits its work as the device would, and the bytes of its keys."""
        twin = Context.__new__(Context)
        twin._begin_tenancy(None)
        twin.params, twin.device = self.params, "dry"
        twin.threads, twin.simd, twin.rerandomizes = self.threads, self.simd, self.rerandomizes
        twin._kind = (self.device if self.encrypted else devices.choose(None)[0]).partition(":")[0]
        twin._rule = self._rule
        twin._native = _native.TfheContext.create_dry(self.params, self._rule, self.rerandomizes)
        keys = _native.tfhe_shape_of_keys(twin._native)
        twin._evaluator = _native.TfheEvaluator(twin._native, keys)
        return twin, keys.device_bytes(twin._native)

    # ---- properties ----

    @property
    def encrypted(self) -> bool:
        """Whether this context computes on ciphertexts: False for the device ``"not-encrypted"``."""
        return self.device != NOT_ENCRYPTED

    @property
    def arithmetic(self) -> str:
        """The arithmetic of blind rotations: ``"exact"``, ``"fft64"``, or ``"auto"`` for both by number."""
        return self._rule.name

    @property
    def _by_number(self) -> str:
        """Text on which arithmetic is used for how many bootstrappings at once; empty if it is always the same."""
        return f" ({self._rule.text})" if self.arithmetic == "auto" else ""

    def arithmetic_for(self, together: int) -> str:
        """The arithmetic, ``"exact"`` or ``"fft64"``, of ``together`` bootstrappings that run at once (from 1).

        Recorded programs keep what they were recorded with. Raises ValueError for what is no such number.
        """
        return self._rule.of(arrays.as_integer(together, "arithmetic_for", "together", 1, 2**32 - 1))

    @property
    def peak_bytes(self) -> int:
        """The most device memory that was in use at once since the start or `reset_peak`."""
        return self._native.peak_bytes if self._native else 0

    @property
    def live_bytes(self) -> int:
        """Device memory in use now: keys, tables and ciphertexts."""
        return self._native.live_bytes if self._native else 0

    def reset_peak(self) -> None:
        if self._native:
            self._native.reset_peak()

    def _clear_unused(self) -> None:
        """Sets the device memory that is kept for reuse to zero, so that nothing of an earlier ciphertext is in it."""
        if self._native:
            self._native.clear_unused()

    def synchronize(self) -> None:
        """Waits until the device has completed all submitted work."""
        if self._native:
            self._native.synchronize()

    def explain(self) -> str:
        """Dimensions, security, noise, failure probability and keys of the parameters."""
        return str(self.params.explain())

    def __repr__(self) -> str:
        if not self.encrypted:
            return f"Context({self.params.name!r}, NOT ENCRYPTED: values in the clear, for debugging)"
        keys = f"{self.keys.bytes / 2**20:.0f} MiB of keys" if self.keys else "no keys"
        arithmetic = f"{self.arithmetic} arithmetic{self._by_number}"
        return f"Context({self.params.name!r}, device={self.device!r}, {arithmetic}, {keys})"

    def _repr_html_(self) -> str:
        return notebook.context(self)

    def _options(self) -> dict[str, Any]:
        """The options with which it was made, apart from the parameters."""
        budget = None if self._store is None else self._store.budget
        return {"device": self.device, "threads": self.threads, "simd": self.simd, "tuning": self._tuning,
                "arithmetic": self.arithmetic, "rerandomize": self.rerandomizes, "key_budget": budget}

    def __reduce__(self) -> tuple[Any, ...]:
        return roles.reduced(self)

    # ---- keys ----

    def use(self, keys: ServerKeys) -> Context:
        """Computes with these public keys; returns the context itself. Several bundles as with ``lt.Context.use``.

        Raises ContextError if they were made for other parameters or lie on another context's
        device, UnsupportedError for what is no bundle of keys.
        """
        roles.require_kind("use", keys, ServerKeys, "client.server_keys() makes them")
        self._require_public("use", keys)
        self._use(keys, ServerKeys, "client.server_keys() makes them")
        return self

    def _require_public(self, operation: str, keys: ServerKeys) -> None:
        """Raises KeyError if this context re-randomises and the bundle has no public key."""
        if self.rerandomizes and not keys.has_public_key:
            raise errors.KeyError.explain(
                operation, "a bundle without a public key in a context that re-randomises", "one with a public key",
                "make it with client.server_keys(public=True)")

    @public
    def bind(self, keys: ServerKeys) -> Session:
        """A session: this context with exactly these public keys. Many can be used at once. Raises as `use`."""
        roles.require_kind("bind", keys, ServerKeys, "client.server_keys() makes them")
        roles.require_keys_of(self, keys)
        self._require_public("bind", keys)
        return Session(self, keys)

    def _evaluator_of(self, parts: Any) -> Any:
        """An evaluator with the keys for these ciphertexts. Without such keys it computes what needs none."""
        if self._evaluator is not None:
            return self._evaluator
        key = parts[0].key
        if key in self._tenants:
            return self._evaluator_for(key)
        if self._without_keys is None:
            self._without_keys = _native.TfheKeylessEngine()
        return self._without_keys.of(self._native, parts)

    @called("encrypt")
    def encrypt(self, x: Any, dtype: types.Type | None = None) -> EncryptedArray:
        """Encrypts with the bundle's public key (``client.server_keys(public=True)``).

        ``x`` and ``dtype`` as for Client.encrypt, which files keep in far fewer bytes. KeyError without a public key,
        UnsupportedError in a recording.
        """
        values, bits = types.of_type(x, dtype, self.params, "encrypt")
        clear = self.evaluator.clear(values.reshape(-1), bits)
        return self._array(clear, values.shape, bits).rerandomize()

    def plan(self, program: Callable[..., Any], *examples: Any) -> Plan:
        """Runs ``program`` without data and reports what it needs.

        Examples are arrays (taken as fresh encryptions), encrypted arrays, or tfhe.Shape objects.
        The plan counts bootstrappings and rounds, keys, memory and the predicted time. Raises what
        the program would raise, LevelError for instance, before any key exists.
        """
        roles.require_function("plan", program)
        return dry_run(self, program, examples)

    def _max_batch(self, bits: int) -> int:
        """Elements of a type that one operation takes at once; products pair all blocks."""
        if not self.encrypted:
            return 1 << 62
        blocks: int = max(-(-bits // max(self.params.message_bits, 1)), 1)
        most = _MAX_BATCH_CUDA if self._kind == "cuda" else _MAX_BATCH_CPU * devices.threads(self.threads)
        return max(1, most // (blocks * blocks))

    def _array(self, parts: Any, shape: tuple[int, ...], bits: int) -> EncryptedArray:
        return (EncryptedArray if self.encrypted else NotEncryptedArray)(self, parts, shape, bits)


class Session(BoundSession, Context):
    """One client's keys on a context: ``ctx.bind(keys)``, as ``lt.Session`` of CKKS."""

    def __init__(self, context: Context, keys: Any) -> None:
        roles.require_kind("Session", context, Context, "pass the context, or call its bind(keys)")
        roles.require_kind("Session", keys, ServerKeys, "client.server_keys() makes them")
        self._bind(context, keys)

    @public
    def adopt(self, x: EncryptedArray) -> EncryptedArray:
        """Makes an array of the session's context belong to the session, without a copy. KeyError if it is under
        another key, ContextError if it belongs to another session."""
        roles.require_kind("adopt", x, EncryptedArray, "encrypt or load one first")
        if x.context is self:
            return x
        self._require_adoptable(x)
        if self.encrypted:
            self._admit("adopt", [p.key for p in x._parts])
        return type(x)(self, x._parts, x.shape, x.bits)

    def _repr_html_(self) -> str:
        return notebook.context(self, f"TFHE session of key {self.key_id}")

    __call__ = adopt
