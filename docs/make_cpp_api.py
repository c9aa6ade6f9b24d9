"""Writes docs/cpp_api.md from the public headers: `./latticino python docs/make_cpp_api.py > docs/cpp_api.md`.

Reads what include/latticino is written in: comments `///` in front of a declaration or `///<` behind a member, one
class or function after another, private parts last.
"""

import re
from pathlib import Path

INCLUDE = Path(__file__).resolve().parent.parent / "include" / "latticino"
ORDER = ["context.h", "client.h", "array.h", "values.h", "plan.h", "recording.h", "params.h", "tfhe.h", "switching.h",
         "files.h", "errors.h"]
HEAD = """# C++ reference

Generated from the public headers by `docs/make_cpp_api.py`; the tests compare. All names are in the namespace
`latticino`; `#include <latticino/latticino.h>` brings all of them. [The page on C++](cpp.md) begins with examples.
Units: memory in bytes, time in seconds, precision in bits (`-log2` of the error).
"""
OWN = "For the library's own code."


def statements(text):
    """Comments and declarations, one after another, at the depth of the text. Bodies in braces are returned separately.
    """
    at, comment = 0, []
    while at < len(text):
        line_end = text.find("\n", at)
        line_end = len(text) if line_end < 0 else line_end
        line = text[at:line_end].strip()
        if not line or line.startswith(("#", "//")) or line in ("public:", "private:"):
            if line.startswith("///"):
                comment.append(line[3:].strip())
            elif line == "private:":
                return
            elif not line:
                comment = []
            at = line_end + 1
            continue
        head, body, at = declaration(text, at)
        end = text.find("\n", at)
        rest = text[at : len(text) if end < 0 else end]
        behind = re.match(r"\s*///<\s*(.*)", rest)
        if behind:
            comment = [*comment, behind[1]]
            at = end
            # A comment after a member may continue on the next line.
            while (more := re.match(r"\n\s*///<\s*(.*)", text[at:])):
                comment.append(more[1])
                at += more.end()
        yield " ".join(comment), re.sub(r"\s+", " ", head).strip(), body
        comment = []


def declaration(text, at):
    """The head of the declaration at `at`, its body in braces if it has one, and where the next one begins."""
    start, depth = at, 0
    while at < len(text):
        c = text[at]
        if text.startswith("//", at):
            at = text.find("\n", at)
            continue
        depth += (c in "([") - (c in ")]")
        if c == ";" and depth == 0:
            return without_comments(text[start:at]), None, at + 1
        if c == "{" and depth == 0:
            end = closing(text, at)
            head, body = text[start:at], text[at + 1 : end]
            after = re.match(r"\s*[\w\s=.,{}]*?;", text[end + 1 :])
            kind = re.sub(r"^template <.*?>\s*(?=\w)", "", head.strip(), flags=re.S).split(maxsplit=1)[0]
            if kind in ("struct", "class", "enum", "namespace"):
                return without_comments(head), body, end + 1 + (after.end() if after and kind != "namespace" else 0)
            if text[end + 1 : end + 2] in (";", ","):  # a member with an initialiser in braces
                stop = text.find(";", end)
                return without_comments(text[start:stop]), None, stop + 1
            return without_comments(re.sub(r"\)\s*:\s.*$", ")", head, flags=re.S)), None, end + 1
        at += 1
    return text[start:], None, at


def closing(text, at):
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return i
    raise ValueError("a brace without its end")


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def shown(head):
    head = head.replace("](", "] (")  # without links
    return re.sub(r"\b(LATTICINO_API|explicit|inline|constexpr) ", "", head)


def members(head, body):
    if head.startswith("enum"):
        for value, text in re.findall(r"(\w+),\s*///<\s*(.*)", body):
            yield f"- `{value}`: {text}"
        return
    for comment, member, inner in statements(body):
        own = comment.startswith(OWN) or "detail::" in member or re.search(r"\b(state|native|owner)\(\)", member)
        if own or "= default" in member or member.startswith("using Error::"):
            continue
        yield f"- `{shown(member)}`" + (f": {comment}" if comment else "")
        if member.startswith("enum"):
            yield from ("  " + line for line in members(member, inner))


def entries(text):
    """Markdown of all that a header declares."""
    for comment, head, body in statements(text):
        if head.startswith("namespace latticino") or head == "namespace latticino":
            yield from entries(body)
        elif head.startswith("namespace") or (body is None and re.match(r"(class|struct) \w+$", head)):
            continue  # members behind the interface
        elif body is not None:
            yield f"### `{shown(head).split(' : ')[0]}`\n\n{comment}\n"
            listed = "\n".join(members(shown(head), body))
            if listed:
                yield listed + "\n"
        else:
            yield f"#### `{shown(head)}`\n" + (f"\n{comment}\n" if comment else "")


def document():
    out = [HEAD]
    for name in ORDER:
        text = (INCLUDE / name).read_text()
        about = re.search(r"/// \\file\n((?:///.*\n)+)", text)[1]
        out.append(f"## `latticino/{name}`\n\n{re.sub(r'/// ?', '', about).strip()}\n")
        out += entries(text[text.index("#pragma once") + len("#pragma once") :])
    return "\n".join(out)


if __name__ == "__main__":
    print(document(), end="")
