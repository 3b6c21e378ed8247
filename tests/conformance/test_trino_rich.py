"""The clause gives the answers of a real Trino server to queries with rich expressions.

`python -m tests.conformance.test_trino_rich` writes `trino_rich_open.txt`, the list of the cases that do not hold yet.
"""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal

import pytest

import sqlext
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.statements.plan_statement import plan_statement
from sqlext.sessions.hook import unhooked

from ..sampling import sample
from .trino import error_class
from .trino_rich import CASES, OPEN, OPEN_FILE, answer, expected_rows

pytestmark = pytest.mark.spark
GOOD = [c for c in CASES if c["error"] is None and c["number"] not in OPEN]
BAD = [c for c in CASES if c["error"] is not None and c["number"] not in OPEN]
AT_ONCE = 20  # queries in one statement: Spark's cost per job would be most of the time
JSON = "map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss[.SSSSSS]')"


def answers(spark, texts: list[str]) -> list[list]:
    """The rows of several queries, run as one statement."""
    union = " UNION ALL ".join(
        f"SELECT {i} AS q, to_json(struct(*), {JSON}) AS r FROM ({text})" for i, text in enumerate(texts)
    )
    rows: list[list] = [[] for _ in texts]
    for q, row in spark.sql(union).collect():
        rows[q].append(list(json.loads(row, parse_float=Decimal).values()))
    return rows


def wrong_cases(spark, cases) -> list[tuple]:
    """(number, statement, our rows, Trino's rows) of each case whose rows differ."""
    results = [answer(c, rows) for c, rows in zip(cases, answers(spark, [c["sql"] for c in cases]))]
    expected = [answer(c, expected_rows(c)) for c in cases]
    return [(c["number"], c["sql"], r, e) for c, r, e in zip(cases, results, expected) if r != e]


@pytest.mark.random(every=4)
@pytest.mark.parametrize("at", range(0, len(GOOD), AT_ONCE))
def test_the_clause_gives_trinos_answers(spark, at):
    wrong = wrong_cases(spark, GOOD[at : at + AT_ONCE])
    assert not wrong, wrong[0]


@pytest.mark.parametrize("case", sample(BAD, 3), ids=lambda c: str(c["number"]))
def test_a_failed_skip_is_reported(spark, case):
    with pytest.raises(Exception, match=error_class(case)):
        spark.sql(case["sql"]).collect()


# the list of the cases that do not hold yet


def refusal(spark, case) -> str | None:
    """The first line of the error with which planning refuses the case, or None."""
    try:
        plan_statement(SqlCall(spark=spark, sql=unhooked(spark), text=case["sql"]))
    except Exception as e:
        return str(e).splitlines()[0][:150]
    return None


def run_refusal(spark, case) -> str | None:
    """What is wrong with the case when it runs, or None."""
    try:
        if case["error"] is None:
            return "other rows" if wrong_cases(spark, [case]) else None
        spark.sql(case["sql"]).collect()
    except Exception as e:
        is_expected = case["error"] is not None and error_class(case) in str(e)
        return None if is_expected else "run: " + str(e).splitlines()[0][:150]
    return "no error"


def write_open_cases() -> None:
    session = sqlext.session("open cases", master="local[2]", **{"spark.sql.session.timeZone": "UTC"})
    reasons = {c["number"]: refusal(session, c) for c in CASES}
    planned = [c for c in CASES if reasons[c["number"]] is None]
    for at in range(0, len(planned), AT_ONCE):
        group = planned[at : at + AT_ONCE]
        try:
            good = [c for c in group if c["error"] is None]
            group = [c for c in group if c["error"]] + [CASES[n] for n, *_ in wrong_cases(session, good)]
        except Exception:
            pass  # one of them: each is run alone
        reasons.update((c["number"], run_refusal(session, c)) for c in group)
    lines = [f"{n} {reason}\n" for n, reason in reasons.items() if reason is not None]
    OPEN_FILE.write_text("".join(lines))
    for reason, count in Counter(line.split(" ", 1)[1].split(":")[0] for line in lines).most_common():
        print(count, reason.strip())
    print(len(CASES) - len(lines), "hold")


if __name__ == "__main__":
    write_open_cases()
