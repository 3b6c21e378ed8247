"""Answers about statements and rows, without a server."""

import io
import re

import pyarrow as pa
import pytest
from pyarrow import parquet

from sqlext.errors import DataError
from sqlext.expressions.effort import METER, NO_CEILING
from sqlext.playground.answer import answer
from sqlext.playground.budget import WorkBudget
from sqlext.playground.clause_edits import controls_of, with_control
from sqlext.playground.lessons import lessons
from sqlext.playground.questions import Playground, first_statement
from sqlext.playground.read_csv import csv_table
from sqlext.playground.read_file import file_table, read_file
from sqlext.playground.rows_search import KnownTruth
from sqlext.playground.statement import read_statement

ROWS = csv_table(b"ts,v\n2026-03-02 09:00:00,5\n2026-03-02 09:01:00,\n2026-03-02 09:02:00,7\n", "t")


def ask(question, body, table=ROWS, **more):
    text = f"SELECT * FROM t MATCH_RECOGNIZE ({body})"
    return Playground(own=table, first=0).ask(question, {"table": "own", "text": text, **more})


def test_a_condition_is_true_false_or_null_on_each_row():
    found = ask("answer", "ORDER BY ts PATTERN (a b) DEFINE a AS v > 4, b AS v > 5 AND ts IS NOT NULL")
    assert found["truth"] == ["tnt", "fnt"]
    assert [c["truth"] for c in found["conjuncts"][1]] == ["fnt", "ttt"]


def test_the_truth_of_a_condition_is_kept_while_other_text_changes():
    known = KnownTruth()
    for blanks in (" ", "   "):
        text = f"SELECT{blanks}* FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (a b) DEFINE b AS v > 6)"
        assert "matches" in answer(text, ROWS, known, WorkBudget())
    assert len(known) == 1


PATTERN = "PATTERN (a b+) DEFINE b AS coalesce(v, 9) > 6"


@pytest.mark.parametrize(
    "body, columns",
    [
        (f"ORDER BY ts {PATTERN}", {}),
        (
            f"ORDER BY ts MEASURES LAST(b.v) + 1 AS top, COUNT(*) AS n, CLASSIFIER() AS last {PATTERN}",
            {"top": ["8"], "n": ["3"], "last": ["B"]},
        ),
        (
            f"PARTITION BY v > 9 AS big ORDER BY ts MEASURES array_agg(v) AS every, MATCH_NUMBER() AS m {PATTERN}",
            {"big": ["false"], "every": ["[5,7]"], "m": ["1"]},
        ),
        (
            f"ORDER BY ts MEASURES RUNNING COUNT(*) AS n ALL ROWS PER MATCH {PATTERN}",
            {
                "ts": ["2026-03-02 09:00:00", "2026-03-02 09:01:00", "2026-03-02 09:02:00"],
                "n": ["1", "2", "3"],
                "v": ["5", None, "7"],
            },
        ),
        (
            "ORDER BY ts MEASURES FIRST(b.v) AS v AFTER MATCH NO SKIP PATTERN (a -> b) DEFINE b AS v > 6",
            {"v": ["7", "7"]},
        ),
    ],
)
def test_the_result_has_the_values_of_the_measures(body, columns):
    result = ask("answer", body)["result"]
    assert {column["name"]: column["cells"] for column in result["columns"]} == columns


def test_the_first_hundred_rows_of_a_result_are_shown():
    many = csv_table(b"v\n" + b"1\n2\n" * 101, "t")
    result = ask("answer", "MEASURES v AS v PATTERN (a) DEFINE a AS v > 0", many)["result"]
    assert (result["rows"], len(result["columns"][0]["cells"])) == (202, 100)


@pytest.mark.parametrize("measure", ["approx_percentile(v, 0.5)", "MATCH_ROWTIME()", "MATCH_PROCTIME()"])
def test_a_measure_that_needs_spark_is_refused_and_the_matches_are_shown(measure):
    found = ask("answer", f"ORDER BY ts MEASURES {measure} AS p {PATTERN}")
    assert found["matches"] and found["result"]["refusal"].startswith("This page cannot compute the measures: ")


@pytest.mark.parametrize(
    "body, name, marked",
    [
        ("ORDER BY ts PATTERN (a b) DEFINE b AS w > 1", "SQLEXT_UNRESOLVED_COLUMN", "w"),
        ("ORDER BY ts MEASURES w AS w PATTERN (a) DEFINE a AS TRUE", "SQLEXT_UNRESOLVED_COLUMN", "w"),
        ("PARTITION BY w ORDER BY ts PATTERN (a) DEFINE a AS TRUE", "SQLEXT_UNRESOLVED_COLUMN", "w"),
        ("ORDER BY MEASURES v AS v PATTERN (a) DEFINE a AS TRUE", "SQLEXT_RULE_EXPRESSION", "MEASURES v AS v"),
        ("ORDER BY ts PATTERN (a b DEFINE b AS v > 1", None, None),
        ("ORDER BY ts PATTERN (a b) DEFINE c AS v > 1", "SQLEXT_UNKNOWN_PATTERN_VARIABLE", "c"),
    ],
)
def test_an_error_has_its_characters(body, name, marked):
    found = ask("answer", body)
    assert found["errors"]
    if name is not None:
        (error,) = found["errors"]
        assert error["class"] == name
        assert f"SELECT * FROM t MATCH_RECOGNIZE ({body})"[error["start"] : error["stop"]] == marked


CLAUSED = (
    "t MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(b.v) AS top, FIRST(ts) AS begins PATTERN (a b) DEFINE b AS v > 1)"
)


@pytest.mark.parametrize(
    "text, message, marked",
    [
        ("SELECT top, v FROM {}", 'the result of the clause has no column "v"', "v"),
        ("SELECT m.tip FROM {} AS m", 'the result of the clause has no column "tip"', "tip"),
        ("SELECT top AS x FROM {} WHERE top > 1 AND x > 1", 'the result of the clause has no column "x"', "x"),
        ("SELECT a, top FROM {} AS m (a, b)", 'the result of the clause has no column "top"', "top"),
        ("SELECT *, FROM {}", "an expression is missing after ,", ","),
        ("SELECT * FROM {} WHERE", "an expression is missing after WHERE", "WHERE"),
        ("SELECT * FROM {} AS m here", "here cannot follow the clause and its alias", "here"),
        ("SELECT * FROM {} garbage here now", "here cannot follow the clause and its alias", "here"),
        ("SELCT * FROM {}", "no statement begins with SELCT", "SELCT"),
    ],
)
def test_an_error_around_the_clause_has_its_characters(text, message, marked):
    text = text.format(CLAUSED)
    (error,) = Playground(own=ROWS, first=0).ask("answer", {"table": "own", "text": text})["errors"]
    assert (error["message"], text[error["start"] : error["stop"]]) == (message, marked)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT m.*, top AS x, x + 1 y, y * 2, current_date, transform(array(1), q -> q + top), `top` FROM {} AS m",
        "SELECT f::date, sum(g) OVER (), INTERVAL 5 MINUTES FROM {} m (g, f) WHERE g IN (SELECT z FROM u)",
        "SELECT top FROM {} JOIN u ON top = z WHERE z > 1",
        "SELECT z FROM {} LATERAL VIEW explode(array(top)) AS z",
        "SELECT top FROM {} UNION ALL SELECT z FROM u WHERE z > 1",
        "WITH x AS (SELECT top AS y FROM {}) SELECT y FROM x",
        "FROM {} SELECT top",
        "INSERT INTO u SELECT DISTINCT top FROM {} ORDER BY top LIMIT 3",
    ],
)
def test_what_only_spark_can_judge_is_left_to_spark(text):
    found = Playground(own=ROWS, first=0).ask("answer", {"table": "own", "text": text.format(CLAUSED)})
    assert "errors" not in found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SELECT 1",
        "SELECT * FROM other MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS v > 1)",
        "(" * 3000,
        "'",
        "\x00",
        "é" * 500,
    ],
)
def test_any_text_has_an_answer(text):
    assert Playground(own=ROWS, first=0).ask("answer", {"table": "own", "text": text})["errors"]


def test_rows_of_one_name_are_not_taken_for_each_other():
    lesson, text = lessons()[0], lessons()[0].solution
    own = csv_table(lesson.rows.replace("1", "7").encode(), lesson.table.name)
    alone, together = Playground(own=own, first=0), Playground(own=own, first=0)
    together.ask("answer", {"table": "1", "text": text})
    asked = {"table": "own", "text": text}
    assert together.ask("answer", asked)["truth"] == alone.ask("answer", asked)["truth"]


def test_a_keystroke_tests_again_only_the_condition_that_it_changes():
    budgets = []
    playground = Playground(own=ROWS, first=0, budget=lambda: budgets.append(WorkBudget()) or budgets[-1])
    body = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (a b) DEFINE a AS v > 9, b AS v > {})"
    for number in (1, 1, 12):
        playground.ask("answer", {"table": "own", "text": body.format(number)})
    first, same, other = (WorkBudget().steps - budget.steps for budget in budgets)
    assert (first - same, other - same) == (2 * ROWS.rows, ROWS.rows)


def test_a_search_ends_when_its_budget_is_spent():
    playground = Playground(own=ROWS, first=0, budget=lambda: WorkBudget(steps=5))
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (a* b) DEFINE a AS v > 0, b AS v > 9)"
    (error,) = playground.ask("answer", {"table": "own", "text": text})["errors"]
    assert error["class"] == "SQLEXT_PLAYGROUND_BUDGET"


@pytest.mark.parametrize(
    "clause",
    [
        "ORDER BY ts PATTERN (a b) DEFINE a AS length(repeat('x', 5000000 + v)) > 1",
        "ORDER BY length(repeat('x', 5000000 + v)) PATTERN (a b) DEFINE a AS TRUE",
        "ORDER BY ts MEASURES length(repeat('x', 5000000 + v)) AS n PATTERN (a) DEFINE a AS TRUE",
        "ORDER BY ts PATTERN (a b) DEFINE b AS length(repeat('x', 5000000 + a.v)) > 1",
    ],
)
def test_the_work_of_all_expressions_of_an_answer_is_bounded(clause):
    many = csv_table(b"ts,v\n" + b"".join(b"%d,%d\n" % (i, i % 7) for i in range(200)), "t")
    (error,) = ask("answer", clause, many)["errors"]
    assert error["class"] == "SQLEXT_PLAYGROUND_BUDGET" and "too much work" in error["message"]
    assert METER.ceiling == NO_CEILING


def test_a_search_ends_when_its_time_is_over():
    times = iter([0.0, *[9.0] * 100])
    budget = WorkBudget(steps=100, seconds=1, now=lambda: next(times))
    with pytest.raises(DataError, match="PLAYGROUND_BUDGET"):
        for _ in range(100):
            budget.spend()


CLAUSE = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (a b+ c{2,}) DEFINE b AS v > 1)"


@pytest.mark.parametrize(
    "control, value, changed",
    [
        ("skip", "TO LAST b", "AFTER MATCH SKIP TO LAST b"),
        ("skip", "NO SKIP", "AFTER MATCH NO SKIP"),
        ("quantifiers", "reluctant", "PATTERN (a b+? c{2,}?)"),
        ("gaps", "relaxed", "PATTERN (a -> b+ -> c{2,})"),
        ("within", "INTERVAL '5' MINUTE", "PATTERN (a b+ c{2,}) WITHIN INTERVAL '5' MINUTE"),
    ],
)
def test_a_button_edits_the_clause_and_its_opposite_brings_it_back(control, value, changed):
    clause = read_statement(CLAUSE, ROWS).clause
    text = with_control(clause, control, value)
    assert changed in text
    again = read_statement(text, ROWS).clause
    now, before = controls_of(again)[control], controls_of(clause)[control]
    assert now == value
    back = with_control(again, control, before or "")
    assert controls_of(read_statement(back, ROWS).clause) == controls_of(clause)


@pytest.mark.parametrize(
    "content, types",
    [
        (b"\xef\xbb\xbfa,b\n1,x\n", {"a": "bigint", "b": "string"}),
        (b"a,b\r\n1.5,true\r\n,false\r\n", {"a": "double", "b": "boolean"}),
        (b"ts\n2026-03-02T09:00:00Z\n", {"ts": "timestamp"}),
        (b'a\n"<script>alert(1)</script>"\n', {"a": "string"}),
    ],
)
def test_the_values_of_a_csv_decide_its_types(content, types):
    assert csv_table(content, "t").types == types


@pytest.mark.parametrize(
    "content, types, note",
    [
        (
            b"a,price,country\n1,10,NA\n2,NA,DE\n3,12,NA\n",
            {"a": "bigint", "price": "bigint", "country": "string"},
            "price: 1 value NA, which is NULL here; in Spark write WITH (header = true, inferSchema = true, "
            "nullValue = 'NA') after the name of the file.",
        ),
        (
            b"the v;b\n1.5;x\nn/a;y\n2;z\nn/a;\n3;\n",
            {"the v": "string", "b": "string"},
            "`the v` is text, because of 2 values 'n/a'; for the others write CAST(nullif(`the v`, 'n/a') AS DOUBLE).",
        ),
        (b"a\tb\n1\t2\n", {"a": "bigint", "b": "bigint"}, ""),
        (
            b'{"at": "2026-03-02 09:00:00", "tags": ["x"], "o": {"p": 1, "q": null}, "e": {}, "b": {"a:b": 1}}\n{}\n',
            {"at": "timestamp", "tags": "array<string>", "o": "struct<p:bigint,q:string>"},
            "Not here, because of their types: e, b.",
        ),
        (b' [\n {"v": 1.5},\n {"v": 2}\n]', {"v": "double"}, ""),
    ],
)
def test_a_file_says_its_format_itself_and_why_a_column_is_text(content, types, note):
    table = file_table(content, "f")
    assert (table.types, table.note) == (types, note)


def test_fields_of_structs_and_values_of_maps_are_read():
    content = b'{"i": 1, "o": {"p": 5, "q": [{"r": "x"}]}}\n{"i": 2, "o": {"p": 7, "q": []}}\n{"i": 3}\n'
    where = "ORDER BY i MEASURES A.o.p AS p, A.o.q[0].r AS r PATTERN (A B) DEFINE B AS o.p > A.o.p"
    found = ask("answer", where, file_table(content, "t"))["result"]["columns"]
    assert [(column["type"], column["cells"]) for column in found] == [("bigint", ["5"]), ("string", ["x"])]
    rows = {"i": [1, 2], "m": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int32()))}
    parquet.write_table(pa.table(rows), file := io.BytesIO())
    found = ask("answer", "ORDER BY i PATTERN (A) DEFINE A AS m['a'] = 1", file_table(file.getvalue(), "t"))
    assert found["truth"] == ["tn"]


def test_what_is_to_be_written_for_a_column_that_is_text_is_computed():
    table = file_table(b"i,v\n1,1.5\n2,n/a\n3,2\n4,3\n", "t")
    written = re.search(r"CAST\(.* AS DOUBLE\)", table.note)[0]
    found = ask("answer", f"ORDER BY i PATTERN (up) DEFINE up AS {written} > 1", table)
    assert found["truth"] == ["tntt"]


@pytest.mark.parametrize(
    "content, message",
    [
        (b'{"a": 1}\n{"a": "NA"}\n', "f is not JSON of rows: a is a number, and a string in row 2"),
        (b"[1]", "f is not JSON of rows: "),
        (b'{"a": ' + b"[" * 100_000, "f has values within more than 100 others"),
        (b"PAR1 is no magic", "f is not Parquet that can be read: "),
        (b'{"o": {}}', "no column of f has a type that the playground reads"),
    ],
)
def test_a_file_of_no_rows_is_an_error_with_its_reason(content, message):
    with pytest.raises(DataError, match="ROWS_FILE") as caught:
        file_table(content, "f")
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"a,b\n1,2,3\n", "has 3 values in place of 2"),
        (b"", "Empty CSV file"),
        (b"a,a\n1,2\n", 'two columns of the text are called "a"'),
        (b"a,\n1,2\n", "column 2 of the text has no name"),
        (b"a\n\xff\n", "is not UTF-8: byte 3 in line 2"),
        (b"a,b\n", "has no rows"),
    ],
)
def test_a_bad_csv_is_an_error_with_its_reason(content, message):
    with pytest.raises(DataError, match="CSV_FILE") as caught:
        csv_table(content, "t")
    assert message in caught.value.message


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_file(tmp_path / "nothing.csv")


def test_only_the_first_rows_of_a_long_csv_are_read():
    table = csv_table(b"v\n" + b"1\n" * 10_001, "t")
    assert table.rows == 10_000
    assert table.note == "Only the first 10,000 rows are here."


def test_the_first_statement_over_own_rows_is_answered():
    found = Playground(own=ROWS, first=0).ask("answer", {"table": "own", "text": first_statement(ROWS)})
    assert "errors" not in found
