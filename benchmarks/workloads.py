"""All workloads of patterns, after the micro-benchmarks of DuckDB's development branch.

Trino and Flink must understand the text as well, so it has `A.v = 0` instead of `v = 0`, no name that one of them
reserves (START, DROP), and AFTER MATCH written out where Flink runs it, because Flink has another default.
"""

from __future__ import annotations

from typing import Any

from benchmarks.workload import Workload, known

SLOW = 2.0  # times the floor: conditions on the match so far, or all rows are returned
FAST = 1.25  # times the floor: row-local conditions
MILLION = 1_000_000

HASH = "(i * 2654435761 % 1000003)"
MODULO = {"i": "i", "p": "i div 100", "v": "i % 5"}
PAIRS = """MEASURES A.i AS began AFTER MATCH SKIP PAST LAST ROW
    PATTERN (A B) DEFINE A AS A.v = 0, B AS B.v = 1"""
LETTERS = {"i": "i", "letter": "'a'"}
SELECTIVE = {"i": "i", "v": "pmod(hash(i), 100)"}

ENDS_GREEDY = "a pattern must not end in a greedy quantifier"
NO_NESTING = "quantifiers on groups are not built"


def pairs(rows: int):
    """The totals of (A B) on i % 5 = 0, 1: each multiple of five begins a match."""
    n = rows // 5
    return None if rows % 100 else (n, 5 * n * (n - 1) // 2)


def funnels(rows: int):
    """The totals of two matches in the ten rows of a visitor: at 0 and 4 of even visitors, at 2 and 6 of odd ones."""
    visitors = rows // 10
    return None if rows % 20 else (2 * visitors, 10 * visitors * (visitors - 1) + 6 * visitors)


def nothing(rows: int):
    """The totals of no match."""
    return 0, None


def selectivity(percent: int) -> Workload:
    """A B B without keys, where `percent` of the rows are A."""
    return Workload(
        name=f"selectivity_{percent}",
        rows=10 * MILLION,
        table="selectivity",
        columns=SELECTIVE,
        reads=("i", "v"),
        match=f"""MEASURES A.i AS began AFTER MATCH SKIP PAST LAST ROW
    PATTERN (A B{{2}}) DEFINE A AS A.v < {percent}, B AS B.v < 50""",
        totals="count(*), sum(began)",
        goal=FAST,
    )


def three_steps(key: str, order: str) -> str:
    return f"""SELECT {order} AS began FROM (
            SELECT {order}, step, lead(step) OVER w AS second, lead(step, 2) OVER w AS third
            FROM {{table}} WINDOW w AS (PARTITION BY {key} ORDER BY {order}))
            WHERE step = 'browse' AND second = 'select' AND third = 'checkout'"""


def runs(column: str, belongs: str, key: str = "k", order: str = "t") -> str:
    """The lengths of the runs of rows, each of which `belongs` to the run of the row before it: `lag` is the value of
    the column in that row."""
    return f"""SELECT count(*) AS n FROM (
            SELECT {key}, sum(IF({belongs}, 0, 1)) OVER (PARTITION BY {key} ORDER BY {order}) AS run FROM (
                SELECT *, lag({column}) OVER (PARTITION BY {key} ORDER BY {order}) AS lag FROM {{table}}))
            GROUP BY {key}, run"""


def falls(order: str = "t") -> str:
    """A fall is a longest run of rows below the row before them; a match is a fall that a rise follows at once."""
    return f"""SELECT high, low, high - low AS fall, 1 + n + lead_n AS n FROM (
            SELECT *, lead(d) OVER w AS lead_d, lead(n) OVER w AS lead_n FROM (
                SELECT k, run, d, count(*) AS n, max(lag) AS high, min(v) AS low FROM (
                    SELECT *, sum(IF(d = lag_d, 0, 1)) OVER (PARTITION BY k ORDER BY {order}) AS run FROM (
                        SELECT *, lag(d) OVER (PARTITION BY k ORDER BY {order}) AS lag_d FROM (
                            SELECT *, sign(v - lag) AS d FROM (
                                SELECT *, lag(v) OVER (PARTITION BY k ORDER BY {order}) AS lag FROM {{table}}))))
                GROUP BY k, run, d)
            WINDOW w AS (PARTITION BY k ORDER BY run)) WHERE d = -1 AND lead_d = 1"""


PARTITIONED = (
    Workload(
        name="partitions",
        rows=2 * MILLION,
        table="modulo",
        columns=MODULO,
        reads=("p", "i", "v"),
        keys=("p",),
        match=PAIRS,
        totals="count(*), sum(began)",
        goal=FAST,
        expected=pairs,
        lead="""SELECT i AS began FROM (
            SELECT i, v, lead(v) OVER (PARTITION BY p ORDER BY i) AS next_v FROM {table}) WHERE v = 0 AND next_v = 1""",
    ),
    Workload(
        name="funnel",
        rows=10 * MILLION,
        columns={
            "i": "i",
            "visitor": "i div 10",
            "step": "CASE i % 4 WHEN 0 THEN 'browse' WHEN 1 THEN 'select' WHEN 2 THEN 'checkout' ELSE 'idle' END",
        },
        reads=("visitor", "i", "step"),
        keys=("visitor",),
        match="""MEASURES BROWSE.i AS began AFTER MATCH SKIP PAST LAST ROW
    PATTERN (BROWSE SELECT_IT CHECKOUT)
    DEFINE BROWSE AS BROWSE.step = 'browse', SELECT_IT AS SELECT_IT.step = 'select',
           CHECKOUT AS CHECKOUT.step = 'checkout'""",
        totals="count(*), sum(began)",
        goal=FAST,
        expected=funnels,
        lead=three_steps("visitor", "i"),
        tiny_rows=1_000,
        limits={"pandas": MILLION},
    ),
    Workload(
        name="sessionize",
        rows=10 * MILLION,
        columns={"visitor": "i div 1000", "t": "i * 10 + (i div 50) * 1000"},
        reads=("visitor", "t"),
        keys=("visitor",),
        order=("t",),
        match="MEASURES COUNT(*) AS n PATTERN (A B*) DEFINE B AS B.t - PREV(B.t) <= 100",
        totals="count(*), sum(n), max(n)",
        goal=FAST,
        expected=lambda rows: None if rows % 50 else (rows // 50, rows, 50),
        lead=runs("t", "t - lag <= 100", "visitor"),
        flink_lacks=ENDS_GREEDY,
        limits={"pandas": MILLION},
    ),
    Workload(
        name="streak",
        rows=10 * MILLION,
        columns={"i": "i", "sensor": "i div 1000", "v": "pmod(hash(i), 1000)"},
        reads=("sensor", "i", "v"),
        keys=("sensor",),
        match="MEASURES COUNT(*) AS n PATTERN (A B*) DEFINE B AS B.v > PREV(B.v)",
        totals="count(*), sum(n), max(n)",
        goal=FAST,
        lead=runs("v", "v > lag", "sensor", "i"),
        flink_lacks=ENDS_GREEDY,
        limits={"pandas": MILLION},
    ),
    Workload(
        name="v_shape",
        rows=10 * MILLION,
        columns={"i": "i", "k": "i % least(1000, {rows} div 10)", "v": "pmod(xxhash64(i), 1000)"},
        reads=("k", "i", "v"),
        keys=("k",),
        match="""MEASURES A.v AS high, LAST(B.v) AS low, A.v - LAST(B.v) AS fall, COUNT(*) AS n
    AFTER MATCH SKIP TO LAST C
    PATTERN (A B+ C+)
    DEFINE B AS B.v < PREV(B.v), C AS C.v > PREV(C.v)""",
        totals="count(*), sum(high), sum(low), sum(fall), sum(n)",
        goal=FAST,
        tiny_rows=1_000,
        lead=falls("i"),
        flink_lacks=ENDS_GREEDY,
        limits={"pandas": MILLION},
        window=("n", "high", "low", "fall"),
    ),
    Workload(
        name="bin_packing",
        rows=MILLION,
        columns={"i": "i", "bin": "i div 1000", "w": f"1 + {HASH} % 9"},
        reads=("bin", "i", "w"),
        keys=("bin",),
        match="""MEASURES SUM(X.w) AS total, COUNT(X.*) AS packed
    PATTERN ((X | {- REST -})+) DEFINE X AS SUM(X.w) <= 20""",
        totals="count(*), sum(total), sum(packed)",
        goal=SLOW,
        expected=known({MILLION: (1000, 20000, 5371)}),
        flink_lacks="no alternation, no exclusion",
    ),
    Workload(
        name="rare_key",
        rows=10 * MILLION,
        columns={
            "i": "i",
            "k": "i % ({rows} div 1000)",
            # The rare row is in another place in each of the few keys: Spark cannot skip a file by its statistics.
            "v": """IF(i % ({rows} div 1000) % 1000 = 0
                AND i div ({rows} div 1000) = (i % ({rows} div 1000) div 1000 * 97 + 500) % 1000,
                1000, pmod(hash(i), 100))""",
        },
        reads=("k", "i", "v"),
        keys=("k",),
        match="""MEASURES A.i AS began, C.i AS ended, COUNT(*) AS n AFTER MATCH SKIP PAST LAST ROW
    PATTERN (A B* C) DEFINE A AS A.v < 50, B AS B.v < 1000, C AS C.v >= 1000""",
        totals="count(*), sum(began), sum(ended), sum(n)",
        goal=FAST,
        settings={"prefilter off": {"sqlext.prefilter": "off"}},
        limits={"trino": 100_000, "flink": 1_000},  # they restart their search at every row
    ),
)

IN_TIME = "i"
AT_RANDOM = "pmod(xxhash64(i), 1000) * {rows} + i"  # different in all rows, so that no order of ties is left open
SPARK_SORTS = {"Spark sorts": {"sqlext.order": "spark"}}
FUNNEL = next(w for w in PARTITIONED if w.name == "funnel")


def interleaved(name: str, keys: int, time: str) -> tuple[Workload, ...]:
    """Event logs: rows come in the order of time, or AT_RANDOM, and each is of any key and any step.

    If keys took turns, each turn would be a run that is in order, and Spark's sort would only have to merge these runs.
    """
    key = f"CAST(pmod(hash(i, 1), least({keys}, {{rows}} div 10)) AS BIGINT)"
    step = "element_at(array('browse', 'select', 'checkout', 'idle'), pmod(hash(i, 2), 4) + 1)"
    shared: dict[str, Any] = {
        "rows": 10 * MILLION,
        "table": f"{name}_{keys}",
        "columns": {"t": time, "k": key, "v": "pmod(hash(i), 1000)", "step": step},
        "keys": ("k",),
        "order": ("t",),
        "goal": 0.6,
        "settings": SPARK_SORTS,
        "tiny_rows": 1_000,
        "grows": False,
    }
    return (
        Workload(
            name=f"{name}_funnel_{keys}",
            reads=("k", "t", "step"),
            match=FUNNEL.match.replace("BROWSE.i", "BROWSE.t"),
            totals="count(*), sum(began)",
            lead=three_steps("k", "t"),
            **shared,
        ),
        Workload(
            name=f"{name}_sessions_{keys}",
            reads=("k", "t"),
            match=f"MEASURES COUNT(*) AS n PATTERN (A B*) DEFINE B AS B.t - PREV(B.t) <= {keys}",
            totals="count(*), sum(n), max(n)",
            lead=runs("t", f"t - lag <= {keys}"),
            flink_lacks=ENDS_GREEDY,
            **shared,
        ),
        Workload(
            name=f"{name}_v_shape_{keys}",
            reads=("k", "t", "v"),
            match="""MEASURES A.v AS high, LAST(B.v) AS low, COUNT(*) AS n AFTER MATCH SKIP TO LAST C
    PATTERN (A B+ C+) DEFINE B AS B.v < PREV(B.v), C AS C.v > PREV(C.v)""",
            totals="count(*), sum(high), sum(low), sum(n)",
            lead=falls(),
            flink_lacks=ENDS_GREEDY,
            **shared,
        ),
        Workload(
            name=f"{name}_streak_{keys}",
            reads=("k", "t", "v"),
            match="MEASURES COUNT(*) AS n PATTERN (A B*) DEFINE B AS B.v > PREV(B.v)",
            totals="count(*), sum(n), max(n)",
            lead=runs("v", "v > lag"),
            flink_lacks=ENDS_GREEDY,
            **shared,
        ),
    )


INTERLEAVED = tuple(
    workload
    for name, time in (("interleaved", IN_TIME), ("random", AT_RANDOM))
    for keys in (1_000, 100_000, MILLION)
    for workload in interleaved(name, keys, time)
)

UNPARTITIONED = (
    Workload(
        name="scan",
        rows=2 * MILLION,
        table="modulo",
        columns=MODULO,
        reads=("i", "v"),
        match=PAIRS,
        totals="count(*), sum(began)",
        goal=FAST,
        expected=pairs,
        lead="""SELECT i AS began FROM (
            SELECT i, v, lead(v) OVER (ORDER BY i) AS next_v FROM {table}) WHERE v = 0 AND next_v = 1""",
    ),
    selectivity(1),
    selectivity(25),
    selectivity(99),
    Workload(
        name="one_partition",
        rows=10 * MILLION,
        table="selectivity",
        columns=SELECTIVE,
        reads=("i", "v"),
        match="""MEASURES A.i AS began, LAST(C.i) AS ended, COUNT(*) AS n
    PATTERN (A B+ C+) DEFINE A AS A.v < 20, B AS B.v BETWEEN 10 AND 69, C AS C.v >= 60""",
        totals="count(*), sum(began), sum(ended), sum(n)",
        goal=FAST,
        settings={"parallel off": {"sqlext.parallel": "off"}},
        flink_lacks=ENDS_GREEDY,
    ),
    Workload(
        name="quantifier",
        rows=500_000,
        columns={"i": "i", "v": "i % 17"},
        reads=("i", "v"),
        match="""MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH
    PATTERN (A+ B+ A+) DEFINE A AS A.v < 12, B AS B.v >= 12""",
        totals="count(*), max(n), sum(i), sum(v)",
        goal=FAST,
        flink_lacks="no ALL ROWS PER MATCH, no variable twice",
    ),
    Workload(
        name="navigation",
        rows=200_000,
        columns={"i": "i", "v": "i * 2654435761 % 1000"},
        reads=("i", "v"),
        match="MEASURES A.i AS began, COUNT(*) AS n PATTERN (A B+) DEFINE B AS B.v > LAST(A.v)",
        totals="count(*), sum(began), sum(n)",
        goal=SLOW,
        flink_lacks=ENDS_GREEDY,
    ),
    Workload(
        name="no_match",
        rows=200_000,
        columns={"i": "i", "step": "CASE i div 1000 % 3 WHEN 0 THEN 'browse' WHEN 1 THEN 'select' ELSE 'checkout' END"},
        reads=("i", "step"),
        match="""MEASURES COUNT(*) AS n AFTER MATCH SKIP PAST LAST ROW
    PATTERN (BROWSE+ SELECT_IT+ CHECKOUT+ REFUND)
    DEFINE BROWSE AS BROWSE.step = 'browse', SELECT_IT AS SELECT_IT.step = 'select',
           CHECKOUT AS CHECKOUT.step = 'checkout', REFUND AS REFUND.step = 'refund'""",
        totals="count(*), sum(n)",
        goal=FAST,
        expected=nothing,
        tiny_rows=1_300,  # `reference` takes quadratic time
        limits={"trino": 200_000, "flink": 300},
    ),
    Workload(
        name="nested_quantifier",
        rows=2 * MILLION,
        table="letters",
        columns=LETTERS,
        reads=("i", "letter"),
        match="MEASURES COUNT(*) AS n PATTERN ((A+)+ B) DEFINE A AS A.letter = 'a', B AS B.letter = 'b'",
        totals="count(*), sum(n)",
        goal=FAST,
        expected=nothing,
        tiny_rows=12,
        flink_lacks=NO_NESTING,
        limits={"trino": 2_000},
    ),
    Workload(
        name="optional_prefix",
        rows=4_000,
        table="letters",
        columns=LETTERS,
        reads=("i", "letter"),
        match="MEASURES COUNT(*) AS n PATTERN ((A{0,1}){{rows}} A{{rows}}) DEFINE A AS A.letter = 'a'",
        totals="count(*), sum(n)",
        goal=FAST,
        expected=lambda rows: (1, rows),
        tiny_rows=8,
        grows=False,
        flink_lacks=NO_NESTING,
        limits={"trino": 400},
    ),
    Workload(
        name="blow_up",
        rows=2 * MILLION,
        columns={
            "i": "i",
            "letter": "CASE WHEN i = {rows} - 1 THEN 'D' ELSE substr('ABC', CAST(3 * i div {rows} AS INT) + 1, 1) END",
        },
        reads=("i", "letter"),
        match="""MEASURES COUNT(*) AS n AFTER MATCH SKIP PAST LAST ROW
    PATTERN (A+ B+ C+ E)
    DEFINE A AS A.letter = 'A', B AS B.letter = 'B', C AS C.letter = 'C', E AS E.letter = 'E'""",
        totals="count(*), sum(n)",
        goal=FAST,
        expected=nothing,
        tiny_rows=60,
        limits={"trino": 3_000, "flink": 300},
    ),
    Workload(
        name="overlaps",
        rows=MILLION,
        columns={"i": "i", "letter": "IF(i = {rows} - 1, 'b', 'a')"},
        reads=("i", "letter"),
        match="""MEASURES COUNT(*) AS n AFTER MATCH SKIP TO NEXT ROW
    PATTERN (A+ B) DEFINE A AS A.letter = 'a', B AS B.letter = 'b'""",
        totals="count(*), sum(n)",
        goal=SLOW,
        expected=lambda rows: (rows - 1, rows * (rows + 1) // 2 - 1),
        tiny_rows=60,
        limits={"trino": 3_000, "flink": 300},
    ),
    Workload(
        name="aggregate_define",
        rows=MILLION,
        columns={"i": "i", "v": f"{HASH} % 100"},
        reads=("i", "v"),
        match="MEASURES FIRST(A.i) AS began, COUNT(*) AS n PATTERN (A+) DEFINE A AS A.v >= AVG(A.v)",
        totals="count(*), sum(began), sum(n)",
        goal=SLOW,
        flink_lacks=ENDS_GREEDY,
    ),
    *(
        Workload(
            name=f"sum_{name}",
            rows=MILLION,
            columns={"i": "i", "v": f"CAST({HASH} % 100 AS {spark_type})"},
            reads=("i", "v"),
            match="""MEASURES FIRST(A.i) AS began, COUNT(*) AS n
    PATTERN (A+) DEFINE A AS SUM(A.v) <= 1000""",
            totals="count(*), sum(began), sum(n)",
            goal=SLOW,
            flink_lacks=ENDS_GREEDY,
        )
        for name, spark_type in (("bigint", "BIGINT"), ("decimal", "DECIMAL(18, 2)"))
    ),
    Workload(
        name="merge_ranges",
        rows=MILLION,
        columns={"s": f"i * 2 + {HASH} % 3", "e": f"i * 2 + {HASH} % 3 + 1 + {HASH} % 4"},
        reads=("s", "e"),
        order=("s", "e"),
        match="""MEASURES COUNT(*) AS n, MAX(e) - FIRST(s) AS length
    PATTERN (J* L) DEFINE J AS NEXT(J.s) <= MAX(J.e)""",
        totals="count(*), sum(n), max(length)",
        goal=SLOW,
        expected=known({MILLION: (285650, 1000000, 12)}),
        flink_lacks="no NEXT",
    ),
    Workload(
        name="shoulders",
        rows=MILLION,
        columns={
            "i": "i",
            "v": f"100 + i div 25 % 7 * 2 - abs(i % 25 - 12) * (1 + i div 25 % 3) + {HASH} % 3",
        },
        reads=("i", "v"),
        match="""MEASURES COUNT(*) AS n
    PATTERN (S UP+ DOWN+ UP2+ DOWN+ UP+ DOWN2+)
    DEFINE UP AS UP.v > PREV(UP.v), DOWN AS DOWN.v < PREV(DOWN.v),
           UP2 AS UP2.v > MAX(UP.v),
           DOWN2 AS DOWN2.v < MIN(DOWN.v)""",
        totals="count(*), sum(n)",
        goal=SLOW,
        expected=known({MILLION: (4919, 168258)}),
        flink_lacks=ENDS_GREEDY,
    ),
    Workload(
        name="union_skip",
        rows=MILLION,
        columns={"i": "i", "v": f"{HASH} % 5"},
        reads=("i", "v"),
        match="""MEASURES COUNT(*) AS n AFTER MATCH SKIP TO LAST UPS
    PATTERN (S (DN | SAME)+ (UP | SAME)+)
    SUBSET UPS = (UP, SAME)
    DEFINE DN AS DN.v < PREV(DN.v), SAME AS SAME.v = PREV(SAME.v), UP AS UP.v > PREV(UP.v)""",
        totals="count(*), sum(n)",
        goal=SLOW,
        expected=known({MILLION: (456677, 1456674)}),
        flink_lacks="no alternation, no SUBSET",
    ),
)

FOLLOWED = {"i": "i", "k": "i div 1000", "v": "pmod(hash(i), 20)"}

SKIPPED_ROWS = (
    Workload(
        name="followed_by",
        rows=10 * MILLION,
        table="followed",
        columns=FOLLOWED,
        reads=("k", "i", "v"),
        keys=("k",),
        match="""MEASURES A.i AS began, B.i AS ended AFTER MATCH SKIP TO NEXT ROW
    PATTERN (A -> B) WITHIN 20 DEFINE A AS A.v = 0, B AS B.v = 1""",
        peer_match="""MEASURES A.i AS began, B.i AS ended AFTER MATCH SKIP TO NEXT ROW
    PATTERN (A X*? B) DEFINE A AS A.v = 0, X AS X.v <> 1 AND X.i < A.i + 20, B AS B.v = 1 AND B.i < A.i + 20""",
        totals="count(*), sum(began), sum(ended)",
        goal=FAST,
        limits={"trino": MILLION, "flink": MILLION},
    ),
    Workload(
        name="rare_rows",
        rows=10 * MILLION,
        columns={"i": "i", "k": "i % least(10000, {rows} div 100)", "v": "pmod(xxhash64(i), 200)"},
        reads=("k", "i", "v"),
        keys=("k",),
        match="""MEASURES A.i AS began, B.i AS ended AFTER MATCH SKIP PAST LAST ROW
    PATTERN (A -> B) WITHIN 2000000 DEFINE A AS A.v = 0, B AS B.v = 1""",
        totals="count(*), sum(began), sum(ended)",
        goal=0.25,  # one row in a hundred is shuffled
        flink_lacks="no -> in its SQL",
        usable="v IN (0, 1)",
        settings={"prefilter off": {"sqlext.prefilter": "off"}},
        is_peerless=True,
    ),
    Workload(
        name="every_match",
        rows=10 * MILLION,
        table="followed",
        columns=FOLLOWED,
        reads=("k", "i", "v"),
        keys=("k",),
        match="""MEASURES A.i AS began, LAST(B.i) AS ended AFTER MATCH NO SKIP
    PATTERN (A (->> B)+) WITHIN 20 DEFINE A AS A.v = 0, B AS B.v = 1""",
        totals="count(*), sum(began), sum(ended)",
        goal=SLOW,
        flink_lacks="no NO SKIP in its SQL",
        is_peerless=True,
    ),
    Workload(
        name="absence",
        rows=10 * MILLION,
        table="followed",
        columns=FOLLOWED,
        reads=("k", "i", "v"),
        keys=("k",),
        match="""MEASURES A.i AS began AFTER MATCH SKIP TO NEXT ROW
    PATTERN (A !-> N) WITHIN 20 DEFINE A AS A.v = 0, N AS N.v = 1""",
        totals="count(*), sum(began)",
        goal=SLOW,
        flink_lacks="no absence in its SQL",
        is_peerless=True,
    ),
)

WORKLOADS = (*PARTITIONED, *INTERLEAVED, *SKIPPED_ROWS, *UNPARTITIONED)
BY_NAME = {w.name: w for w in WORKLOADS}
