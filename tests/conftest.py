"""One Spark session for the whole run. A test that takes the fixture `spark` gets the marker of that name, and one that
takes `browser_page` the marker `slow`."""

from __future__ import annotations

import gc
import os
from collections import Counter

import hypothesis
import pyspark
import pytest

import sqlext
from sqlext.formats.delta import DELTA

from . import comet
from .jvm import OPTIONS, SUBMIT_OPTIONS
from .kafka.jars import NoJars, connector_jars
from .sampling import SAMPLE, forget_seed, how_to_repeat, postponed

os.environ.setdefault("TZ", "UTC")  # Spark's session time zone, before its JVM starts
os.environ.setdefault(SUBMIT_OPTIONS, OPTIONS)

pytest_plugins = ["tests.browser"]

hypothesis.settings.register_profile("no clock", deadline=None)  # a busy machine is no failure
hypothesis.settings.load_profile("no clock")

# Thousands of statements run in one session: what the driver keeps of the last 1,000 of them does not fit into 1 GB.
_OF_DRIVER = {"spark.driver.memory": "2g", "spark.sql.ui.retainedExecutions": "50"}
SETTINGS = {"spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC", **_OF_DRIVER}


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Hypothesis tries other examples each day, and the same ones all day, so that a failure can be repeated."""
    if config.option.hypothesis_seed is None and SAMPLE.isdigit():
        config.option.hypothesis_seed = SAMPLE


def pytest_report_header():
    return f"sample of exhaustive cases: {SAMPLE} (SQLEXT_SAMPLE)"


def pytest_collection_modifyitems(config, items):
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "spark" in fixtures or "kafka" in fixtures:  # a broker needs Java, too
            item.add_marker(pytest.mark.spark)
        if "browser_page" in fixtures:
            item.add_marker(pytest.mark.slow)
    later = set(postponed(items))
    config.hook.pytest_deselected(items=list(later))
    items[:] = _longest_files_first([item for item in items if item not in later])


def _longest_files_first(items):
    """The files with slow tests, then those with Spark, then the others, of each those with many tests first: a long
    file at the end would occupy one process alone."""
    counts = Counter(item.path for item in items)
    slow, spark = ({i.path for i in items if i.get_closest_marker(name)} for name in ("slow", "spark"))
    return sorted(items, key=lambda item: (item.path not in slow, item.path not in spark, -counts[item.path]))


def pytest_collection():
    """Collection makes ten thousand objects that live until the end; looking for garbage among them takes seconds."""
    gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


def pytest_runtest_setup():
    forget_seed()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if report.failed and item.get_closest_marker("random"):
        report.sections.append(("repeat by", how_to_repeat(item.nodeid)))


def has_delta() -> bool:
    """Return True if Delta has a jar for this Spark; `make test-spark-versions` runs without it elsewhere."""
    try:
        return bool(DELTA.package(pyspark.__version__))
    except sqlext.SetupError:
        return False


def _connector(items) -> dict[str, str]:
    """The setting with which Spark reads Kafka's topics, if one of the tests needs it and Maven Central has it."""
    if not any("kafka_jars" in getattr(item, "fixturenames", ()) for item in items):
        return {}
    try:
        return {"spark.jars": connector_jars()}
    except NoJars:  # these tests are skipped with the reason
        return {}


def format_of_tables() -> str:
    """The format of the session's tables; `make test-iceberg` names it."""
    return os.environ.get("SQLEXT_TEST_FORMAT") or ("delta" if has_delta() else "parquet")


@pytest.fixture(scope="session")
def spark(request, tmp_path_factory):
    """An extended session on two cores with an empty warehouse. Leave its settings, tables and views as they were."""
    warehouse = tmp_path_factory.mktemp("warehouse")
    others = {**comet.settings(), **_connector(request.session.items)}
    master = os.environ.get("SQLEXT_TEST_MASTER", "local[2]")  # a cluster's in `make test-cluster`
    session = sqlext.session("sqlext tests", master, warehouse, format=format_of_tables(), **SETTINGS, **others)
    yield session
    session.stop()
