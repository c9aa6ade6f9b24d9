"""Latticino: encrypted computing with CKKS and bootstrapping, and with TFHE, on CPU and GPU with the same bits.

    import latticino as lt
    ctx = lt.Context("n16-d40-boot-v1")
    client = lt.keygen(ctx)

docs/guide.md is an introduction for beginners, and docs/api.md lists every name.
"""

from . import cluster, errors, nn, tfhe
from ._native import Params, __version__  # type: ignore[attr-defined]
from .array_functions import (
                     concatenate,
                     cos,
                     exp,
                     log,
                     logsumexp,
                     maximum,
                     minimum,
                     sigmoid,
                     sin,
                     softmax,
                     sort,
                     sqrt,
                     stack,
                     tanh,
                     top_k,
)
from .arrays import PrivateArray
from .ckks.answer import Answer
from .ckks.ciphertext import Ciphertext
from .ckks.client import Client, ServerKeys, SharedValues
from .ckks.context import Context, Session, preset, presets
from .ckks.debug import SecretWarning, debug
from .ckks.dot import dot
from .ckks.parameters import ParameterCosts, make_params, parameter_costs
from .ckks.plan import Plan, Shape
from .claims.known import Range, RangeWarning
from .claims.measured import Noise
from .claims.precision import Precision, precision
from .common.layout import Layout
from .common.progress_bar import progress
from .common.tenancy import BundleUse, Residency
from .errors import (
                     AttributeError,
                     ClusterError,
                     ContextError,
                     DeviceError,
                     Error,
                     FileError,
                     IndexError,
                     KeyError,
                     LevelError,
                     OutOfMemoryError,
                     ParameterError,
                     PrecisionError,
                     ScaleError,
                     SecurityWarning,
                     ServiceError,
                     ShapeError,
                     UnsupportedError,
                     ValueError,
)
from .files.saving import (
                     from_bytes,
                     load_ciphertext,
                     load_client,
                     load_params,
                     load_server_keys,
                     save_ciphertext,
                     save_params,
                     save_secret_key,
                     save_server_keys,
                     to_bytes,
)
from .functions.chebyshev import Fit, fit
from .functions.composite import Sign, fit_sign
from .functions.sorting import Sorting, fit_sort
from .key_generation import keygen
from .linear import (
                     LinearMap,
                     MapCost,
                     average_pool_map,
                     convolution_map,
                     convolve,
                     corrcoef,
                     correlate,
                     cov,
                     diagonal_map,
                     linear_map,
                     matrix_map,
                     matrix_power,
)
from .ops.scalar import Scalar
from .pickling import loads, unpickling
from .programs.choice import Candidate, Choice, choose
from .programs.profiling import Profile, ProfileRow, profile
from .programs.program import Program, record
from .saved.files import load_program, save_program
from .saved.program import SavedProgram
from .serve.client import Job, Remote, Service, connect
from .tfhe.functions import where

__all__ = [
    "Answer", "BundleUse", "Candidate", "Choice", "Noise", "Profile", "ProfileRow", "Residency", "Session",
    "AttributeError", "IndexError", "choose", "cluster", "loads", "profile", "progress", "unpickling",
    "Layout", "LinearMap", "MapCost", "average_pool_map", "convolution_map", "convolve", "corrcoef", "correlate", "cov",
    "diagonal_map", "linear_map", "matrix_map", "matrix_power",
    "Fit", "Sign", "Sorting", "cos", "exp", "fit", "fit_sign", "fit_sort", "log", "logsumexp", "sigmoid",
    "sin", "softmax", "sort", "sqrt", "tanh", "top_k",
    "Ciphertext", "Client", "ClusterError", "Context", "ContextError", "DeviceError", "Error", "FileError", "KeyError",
    "LevelError", "OutOfMemoryError", "ParameterError", "Params", "Plan", "Precision", "PrecisionError", "PrivateArray",
    "Program", "Range", "RangeWarning", "Scalar", "ScaleError", "SecretWarning", "SecurityWarning", "ServerKeys",
    "Job", "Remote", "SavedProgram", "Service", "ServiceError", "Shape", "ShapeError", "SharedValues",
    "UnsupportedError", "ValueError", "__version__", "concatenate", "connect", "debug", "dot", "errors", "from_bytes",
    "keygen", "load_ciphertext", "load_client", "ParameterCosts", "load_params", "load_program", "load_server_keys",
    "make_params", "maximum", "minimum", "nn", "parameter_costs", "precision", "preset", "presets", "record",
    "save_ciphertext", "save_params", "save_program", "save_secret_key", "save_server_keys", "stack", "tfhe",
    "to_bytes", "where",
]
