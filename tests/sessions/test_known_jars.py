"""The jars with which Spark has started are used at its next start, while they are there."""

from __future__ import annotations

from sqlext.sessions.known_jars import known_jars, remember_jars, without_sparks_own

PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"


def test_jars_are_known_until_one_is_gone(tmp_path):
    jars = [tmp_path / "a b.jar", tmp_path / "c.jar"]
    for jar in jars:
        jar.touch()
    value = ",".join(jar.as_uri() for jar in jars)
    assert known_jars(PACKAGE, tmp_path) == ""
    remember_jars(PACKAGE, value, tmp_path)
    assert known_jars(PACKAGE, tmp_path) == value
    assert known_jars(PACKAGE.replace("4.4.0", "4.4.1"), tmp_path) == ""
    jars[1].unlink()
    assert known_jars(PACKAGE, tmp_path) == ""


def test_jars_elsewhere_are_not_remembered(tmp_path):
    remember_jars(PACKAGE, "hdfs://host/a.jar", tmp_path)
    remember_jars(PACKAGE, "", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_jars_that_spark_has_itself_are_left_out(tmp_path):
    for name in ("hadoop-client-api-3.5.0.jar", "jackson-module-scala_2.13-2.21.jar"):
        (tmp_path / name).touch()
    delta = "file:///jars/io.delta_delta-spark_4.2_2.13-4.4.0.jar"
    jars = [
        delta,
        "file:///jars/org.apache.hadoop_hadoop-client-api-3.4.2.jar",
        "file:///jars/hadoop-client-api-3.4.2.jar",
        "file:///jars/org.apache.hadoop_hadoop-client-runtime-3.4.2.jar",
    ]
    assert without_sparks_own(",".join(jars), tmp_path) == f"{delta},{jars[3]}"
