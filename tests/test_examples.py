"""The examples run and give the results that are written with them: the `>>>` lines of all modules, the files of
sql_examples/, and the SQL of documents with rows below it."""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib.util
import inspect
import io
import os
import pkgutil
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import sqlext
from sqlext.cli.on_session import split_statements
from sqlext.rewriter.tree.sources import relations

MODULES = ["sqlext", *(m.name for m in pkgutil.walk_packages(sqlext.__path__, "sqlext.") if "__main__" not in m.name)]
ROOT = Path(__file__).parents[1]
STATEMENTS = sorted((ROOT / "sql_examples").glob("*.sql"))
EXPECT = "-- expect:"
# A fenced block of SQL that ends in comments: the rows of the result, with two or more spaces between cells.
BLOCK = re.compile(r"^```sql\n((?:(?!```).*\n)*?)((?:^-- .*\n)+)```", re.MULTILINE)
# documents whose blocks run one after the other
WALKS = ("materialized-views", "operations", "rules", "streams", "times", "tutorial", "why")
WITH_BROKER = "kafka"  # tests/kafka runs this one
FENCED = re.compile(r"^```(sql|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/migration").glob("*.md"))]
RECIPES = sorted((ROOT / "docs" / "cookbook").glob("*.md"))


def source_of(module):
    return Path(importlib.util.find_spec(module).origin).read_text("utf-8")


def blocks_with_rows(documents):
    return [
        pytest.param(sql, rows, id=f"{path.stem}-{i}")
        for path in documents
        if path.stem not in (*WALKS, WITH_BROKER)
        for i, (sql, rows) in enumerate(BLOCK.findall(path.read_text("utf-8")))
    ]


BLOCKS = blocks_with_rows(DOCUMENTS)


def test_every_module_can_be_imported():
    for name in MODULES:
        importlib.import_module(name)


ON_SPARK = [name for name in MODULES if name.startswith("sqlext.frames.")]  # their examples read DataFrames


@pytest.mark.parametrize("name", [name for name in MODULES if ">>>" in source_of(name) and name not in ON_SPARK])
def test_the_examples_of_a_module_run(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


@pytest.mark.parametrize("name", ON_SPARK)
def test_the_examples_on_dataframes_run(spark, name):
    failed, _ = doctest.testmod(importlib.import_module(name), extraglobs={"spark": spark})
    assert failed == 0


def test_the_python_page_prints_what_it_shows(spark):
    blocks = re.findall(r"^```(python|text)\n(.*?)^```", (ROOT / "docs/python.md").read_text("utf-8"), re.M | re.S)
    names, printed, shown = {"spark": spark}, io.StringIO(), [text for language, text in blocks if language == "text"]
    with contextlib.redirect_stdout(printed):
        for program in (text for language, text in blocks if language == "python"):
            try:
                exec(program, names)
            except sqlext.SqlExtError as error:
                print(error)
    assert len(shown) > 5 and [text for text in shown if text not in printed.getvalue()] == []


def expected_results(text):
    """The `-- expect:` blocks of a file's header, each as lines of cells with the names of the columns first."""
    results = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        if line == EXPECT:
            results.append([])
        elif results and line != "--":
            results[-1].append(line.removeprefix("-- ").split("\t"))
    return results


def shown_results(spark, text):
    """The results that `sqlext run` prints for a file, in the form of `expected_results`, with their statements."""
    results = []
    for statement in split_statements(text):
        result = spark.sql(statement)
        if result.columns:
            cells = result.selectExpr(*(f"coalesce(CAST(`{name}` AS STRING), 'NULL')" for name in result.columns))
            results.append((statement, [result.columns, *map(list, cells.collect())]))
    return results


def is_ordered(statement):
    """Return True if the query itself has an ORDER BY, after its last parenthesis."""
    return "ORDER BY" in statement.rpartition(")")[2]


def without_order(lines):
    return [lines[0], *sorted(lines[1:])]


@pytest.fixture
def clean_catalog(spark):
    """Check that the file under test leaves no table and no view."""
    before = {table.name for table in spark.catalog.listTables()}
    yield
    assert {table.name for table in spark.catalog.listTables()} == before


@pytest.mark.random(every=2)
@pytest.mark.parametrize("file", STATEMENTS, ids=lambda file: file.stem)
def test_a_file_of_sql_examples_shows_the_rows_of_its_header(spark, clean_catalog, file):
    text = file.read_text(encoding="utf-8")
    expected, shown = expected_results(text), shown_results(spark, text)
    assert expected, "the header has no `-- expect:` block"
    assert len(shown) == len(expected)
    for (statement, lines), wanted in zip(shown, expected):
        if is_ordered(statement):
            assert lines == wanted
        else:
            assert without_order(lines) == without_order(wanted)


IN_PYTHON = runpy.run_path(str(ROOT / "sql_examples/in_python.py"))


@pytest.mark.random(every=3)
@pytest.mark.parametrize(
    "file", [file for file in STATEMENTS if file.stem[3:] in IN_PYTHON], ids=lambda file: file.stem
)
def test_the_python_of_an_example_gives_the_rows_of_the_file(spark, file):
    text, function = file.read_text(encoding="utf-8"), IN_PYTHON[file.stem[3:]]
    (statement,) = split_statements(text)
    tables = statement[: statement.rindex("\n)\nSELECT") + 2]
    frames = [spark.sql(f"{tables} SELECT * FROM {name}") for name in inspect.signature(function).parameters]
    result = function(*frames)
    cells = result.selectExpr(*(f"coalesce(CAST(`{name}` AS STRING), 'NULL')" for name in result.columns)).collect()
    assert without_order([result.columns, *map(list, cells)]) == without_order(expected_results(text)[0])


def test_most_examples_have_a_form_in_python():
    stems = {file.stem[3:] for file in STATEMENTS}
    names = {name for name, value in IN_PYTHON.items() if inspect.isfunction(value)}
    assert names <= stems and len(names) > 20


def test_sql_examples_are_many_and_numbered_without_gaps():
    assert [int(file.name[:2]) for file in STATEMENTS] == list(range(1, len(STATEMENTS) + 1))
    assert len(STATEMENTS) >= 10


def test_every_block_of_the_cookbook_has_rows_and_every_example_has_a_recipe():
    texts = [path.read_text("utf-8") for path in RECIPES]
    assert sum(text.count("```sql") for text in texts) == len(blocks_with_rows(RECIPES))
    used = set(re.findall(r"sql_examples/(\w+\.sql)\)", "".join(texts)))
    assert used == {file.name for file in STATEMENTS} - {"24_window_clause.sql"}  # docs/language.md has that one
    assert len(RECIPES) > 30


def test_sql_of_documents_is_found_with_its_rows():
    assert len(BLOCKS) >= 4


@pytest.mark.parametrize(("sql", "rows"), BLOCKS)
def test_the_sql_of_a_document_gives_the_rows_below_it(spark, sql, rows):
    check_rows(spark, sql, rows)


@pytest.mark.random(every=3)
@pytest.mark.parametrize(("sql", "rows"), blocks_with_rows(RECIPES))
def test_the_sql_of_the_cookbook_gives_the_rows_below_it(spark, sql, rows):
    check_rows(spark, sql, rows)


def check_rows(spark, sql, rows):
    result = spark.sql(sql)
    cells = result.selectExpr(*(f"coalesce(CAST(`{name}` AS STRING), 'NULL')" for name in result.columns))
    expected = [re.split(r"\s{2,}", row.removeprefix("-- ").strip()) for row in rows.splitlines()]
    assert sorted(map(list, cells.collect())) == sorted(expected)


def test_a_statement_of_an_example_is_quoted_as_it_runs():
    files = "".join(file.read_text("utf-8") for file in STATEMENTS)
    blocks = [sql for path in (ROOT / "docs").glob("*.md") for _, sql in FENCED.findall(path.read_text("utf-8"))]
    quoted = [sql for sql in blocks if "example_" in sql]
    assert quoted and [sql for sql in quoted if sql not in files] == []


ANY_BLOCK = re.compile(r"^```(sql|python|)\n(.*?)^```", re.MULTILINE | re.DOTALL)
MADE = re.compile(
    r"\bCREATE (?:OR REPLACE )?(?:TEMP |STREAMING )?(?:TABLE|VIEW) (\w+)"
    r"|(?:createOrReplaceTempView|saveAsTable)\([\"'](\w+)|--view (\w+)"
)


def statements_of(language, block):
    """The SQL in a block of a document: of a Python block its longer strings, of a cell of a notebook what follows its
    magic."""
    if language == "python":
        texts = (node.value for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Constant))
        return [text for text in texts if isinstance(text, str) and re.match(r"\s*(SELECT|WITH|CREATE|INSERT)\b", text)]
    if language == "sql":
        return list(split_statements(block))
    return [match[1] for match in [re.match(r"%%sql.*\n((?s:.*))", block)] if match]


# The recipe to which the home page links has the rows of its statement, which website.home_picture runs.
HOME = ROOT / "docs" / "README.md"


@pytest.mark.parametrize("path", [p for p in DOCUMENTS + RECIPES if p != HOME], ids=lambda path: path.stem)
def test_each_table_of_a_document_was_made_by_a_block_before(path):
    """So a reader can run the blocks in their order. The documents of WALKS are run; dbt has names of its own."""
    made, wrong = set(), []
    for language, block in ANY_BLOCK.findall(path.read_text("utf-8")):
        for text in statements_of(language, block) if path.stem not in WALKS and "{{" not in block else []:
            made |= {name for names in MADE.findall(text) for name in names if name}
            wrong += [name.parts for name in relations(text) if name.parts[-1] not in made]
        made |= {name for names in MADE.findall(block) for name in names if name}
    assert wrong == []


@pytest.mark.random(every=2)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", WALKS)
def test_a_document_runs_from_its_first_block_to_its_last(spark, clean_catalog, name):
    names, text = {"spark": spark}, (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    for language, block in FENCED.findall(text):
        if language == "python":
            exec(block, names)
            continue
        for statement in split_statements(block):
            result = spark.sql(statement)
        rows = re.findall(r"^-- (.*)\n", block, re.MULTILINE)
        if rows:
            cells = result.selectExpr(*(f"coalesce(CAST(`{column}` AS STRING), 'NULL')" for column in result.columns))
            assert sorted(map(list, cells.collect())) == sorted(re.split(r"\s{2,}", row.strip()) for row in rows)
    for view in re.findall(r"CREATE TEMP VIEW (\w+)", text):
        spark.catalog.dropTempView(view)


README = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.spark
@pytest.mark.slow
def test_the_python_of_the_readme_shows_its_rows_and_is_quiet(tmp_path):
    program = "\n".join(README)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env={**os.environ, "TZ": "UTC"}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    shown = [line.strip("|").split("|") for line in done.stdout.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in row] for row in shown]
    expected = [re.split(r"\s{2,}", row) for row in re.findall(r"^# (.*)\n", program, re.MULTILINE)]
    assert expected
    assert [row for row in expected if row not in rows] == []
    printed = re.findall(r"^```text\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert [text for text in printed if text not in done.stdout] == []
