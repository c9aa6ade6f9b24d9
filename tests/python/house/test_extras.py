"""The extras of the package, by name: compared are its metadata, the extras that the code names, and the versions
pinned for tests."""

import ast
import re
import sys
from email.parser import Parser
from pathlib import Path

import pytest

import latticino as lt

packaging = pytest.importorskip("packaging.requirements")
ROOT = Path(__file__).resolve().parents[3]
LIBRARY = ROOT / "python" / "latticino"
# What `./latticino` installs for each extra, beside requirements.txt.
PINNED = {"demo": [], "nn": ["networks"], "serve": ["serve"], "cluster": ["cluster"], "sign": [], "test": []}
# What the code imports by another name, or by way of a package of the extra.
NAMES = {"sklearn": "scikit-learn", "prometheus_client": "prometheus-client", "starlette": "fastapi"}
# Optional packages, without which only some features are missing: a progress bar, notebooks, type hints, programs of
# others.
FREE = {"IPython", "tenseal", "openfhe", "typing_extensions"}


@pytest.fixture(scope="module")
def metadata(tmp_path_factory):
    """The metadata of a wheel, as the build makes it. Nothing is compiled."""
    build = pytest.importorskip("scikit_build_core.build")
    folder = tmp_path_factory.mktemp("metadata")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        made = build.prepare_metadata_for_build_wheel(str(folder))
    return Parser().parsestr((folder / made / "METADATA").read_text())


@pytest.fixture(scope="module")
def extras(metadata):
    """The requirements of each extra."""
    found = {name: [] for name in metadata.get_all("Provides-Extra")}
    for text in metadata.get_all("Requires-Dist"):
        need = packaging.Requirement(text)
        own = [name for name in found if need.marker is not None and need.marker.evaluate({"extra": name})]
        assert len(own) == (0 if need.marker is None else 1), text
        for name in own:
            found[name].append(need)
    return found


def pinned(*files):
    """The versions in files of requirements, by names of packages."""
    out = {}
    for path in files:
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                need = packaging.Requirement(line)
                version, = need.specifier
                assert version.operator == "==", line
                out.setdefault(need.name.lower(), []).append((version.version, need.extras))
    return out


def test_the_metadata_names_every_extra(extras):
    assert set(extras) == set(PINNED) and all(extras.values())
    for page in ("docs/wheels.md", "docs/serving.md", "docs/scaling.md", "docs/security.md", "Containerfile"):
        for name in re.findall(r"(?:'\.|whl\)\"|`)\[(\w+)\]", (ROOT / page).read_text()):
            assert name in extras, (page, name)
    listed = re.findall(r"`\[(\w+)\]` \(", (ROOT / "docs/wheels.md").read_text())
    assert sorted(listed) == sorted(set(extras) - {"test"})


@pytest.mark.parametrize("name", PINNED)
def test_what_is_pinned_is_what_an_extra_allows(extras, name):
    """Tests run with the same packages that a user gets who installs the extra: no package is missing, and each version
    fits."""
    own = [ROOT / "requirements" / f"{file}.txt" for file in PINNED[name]]
    versions = pinned(ROOT / "requirements.txt", *own)
    for need in extras[name]:
        assert need.name.lower() in versions, f"[{name}] needs {need.name}, which no file of requirements pins"
        for version, parts in versions[need.name.lower()]:
            assert need.specifier.contains(version), f"[{name}] needs {need}; {version} is pinned"
            assert need.extras <= parts
    # These have files of their own; other packages that they pin belong to packages of the extra.
    if name in ("serve", "cluster"):
        assert set(pinned(*own)) - {need.name.lower() for need in extras[name]} <= {"dask"}


def asked_for():
    """The extra that each file of the library names in its errors, and what the file imports from elsewhere."""
    for path in sorted(LIBRARY.rglob("*.py")):
        tree, names, imported = ast.parse(path.read_text()), set(), set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "errors.install":
                names.add(ast.literal_eval(node.args[0]))
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            if isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(node.module.partition(".")[0])
        yield path.relative_to(LIBRARY).as_posix(), names, imported - set(sys.stdlib_module_names) - {"latticino", "latticino_command", "numpy"}


@pytest.mark.slow
def test_errors_name_extras_that_bring_what_lacks(extras):
    """A user who follows an error's advice gets the package that was missing."""
    files = list(asked_for())
    assert {name for _, names, _ in files for name in names} == set(extras) - {"test"}
    brought = {name: {need.name for need in needs} for name, needs in extras.items()}
    for path, names, imported in files:
        lacking = {NAMES.get(module, module) for module in imported - FREE}
        if path.startswith("serve/"):
            names = names | {"serve"}
        if names:
            assert lacking <= set().union(*(brought[name] for name in names)), path
        assert lacking <= set().union(*brought.values()), path
    assert lt.errors.install("nn") == "from a checkout of Latticino: pip install '.[nn]'"


def test_a_server_checks_for_packages_of_its_extra(extras):
    from latticino.serve import packages
    brought = {need.name for need in extras["serve"]}
    assert {NAMES.get(name, name) for name in packages.NAMES} <= brought and {"httptools", "psycopg"} <= brought
