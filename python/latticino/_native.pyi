from collections.abc import Callable, Mapping, Sequence
import enum
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


def stop_threads(stop: bool) -> None:
    """
    Whether work of all threads but the main one ends with KeyboardInterrupt: for who waits for them and was interrupted.
    """

class Params:
    """Checked, immutable parameters."""

    @property
    def name(self) -> str:
        """The name, versioned."""

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical text, in hex."""

    @property
    def log_n(self) -> int:
        """log2 of the ring degree N."""

    @property
    def n(self) -> int:
        """The ring degree N."""

    @property
    def max_slots(self) -> int:
        """Values that one ciphertext holds: N/2."""

    @property
    def alpha(self) -> int:
        """Primes of a key-switching digit, and of P."""

    @property
    def dnum(self) -> int:
        """Key-switching digits at the top level."""

    @property
    def top_level(self) -> int:
        """The highest level, bootstrapping included."""

    @property
    def default_level(self) -> int:
        """Level of fresh ciphertexts."""

    @property
    def log_scale(self) -> float:
        """log2 of the scale at level 0."""

    @property
    def log_pq(self) -> float:
        """log2 of the widest modulus of a key, which security depends on."""

    @property
    def log_q_max(self) -> float:
        """log2 of the ciphertext modulus at the top."""

    @property
    def log_p(self) -> float:
        """log2 of the key-switching modulus P."""

    @property
    def scale_drift(self) -> float:
        """Largest deviation of a level's scale from its target, in bits."""

    @property
    def switching_key_bytes(self) -> int:
        """Memory of one evaluation key for the top level."""

    @property
    def hamming_weight(self) -> int:
        """Hamming weight of the secret; 0: uniform ternary."""

    @property
    def secure(self) -> bool:
        """Whether the set is held to the 128-bit table."""

    def security_bits(self, quantum: bool = False) -> int:
        """
        Bits of the strongest table that admits the keys, classical or against quantum computers: 256, 192 or 128; 0 for none. With bootstrapping 128, classical.
        """

    @property
    def has_bootstrap(self) -> bool:
        """Whether the set has the levels of bootstrapping."""

    @property
    def has_arcsine(self) -> bool:
        """
        Whether bootstrapping corrects the error of its sine in large coefficients.
        """

    @property
    def log_message_ratio(self) -> int:
        """Bits by which raised messages lie below the modulus of level 0."""

    @property
    def level_after_bootstrap(self) -> int:
        """Levels left after bootstrapping; ParameterError without it."""

    @property
    def bootstrap_log_failure(self) -> float:
        """log2 of the probability that one bootstrapping of full slots is wrong."""

    @property
    def bootstrap_precision(self) -> dict[str, tuple[float, float]]:
        """
        Predicted bits (of the mean error, of the largest in 20 runs) by message: random, spike, constant, alternating.
        """

    def limbs(self, level: int) -> int:
        """Primes of a ciphertext at a level."""

    def scale(self, level: int) -> float:
        """What values are multiplied by at a level."""

    def rescale_factor(self, level: int) -> float:
        """What a product is divided by on its way to the level below."""

    def log_q(self, level: int) -> float:
        """log2 of the ciphertext modulus at a level."""

    def message_bound(self, level: int) -> float:
        """The largest size that a coefficient of a message may have at a level."""

    def canonical_text(self) -> str:
        """What files hold and `hash` is of."""

    def explain(self) -> str:
        """
        Everything about the set, as a table for people, and what bootstrapping does by default.
        """

def preset(name: str) -> Params: ...

def make_params(n: int, log_scale: float, level_log_scale: Sequence[float] | None, levels: int, word: int, bootstrapping: bool, dnum: int, hamming_weight: int, security: int, quantum: bool, name: str) -> Params: ...

def preset_names() -> list[str]: ...

def fresh_variance(params: Params, public: bool) -> float: ...

def fresh_error(params: Params, scale: float, slots: int, public: bool = False) -> float:
    """
    The error of a fresh encryption under the secret key, or under the public one.
    """

def rescaled_error(params: Params, level: int, slots: int, scale: float) -> float:
    """
    What a division from `level` to the level below adds, at the scale there.
    """

def switched_error(params: Params, level: int, slots: int, scale: float) -> float:
    """What a key switch at `level` adds: a rotation or a conjugation."""

def multiplied_error(params: Params, level: int, slots: int, scale: float) -> float:
    """
    What a key switch adds that goes to the level below, at the scale there: a product.
    """

def key_error_alone(params: Params, level: int, slots: int, scale: float) -> float:
    """
    The part of `switched_error` that comes from the errors of the key, without the division by P after it: what rotations leave that share one division (a matrix product's).
    """

def encoded_error(slots: int, scale: float) -> float:
    """
    What rounding plain values at `scale` adds: 1/12 for each of 2 n coefficients.
    """

def weight_scale(params: Params, level: int) -> float:
    """
    The scale of weights that multiply ciphertexts at `level` in linear maps.
    """

def doubling(count: float) -> float:
    """
    How often the error of one key switch counts where `count` parts of the slots are added up.
    """

def push_range(name: str) -> None:
    """Begins a named range of this thread for profilers of GPUs (NVTX)."""

def pop_range() -> None: ...

def available_memory() -> int:
    """
    Bytes of the host's memory, or the container's, that are not in use now.
    """

def cuda_built() -> bool: ...

def cuda_device_count() -> int: ...

def timed_gpu(index: int) -> str:
    """The rates that predict times on a GPU: of an H200, or "cuda-h100"."""

def cuda_has_fast_doubles(index: int) -> bool: ...

def cpu_choice(threads: int, simd: bool) -> tuple[str, int, int]:
    """
    Kernels, threads, and how many of these run at once, that a context on this CPU has.
    """

class IdleCounts:
    """What a device that computes nothing was told to do."""

    def __init__(self) -> None: ...

    @property
    def records(self) -> int: ...

    @property
    def allocations(self) -> int: ...

    @property
    def allocated_bytes(self) -> int: ...

    @property
    def copies_in(self) -> int: ...

    @property
    def copies_out(self) -> int: ...

    @property
    def waits(self) -> int: ...

    @property
    def replays(self) -> int: ...

class Context:
    """Parameters on a device."""

    @staticmethod
    def create(params: Params, device: str, index: int, threads: int, simd: bool, tuning: str = '') -> Context: ...

    @staticmethod
    def create_idle(params: Params, counts: IdleCounts) -> Context:
        """On a device that computes nothing: for measurements of the host."""

    @property
    def params(self) -> Params: ...

    @property
    def is_dry(self) -> bool: ...

    @property
    def device(self) -> dict: ...

    @property
    def report(self) -> dict: ...

    def predicted_seconds(self, kernels: str, threads: int) -> float:
        """
        What a dry run has counted, at the rates of the machine measured for "cuda", or for these kernels of a CPU and so many threads at once.
        """

    def predicted_preparation(self, kernels: str, threads: int) -> float:
        """
        The part of predicted_seconds that makes constants, which replays find made.
        """

    def note_allocations(self) -> None:
        """
        Of a dry run: from here on it notes what is allocated, for arena_bytes.
        """

    @property
    def arena_bytes(self) -> int:
        """Memory that a recording of what was noted keeps for itself."""

    @property
    def recording(self) -> bool:
        """Whether this thread records a program now."""

    @property
    def live_bytes(self) -> int: ...

    @property
    def peak_bytes(self) -> int: ...

    @property
    def device_peak_bytes(self) -> int:
        """The same as the device counts it, with scratch and rounded blocks."""

    def reset_peak(self) -> None: ...

    def clear_unused(self) -> None:
        """Sets memory that is kept for reuse to zero."""

    def observe(self, on: bool) -> None:
        """Starts counting what the device does from zero, or ends it."""

    @property
    def observed(self) -> dict:
        """
        Records, key switches, blind rotations, bytes moved, and seconds of stages by name.
        """

    def synchronize(self) -> None: ...

class Range:
    """Where the values of an encrypted array lie."""

    @staticmethod
    def assumed(real: bool) -> Range: ...

    @staticmethod
    def unit_disc() -> Range: ...

    @staticmethod
    def declared(low: float, high: float, imag_low: float, imag_high: float, rms: float, random: bool) -> Range: ...

    @staticmethod
    def of(values: Annotated[NDArray[numpy.complex128], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Range: ...

    @staticmethod
    def of_number(value: complex) -> Range: ...

    @staticmethod
    def rebuilt(claim: int, numbers: Sequence[float], random: bool) -> Range:
        """
        Claims are 0 (assumed), 1 (declared), 2 (calibrated on a sample that is not at hand).
        """

    @property
    def claim(self) -> str: ...

    @property
    def only_bounds(self) -> bool: ...

    def of_a_sample(self) -> Range:
        """The same range, of values that rest on a sample which is not at hand."""

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

    @property
    def imag_low(self) -> float: ...

    @property
    def imag_high(self) -> float: ...

    @property
    def bound(self) -> float: ...

    @property
    def rms(self) -> float: ...

    @property
    def random(self) -> bool: ...

    @property
    def is_real(self) -> bool: ...

    def contains(self, other: Range) -> bool: ...

    def serves(self, other: Range) -> bool: ...

    def described(self) -> str: ...

    def __str__(self) -> str: ...

class Estimate:
    """Range and error of an encrypted array."""

    def __init__(self, range: Range, error: float) -> None: ...

    @property
    def range(self) -> Range: ...

    @property
    def rms(self) -> float: ...

class Known:
    """
    Range and error of an encrypted array, with samples where there are some. Immutable.
    """

    @staticmethod
    def fresh(range: Range, error: float) -> Known:
        """What is known of an encryption."""

    @staticmethod
    def sampled(sample: Annotated[NDArray[numpy.complex128], dict(order='C', device='cpu', writable=False)], real: bool, error: float) -> Known:
        """What is known of an encryption of values like these."""

    @staticmethod
    def with_shadow(range: Range, error: float, values: Annotated[NDArray[numpy.complex128], dict(order='C', device='cpu', writable=False)]) -> Known:
        """What is known of an encryption, with its very values."""

    def following(self, values: Annotated[NDArray[numpy.complex128], dict(order='C', device='cpu', writable=False)]) -> Known: ...

    @property
    def estimate(self) -> Estimate: ...

    @property
    def range(self) -> Range: ...

    @property
    def reach(self) -> float: ...

    @property
    def widest(self) -> Range: ...

    @property
    def sample(self) -> Annotated[NDArray[numpy.complex128], dict(shape=(None, None), writable=False)] | None: ...

    @property
    def shadow(self) -> bool: ...

    @property
    def error(self) -> float: ...

    @property
    def error_seen(self) -> float: ...

    @property
    def kind(self) -> str: ...

    def errors(self, size: float, full: bool = False) -> tuple[float, float]: ...

    def bits(self, size: float, full: bool = False) -> tuple[float, float]: ...

    def within(self) -> str: ...

    def detached(self, size: float, full: bool = False) -> Known: ...

    def renamed(self) -> tuple[Known, int]: ...

    def with_sources(self, grown: Sequence[tuple[int, float]]) -> Known: ...

    def with_estimate(self, estimate: Estimate) -> Known: ...

    def declared(self, range: Range) -> Known: ...

    def within_domain(self, low: float, high: float) -> Known: ...

    def lost(self) -> Known:
        """For values that may be wrong: their errors are as large as they are."""

    def as_real(self) -> Known: ...

    def part(self, i: int, slots: int) -> Known: ...

    def taken(self, shape: Sequence[int], index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Known: ...

    def repeated(self, size: int, growth: float) -> Known: ...

    def placed(self, name: int, added: float, rounded: float) -> Known: ...

    def copied(self, name: int, sources: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], added: float, rounded: float, added_to_each: float, rounded_in_each: float) -> Known: ...

    @staticmethod
    def joined(several: Sequence[Known], sizes: Sequence[int], index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Known: ...

    def plus(self, other: Known) -> Known: ...

    def minus(self, other: Known) -> Known: ...

    def times(self, other: Known, same: bool, added: float) -> Known: ...

    def plus_plain(self, plain: Annotated[NDArray[numpy.complex128], dict(order='C', device='cpu', writable=False)], slots: int, scale: float, places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, ciphertexts: int = 0) -> Known: ...

    def times_plain(self, plain: Annotated[NDArray[numpy.complex128], dict(order='C', device='cpu', writable=False)], slots: int, scale: float, added: float, places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, ciphertexts: int = 0) -> Known: ...

    def times_number(self, c: complex, added: float = 0.0, actual: complex | None = None) -> Known: ...

    def plus_scalar(self, c: Range, rounding: float) -> Known: ...

    def times_scalar(self, c: Range, rounding: float, added: float) -> Known: ...

    def reduced(self, shape: Sequence[int], axes: Sequence[int], count: float, factor: complex, added: float, rounded: float, windows: Sequence[float]) -> Known: ...

    def spread(self, factor: complex, count: int, added: float, rounding: float, slots: int) -> Known: ...

    def rotated(self, steps: int, masked: bool, added: float, rounded: float = 0.0) -> Known: ...

    def mapped(self, f: object, l1: float, l2: float, real: bool, added: float, rounded: float = 0.0, alike: Alike | None = None, correlation: float = 1.0) -> Known: ...

    def through(self, f: object, slope: float, added: float, low: float, high: float) -> Known: ...

    def meant(self, values: Annotated[NDArray[numpy.complex128], dict(order='C', device='cpu', writable=False)] | None, error: float, bounded: bool = False) -> Known: ...

    @overload
    def with_common_error(self, source: Known, sizes: Annotated[NDArray[numpy.complex128], dict(order='C', device='cpu', writable=False)], rest: float) -> Known: ...

    @overload
    def with_common_error(self, source: Known, size: complex) -> Known: ...

    def plus_error(self, added: float, seen: float | None = None) -> Known: ...

def common_error(means: Annotated[NDArray[numpy.complex128], dict(order='C', device='cpu', writable=False)], scale: float) -> complex: ...

def correlation(results: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], operands: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.complex128], dict(order='C', device='cpu', writable=False)]) -> float: ...

class Alike:
    """Which weights of a linear map are rounded alike."""

    @staticmethod
    def of_matrix(entries: Annotated[NDArray[numpy.complex128], dict(order='C', device='cpu', writable=False)], rows: int, height: int, width: int) -> Alike: ...

    @staticmethod
    def of_diagonals(diagonals: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], slots: int, height: int, places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], results: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], pieces: Sequence[int], sizes: Sequence[float]) -> Alike:
        """
        ``diagonals``: target, source, distance, group, sign and period of each, by target. ``sizes``: of each one's error.
        """

    @staticmethod
    def size_of(weights: Annotated[NDArray[numpy.complex128], dict(order='C', device='cpu', writable=False)], slots: int, scale: float) -> float: ...

    @property
    def largest_growth(self) -> float: ...

    def growth(self, values: Annotated[NDArray[numpy.complex128], dict(order='C', device='cpu', writable=False)]) -> float: ...

def range_of_sample(sample: Annotated[NDArray[numpy.complex128], dict(order='C', device='cpu', writable=False)], real: bool) -> Range: ...

def rounding(plain: Annotated[NDArray[numpy.complex128], dict(order='C', device='cpu', writable=False)], slots: int, scale: float) -> Annotated[NDArray[numpy.complex128], dict(shape=(None,))]: ...

class Ciphertext:
    """One CKKS ciphertext: up to N/2 slots."""

    @property
    def level(self) -> int: ...

    @property
    def scale(self) -> float: ...

    @property
    def slots(self) -> int: ...

    @property
    def limbs(self) -> int: ...

    @property
    def key(self) -> str: ...

    @property
    def bytes(self) -> int: ...

    def with_slots(self, slots: int) -> Ciphertext: ...

    def __repr__(self) -> str: ...

class Plaintext:
    """An encoded vector."""

    @property
    def level(self) -> int: ...

    @property
    def scale(self) -> float: ...

    @property
    def slots(self) -> int: ...

    @property
    def extended(self) -> bool: ...

    @property
    def nbytes(self) -> int: ...

def encode(context: Context, values: Annotated[NDArray[numpy.complex128], dict(shape=(None,), order='C', device='cpu', writable=False)], level: int, scale: float) -> Plaintext: ...

def encode_all(context: Context, values: Annotated[NDArray[numpy.complex128], dict(shape=(None, None), order='C', device='cpu', writable=False)], level: int, scale: float) -> list[Plaintext]: ...

def decode(arg: Plaintext, /) -> Annotated[NDArray[numpy.complex128], dict(shape=(None,))]: ...

def shape_only(context: Context, level: int, scale: float, slots: int) -> Ciphertext: ...

class KeyLabel:
    """Which evaluation key: its kind, Galois element and band."""

    def __repr__(self) -> str: ...

    def __eq__(self, arg: KeyLabel, /) -> bool: ...

    def __hash__(self) -> int: ...

def key_label(text: str, galois: int, band: int) -> KeyLabel | None:
    """
    The label with this text, Galois element and band; None if there is none.
    """

class KeySource:
    """Where an evaluator finds its keys."""

class EvaluationKeys(KeySource):
    """What a server knows: it cannot decrypt."""

    def has(self, label: KeyLabel, level: int) -> bool: ...

    @property
    def id(self) -> str: ...

    @property
    def params_hash(self) -> str: ...

    @property
    def labels(self) -> list[KeyLabel]: ...

    @property
    def bytes(self) -> int: ...

class DryRun:
    """A context without data, and what programs on it need."""

    def __init__(self, params: Params) -> None: ...

    @property
    def context(self) -> Context: ...

    @property
    def evaluator(self) -> Evaluator:
        """It has every key."""

    @property
    def request(self) -> list[tuple[KeyLabel, int]]: ...

    @property
    def key_bytes(self) -> int: ...

def key_bytes(context: Context, label: KeyLabel, level: int) -> int: ...

class PublicKey:
    """Encrypts without the secret."""

    @property
    def id(self) -> str: ...

def encrypt_public(key: PublicKey, plaintext: Plaintext) -> Ciphertext: ...

class Client:
    """Holds a secret key."""

    def __init__(self, context: Context) -> None: ...

    @property
    def key_id(self) -> str: ...

    def encrypt(self, batch: Sequence[Plaintext]) -> list[Ciphertext]: ...

    def decrypt(self, batch: Sequence[Ciphertext]) -> list[Annotated[NDArray[numpy.complex128], dict(shape=(None,))]]: ...

    def decrypt_for_sharing(self, x: Ciphertext, noise_bound: float, queries: int, statistical_bits: int) -> tuple: ...

    def public_key(self) -> PublicKey: ...

class KeyMaker:
    """Fills a bundle of evaluation keys, key by key."""

    def __init__(self, client: Client) -> None: ...

    def make(self, label: KeyLabel, level: int) -> None: ...

    @property
    def keys(self) -> EvaluationKeys: ...

class Evaluator:
    """Computes on ciphertexts of a context with given keys."""

    def __init__(self, context: Context, keys: KeySource | None) -> None:
        """Without keys (None): sums, and products with plain values."""

    @overload
    def add(self, arg0: Ciphertext, arg1: Ciphertext, /) -> Ciphertext: ...

    @overload
    def add(self, arg0: Sequence[Ciphertext], arg1: Sequence[Ciphertext], /) -> list[Ciphertext]: ...

    @overload
    def multiply_plain(self, arg0: Ciphertext, arg1: Plaintext, /) -> Ciphertext: ...

    @overload
    def multiply_plain(self, arg0: Sequence[Ciphertext], arg1: Sequence[Plaintext], /) -> list[Ciphertext]: ...

    def dot(self, x: Sequence[Sequence[Ciphertext]], y: Sequence[Sequence[Ciphertext]]) -> list[Ciphertext]: ...

    def rotate(self, x: Ciphertext, r: int) -> Ciphertext: ...

    @overload
    def inner_sum(self, x: Ciphertext, step: int, count: int) -> Ciphertext: ...

    @overload
    def inner_sum(self, x: Sequence[Ciphertext], step: int, count: int) -> list[Ciphertext]: ...

    def sub(self, arg0: Sequence[Ciphertext], arg1: Sequence[Ciphertext], /) -> list[Ciphertext]: ...

    def add_input(self, x: Sequence[Ciphertext], inputs: ScalarInputs, index: int) -> list[Ciphertext]: ...

    def multiply_input(self, x: Sequence[Ciphertext], inputs: ScalarInputs, index: int) -> list[Ciphertext]: ...

    def multiply(self, arg0: Sequence[Ciphertext], arg1: Sequence[Ciphertext], /) -> list[Ciphertext]: ...

    def conjugate(self, arg: Sequence[Ciphertext], /) -> list[Ciphertext]: ...

    def rotate_hoisted(self, x: Ciphertext, r: Sequence[int]) -> list[Ciphertext]: ...

class LinearTransform:
    """
    A sparse linear map of slots by its diagonals; see ckks/linear/linear_transform.h.
    """

    def __init__(self, context: Context, indices: Sequence[int], diagonals: Annotated[NDArray[numpy.complex128], dict(shape=(None, None), order='C', device='cpu', writable=False)], level: int, light: bool = False) -> None:
        """`light`: diagonals are kept as integers, and expanded at each use."""

    @staticmethod
    def unknown(context: Context, indices: Sequence[int], slots: int, level: int, light: bool = False) -> LinearTransform:
        """One of a dry context, from diagonals of which no value is known."""

    def apply(self, evaluator: Evaluator, x: Ciphertext) -> Ciphertext: ...

    @property
    def rotations(self) -> list[int]: ...

    @property
    def bytes(self) -> int: ...

class BlockTransform:
    """
    A linear map of the slots of several ciphertexts to those of several others; see ckks/linear/block_transform.h.
    """

    def __init__(self, context: Context, blocks: Sequence[tuple[int, int, Sequence[int]]], sources: int, targets: int, slots: int, level: int, light: bool = False) -> None: ...

    def encode(self, block: int, first: int, diagonals: Annotated[NDArray[numpy.complex128], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def encode_unknown(self, block: int, first: int, count: int) -> None: ...

    def apply(self, evaluator: Evaluator, x: Sequence[Ciphertext]) -> list[Ciphertext]: ...

    @property
    def rotations(self) -> list[int]: ...

    @property
    def babies(self) -> int: ...

    @property
    def giants(self) -> int: ...

    @property
    def bytes(self) -> int: ...

    @property
    def working_bytes(self) -> int: ...

class MatrixProduct:
    """x @ W for a packed vector; see ckks/linear/matrix.h."""

    def __init__(self, context: Context, matrix: Annotated[NDArray[numpy.complex128], dict(shape=(None, None), order='C', device='cpu', writable=False)], slots: int, level: int) -> None: ...

    def apply(self, evaluator: Evaluator, x: Ciphertext) -> Ciphertext: ...

    @property
    def bytes(self) -> int: ...

class Polynomial:
    """Coefficients in the monomial or the Chebyshev basis."""

    def __init__(self, coefficients: Sequence[complex], chebyshev: bool = False, lower: float = -1.0, upper: float = 1.0) -> None: ...

    @property
    def degree(self) -> int: ...

    @property
    def depth(self) -> int:
        """The levels without that of the interval."""

    @property
    def levels(self) -> int: ...

    @property
    def products(self) -> int: ...

class Message(enum.Enum):
    """What the slots hold: decides the EvalMod work."""

    Complex = 0

    Real = 1

    MergedReals = 2

class Bootstrapper:
    """Refreshes ciphertexts."""

    @property
    def bytes(self) -> int: ...

    @property
    def input_level(self) -> int: ...

    @property
    def output_level(self) -> int: ...

    @property
    def noise(self) -> float:
        """Root mean square of what is added to a slot, without the sine's part."""

    @property
    def predicted_bits(self) -> tuple[float, float]: ...

class BootstrapChoice:
    """The form of bootstrapping that was chosen, and why."""

    @property
    def over_mod_raise(self) -> bool: ...

    @property
    def slot_to_coeff_first(self) -> bool: ...

    @property
    def arcsine(self) -> int: ...

    @property
    def log_message_ratio(self) -> int: ...

    @property
    def input_level(self) -> int: ...

    @property
    def output_level(self) -> int: ...

    @property
    def predicted_bits(self) -> tuple[float, float]: ...

    @property
    def reason(self) -> str: ...

class Contents:
    """
    Ciphertexts, what is known of their values, and what their other slots hold. Immutable.
    """

    def __init__(self, parts: Sequence[Ciphertext], known: Known, rest: str, bound: float, number: complex | None) -> None: ...

    @property
    def parts(self) -> list[Ciphertext]: ...

    @property
    def known(self) -> Known: ...

    @property
    def rest(self) -> tuple[str, float, complex | None]:
        """
        What slots without values hold: its kind, a bound, and the one number if it is known.
        """

    @property
    def slots(self) -> int: ...

    @property
    def canonical(self) -> bool: ...

    @property
    def excess(self) -> complex | None:
        """
        The number in slots without values, where it is larger than values are.
        """

    def plus(self, evaluator: Evaluator, other: Contents) -> Contents: ...

    def minus(self, evaluator: Evaluator, other: Contents) -> Contents: ...

    def plus_number(self, evaluator: Evaluator, c: complex) -> Contents: ...

    def plus_plain(self, evaluator: Evaluator, encoded: Sequence[Plaintext], plain: Annotated[NDArray[numpy.complex128], dict(order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, ciphertexts: int = 0) -> Contents: ...

    def times(self, evaluator: Evaluator, other: Contents, same: bool) -> Contents: ...

    def times_integer(self, evaluator: Evaluator, c: int) -> Contents: ...

    def times_number(self, evaluator: Evaluator, c: complex, always_rescaled: bool = False) -> Contents: ...

    def times_plain(self, evaluator: Evaluator, factors: Sequence[Plaintext], plain: Annotated[NDArray[numpy.complex128], dict(order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, ciphertexts: int = 0) -> Contents: ...

    def conjugated(self, evaluator: Evaluator) -> Contents: ...

    def lowered(self, evaluator: Evaluator, level: int) -> Contents: ...

    def summed(self, evaluator: Evaluator, kept: int, size: int) -> Contents: ...

    def with_rest(self, evaluator: Evaluator, encoded: Sequence[Plaintext | None], after: complex) -> Contents: ...

    @staticmethod
    def dot(evaluator: Evaluator, x: Sequence[Contents], y: Sequence[Contents]) -> Contents:
        """The sum of products; two factors that are one object are a square."""

MAX_INTEGER: int = 2147483648

def levels_of(c: complex) -> int:
    """That a product with a number takes."""

def factor_scale(part: Ciphertext, remedy: str) -> float:
    """Of a plain factor of this ciphertext."""

def fitting(known: Known, part: Ciphertext, rest: float) -> tuple[Known, list[tuple[str, str, str]]] | None:
    """
    None where the values fit the modulus. Else what is known then, and why.
    """

def misfits(known: Known, params: Params, level: int, scale: float, rest: float) -> list[tuple[str, str, str]]:
    """Why the values may not fit the modulus of a level; empty if they fit."""

class Refresher:
    """Bootstrapping of a context: when, in which form, with what."""

    @overload
    def __init__(self, context: Context, kernels: str, threads: int) -> None: ...

    @overload
    def __init__(self, context: Context, like: Refresher) -> None: ...

    def more_levels(self, automatic: bool) -> str: ...

    def refreshes(self, contents: Contents, levels: int) -> bool: ...

    def require(self, operation: str) -> None: ...

    def lowers_first(self, contents: Contents) -> bool: ...

    def arcsine_for(self, contents: Contents, levels: int) -> int | None: ...

    @staticmethod
    def note_of_arcsine(arcsine: int, levels: int) -> str: ...

    def leads_higher(self, contents: Contents, levels: int) -> bool: ...

    def form(self, level: int, slots: int, message: Message | None, minimal_keys: bool, slot_to_coeff_first: bool | None, over_mod_raise: bool | None, arcsine: int | None, log_message_ratio: int | None, random_like: bool) -> BootstrapChoice: ...

    def form_of(self, contents: Sequence[Contents], message: Message | None, minimal_keys: bool, slot_to_coeff_first: bool | None, over_mod_raise: bool | None, arcsine: int | None, log_message_ratio: int | None, random_like: bool) -> tuple[BootstrapChoice, str]:
        """The form for these arrays together, and what a plan notes of it."""

    def bootstrapper(self, slots: int, message: Message, minimal_keys: bool, slot_to_coeff_first: bool, over_mod_raise: bool, arcsine: int, log_message_ratio: int) -> Bootstrapper: ...

    @property
    def bytes(self) -> int: ...

def bootstrapped(evaluator: Evaluator, refresher: Refresher, x: Contents, message: Message | None, minimal_keys: bool, slot_to_coeff_first: bool | None, over_mod_raise: bool | None, arcsine: int | None, log_message_ratio: int | None, random_like: bool) -> tuple[Contents, str, int, list[tuple[str, str, str]]]:
    """
    The array refreshed, what a plan notes of it, how many bootstrappings it took, and what does not fit.
    """

def bootstrapped_pair(evaluator: Evaluator, bootstrapper: Bootstrapper, x: Contents, y: Contents) -> tuple[Contents, Contents, list[tuple[str, str, str]]]: ...

def looked_up(evaluator: Evaluator, switcher: Switcher, table: SwitchTable, x: Contents, range: Range, constant: bool, where: Annotated[NDArray[numpy.bool], dict(order='C', device='cpu', writable=False)] | None) -> Contents: ...

def beyond(known: Known, bound: float) -> tuple[str, str, str] | None:
    """Why values are no arguments of a table of that bound."""

def chosen_within(x: Contents, bound: float) -> Contents: ...

def rotation_needs_masks(size: int, slots: int, k: int) -> bool:
    """Whether a rotation of so many values takes a level."""

def rotated(x: Contents, evaluator: Evaluator, size: int, k: int, constants: object, more_levels: str) -> Contents: ...

def spread(x: Contents, evaluator: Evaluator, size: int, columns: int, factor: complex, constants: object, more_levels: str) -> Contents: ...

def require_rows(columns: int, slots: int, operation: str) -> None: ...

def times_matrix(x: Contents, evaluator: Evaluator, matrix: Annotated[NDArray[numpy.complex128], dict(shape=(None, None), order='C', device='cpu', writable=False)], real: bool, times: object, constants: object) -> Contents: ...

def require_levels(operation: str, level: int, polynomial: Polynomial, more_levels: str) -> None: ...

def evaluation_level(operation: str, x: Contents, polynomial: Polynomial, more_levels: str) -> int: ...

def steady_level(params: Params, level: int, levels: int, depth: int) -> int | None: ...

class Evaluation:
    """What the evaluation of a polynomial adds to its values."""

    def __init__(self, params: Params, level: int, polynomial: Polynomial, slots: int) -> None: ...

    @property
    def name(self) -> int:
        """The same for the same level, slots and parameters."""

    def error(self, range: Range, polynomial: Polynomial) -> float:
        """What it adds to values of a range, root mean square of a slot."""

def evaluated(x: Contents, evaluator: Evaluator, polynomial: Polynomial, domain: tuple[float, float] | None, after: object | None) -> Contents: ...

def leaves(x: Contents, polynomial: Polynomial) -> bool: ...

def number_within(reach: float, low: float, high: float) -> float: ...

class RecordedArgument:
    """What a recording relies on in an argument."""

    @staticmethod
    def of(example: Contents) -> tuple[RecordedArgument, Contents]:
        """This, and the array to record with."""

    def require(self, x: Contents, remedy: str) -> None: ...

def known_of_result(recorded: Known, examples: Sequence[RecordedArgument], arguments: Sequence[Contents]) -> Known: ...

def save_ciphertexts(path: str, ciphertexts: Sequence[Ciphertext], note: str, sign: object | None = None, version: int = 1) -> None: ...

def load_ciphertexts(path: str, context: Context, verify: object | None = None) -> tuple[list[Ciphertext], str, bool]: ...

def ciphertexts_to_bytes(ciphertexts: Sequence[Ciphertext], note: str, sign: object | None = None, version: int = 1) -> bytes: ...

def ciphertexts_from_bytes(data: bytes, context: Context, verify: object | None = None) -> tuple[list[Ciphertext], str, bool]: ...

def ciphertexts_to_final_bytes(ciphertexts: Sequence[Ciphertext], note: str, factor: int, shift_b: int, shift_a: int, sign: object | None = None, version: int = 4) -> bytes:
    """
    Ciphertexts at level 0, times `factor`, without so many low bits of both parts.
    """

def save_keys(path: str, context: Context, keys: EvaluationKeys, sign: object | None = None, progress: object | None = None) -> None: ...

def load_keys(path: str, context: Context, verify: object | None = None, progress: object | None = None) -> EvaluationKeys: ...

def save_public_key(path: str, context: Context, key: PublicKey, sign: object | None = None) -> None: ...

def load_public_key(path: str, context: Context, verify: object | None = None) -> PublicKey: ...

def save_secret_key(path: str, client: Client, kdf: tuple[int, int, int, bytes] | None = None, key: bytes = ...) -> None: ...

def secret_key_kdf(path: str) -> tuple[int, int, int, bytes] | None:
    """
    Costs (log2 N, r, p) and salt of a secret key's passphrase; None without one.
    """

def load_secret_key(path: str, context: Context, key: bytes = ...) -> Client: ...

def save_params(path: str, params: Params, sign: object | None = None) -> None: ...

def load_params(path: str, verify: object | None = None) -> Params: ...

def params_to_bytes(params: Params) -> bytes: ...

def params_from_bytes(data: bytes) -> Params: ...

def file_scheme(path: str) -> str:
    """The scheme of what a file holds, from its header alone."""

def file_type(path: str) -> str:
    """What a file holds, from its header alone."""

def bytes_type(data: bytes) -> str:
    """What the bytes of a file hold, from its header alone."""

class ScalarInputs:
    """Numbers that a recording takes at every run."""

    def __init__(self, context: Context) -> None: ...

    def set(self, index: int, value: complex, bound: complex) -> None: ...

    @property
    def count(self) -> int: ...

class RecordedProgram:
    """Replays a recorded function."""

    def __init__(self, examples: Sequence[Ciphertext], function: Callable, numbers: ScalarInputs | None = None) -> None: ...

    def run(self, arguments: Sequence[Ciphertext], values: Sequence[complex] = []) -> list[Ciphertext]: ...

    def launch(self) -> None: ...

    @property
    def arena_bytes(self) -> int: ...

class TfheRecordedProgram:
    """Replays a recorded function of TFHE ciphertexts."""

    def __init__(self, examples: Sequence[TfheCiphertext], function: Callable, numbers: ScalarInputs | None = None) -> None: ...

    def run(self, arguments: Sequence[TfheCiphertext], values: Sequence[complex] = []) -> list[TfheCiphertext]: ...

    def launch(self) -> None: ...

    @property
    def arena_bytes(self) -> int: ...

def switch_sets_for(params: Params, fp64_first: bool = False) -> list[str]: ...

class SwitchContext:
    """Both schemes on one device."""

    @staticmethod
    def create(name: str, context: Context) -> SwitchContext: ...

    def explain(self) -> str: ...

    def choose_route(self, slots: int, minimal_keys: bool, route: str, kernels: str, threads: int, budget: int = 8589934592) -> tuple[str, int, float, int]: ...

class SwitchKeys:
    """Public keys of switching."""

    @staticmethod
    def without_data(context: SwitchContext) -> SwitchKeys: ...

    def add_without_data(self, context: SwitchContext, rows: int, slots: int) -> None: ...

    @property
    def id(self) -> str: ...

    @property
    def bytes(self) -> int: ...

    @property
    def products(self) -> dict: ...

def save_switch_keys(path: str, context: SwitchContext, keys: SwitchKeys, sign: object | None = None) -> None: ...

def load_switch_keys(path: str, context: SwitchContext, verify: object | None = None) -> SwitchKeys: ...

def make_switch_keys(client: Client, context: SwitchContext, shapes: Sequence[tuple[int, int]]) -> SwitchKeys: ...

def table_arguments(context: SwitchContext, bound: float) -> list[float]: ...

class SwitchTable:
    """A real function of one argument as a table."""

    @overload
    @staticmethod
    def make(context: SwitchContext, f: Callable[[float], float], bound: float) -> SwitchTable: ...

    @overload
    @staticmethod
    def make(context: SwitchContext, values: Sequence[float], f: Callable[[float], float], bound: float) -> SwitchTable: ...

    @staticmethod
    def make_sign(context: SwitchContext, bound: float, height: float) -> SwitchTable: ...

    @property
    def bytes(self) -> int: ...

    @property
    def bound(self) -> float: ...

    @property
    def largest(self) -> float: ...

    def report(self, switcher: Switcher) -> dict: ...

class Switcher:
    """Slots through tables, for one slot count and bound."""

    def __init__(self, context: SwitchContext, keys: SwitchKeys, slots: int, bound: float, minimal_keys: bool = False, over_mod_raise: bool = False, route: str = 'automatic') -> None: ...

    def apply(self, evaluator: Evaluator, x: Ciphertext, table: SwitchTable, which: Sequence[int]) -> Ciphertext: ...

    @property
    def route(self) -> str: ...

    @property
    def input_level(self) -> int: ...

    @property
    def output_level(self) -> int: ...

    @property
    def bytes(self) -> int: ...

class ConformanceReport:
    """What the conformance suite compared."""

    @property
    def passed(self) -> bool: ...

    @property
    def failures(self) -> int: ...

    @property
    def comparisons(self) -> int: ...

    def __str__(self) -> str: ...

def conformance(params: Params, device: str, index: int = 0, threads: int = 0, levels: int = 0, thorough: bool = False, seed: int = 1, part: int = 0, parts: int = 1, simd_oracle: bool = False) -> ConformanceReport: ...

class TfheParams:
    """Checked, immutable parameters of TFHE."""

    @property
    def name(self) -> str: ...

    @property
    def hash(self) -> str: ...

    @property
    def n(self) -> int: ...

    @property
    def lwe_dimension(self) -> int: ...

    @property
    def glwe_dimension(self) -> int: ...

    @property
    def big_dimension(self) -> int: ...

    @property
    def booleans(self) -> bool: ...

    @property
    def message_bits(self) -> int: ...

    @property
    def carry_bits(self) -> int: ...

    @property
    def log_failure(self) -> float: ...

    def variances(self, fourier: bool) -> tuple[float, float]:
        """
        Variances of the result of a bootstrapping, and of key switch plus modulus switch.
        """

    def log_failure_of(self, result_variance: float, switch_variance: float) -> float: ...

    @property
    def stated_log_failure(self) -> float: ...

    @property
    def security_bits(self) -> float: ...

    @property
    def secure(self) -> bool: ...

    @property
    def has_fft64(self) -> bool: ...

    @property
    def bootstrap_key_bytes(self) -> int: ...

    @property
    def key_switch_key_bytes(self) -> int: ...

    def canonical_text(self) -> str: ...

    def explain(self) -> str: ...

def tfhe_preset(name: str) -> TfheParams: ...

def tfhe_preset_names() -> list[str]: ...

class TfheArithmetic:
    """Which arithmetic blind rotations take."""

    @staticmethod
    def choose(params: TfheParams, wanted: str, device: str, index: int, threads: int, simd: bool, tuning: str = '') -> TfheArithmetic: ...

    @property
    def name(self) -> str: ...

    @property
    def text(self) -> str: ...

    def of(self, count: int) -> str: ...

class TfheContext:
    """TFHE parameters on a device."""

    @staticmethod
    def create(params: TfheParams, device: str, index: int, threads: int, simd: bool, tuning: str, arithmetic: TfheArithmetic, rerandomize: bool = False) -> TfheContext: ...

    @staticmethod
    def create_dry(params: TfheParams, arithmetic: TfheArithmetic, rerandomize: bool = False) -> TfheContext: ...

    @property
    def params(self) -> TfheParams: ...

    @property
    def arithmetic(self) -> str: ...

    @property
    def log_failure(self) -> float: ...

    @property
    def is_dry(self) -> bool: ...

    @property
    def device(self) -> dict: ...

    @property
    def report(self) -> dict: ...

    def predicted_seconds(self, kernels: str, threads: int) -> float:
        """
        What a dry run has counted, at the rates of the machine measured for "cuda", or for these kernels of a CPU and so many threads at once.
        """

    def predicted_preparation(self, kernels: str, threads: int) -> float:
        """
        The part of predicted_seconds that makes constants, which replays find made.
        """

    def note_allocations(self) -> None:
        """
        Of a dry run: from here on it notes what is allocated, for arena_bytes.
        """

    @property
    def arena_bytes(self) -> int:
        """Memory that a recording of what was noted keeps for itself."""

    @property
    def recording(self) -> bool:
        """Whether this thread records a program now."""

    @property
    def live_bytes(self) -> int: ...

    @property
    def peak_bytes(self) -> int: ...

    @property
    def device_peak_bytes(self) -> int:
        """The same as the device counts it, with scratch and rounded blocks."""

    def reset_peak(self) -> None: ...

    def clear_unused(self) -> None:
        """Sets memory that is kept for reuse to zero."""

    def observe(self, on: bool) -> None:
        """Starts counting what the device does from zero, or ends it."""

    @property
    def observed(self) -> dict:
        """
        Records, key switches, blind rotations, bytes moved, and seconds of stages by name.
        """

    def synchronize(self) -> None: ...

class TfheServerKeys:
    """What a server knows: it cannot decrypt."""

    @property
    def id(self) -> str: ...

    @property
    def params_hash(self) -> str: ...

    @property
    def has_public_key(self) -> bool: ...

    def device_bytes(self, context: TfheContext) -> int: ...

def tfhe_shape_of_keys(context: TfheContext) -> TfheServerKeys:
    """
    Keys of the right shape without meaning, as after a first bootstrapping: for dry contexts.
    """

class TfheCiphertext:
    """A batch of LWE ciphertexts."""

    @property
    def size(self) -> int: ...

    @property
    def norm2(self) -> float: ...

    @property
    def largest(self) -> int: ...

    @property
    def encoding(self) -> str: ...

    @property
    def key(self) -> str: ...

    @property
    def bytes(self) -> int: ...

    @property
    def log_failure(self) -> float: ...

    def __repr__(self) -> str: ...

def tfhe_shape_only(context: TfheContext, count: int, largest: int, norm2: float, bits: int, like: TfheCiphertext | None = None) -> TfheCiphertext: ...

def tfhe_take(x: Sequence[TfheCiphertext], places: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list[TfheCiphertext]: ...

def tfhe_concatenate(x: Sequence[Sequence[TfheCiphertext]]) -> list[TfheCiphertext]: ...

class TfheClient:
    """Holds a secret key of TFHE."""

    def __init__(self, context: TfheContext) -> None: ...

    @property
    def key_id(self) -> str: ...

    def encrypt(self, values: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], bits: int) -> list[TfheCiphertext]: ...

    def decrypt(self, x: Sequence[TfheCiphertext]) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...

    def server_keys(self, progress: object | None, public: bool = False) -> TfheServerKeys: ...

    def errors(self, x: TfheCiphertext) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def switch_errors(self, keys: TfheServerKeys, x: TfheCiphertext) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

class Gate(enum.Enum):
    """Functions of two bits."""

    And = 0

    Nand = 1

    Or = 2

    Nor = 3

    Xor = 4

    Xnor = 5

    AndNot = 6

    NotAnd = 7

    OrNot = 8

    NotOr = 9

def gate_truth(gate: Gate) -> list[int]:
    """The values of a gate at (0, 0), (0, 1), (1, 0) and (1, 1)."""

class Comparison(enum.Enum):
    """Orders of two integers."""

    Less = 0

    LessEqual = 1

    Equal = 2

    NotEqual = 3

    GreaterEqual = 4

    Greater = 5

class TfheKeylessEngine:
    """The evaluator without keys of a context, for one key at a time."""

    def __init__(self) -> None: ...

    def of(self, context: TfheContext, like: Sequence[TfheCiphertext]) -> TfheEvaluator:
        """
        For sums of ciphertexts under the key of these; what needs keys is a KeyError.
        """

class TfheEvaluator:
    """Computes on batches of a context with given keys."""

    def __init__(self, context: TfheContext, keys: TfheServerKeys) -> None: ...

    def clear(self, values: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], bits: int) -> list[TfheCiphertext]: ...

    def zero(self, like: Sequence[TfheCiphertext], blocks: int) -> list[TfheCiphertext]: ...

    def logic(self, gate: Gate, x: Sequence[TfheCiphertext], y: Sequence[TfheCiphertext]) -> list[TfheCiphertext]: ...

    def invert(self, x: Sequence[TfheCiphertext], integer: bool) -> list[TfheCiphertext]: ...

    def bitwise(self, gate: Gate, x: Sequence[TfheCiphertext], y: Sequence[TfheCiphertext]) -> list[TfheCiphertext]: ...

    def compare(self, what: Comparison, x: Sequence[TfheCiphertext], y: Sequence[TfheCiphertext]) -> list[TfheCiphertext]: ...

    def select(self, condition: Sequence[TfheCiphertext], x: Sequence[TfheCiphertext], y: Sequence[TfheCiphertext]) -> list[TfheCiphertext]: ...

    def add(self, x: Sequence[TfheCiphertext], y: Sequence[TfheCiphertext]) -> list[TfheCiphertext]: ...

    def sub(self, x: Sequence[TfheCiphertext], y: Sequence[TfheCiphertext]) -> list[TfheCiphertext]: ...

    def multiply(self, x: Sequence[TfheCiphertext], y: Sequence[TfheCiphertext]) -> list[TfheCiphertext]: ...

    def minimum(self, x: Sequence[TfheCiphertext], y: Sequence[TfheCiphertext]) -> list[TfheCiphertext]: ...

    def maximum(self, x: Sequence[TfheCiphertext], y: Sequence[TfheCiphertext]) -> list[TfheCiphertext]: ...

    def rerandomize(self, x: Sequence[TfheCiphertext]) -> list[TfheCiphertext]: ...

    def sum(self, x: Sequence[Sequence[TfheCiphertext]]) -> list[TfheCiphertext]: ...

    def shift(self, x: Sequence[TfheCiphertext], bits: int, left: bool) -> list[TfheCiphertext]: ...

    def shift_by(self, x: Sequence[TfheCiphertext], amount: Sequence[TfheCiphertext], left: bool) -> list[TfheCiphertext]: ...

    def to_full(self, x: Sequence[TfheCiphertext]) -> list[TfheCiphertext]: ...

    def add_full(self, x: Sequence[TfheCiphertext], y: Sequence[TfheCiphertext]) -> list[TfheCiphertext]: ...

    def sub_full(self, x: Sequence[TfheCiphertext], y: Sequence[TfheCiphertext]) -> list[TfheCiphertext]: ...

    def multiply_full(self, x: Sequence[TfheCiphertext], factor: int) -> list[TfheCiphertext]: ...

    def lookup_full(self, x: Sequence[TfheCiphertext], blocks: Sequence[int], values: Sequence[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]]) -> list[list[TfheCiphertext]]: ...

    def lookup(self, x: Sequence[TfheCiphertext], blocks: Sequence[int], values: Sequence[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]]) -> list[list[TfheCiphertext]]: ...

    def lookup_pair(self, x: Sequence[TfheCiphertext], y: Sequence[TfheCiphertext], blocks: Sequence[int], values: Sequence[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]], columns: int) -> list[list[TfheCiphertext]]: ...

def tfhe_save_keys(path: str, context: TfheContext, keys: TfheServerKeys, sign: object | None = None, progress: object | None = None) -> None: ...

def tfhe_load_keys(path: str, context: TfheContext, verify: object | None = None, progress: object | None = None) -> TfheServerKeys: ...

def tfhe_save_secret_key(path: str, client: TfheClient, kdf: tuple[int, int, int, bytes] | None = None, key: bytes = ...) -> None: ...

def tfhe_secret_key_kdf(path: str) -> tuple[int, int, int, bytes] | None:
    """
    Costs (log2 N, r, p) and salt of a secret key's passphrase; None without one.
    """

def tfhe_load_secret_key(path: str, context: TfheContext, key: bytes = ...) -> TfheClient: ...

def tfhe_save_params(path: str, params: TfheParams, sign: object | None = None) -> None: ...

def tfhe_load_params(path: str, verify: object | None = None) -> TfheParams: ...

def tfhe_params_to_bytes(params: TfheParams) -> bytes: ...

def tfhe_params_from_bytes(data: bytes) -> TfheParams: ...

def tfhe_save_ciphertexts(path: str, ciphertexts: Sequence[TfheCiphertext], note: str, sign: object | None = None, version: int = 1) -> None: ...

def tfhe_load_ciphertexts(path: str, context: TfheContext, verify: object | None = None) -> tuple[list[TfheCiphertext], str]: ...

def tfhe_ciphertexts_to_bytes(ciphertexts: Sequence[TfheCiphertext], note: str, sign: object | None = None, version: int = 1) -> bytes: ...

def tfhe_ciphertexts_from_bytes(data: bytes, context: TfheContext, verify: object | None = None) -> tuple[list[TfheCiphertext], str]: ...

class BundleWriter:
    """Server keys on their way to one file."""

    def __init__(self, scheme: str, params_hash: str) -> None: ...

    def add_keys(self, context: Context, keys: EvaluationKeys) -> None: ...

    def add_public_key(self, context: Context, key: PublicKey) -> None: ...

    def add_switch_keys(self, name: str, context: SwitchContext, keys: SwitchKeys) -> None: ...

    def add_tfhe_keys(self, context: TfheContext, keys: TfheServerKeys) -> None: ...

    @property
    def length(self) -> int:
        """Bytes of the file, without a signature."""

    def to_bytes(self, sign: object | None = None, progress: object | None = None) -> bytes: ...

    def to_file(self, path: str, sign: object | None = None, progress: object | None = None) -> None: ...

    def to_stream(self, file: object, sign: object | None = None, progress: object | None = None) -> None: ...

class BundleReader:
    """A file of server keys, read part by part."""

    @staticmethod
    def of_file(path: str, scheme: str, verify: object | None = None, progress: object | None = None) -> BundleReader: ...

    @staticmethod
    def of_bytes(data: bytes, scheme: str, verify: object | None = None, progress: object | None = None) -> BundleReader: ...

    @staticmethod
    def of_stream(file: object, scheme: str, verify: object | None = None, progress: object | None = None) -> BundleReader: ...

    @property
    def names(self) -> list[str]: ...

    @overload
    def require_params(self, params: Params) -> None: ...

    @overload
    def require_params(self, params: TfheParams) -> None: ...

    def keys(self, context: Context) -> EvaluationKeys: ...

    def public_key(self, context: Context) -> PublicKey: ...

    def switch_keys(self, context: SwitchContext) -> SwitchKeys: ...

    def tfhe_keys(self, context: TfheContext) -> TfheServerKeys: ...

    def finish(self) -> None:
        """Nothing read is to be trusted before it."""

class KeyPin:
    """Keeps a bundle in device memory."""

class KeyStore:
    """Bundles of several clients within a budget of memory."""

    @staticmethod
    def of_ckks(context: Context, budget: int | None) -> KeyStore: ...

    @staticmethod
    def of_tfhe(context: TfheContext, budget: int | None) -> KeyStore: ...

    def add_ckks(self, context: Context, keys: EvaluationKeys, public_key: PublicKey | None, sets: Mapping[str, SwitchContext], switching: Mapping[str, SwitchKeys]) -> StoredKeys: ...

    def add_tfhe(self, context: TfheContext, keys: TfheServerKeys) -> TfheStoredKeys: ...

    @property
    def budget(self) -> int | None: ...

    def uses(self) -> list: ...

class StoredKeys:
    """A bundle of CKKS in a store."""

    def hold(self) -> KeyPin:
        """Keeps the bundle in device memory for as long as the result lives."""

    @property
    def keys(self) -> EvaluationKeys: ...

    @property
    def public_key(self) -> PublicKey: ...

    def switch_keys(self, name: str) -> SwitchKeys: ...

    def switcher(self, name: str, slots: int, bound: float, minimal_keys: bool, route: str) -> Switcher: ...

class TfheStoredKeys:
    """A bundle of TFHE in a store."""

    def hold(self) -> KeyPin:
        """Keeps the bundle in device memory for as long as the result lives."""

    @property
    def keys(self) -> TfheServerKeys: ...

    @property
    def evaluator(self) -> TfheEvaluator: ...
