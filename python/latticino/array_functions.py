"""numpy's names for functions of encrypted arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import errors
from .ckks.ciphertext import Ciphertext
from .common import roles
from .tfhe import functions as of_integers
from .tfhe.array import EncryptedArray

Domain = tuple[float, float] | None


def _apply(name: str, x: Any, f: Any, domain: Domain, bits: float) -> Ciphertext:
    roles.require_kind(name, x, Ciphertext, "encrypt it with CKKS, or use numpy for clear values")
    return Ciphertext.approximate(x, f, domain, bits)


def exp(x: Ciphertext, domain: Domain = None, bits: float = 20) -> Ciphertext:
    """``np.exp`` of every value: ``x.approximate(np.exp, domain, bits)``."""
    return _apply("exp", x, np.exp, domain, bits)


def log(x: Ciphertext, domain: Domain = None, bits: float = 20) -> Ciphertext:
    """``np.log`` of every value, on a domain above 0: ``x.approximate(np.log, domain, bits)``."""
    return _apply("log", x, np.log, domain, bits)


def sin(x: Ciphertext, domain: Domain = None, bits: float = 20) -> Ciphertext:
    """``np.sin`` of every value: ``x.approximate(np.sin, domain, bits)``."""
    return _apply("sin", x, np.sin, domain, bits)


def cos(x: Ciphertext, domain: Domain = None, bits: float = 20) -> Ciphertext:
    """``np.cos`` of every value: ``x.approximate(np.cos, domain, bits)``."""
    return _apply("cos", x, np.cos, domain, bits)


def tanh(x: Ciphertext, domain: Domain = None, bits: float = 20) -> Ciphertext:
    """``np.tanh`` of every value: ``x.approximate(np.tanh, domain, bits)``."""
    return _apply("tanh", x, np.tanh, domain, bits)


def _sigmoid(v: Any) -> Any:
    return 0.5 + 0.5 * np.tanh(0.5 * np.asarray(v))


def sigmoid(x: Ciphertext, domain: Domain = None, bits: float = 20) -> Ciphertext:
    """``1 / (1 + exp(-x))`` of every value, by `Ciphertext.approximate`."""
    return _apply("sigmoid", x, _sigmoid, domain, bits)


def sqrt(x: Ciphertext, domain: Domain = None, bits: float = 20) -> Ciphertext:
    """``np.sqrt`` of every value: ``x.sqrt(domain, bits)``."""
    roles.require_kind("sqrt", x, Ciphertext, "encrypt it with CKKS, or use numpy for clear values")
    return x.sqrt(domain, bits)


def minimum(x: Any, y: Any, **options: Any) -> Any:
    """The smaller of two, element by element: of TFHE's integers, or of CKKS arrays by `Ciphertext.minimum` and its
    options.
    """
    return _extreme("minimum", x, y, options)


def maximum(x: Any, y: Any, **options: Any) -> Any:
    """The larger of two, element by element: of TFHE's integers, or of CKKS arrays by `Ciphertext.maximum` and its
    options.
    """
    return _extreme("maximum", x, y, options)


def _extreme(name: str, x: Any, y: Any, options: dict[str, Any]) -> Any:
    if isinstance(x, Ciphertext) or isinstance(y, Ciphertext):
        if isinstance(x, EncryptedArray) or isinstance(y, EncryptedArray):
            raise errors.UnsupportedError.explain(
                name, "arrays of both schemes", "arrays of one", "keep both values in one scheme")
        first, second = (x, y) if isinstance(x, Ciphertext) else (y, x)
        return getattr(first, name)(second, **options)
    if options:
        raise errors.UnsupportedError.explain(
            name, f"the option {next(iter(options))} with integers", "none: they are exact", "leave it out")
    return getattr(of_integers, name)(x, y)
