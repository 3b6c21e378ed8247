"""What takes a process of its own: starting Spark, failing to, finding the last process's tables, Connect."""

from __future__ import annotations

import re
from zipfile import ZipFile

import pytest

from sqlext.formats.delta import DELTA
from sqlext.sessions import start

from .programs import CONNECT_SESSION, printed, run_program

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FIRST = """
    import sys
    import sqlext
    spark = sqlext.session(master="local[2]", warehouse="here", **{"spark.sql.shuffle.partitions": 3})
    print(spark.conf.get("spark.sql.shuffle.partitions"), spark.conf.get("spark.databricks.delta.snapshotPartitions"))
    assert sqlext.session(warehouse="here") is not None and spark.conf.get("spark.sql.shuffle.partitions") == "3"
    try:
        sqlext.session(warehouse="elsewhere")
    except sqlext.SetupError as error:
        print(error.error_class)
    spark.sql("CREATE TABLE t AS SELECT 1 AS x")
    spark.sql("CREATE TABLE kept AS SELECT 2 AS x")
    spark.sql("CREATE DATABASE other")
    spark.sql("CREATE TABLE other.u PARTITIONED BY (x) AS SELECT 3 AS x, 4 AS y")
    spark.udf.register("shout", lambda x: print("a worker's word", file=sys.stderr))
    spark.sql("SELECT shout(x) FROM t").collect()
"""

SECOND = """
    import os
    import sqlext
    spark = sqlext.session(master="local[2]", warehouse="here", **{{"spark.jars": "{jar}"}})
    jars = spark.sparkContext.getConf().get("spark.jars").split(",")
    print("{jar}" in jars[0], any("delta-spark" in jar for jar in jars), "PYSPARK_SUBMIT_ARGS" in os.environ)
    print(sorted(t.name for t in spark.catalog.listTables()), spark.sql("SELECT * FROM other.u").collect())
    spark.sql("DROP TABLE t")
    spark.sql("CREATE TABLE t AS SELECT 5 AS x")
    spark.sql("INSERT INTO kept VALUES (6)")
    spark.sql("CREATE TABLE outside USING delta LOCATION '{outside}' AS SELECT 7 AS x")
    spark.sql("DROP TABLE IF EXISTS outside")
    print(sorted(x for t in ("t", "kept") for x, in spark.table(t).collect()))
"""


def test_a_process_finds_the_tables_of_the_one_before(tmp_path):
    first = run_program(FIRST, tmp_path)
    assert first.stdout.splitlines() == ["3 2", "SQLEXT_SESSION_WITH_OTHER_WAREHOUSE"], first.stderr
    assert first.stderr == "a worker's word\n"  # nothing of Ivy and Spark's start, but all of what comes later
    outside, jar = tmp_path / "outside", tmp_path / "more.jar"
    ZipFile(jar, "w").close()
    tables = ["['kept', 't'] [Row(x=3, y=4)]", "[2, 5, 6]"]
    assert printed(SECOND.format(outside=outside, jar=jar), tmp_path) == ["True True False", *tables]
    assert (outside / "_delta_log").is_dir()  # only files in the warehouse go with their table


LONG_KEY = """
    import sqlext
    spark = sqlext.session(master="local[1]", warehouse="here", **{"spark.executor.pyspark.memory": "2g"})
    for order in ("worker", "spark"):
        spark.conf.set("sqlext.order", order)
        for rows in (20_000, 1_500_000):
            try:
                print(spark.sql(f'''
                    SELECT length(s) FROM (
                        SELECT IF(id % 100 = 0, 'rare', 'unknown') AS k, id, repeat('x', 1000) AS s FROM range({rows}))
                    MATCH_RECOGNIZE (PARTITION BY k ORDER BY id MEASURES LAST(s) AS s PATTERN (A B* C)
                    DEFINE C AS C.id % 10000 = 9999)''').collect())
            except Exception as error:
                print(next(line for line in str(error).splitlines() if "SQLEXT_" in line))
"""


def test_a_key_larger_than_a_worker_is_an_error_with_its_name(tmp_path):
    """It ends neither the session nor the next query, whoever orders the rows."""
    lines = printed(LONG_KEY, tmp_path)
    assert lines[::2] == ["[Row(length(s)=1000)]"] * 2
    too_long = "SQLEXT_WORKER_MEMORY: rows held together need .* the last one with the key .unknown.$"
    assert [bool(re.search(too_long, line)) for line in lines[1::2]] == [True] * 2, lines


SETTINGS_WITHOUT_JARS = """<ivysettings><settings defaultResolver="nothing"/><resolvers>
<filesystem name="nothing"><artifact pattern="{folder}/[artifact].jar"/></filesystem></resolvers></ivysettings>"""

STARTS_FAILING = """
    import sqlext
    try:
        sqlext.session(**{settings})
    except sqlext.SetupError as error:
        print(error)
"""


def test_nothing_is_downloaded_where_spark_has_the_jar(tmp_path, monkeypatch):
    jar = tmp_path / "jars" / "io.delta_delta-spark_4.2_2.13-4.4.0.jar"
    jar.parent.mkdir()
    jar.touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    packages = [start._packages(settings, DELTA) for settings in ({}, {"spark.jars.packages": "a:b:1"})]
    assert packages == ["", "a:b:1"]


def test_a_jar_that_cannot_be_had_is_an_error_that_helps(tmp_path):
    ivy = tmp_path / "ivysettings.xml"
    ivy.write_text(SETTINGS_WITHOUT_JARS.format(folder=tmp_path))
    packages = "io.delta:delta-spark_4.2_2.13:0.0.0"
    program = STARTS_FAILING.replace(
        "{settings}", repr({"spark.jars.packages": packages, "spark.jars.ivySettings": str(ivy)})
    )
    done = run_program(program, tmp_path)
    assert f"SQLEXT_JAR_NOT_FOUND: Spark could not download {packages}\nHint: " in done.stdout
    assert "spark.jars.repositories" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (None, "SQLEXT_JAVA_NOT_FOUND: Spark needs Java 17 or newer and none was found"),
        ("11.0.2", "SQLEXT_JAVA_NOT_FOUND: Spark needs Java 17 or newer and this is Java 11"),
        ("17.0.2", "SQLEXT_SPARK_DID_NOT_START: Spark did not start: java.lang.Error: no"),
    ],
)
def test_no_java_or_an_old_one_is_an_error_that_helps(tmp_path, version, message):
    if version is not None:
        java = tmp_path / "bin" / "java"
        java.parent.mkdir()
        banner = f'openjdk version "{version}"\njava.lang.Error: no'
        java.write_text(f"#!/bin/sh\necho '{banner}' >&2\nexit 1\n")
        java.chmod(0o755)
    done = run_program(STARTS_FAILING.replace("{settings}", "{}"), tmp_path, JAVA_HOME=str(tmp_path))
    assert done.stdout.startswith(message)
    assert done.stderr == ""


CONNECT = (
    CONNECT_SESSION
    + """
    import warnings
    from sqlext.catalog import streams, views
    from sqlext.rewriter.heads.heads import parse_head, parse_view
    from sqlext.sessions.hook import unhooked
    own = type(spark).sql
    assert sqlext.extend(sqlext.extend(spark)) is spark and sqlext.is_extended(spark)
    print(type(spark).__module__, type(spark).sql is not own)
    spark.sql("CREATE TABLE t USING delta AS SELECT 1 AS x")
    print(spark.sql("SELECT * FROM {d} JOIN t", d=spark.range(1)).collect())
    few = spark.sql("SELECT * FROM VALUES (1), (2) AS t(v)")
    rise = sqlext.match_recognize(few, pattern="a b", define={"b": "v > PREV(v)"}, order_by="v",
                                  measures={"n": "COUNT(*)"})
    print(rise.collect(), sqlext.asof_join(rise, few, left_on="n", right_on="v").collect())
    print("== Clause 1" in sqlext.explain(rise))
    times = "(VALUES (0, 5), (1, 6), (4, 7)) AS b(x, y)"
    print(spark.sql(f"SELECT t.x, b.* FROM t ASOF JOIN {times} MATCH_CONDITION (t.x > b.x)").collect())
    pairs = f"SELECT t.*, b.y FROM t FULL INTERVAL JOIN {times} ON b.x BETWEEN t.x AND t.x + 1"
    print(sorted(map(str, spark.sql(pairs).collect())))
    spark.sql("CREATE TABLE s USING delta AS SELECT timestamp_seconds(3600 * id) AS ts, id FROM range(1, 5)")
    left, right = (f"STREAM s WATERMARK ts DELAY OF INTERVAL 0 SECONDS AS {name}" for name in "lr")
    nearest = f"SELECT l.id, r.id AS before FROM {left} LEFT ASOF JOIN {right} MATCH_CONDITION (l.ts > r.ts)"
    writer = spark.sql(nearest).writeStream.option("checkpointLocation", "here/checkpoint").trigger(availableNow=True)
    writer.toTable("joined").awaitTermination()
    print(sorted(map(tuple, spark.table("joined").collect())))
    view = parse_view(parse_head("CREATE VIEW v AS SELECT * FROM t"))
    views.create(spark, unhooked(spark), view)
    print([view.name for view in views.stored(spark, unhooked(spark))])
    spark.sql("DROP VIEW v")
    print([view.name for view in views.stored(spark, unhooked(spark))])
    try:
        spark.sql("SELECT * FROM v")
    except Exception as error:
        print(error.getCondition())
    skips = "MATCH_RECOGNIZE (ORDER BY x MEASURES COUNT(*) AS k AFTER MATCH SKIP TO b PATTERN (a b?) DEFINE b AS x > 9)"
    for run in (lambda f: f.collect(), lambda f: f.toPandas(), lambda f: f.write.saveAsTable("n")):
        try:
            run(spark.sql(f"SELECT * FROM t {skips}"))
        except sqlext.DataError as error:
            print(len(str(error).splitlines()), error.error_class)
    spark.sql(f"CREATE VIEW w AS SELECT * FROM t {skips.replace('TO b', 'PAST LAST ROW')}")
    print(spark.table("w").collect(), spark.read.table("w").columns, [t.name for t in spark.catalog.listTables()])
    stream = "STREAM s WATERMARK ts DELAY OF INTERVAL 0 SECONDS"
    found = "MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(id) AS id PATTERN (a b) DEFINE b AS id % 2 = 0)"
    spark.sql(f"CREATE STREAMING TABLE m OPTIONS ('trigger' = 'available-now') AS SELECT * FROM {stream} {found}")
    columns = ("name", "state", "watermark", "rows_kept", "late_rows", "failed_rows", "last_error")
    print(*spark.sql("SHOW STREAMING TABLES").select(*columns).collect()[0])
    streams.forget("m")  # what a client is told that has not started the query
    print(*spark.sql("SHOW STREAMING TABLES").select(*columns).collect()[0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        spark.sql("STOP STREAMING TABLE m")
    print(str(caught[-1].message).partition(". ")[0])
    rows = "SELECT id % 3 AS k, timestamp_seconds(id) AS ts, id % 2 AS v FROM range(9)"
    spark.sql(f"CREATE TABLE ev USING delta AS {rows}")
    rises = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES count(*) AS n PATTERN (A B+) DEFINE B AS v > PREV(v))"
    spark.sql(f"CREATE MATERIALIZED VIEW mv AS SELECT k, n FROM ev {rises}")
    print(sorted(map(tuple, spark.table("mv").collect())))
    for key in (1, 5):
        spark.sql(f"INSERT INTO ev VALUES ({key}, timestamp_seconds(98), 3L), ({key}, timestamp_seconds(99), 7L)")
        print(spark.sql("EXPLAIN REFRESH MATERIALIZED VIEW mv").collect()[0][0].partition(",")[0])
        spark.sql("REFRESH MATERIALIZED VIEW mv")
        last = dict(map(tuple, spark.sql("DESCRIBE MATERIALIZED VIEW mv").collect()))
        print(*(last[name] for name in ("kind", "changed_keys", "rows_deleted", "rows_inserted")))
    spark.sql("DELETE FROM ev WHERE k = 5 AND v = 7")
    spark.sql("REFRESH MATERIALIZED VIEW mv")
    print(sorted(map(tuple, spark.table("mv").collect())))
    print(*spark.sql("SHOW MATERIALIZED VIEWS").select("name", "kind").collect()[0])
    spark.sql("DROP MATERIALIZED VIEW mv")
    print(spark.sql("SHOW MATERIALIZED VIEWS").collect())
    sqlext.restore(spark)
    print(type(spark).sql is own, sqlext.is_extended(spark))
    spark.stop()
"""
)


def test_connect_sessions_are_extended_too(tmp_path):
    """All in one process, because Spark needs most of a minute until it is warm."""
    assert printed(CONNECT, tmp_path) == [
        "pyspark.sql.connect.session True",
        "[Row(id=0, x=1)]",
        "[Row(n=2)] [Row(n=2, v=2)]",
        "True",
        "[Row(x=1, x=0, y=5)]",
        "['Row(x=1, y=6)', 'Row(x=None, y=5)', 'Row(x=None, y=7)']",
        "[(1, None), (2, 1), (3, 2), (4, 3)]",
        "['v']",
        "[]",
        "TABLE_OR_VIEW_NOT_FOUND",
        *["2 SQLEXT_SKIP_TO_MISSING_ROW"] * 3,
        "[Row(k=1)] ['k'] ['joined', 's', 'sqlext_views', 't', 'w']",
        "m stopped 1970-01-01 04:00:00 0 0 0 None",
        "m unknown 1970-01-01 04:00:00 0 0 0 None",
        "this client does not run the streaming table m",
        "[(0, 2), (1, 2), (2, 2)]",
        "REFRESH computes the rows of the changed keys of default.mv anew",
        "by key 1 1 1",
        "REFRESH computes the rows of the changed keys of default.mv anew",
        "by key 1 0 1",
        "[(0, 2), (1, 4), (2, 2)]",
        "mv by key",
        "[]",
        "True False",
    ]


LIGHT = """
    import sys, sqlext
    heavy = ("pyspark", "numpy", "pyarrow", "numba", "pandas", "rich")
    print([name for name in (*heavy, "sqlglot") if name in sys.modules])
    from pathlib import Path
    from sqlext.cli.main import main
    Path("a.sql").write_text("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY n PATTERN (A) DEFINE A AS n > 0);\\n")
    print(main(["check", "a.sql"]), main(["format", "a.sql"]))
    print([name for name in heavy if name in sys.modules])
"""


def test_importing_sqlext_and_commands_without_spark_load_nothing_heavy(tmp_path):
    assert printed(LIGHT, tmp_path) == ["[]", "0 0", "[]"]


EVENT_LOG = "spark.eventLog.enabled true\nspark.eventLog.compress false\nspark.eventLog.dir file://{folder}\n"

INTERRUPTED = """
    import os, signal, subprocess, sys, time
    from pathlib import Path
    query = "SELECT count(*) FROM range(100000000000) a JOIN range(10) b ON hash(a.id) % 7 = b.id"
    started = "SELECT 1 AS started"
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a job in the background of a shell ignores it
    command = [sys.executable, "-c", "from sqlext.cli.main import main; exit(main())", "run", "--master", "local[2]"]
    command += ["-e", f"{started};\\n{query}"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    print(run.stdout.readline().strip(), run.stdout.readline().strip())
    def runs(log):  # a job has started after the plan of the query was written
        return "SparkListenerJobStart" in log.read_text().partition("100000000000")[2]
    while not any(map(runs, Path("events").rglob("events_*"))):
        time.sleep(0.1)
    os.killpg(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=60)
    print(run.returncode, repr(err))
    processes = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True).stdout.splitlines()
    print([line for line in processes if line.split()[0] == str(run.pid) and line.split()[1][0] != "Z"])
"""


def test_an_interrupt_ends_the_query_and_spark(tmp_path):
    """It comes when Spark has written to its log that the query runs."""
    (tmp_path / "events").mkdir()
    (tmp_path / "spark-defaults.conf").write_text(EVENT_LOG.format(folder=tmp_path / "events"))
    assert printed(INTERRUPTED, tmp_path, SPARK_CONF_DIR=str(tmp_path)) == ["started 1", "130 ''", "[]"]
