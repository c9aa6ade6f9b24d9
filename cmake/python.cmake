# Python extension (nanobind).
