"""The table "Size of the source tree" of docs/architecture.md, before and now.

``./latticino python docs/house_numbers.py --write`` writes it again. Without an argument the program prints the numbers
of the working tree, with commits (``... 2cdb7c5 HEAD``) those of each. It counts tracked files; lines as ``wc -l``
counts them; the includes that tests/python/house/test_house.py refuses; and circles of imports as ``cycles`` below
defines them.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import re
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ("src", "include", "python", "tests", "bench")
CODE = (".cc", ".h", ".cu", ".cuh", ".py", ".pyi")
PLUMBING = ("src/ops/", "src/backend/", "src/runtime/", "src/conformance/")  # what every record uses
RECORD = "SampleGaussian"  # the record that was added last
PAGE = ROOT / "docs" / "architecture.md"
BEFORE = "2cdb7c5"
MARKED = re.compile(r"(?<=<!-- house -->\n).*?(?=<!-- end -->)", re.DOTALL)
ARRAY = "python/latticino/ckks/ciphertext.py"  # CKKS arrays in Python
METHODS = ("bootstrap_with", "relu")  # methods of Ciphertext that were added late; only C++ and Python have the first
Tree = dict[str, str]


def house() -> ModuleType:
    spec = importlib.util.spec_from_file_location("test_house", ROOT / "tests/python/house/test_house.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def working_tree() -> Tree:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    return {name: (ROOT / name).read_text(errors="replace") for name in paths}


def tree(commit: str) -> Tree:
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return {m.name: f.read().decode(errors="replace") for m in archive if (f := archive.extractfile(m)) is not None}


def code(files: Tree, room: str) -> Tree:
    return {name: text for name, text in files.items() if name.startswith(room + "/") and name.endswith(CODE)}


def crowded(files: Tree) -> Counter[str]:
    """Files of each folder of source, without those of its folders."""
    return Counter(str(PurePosixPath(name).parent) for room in SOURCE for name in code(files, room))


def upward(files: Tree) -> list[str]:
    """Includes that point to a later folder, in the order that the tests use today."""
    rules, found = house(), []
    for name, text in code(files, "src").items():
        room = name.split("/")[1]
        if room not in rules.ALLOWED:  # a file of src itself
            continue
        for path in re.findall(r'^\s*#include "([^"]+)"', text, re.MULTILINE):
            used = path.split("/")[0]
            public = used == "latticino" and path not in ("latticino/errors.h", "latticino/values.h")
            above = used in rules.ROOMS and used not in rules.ALLOWED[room] and path != "math/errors.h"
            if above or (public and room != "session"):
                found.append(f"{name} includes {path}")
    return found


def at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported: none inside functions, none under TYPE_CHECKING."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from at_import(node.orelse)
            continue
        yield node
        for part in ("body", "orelse", "finalbody"):
            yield from at_import(getattr(node, part, []))
        for handler in getattr(node, "handlers", []):
            yield from at_import(handler.body)


def at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    """All statements that can run, also inside functions, but nothing under TYPE_CHECKING."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from at_run_time(ast.Module(child.orelse, []))
        else:
            yield child
            yield from at_run_time(child)


WALKS: dict[str, Callable[[ast.Module], Iterator[ast.AST]]] = {
    "import": lambda parsed: at_import(parsed.body), "run time": at_run_time, "types": ast.walk}


def imports(files: Tree, when: str = "import") -> dict[str, set[str]]:
    """{module: modules of the package that it imports}: when it is imported itself, at ``"run time"`` (imports inside
    functions too), or for ``"types"`` (also those for type checkers alone).

    ``from .a import b`` names the module a.b where there is one, else a. That importing a.b runs the ``__init__`` of a
    first is not counted: the language does so for every module of a package.
    """
    source = code(files, "python/latticino")  # with _native.pyi, which stands for the extension
    dotted = {name: ".".join(PurePosixPath(name).with_suffix("").parts[1:]) for name in source}
    modules = {name: module.removesuffix(".__init__") for name, module in dotted.items()}
    known, uses = set(modules.values()), {}
    for name, module in modules.items():
        package = module if name.endswith("__init__.py") else module.rpartition(".")[0]
        used = uses[module] = set[str]()
        parsed = ast.parse(source[name])
        for node in WALKS[when](parsed):
            if isinstance(node, ast.Import):
                used |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                base = ".".join(package.split(".")[:len(package.split(".")) - node.level + 1]) if node.level else ""
                target = ".".join(part for part in (base, node.module) if part)
                used |= {inner if (inner := f"{target}.{alias.name}") in known else target for alias in node.names}
        uses[module] = (used & known) - {module}
    return uses


def cycles(uses: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that can all reach each other by imports (strongly connected components of two and more).
    """
    def reached(start: str) -> set[str]:
        seen, waiting = set[str](), [start]
        while waiting:
            for module in uses[waiting.pop()] - seen:
                seen.add(module)
                waiting.append(module)
        return seen

    to = {module: reached(module) for module in uses}
    groups = {frozenset(m for m in to[module] if module in to[m]) for module in uses if module in to[module]}
    return sorted(sorted(group) for group in groups)


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def places_of_record(files: Tree, record: str) -> list[str]:
    """Files of operations, backends, runtime and conformance that name a record outside of comments."""
    return sorted(name for name, text in files.items() if name.startswith(PLUMBING) and name.endswith(CODE)
                  and re.search(rf"\b{record}\b", without_comments(text)))


def places_of_method(files: Tree, method: str) -> list[str]:
    """Files of the library, C++ and Python, that define, declare, call or bind a method by this name."""
    def named(text: str) -> bool:
        return re.search(rf'\.{method}\b(?=,|\))|"{method}"|\b{method}\(', without_comments(text)) is not None
    searched = {name: text for room in ("src", "include", "python") for name, text in code(files, room).items()}
    return sorted(name for name, text in searched.items() if named(text))


def methods_of_arrays(files: Tree) -> list[str]:
    """The public methods of Python's ``Ciphertext`` that are no properties."""
    classes = (node for node in ast.parse(files[ARRAY]).body if isinstance(node, ast.ClassDef))
    body = next(node for node in classes if node.name == "Ciphertext").body
    return [f.name for f in body if isinstance(f, ast.FunctionDef) and not f.name.startswith("_")
            and not any(ast.unparse(d).endswith(("property", "setter")) for d in f.decorator_list)]


def places_of_definition(files: Tree, method: str) -> list[str]:
    """Files that a method of CKKS arrays is written in: those that declare it, define it, bind it for Python, or
    translate its name in errors. Files that only call it, and the extension's stub, which a command writes, do not
    count."""
    python = {f"python/latticino/{room}/": rf"^ *def {method}\(" for room in ("ckks", "ops", "functions")}
    patterns = {"include/latticino/array.h": rf"^  [\w:<>&, ]+ {method}\(",
                "src/session/ckks/": rf"\bArray::{method}\(", "python/bindings/": f'"{method}"', **python}
    # Bindings of other classes have methods of the same names.
    rooms = ("tfhe", "switching", "known", "signing", "files", "bundles")
    others = tuple(f"python/bindings/{room}" for room in rooms)

    def written(name: str, text: str) -> bool:
        return any(name.startswith(room) and re.search(pattern, without_comments(text), re.MULTILINE)
                   for room, pattern in patterns.items())

    return sorted(name for name, text in files.items()
                  if name.endswith(CODE) and not name.startswith(others) and written(name, text))


def column(files: Tree) -> dict[str, str]:
    def size(room: str) -> str:
        held = code(files, room)
        return f"{len(held)} files, {sum(text.count(chr(10)) for text in held.values()):,} lines" if held else "-"

    rooms = sorted({"/".join(name.split("/")[:2]) for name in code(files, "src") if name.count("/") > 1})
    def circles(when: str) -> str:
        uses = imports(files, when)
        found = cycles(uses)
        return f"{len(found)} group{'s' * (len(found) != 1)}, {sum(map(len, found))} of {len(uses)} modules"

    folders = crowded(files)
    largest = folders.most_common(1)[0]
    rooms += ["include", "python/latticino", "python/bindings", "tests", "bench"]
    table = {f"`{room}`": size(room) for room in rooms}
    table["largest folder of source, files"] = f"`{largest[0]}`, {largest[1]}"
    table["folders of source with more than 30 files"] = str(sum(n > 30 for n in folders.values()))
    table["upward includes of C++"] = str(len(upward(files)))
    table["import cycles of the Python package, when it is imported"] = circles("import")
    table["the same, with imports inside functions"] = circles("run time")
    table["the same, with imports for type checkers too"] = circles("types")
    table[f"files that name the record `{RECORD}`"] = str(len(places_of_record(files, RECORD)))
    for method in METHODS:
        table[f"files that name the method `{method}`"] = str(len(places_of_method(files, method)) or "-")
    if ARRAY in files:
        counts = {method: len(places_of_definition(files, method)) for method in methods_of_arrays(files)}
        table["methods of CKKS arrays that are written in at most 4 files"] = (
            f"{sum(n <= 4 for n in counts.values())} of {len(counts)}")
    return table


def printed(columns: dict[str, dict[str, str]]) -> str:
    rows = list(dict.fromkeys(row for cells in columns.values() for row in cells))
    order = [r for r in rows if r.startswith("`src")] + [r for r in rows if not r.startswith("`src")]
    lines = [f"| | {' | '.join(columns)} |", f"|---{'|---' * len(columns)}|"]
    lines += [f"| {row} | {' | '.join(cells.get(row, '-') for cells in columns.values())} |" for row in order]
    return "\n".join(lines)


def on_page(text: str) -> dict[str, dict[str, str]]:
    """The columns of the table in a page, as `column` gives them."""
    found = MARKED.search(text)
    assert found is not None
    head, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[0].strip().splitlines()]
    return {name: {line[0]: line[i] for line in lines} for i, name in enumerate(head) if name}


def main() -> None:
    commits = sys.argv[1:]
    if commits == ["--write"]:
        made = printed({f"before: {BEFORE}": column(tree(BEFORE)), "now": column(working_tree())})
        PAGE.write_text(MARKED.sub(lambda _: f"\n{made}\n\n", PAGE.read_text()))
        return
    print(printed({commit: column(tree(commit)) for commit in commits} or {"working tree": column(working_tree())}))


if __name__ == "__main__":
    main()
