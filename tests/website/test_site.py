"""The documentation site: it is whole, needs nothing from elsewhere, and says the same as the sources."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from website.build import sources
from website.error_pages import FILE, error_pages, listed_errors, shipped_pages, written
from website.module_page import first_sentence, folders, modules
from website.pictures import COOKBOOK, DOCS, pictures

ROOT = Path(__file__).parents[2]
PICTURES = {"why_automaton.svg": "why.md", "home.svg": "README.md"}  # and the documents that have them
_TAG = re.compile(r"<(\w+)\b[^>]*?\b(?:src|href)=(?:\"([^\"]*)\"|'([^']*)'|([^\s>]+))[^>]*>")
_ID = re.compile(r"\bid=(?:\"([^\"]*)\"|([^\s>\"]+))")
_LOADING_TAGS = ("script", "link", "img", "iframe", "source", "video", "audio", "use", "object", "embed")
_IN_STYLE = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^)\"']*)")


def test_every_module_says_in_a_sentence_what_lives_there():
    paths = [path for folder in folders() for path in (*modules(folder), folder / "__init__.py")]
    sentences = {path: first_sentence(path) for path in paths}
    assert [path for path, sentence in sentences.items() if not 15 < len(sentence) < 200] == []
    assert {path.stem for path in sentences} >= {"parse_match", "views", "strategy", "errors", "casts"}


@pytest.fixture(scope="module")
def pages(site):
    """The text of each page by its path from the root of the site."""
    return {path.relative_to(site).as_posix(): path.read_text("utf-8") for path in site.rglob("*.html")}


def links(text):
    """(tag, target) of each src and href."""
    return [(tag, unquote("".join(values))) for tag, *values in _TAG.findall(text)]


@pytest.mark.slow
def test_the_site_loads_nothing_from_elsewhere(site, pages):
    loaded = {target for text in pages.values() for tag, target in links(text) if tag in _LOADING_TAGS}
    styles = [path.read_text("utf-8") for path in site.rglob("*.css")]
    assert sorted(target for target in loaded if re.match(r"(?:https?:)?//", target)) == []
    assert [url for style in (*styles, *pages.values()) for url in _IN_STYLE.findall(style)] == []


@pytest.mark.slow
def test_every_link_of_the_site_has_its_target_and_its_anchor(site, pages):
    anchors = {path: {"".join(pair) for pair in _ID.findall(text)} for path, text in pages.items()}
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    wrong = set()
    for path, text in pages.items():
        if path == "404.html":
            continue  # it is shown at any address, so its links begin at the root
        for _, target in links(text):
            if re.match(r"[a-z]+:|//|data:", target):
                continue
            file, _, anchor = target.partition("#")
            there = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
            if there not in files or (anchor and there in anchors and anchor not in anchors[there]):
                wrong.add((path, target))
    assert sorted(wrong) == []


@pytest.mark.slow
def test_the_site_has_search_dark_mode_diagrams_and_our_highlighting(site, pages):
    language = pages["language.html"]
    assert "MATCH_RECOGNIZE" in (site / "search.js").read_text("utf-8")
    assert 'data-md-color-scheme="slate"' in language or "data-md-color-scheme=slate" in language
    assert language.count("railroad-diagram") >= 20
    assert "<code>A | B</code>" in language  # in a table, where the document has a backslash before the bar
    assert re.search(r'<span class="?nv"?>down</span>', language)


def test_the_cookbook_lists_each_of_its_pages_and_so_does_the_navigation():
    index = (ROOT / "docs" / "cookbook" / "README.md").read_text("utf-8")
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = re.findall(r"\]\(([\w-]+\.md)\)", index)
    assert re.findall(r"cookbook/([\w-]+\.md)$", settings, re.MULTILINE) == ["index.md", *listed]
    trades = re.findall(r"^\*\*(.+)\*\*: \[", index, re.MULTILINE)
    assert re.findall(r"^      - ([^:\n]+):\n          - .*cookbook/", settings, re.MULTILINE) == trades
    assert sorted(listed) == sorted({path.name for path in (ROOT / "docs" / "cookbook").glob("*.md")} - {"README.md"})


def test_every_document_is_in_the_navigation():
    navigation = set(re.findall(r"[:-] ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE))
    documents = {place for place in sources().values() if place.endswith(".md")} - {"docstrings.md", "modules.md"}
    listed_elsewhere = {place for place in documents if place.startswith("decisions/0")}
    assert documents - listed_elsewhere == navigation - {"errors/index.md", "docstrings.md", "modules.md"}


@pytest.mark.slow
def test_each_error_has_a_page_with_a_cause_and_a_cure():
    pages = error_pages()
    assert {page.name for page in pages} == set(listed_errors())
    assert [page.name for page in pages if not (page.cause or page.messages)] == []
    assert [page.name for page in pages if not (page.cure or page.hints)] == []


@pytest.mark.slow
def test_what_is_written_about_an_error_is_not_in_the_sources():
    pages = {page.name: page for page in error_pages()}
    assert [name for name in written() if name not in pages] == []
    assert [page.name for page in pages.values() if page.cause and page.messages] == []
    assert [page.name for page in pages.values() if page.cure and page.hints] == []


@pytest.mark.slow
def test_the_pages_that_the_package_has_are_those_of_the_site():
    assert FILE.read_text("utf-8") == shipped_pages(), "python -m website.error_pages writes them"


@pytest.mark.slow
def test_the_messages_on_the_page_about_what_does_not_work_are_those_of_the_program():
    quoted = re.findall(r"^SQLEXT_(\w+): (.*)$", (DOCS / "troubleshooting.md").read_text("utf-8"), re.MULTILINE)
    texts = {page.name: page.messages for page in error_pages()}
    patterns = {name: [re.escape(text).replace("…", ".*") for text in texts[name]] for name, _ in quoted}
    assert [m for name, m in quoted if not any(re.fullmatch(p, m) for p in patterns[name])] == []
    assert len(quoted) > 5


def test_the_pictures_are_those_of_the_documents():
    drawn = pictures()
    assert [file.name for file, text in drawn.items() if file.read_text("utf-8") != text] == []
    assert {*(COOKBOOK / "pictures").glob("*.svg"), *(DOCS / name for name in PICTURES)} == drawn.keys()


def test_each_picture_is_on_its_page():
    for file in pictures():
        page = DOCS / PICTURES[file.name] if file.name in PICTURES else COOKBOOK / f"{file.stem}.md"
        assert f"]({file.relative_to(page.parent)})" in page.read_text("utf-8"), page.name
