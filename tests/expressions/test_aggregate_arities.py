"""The table of aggregates takes as many arguments as Spark, and knows all names that Spark has."""

from __future__ import annotations

import pytest

from sqlext.aggregates.registry import AGGREGATES, ALIASES, COMPUTED, WithinGroupKey
from sqlext.rewriter.scalars.scalar_keys import GENERATORS
from sqlext.spark.quiet_probes import quiet_probes

pytestmark = pytest.mark.spark
MOST = 4  # arguments that are tried
AS_SCALARS = {"measure"}  # of metric views only


def taken_by_spark(spark, name: str) -> set[int]:
    """The numbers of arguments with which Spark finds the function, whatever their types are."""
    return {number for number in range(MOST + 1) if not is_wrong_number(spark, name, number)}


def is_wrong_number(spark, name: str, number: int) -> bool:
    arguments = ", ".join(["x", "1", "1", "1"][:number])
    with quiet_probes():
        try:
            spark.sql(f"SELECT {name}({arguments}) FROM VALUES (1) AS t(x)").schema  # noqa: B018
        except Exception as e:
            return (e.getCondition() or "").startswith("WRONG_NUM_ARGS")
    return False


def taken(name: str) -> set[int]:
    """The numbers of arguments between the parentheses by the table: the key of WITHIN GROUP is none of them."""
    function = AGGREGATES[name]
    least, most = function.arity
    numbers = set(range(least, min(most, MOST) + 1))
    if function.within_group is WithinGroupKey.VALUE:
        numbers = {n - 1 for n in numbers} if function.needs_key else numbers | {least - 1}
    return numbers - {0} if name == "count" else numbers  # count(*) has none


@pytest.mark.random(every=4)
@pytest.mark.parametrize("name", COMPUTED)
def test_an_aggregate_takes_as_many_arguments_as_in_spark(spark, name):
    assert taken(name) == taken_by_spark(spark, name)


def test_all_aggregates_and_generators_of_spark_are_known(spark):
    groups = {"agg_funcs": set(), "generator_funcs": set()}
    for group, names in groups.items():
        rows = spark.sql("SHOW SYSTEM FUNCTIONS").collect()
        names |= {row[0] for row in rows if group_of(spark, row[0]) == group}
    assert groups["agg_funcs"] - set(AGGREGATES) - set(ALIASES) <= AS_SCALARS
    assert groups["generator_funcs"] <= GENERATORS


def group_of(spark, name: str) -> str:
    registry = spark._jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()
    identifier = spark._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name)
    found = registry.lookupFunction(identifier)
    return found.get().getGroup() if found.isDefined() else ""
