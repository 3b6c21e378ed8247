"""The jars with which Spark has started are used at its next start, while they are there."""

from __future__ import annotations

import zipfile

import pytest

from sqlext.sessions.known_jars import KnownJars, known_jars, remember_jars, request_of, without_sparks_own

DELTA = "io.delta:delta-spark_4.2_2.13:4.4.0"
KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
GUAVA = "com.google.guava:guava:33.4.0-jre"
PACKAGES = "spark.jars.packages"


@pytest.fixture
def jars(tmp_path):
    """Two jars as spark-submit names them, of which the second has a module of Python."""
    files = {"a b.jar": "A.class", "c.jar": "c/__init__.py"}
    for name, member in files.items():
        with zipfile.ZipFile(tmp_path / name, "w") as jar:
            jar.writestr(member, "")
    return [(tmp_path / name).as_uri() for name in files]


def test_jars_are_known_until_one_is_gone(tmp_path, jars):
    request, folder = request_of({PACKAGES: f"{DELTA},{KAFKA}"}, ""), tmp_path / "lists"
    folder.mkdir()
    assert known_jars(request, folder) is None
    remember_jars(request, ",".join(jars), folder)
    assert known_jars(request, folder) == KnownJars(",".join(jars), jars[1])
    assert known_jars(request.replace("4.4.0", "4.4.1"), folder) is None
    (tmp_path / "c.jar").unlink()
    assert known_jars(request, folder) is None


def test_a_list_of_an_earlier_version_is_not_read(tmp_path, jars):
    remember_jars("request", ",".join(jars), tmp_path)
    (file,) = (path for path in tmp_path.iterdir() if path.suffix != ".jar")
    file.write_text(",".join(jars), encoding="utf-8")
    assert known_jars("request", tmp_path) is None


def test_jars_elsewhere_are_not_remembered(tmp_path):
    remember_jars(DELTA, "hdfs://host/a.jar", tmp_path)
    remember_jars(DELTA, "", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "submitted", "is_remembered"),
    [
        ({PACKAGES: DELTA}, "", True),
        ({PACKAGES: f"{DELTA},{KAFKA},{GUAVA}"}, "--master local[2] pyspark-shell\nspark.driver.memory 2g", True),
        ({PACKAGES: KAFKA, "spark.jars.repositories": "https://host/maven"}, "", True),
        ({PACKAGES: KAFKA, "spark.jars": ""}, "", True),
        ({PACKAGES: ""}, "", False),
        ({PACKAGES: KAFKA, "spark.jars": "/own.jar"}, "", False),
        ({PACKAGES: f"{DELTA},a:b:1.0-SNAPSHOT"}, "", False),
        ({PACKAGES: "a:b:latest.release"}, "", False),
        ({PACKAGES: "a:b:1.+"}, "", False),
        ({PACKAGES: "a:b:[1.0,2.0)"}, "", False),
        ({PACKAGES: DELTA}, "--packages a:b:1 pyspark-shell", False),
        ({PACKAGES: DELTA}, "pyspark-shell\nspark.jars.packages a:b:1", False),
        ({PACKAGES: DELTA}, "--conf spark.submit.pyFiles=own.zip pyspark-shell", False),
    ],
)
def test_the_answer_of_ivy_is_remembered_unless_it_may_be_another_one_tomorrow(settings, submitted, is_remembered):
    assert bool(request_of(settings, submitted)) == is_remembered


def test_where_ivy_looks_is_a_part_of_what_it_is_asked_for():
    requests = [{PACKAGES: DELTA}, {PACKAGES: DELTA, "spark.jars.excludes": "a:b"}, {PACKAGES: KAFKA}]
    assert len({request_of(settings, "") for settings in requests}) == 3


@pytest.mark.parametrize(
    ("packages", "own_jars_first", "jars"),
    [
        (f"{DELTA},{KAFKA}", True, "/j/delta-spark_4.2_2.13-4.4.0.jar"),
        (f"{DELTA},{KAFKA}", False, "/j/delta-spark_4.2_2.13-4.4.0.jar,/j/guava-33.4.0-jre.jar"),
        # a class that only the newer version has
        (f"{DELTA}, {GUAVA}", True, "/j/delta-spark_4.2_2.13-4.4.0.jar,/j/guava-33.4.0-jre.jar"),
    ],
)
def test_known_jars_take_the_place_of_the_packages(tmp_path, packages, own_jars_first, jars):
    (tmp_path / "guava-14.0.1.jar").touch()
    known = KnownJars("/j/delta-spark_4.2_2.13-4.4.0.jar,/j/guava-33.4.0-jre.jar", "/j/delta-spark_4.2_2.13-4.4.0.jar")
    settings = {PACKAGES: packages, "spark.jars.repositories": "https://h", "spark.submit.pyFiles": "own.zip", "x": "1"}
    assert known.in_settings(settings, tmp_path if own_jars_first else None) == {
        "spark.jars": jars,
        "spark.submit.pyFiles": "own.zip,/j/delta-spark_4.2_2.13-4.4.0.jar",
        "x": "1",
    }


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
