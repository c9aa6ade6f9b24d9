"""Covariances and correlations of encrypted variables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import arrays, errors
from ..common import captured
from ..common.layout import Layout
from ..common.naming import public
from ..ops import sums

if TYPE_CHECKING:
    from ..ckks.ciphertext import Ciphertext

_MAX_CENTRED = 128  # number of values of a variable up to which a plain matrix subtracts their mean
_JOIN = "join them: lt.stack([x, y]), or lt.concatenate if they have several rows"


@captured.step("lt.cov")
@public
def cov(x: Ciphertext, rowvar: bool = True, ddof: float = 1) -> Ciphertext:
    """numpy's cov: covariances of the variables in the rows of an encrypted array (columns with ``rowvar=False``).
    Join several arrays with `stack` first; ``np.cov(x, y)`` does so.

    Sums are divided by n - ddof for n observations. The mean is subtracted, and the result is multiplied by its own
    transpose. This takes three or four levels for up to 128 observations, and one or two more beyond.
    """
    return _cov(x, rowvar, ddof, "cov")


@captured.step("lt.corrcoef")
@public
def corrcoef(x: Ciphertext, domain: tuple[float, float], rowvar: bool = True, bits: float = 20) -> Ciphertext:
    """numpy's corrcoef: covariances over the product of the standard deviations. Join several arrays with `stack`
    first.

    ``domain``: an interval above 0 in which all variances (divided by n) lie; it counts as their declared range. Their
    inverse roots are within ``2**-bits`` (`Ciphertext.inverse_sqrt` says how many levels they take). Multiplying by
    them takes three levels more. Variances outside of the domain give wrong results in all slots.
    """
    _refuse_second("corrcoef", domain)
    rowvar = arrays.as_flag(rowvar, "corrcoef", "rowvar")
    if _is_encrypted(x) and (
            x.ndim == 1 or (x.ndim == 2 and x.shape[0 if rowvar else -1] == 1)):
        raise errors.ShapeError.explain("corrcoef", "one variable", "two or more", "its correlation with itself is 1")
    c = _cov(x, rowvar, 0, "corrcoef")
    i = np.arange(c.shape[0])
    variances = c[i, i].contiguous()
    # Variances are real and not negative, which the rules for products do not know.
    known = variances._known.as_real().within_domain(0.0, sums.largest_variance(x.range))
    variances = variances._like(variances._parts, known)._promised("corrcoef", domain)
    scale = variances.inverse_sqrt(domain, bits)
    if c.dtype.kind == "f":  # a covariance is at most the larger one of two variances
        most = variances.range.high
        c = c._like(c._parts, c._known.within_domain(-most, most))
    return c * (scale.expand_dims(1) * scale.expand_dims(0))


def _is_encrypted(x: Any) -> bool:
    return isinstance(getattr(x, "layout", None), Layout)


def _refuse_second(operation: str, second: Any) -> None:
    """numpy's functions take a second array here: UnsupportedError says how to join both."""
    if _is_encrypted(second):
        raise errors.UnsupportedError.explain(operation, "two arrays", "one, with the variables in its rows", _JOIN)


def _cov(x: Ciphertext, rowvar: Any, ddof: Any, operation: str) -> Ciphertext:
    _refuse_second(operation, rowvar)
    if isinstance(x, (list, tuple)) and any(map(_is_encrypted, x)):
        raise errors.UnsupportedError.explain(
            operation, f"a {type(x).__name__} of arrays", "one array, with the variables in its rows", _JOIN)
    if not _is_encrypted(x):
        raise errors.UnsupportedError.explain(
            operation, f"a {type(x).__name__}", "an encrypted array", "call numpy's function for others")
    if x.ndim not in (1, 2):
        raise errors.ShapeError.explain(operation, f"shape {x.shape}", "variables by observations", "reshape it")
    rows = arrays.as_flag(rowvar, operation, "rowvar")
    ddof = arrays.as_real(ddof, operation, "ddof")
    variables = x if x.ndim == 1 or rows else x.T
    n = variables.shape[-1]
    if n <= ddof:
        raise errors.ValueError.explain(
            operation, f"ddof={ddof:g} of {n} observations", "fewer than those", "lower ddof")
    if x.ndim == 1 or len(variables) == 1:
        return variables.reshape(n).var(ddof=ddof)
    factor = math.sqrt(1 / (n - ddof))
    if n <= _MAX_CENTRED:
        off = variables @ ((np.eye(n) - 1 / n) * factor)
    else:
        off = (variables - variables.mean(1, True)) * factor
    return off @ (off.T if off.dtype.kind == "f" else off.conj().T)
