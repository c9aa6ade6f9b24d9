"""The scheme CKKS: contexts, clients, keys, encrypted arrays, plans, sessions."""
