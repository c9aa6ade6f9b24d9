"""Linear maps of encrypted arrays: sparse maps, convolutions, and products of two encrypted matrices."""

from .maps import LinearMap, MapCost, diagonal_map, linear_map, matrix_map

__all__ = ["LinearMap", "MapCost", "diagonal_map", "linear_map", "matrix_map"]
