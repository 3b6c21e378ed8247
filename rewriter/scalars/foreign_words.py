"""Functions, names and syntax of other systems that Spark does not have, and what to write instead of each.

Only what Spark refuses belongs here: a name that a session has registered never gets this far. docs/migration/ has the
whole statements.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_CLICKHOUSE = "docs/migration/clickhouse-doris.md"
_ESPER = "docs/migration/esper-siddhi-streams.md"
_QUESTDB = "docs/migration/questdb-kdb.md"
_FUNNEL = f"write MATCH_RECOGNIZE (… MEASURES COUNT(*) AS steps PATTERN (a -> b -> c | a -> b | a) …): {_CLICKHOUSE}."
_EXISTS = f"write MATCH_RECOGNIZE (… ONE ROW PER MATCH PATTERN (first -> second) …) and count its rows: {_CLICKHOUSE}."
_BUCKET = "write date_trunc('HOUR', ts), or GROUP BY the windows of TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR)."
_RUNNING = "OVER (PARTITION BY k ORDER BY ts ROWS UNBOUNDED PRECEDING)"  # the rows of one time one by one
_UNIT = (
    "write the unit without quotes: timestampdiff(MINUTE, a, b), which counts whole units, or "
    "timestampadd(MINUTE, 5, ts)."
)
_NOT_NULL = ", with FILTER (WHERE value IS NOT NULL) if it can be NULL."
_MAX_BY, _MIN_BY = f"write max_by(value, key){_NOT_NULL}", f"write min_by(value, key){_NOT_NULL}"
_ROW_NUMBER = "write LIMIT n, or QUALIFY row_number() OVER (ORDER BY …) <= n."
_TUMBLE = "write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR) GROUP BY window_start, window_end."
_ROLLING = "write avg(x) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL 10 MINUTES PRECEDING AND CURRENT ROW)."
_HOP = "write FROM HOP(TABLE t, DESCRIPTOR(ts), INTERVAL 30 MINUTES, INTERVAL 1 HOUR) GROUP BY window_start."
_SESSION = (
    "write FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL 30 MINUTES) "
    "GROUP BY k, window_start, window_end."
)
_EXPLODE = "write FROM explode(array(1, 2)) AS t(x), or FROM t, LATERAL explode(t.items) AS u(x)."
_FILE = "write FROM csv.`/path/f.csv` WITH (header = true, inferSchema = true), parquet.`f` or json.`f`."
_FILES = dict.fromkeys(("read_csv", "read_csv_auto", "read_parquet", "parquet_scan", "read_json", "read_files"), _FILE)
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
    "time_slice": _BUCKET,
    "conditional_true_event": f"write count_if(condition) {_RUNNING}.",
    "conditional_change_event": "write PATTERN (a same*) DEFINE same AS x = PREV(x), and MATCH_NUMBER().",
    "div0": "write coalesce(try_divide(a, b), 0).",
    "div0null": "write coalesce(try_divide(a, b), 0).",
    # DuckDB, Trino, ClickHouse
    "approx_distinct": "write approx_count_distinct(x).",
    "epoch_ms": "write unix_millis(ts), or timestamp_millis(n).",
    "strptime": "write to_timestamp(text, 'yyyy-MM-dd').",
    "unnest": _EXPLODE,
    "list_value": "write array(1, 2).",
    "string_agg": "write listagg(x, ',') WITHIN GROUP (ORDER BY y).",
    "arg_max": _MAX_BY,
    "arg_min": _MIN_BY,
    "argmax": _MAX_BY,
    "argmin": _MIN_BY,
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
    "uniq": "write approx_count_distinct(x).",
    "uniqexact": "write count(DISTINCT x).",
    "groupuniqarray": "write collect_set(x).",
    "age": "write timestampdiff(HOUR, a, b).",
    "anylast": "write max_by(x, ts).",
    "multiif": "write CASE WHEN condition THEN a … ELSE b END.",
    "intdiv": "write a div b.",
    "todate": "write CAST(ts AS DATE).",
    "todatetime": "write CAST(x AS TIMESTAMP).",
    "arrayjoin": "write explode(items).",
    "count_distinct": "write count(DISTINCT x).",
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
    # Esper, ksqlDB
    "countof": "write COUNT(*), or COUNT(A.*) for the rows of A.",
    "prior": "write lag(x, 1) OVER (ORDER BY ts), with PARTITION BY k for the row before of each key.",
    "latest_by_offset": "write max_by(x, ts).",
    "earliest_by_offset": "write min_by(x, ts).",
    # BigQuery
    "match_row_number": "write MATCH_SEQUENCE_NUMBER(), or sequence(1, COUNT(*)) for those of all rows.",
    "safe_divide": "write try_divide(a, b).",
    "timestamp_diff": "write timestampdiff(MINUTE, b, a): the earlier time is first.",
    "datetime_diff": "write timestampdiff(MINUTE, b, a): the earlier time is first.",
    "timestamp_trunc": "write date_trunc('HOUR', ts).",
    "logical_and": "write bool_and(condition).",
    "logical_or": "write bool_or(condition).",
    # Azure Stream Analytics
    "tumblingwindow": _TUMBLE,
    "hoppingwindow": _HOP,
    "sessionwindow": _SESSION,
    "slidingwindow": _ROLLING,
    "isfirst": "write QUALIFY row_number() OVER (PARTITION BY date_trunc('HOUR', ts) ORDER BY ts) = 1.",
    "topone": "write max_by(struct(*), x), or min_by(struct(*), x).",
    "collecttop": "write slice(sort_array(collect_list(x), false), 1, n).",
    "system.timestamp": "write window_end, with FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL 1 HOUR).",
    # Vertica
    "event_name": "write MATCH_RECOGNIZE (… MEASURES CLASSIFIER() AS event_name ALL ROWS PER MATCH …).",
    "exponential_moving_average": "write aggregate(array_agg(x) OVER (ORDER BY ts), CAST(NULL AS "
    "DOUBLE), (s, x) -> coalesce(a * x + (1 - a) * s, x)).",
    # kdb
    "aj": "write FROM trades t LEFT ASOF JOIN quotes q MATCH_CONDITION (t.time >= q.time) ON t.sym = q.sym.",
    "wj": "write FROM trades LEFT INTERVAL JOIN quotes ON … AND quotes.time BETWEEN trades.time - INTERVAL 2 SECONDS "
    f"AND trades.time AGGREGATE (max(quotes.bid) AS bid) INCLUDING PREVAILING: {_QUESTDB}.",
}
# an enumeration method of Esper, which it calls on a pattern variable → what to write for variable A
_METHODS_OF_VARIABLE = {
    "countof": "COUNT(A.*), or count_if(A.price > 9)", "firstof": "FIRST(A.price)", "lastof": "LAST(A.price)",
    "selectfrom": "array_agg(A.price)", "sumof": "SUM(A.price)", "average": "AVG(A.price)", "anyof":
    "bool_or(A.price > 9)", "allof": "bool_and(A.price > 9)", "min": "MIN(A.price)", "max": "MAX(A.price)", "minby":
    "min_by(A.ts, A.price)", "maxby": "max_by(A.ts, A.price)",
}  # fmt: skip
# functions that Spark has, and that end in an error of Java with the arguments of another system → hint
_ARGUMENTS = {"to_timestamp_ltz": "write timestamp_millis(n) or timestamp_seconds(n)."}
# a type of Oracle, BigQuery or Azure Stream Analytics → hint
_TYPES = {
    "bool": "write BOOLEAN.", "int64": "write BIGINT.", "float64": "write DOUBLE.", "bytes": "write BINARY.",
    "varchar2": "write STRING.", "nvarchar": "write STRING.", "number": "write DECIMAL(38, 2), DOUBLE or BIGINT.",
    "datetime": "write TIMESTAMP_NTZ, or TIMESTAMP for a moment.", "text": "write STRING.",
}  # fmt: skip
# the condition of Spark's error → its parameter with a name, and the hint for each name; "" stands for any other name
_NAMES: dict[str, tuple[str, dict[str, str]]] = {
    "UNRESOLVED_ROUTINE": ("routineName", _FUNCTIONS),
    "UNRESOLVABLE_TABLE_VALUED_FUNCTION": (
        "name", {**_FILES, "unnest": _EXPLODE, "generate_series": "write FROM explode(sequence(1, n)) AS t(x)."}
    ),
    "NOT_A_TABLE_FUNCTION": ("functionName", {"flatten": _EXPLODE}),
    "TABLE_OR_VIEW_NOT_FOUND": ("relationName", {"dual": "leave FROM DUAL out: SELECT current_timestamp()."}),
    "UNRESOLVED_COLUMN": ("objectName", {"rownum": _ROW_NUMBER, "all": "name the columns: ORDER BY ts."}),
    "INVALID_PARAMETER_VALUE.DATETIME_UNIT": ("functionName", {"": _UNIT}),
    "UNSUPPORTED_DATATYPE": ("typeName", _TYPES),
    "DATATYPE_MISSING_SIZE": ("type", {"": "write STRING, or a length: VARCHAR(100)."}),
    "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX": (
        "prettyName",
        {"collect_list": "write listagg(x, ','), or transform(array_sort(array_agg(struct(y, x))), e -> e.x)."},
    ),
}  # fmt: skip
# an aggregate of ClickHouse, which may end in If → Spark's aggregate
_AGGREGATES = {
    "sum": "sum(x)", "avg": "avg(x)", "min": "min(x)", "max": "max(x)", "any": "any_value(x)", "uniq":
    "approx_count_distinct(x)", "uniqexact": "count(DISTINCT x)", "argmax": "max_by(x, y)", "argmin": "min_by(x, y)",
    "grouparray": "array_agg(x)", "groupuniqarray": "collect_set(x)",
}  # fmt: skip
_LAST_ROW = "write QUALIFY row_number() OVER (PARTITION BY key ORDER BY ts DESC) = 1."
_ASOF = "write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.key = b.key."
_LAST_EVENT = (
    "write lag(x) OVER (PARTITION BY k ORDER BY ts), and for LAST(x) … WHEN condition FROM a LEFT ASOF JOIN "
    "(SELECT * FROM b WHERE condition) b MATCH_CONDITION (a.ts >= b.ts) WITHIN INTERVAL 1 HOUR."
)
_RANGE_JOIN = "write FROM a LEFT INTERVAL JOIN b ON a.key = b.key AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts."
_OF_RANGE = f"{_RANGE_JOIN[:-1]} AGGREGATE (max(b.v) AS v)."
_PREVAILING = f"{_OF_RANGE[:-1]} INCLUDING PREVAILING."
_PATTERN = (
    "write FROM t MATCH_RECOGNIZE (… PATTERN (a -> b) WITHIN INTERVAL 10 MINUTES …), with (a | b) for OR and "
    f"a !-> b for an absent b: {_ESPER}."
)
_LAG = "write lag(x), lead(x) or x - lag(x) OVER (PARTITION BY … ORDER BY …)."
_STREAM_TIME = "write FROM STREAM t WATERMARK ts DELAY OF INTERVAL 5 SECONDS, and ORDER BY ts in the clause."
_VERTICA = (
    "write MATCH_RECOGNIZE (PARTITION BY … ORDER BY … MEASURES CLASSIFIER() AS event, MATCH_NUMBER() AS match "
    "ALL ROWS PER MATCH PATTERN (A B) DEFINE …)."
)
_SOURCE = "register the topic by spark.readStream, and write FROM STREAM t WATERMARK ts DELAY OF INTERVAL 5 SECONDS."
_FILLED = (
    "write FROM explode(sequence(a, b, INTERVAL 1 MINUTE)) AS s(slice_time) LEFT ASOF JOIN t "
    "MATCH_CONDITION (s.slice_time >= t.ts)."
)
_ARRAY = "write array(1, 2), and explode(array(1, 2)) for a row of each element."
_WINDOW_VIEW = f"write OVER (… ROWS | RANGE …) for a window of each row, TUMBLE or EMIT for a batch: {_ESPER}."
_NESTED = r"[^()]*(?:\([^()]*\)[^()]*)*"  # arguments that may call functions
# the text up to the word at which Spark's parser stopped, that word included → hint
_SYNTAX: tuple[tuple[str, str], ...] = (
    (r"\b(FROM|JOIN)\s+'[^']*'$", _FILE),
    (r"\(\s*\+\s*\)$", "write FROM a LEFT JOIN b ON a.k = b.k."),
    (r"\bOFFSET\s+\d+\s+LIMIT$", "write LIMIT n OFFSET m."),
    (r"\bARRAY\s*\[[^\]]*$", _ARRAY),
    (r"(?:[(,=]|\bSELECT)\s*\[$", _ARRAY),
    (r"[\w)]\s*//?$", "write a div b of whole numbers, and a / b of others."),
    (
        r"\b(list|first|last|\w+_agg)\s*\(\s*\w+\s+ORDER$",
        "write listagg(x, ',') WITHIN GROUP (ORDER BY y), or max_by(x, y) for one value.",
    ),
    (r"\b(FLOOR|CEIL)\s*\([^()]*\bTO$", "write date_trunc('HOUR', ts)."),
    (r"\bWATERMARK\s+FOR\s+\w+$", _SOURCE),
    (r"\bCREATE\s+(OR\s+REPLACE\s+)?STREAM(\s+\w+)?$", _SOURCE),
    (r"\bIGNORE$", "write IGNORE NULLS after the parenthesis: last_value(x) IGNORE NULLS OVER (…)."),
    (r"\bPREWHERE\s+\w+$", "write WHERE."),
    (r"\bORDER\s+BY\s[^()]*\bWITH$", "write FROM explode(sequence(a, b)) AS t(x) LEFT JOIN … for rows without gaps."),
    (r"\bJOIN\s+[\w.]+(\s+\w+)?\s+WITHIN(\s+\d+)?$", _RANGE_JOIN),
    (r"\b(quantile\w*|topK\w*|groupArray\w*)\s*\([^()]*\)\s*\(", "write percentile(x, 0.9) or approx_top_k(x, 3)."),
    (r"\*\s*EXCLUDE\s*\(?\s*\w*$", "write SELECT * EXCEPT (a, b)."),
    (r"\*\s*(REPLACE|RENAME)\s*\(?$", "list the columns: SELECT * EXCEPT (a), f(a) AS a."),
    (r"\bFETCH(\s+(FIRST|NEXT))?$", "write LIMIT n."),
    (r"\bTIMESTAMP\s+BY$", _STREAM_TIME),
    (r"\bMATCH\s*\(\s*(PARTITION|ORDER)\s+BY$", _VERTICA),
    (r"\bMATCH_RECOGNIZE\s+\w+$", "write MATCH_RECOGNIZE ( … ), with all of its parts in parentheses."),
    (rf"\bANY_VALUE\s*\({_NESTED}\bHAVING$", "write max_by(value, key), or min_by(value, key)."),
    (r"\bLIMIT\s+\d+\s+OVER$", _LAST_ROW),
    (rf"\bARRAY_AGG\s*\({_NESTED}\bLIMIT$", "write slice(array_agg(x), 1, n)."),
    (r"\bINTERPOLATE$", f"{_ASOF} For NEXT VALUE write <=."),
    (r"\bTIMESERIES(\s+\w+)?$", _FILLED),
    (r"\bCROSS\s+APPLY$", "write LATERAL explode(t.items) AS u(item)."),
    (r"\bSELECT\b[^;]*\bINTO(\s+\w+)?$", "write INSERT INTO t SELECT …, or CREATE STREAMING TABLE t AS SELECT …."),
    (r"\bAS\s*\[$", "write a name with other characters in backticks: AS `a b`."),
    (r"\bN?VARCHAR\s*\((\s*MAX)?$", "write STRING."),
    (r"\bSELECT\s+TOP\s+\d+$", "write LIMIT n after the query."),
    (r"\bLIMIT\s+\d+\s+BY$", _LAST_ROW),
    (r"\bLATEST\s+(ON|BY)(\s+\w+)?$", _LAST_ROW),
    (r"\bLT$", "write FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts > b.ts) ON a.key = b.key."),
    (r"\bSPLICE$", "write the UNION of two LEFT ASOF JOINs, one from each side."),
    (r"\bwindowFunnel\s*\([^()]*\)\s*\(", _FUNNEL),
    (r"\bwindow_funnel\s*\(", _FUNNEL),
    (r"\b(sequenceMatch|sequenceCount|sequenceNextNode)\s*\(.*\)\s*\(", _EXISTS),
    (r"^\s*aj0?\b", _ASOF),
    (r"^\s*wj\b", _PREVAILING),
    (r"^\s*wj1\b", _OF_RANGE),
    (r"\bFROM\s+PATTERN\s*\[$", _PATTERN),
    (r"^\s*FROM\s+EVERY\s+\w+\s*=", _PATTERN),
)
# words anywhere in a text that Spark refuses → hint
_PROGRAMS: tuple[tuple[str, str], ...] = (
    (r"\bWINDOW\s+JOIN\b", _PREVAILING),
    (r"\bSAMPLE\s+BY\b", _TUMBLE),
    (r"\bLIMIT\s+DURATION\s*\(", _LAST_EVENT),
    (r"\bGAP_FILL\s*\(", _FILLED),
    (r"\w\s*#\s*unique\b", _LAST_ROW),
    (r"\w\s*#\s*(groupwin|length|time|length_batch|time_batch|win\s*:|window\s*\.)|\w\.win\s*:\s*\w", _WINDOW_VIEW),
    (r"^\s*CREATE\s+CONTEXT\b|^\s*PARTITION\s+WITH\b", "write GROUP BY k, or PARTITION BY k in the clause or OVER."),
    (r"\bIN\s+'\d{4}", "write CAST(ts AS DATE) = DATE '2026-01-01', or ts >= … AND ts < …."),
    (r"\bfby\b", "write QUALIFY price = max(price) OVER (PARTITION BY sym)."),
    (r"\b(wavg|wsum)\b", "write sum(size * price) / sum(size), with GROUP BY."),
    (r"\d\s+m(avg|sum|max|min|dev)\s+\w", "write avg(x) OVER (PARTITION BY k ORDER BY ts ROWS n PRECEDING)."),
    (r"\b(sums|avgs|maxs|mins)\s+\w", f"write sum(x) {_RUNNING}."),
    (r"\b(prev|next(?!\s+row\b)|deltas)\s+\w+", _LAG),
    (r"^\s*\w+\s+(lj|ij)\s+`", "write FROM a LEFT JOIN b ON a.k = b.k."),
    (r"=\s*`\w+\s*$", "write a text in single quotes: WHERE sym = 'BTC'."),
    (
        r"^\s*(select|update)\s+((?!group|order|partition|over)\S+\s+)*by\s.*\bfrom\b",
        "write SELECT … FROM … GROUP BY ….",
    ),
)
# a method or a class in a program of Python or Java → hint; the first one in this list counts
_METHODS: dict[str, str] = {
    "merge_asof": _ASOF, "join_asof": _ASOF, "JoinWindows": _RANGE_JOIN, "join_where": _RANGE_JOIN,
    "group_by_dynamic": _TUMBLE, "resample": _TUMBLE, "FixedWindows": _TUMBLE, "advanceBy": _HOP,
    "SlidingWindows": _HOP, "TimeWindows": _TUMBLE, "SessionWindows": _SESSION, "Sessions": _SESSION,
    "rolling": _ROLLING, "cum_sum": "write MATCH_NUMBER() of PATTERN (a same*), or sum(x) OVER (…).",
    "shift": _LAG, "diff": _LAG, "pct_change": _LAG, "cumsum": f"write sum(x) {_RUNNING}.",
    "ffill": f"write last_value(x) IGNORE NULLS {_RUNNING}.",
    "over": "write max(x) OVER (PARTITION BY k).", "drop_duplicates": _LAST_ROW,
    "nlargest": "write ORDER BY x DESC LIMIT n.", "WindowInto": _TUMBLE, "windowedBy": _TUMBLE,
}  # fmt: skip
_PROGRAM = re.compile(r"\s*\w+\s*[.|\[]")
_FLAGS = re.IGNORECASE | re.DOTALL
_SYSTEM_TIME = re.compile(r"\bFOR\s+SYSTEM_TIME\s+AS\s+OF\s+\w+\s*\.", re.IGNORECASE)
# of a relation that is named before a dot elsewhere, in Azure Stream Analytics
_DATEDIFF = r"(?=.*\b{0}\s*\.\s*\w).*\bDATEDIFF\s*\(\s*\w+\s*,[^()]*\b{0}\s*[,)]"
_LATERAL_TABLE = r"\bLATERAL\s+TABLE\s*\(\s*{}\s*\("  # a temporal table function of Flink
SYSTEM_TIME_HINT = (
    "write FROM orders o LEFT ASOF JOIN rates r MATCH_CONDITION (o.at >= r.valid_from) ON o.currency = r.currency."
)


def hint_of_function(name: str, text: str = "") -> str | None:
    """What to write instead of a function of another system, or None. `text`: the statement.

    >>> hint_of_function("uniq"), hint_of_function("argMaxIf")
    ('write approx_count_distinct(x).', 'write max_by(x, y) FILTER (WHERE condition).')
    >>> hint_of_function("Rates", "FROM o, LATERAL TABLE (Rates(o.at)) AS r") == SYSTEM_TIME_HINT.replace("LEFT ", "")
    True
    """
    if re.search(_LATERAL_TABLE.format(re.escape(name)), text, _FLAGS):
        return SYSTEM_TIME_HINT.replace("LEFT ", "")
    lower = name.lower()
    aggregate = _AGGREGATES.get(lower.removesuffix("if"))
    if lower not in _FUNCTIONS and lower.endswith("if") and aggregate is not None:
        return f"write {aggregate} FILTER (WHERE condition)."
    return _FUNCTIONS.get(lower)


def hint_of_method(variable: str, method: str) -> str:
    """What to write instead of a method of Esper that is called on a pattern variable.

    >>> hint_of_method("B", "lastOf")
    'write LAST(B.price).'
    """
    instead = _METHODS_OF_VARIABLE.get(method.lower(), "an aggregate of its rows, SUM(A.price) or COUNT(A.*)")
    return f"write {instead.replace('A.', f'{variable}.')}."


def hint_of_arguments(name: str) -> str | None:
    """What to write instead of a function with the arguments of another system, or None."""
    return _ARGUMENTS.get(name.lower())


def hint_of_name(condition: str, parameters: Mapping[str, str], text: str = "") -> str | None:
    """What to write instead of a name of another system that Spark does not know, or None. `text`: the statement.

    >>> hint_of_name("TABLE_OR_VIEW_NOT_FOUND", {"relationName": "`DUAL`"})
    'leave FROM DUAL out: SELECT current_timestamp().'
    >>> hint_of_name("UNRESOLVABLE_TABLE_VALUED_FUNCTION", {"name": "`read_csv`"}) == _FILE
    True
    """
    parameter, hints = _NAMES.get(condition) or _NAMES.get(condition.partition(".")[0]) or ("", {})
    name = parameters.get(parameter, "").replace("`", "").strip('"')
    if condition.startswith("UNRESOLVED_COLUMN") and re.match(_DATEDIFF.format(re.escape(name)), text, _FLAGS):
        return _RANGE_JOIN
    if hints is _FUNCTIONS:
        return hint_of_function(name, text)
    return hints.get(name.lower()) or hints.get("")


def hint_of_syntax(text: str, stop: int) -> str | None:
    """What to write instead of the syntax of another system, or None. Spark's parser stopped at the word that ends at
    character `stop`.

    >>> hint_of_syntax("SELECT * FROM 'trips.csv'", 25)
    'write FROM csv.`/path/f.csv` WITH (header = true, inferSchema = true), parquet.`f` or json.`f`.'
    >>> hint_of_syntax("SELECT * FROM t FETCH FIRST 5 ROWS ONLY", 27)
    'write LIMIT n.'
    >>> hint_of_syntax("readings.groupby('sensor')['temp'].shift(1)", 8)
    'write lag(x), lead(x) or x - lag(x) OVER (PARTITION BY … ORDER BY …).'
    """
    searched = [*((pattern, hint, text[:stop]) for pattern, hint in _SYNTAX), *((*each, text) for each in _PROGRAMS)]
    found = next((hint for pattern, hint, part in searched if re.search(pattern, part[-1000:], _FLAGS)), None)
    if found is not None or not _PROGRAM.match(text):
        return found
    words = set(re.findall(r"\w+", text))
    return next((hint for name, hint in _METHODS.items() if name in words), None)


def hint_of_time_travel(text: str) -> str | None:
    """What to write instead of Flink's temporal join, or None.

    >>> hint_of_time_travel("FROM o JOIN r FOR SYSTEM_TIME AS OF o.t AS r") == SYSTEM_TIME_HINT
    True
    """
    return SYSTEM_TIME_HINT if _SYSTEM_TIME.search(text) else None
