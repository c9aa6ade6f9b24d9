"""Advice for numpy functions that the encrypted arrays of neither scheme have."""

# For functions that only rearrange values.
SHAPE_REMEDIES = {
    "append": "lt.concatenate([x, y], axis)", "column_stack": "lt.stack([x, y], axis=-1)",
    "dstack": "lt.stack([x, y], axis=-1)", "tile": "lt.concatenate([x] * n, axis)",
    **dict.fromkeys(("insert", "delete"), "lt.concatenate of slices"),
    "pad": "lt.concatenate([x, zeros]) with encrypted zeros, such as x[:n] * 0",
    **dict.fromkeys(("split", "array_split", "hsplit", "vsplit", "dsplit"), "slices: [x[:n], x[n:]]"),
    "fliplr": "x.flip(1)", "flipud": "x.flip(0)", "rot90": "x.swapaxes(0, 1).flip(0)",
    "rollaxis": "x.moveaxis(source, destination)",
    **dict.fromkeys(("atleast_1d", "atleast_2d", "atleast_3d"), "x.reshape(shape)"),
    "broadcast_arrays": "x.broadcast_to(shape)",
    "diag": "x.diagonal(), or x * np.eye(n) for a matrix with these values on its diagonal",
    "triu": "x * np.triu(np.ones(x.shape))", "tril": "x * np.tril(np.ones(x.shape))",
    **dict.fromkeys(("zeros_like", "ones_like", "full_like", "empty_like"),
                    "np.zeros(x.shape) and the like, or x * 0 for encrypted zeros"),
    **dict.fromkeys(("compress", "extract"), "x[mask] with a mask in the clear"),
    **dict.fromkeys(("diff", "ediff1d"), "x[..., 1:] - x[..., :-1]"), "flat": "x.ravel()", "mT": "x.swapaxes(-1, -2)",
    "matrix_transpose": "x.swapaxes(-1, -2)", "permute_dims": "x.transpose(axes)", "nansum": "x.sum(axis)",
    "take_along_axis": "x[index] with arrays of indices in the clear"}
