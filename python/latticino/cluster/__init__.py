"""Programs over many processes and machines: see docs/scaling.md."""

from .engines import Engine
from .executor import Executor, Result
from .local import Local
from .on_dask import Dask

__all__ = ["Dask", "Engine", "Executor", "Local", "Result"]
