"""Classes of dbt-tests-adapter, for our adapter and for dbt-spark's session method.

Left out are those that dbt-spark's repository skips for its session method, for a reason that holds here too (Python
models and grants need Databricks or an object store), and those that are written for Postgres: BaseEphemeralMulti
compares the text of a statement, BaseBasicSeedTests runs several statements as one.
"""

import pytest
from conftest import IS_OURS
from dbt.tests.adapter.aliases.fixtures import MACROS__EXPECT_VALUE_SQL
from dbt.tests.adapter.aliases.test_aliases import BaseAliases, BaseSameAliasDifferentSchemas
from dbt.tests.adapter.basic.test_adapter_methods import BaseAdapterMethod
from dbt.tests.adapter.basic.test_base import BaseSimpleMaterializations
from dbt.tests.adapter.basic.test_empty import BaseEmpty
from dbt.tests.adapter.basic.test_ephemeral import BaseEphemeral
from dbt.tests.adapter.basic.test_generic_tests import BaseGenericTests
from dbt.tests.adapter.basic.test_incremental import BaseIncremental
from dbt.tests.adapter.basic.test_singular_tests import BaseSingularTests
from dbt.tests.adapter.basic.test_singular_tests_ephemeral import BaseSingularTestsEphemeral
from dbt.tests.adapter.basic.test_snapshot_check_cols import BaseSnapshotCheckCols
from dbt.tests.adapter.basic.test_snapshot_timestamp import BaseSnapshotTimestamp
from dbt.tests.adapter.basic.test_table_materialization import BaseTableMaterialization
from dbt.tests.adapter.basic.test_validate_connection import BaseValidateConnection
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import BaseIncrementalOnSchemaChange
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey
from dbt.tests.adapter.unit_testing.test_invalid_input import BaseUnitTestInvalidInput
from dbt.tests.adapter.utils.fixture_listagg import models__test_listagg_sql, models__test_listagg_yml
from dbt.tests.adapter.utils.test_concat import BaseConcat
from dbt.tests.adapter.utils.test_dateadd import BaseDateAdd
from dbt.tests.adapter.utils.test_datediff import BaseDateDiff
from dbt.tests.adapter.utils.test_hash import BaseHash
from dbt.tests.adapter.utils.test_listagg import BaseListagg
from dbt.tests.adapter.utils.test_safe_cast import BaseSafeCast
from dbt.tests.adapter.utils.test_split_part import BaseSplitPart
from dbt.tests.util import run_dbt

needs_delta = pytest.mark.skipif(not IS_OURS, reason="dbt-spark's session has no Delta tables")


class PlainLiterals:
    """The alias tests write 'x'::text, as Postgres has it, unless an adapter brings a macro of its own."""

    @pytest.fixture(scope="class")
    def macros(self):
        literal = "{% macro string_literal(s) %}'{{ s }}'{% endmacro %}"
        return {"literal.sql": literal, "expect_value.sql": MACROS__EXPECT_VALUE_SQL}


class TestAliases(PlainLiterals, BaseAliases): ...


class TestSameAliasDifferentSchemas(PlainLiterals, BaseSameAliasDifferentSchemas): ...


class TestAdapterMethod(BaseAdapterMethod): ...


class TestSimpleMaterializations(BaseSimpleMaterializations): ...


class TestEmpty(BaseEmpty): ...


class TestEphemeral(BaseEphemeral): ...


class TestGenericTests(BaseGenericTests): ...


class TestIncremental(BaseIncremental): ...


class TestSingularTests(BaseSingularTests): ...


class TestSingularTestsEphemeral(BaseSingularTestsEphemeral): ...


class TestTableMaterialization(BaseTableMaterialization): ...


class TestValidateConnection(BaseValidateConnection): ...


@needs_delta
class TestSnapshotCheckCols(BaseSnapshotCheckCols): ...


@needs_delta
class TestSnapshotTimestamp(BaseSnapshotTimestamp): ...


@needs_delta
class TestIncrementalUniqueKey(BaseIncrementalUniqueKey):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_strategy": "merge"}}


@needs_delta
class TestIncrementalOnSchemaChange(BaseIncrementalOnSchemaChange):
    """By merges. dbt-spark refuses to remove columns of Delta tables, so nothing is removed here."""

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_strategy": "merge", "+unique_key": "id"}}

    def run_incremental_append_new_columns_remove_one(self, project): ...

    def run_incremental_sync_remove_only(self, project): ...

    def run_incremental_sync_all_columns(self, project):
        select = "model_a incremental_sync_all_columns incremental_sync_all_columns_target"
        run_dbt(["run", "--models", select, "--full-refresh"])
        results = run_dbt(["run", "--models", select], expect_pass=False)
        assert "does not support dropping columns" in results[1].message


class TestUnitTestInvalidInput(BaseUnitTestInvalidInput): ...


class TestConcat(BaseConcat): ...


class TestDateAdd(BaseDateAdd): ...


class TestDateDiff(BaseDateDiff): ...


class TestHash(BaseHash): ...


class TestListagg(BaseListagg):
    """Without the two selects whose lists have an order, which dbt-spark's macro leaves out with a warning."""

    @pytest.fixture(scope="class")
    def models(self):
        head, begin, selects = models__test_listagg_sql.partition("calculate as (")
        text = head + begin + "union all".join(selects.split("union all")[2:])
        return {
            "test_listagg.yml": models__test_listagg_yml,
            "test_listagg.sql": self.interpolate_macro_namespace(text, "listagg"),
        }


class TestSafeCast(BaseSafeCast): ...


class TestSplitPart(BaseSplitPart): ...
