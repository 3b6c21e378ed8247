"""CREATE STREAMING TABLE: its clauses, in any order, and the errors of what it cannot have."""

from __future__ import annotations

import pytest

import sqlext
from sqlext.rewriter.heads.stream_target import parse_target

QUERY = "SELECT k, v FROM STREAM s"
WHOLE = (
    "(k INT NOT NULL COMMENT 'a, b', v, s STRUCT<comment: INT COMMENT 'x', check: ARRAY<INT>>) USING delta"
    " UPSERT KEY (k) CLUSTER BY (k, s.check) OPTIONS ('Trigger' = 'Available-Now') COMMENT 'x' LOCATION '/a'"
    " TBLPROPERTIES ('delta.appendOnly' = 'true')"
)
WRONG = [  # what follows the name of the table, with » before what the error points at; its class and first words
    ("OPTIONS ('trigger' = »'bogus') AS SELECT 1", "STREAM_TRIGGER", "there is no trigger 'bogus'"),
    ("OPTIONS ('trigger' = »'-5 seconds') AS SELECT 1", "STREAM_TRIGGER", "there is no trigger '-5 seconds'"),
    ("OPTIONS ('trigger' = »'once') AS SELECT 1", "STREAM_TRIGGER", "there is no trigger 'once'"),
    ("»SCHEDULE EVERY 1 HOUR AS SELECT 1", "STREAM_TABLE", "SCHEDULE is written where AS and a query must follow"),
    ("PARTITIONED BY »k AS SELECT 1", "STREAM_TABLE", "k is written where a list in parentheses must follow"),
    ("COMMENT »x AS SELECT 1", "STREAM_TABLE", "x is written where a string must follow"),
    ("COMMENT 'x' »COMMENT 'y' AS SELECT 1", "STREAM_TABLE", "this is written twice"),
    ("(k, »CONSTRAINT c CHECK (k > 1)) AS SELECT 1", "STREAM_OPTION", "a streaming table cannot be created with"),
    ("(check INT, »CHECK (check > 1)) AS SELECT 1", "STREAM_OPTION", "a streaming table cannot be created with"),
    ("(k »PRIMARY KEY, n INT GENERATED ALWAYS AS (k > 1)) AS SELECT 1", "STREAM_OPTION", "a streaming table cannot be"),
    ("(k, », v) AS SELECT 1", "STREAM_TABLE", "a column is missing here"),
    ("COMMENT 'x' »AS", "STREAM_TABLE", "a query must follow here"),
]


def test_the_clauses_of_create_table_may_be_in_any_order():
    target = parse_target(f"CREATE STREAMING TABLE IF NOT EXISTS a.t {WHOLE} AS {QUERY};")
    columns, clauses = target.definition.columns, target.definition.clauses
    assert [(c.name, c.type and c.type.text) for c in columns] == [
        ("k", "INT"),
        ("v", None),
        ("s", "STRUCT<comment: INT COMMENT 'x', check: ARRAY<INT>>"),
    ]
    assert columns[2].rest.text == columns[2].type.text and columns[1].rest is None
    assert [c.text.split()[0] for c in clauses] == ["CLUSTER", "COMMENT", "LOCATION", "TBLPROPERTIES"]
    assert (target.definition.location, target.trigger, target.upsert_key[0].name) == ("/a", "available-now", "k")
    assert target.query.text == QUERY
    without_as = parse_target(f"CREATE STREAMING TABLE t ({QUERY})")
    assert without_as.definition.columns == () and without_as.query.text[0] == "("


def test_a_column_may_be_called_as_a_constraint_begins():
    target = parse_target(f"CREATE STREAMING TABLE t (check INT, primary STRING, unique) AS {QUERY}")
    found = [(column.name, column.type and column.type.text) for column in target.definition.columns]
    assert found == [("check", "INT"), ("primary", "STRING"), ("unique", None)]


@pytest.mark.parametrize(("marked", "name", "message"), WRONG)
def test_a_wrong_clause_is_refused_with_its_place(marked, name, message):
    text = f"CREATE STREAMING TABLE t {marked}"
    with pytest.raises(sqlext.SqlExtError) as refused:
        parse_target(text.replace("»", ""))
    assert (refused.value.error_class, refused.value.place.start) == (f"SQLEXT_{name}", text.index("»"))
    assert refused.value.message.startswith(message)


@pytest.mark.parametrize("word", ["REPLACE", "REFRESH"])
def test_if_not_exists_does_not_go_with_or(word):
    text = f"CREATE OR {word} STREAMING TABLE IF NOT EXISTS t AS SELECT 1"
    with pytest.raises(sqlext.ParseError, match=f"OR {word} and IF NOT EXISTS exclude each other") as error:
        parse_target(text)
    assert (error.value.place.written, error.value.hint) == ("IF NOT EXISTS", "leave one of them out.")
