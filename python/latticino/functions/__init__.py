"""Functions of encrypted arrays by polynomials: docs/functions.md."""
