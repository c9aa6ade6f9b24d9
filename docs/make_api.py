"""Writes docs/api.md from the docstrings: `./latticino python docs/make_api.py > docs/api.md`."""

import inspect
import operator
import re

import numpy as np

import latticino as lt

HEAD = """# API reference

Generated from the docstrings by `docs/make_api.py`; the tests compare. All names are in `latticino`
(`import latticino as lt`), those with `tfhe.` in front in `latticino.tfhe`. Units: memory in bytes, time in
seconds, precision in bits (`-log2` of the error). Errors are listed at the end; every one names operation, state, need and remedy.
C++ has a [reference](cpp_api.md) of its own.
"""

GROUPS = {
    "Contexts and parameters": ["Context", "Session", "Residency", "BundleUse", "Params", "preset", "presets", "make_params",
                                "parameter_costs", "ParameterCosts"],
    "Keys": ["keygen", "Client", "ServerKeys", "SharedValues"],
    "Encrypted arrays": ["Ciphertext", "Answer", "concatenate", "stack", "dot", "PrivateArray", "Precision", "precision"],
    "Linear maps": ["linear_map", "matrix_map", "diagonal_map", "convolution_map", "average_pool_map",
                    "convolve", "correlate", "matrix_power", "cov", "corrcoef", "LinearMap", "MapCost", "Layout"],
    "Functions": ["fit", "Fit", "fit_sign", "Sign", "exp", "log", "sin", "cos", "tanh", "sigmoid", "sqrt"],
    "Order and softmax": ["sort", "fit_sort", "Sorting", "top_k", "softmax", "logsumexp"],
    "Plans and programs": ["choose", "Choice", "Candidate", "Plan", "Shape", "Range", "RangeWarning", "Program",
                           "record", "Scalar", "save_program", "load_program", "SavedProgram"],
    "Networks": ["nn", "nn.compile", "nn.load", "nn.Compiled", "nn.Network", "nn.NetworkPlan", "nn.LayerPlan", "nn.Lowered", "nn.Node",
                 "nn.Affine", "nn.Series", "nn.Grid", "nn.UndecidedWarning"],
    "Debugging": ["debug", "SecretWarning", "profile", "Profile", "ProfileRow", "Noise", "progress"],
    "TFHE": ["tfhe", "tfhe.Context", "tfhe.Session", "tfhe.preset", "tfhe.presets", "tfhe.Client", "tfhe.ServerKeys", "tfhe.EncryptedArray",
             "where", "minimum", "maximum", "tfhe.NotEncryptedArray", "tfhe.Plan", "tfhe.Shape"],
    "Files": ["save_params", "load_params", "save_ciphertext", "load_ciphertext", "to_bytes", "from_bytes",
              "save_server_keys", "load_server_keys", "save_secret_key", "load_client", "loads", "unpickling"],
    "Services": ["connect", "Service", "Remote", "Job"],
    "Many processes and machines": ["cluster", "cluster.Executor", "cluster.Result", "cluster.Local", "cluster.Dask", "cluster.Engine"],
    "Errors": ["Error", "ParameterError", "LevelError", "ScaleError", "KeyError", "ContextError", "ShapeError",
               "ValueError", "DeviceError", "OutOfMemoryError", "FileError", "UnsupportedError", "PrecisionError", "ServiceError",
               "ClusterError", "AttributeError", "IndexError", "SecurityWarning"],
}


def markdown(text):
    """A docstring, with its tables and interpreter sessions in Markdown."""
    out, lines, rules = [], text.splitlines(), re.compile(r"=+( +=+)+$")
    while lines:
        if rules.match(lines[0]):
            ends = [m.span() for m in re.finditer("=+", lines.pop(0))]
            cut = [(start, ends[i + 1][0] if i + 1 < len(ends) else None) for i, (start, _) in enumerate(ends)]
            rows = []
            header = [lines[0][a:b].strip() for a, b in cut]
            del lines[:2]
            while not rules.match(lines[0]):
                cells = [lines[0][a:b].strip() for a, b in cut]
                if cells[0]:
                    rows.append(cells)
                else:  # the row continues
                    rows[-1] = [" ".join(filter(None, pair)) for pair in zip(rows[-1], cells)]
                lines.pop(0)
            lines.pop(0)
            out += ["| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows)]
        elif lines[0].startswith(">>> "):
            out.append("```py")
            while lines and lines[0].startswith((">>> ", "... ")):
                out.append(lines.pop(0)[4:])
            out.append("```")
        else:
            out.append(lines.pop(0))
    return "\n".join(out)


def signature(name, thing):
    # Only newer versions of NumPy know the signature of an array, so none is written.
    if isinstance(thing, type) and issubclass(thing, np.ndarray):
        return name
    try:
        text = str(inspect.signature(thing)).replace("_native.", "")
    except (ValueError, TypeError):
        return name
    text = re.sub(r"ForwardRef\('([^']+)'\)", r"\1", text)
    text = re.sub(r"(: |-> )'([^']+)'", r"\1\2", text).replace(" -> None", "")
    return name + re.sub(r"\((self|cls)(, )?", "(", text, count=1)


def entry(name, thing, level):
    text = markdown(inspect.getdoc(thing) or "")
    return f"{'#' * level} `{signature(name, thing)}`\n\n{text}\n"


def _members(cls):
    entries = [operator.attrgetter(name)(lt) for names in GROUPS.values() for name in names]
    seen = set()
    for base in cls.__mro__:
        if base is not cls and base in entries:
            return
        if base is not cls and not base.__module__.endswith("_methods"):
            continue
        yield from ((name, member) for name, member in vars(base).items() if name not in seen)
        seen |= vars(base).keys()


def members(cls):
    """Public methods and properties that the class itself documents, and those of bases that have no entry."""
    for name, member in _members(cls):
        if isinstance(member, property):
            if not name.startswith("_") and member.fget and inspect.getdoc(member.fget):
                yield f"#### `.{name}`\n\n{markdown(inspect.getdoc(member.fget))}\n"
        elif isinstance(member, (classmethod, staticmethod)) or inspect.isfunction(member):
            plain = inspect.unwrap(getattr(member, "__func__", member))
            shown = not name.startswith("_") or name in ("__matmul__", "__call__", "__getitem__")
            # Special methods without a docstring have that of `object`.
            if shown and (plain.__doc__ if name.startswith("_") else inspect.getdoc(plain)):
                yield entry("." + name, plain, 4)


def native_members(cls):
    """The same for a class of the extension, with one line per member: `.name` or `.name(arguments) -> type`, and its
    description."""
    for name, member in vars(cls).items():
        if name.startswith("_") or not (isinstance(member, property) or callable(member)):
            continue
        head, _, told = ("", "", member.__doc__) if isinstance(member, property) else member.__doc__.partition("\n\n")
        shown = head.replace("self, ", "").replace("self", "") or name
        yield f"- `.{shown}`: {' '.join(told.split())}"


def text():
    parts = [HEAD]
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n")
        for name in names:
            thing = operator.attrgetter(name)(lt)
            if inspect.ismodule(thing):
                parts.append(f"{inspect.getdoc(thing)}\n")
            elif inspect.isclass(thing):
                head = name if title == "Errors" or thing.__module__.endswith("_native") else signature(name, thing)
                parts.append(f"### `{head}`\n\n{markdown(inspect.getdoc(thing) or '')}\n")
                if title != "Errors" and not thing.__module__.endswith("_native"):
                    parts += members(thing)
                elif title != "Errors":
                    parts.append("\n".join(native_members(thing)) + "\n")
            else:
                parts.append(entry(name, thing, 3))
    return "\n".join(parts)


if __name__ == "__main__":
    print(text(), end="")
