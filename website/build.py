"""Builds the documentation site: `python -m website.build` writes the folder site/ from docs/, without the network.

The pages are written to build/site_pages first, where links to files outside of docs/ lead to their pages, examples of
sql_examples/ take the places of the links to them, and diagrams, errors and the API are added. Zensical makes the site.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path, PurePosixPath

from website.anchors import anchor
from website.api_page import api_page
from website.error_pages import error_pages, index_page
from website.examples import LINK, shown_example
from website.grammar import grammar
from website.module_page import module_page
from website.railroad_diagrams import diagrams

ROOT = Path(__file__).parents[1]
# Documents outside of docs/ that are pages of the site, and folders that a page describes.
_PAGES_OF = {
    "README.md": "overview.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "GOVERNANCE.md": "governance.md",
    "SECURITY.md": "security.md",
    "benchmarks/RESULTS.md": "benchmarks.md",
    "sql_examples": "cookbook/index.md",
}
_HOME = "docs/README.md"  # it has the whole width
_WIDE = "---\nhide: [navigation, toc]\n---\n\n"
_LINK = re.compile(r"(!?\[[^\]]*\]\()(?!https?:|#)([^)#\s]+)((?:#[^)\s]*)?\))")
_ROW_OF_TABLE = re.compile(r"^\|.*`.*\|$", re.MULTILINE)
_CODE = re.compile(r"`[^`]+`")
# The name of an error as code, outside of blocks and of links; all else as it is.
_ERROR = re.compile(r"^```.*?^```|\[[^\]]*\]\([^)]*\)|(?P<code>`SQLEXT_(?P<name>\w+)`)", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
# Zensical's script for search in a site that is opened from a folder, which it would load from elsewhere.
_SHIM_ELSEWHERE = "https://unpkg.com/iframe-worker/shim"
_SHIM = "assets/javascripts/iframe-worker.js"


def build(folder: Path) -> str:
    """Build the site in a folder, at the places of mkdocs.yml, and return what Zensical prints.

    A warning of Zensical ends the build.
    """
    site = folder / "site"
    stage(folder / "build" / "site_pages")
    if folder != ROOT:
        shutil.copy(ROOT / "mkdocs.yml", folder)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", str(folder / "mkdocs.yml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    shutil.copy(Path(__file__).parent / "iframe-worker.js", site / _SHIM)
    for page in site.rglob("*.html"):
        to_root = os.path.relpath(site, page.parent)
        page.write_text(page.read_text("utf-8").replace(_SHIM_ELSEWHERE, f"{to_root}/{_SHIM}"), "utf-8")
    return done.stdout


def stage(pages: Path) -> None:
    """Write all pages."""
    shutil.rmtree(pages, ignore_errors=True)
    for source, target in sources().items():
        path = pages / target
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            path.write_text(page_of(source), "utf-8")
        else:
            shutil.copy(ROOT / source, path)
    (pages / "errors").mkdir()
    errors = error_pages()
    for error in errors:
        (pages / "errors" / f"{error.name}.md").write_text(error.markdown(), "utf-8")
    (pages / "errors" / "index.md").write_text(index_page(errors), "utf-8")
    (pages / "docstrings.md").write_text(api_page(), "utf-8")
    (pages / "modules.md").write_text(module_page(), "utf-8")
    shutil.copy(Path(__file__).parent / "site.css", pages)


@cache
def sources() -> dict[str, str]:
    """The files of the repository that are parts of the site → their places in it, each relative to its root."""
    docs = [path for path in (ROOT / "docs").rglob("*") if path.is_file()]
    places = {path.relative_to(ROOT).as_posix(): _place(path.relative_to(ROOT / "docs")) for path in docs}
    places |= {name: place for name, place in _PAGES_OF.items() if name.endswith(".md")}
    for name in list(places):
        if name.endswith(".md"):
            for target in _outside(name):
                places.setdefault(target, f"files/{target}")
    return places


def _place(path: Path) -> str:
    return path.with_name("index.md").as_posix() if path.name == "README.md" else path.as_posix()


def _outside(name: str) -> list[str]:
    """The files that a document links to and that are no pages."""
    links = (_target(name, link) for _, link, _ in _LINK.findall((ROOT / name).read_text("utf-8")))
    return [link for link in links if not link.endswith(".md") and (ROOT / link).is_file()]


def _target(name: str, link: str) -> str:
    """The file, relative to the root of the repository, to which document `name` links."""
    return os.path.normpath(PurePosixPath(name).parent / link)


def page_of(name: str) -> str:
    """The page that a document becomes."""
    text = (ROOT / name).read_text("utf-8")
    text = LINK.sub(lambda match: shown_example(ROOT / _target(name, match[1])), text)
    text = _LINK.sub(lambda match: match[1] + moved_link(name, match[2]) + match[3], text)
    text = _ROW_OF_TABLE.sub(lambda row: _with_bars(row[0]), text)
    text = _with_links_to_errors(name, text)
    return (_WIDE if name == _HOME else "") + _with_diagrams(text, name.removeprefix("docs/"))


def _with_bars(row: str) -> str:
    r"""The row of a table, in which Zensical, unlike GitHub, reads `|` in code as it is.

    >>> print(_with_bars(r"| `A \| B` | A, or B |"))
    | `A | B` | A, or B |
    """
    return _CODE.sub(lambda code: code[0].replace("\\|", "|"), row)


def moved_link(name: str, link: str) -> str:
    """The link of document `name` as its page has it."""
    places = {**sources(), **_PAGES_OF}
    target = _target(name, link)
    if target not in places:
        return link
    here = PurePosixPath(places[name]).parent
    return os.path.relpath(places[target], here)


def _with_links_to_errors(name: str, text: str) -> str:
    """The text, in whose sentences and tables the name of an error leads to its page."""
    pages = {page.name for page in error_pages()}
    here = PurePosixPath({**sources(), **_PAGES_OF}[name]).parent

    def with_links(match: re.Match[str]) -> str:
        if match["name"] not in pages:
            return match[0]
        page = os.path.relpath(f"errors/{match['name']}.md", here)
        return f"[{match['code']}]({page})"

    return _ERROR.sub(with_links, text)


def _with_diagrams(text: str, page: str) -> str:
    """The text with the diagrams of the grammar after their headings."""
    shown = set(grammar().sections.values())

    def with_figures(match: re.Match[str]) -> str:
        section = f"{page}#{anchor(match[1])}"
        return f"{match[0]}\n\n{diagrams(grammar(), section)}" if section in shown else match[0]

    return _HEADING.sub(with_figures, text) if any(name.startswith(f"{page}#") for name in shown) else text


if __name__ == "__main__":
    print(build(ROOT), end="")
