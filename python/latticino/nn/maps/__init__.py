"""Affine maps on slots: as diagonals between two packings, and in two steps."""
