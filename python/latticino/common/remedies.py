"""Advice for numpy functions that the encrypted arrays of neither scheme have."""

# For functions that only rearrange values.
SHAPE_REMEDIES = {
    "append": "lt.concatenate([x, y], axis)",
    "column_stack": "lt.stack([x, y], axis=-1) of vectors, lt.concatenate([x, y], axis=1) of matrices",
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
    "diff": "x[..., 1:] - x[..., :-1]", "ediff1d": "x.ravel()[1:] - x.ravel()[:-1]", "unstack": "list(x)",
    "flat": "x.ravel()", "mT": "x.swapaxes(-1, -2)",
    "matrix_transpose": "x.swapaxes(-1, -2)", "permute_dims": "x.transpose(axes)", "nansum": "x.sum(axis)",
    "add.outer": "x.reshape(-1, 1) + y.reshape(-1) of vectors", "iscomplexobj": "x.dtype", "isrealobj": "x.dtype",
    "multiply.outer": "x.reshape(-1, 1) * y.reshape(-1) of vectors", "result_type": "x.dtype",
    "trace": "x.trace(axis1=-2, axis2=-1)", "diagonal": "x.diagonal(axis1=-2, axis2=-1)",
    "take_along_axis": "x[index] with arrays of indices in the clear"}

# For options of numpy's functions. Without most of them the result would be another one.
OPTION_REMEDIES = {
    "order": "in the order F, x.reshape(shape) is x.T.reshape(shape[::-1]).T, and x.ravel() is x.T.ravel()",
    "where": "select the values first: x[mask], or x * mask with zeros and ones",
    "initial": "combine it with the result: x.sum(axis) + initial, x.prod(axis) * initial",
    "correction": "pass ddof in its place", "mode": "pass indices within the array, such as indices % n",
    "keepdims": "leave it out, and put the axis back with expand_dims(axis)"}
