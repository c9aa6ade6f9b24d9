"""Writes docs/cpp_api.md from the public headers: `./latticino python docs/make_cpp_api.py`.

Doxygen reads the headers (docs/Doxyfile), and this program turns its XML into Markdown in the look of docs/api.md. A
warning of Doxygen ends it and leaves the page as it was. The page is kept in the repository, so only this program needs
Doxygen.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "cpp_api.md"
MISSING = ("Doxygen is missing, which reads the headers; install it (1.9.4 or later) with: "
           "sudo apt-get install -y doxygen")
ORDER = ["context.h", "client.h", "array.h", "values.h", "plan.h", "recording.h", "params.h", "tfhe.h", "switching.h",
         "files.h", "errors.h"]
WITHOUT_ENTRIES = {"latticino.h", "export.h"}  # includes alone, and a macro
HEAD = """# C++ reference

Generated from the public headers by Doxygen and `docs/make_cpp_api.py`; the tests compare. All names are in the
namespace `latticino`; `#include <latticino/latticino.h>` brings all of them. [The page on C++](cpp.md) begins with
examples.
Units: memory in bytes, time in seconds, precision in bits (`-log2` of the error).
"""
DEEPER = "    "  # Markdown's indentation of what belongs to an entry of a list


class Refused(Exception):
    """The page cannot be made; the text says what to do."""


# ---- Doxygen ---------------------------------------------------------------------------------


def compounds(root):
    """What Doxygen says of the headers below a root: every class, concept, namespace and file."""
    program = shutil.which("doxygen")
    if program is None:
        raise Refused(MISSING)
    with tempfile.TemporaryDirectory() as folder:
        settings = (ROOT / "docs" / "Doxyfile").read_text() + f'OUTPUT_DIRECTORY = "{folder}"\n'
        done = subprocess.run([program, "-"], input=settings, cwd=root, text=True, capture_output=True)
        warnings = (done.stdout + done.stderr).replace(f"{root}/", "").strip()
        if done.returncode or warnings:
            raise Refused(f"Doxygen ended with {done.returncode}; mend the comments in the headers:\n{warnings}")
        xml = Path(folder, "xml")
        for listed in ElementTree.parse(xml / "index.xml").getroot().iter("compound"):
            yield ElementTree.parse(xml / f"{listed.get('refid')}.xml").getroot().find("compounddef")


def place(element):
    """The header of a declaration, and where in it."""
    at = element.find("location")
    return Path(at.get("file")).name, int(at.get("line")), int(at.get("column"))


# ---- descriptions ----------------------------------------------------------------------------


def words(element):
    """The text of a paragraph, as Markdown in one line."""
    parts = [element.text or ""]
    for inner in element:
        if inner.tag == "computeroutput":
            parts.append(f"`{''.join(inner.itertext())}`")
        elif inner.tag == "ref":
            parts.append("".join(inner.itertext()))
        elif inner.tag not in ("parameterlist", "itemizedlist"):  # these two are blocks of their own
            near = " ".join("".join(parts).split())
            raise Refused(f"docs/make_cpp_api.py cannot write <{inner.tag}> of Doxygen, which follows: {near}")
        parts.append(inner.tail or "")
    return " ".join("".join(parts).split())


def listed(element):
    """A list inside a paragraph: parameters with their meaning, or points."""
    for item in element.findall("parameteritem"):
        names = ", ".join(f"`{name.text}`" for name in item.iter("parametername"))
        yield f"- {names}: " + " ".join(map(words, item.findall("parameterdescription/para")))
    for item in element.findall("listitem"):
        yield "- " + " ".join(map(words, item.findall("para")))


def description(element):
    """The blocks of a description, each a paragraph or a list."""
    blocks = []
    for para in (*element.findall("briefdescription/para"), *element.findall("detaileddescription/para")):
        if text := words(para):
            blocks.append(text)
        for inner in para:
            if inner.tag in ("parameterlist", "itemizedlist"):
                blocks.append("\n".join(listed(inner)))
    return blocks


# ---- declarations ----------------------------------------------------------------------------


def code(element, name):
    """The code of a part of a declaration, spaced as the headers are."""
    found = element.find(name)
    text = "" if found is None else " ".join("".join(found.itertext()).split())
    text = text.replace("< ", "<").replace(" >", ">")
    text = re.sub(r" (&&?|\*+)(?=\w)", r"\1 ", text)
    return re.sub(r" (&&?|\*+)(?=\W|$)", r"\1", text)


def argument(param):
    text, name, default = (code(param, part) for part in ("type", "declname", "defval"))
    return f"{text} {name}".strip() + (f" = {default}" if default else "")


def template(element):
    given = element.find("templateparamlist")
    if given is None:
        return ""
    return f"template <{', '.join(map(argument, given.findall('param')))}> "


def initializer(element):
    text = code(element, "initializer")
    return re.sub(r"^= ?", " = ", text)


def type_of(member):
    """The type alone. Versions of Doxygen differ in which of these words belong to it."""
    return " ".join(word for word in code(member, "type").split() if word not in ("constexpr", "inline", "static"))


def function(member):
    static = "static" if member.get("static") == "yes" else ""
    words = [template(member).strip(), static, type_of(member), member.findtext("name")]
    arguments = ", ".join(map(argument, member.findall("param")))
    return " ".join(filter(None, words)) + f"({arguments})" + (" const" if member.get("const") == "yes" else "")


def declaration(member):
    """A member or a name of the namespace, as the page shows it."""
    kind, name = member.get("kind"), member.findtext("name")
    if kind == "function":
        return function(member)
    if kind == "variable":
        return f"{type_of(member)} {name}{initializer(member)}"
    if kind == "typedef":
        return f"using {name} = {code(member, 'type')}"
    if kind == "enum":
        return f"enum class {name}" if member.get("strong") == "yes" else f"enum {name}"
    raise Refused(f"docs/make_cpp_api.py cannot write a {kind}: {name}")


def head(compound):
    """The head of a class or a concept."""
    kind, name = compound.get("kind"), compound.findtext("compoundname").removeprefix("latticino::")
    if kind == "concept":
        return f"{template(compound)}concept {name} = {code(compound, 'initializer').partition(' = ')[2].strip()}"
    bases = ", ".join(f"{base.get('prot')} {code(base, '.')}".replace("latticino::", "")
                      for base in compound.findall("basecompoundref"))
    return f"{template(compound)}{kind} {name}" + (f" : {bases}" if bases else "")


def members(compound):
    """Public members in their order, without constructors that `using` takes from a base."""
    own = compound.findtext("compoundname").rpartition("::")[2]
    found = {member.get("id"): member for member in compound.iter("memberdef") if member.get("prot") == "public"}
    for member in sorted(found.values(), key=place):
        name = member.findtext("name")
        constructor = member.get("kind") == "function" and not code(member, "type")
        if not constructor or name == own or name.startswith(("operator", "~")):
            yield member


# ---- the page --------------------------------------------------------------------------------


def shown(text):
    return f"`{text.replace('](', '] (')}`"  # `operator[](` would begin a link


def indented(blocks):
    """Blocks below the first line of an entry. Only a list may follow that line at once."""
    for at, block in enumerate(blocks):
        yield ("\n" if at == 0 and block.startswith("- ") else "\n\n") + DEEPER + block.replace("\n", "\n" + DEEPER)


def point(member):
    """An entry of the list of a class's members."""
    first, *more = description(member)
    more += ["\n".join(values(member))] if member.get("kind") == "enum" else []
    return f"- {shown(declaration(member))}: {first}" + "".join(indented(more))


def values(enum):
    for value in enum.findall("enumvalue"):
        yield f"- `{value.findtext('name')}`: {' '.join(description(value))}"


def points(compound):
    """The list of a class's members. Members that share a description are below it."""
    for blocks, same in groupby(members(compound), description):
        same = list(same)
        if len(same) == 1:
            yield point(same[0])
        else:
            names = "\n".join(f"- {shown(declaration(member))}" for member in same)
            yield f"- {blocks[0]}" + "".join(indented([*blocks[1:], names]))


def entry(same):
    """One name of the namespace, or several that share a description."""
    first = same[0]
    if first.tag == "compounddef":
        rest = [] if first.get("kind") == "concept" else ["\n".join(points(first))]
        level = "####" if first.get("kind") == "concept" else "###"
        return [f"{level} {shown(head(first))}", *description(first), *filter(None, rest)]
    if first.get("kind") == "enum":
        return [f"### {shown(declaration(first))}", *description(first), "\n".join(values(first))]
    if len(same) == 1:
        return [f"#### {shown(declaration(first))}", *description(first)]
    names = ", ".join(dict.fromkeys(f"`{member.findtext('name')}`" for member in same))
    block = "```cpp\n" + "\n".join(map(declaration, same)) + "\n```"
    return [f"#### {names}", *description(first), block]


def shared(element):
    """What neighbours have in common that make one entry. A class, a concept and an enumeration stand alone."""
    return description(element) if element.get("kind") in ("function", "variable", "typedef") else id(element)


def document(root=ROOT):
    """The page of the headers in include/latticino below a root."""
    files, entries = {}, []
    for compound in compounds(root):
        kind = compound.get("kind")
        if kind == "file":
            files[compound.findtext("compoundname")] = compound
        elif kind == "namespace" and compound.findtext("compoundname") == "latticino":
            entries += members(compound)
        elif kind in ("class", "struct", "concept"):
            entries.append(compound)
    if set(files) != {*ORDER, *WITHOUT_ENTRIES}:
        raise Refused(f"docs/make_cpp_api.py lists other headers: {sorted(set(files) ^ {*ORDER, *WITHOUT_ENTRIES})}")
    blocks = [HEAD.strip()]
    for name in ORDER:
        blocks += [f"## `latticino/{name}`", *description(files[name])]
        here = sorted((e for e in entries if place(e)[0] == name), key=place)
        for _, same in groupby(here, shared):
            blocks += entry(list(same))
    return "\n\n".join(blocks) + "\n"


def main():
    try:
        text = document()
    except Refused as e:
        return f"make_cpp_api.py: {e}"
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
