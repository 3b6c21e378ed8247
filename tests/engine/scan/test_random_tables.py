"""Random tables of files, written in many ways, and random clauses over them: the rows are those that Spark reads."""

from __future__ import annotations

import datetime
import decimal
import random
import shutil
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlext.engine.scan import scan_plan
from tests.sampling import seeded
from tests.statements.cases import settings

pytestmark = pytest.mark.spark
TABLES = 10  # of a block
# what Spark pushes into Parquet loses rows: findings/spark_zero_in_dictionaries_of_parquet.sh
BY_SPARK = {"sqlext.read": "spark", "spark.sql.parquet.filterPushdown": "false"}
EPOCH, DAY = datetime.datetime(1970, 1, 1), datetime.timedelta(days=1)
DAYS = [-719162, -141428, -141427, -1, 0, 1, 19000, 2932896]  # 0001-01-01, 1582-10-14 and 15, 9999-12-31
TEXTS = ["", "a", "b", "A", "ä", "a%b", "browse", "x" * 40]


def integers(bits):
    most = 2 ** (bits - 1) - 1
    return lambda chance: chance.choice([0, 1, 2, 3, -1, most, -most - 1])


def instant(chance):
    return EPOCH + DAY * chance.choice(DAYS) + datetime.timedelta(microseconds=chance.choice([0, 1, 999_000, 10**9]))


def numeral(precision, scale):
    most = 10**precision - 1
    return lambda chance: decimal.Decimal(chance.choice([0, 1, -1, 12, most, -most])).scaleb(-scale, _DIGITS)


_DIGITS = decimal.Context(prec=40)
KINDS = {
    pa.int8(): integers(8),
    pa.int16(): integers(16),
    pa.int32(): integers(32),
    pa.int64(): integers(64),
    pa.float32(): lambda chance: chance.choice([0.0, -0.0, 1.5, float("nan"), float("inf"), -1e30]),
    pa.float64(): lambda chance: chance.choice([0.0, -0.0, 1.5, 0.1, float("nan"), float("-inf"), 1e300]),
    pa.bool_(): lambda chance: chance.random() < 0.5,
    pa.string(): lambda chance: chance.choice(TEXTS),
    pa.binary(): lambda chance: chance.choice(TEXTS).encode(),
    pa.date32(): lambda chance: (EPOCH + DAY * chance.choice(DAYS)).date(),
    pa.timestamp("us", "UTC"): instant,
    pa.timestamp("us"): instant,
    pa.decimal128(5, 2): numeral(5, 2),
    pa.decimal128(18, 4): numeral(18, 4),
    pa.decimal128(38, 10): numeral(38, 10),
}
CONDITIONS = {  # by the kind of the column that is called x
    "number": ("x > 1", "x IS NULL", "x BETWEEN 0 AND 2", "x <> 0 OR x IS NULL", "x IN (0, 1, 2)", "x > PREV(x)"),
    "text": ("x = 'a'", "x IN ('a', 'browse')", "x IS NOT NULL", "x = PREV(x)", "x < 'b'", "x BETWEEN 'A' AND 'b'"),
    "other": ("x IS NOT NULL", "x > PREV(x)"),
}


def kind_of(stored: pa.DataType) -> str:
    if pa.types.is_integer(stored) or pa.types.is_floating(stored) or pa.types.is_decimal(stored):
        return "number"
    return "text" if pa.types.is_string(stored) else "other"


def random_rows(chance: random.Random) -> pa.Table:
    """k: the keys, t: the times, and a to e of any kinds."""
    n = chance.choice([0, 1, 7, 40, 200])
    kinds = {
        "k": chance.choice([pa.int32(), pa.int64(), pa.string(), pa.date32(), pa.decimal128(5, 2)]),
        "t": chance.choice([pa.int32(), pa.int64(), pa.timestamp("us", "UTC"), pa.date32(), pa.float64()]),
        **{name: chance.choice(list(KINDS)) for name in "abcde"},
    }
    nulls = {name: chance.choice([0, 0, 0.2, 1]) for name in kinds}
    columns = {
        name: pa.array([None if chance.random() < nulls[name] else KINDS[kind](chance) for _ in range(n)], kind)
        for name, kind in kinds.items()
    }
    rows = pa.table(columns)
    return rows.sort_by(chance.choice("kt")) if chance.random() < 0.3 else rows


def by_pyarrow(chance: random.Random, rows: pa.Table, path) -> str:
    path.mkdir()
    if chance.random() < 0.3:
        wide = [pa.large_string() if pa.types.is_string(f.type) else f.type for f in rows.schema]
        rows = rows.cast(pa.schema(list(zip(rows.schema.names, wide))))
    for i in range(files := chance.choice([1, 1, 3])):
        pq.write_table(
            rows.slice(len(rows) * i // files, len(rows) * (i + 1) // files - len(rows) * i // files),
            path / f"{i}.parquet",
            row_group_size=chance.choice([3, 50, 1000]),
            use_dictionary=chance.random() < 0.5,
            data_page_version=chance.choice(["1.0", "2.0"]),
            compression=chance.choice(["none", "snappy", "zstd", "gzip"]),
            store_schema=chance.random() < 0.5,
            write_statistics=chance.random() < 0.5,
        )
    return f"parquet.`{path}`"


def by_spark(chance: random.Random, rows: pa.Table, path, spark, kind: str) -> str:
    written = {
        "spark.sql.parquet.outputTimestampType": chance.choice(["INT96", "TIMESTAMP_MICROS"]),
        "spark.sql.parquet.writeLegacyFormat": chance.choice(["true", "false"]),
    }
    with settings(spark, written):
        frame = spark.createDataFrame(rows).repartition(chance.choice([1, 3]))
        writer = frame.write.format(kind).option("compression", chance.choice(["snappy", "zstd", "none"]))
        writer = writer.option("parquet.block.size", chance.choice([2000, 10**8]))
        writer = writer.option("parquet.enable.dictionary", chance.choice(["true", "false"]))
        if chance.random() < 0.3 and len(rows):  # without rows there is no file, and Spark knows no columns
            # Spark fails to write partitions of 0.0 and -0.0, and of NULL and the empty BINARY, into one folder
            kinds = {name: rows.schema.field(name).type for name in "kabcde"}
            names = [n for n, kind in kinds.items() if not (pa.types.is_floating(kind) or pa.types.is_binary(kind))]
            writer = writer.partitionBy(chance.choice(names))
        writer.save(str(path))
        if kind == "delta" and chance.random() < 0.5:
            changed(chance, spark, frame, path)
    return f"{kind}.`{path}`"


def changed(chance: random.Random, spark, frame, path) -> None:
    """Change a Delta table: rows removed, a column added, more rows."""
    table = f"delta.`{path}`"
    for change in chance.sample(["delete", "add", "append"], 2):
        if change == "delete":
            spark.sql(f"DELETE FROM {table} WHERE k IS NULL OR a IS NULL")
        elif change == "add":
            spark.sql(f"ALTER TABLE {table} ADD COLUMN f INT")
        else:
            frame.limit(5).write.format("delta").mode("append").save(str(path))


def random_clause(chance: random.Random, rows: pa.Table, table: str) -> str:
    made = chance.choice([random_match, random_match, random_emit, random_window])
    return made(chance, rows, table)


def without_floats(rows: pa.Table) -> list[str]:
    """The columns that show no difference between rows that are equal, as 0.0 and -0.0 are."""
    return [f.name for f in rows.schema if not pa.types.is_floating(f.type)]


def random_emit(chance: random.Random, rows: pa.Table, table: str) -> str:
    types = {f.name: f.type for f in rows.schema}
    times = [name for name, kind in types.items() if pa.types.is_timestamp(kind) or pa.types.is_date(kind)]
    numbers = [name for name in "abcde" if kind_of(types[name]) == "number"]
    small = [name for name in numbers if types[name] in (pa.int8(), pa.int16(), pa.int32(), pa.float64())]
    shown = [name for name in without_floats(rows) if name in "abcde"]

    def condition() -> str:
        name = chance.choice("abcde")
        return chance.choice([c for c in CONDITIONS[kind_of(types[name])] if "PREV" not in c]).replace("x", name)

    aggregates = [
        "count(*)", f"count(*) FILTER (WHERE {condition()})", "count(a)", "count(b)", *(f"sum({c})" for c in small),
        *(f"{f}({c})" for f in ("min", "max", "first", "last", "count(DISTINCT", "array_agg") for c in shown),
    ]  # fmt: skip
    aggregates = [a + ")" * (a.count("(") - a.count(")")) for a in chance.sample(aggregates, 3)]
    relation = f"(SELECT * FROM {table} WHERE {condition()})" if chance.random() < 0.3 else table
    keys = chance.choice([["k"], ["k"], ["k", "c"], []])
    windows = ["GLOBAL_WINDOW(TABLE {0})"]
    if times:
        day, time = "INTERVAL 1 DAY", f"TABLE {{0}}, DESCRIPTOR({chance.choice(times)})"
        by_keys = f" PARTITION BY {', '.join(keys)}," if keys else ","
        windows += [
            f"TUMBLE({time}, INTERVAL 3 DAYS, INTERVAL 5 HOURS)", f"HOP({time}, {day}, INTERVAL 2 DAYS)",
            f"CUMULATE({time}, {day}, INTERVAL 2 DAYS)",
            f"SESSION({time.replace(',', by_keys, 1)}, {day})",
        ]  # fmt: skip
    emits = ["AFTER WATERMARK", "EVERY 2 ROWS", "EVERY 3 ROWS DISCARDING", "EVERY 2 ROWS EVICT KEEP LAST 3 ROWS"]
    emits += ["EARLY EVERY INTERVAL 6 HOURS", "EVICT KEEP LAST INTERVAL 2 DAYS"] if times else []
    window = chance.choice(windows).format(relation)
    if not window.startswith("SESSION"):
        emits += [f"ON DELTA({name}) > 1" for name in numbers if not pa.types.is_decimal(types[name])]
    columns = ", ".join([*keys, "window_start", "window_end"])
    named = ", ".join(f"{aggregate} AS x{i}" for i, aggregate in enumerate(aggregates))
    return (
        f"SELECT {columns}, window_firing, window_timing, {named} "
        f"FROM {window} GROUP BY {columns} EMIT {chance.choice(emits)}"
    )


def random_window(chance: random.Random, rows: pa.Table, table: str) -> str:
    """As `random_match`, with a window in place of the clause."""
    shown = chance.sample(without_floats(rows), 2)
    clause = random_match(chance, rows, table)
    relation, _, rest = clause.removeprefix("SELECT * FROM ").partition(" MATCH_RECOGNIZE (")
    head, _, pattern = rest.partition("MEASURES ")
    pattern = pattern[pattern.index("PATTERN") :]
    end = chance.choice(["UNBOUNDED FOLLOWING", "2 FOLLOWING"])
    skip = chance.choice(["", "AFTER MATCH SKIP TO NEXT ROW "])
    return (
        f"SELECT {', '.join(shown)}, label OVER w AS label, count(*) OVER w AS n FROM {relation} WINDOW w AS ({head}"
        f"MEASURES CLASSIFIER() AS label ROWS BETWEEN CURRENT ROW AND {end} {skip}{pattern}"
    )


def random_match(chance: random.Random, rows: pa.Table, table: str) -> str:
    def condition(name: str) -> str:
        choices = CONDITIONS[kind_of(rows.schema.field(name).type)]
        return chance.choice(choices).replace("x", name)

    def of_one_row() -> str:
        name = chance.choice("abcde")
        choices = [c for c in CONDITIONS[kind_of(rows.schema.field(name).type)] if "PREV" not in c]
        return chance.choice(choices).replace("x", name)

    relation = f"(SELECT * FROM {table} WHERE {of_one_row()})" if chance.random() < 0.4 else table
    keys = chance.choice(["PARTITION BY k ", "PARTITION BY k ", "PARTITION BY k, c ", ""])
    if pa.types.is_floating(rows.schema.field("c").type):
        keys = keys.replace(", c", "")
    order = chance.choice(["t", "t DESC NULLS LAST", "t, a"])
    measures = chance.sample([f"FIRST({c}) AS first_{c}, LAST({c}) AS last_{c}" for c in "abcde"], 2)
    first, second = condition(chance.choice("abcde")), condition(chance.choice("abcde"))
    shown = chance.choice(["ONE ROW PER MATCH", "ALL ROWS PER MATCH"])
    return (
        f"SELECT * FROM {relation} MATCH_RECOGNIZE ({keys}ORDER BY {order} MEASURES {', '.join(measures)}, "
        f"count(*) AS n {shown} PATTERN ({chance.choice(['A B', 'A B*', 'A+', 'A B?'])}) DEFINE A AS {first}"
        f", B AS {second})"
    ).replace("PATTERN (A+) DEFINE A AS", "PATTERN (A+ B?) DEFINE A AS")


def rows_of(spark, query: str) -> list[str]:
    return sorted(row[0] for row in spark.sql(f"SELECT CAST(struct(*) AS STRING) FROM ({query})").collect())


@pytest.mark.random(every=50)
@pytest.mark.parametrize("block", range(200))
def test_the_rows_are_those_that_spark_reads(spark, block, tmp_path, monkeypatch):
    read = 0
    monkeypatch.setattr(scan_plan, "_FEW_ROWS", 5)
    for seed in range(block * TABLES, block * TABLES + TABLES):
        chance, path = seeded(seed), tmp_path / "table"
        held = 1 << (11 if seed % 2 else 30)  # fewer bytes than many of these tables have, or more
        monkeypatch.setattr(scan_plan, "_held_bytes", partial(int, held))
        rows = random_rows(chance)
        writer = chance.choice(["pyarrow", "parquet", "delta"])
        table = by_pyarrow(chance, rows, path) if writer == "pyarrow" else by_spark(chance, rows, path, spark, writer)
        clause = random_clause(chance, rows, table)
        zone = chance.choice(["UTC", "Europe/Rome"])
        with settings(spark, {**BY_SPARK, "spark.sql.session.timeZone": zone}):
            expected = rows_of(spark, clause)
            spark.conf.set("sqlext.read", "auto")
            assert rows_of(spark, clause) == expected, clause
            read += "one worker reads" in spark.sql(f"EXPLAIN MATCH {clause}").collect()[0][0]
        shutil.rmtree(path)
    assert read > TABLES // 4
