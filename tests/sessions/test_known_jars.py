"""The jars with which Spark has started are used at its next start, while they are there."""

from __future__ import annotations

from sqlext.sessions.known_jars import known_jars, remember_jars

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
