"""EXPLAIN MATCH WHY of joins on time: the answers, and that each change it proposes gives the row a partner."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

import sqlext
from sqlext.engine.reports.row_json import row_json
from tests.sampling import seeded

from .report_cases import assert_lines, cases
from .test_analyze_join import FORMS, RELATIONS, rows_of

CASES = cases("why_joins.txt")
CHANGE = re.compile(r"Would match (?:with: (?P<new>.*)  -- in place of (?P<old>.*): |without: (?P<left_out>.*)  -- )")


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_the_nearest_candidates_and_what_refused_them(spark, case):
    _, joined, condition, *expected = case
    assert_lines(sqlext.why(f"{RELATIONS} SELECT * FROM {joined}", condition, spark=spark), expected)


def changed(joined: str, line: str) -> str:
    """The join with the change that a line proposes."""
    change = CHANGE.match(line)
    assert change is not None, line
    if change["left_out"] is not None:
        if change["left_out"].endswith("in USING"):
            return joined.replace("USING (k)", "")
        assert change["left_out"] in joined
        return joined.replace(change["left_out"], "TRUE")
    old = f"MATCH_CONDITION ({change['old']})" if change["new"].startswith("MATCH_CONDITION") else change["old"]
    assert old in joined
    return joined.replace(old, change["new"])


@pytest.mark.random(every=4)
@pytest.mark.parametrize("part", range(4))
def test_each_change_that_is_proposed_gives_the_row_a_partner(spark, part):
    chance = seeded(part)
    left, right = rows_of(chance)[:9], rows_of(chance)
    shown = (", ".join(f"({k}, {t})" for k, t in rows).replace("None", "NULL") for rows in (left, right))
    names = "WITH l AS (SELECT * FROM VALUES {} AS v (k, t)), r AS (SELECT * FROM VALUES {} AS v (k, t))"
    names = names.format(*shown)
    proposed = 0
    for form in FORMS[part::4]:
        text = sqlext.why(f"{names} SELECT * FROM {form.joined}", "l.t IS NOT NULL", spark=spark)
        rows_by_change = defaultdict(set)
        for answer in text.split("\n\n"):
            row, *lines = answer.splitlines()
            for line in lines:
                if line.startswith("Would match"):
                    rows_by_change[changed(form.joined, line)].add(row.removeprefix("Row of the left relation: "))
        for joined, rows in rows_by_change.items():
            proposed += 1
            query = f"{names} SELECT DISTINCT {row_json('struct(l.*)')} FROM {joined}"
            assert rows <= {row for (row,) in spark.sql(query).collect()}, (joined, rows)
    assert proposed


@pytest.mark.random(every=4)
@pytest.mark.parametrize("part", range(4))
def test_each_change_of_the_second_join_of_a_chain_gives_the_row_a_partner(spark, part):
    chance = seeded(part + 100)
    relations = (rows_of(chance)[:6], rows_of(chance)[:9], rows_of(chance))
    shown = [", ".join(f"({k}, {t})" for k, t in rows).replace("None", "NULL") for rows in relations]
    names = ", ".join(f"{name} AS (SELECT * FROM VALUES {rows} AS v (k, t))" for name, rows in zip("plr", shown))
    first = "p ASOF JOIN l MATCH_CONDITION (NEAREST (p.t, l.t)) USING (k) "
    for form in FORMS[part::4]:
        chain = form.joined.replace("l ", first, 1)
        text = sqlext.why(f"WITH {names} SELECT * FROM {chain}", "p.t IS NOT NULL", spark=spark)
        rows_by_change = defaultdict(set)
        for row, changes in re.findall(r'Row of the left relation: ({"p".*)\n((?:.+\n?)*)', text):
            for line in changes.splitlines():
                if line.startswith("Would match"):
                    rows_by_change[changed(form.joined, line)].add(row)
        for joined, rows in rows_by_change.items():
            chain = joined.replace("l ", first, 1)
            row = "to_json(named_struct('p', struct(p.*), 'l', struct(l.*)))"
            partners = spark.sql(f"WITH {names} SELECT DISTINCT {row} FROM {chain}").collect()
            assert rows <= {row for (row,) in partners}, (chain, rows)


def test_the_same_change_is_proposed_once(spark):
    name = "of several candidates that one change would make partners, the nearest is shown"
    (joined,) = (case[1] for case in CASES if case[0] == name)
    text = sqlext.why(f"SELECT * FROM {joined}", "l.k = 2", spark=spark)
    assert text.count("Would match without: l.k = r.k") == 1
