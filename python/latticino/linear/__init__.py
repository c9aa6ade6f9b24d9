"""Linear maps of encrypted arrays: sparse maps, convolutions, and products of two encrypted matrices."""

from .convolution import average_pool_map, convolution_map, convolve, correlate
from .encrypted import matrix_power
from .maps import LinearMap, MapCost, diagonal_map, linear_map, matrix_map
from .statistics import corrcoef, cov

__all__ = ["LinearMap", "MapCost", "average_pool_map", "convolution_map", "convolve", "corrcoef",
           "correlate", "cov", "diagonal_map",
           "linear_map", "matrix_map", "matrix_power"]
