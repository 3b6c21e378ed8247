"""docs/migration/: the SQL in the tables of its pages is a part of the statements of this folder, which run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .statements import HERE, SYSTEMS

ROOT = Path(__file__).parents[2]
INDEX = ROOT / "docs" / "migration" / "README.md"
PAGES = {path.stem: path.read_text("utf-8") for path in sorted(INDEX.parent.glob("*.md")) if path != INDEX}
NOT_SQL = "flink-cep"  # methods of Java, for which tests/conformance has the cases
# the name of a page, where it is not that of its file of statements → its files
FILES = {"flink-sql": ("flink",), "clickhouse-doris": ("clickhouse",), "questdb-kdb": ("questdb",),
         "esper-siddhi-streams": ("esper", "beam"), "pandas-polars": ("pandas",),
         "azure-stream-analytics": ("azure",)}  # fmt: skip
SILENT, WRITTEN = "What differs without an error", "What is written there, and what here"
CODE = re.compile(r"``(.+?)``|`(.+?)`|<code>(.+?)</code>")


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its head."""
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.removeprefix("| ").removesuffix(" |").split(" | ")] for line in lines[1:]]


def snippets(page: str) -> list[str]:
    """The SQL in the first two columns of the table of statements."""
    codes = (match for row in rows(page, WRITTEN) for cell in row[:2] for match in CODE.finditer(cell))
    return [in_one_line(match[1] or match[2] or match[3]).replace("&#124;", "|") for match in codes]


def test_each_page_begins_with_what_differs_without_an_error():
    headings = {name: re.findall(r"^## (.*)$", page, re.MULTILINE) for name, page in PAGES.items()}
    assert headings == {name: [SILENT, WRITTEN] for name in PAGES}


def test_each_file_of_statements_has_a_page():
    assert {file for name in PAGES for file in FILES.get(name, (name,))} == {*SYSTEMS, NOT_SQL}


@pytest.mark.parametrize("name", sorted(PAGES.keys() - {NOT_SQL}))
def test_the_sql_of_a_page_is_run(name):
    files = FILES.get(name, (name,))
    statements = in_one_line("".join((HERE / f"{file}.sql").read_text("utf-8") for file in files))
    found = snippets(PAGES[name])
    assert [snippet for snippet in found if snippet not in statements] == []
    assert len(found) >= 5


def test_the_index_has_the_silent_differences_of_all_pages():
    """Its second column links to each page that has the row."""
    index = INDEX.read_text("utf-8")
    listed = {
        (written, here, write, page)
        for written, there, here, write in rows(index, SILENT)
        for page in re.findall(r"\]\(([\w-]+)\.md\)", there)
    }
    of_pages = {
        (written, here, write, name) for name, page in PAGES.items() for written, _, here, write in rows(page, SILENT)
    }
    assert listed == of_pages


def test_the_index_links_to_each_page():
    linked = re.findall(r"^- \[.*\]\(([\w-]+)\.md\)$", INDEX.read_text("utf-8"), re.MULTILINE)
    assert sorted(linked) == sorted(PAGES)


def test_each_document_that_a_hint_names_exists():
    hints = "".join((HERE / f"{system}.sql").read_text("utf-8") for system in SYSTEMS)
    named = set(re.findall(r"\bdocs/[\w/-]+\.md", hints))
    assert named and [name for name in named if not (ROOT / name).is_file()] == []
