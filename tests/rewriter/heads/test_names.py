"""What the texts of statements name, without a session."""

from __future__ import annotations

import pytest

from sqlext.errors import ParseError, UnsupportedError
from sqlext.rewriter.heads.heads import parse_head, parse_view
from sqlext.rewriter.text.names import quote, split_name
from sqlext.rewriter.tree.sources import qualify, relations

READS = [
    ("SELECT a, b FROM t", "t"),
    ("SELECT a FROM t AS x, db.u y LEFT JOIN `a b`.`c``d` ON x.k = y.k, w WHERE z IN (1, 2)", "t db.u `a b`.`c``d` w"),
    ("FROM t SELECT a, b", "t"),
    ("TABLE t", "t"),
    ("SELECT * FROM VALUES (1), (2) AS v(a), t", "t"),
    ("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a), a", "a"),
    ("SELECT * FROM (t JOIN u USING (k, l)), v", "t u v"),
    ("SELECT * FROM (SELECT a, b FROM t) s, u", "t u"),
    ("SELECT trim(BOTH x FROM y), extract(DAY FROM d) FROM t WHERE a IS DISTINCT FROM b", "t"),
    ("SELECT * FROM range(3), f(t), explode(a) e, LATERAL g(u), LATERAL (SELECT * FROM v)", "v"),
    ("SELECT * FROM t LATERAL VIEW explode(a) x AS c, d ORDER BY a, b", "t"),
    ("WITH a AS (SELECT * FROM t), b (x, y) AS (SELECT * FROM a) SELECT * FROM b, A, c", "t c"),
    ("SELECT 1 FROM t UNION ALL SELECT 2, 3 FROM u ORDER BY x, y", "t u"),
    ("MERGE INTO t USING u ON t.k = u.k WHEN MATCHED THEN UPDATE SET a = 1, b = 2", "u"),
    ("INSERT INTO t SELECT a, b FROM u", "u"),
    ("CREATE TABLE t AS SELECT * FROM u", "u"),
    ("SELECT * FROM STREAM t WATERMARK ts DELAY OF INTERVAL 1 SECOND AS s, STREAM(u)", "t u"),
    ("SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY a, b PATTERN (A) DEFINE A AS x IN (TABLE u)) m, v", "t u v"),
    ("SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR)", "t"),
    ("SELECT * FROM t ASOF JOIN u MATCH_CONDITION (t.a >= u.a) INTERVAL JOIN v ON x BETWEEN y AND z", "t u v"),
    ("SELECT 'FROM a', `from b` -- FROM c\n/* FROM d */ FROM t |> JOIN u ON a = b", "t u"),
    ("SELECT 'no end FROM t", ""),
    ("SELECT 1", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "names"), READS)
def test_a_statement_reads_from(text, names):
    assert " ".join(text[n.start : n.stop] for n in relations(text)) == names


@pytest.mark.parametrize("parts", [("t",), ("a b", "c`d"), ("x", "y", "z.z")])
def test_a_quoted_name_splits_into_its_parts(parts):
    assert split_name(quote(parts)) == parts


def test_only_names_without_a_schema_are_qualified():
    text = "WITH c AS (TABLE t) SELECT t.x FROM c, t AS t, s.u"
    assert qualify(text, ("d",)) == "WITH c AS (TABLE `d`.t) SELECT t.x FROM c, `d`.t AS t, s.u"


HEADS = [
    ("create view a.b as select 1", ("CREATE VIEW", ("a", "b"), False, False, False)),
    ("-- x\n/* y */ CREATE OR REPLACE VIEW v(a) AS TABLE t", ("CREATE VIEW", ("v",), False, True, False)),
    ("CREATE OR REPLACE TEMP VIEW v AS SELECT 1", ("CREATE VIEW", ("v",), True, True, False)),
    ("CREATE GLOBAL TEMPORARY VIEW v AS SELECT 1", ("CREATE VIEW", ("v",), True, False, False)),
    ("CREATE VIEW IF NOT EXISTS v AS SELECT 1", ("CREATE VIEW", ("v",), False, False, True)),
    ("DROP VIEW IF EXISTS `v w`;", ("DROP VIEW", ("v w",), False, False, True)),
    ("drop table t", ("DROP TABLE", ("t",), False, False, False)),
    ("CREATE TABLE t AS SELECT 1", None),
    ("DROP DATABASE d", None),
    ("SELECT 'CREATE VIEW v'", None),
    ("CREATE VIEW 'v' AS SELECT 1", None),
    ("CREATE VIEW v AS SELECT 'no end", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "expected"), HEADS)
def test_the_head_of_a_statement(text, expected):
    head = parse_head(text)
    found = head and (head.verb, head.name.parts, head.is_temporary, head.or_replace, head.if_exists)
    assert found == expected


@pytest.mark.parametrize(
    ("text", "error", "marked"),
    [
        ("CREATE VIEW v TBLPROPERTIES ('a' = 'b') AS SELECT 1", UnsupportedError, "TBLPROPERTIES"),
        ("CREATE VIEW v (a COMMENT 'x') AS SELECT 1", UnsupportedError, "COMMENT"),
        ("CREATE VIEW v (a, b", ParseError, "v"),
        ("CREATE VIEW v AS", ParseError, "v"),
        ("CREATE VIEW v", ParseError, "v"),
    ],
)
def test_a_view_that_cannot_be_stored_is_refused_with_its_place(text, error, marked):
    with pytest.raises(error) as caught:
        parse_view(parse_head(text))
    assert caught.value.place.text[caught.value.place.start : caught.value.place.stop] == marked
