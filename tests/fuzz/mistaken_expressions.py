"""Random expressions of all sorts, most of them with mistakes, in each place of the language that takes an expression.

`python -m tests.fuzz.mistaken_expressions FIRST COUNT` runs that many statements without Spark, and with `--spark` on
Spark, and prints what fails.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable

from pyspark.errors import PySparkException

from sqlext.errors import DataError, SqlExtError
from sqlext.spark.quiet_probes import quiet_probes

from .expressions import COLUMNS, TABLE, make_table, value
from .mutations import INTERNAL, failure, fault, report_failures

_KINDS = "".join(COLUMNS)
_TYPES = (
    "INT", "BIGINT", "DOUBLE", "DECIMAL(12,2)", "STRING", "DATE", "TIMESTAMP", "BOOLEAN", "ARRAY<INT>", "VARCHAR",
    "NUMBER(3)", "INTERVAL DAY TO SECOND", "MAP<STRING, INT>",
)  # fmt: skip
# <x>: an expression of any type; <v>: a pattern variable; <c>: a column; <t>: a type
_FORMS = """
<x> + <x>|<x> - <x>|<x> / <x>|<x> % <x>|<x> div <x>|<x> || <x>|<x> < <x>|<x> = <x>|NOT <x>|- <x>|<x> AND <x>|<x> OR <x>
<x> IS NULL|<x> IN (<x>, <x>)|<x> BETWEEN <x> AND <x>|<x> LIKE <x>|<x> RLIKE <x>|<x> ILIKE 'a'|<x> IS TRUE
CAST(<x> AS <t>)|try_cast(<x> AS <t>)|<x>::<t>|CASE WHEN <x> THEN <x> END|CASE <x> WHEN <x> THEN <x> ELSE <x> END
if(<x>, <x>, <x>)|coalesce(<x>, <x>)|nvl(<x>)|abs(<x>)|round(<x>, <x>)|substr(<x>, 2)|upper(<x>, <x>)|concat(<x>, <x>)
FIRST(<v>.<c>)|LAST(<v>.<c>)|LAST(<x>)|PREV(<x>)|NEXT(<x>, 2)|PREV(<x>, <x>)|PREV(LAST(<v>.<c>), 1)|FIRST(PREV(<x>))
RUNNING LAST(<x>)|FINAL LAST(<x>)|FINAL <x>|LAST(<v>.<c> + <v>.<c>)|LAST(<x>, -1)|PREV()|LAST(<v>.*)|<v>.*|*
COUNT(*)|COUNT(<v>.*)|COUNT(DISTINCT <x>)|SUM(<x>)|AVG(<v>.<c>)|MAX(<x>)|array_agg(<x>)|max_by(<x>, <x>)|SUM(SUM(<x>))
SUM(<x>) FILTER (WHERE <x>)|listagg(<x>, ',') WITHIN GROUP (ORDER BY <x>)|percentile(<x>, 0.5)|any_value(<x>)|COUNT()
CLASSIFIER()|CLASSIFIER(<v>)|MATCH_NUMBER()|MATCH_ROWTIME()|MATCH_SEQUENCE_NUMBER()|CLASSIFIER(<x>)|MATCH_NUMBER(<x>)
row_number() OVER (ORDER BY <x>)|lag(<x>) OVER (PARTITION BY <x> ORDER BY <x>)|sum(<x>) OVER w|explode(array(<x>))
transform(array(<x>), e -> e + <x>)|filter(array(<x>), e -> <x>)|aggregate(array(<x>), 0, (a, e) -> a + e)|array(<x>)[0]
named_struct('a', <x>).a|map('k', <x>)['k']|<x>.a|<x>[<x>]|<c>.<c>|<v>.<v>|<v>|<c>|nosuch|nosuch(<x>)|<v>.nosuch
datediff(<x>, <x>)|date_trunc('HOUR', <x>)|timestampdiff(MINUTE, <x>, <x>)|extract(YEAR FROM <x>)|<x> + INTERVAL 1 DAY
INTERVAL <x> DAY|current_timestamp()|rand()|uuid()|(SELECT max(i) FROM fuzz_rows)|(SELECT i FROM fuzz_rows)|:par|?|"s"
`s`|<x> IN (SELECT i FROM fuzz_rows)|EXISTS (SELECT 1)|(<x>, <x>)|(<x>)|<x> COLLATE UTF8_LCASE|<x> <x>|<x> AS z
<x> ->> 'a'|iff(<x>, <x>, <x>)|arg_max(<x>, <x>)|NUMTODSINTERVAL(1, 'DAY')|trunc(<x>)|position(<x> IN <x>)
from_json(<x>, 'a INT')|1 / 0|element_at(array(1), <x>)|CAST('x' AS INT)|2147483647 + 1|to_timestamp(<x>)
regexp_replace(<x>, 'a', '$1')|'it'
""".replace("\n", "|").strip("|")
_ALL_FORMS = re.split(r"(?<!\|)\|(?!\|)", _FORMS)
_HOLE = re.compile(r"<([xvct])>")
_MATCH = "SELECT {select} FROM fuzz_rows MATCH_RECOGNIZE (PARTITION BY {key} ORDER BY {order} MEASURES {measure} AS m {rows} PATTERN (A B+) {within} DEFINE {a} B AS {b}) {after}"  # noqa: E501
_PLAIN = {
    "select": "*", "key": "p", "order": "j", "measure": "LAST(j)", "rows": "", "within": "", "a": "",
    "b": "B.i >= A.i", "after": "",
}  # fmt: skip
# the part of _MATCH that has the expression → how it is written there
_PLACES: tuple[tuple[str, str], ...] = (
    ("measure", "{x}"), ("measure", "{x}"), ("measure", "{x}"), ("b", "{x}"), ("b", "{x}"), ("b", "{x} > B.i"),
    ("a", "A AS {x},"), ("key", "{x}"), ("key", "{x} AS k"), ("order", "{x}"), ("within", "WITHIN {x}"),
    ("select", "{x} AS y"), ("after", "WHERE {x}"), ("after", "GROUP BY {x}"), ("after", "ORDER BY {x}"),
    ("after", "HAVING {x}"), ("after", "QUALIFY {x}"), ("after", "UNION ALL SELECT {x}"), ("after", "LIMIT {x}"),
)  # fmt: skip
_OTHERS = (
    "SELECT * FROM fuzz_rows a ASOF JOIN fuzz_rows b MATCH_CONDITION ({x}) ON a.p = b.p",
    "SELECT * FROM fuzz_rows a ASOF JOIN fuzz_rows b MATCH_CONDITION (a.z >= b.z) ON {x}",
    "SELECT * FROM fuzz_rows a ASOF JOIN fuzz_rows b MATCH_CONDITION (a.z >= {x}) ON a.p = b.p",
    "SELECT {x} FROM fuzz_rows a ASOF JOIN fuzz_rows b MATCH_CONDITION (a.z >= b.z) ON a.p = b.p",
    "SELECT * FROM fuzz_rows a INTERVAL JOIN fuzz_rows b ON a.p = b.p AND a.z BETWEEN b.z AND {x}",
    "SELECT * FROM fuzz_rows a INTERVAL JOIN fuzz_rows b ON {x} AND a.z BETWEEN b.z AND b.z + INTERVAL 1 HOUR",
    "SELECT p, {x} AS y FROM TUMBLE(TABLE fuzz_rows, DESCRIPTOR(z), INTERVAL 1 HOUR) GROUP BY p, window_end",
    "SELECT p, {x} AS y FROM TUMBLE(TABLE fuzz_rows, DESCRIPTOR(z), INTERVAL 1 HOUR) GROUP BY p, window_start, "
    "window_end EMIT AFTER WATERMARK",
    "SELECT p, count(*) AS n FROM TUMBLE(TABLE fuzz_rows, DESCRIPTOR(z), {x}) GROUP BY p, window_start, window_end",
    "SELECT p, count(*) AS n FROM HOP(TABLE fuzz_rows, DESCRIPTOR({x}), INTERVAL 1 HOUR, INTERVAL 2 HOUR) GROUP BY p, "
    "window_start, window_end",
    "SELECT i, {x} OVER w FROM fuzz_rows WINDOW w AS (PARTITION BY p ORDER BY j MEASURES LAST(i) AS k ROWS BETWEEN "
    "CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS {x})",
)


def statement(number: int) -> str:
    """The statement of this number; the same number gives the same statement."""
    rng = random.Random(f"mistaken {number}")
    text = expression(rng, rng.choice((0, 1, 1, 2, 2, 3)))
    if rng.random() < 0.3:
        return rng.choice(_OTHERS).replace("{x}", text)
    part, form = rng.choice(_PLACES)
    parts = {**_PLAIN, part: form.replace("{x}", text)}
    if rng.random() < 0.3:
        parts["rows"] = "ALL ROWS PER MATCH"
    return _MATCH.format(**parts)


def expression(rng: random.Random, depth: int) -> str:
    """A random expression, whose parts have the right types by accident only."""
    if depth <= 0 or rng.random() < 0.15:
        typed = value(rng, rng.choice(_KINDS), rng.choice((0, 0, 1)))
        return re.sub(r"\[(\w)\.(\w)\]", lambda m: _column(m[1], m[2]), typed)
    fill: dict[str, Callable[[], str]] = {
        "x": lambda: expression(rng, depth - 1), "v": lambda: rng.choice("ABBC"), "c": lambda: rng.choice(_KINDS),
        "t": lambda: rng.choice(_TYPES),
    }  # fmt: skip
    text = _HOLE.sub(lambda m: fill[m[1]](), rng.choice(_ALL_FORMS))
    return f"({text})" if rng.random() < 0.2 else text


def _column(row: str, name: str) -> str:
    return {"A": f"A.{name}", "B": f"B.{name}", "P": f"PREV({name})"}.get(row, name)


def failure_on_spark(spark, text: str, *, run: bool) -> str:
    """What is wrong with the message of a statement on Spark, "" if nothing is. `run`: its rows are computed too."""
    try:
        with quiet_probes():
            if run:
                spark.sql(text).collect()
            else:
                spark.sql(f"EXPLAIN MATCH {text}")
    except DataError as e:  # about a row
        return f"an internal name: {e}" if INTERNAL.search(str(e)) else ""
    except SqlExtError as e:
        return fault(e, text if run else f"EXPLAIN MATCH {text}")
    except PySparkException as e:
        return f"an internal name: {e}"[:3000] if INTERNAL.search(str(e)) else ""
    except Exception as e:
        return f"{type(e).__name__}: {e}"[:3000]
    return ""


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:3])
    if "--spark" in sys.argv:
        import tempfile

        import sqlext
        from tests.conftest import SETTINGS

        session = sqlext.session("fuzz", master="local[2]", warehouse=tempfile.mkdtemp(), **SETTINGS)
        session.sparkContext.setLogLevel("OFF")
        make_table(session)
        report_failures(
            first, count, statement, lambda text: failure_on_spark(session, text, run="--run" in sys.argv), seconds=120
        )
    else:
        report_failures(first, count, statement, failure, seconds=20)
    print(f"over {TABLE}")
