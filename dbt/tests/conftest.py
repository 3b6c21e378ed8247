"""dbt's official adapter suite, for `sqlext`, or for dbt-spark's session method: DBT_TYPE=spark pytest dbt/tests."""

import os

import pytest

pytest_plugins = ["dbt.tests.fixtures.project"]

IS_OURS = os.environ.get("DBT_TYPE", "sqlext") == "sqlext"


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory):
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="class")
def dbt_profile_target(warehouse):
    """A session on two cores. dbt-spark starts its own, of Hive tables, so its settings are those of Spark's start."""
    settings = {"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}
    if IS_OURS:
        place = {"type": "sqlext", "master": "local[2]", "warehouse": str(warehouse)}
    else:
        settings["spark.master"] = "local[2]"
        settings["spark.sql.warehouse.dir"] = str(warehouse)
        metastore = f"jdbc:derby:;databaseName={warehouse}/metastore_db;create=true"
        settings["spark.hadoop.javax.jdo.option.ConnectionURL"] = metastore
        place = {"type": "spark", "method": "session", "host": "localhost"}
    return {**place, "server_side_parameters": settings}
