"""Random well-typed expressions over several rows of a match, and what Spark makes of them over a join of these rows.

In each partition the rows are numbered by j. Row 1 is mapped to A and row 2 to B; each further row j is mapped to Vj if
the j-th condition holds there, else to Nj, which is always true. So one statement tests a condition on each row. The
oracle is a join of rows 1, 2, j - 1 and j of each partition, in which Spark evaluates the same text.

`python -m tests.fuzz.expressions FIRST COUNT` runs that many statements of each kind and prints what differs.
"""

from __future__ import annotations

import datetime
import random
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from sqlext.errors import SqlExtError, SqlExtErrors, UnsupportedError
from sqlext.sessions.hook import unhooked
from sqlext.spark.quiet_probes import quiet_probes

AT_ONCE = 40  # expressions in one statement
PARTITIONS = 12
TABLE = "fuzz_rows"
COLUMNS = {
    "i": "int", "l": "bigint", "d": "double", "m": "decimal(12,2)", "s": "string", "y": "date", "z": "timestamp",
    "o": "boolean",
}  # fmt: skip
_LEAF = re.compile(r"\[(\w)\.(\w)\]")  # a column in a template: [A.i]


# values


def make_table(spark, seed: int = 1) -> None:
    """The view TABLE: PARTITIONS partitions with rows 1 to AT_ONCE + 2."""
    rng = random.Random(seed)
    day, time = datetime.date(2026, 2, 27), datetime.datetime(2026, 3, 28, 23, 30)
    pools: dict[str, Callable[[], object]] = {
        "i": lambda: rng.choice((0, 1, -1, 2, 7, 100, 2**31 - 1, -(2**31))),
        "l": lambda: rng.choice((0, 1, -3, 12, 2**40, 2**63 - 1)),
        "d": lambda: rng.choice((0.0, 0.5, -1.25, 3.0, 1e10, float("nan"), float("inf"))),
        "m": lambda: Decimal(rng.choice(("0.00", "1.05", "-2.50", "99.99", "1234567890.12"))),
        "s": lambda: rng.choice(("", "a", "Ab", " b ", "7", "-1.5", "2026-03-01", "é%_")),
        "y": lambda: day + datetime.timedelta(days=rng.choice((0, 1, 2, 40, 366))),
        "z": lambda: time + datetime.timedelta(minutes=rng.choice((0, 15, 59, 1440, 100_000))),
        "o": lambda: rng.choice((True, False)),
    }
    rows = [
        (p, j, *(None if rng.random() < 0.15 else pools[name]() for name in COLUMNS))
        for p in range(PARTITIONS)
        for j in range(1, AT_ONCE + 3)
    ]
    schema = "p int, j int, " + ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    spark.createDataFrame(rows, schema).createOrReplaceTempView(TABLE)


# expressions


def boolean(rng: random.Random, depth: int) -> str:
    if depth <= 0:
        return leaf(rng, "o")
    kind = rng.choice("ilddmsyzo")
    x, y, z = (value(rng, kind, depth - 1) for _ in range(3))
    p, q = boolean(rng, depth - 1), boolean(rng, depth - 1)
    return rng.choice((
        f"({x} {rng.choice(('<', '<=', '=', '<>', '>', '>=', '<=>'))} {y})", f"({x} BETWEEN {y} AND {z})",
        f"({x} IN ({y}, {z}))", f"({x} IS NULL)", f"({x} IS NOT NULL)", f"({x} IS DISTINCT FROM {y})",
        f"({p} AND {q})", f"({p} OR {q})", f"(NOT {p})", f"coalesce({p}, {q})", f"if({p}, {q}, {x} = {y})",
        f"({value(rng, 's', depth - 1)} LIKE {rng.choice(('%', 'a%', '_b', '%é%'))!r})",
        f"startswith({value(rng, 's', depth - 1)}, {value(rng, 's', depth - 1)})",
    ))  # fmt: skip


def value(rng: random.Random, kind: str, depth: int) -> str:
    """An expression of the type of the column `kind`."""
    if depth <= 0 or rng.random() < 0.2:
        return leaf(rng, kind)
    if kind == "o":
        return boolean(rng, depth)
    if rng.random() < 0.3:
        return _any_kind(rng, kind, depth)
    return _form(rng, kind, depth)


def leaf(rng: random.Random, kind: str) -> str:
    return f"[{rng.choice('ABVVUP')}.{kind}]" if rng.random() < 0.85 else rng.choice(_LITERALS[kind])


def _any_kind(rng: random.Random, kind: str, depth: int) -> str:
    x, y = value(rng, kind, depth - 1), value(rng, kind, depth - 1)
    p = boolean(rng, depth - 1)
    forms = [f"coalesce({x}, {y})", f"CASE WHEN {p} THEN {x} ELSE {y} END", f"if({p}, {x}, {y})", f"nullif({x}, {y})"]
    if kind != "d":  # NaN
        forms += [f"greatest({x}, {y})", f"least({x}, {y})"]
    return rng.choice(forms)


_LITERALS = {
    "i": ("0", "1", "3", "CAST(NULL AS INT)"), "l": ("5L", "-2L"), "d": ("1.5D", "0D"), "m": ("1.05BD", "10BD"),
    "s": ("'a'", "''", "'7'"), "y": ("DATE '2026-03-01'",), "z": ("TIMESTAMP '2026-03-29 00:00:00'",),
    "o": ("true", "CAST(NULL AS BOOLEAN)"),
}  # fmt: skip
# Forms of each type; <x> is an expression of the type x.
_FORMS = {
    "i": "(<i> + <i>)|(<i> - <i>)|(<i> * <i>)|(<i> % <i>)|abs(<i>)|(- <i>)|length(<s>)|datediff(<y>, <y>)|year(<y>)"
    "|CAST(<lds> AS INT)|hour(<z>)|mod(<i>, 7)",
    "l": "(<l> + <il>)|(<l> - <il>)|(<l> * <il>)|(<l> % <l>)|floor(<d>)|ceil(<d>)|CAST(<i> AS BIGINT)"
    "|timestampdiff(MINUTE, <z>, <z>)",
    "d": "(<d> + <id>)|(<d> - <id>)|(<d> * <id>)|(<d> / <id>)|(<i> / <i>)|sqrt(<d>)|round(<d>, 1)|abs(<d>)"
    "|CAST(<ilms> AS DOUBLE)",
    "m": "(<m> + <im>)|(<m> - <im>)|(<m> * <im>)|(<m> / <im>)|(1.05 * <m>)|round(<m>, 1)|abs(<m>)"
    "|CAST(<i> AS DECIMAL(12,2))",
    "s": "upper(<s>)|lower(<s>)|trim(<s>)|concat(<s>, <s>)|(<s> || <s>)|substr(<s>, 0, 2)|substr(<s>, -1, 2)"
    "|CAST(<ilyo> AS STRING)",
    "y": "date_add(<y>, 30)|date_add(<y>, -3)|CAST(<z> AS DATE)|last_day(<y>)|add_months(<y>, 1)|add_months(<y>, -1)",
    "z": "(<z> + INTERVAL 1 MINUTES)|(<z> - INTERVAL 90 MINUTES)|date_trunc('HOUR', <z>)|CAST(<y> AS TIMESTAMP)",
}


def _form(rng: random.Random, kind: str, depth: int) -> str:
    form = rng.choice(re.split(r"(?<! )\|(?! |\|)", _FORMS[kind]))
    return re.sub(r"<(\w+)>", lambda m: value(rng, rng.choice(m[1]), depth - 1), form)


# statements


@dataclass
class Outcome:
    """How many expressions gave Spark's values, which were refused and why, and which differ."""

    equal: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def conditions(number: int) -> list[str]:
    """Templates of AT_ONCE conditions."""
    rng = random.Random(number)
    return [boolean(rng, rng.choice((1, 2, 2, 3))) for _ in range(AT_ONCE)]


def measures(number: int) -> list[str]:
    """Templates of AT_ONCE values of any type."""
    rng = random.Random(-1 - number)
    return [value(rng, rng.choice("ildmsyzo"), rng.choice((1, 2, 3))) for _ in range(AT_ONCE)]


def in_clause(template: str, variable: str, rng: random.Random) -> str:
    """The text in a clause, in which `variable` is the current row."""

    def column(match: re.Match) -> str:
        row, name = match[1], match[2]
        if row in "AB":
            return rng.choice((f"{row}.{name}", f"LAST({row}.{name})", f"FIRST({row}.{name})", f"MAX({row}.{name})"))
        return {"V": f"{variable}.{name}", "U": name, "P": f"PREV({name})"}[row]

    return _LEAF.sub(column, template)


def in_join(template: str) -> str:
    """The text over the oracle's join."""
    return _LEAF.sub(lambda m: f"{m[1].lower() if m[1] in 'ABP' else 'v'}.{m[2]}", template)


JOIN = f"""{TABLE} v JOIN {TABLE} a ON a.p = v.p AND a.j = 1 JOIN {TABLE} b ON b.p = v.p AND b.j = 2
  JOIN {TABLE} p ON p.p = v.p AND p.j = v.j - 1"""


def check_conditions(spark, number: int, outcome: Outcome) -> None:
    """Run AT_ONCE conditions in DEFINE and add what comes out to `outcome`."""
    templates = dict(enumerate(conditions(number), 3))
    cases = " ".join(f"WHEN {j} THEN {in_join(t)}" for j, t in templates.items())
    oracle = unhooked(spark)(f"SELECT v.p, v.j, CASE v.j {cases} END AS holds FROM {JOIN} WHERE v.j > 2").collect()
    expected = {(row.p, row.j): f"{'V' if row.holds else 'N'}{row.j}" for row in oracle}
    rng = random.Random(number)
    texts = {j: in_clause(t, f"V{j}", rng) for j, t in templates.items()}

    def statement(kept: dict[int, str]) -> str:
        pattern = " ".join(f"(V{j} | N{j})" for j in templates)
        defined = ",\n".join(f"V{j} AS {text}" for j, text in kept.items())
        return (
            f"SELECT p, j, c FROM {TABLE} MATCH_RECOGNIZE (PARTITION BY p ORDER BY j MEASURES CLASSIFIER() AS c\n"
            f"ALL ROWS PER MATCH PATTERN (A B {pattern}) DEFINE\n{defined})"
        )

    kept, rows = _run(spark, texts, statement, outcome)
    actual = {(row.p, row.j): row.c for row in rows}
    for j, text in kept.items():
        wrong = [p for p in range(PARTITIONS) if actual.get((p, j)) != expected[p, j]]
        outcome.equal += not wrong
        if wrong:
            p = wrong[0]
            outcome.wrong.append(f"DEFINE {text}: partition {p}: {actual.get((p, j))}, not {expected[p, j]}")


def check_measures(spark, number: int, outcome: Outcome) -> None:
    """Run AT_ONCE values in MEASURES of a match of three rows and add what comes out to `outcome`."""
    templates = {j: t.replace("[P.", "[B.") for j, t in enumerate(measures(number))}
    values = ", ".join(f"CAST({in_join(t)} AS STRING) AS m{j}" for j, t in templates.items())
    oracle = unhooked(spark)(f"SELECT v.p, {values} FROM {JOIN} WHERE v.j = 3").collect()
    rng = random.Random(number)
    texts = {j: in_clause(t, "V", rng) for j, t in templates.items()}

    def statement(kept: dict[int, str]) -> str:
        listed = ",\n".join(f"CAST({text} AS STRING) AS m{j}" for j, text in kept.items())
        return (
            f"SELECT * FROM {TABLE} MATCH_RECOGNIZE (\nPARTITION BY p ORDER BY j MEASURES\n{listed}\n"
            f"PATTERN (^ A B V) DEFINE A AS true)"
        )

    kept, rows = _run(spark, texts, statement, outcome)
    actual, expected = ({row.p: row.asDict() for row in result} for result in (rows, oracle))
    for j, text in kept.items():
        name = f"m{j}"
        wrong = [p for p in range(PARTITIONS) if actual[p][name] != expected[p][name]]
        outcome.equal += not wrong
        if wrong:
            p = wrong[0]
            outcome.wrong.append(f"MEASURES {text}: partition {p}: {actual[p][name]}, not {expected[p][name]}")


def _run(spark, texts: dict[int, str], statement: Callable[[dict[int, str]], str], outcome: Outcome):
    """The expressions that are not refused, and the rows of the statement with them."""
    kept = dict(texts)
    while kept:
        sql = statement(kept)
        try:
            with quiet_probes():
                return kept, spark.sql(sql).collect()
        except SqlExtError as e:
            errors = e.errors if isinstance(e, SqlExtErrors) else [e]
            lines = {error.place.line for error in errors if error.place}
            refused = [
                j for line, j in enumerate(kept, 3) if line in lines
            ]  # each has a line of its own, from the third
            if not refused or not all(isinstance(error, UnsupportedError) for error in errors):
                outcome.wrong.append(f"{sql}\n{e}"[-3000:])
                return {}, []
            for error in errors:
                outcome.refused[error.error_class] = outcome.refused.get(error.error_class, 0) + 1
            for j in refused:
                del kept[j]
        except Exception as e:
            outcome.wrong.append(f"{sql}\n{type(e).__name__}: {e}"[:6000])
            return {}, []
    return {}, []


if __name__ == "__main__":
    import tempfile

    import sqlext
    from tests.conftest import SETTINGS

    first, count = map(int, sys.argv[1:3])
    session = sqlext.session("fuzz", master="local[2]", warehouse=tempfile.mkdtemp(), **SETTINGS)
    session.conf.set("spark.sql.ansi.enabled", "false")
    make_table(session)
    result = Outcome()
    for number in range(first, first + count):
        before = len(result.wrong)
        check_conditions(session, number, result)
        check_measures(session, number, result)
        for line in result.wrong[before:]:
            print(f"#### {number}\n{line}\n", flush=True)
        if number % 10 == 0:
            print(number, result.equal, result.refused, len(result.wrong), flush=True)
    print("equal", result.equal, "refused", result.refused, "wrong", len(result.wrong))
