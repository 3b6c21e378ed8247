"""Whether Spark sorts the rows of a clause, or only shuffles them by key, and workers order them.

Spark's sort compares whole rows, and only rows that come sorted are cheap to sort. Event logs come in the order of time
with their keys interleaved, so workers only have to group them (`operators.rows.grouped_order`).
"""

from __future__ import annotations

from sqlext.engine.match.bind_clause import BoundClause
from sqlext.expressions.spark_types import decimal_of, kind_of
from sqlext.rewriter.lowering.operator_plan import column_of
from sqlext.rewriter.text.splice import Text

MODES = AUTO, SPARK, WORKER = "auto", "spark", "worker"


def refusal(clause: BoundClause, mode: str) -> str | None:
    """The reason why Spark sorts the rows, as EXPLAIN MATCH shows it, or None. `mode`: one of MODES."""
    plan = clause.plan
    if mode == SPARK:
        return "Spark sorts the rows, sqlext.order is spark."
    if plan.needs_window:
        return "Spark sorts the rows, a window over whole partitions is needed."
    if mode == AUTO and not plan.partition_by:
        return "Spark sorts the rows, there is no PARTITION BY."
    texts = [text for text, _ in plan.order_by]
    for text, spark_type in zip(texts, _types(clause, texts)):
        if kind_of(spark_type) is None and decimal_of(spark_type) is None:
            return f"Spark sorts the rows, only it orders values of the type {spark_type}, as {text} has."
    return None


def reason(mode: str) -> str:
    """The reason why workers order the rows, if nothing prevents it."""
    why = ", sqlext.order is worker" if mode == WORKER else ""
    return f"workers order the rows, which Spark only shuffles by their keys{why}."


def _types(clause: BoundClause, texts: list[Text]) -> list[str]:
    """The Spark types of sort keys. Most are columns of the input, whose types are known."""
    is_window = clause.resolver is None  # whose keys are columns of the rows that its query computes before
    columns = clause.rows.dtypes if is_window and clause.rows is not None else clause.plan.input_types
    known = {name.lower(): spark_type for name, spark_type in columns}
    others = [text for text in texts if column_of(text).lower() not in known]
    types = dict(zip(map(str, others), clause.resolver.types(others) if others and clause.resolver else ()))
    return [known.get(column_of(text).lower()) or types[str(text)] for text in texts]
