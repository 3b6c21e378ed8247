"""Checks the names and types of statements on a session, without running them: nothing is read, written or stored.

Later statements may read what a statement creates. It is represented by an empty temporary view or, for a declared
table, by an empty table in a separate warehouse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from tempfile import TemporaryDirectory

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sqlext.catalog.pattern_rules import RulesTable
from sqlext.cli.check_reports import Finding
from sqlext.cli.sql_files import SqlFile
from sqlext.engine.queries.quoted_names import names_in_backticks
from sqlext.engine.queries.spark_errors import user_error
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.rules.check_rule import check_rule, parse_rule
from sqlext.engine.rules.rule_commands import rules_of, run_rule_statement
from sqlext.engine.statements.plan_statement import plan_statement
from sqlext.engine.streams.target_table import renamed
from sqlext.errors import BindError, SqlExtError, SqlExtErrors, raise_all
from sqlext.formatting.check_syntax import check_text
from sqlext.formatting.declared_tables import DeclaredTable, declared_table, declared_tables, take_table
from sqlext.rewriter.heads.heads import CREATE_VIEW, Head, parse_view
from sqlext.rewriter.heads.materialized_views import CreateMaterializedView
from sqlext.rewriter.heads.source_table import SourceTable
from sqlext.rewriter.heads.statement import OtherStatement, Script, Statement
from sqlext.rewriter.heads.stream_target import target_of
from sqlext.rewriter.rules.rule_statements import CREATE, RuleStatement
from sqlext.rewriter.statements.explain_statement import ExplainStatement
from sqlext.rewriter.statements.read_statement import read_statement
from sqlext.rewriter.statements.scan import is_extended
from sqlext.rewriter.statements.script import read_script
from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import Parts, quote
from sqlext.rewriter.text.splice import Source
from sqlext.rewriter.text.tokens import QUERY_STARTS, tokenize
from sqlext.sessions.hook import unhooked
from sqlext.sessions.session import session
from sqlext.spark.quiet_probes import quiet_probes

_OF_SESSION = frozenset({"SET", "USE", "DECLARE", "RESET"})  # the effect of these statements ends with the session


def findings_with_names(files: Sequence[SqlFile], schema: SqlFile | None, warehouse: str | None) -> list[Finding]:
    """The findings of a session that has the tables of `schema` or (None) of the warehouse."""
    if schema is None:
        return check_on_session(_session(warehouse), files, schema)
    with TemporaryDirectory() as scratch:
        try:
            return check_on_session(_session(scratch), files, schema)
        finally:
            SparkSession.active().stop()


def _session(warehouse: str | None) -> SparkSession:
    settings = {"spark.log.level": "OFF", "spark.sql.shuffle.partitions": "1"}
    return session(master="local[1]", warehouse=warehouse, **settings)


def check_on_session(spark: SparkSession, files: Sequence[SqlFile], schema: SqlFile | None) -> list[Finding]:
    """The findings in syntax, names and types. If there is a schema, the session is used for nothing else."""
    findings: list[Finding] = []
    checker = NameChecker(spark, is_scratch=schema is not None)
    try:
        checker.declare(declared_tables(schema.text) if schema is not None else ())
    except SqlExtError as error:
        assert schema is not None
        return [Finding(schema.name, error)]
    for file in files:
        findings += (Finding(file.name, error) for error in check_text(file.text, checker.check))
    checker.close()
    return findings


class NameChecker:
    """Checks the statements of files, one after the other.

    `is_scratch`: the session and its warehouse are used only for the check, so that declared tables may be created in
    it.
    """

    def __init__(self, spark: SparkSession, *, is_scratch: bool):
        self.spark, self.sql, self.is_scratch = spark, unhooked(spark), is_scratch
        self.rules: dict[str, RulesTable] = {}  # the tables of rules that the file would create, in lower case
        self.not_created: set[str] = set()  # tables of the file whose columns are not known, in lower case
        self.views: set[str] = set()  # the views that statements of the file create, in lower case

    def declare(self, tables: Iterable[DeclaredTable]) -> None:
        """Create empty tables with these columns. Raises BindError for a type that Spark does not know."""
        for table in tables:
            try:
                with quiet_probes():
                    frame = self.spark.createDataFrame([], table.schema)
                    self._create(table.name, frame)
            except PySparkException as error:
                message = str(error).split("\n")[0]
                raise BindError("SCHEMA_FILE", message, place=table.place.place) from None

    def check(self, text: str) -> None:
        """Raise BindError or UnsupportedError for a statement whose syntax is correct."""
        call = SqlCall(spark=self.spark, sql=self.sql, text=text)
        try:
            with quiet_probes(), names_in_backticks(call) as call:
                self._check(call)
        except (PySparkException, SqlExtError) as error:
            ours = error if isinstance(error, SqlExtError) else _in_text(error, text)
            if not self._is_about_file(ours):
                raise ours from None
            target = target_of(read_statement(text))
            self.not_created |= {target.name[-1].lower()} if target is not None else set()

    def close(self) -> None:
        """Drop the views that represent what the file creates."""
        for name in self.views:
            self.spark.catalog.dropTempView(name)

    def _check(self, call: SqlCall) -> None:
        statement = read_statement(call.text)
        if isinstance(statement, ExplainStatement):
            self._check(replace(call, text=statement.query.in_place))
        elif isinstance(statement, RuleStatement):
            self._check_rule(call, statement)
        elif isinstance(statement, Script):
            self._check_script(call.text)
        elif isinstance(statement, SourceTable):
            table = declared_table(call.text)
            self.declare([table] if table is not None else [])
            self.not_created |= {statement.name[-1].lower()} if table is None else set()
        elif isinstance(statement, OtherStatement):
            self._check_other(call, statement)
        else:
            self._check_query(call, statement)

    def _check_script(self, text: str) -> None:
        errors: list[SqlExtError] = []
        for statement in read_script(text):
            if statement.is_block:
                continue
            try:
                self.check(statement.alone)
            except SqlExtErrors as several:
                errors += several.errors
            except SqlExtError as error:
                errors.append(error)
        raise_all([error.in_text(text) for error in errors])

    def _check_rule(self, call: SqlCall, statement: RuleStatement) -> None:
        if self.is_scratch:
            run_rule_statement(call, statement)
            return
        if statement.verb != CREATE or statement.definition is None:
            return
        name = statement.table.parts[-1].lower()
        table = self.rules.get(name) or rules_of(call, statement)
        self.rules[name] = table
        check_rule(call, statement.definition, parse_rule(call, statement.definition), table)

    def _check_query(self, call: SqlCall, statement: Statement) -> None:
        """Analyse the query in a statement, and remember what the statement creates; statements without a query are
        skipped."""
        target = target_of(statement)
        view = parse_view(statement) if isinstance(statement, Head) and statement.verb == CREATE_VIEW else None
        if view is not None:
            frame = self._frame(replace(call, text=view.query.in_place))
            frame = frame.toDF(*view.columns) if view.columns else frame
            self._create_view(view.head.name.parts, frame)
        elif isinstance(statement, CreateMaterializedView):
            frame = self._frame(replace(call, text=statement.query.in_place))
            names = [column.name for column in statement.columns] or frame.columns
            self._create(statement.name, frame.toDF(*names))
        elif target is not None:
            frame = self._frame(replace(call, text=target.query.in_place))
            if not target.is_insert:
                self._create(target.name, renamed(frame, target))

    def _check_other(self, call: SqlCall, statement: OtherStatement) -> None:
        """Analyse a query; carry out what a statement changes in the session, and what tables it declares or
        creates."""
        text = call.text
        if (table := declared_table(text)) is not None:
            self.declare([table])
        elif tokenize(text)[0].word in _OF_SESSION:
            self.sql(text)
        elif (new_table := _create_table(text)) is not None:
            name, query = new_table
            self._create(name, self._frame(replace(call, text=query.in_place)))
        elif statement.is_query:
            self._frame(call)

    def _frame(self, call: SqlCall) -> DataFrame:
        """The rows of a query, which are never read."""
        if is_extended(call.text):
            plan = plan_statement(call)
            return plan.queries.run(plan.text)
        frame = self.spark.sql(call.text)  # this calls the hook, because the text may read a stored view
        frame.schema  # noqa: B018  (on Connect only this analyses the text)
        return frame

    def _create(self, name: Parts, frame: DataFrame) -> None:
        """Create an empty table if the session is used only for the check, otherwise a temporary view."""
        if not self.is_scratch:
            self._create_view(name, frame)
            return
        if len(name) > 1:
            self.sql(f"CREATE SCHEMA IF NOT EXISTS {quote(name[:-1])}")
        self.sql(f"DROP TABLE IF EXISTS {quote(name)}")
        self.spark.catalog.createTable(quote(name), schema=frame.schema, source="parquet")

    def _create_view(self, name: Parts, frame: DataFrame) -> None:
        self.spark.createDataFrame([], frame.schema).createOrReplaceTempView(quote(name[-1:]))
        self.views.add(name[-1].lower())

    def _is_about_file(self, error: SqlExtError) -> bool:
        """Return True if the error is only due to the file not having been run.

        Such errors are that a view, which represents a table of the file, is not a stream, and that the tables of its
        rules do not exist.
        """
        named = error.place.written.lower() if error.place is not None else ""
        is_no_stream = error.error_class == "SQLEXT_NOT_A_STREAM"
        is_missing = error.error_class in ("SQLEXT_NO_RULES_TABLE", "SQLEXT_TABLE_OR_VIEW_NOT_FOUND")
        return (is_no_stream and any(error.message.lower().startswith(f"{name} is a temp") for name in self.views)) or (
            is_missing and named.rpartition(".")[2].strip("`") in {*self.rules, *self.not_created}
        )


def _in_text(error: PySparkException, text: str) -> BindError:
    return user_error(error, Source(text).slice(0, len(text)), text)


def _create_table(text: str) -> tuple[Parts, Fragment] | None:
    """The name in CREATE TABLE … AS query, and its query; None for all other statements.

    >>> name, query = _create_table("CREATE OR REPLACE TABLE db.t PARTITIONED BY (a) AS SELECT 1 AS a")
    >>> name, query.text
    (('db', 't'), 'SELECT 1 AS a')
    """
    cursor = Cursor(tokenize(text))
    name = take_table(cursor)
    for before, token in zip(cursor.tokens[cursor.index :], cursor.tokens[cursor.index + 1 :]):
        if name is not None and before.depth == 0 and before.word == "AS" and token.word in {*QUERY_STARTS, "("}:
            return name.parts, Fragment(text, token.start, len(text))
    return None
