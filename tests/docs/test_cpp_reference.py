"""docs/cpp_api.md has all of the public headers.

Where Doxygen is, the page is made again and compared. Everywhere, the names that the headers declare are compared with those that
the page shows, so that a name which somebody adds cannot be forgotten.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "cpp_api.md"
PROGRAM = ROOT / "docs" / "make_cpp_api.py"
AGAIN = "write it again: ./latticino python docs/make_cpp_api.py (needs Doxygen: sudo apt-get install doxygen)"

needs_doxygen = pytest.mark.skipif(
    not shutil.which("doxygen"), reason="Doxygen is missing; install it with: sudo apt-get install doxygen")


def loaded():
    spec = importlib.util.spec_from_file_location("make_cpp_api", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = loaded()


# ---- with Doxygen ----------------------------------------------------------------------------


@needs_doxygen
def test_the_page_is_up_to_date():
    """A warning of Doxygen is an error here, too."""
    assert PAGE.read_text() == make.document(), AGAIN


def changed_headers(tmp_path, name, old, new):
    folder = tmp_path / "include" / "latticino"
    shutil.copytree(ROOT / "include" / "latticino", folder)
    text = (folder / name).read_text()
    assert text.count(old) == 1
    (folder / name).write_text(text.replace(old, new))
    return tmp_path


@needs_doxygen
@pytest.mark.parametrize(("old", "new", "said"), [
    ("  double scale() const;      ", "  double other() const;\n  double scale() const;  ", r"latticino/array\.h:\d+: .*other\(\) const .*not documented"),
    ("  /// x^n for n >= 1,", "  /// \\param m the exponent\n  /// x^n for n >= 1,", r"'m' .*not found in the argument list"),
    ("  /// x^n for n >= 1,", "  /// | a |\n  /// |---|\n  /// | b |\n  ///\n  /// x^n for n >= 1,", r"cannot write <table>"),
], ids=["no description", "no such parameter", "no Markdown for it"])
def test_what_the_page_cannot_show_is_refused(tmp_path, old, new, said):
    root = changed_headers(tmp_path, "array.h", old, new)
    with pytest.raises(make.Refused) as refused:
        make.document(root)
    assert re.search(said, str(refused.value)), refused.value


SHOWN = """\
/// A class to show.
template <class T, int n = 3>
class Shown : public Base<T> {
 public:
  /// \\{
  /// Two of them.
  static const std::vector<std::span<const T>>& all(T*& x, T&& y = {}, const char* z = "a, b");
  T operator[](int i) const;
  /// \\}
  /// An enumeration.
  enum Old {
    kOne,  ///< the first
  };
  T x{1};  ///< a value
  /// Takes a number.
  ///
  /// And says nothing.
  /// \\param x the number
  void take(std::optional<int> x);
  /// Gives one of these:
  ///
  /// - one
  /// - `two` < 3
  int given() const;

 private:
  int hidden = 0;
};
"""
WRITTEN = """\
### `template <class T, int n = 3> class Shown : public Base<T>`

A class to show.

- Two of them.
    - `static const std::vector<std::span<const T>>& all(T*& x, T&& y = {}, const char* z = "a, b")`
    - `T operator[] (int i) const`
- `enum Old`: An enumeration.
    - `kOne`: the first
- `T x{1}`: a value
- `void take(std::optional<int> x)`: Takes a number.

    And says nothing.

    - `x`: the number
- `int given() const`: Gives one of these:
    - one
    - `two` < 3

"""


@needs_doxygen
def test_declarations_are_written_as_in_the_headers(tmp_path):
    last = "/// The inner product of two encrypted vectors."
    page = make.document(changed_headers(tmp_path, "array.h", last, SHOWN + last))
    start = page.index("### `template <class T, int n = 3>")
    assert page[start : page.index("#### `Array matmul(const Array& x, const Array& y)`")] == WRITTEN


# ---- without it ------------------------------------------------------------------------------


def test_without_doxygen_the_program_says_how_to_install_it(tmp_path):
    before = PAGE.stat()
    done = subprocess.run([sys.executable, PROGRAM], env=dict(os.environ, PATH=str(tmp_path)), text=True, capture_output=True)
    assert done.returncode == 1 and not done.stdout
    assert re.fullmatch(r"make_cpp_api\.py: Doxygen is missing, .*sudo apt-get install -y doxygen.*\n", done.stderr)
    assert PAGE.stat().st_mtime_ns == before.st_mtime_ns and PAGE.stat().st_size == before.st_size


def without_bodies(text):
    """C++ without the bodies of functions: blocks in braces behind a parenthesis, perhaps with `const` between."""
    kept, depth, inside = [], 0, []
    for at, c in enumerate(text):
        if c == "{":
            body = bool(re.search(r"\)\s*(const\s*)?$", text[max(0, at - 99):at])) or any(inside)
            inside.append(body)
            depth += body
            kept.append(";\n" if body and depth == 1 else "" if body else c)
        elif c == "}":
            body = inside.pop()
            depth -= body
            kept.append("" if body else c)
        elif not depth:
            kept.append(c)
    return "".join(kept)


def public(header):
    """The declarations of a header that programs may use."""
    text = re.sub(r"/// \\cond\n.*?/// \\endcond\n", "", header, flags=re.DOTALL)
    text = re.sub(r"^namespace (detail|session) \{.*?^\}  // namespace \1$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^ private:.*?^\};", "};", text, flags=re.DOTALL | re.MULTILINE)
    return without_bodies(re.sub(r"//.*|^#.*", "", text, flags=re.MULTILINE))


def functions(code):
    """How often each name is declared as a function, in lines that begin a declaration."""
    names = Counter()
    for line in code.splitlines():
        if operator := re.match(r"(?:  )?\S[^(]*?\boperator ?(\[\]|\(\)|[^\w\s(]+) ?\(", line):
            names["operator" + operator[1]] += 1
        elif re.match(r"(?:  )?[\w~]", line) and not re.match(r"\s*using ", line):
            plain = line
            while plain != (plain := re.sub(r"<[^<>]*>", "", plain)):
                pass
            if name := re.match(r"[^(=]*?([\w~]+)\(", plain):
                names[name[1]] += 1
    return names


def classes(code):
    """Names of classes, enumerations, aliases and concepts. Forward declarations do not count."""
    found = re.findall(r"^ *(?:template <.*> ?)?(?:class|struct|enum class) (?:LATTICINO_API )?(\w+)(?= [:{]|$)", code, re.MULTILINE)
    return {*found, *re.findall(r"^ *(?:using|(?:template <.*> )?concept) (\w+) =", code, re.MULTILINE)}


def sections(page):
    """What each header has on the page, as lines of code."""
    for name, text in re.findall(r"^## `latticino/([\w.]+)`\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE):
        lines = re.findall(r"^(?: *- |#+ )`([^`\n]+)`(?=:|$)", text, re.MULTILINE)
        names = [line for line in lines if not re.fullmatch(r"\w+|operator\S+", line)]
        blocks = re.findall(r"^```cpp\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        yield name, "\n".join([*names, *blocks])


def missing(headers, page):
    """Names that a header declares and its section does not show, or the other way round."""
    shown = dict(sections(page))
    for name, header in headers.items():
        code = public(header)
        for kind in (functions, lambda text: Counter(classes(text))):
            declared, written = kind(code), kind(shown.get(name, ""))
            yield from (f"{name}: {each}" for each in sorted({*(declared - written), *(written - declared)}))


def headers():
    found = {path.name: path.read_text() for path in sorted((ROOT / "include/latticino").glob("*.h"))}
    return {name: text for name, text in found.items() if name not in make.WITHOUT_ENTRIES}


def test_every_public_name_is_on_the_page():
    assert set(headers()) == set(make.ORDER) == set(dict(sections(PAGE.read_text())))
    assert list(missing(headers(), PAGE.read_text())) == [], AGAIN


@pytest.mark.parametrize(("name", "before", "new", "lacks"), [
    ("array.h", "  Array conj() const;", "  Array inverse(int n,\n                std::function<void(int)> f = {}) const;\n", "inverse"),
    ("array.h", "  Array conj() const;", "  Array rotate(int by) const { return rotate(by); }\n", "rotate"),
    ("array.h", "/// The inner product", "LATTICINO_API Array operator%(const Array& x, const Array& y);\n", "operator%"),
    ("context.h", "/// A bundle of server keys", "struct LATTICINO_API Bundle {\n  int n = 0;\n};\n", "Bundle"),
    ("tfhe.h", "/// Options of a context", "using TfheShape = std::vector<int>;\n", "TfheShape"),
], ids=["method", "overload", "operator", "class", "alias"])
def test_a_name_that_the_page_lacks_is_found(name, before, new, lacks):
    all_headers = headers()
    assert all_headers[name].count(before) == 1
    all_headers[name] = all_headers[name].replace(before, new + before)
    assert list(missing(all_headers, PAGE.read_text())) == [f"{name}: {lacks}"]


def test_a_name_that_the_headers_lack_is_found():
    page = PAGE.read_text().replace("- `Array conj() const`", "- `Array conjugate() const`")
    assert list(missing(headers(), page)) == ["array.h: conj", "array.h: conjugate"]
