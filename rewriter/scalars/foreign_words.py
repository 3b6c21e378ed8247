"""Functions and syntax of other systems that Spark does not have, and what to write instead of each.

Only what Spark refuses belongs here: a name that a session has registered never gets this far. docs/migration/ has the
whole statements.
"""

from __future__ import annotations

import re

_CLICKHOUSE = "docs/migration/clickhouse-doris.md"
_ESPER = "docs/migration/esper-siddhi-streams.md"
_FUNNEL = f"write MATCH_RECOGNIZE (… MEASURES COUNT(*) AS steps PATTERN (a -> b -> c | a -> b | a) …): {_CLICKHOUSE}."
_EXISTS = "write MATCH_RECOGNIZE (… ONE ROW PER MATCH PATTERN (first -> second) …) and count its rows."
_BUCKET = "write date_trunc('HOUR', ts), or GROUP BY the windows of TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR)."
_FUNCTIONS = {
    # Oracle
    "numtodsinterval": "write INTERVAL 5 MINUTES, or make_dt_interval(0, 0, n) for n minutes.",
    "numtoyminterval": "write INTERVAL 5 MONTHS, or make_ym_interval(0, n) for n months.",
    "sysdate": "write current_timestamp().",
    "systimestamp": "write current_timestamp().",
    # Snowflake
    "iff": "write if(condition, a, b).",
    "timeadd": "write timestampadd(MINUTE, 5, ts), or ts + INTERVAL 5 MINUTES.",
    "timediff": "write timestampdiff(MINUTE, a, b).",
    "to_varchar": "write CAST(x AS STRING), or date_format(ts, 'yyyy-MM-dd').",
    # DuckDB, Trino, ClickHouse
    "arg_max": "write max_by(value, key).",
    "arg_min": "write min_by(value, key).",
    "argmax": "write max_by(value, key).",
    "argmin": "write min_by(value, key).",
    "list": "write array_agg(x).",
    "epoch": "write unix_timestamp(ts), or unix_micros(ts) / 1e6.",
    "strftime": "write date_format(ts, 'yyyy-MM-dd').",
    "time_bucket": _BUCKET,
    "date_bin": _BUCKET,
    # Flink
    "proctime": "on a stream write ORDER BY current_timestamp(); in MEASURES write MATCH_PROCTIME().",
    # ClickHouse
    "windowfunnel": _FUNNEL,
    "sequencematch": _EXISTS,
    "sequencecount": _EXISTS,
    "sequencenextnode": "write MATCH_RECOGNIZE (… MEASURES NEXT(LAST(B.page)) AS next_page PATTERN (A B) …).",
    "retention": "write bool_or(condition) for each condition; the first one AND another is the retention of that one.",
    "grouparray": "write array_agg(x).",
    "countif": "write count_if(condition).",
    "sumif": "write sum(x) FILTER (WHERE condition).",
    "avgif": "write avg(x) FILTER (WHERE condition).",
    "uniq": "write approx_count_distinct(x).",
    "uniqexact": "write count(DISTINCT x).",
    "neighbor": "write lag(x) or lead(x) OVER (ORDER BY …), or PREV(x) and NEXT(x) in MATCH_RECOGNIZE.",
    "timestamp_floor": _BUCKET,
    "laginframe": "write lag(x) OVER (ORDER BY …).",
    "leadinframe": "write lead(x) OVER (ORDER BY …).",
    "runningdifference": "write x - lag(x) OVER (ORDER BY …), or x - PREV(x) in MATCH_RECOGNIZE.",
    "tostartofminute": "write date_trunc('MINUTE', ts).",
    "tostartofhour": "write date_trunc('HOUR', ts).",
    "tostartofday": "write date_trunc('DAY', ts).",
    "tostartofinterval": _BUCKET,
    "tounixtimestamp": "write unix_timestamp(ts).",
    # Doris and StarRocks
    "window_funnel": _FUNNEL,
    "sequence_match": _EXISTS,
    "sequence_count": _EXISTS,
    # kdb
    "aj": "write FROM trades t LEFT ASOF JOIN quotes q MATCH_CONDITION (t.time >= q.time) ON t.sym = q.sym.",
    "wj": "write FROM trades LEFT INTERVAL JOIN quotes ON … AND quotes.time BETWEEN trades.time - INTERVAL 2 SECONDS "
    "AND trades.time, and GROUP BY the trade.",
}
_LAST_ROW = "write QUALIFY row_number() OVER (PARTITION BY key ORDER BY ts DESC) = 1."
_TUMBLE = "write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY window_start, window_end."
_ASOF = "write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.key = b.key."
_RANGE_JOIN = "write FROM a LEFT INTERVAL JOIN b ON a.key = b.key AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts."
_PATTERN = f"write FROM t MATCH_RECOGNIZE (… PATTERN (a -> b) WITHIN INTERVAL 10 MINUTES …): {_ESPER}."
_ROLLING = "write avg(x) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL 10 MINUTES PRECEDING AND CURRENT ROW)."
_WINDOW_VIEW = f"write OVER (… ROWS | RANGE …) for a window of each row, TUMBLE or EMIT for a batch: {_ESPER}."
# the text up to the word at which Spark's parser stopped, that word included → hint
_SYNTAX: tuple[tuple[str, str], ...] = (
    (r"\*\s*EXCLUDE\s*\(?\s*\w*$", "write SELECT * EXCEPT (a, b)."),
    (r"\*\s*(REPLACE|RENAME)\s*\(?$", "list the columns: SELECT * EXCEPT (a), f(a) AS a."),
    (r"\bFETCH\s+(FIRST|NEXT)$", "write LIMIT n."),
    (r"\bSELECT\s+TOP\s+\d+$", "write LIMIT n after the query."),
    (r"\bLIMIT\s+\d+\s+BY$", _LAST_ROW),
    (r"\bLATEST\s+(ON|BY)(\s+\w+)?$", _LAST_ROW),
    (r"\bLT$", "write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts > b.ts) ON a.key = b.key."),
    (r"\bSPLICE$", "write the UNION of two LEFT ASOF JOINs, one from each side."),
    (r"\bwindowFunnel\s*\([^()]*\)\s*\(", _FUNNEL),
    (r"\bwindow_funnel\s*\(", _FUNNEL),
    (r"\b(sequenceMatch|sequenceCount|sequenceNextNode)\s*\(.*\)\s*\(", _EXISTS),
    (r"^\s*aj0?\b", _ASOF),
    (r"^\s*wj1?\b", _RANGE_JOIN),
    (r"\bFROM\s+PATTERN\s*\[$", _PATTERN),
    (r"^\s*FROM\s+EVERY\s+\w+\s*=", _PATTERN),
)
# words anywhere in a text that Spark refuses, or the beginning of a program in another language → hint
_PROGRAMS: tuple[tuple[str, str], ...] = (
    (r"^\s*\w+\s*\.\s*(merge_asof|join_asof)\s*\(", _ASOF),
    (r"^\s*\w+\s*\.\s*group_by_dynamic\s*\(", _TUMBLE),
    (r"^\s*\w+\s*\..*\bwindowedBy\s*\(|^\s*\w+\s*\|.*\bWindowInto\s*\(", _TUMBLE),
    (r"^\s*\w+\s*\..*\brolling\s*\(", _ROLLING),
    (r"\bWINDOW\s+JOIN\b", _RANGE_JOIN),
    (r"\bSAMPLE\s+BY\b", _TUMBLE),
    (r"\w\s*#\s*(length|time|length_batch|time_batch|win\s*:)\b", _WINDOW_VIEW),
    (r"\bIN\s+'\d{4}", "write CAST(ts AS DATE) = DATE '2026-01-01', or ts >= … AND ts < …."),
    (r"\bfby\b", "write QUALIFY price = max(price) OVER (PARTITION BY sym)."),
    (r"\b(wavg|wsum)\b", "write sum(size * price) / sum(size), with GROUP BY."),
    (r"\b(prev|next|deltas)\s+\w+", "write lag(x), lead(x) or x - lag(x) OVER (PARTITION BY … ORDER BY …)."),
    (
        r"^\s*(select|update)\s+((?!group|order|partition|over)\S+\s+)*by\s.*\bfrom\b",
        "write SELECT … FROM … GROUP BY ….",
    ),
)
_FLAGS = re.IGNORECASE | re.DOTALL
_SYSTEM_TIME = re.compile(r"\bFOR\s+SYSTEM_TIME\s+AS\s+OF\s+\w+\s*\.", re.IGNORECASE)
SYSTEM_TIME_HINT = (
    "write FROM orders o LEFT ASOF JOIN rates r MATCH_CONDITION (o.at >= r.valid_from) ON o.currency = r.currency."
)


def hint_of_function(name: str) -> str | None:
    """What to write instead of a function of another system, or None.

    >>> hint_of_function("argMax")
    'write max_by(value, key).'
    """
    return _FUNCTIONS.get(name.lower())


def hint_of_syntax(text: str, stop: int) -> str | None:
    """What to write instead of the syntax of another system, or None. Spark's parser stopped at the word that ends at
    character `stop`.

    >>> hint_of_syntax("SELECT * FROM t FETCH FIRST 5 ROWS ONLY", 27)
    'write LIMIT n.'
    """
    searched = [*((pattern, hint, text[:stop]) for pattern, hint in _SYNTAX), *((*each, text) for each in _PROGRAMS)]
    return next((hint for pattern, hint, part in searched if re.search(pattern, part[-1000:], _FLAGS)), None)


def hint_of_time_travel(text: str) -> str | None:
    """What to write instead of Flink's temporal join, or None.

    >>> hint_of_time_travel("FROM o JOIN r FOR SYSTEM_TIME AS OF o.t AS r") == SYSTEM_TIME_HINT
    True
    """
    return SYSTEM_TIME_HINT if _SYSTEM_TIME.search(text) else None
