"""A stream with a second WATERMARK, or with a UNION of which only one branch has one, is refused before it starts."""

from __future__ import annotations

import pytest

import sqlext
from sqlext.catalog import streams
from tests.sampling import sample

pytestmark = pytest.mark.spark
WATERMARK = "WATERMARK ts DELAY OF INTERVAL 1 SECOND"
STREAM = f"STREAM events {WATERMARK}"
UNION = "SELECT * FROM {} UNION ALL SELECT * FROM {}"
RELATIONS = {  # relations with two watermarks or with one for two streams
    "subquery": f"(SELECT * FROM {STREAM}) {WATERMARK}",
    "table alias": f"(SELECT * FROM {STREAM} AS e) {WATERMARK}",
    "union of two": f"({UNION.format(STREAM, STREAM)}) {WATERMARK}",
    "temporary view": f"marked {WATERMARK}",
    "union of views": f"({UNION.format('marked', 'marked')}) {WATERMARK}",
    "stored view": f"marked_pairs {WATERMARK}",
    "only the first": f"({UNION.format(STREAM, 'STREAM events')})",
    "only the second": f"({UNION.format('STREAM events', STREAM)})",
    "a view and a stream": f"({UNION.format('marked', 'STREAM events')})",
    "the second of three": f"({UNION.format(STREAM, 'STREAM events')} UNION ALL SELECT * FROM marked)",
    "in a view": "half_marked",
    "only the first of a DataFrame": "half_frame",
}
CLAUSES = {
    "match": """SELECT * FROM {} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES count(*) AS n
        PATTERN (A) DEFINE A AS true)""",
    "emit": """SELECT k, count(*) AS n FROM TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '1' DAY)
        GROUP BY k, window_start EMIT AFTER WATERMARK""",
    "windows": """SELECT window_start, count(*) AS n FROM TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '1' DAY)
        GROUP BY window_start, window_end""",
    "interval join": f"""SELECT l.k FROM {{}} AS l INTERVAL JOIN {STREAM} AS r
        ON l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 1 HOUR""",
    "asof join": f"SELECT l.k FROM {STREAM} AS l ASOF JOIN {{}} AS r MATCH_CONDITION (l.ts >= r.ts) ON l.k = r.k",
}  # fmt: skip
WRITERS = {
    "create": lambda spark, query: spark.sql(f"CREATE STREAMING TABLE refused AS {query}"),
    "insert": lambda spark, query: spark.sql(f"INSERT INTO kept {query}"),
    "writeStream": lambda spark, query: spark.sql(query).writeStream.format("memory").queryName("refused").start(),
    "explain": lambda spark, query: sqlext.explain(query, spark=spark),
}
CASES = [(relation, clause, writer) for relation in RELATIONS for clause in CLAUSES for writer in WRITERS]


@pytest.fixture
def views(events):
    marked = events.readStream.table("events").withWatermark("ts", "1 second")
    marked.createOrReplaceTempView("marked")
    marked.union(events.readStream.table("events")).createOrReplaceTempView("half_frame")
    events.sql(f"CREATE TEMP VIEW half_marked AS {UNION.format(STREAM, 'STREAM events')}")
    events.sql(f"""CREATE VIEW marked_pairs AS SELECT k, at AS ts, i FROM {STREAM} MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY ts MEASURES MATCH_ROWTIME() AS at, LAST(i) AS i PATTERN (A) DEFINE A AS true)""")
    events.sql("CREATE TABLE kept (k INT)")
    yield events
    events.sql("DROP VIEW marked_pairs")
    for name in ("marked", "half_frame", "half_marked"):
        events.catalog.dropTempView(name)


@pytest.mark.parametrize("relation, clause, writer", sample(CASES, 47))
def test_a_stream_whose_watermarks_do_not_fit_is_refused_before_it_starts(views, relation, clause, writer):
    query = CLAUSES[clause].format(RELATIONS[relation])
    with pytest.raises(sqlext.SqlExtError) as error:
        WRITERS[writer](views, query)
    assert error.value.error_class in ("SQLEXT_WATERMARK", "SQLEXT_ORDER_BY") and error.value.hint
    assert error.value.place is not None
    assert not views.catalog.tableExists("refused") and not views.streams.active and "refused" not in streams.started()


PAIRS = "SELECT * FROM marked_pairs UNION ALL SELECT k, ts, i FROM marked"
FITTING = {  # queries that keep the law
    "both": CLAUSES["match"].format(f"({UNION.format(STREAM, 'marked')})"),
    "one for both": CLAUSES["emit"].format(f"({UNION.format('STREAM events', 'STREAM events')}) {WATERMARK}"),
    "a union above the clause": f"""SELECT k FROM ({CLAUSES["match"].format(STREAM)})
        UNION ALL SELECT k FROM STREAM events""",
    "a clause over a clause": CLAUSES["match"].format("marked_pairs"),
    "of the results of clauses": CLAUSES["match"].format(f"({PAIRS})"),
    "a join of two": CLAUSES["interval join"].format("marked"),
    "the nearest rows": CLAUSES["asof join"].format("marked").replace("l.k", "l.k, l.ts, r.ts AS at, r.i", 1),
    "an idle source": CLAUSES["match"].format(f"{STREAM} IDLE AFTER INTERVAL 1 DAY"),
    "rules": f"SELECT k, rule_name FROM {STREAM} MATCH_RULES (PARTITION BY k ORDER BY ts RULES pairs_of)",
    "no clause": f"SELECT k FROM {STREAM} UNION ALL SELECT k FROM STREAM events",
}  # fmt: skip


@pytest.mark.parametrize("name", sample(list(FITTING), 4))
def test_watermarks_that_fit_are_accepted_and_run(views, name):
    views.sql("INSERT INTO events VALUES (1, TIMESTAMP '2026-01-01', 'a', 1), (1, TIMESTAMP '2026-01-02', 'a', 2)")
    if name == "rules":
        views.sql("""CREATE PATTERN RULE pairs ON pairs_of FOR TABLE events AS MATCH_RECOGNIZE (
            MEASURES count(*) AS n PATTERN (A) DEFINE A AS i > 0)""")
    views.sql(f"CREATE STREAMING TABLE fitting AS {FITTING[name]}")
    assert views.table("fitting").columns[0] == "k"
