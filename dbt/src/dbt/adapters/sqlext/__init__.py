"""The dbt adapter `sqlext`: dbt-spark's session method, whose session understands the extended language."""

from dbt.adapters.base import AdapterPlugin
from dbt.adapters.sqlext.connections import SqlextCredentials
from dbt.adapters.sqlext.impl import SqlextAdapter
from dbt.include import sqlext

Plugin = AdapterPlugin(
    adapter=SqlextAdapter,  # type: ignore[arg-type]
    credentials=SqlextCredentials,
    include_path=sqlext.PACKAGE_PATH,
    dependencies=["spark"],  # a macro is looked up as sqlext__x, then spark__x, then default__x
)
