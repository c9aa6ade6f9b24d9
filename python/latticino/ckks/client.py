"""The two roles: a client, which holds the secret key, and the public bundle that a server computes with."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from .. import _native, arrays, errors
from .._native import EvaluationKeys, Evaluator, KeyLabel, PublicKey, Switcher, SwitchKeys
from ..claims.measured import Noise
from ..common import roles, views
from ..common.naming import public
from ..common.progress_bar import Task, as_shown
from . import notebook
from .ciphertext import Ciphertext
from .encrypting import encrypted_array
from .plan import Plan

if TYPE_CHECKING:
    from .context import Context


def _rounded(x: float, up: bool) -> str:
    """x with three digits, rounded up or down, so that a stated limit is accepted if it is passed as shown."""
    way = decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR
    return f"{float(decimal.Context(prec=3, rounding=way).create_decimal(x)):.3g}"


class SharedValues(NamedTuple):
    """Decrypted values that may be shown, of the ciphertext's shape and `dtype`; the deviation of the
    noise that was added to each coefficient; the bits of precision that it cost: the values have the
    ciphertext's ``expected_bits`` less these."""

    values: np.ndarray
    sigma: float
    bits_lost: float


class ServerKeys(roles.Handle):
    """Evaluation keys, and a public key if it was asked for: everything that a server may know.

    It cannot decrypt. ``bytes``: what the keys take; ``labels``: which they are.
    """

    def __init__(self, context: Context, native: EvaluationKeys,
                 public_key: PublicKey | None = None,
                 switching: dict[str, SwitchKeys] | None = None) -> None:
        context = context._root
        switching = switching or {}
        self._context, self._sets, self._public = context, list(switching), public_key is not None
        self._labels, self._id, self._params_hash = list(native.labels), native.id, native.params_hash
        self._bytes = native.bytes + sum(k.bytes for k in switching.values())
        store: Any = context._store
        self._stored: _native.StoredKeys = store.add_ckks(
            context._native, native, public_key, {name: context.switching(name) for name in switching}, switching)

    # Keys may be in host memory. Functions that use them bring them back, and keep them on the device while they are
    # used.

    @property
    def _native(self) -> EvaluationKeys:
        return self._stored.keys

    @property
    def public_key(self) -> PublicKey | None:
        """The public key, which encrypts without the secret key; None if the bundle has none."""
        return self._stored.public_key if self._public else None

    @property
    def _switching(self) -> dict[str, SwitchKeys]:
        return {name: self._stored.switch_keys(name) for name in self._sets}

    def _new_evaluator(self) -> Evaluator:
        return _native.Evaluator(self._context._native, self._native)

    def _switcher(self, name: str, *options: Any) -> Switcher:
        if name not in self._sets:
            raise errors.KeyError.explain(
                "switching", "no switching keys", f"those of the set {name}",
                "client.server_keys(program, ...) makes them where the program switches")
        return self._stored.switcher(name, *options)

    @property
    def bytes(self) -> int:
        return self._bytes

    @property
    def switching(self) -> list[str]:
        """The sets of switching that there are keys for (``Ciphertext.apply_lut``)."""
        return list(self._sets)

    @property
    def labels(self) -> list[KeyLabel]:
        return list(self._labels)

    @property
    def params_hash(self) -> str:
        return self._params_hash

    @property
    def id(self) -> str:
        """The identity of the secret key that these keys were made from."""
        return self._id

    def missing(self, plan: Plan) -> list[KeyLabel]:
        """The keys that a plan needs and that this bundle lacks, or has for lower levels only."""
        roles.require_kind("missing", plan, Plan, "pass ctx.plan(program, x)")
        return [label for label, level in plan.keys.items() if not self._native.has(label, level)]

    def __repr__(self) -> str:
        public = ", with a public key" if self._public else ""
        return f"ServerKeys({len(self.labels)} keys, {self.bytes / 2**20:.0f} MiB{public})"

    def _repr_html_(self) -> str:
        return notebook.server_keys(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return roles.reduced(self)


class Client(roles.Handle):
    """The key's owner: generates keys, encrypts and decrypts. Made by ``lt.keygen(ctx)``.

    Threads of one process may share it. Never send it to a server.
    """

    def __init__(self, context: Context, native: _native.Client) -> None:
        roles.require_secret(native, _native.Client)
        if native is not None:
            context._admit("client", [native.key_id])
        self.context, self._native = context, native

    @property
    def key_id(self) -> str:
        """The identity of the secret key. Every ciphertext and key that was made under it has the same id."""
        return self._native.key_id

    def __repr__(self) -> str:
        return f"Client({self.context.params.name!r}, key {self.key_id})"

    def _repr_html_(self) -> str:
        return views.client(self)

    def __reduce__(self) -> NoReturn:
        roles.refuse_pickle("a client, which holds the secret key", "what may leave this process",
                            "use lt.save_secret_key and lt.load_client")

    def server_keys(self, *what: Plan | Callable[..., Any] | Any, public: bool = False,
                    show: bool | None = None) -> ServerKeys:
        """Exactly the keys that programs need, in one bundle.

        ``server_keys(plan, ...)`` takes plans; ``server_keys(program, example, ...)`` plans first.
        ``public=True`` adds a public key, with which ``ctx.encrypt`` works. ``show`` decides on a
        progress bar (None: what `lt.progress` says).
        """
        public, show = arrays.as_flag(public, "server_keys", "public"), as_shown(show)
        plans: list[Any] = list(what)
        if what and callable(what[0]) and not isinstance(what[0], Plan):
            plans = [self.context.plan(what[0], *what[1:])]
        request: dict[_native.KeyLabel, int] = {}
        for plan in plans:
            if not isinstance(plan, Plan):
                raise errors.UnsupportedError.explain(
                    "server_keys", f"a {type(plan).__name__}", "plans, or a program and its examples",
                    "pass ctx.plan(program, x)")
            if plan.params_hash != self.context.params.hash:
                raise errors.ContextError.explain(
                    "server_keys", "a plan for other parameters", f"one for {self.context.params.name}",
                    "plan in this client's context")
            for label, level in plan.keys.items():
                request[label] = max(level, request.get(label, level))
        maker = _native.KeyMaker(self._native)
        products = sorted({product for plan in plans for product in plan.products})
        sets = sorted({name for plan in plans for name in plan.switching})
        with Task("generating keys", len(request) + len(sets), show) as step:
            for label, level in request.items():
                maker.make(label, level)
                step.advance()
            switching = {}
            for name in sets:
                switching[name] = _native.make_switch_keys(
                    self._native, self.context.switching(name),
                    [tuple(shape) for other, *shape in products if other == name])
                step.advance()
        return ServerKeys(self.context, maker.keys, self._native.public_key() if public else None, switching)

    @public
    def encrypt(self, x: Any, level: int | None = None, scale: float | None = None, *,
                range: Any = None, like: Any = None) -> Ciphertext:
        """Encrypts numbers of any shape under the secret key. A file of the result has half the bytes of other
        ciphertexts.

        ``range``: the smallest and the largest value, as ``(low, high)`` or an ``lt.Range``. The expected precision
        of every result follows from it, and so do warnings of overflow. It is public: it travels with the
        ciphertext. ``like``: sample data of the same
        shape that may be public; precision is then calibrated on them, in this process alone. With neither, values
        are assumed to lie within -1 and 1; larger ones give a RangeWarning.

        ``scale``: the factor by which values are multiplied before they are rounded. By default it is the canonical
        scale of the level, with which operations align operands
        automatically. With another scale, sums need operands of that same scale (ScaleError). Calling ``to_level`` with
        a lower level brings the canonical scale back, and so do products with plain arrays. A scale at which the error
        of a fresh encryption is as large as the values may be is a ScaleError.

        Numbers of any memory order and of other libraries are copied in. Raises ShapeError for dtypes that are no
        numbers, ValueError for NaN, infinity and values outside of a stated range, ScaleError for values above the
        message bound, LevelError for a level that does not exist.
        """
        return encrypted_array(self.context, x, level, scale, self._native.encrypt, False, range, like)

    @public
    def decrypt(self, x: Ciphertext) -> arrays.PrivateArray:
        """The values, for the key's owner only: the result is marked as not to be shared (`PrivateArray`).

        They have the shape and `dtype` of the ciphertext. If all inputs were real, they are real, without the
        imaginary part of the error;
        ``.unmarked()`` copies them without the mark. KeyError if another key
        made it.
        """
        return self._decrypted(x, self._native.decrypt).view(arrays.PrivateArray)

    @public
    def decrypt_for_sharing(self, x: Ciphertext, noise_bound: float | None, queries: int,
                            statistical_bits: int = 30) -> SharedValues:
        """Values that others may see: noise is added that hides the ciphertext's own.

        ``noise_bound``: bounds the Euclidean norm of each ciphertext's noise polynomial, in units of
        1 before the scale is divided out: sqrt(N) times a bound of every coefficient. It must hold for the worst case
        of the program, and never be measured on secret data. If the ranges of the values were declared (`encrypt`),
        None derives it from the error that was tracked. A bound smaller than the tracked error, or than that of a fresh
        encryption, is refused. A ciphertext from a file carries the error that its sender states: if you do not trust
        the sender, plan the program and pass the bound. ``queries``: calls under this key that may ever be shared. A
        call on an array of several ciphertexts counts once; the noise takes all of them into account. The result says
        how many bits of the claimed precision the added noise cost.

        ValueError for bounds and counts that are not positive or too small, UnsupportedError if no bound can be
        derived, ScaleError if the added noise exceeds the modulus. Source: Li, Micciancio, Schultz and Sorrell, CRYPTO
        2022.
        """
        queries = arrays.as_integer(queries, "decrypt_for_sharing", "queries", least=1, most=2**40)
        statistical_bits = arrays.as_integer(
            statistical_bits, "decrypt_for_sharing", "statistical_bits", least=1, most=1000)
        noise_bound = self._noise_bound(x, noise_bound)
        sigmas: list[float] = []

        def decrypt(part: _native.Ciphertext) -> np.ndarray:
            values, sigma, _ = self._native.decrypt_for_sharing(
                part, noise_bound, queries * len(x._to_decrypt), statistical_bits)
            sigmas.append(sigma)
            return np.asarray(values)

        values = self._decrypted(x, lambda parts: [decrypt(part) for part in parts])
        # The bound is larger than the error that precision is claimed for.
        before = self._tracked_norm(x) / math.sqrt(self.context.params.n)
        return SharedValues(values, sigmas[0] / x.scale, math.log2(math.hypot(sigmas[0], before) / before))

    @public
    def noise(self, x: Ciphertext, values: Any = None) -> Noise:
        """The error that a ciphertext really has, beside what it claims; for the owner of the key only.

        The same error is measured that the claim is about: of real values that of their real parts, as `decrypt`
        gives them, else the complex one.

        ``values``: the correct values, of the same shape. Without them the array must be of real values, and the
        error is measured on the imaginary parts, which should be zero and have errors as large. This misses errors that
        only real parts have (those of tables, and of bootstrapping with ``message="real"``). The result is marked as
        not to be shared. UnsupportedError for complex arrays without values, ShapeError for values of another shape,
        KeyError if another key made it.
        """
        got, claimed = self._with_imaginary_parts(x), (x.expected_bits, x.expected_worst_bits)
        real = not (x.range.imag_low or x.range.imag_high)  # for real values, the claim is about real parts
        if values is None:
            if not real:
                raise errors.UnsupportedError.explain(
                    "noise", "an array of complex values", "the values that it should have",
                    "pass them: client.noise(x, values)")
            return Noise(np.abs(got.imag), claimed, x._known.kind, "imaginary parts")
        expected = arrays.as_numpy(values, "noise")
        if expected.shape != x.shape:
            raise errors.ShapeError.explain(
                "noise", f"values of shape {expected.shape}", f"the array's shape, {x.shape}", "pass a value for each")
        if real and not np.iscomplexobj(expected):
            got = got.real
        return Noise(np.abs(got - expected), claimed, x._known.kind, "values")

    def _with_imaginary_parts(self, x: Ciphertext) -> np.ndarray:
        """The decrypted values with their imaginary errors, which `decrypt` drops for real arrays."""
        values: np.ndarray = self.decrypt(x).unmarked()  # raises for arrays of another context or key
        if np.iscomplexobj(values):
            return values
        if not x.context.encrypted:
            sample: np.ndarray = np.asarray(x._known.sample)[1].reshape(x.shape)
            return sample
        return np.asarray(x.layout.read(np.concatenate(self._native.decrypt(x._to_decrypt))))

    def _noise_bound(self, x: Ciphertext, stated: float | None) -> float:
        """The stated bound, or twice the expected norm of the tracked error's polynomial. It is never less than that
        norm."""
        if not isinstance(x, Ciphertext):
            raise errors.ShapeError.explain(
                "decrypt_for_sharing", f"a {type(x).__name__}", "a Ciphertext", "encrypt or compute one first")
        tracked = self._tracked_norm(x)
        if stated is None:
            if x.range.claim != "declared":
                raise errors.UnsupportedError.explain(
                    "decrypt_for_sharing", f"an error for ranges that nobody declared ({x._known.within()})",
                    "declared ranges, or a noise_bound",
                    "encrypt with range=, or pass a worst case of the program as noise_bound")
            return 2 * tracked
        bound = arrays.as_real(stated, "decrypt_for_sharing", "noise_bound")
        if 0 < bound < tracked:
            derived = "pass None to derive it, or " if x.range.claim == "declared" else ""
            raise errors.ValueError.explain(
                "decrypt_for_sharing", f"noise_bound={_rounded(bound, False)}",
                f"at least {_rounded(tracked, True)}, the norm of the tracked error",
                f"{derived}pass at least that, or better a worst case of the program")
        return bound

    def _tracked_norm(self, x: Ciphertext) -> float:
        """The expected norm of the tracked error's polynomial, and no less than that of a fresh encryption: a file's
        error is its sender's claim, and a product with zero has none."""
        # A slot reads 2 n coefficients of the N, each of deviation e scale / sqrt(2 n).
        n = self.context.params.n
        tracked = x._known.estimate.rms * x.scale * math.sqrt(n / (2 * x.slots))
        return max(tracked, math.sqrt(_native.fresh_variance(self.context.params, False) * n))

    def _decrypted(self, x: Ciphertext,
                   decrypt: Callable[[list[_native.Ciphertext]], list[np.ndarray]]) -> np.ndarray:
        if not isinstance(x, Ciphertext):
            raise errors.ShapeError.explain(
                "decrypt", f"a {type(x).__name__}", "a Ciphertext", "encrypt or compute one first")
        parts = x._to_decrypt
        if x.context.device == "dry":
            raise errors.ContextError.explain(
                "decrypt", "an array from inside of a plan, which has no data", "a result of the program",
                "return it from the function, and decrypt what a run gives")
        values = x.layout.read(np.concatenate(decrypt(parts)))
        return values.real.copy() if x.dtype.kind == "f" else values
