"""Additions of the documentation site to the pages of docs/: README as the first page, the notebooks of examples/, and
links to files of the repository."""

import logging
import re
import sys
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))
import notebooks  # noqa: E402 - lies beside the pages


def on_startup(command, dirty):
    """With --quiet, MkDocs does not count warnings, so a strict build would pass with them."""
    if not logging.getLogger("mkdocs").isEnabledFor(logging.WARNING):
        raise PluginError("--quiet hides warnings from --strict: leave it out")


def on_files(files, config):
    """README.md becomes the first page, and notebooks pages; links of README to docs/ become links within the site."""
    text = (ROOT / "README.md").read_text().replace("](docs/", "](")
    files.append(File.generated(config, "index.md", content=_to_repository(text, config, "")))
    for path in sorted(notebooks.FOLDER.glob("*.ipynb")):
        text = notebooks.markdown(path).replace("](../docs/", "](../")
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links that leave docs/ point to the repository."""
    if page.file.src_uri == "index.md":
        return markdown
    return _to_repository(markdown, config, "../" * (1 + page.file.src_uri.count("/")))


def _to_repository(text, config, prefix):
    def replaced(match):
        target, _, anchor = match[1].partition("#")
        path = target.removeprefix(prefix)
        if target.startswith(("http", "mailto")) or not target.startswith(prefix) or not (ROOT / path).exists():
            return match[0]
        if not prefix and (ROOT / "docs" / path).exists():
            return match[0]
        return f"]({config['repo_url']}/blob/main/{path}{'#' + anchor if anchor else ''})"

    return re.sub(r"\]\(([^)\s]+)\)", replaced, text)
