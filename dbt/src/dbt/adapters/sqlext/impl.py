"""The adapter: what differs from dbt-spark in Python. The rest is in the macros of `dbt.include.sqlext`."""

from __future__ import annotations

from typing import Any

from dbt.adapters.base import BaseRelation, available
from dbt.adapters.spark.column import SparkColumn
from dbt.adapters.spark.impl import SparkAdapter
from dbt.adapters.sqlext.compiled_place import enter_node
from dbt.adapters.sqlext.connections import SqlextConnectionManager

from sqlext.rewriter.statements.scan import is_extended

_FORMAT = "file_format"


class SqlextAdapter(SparkAdapter):
    ConnectionManager = SqlextConnectionManager  # type: ignore[assignment]

    def pre_model_hook(self, config: Any) -> Any:
        """Before a node runs: its tables are Delta tables unless it says otherwise, and its errors have its places.

        Returns the node if it got a format, which `post_model_hook` removes.
        """
        node = config.model
        enter_node(node)
        if node.config.get(_FORMAT) is not None:
            return None
        node.config[_FORMAT] = "delta"
        return node

    def post_model_hook(self, config: Any, context: Any) -> None:
        enter_node(None)
        if context is not None:
            del context.config[_FORMAT]

    @available
    def has_clauses(self, sql: str) -> bool:
        """Return True if a query has clauses of ours; a view over it is then a stored view."""
        return is_extended(sql)

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """The tables and views of a schema. Spark lists temporary views too, which have none."""
        return [relation for relation in super().list_relations_without_caching(schema_relation) if relation.schema]

    def parse_columns_from_information(self, relation: BaseRelation) -> list[SparkColumn]:
        """The columns of a relation for the docs. Spark's catalog has none of a Delta table, so they are looked up."""
        return super().parse_columns_from_information(relation) or self.get_columns_in_relation(relation)
