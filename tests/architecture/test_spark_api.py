"""Spark is used through its public API, so that classic sessions and Connect behave alike."""

from __future__ import annotations

import re

from .source import MODULES

PRIVATE = {"_jvm", "_jdf", "_jsc", "_jsparkSession", "_jreader", "_jwrite", "_sc", "sparkContext", "_gateway"}
ALLOWED = {
    "sqlext.sessions.start": {"_gateway"},  # before a session exists: whether this process has started Spark's JVM
    # a server and its clients, which share one JVM
    "sqlext.server.attach": {"_gateway", "_jvm", "_sc", "sparkContext"},
    "sqlext.server.spark_process": {"_jsparkSession", "_jvm"},
    # the jobs of a classic session by their tag, which PySpark's StatusTracker lacks, and Py4J's connection to the JVM
    "sqlext.spark.running_jobs": {"_gateway", "_jsc", "sparkContext"},
    # Kafka's own client, which alone knows whether a topic is the same, and within seconds that no broker answers
    "sqlext.engine.sources.brokers": {"_jvm"},
    # the files of a table, which are read only where Spark's JVM is on this machine
    "sqlext.engine.scan.file_relation": {"_jdf", "_jvm", "_jsparkSession", "sparkContext", "_gateway"},
}


def test_no_module_reaches_behind_the_public_api_of_spark():
    attribute = re.compile(rf"\.({'|'.join(PRIVATE)})\b")
    used = {name: set(names) for name, module in MODULES.items() if (names := attribute.findall(module.text))}
    assert used == ALLOWED
