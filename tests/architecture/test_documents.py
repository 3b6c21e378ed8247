"""Documents name what exists."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from .source import MODULES, ROOT

DECISIONS = ROOT / "docs" / "decisions"
DOCUMENTS = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
DOCUMENTS += sorted((ROOT / "docs").rglob("*.md"))
RECORDS = sorted(DECISIONS.glob("[0-9]*.md"))

EXTENSIONS = "py|md|txt|sql|toml|json|png|gz|hex|ebnf|css|yml"
FILE = re.compile(rf"(?<![\w/.-])(?:[\w.-]+/)*[\w-]+\.(?:{EXTENSIONS})\b(?![\w/])")
FOLDER = re.compile(r"(?<![\w/.-])(?:[\w.-]+/)+(?![\w.])")
PATH = re.compile(r"`((?:tests|sqlext|rewriter|catalog|docs|benchmarks|website|sql_examples|editors)/[\w/.-]*)`")
MODULE = re.compile(r"python -m (\w+(?:\.\w+)*)")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)")
RAISED = re.compile(r'\b(?:(?:Parse|Bind|Unsupported|Data|Setup)Error\(\s*|error_class=)"(\w+)"')
NOT_FOR_USERS = {"UNSUPPORTED_PATTERN"}  # for callers of the pattern core; no statement reaches it
NO_PATHS = {
    "spark.sql", "source.sql",  # a method, a scope of editors
    ".venv/", "site/", "target/compiled/fraud/models/journeys.sql",  # what `make` and dbt create
}  # fmt: skip


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def own_names() -> set[str]:
    """The names of all files and folders (`name/`), which a document may name without the folders around them."""
    folders = ("sqlext", "rewriter", "catalog", "tests", "benchmarks", "docs", "sql_examples", "website")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return {path.name + "/" * path.is_dir() for path in paths}


def exists(document: Path, name: str) -> bool:
    """Return True if `name` is a path from the root, from sqlext/ or from the document, or the name of one of our files
    or folders."""
    if name in NO_PATHS:
        return True
    if any((folder / name).exists() for folder in (ROOT, ROOT / "sqlext", document.parent)):
        return True
    return name in own_names()


def anchors(path: Path) -> set[str]:
    """The headings of a document as GitHub makes anchors of them.

    >>> sorted(anchors(ROOT / "docs" / "decisions" / "README.md"))[0]
    '#decisions'
    """
    headings = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.MULTILINE)
    return {"#" + re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_every_path_that_a_document_names_exists(document):
    text = re.sub(r"https?://\S+", "", document.read_text("utf-8"))
    named = {*FILE.findall(text), *FOLDER.findall(text)}
    assert sorted(name for name in named if not exists(document, name)) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_every_path_from_the_root_exists_as_a_whole(document):
    named = set(PATH.findall(document.read_text("utf-8")))
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_every_module_that_a_document_runs_exists(document):
    names = {name.replace(".", "/") for name in MODULE.findall(document.read_text("utf-8"))}
    assert [n for n in names if not exists(document, f"{n}.py") and not exists(document, f"{n}/__main__.py")] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_every_link_of_a_document_has_its_target(document):
    wrong = []
    for path, anchor in LINK.findall(document.read_text("utf-8")):
        target = document.parent / path if path else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(path + anchor)
    assert wrong == []


def test_the_glossary_has_each_term_once():
    text = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    terms = re.findall(r"^\| \*\*(.+?)\*\* \|", text, re.MULTILINE)
    assert terms
    assert len(set(terms)) == len(terms)


@pytest.mark.parametrize("record", RECORDS, ids=ids)
def test_a_decision_says_why_what_follows_and_what_shows_it(record):
    text = record.read_text("utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences", "Evidence"]
    assert len(text.splitlines()) <= 40, "docs/decisions/README.md sets the limit; measurements.md has room"


def test_the_index_of_the_decisions_lists_each_of_them_in_order():
    index = (DECISIONS / "README.md").read_text("utf-8")
    assert re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", index) == [record.name for record in RECORDS]
    assert [record.name[:4] for record in RECORDS] == [f"{n:04}" for n in range(1, len(RECORDS) + 1)]


def test_every_error_that_is_raised_is_listed_for_users():
    codes = (re.sub(r"^ *>>> .*$", "", module.text, flags=re.MULTILINE) for module in MODULES.values())
    raised = {name for code in codes for name in RAISED.findall(code)}
    text = (ROOT / "docs" / "language.md").read_text("utf-8")
    listed = set(re.findall(r"`(\w+)`", text[text.index("## Errors") :]))
    assert sorted(raised - listed - NOT_FOR_USERS) == []
