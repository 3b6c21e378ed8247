"""Runs an extended statement: finds its clauses, runs each, innermost first, and gives the rest to Spark as written."""

from __future__ import annotations

import re
import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from sqlext.catalog import views
from sqlext.engine import physical
from sqlext.engine.functions import is_aggregate
from sqlext.engine.joins import bind_asof, bind_interval
from sqlext.engine.own_sql import unhooked
from sqlext.engine.physical import Physical, PlannedClause, Settings
from sqlext.engine.portable import portable_sql, table_function
from sqlext.engine.queries import Queries, SparkTypeResolver
from sqlext.engine.stream import stream_checks, streaming_tables
from sqlext.engine.stream.processing_time import NOW, is_processing_time
from sqlext.errors import BindError, SqlExtError, SqlExtErrors, UnsupportedError, raise_all
from sqlext.quiet import quiet_probes
from sqlext.rewriter import parameters
from sqlext.rewriter.heads import CREATE_VIEW, Head, parse_create_view, parse_head, parse_target
from sqlext.rewriter.joins.asof_sql import AsofJoin, asof_sql, hidden_columns
from sqlext.rewriter.joins.interval_sql import RewrittenJoin
from sqlext.rewriter.joins.join_clause import JoinClause, parse_joins
from sqlext.rewriter.joins.stars import check_no_column_names, hide, names_around
from sqlext.rewriter.match import check
from sqlext.rewriter.match.lower.context import InputRelation
from sqlext.rewriter.match.lower.lower_clause import lower
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match.parse_match import parse_match
from sqlext.rewriter.match.pushdown import pushed_down
from sqlext.rewriter.match.unread import unread
from sqlext.rewriter.scan import scan, unbuilt
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import Edit, Source, Text, join, sub
from sqlext.rewriter.text.tokens import Tokens
from sqlext.rewriter.tree.read_tree import read_tree
from sqlext.rewriter.tree.sources import check_repeatable, visible_ctes
from sqlext.rewriter.tree.statement_tree import Cte, Query, Site

Sql = Callable[..., DataFrame]
_CHAR = "__CHAR_VARCHAR_TYPE_STRING"  # in a column's metadata: Spark pads what it is compared with, but not the result


def run(spark: SparkSession, text: str, args: Any, frames: Mapping[str, Any], sql: Sql) -> DataFrame:
    """What `spark.sql(text, args, **frames)` gives for a text with clauses of ours or names of stored views."""
    head = parse_head(text)
    if head is not None and head.verb == CREATE_VIEW:
        return _create_view(spark, text, args, frames, sql, head)
    return Statement(spark, text, args, frames, sql).run()


def compile_statement(spark: SparkSession, text: str, args: Any = None) -> str:
    """The statement in plain Spark SQL, with calls of `sqlext_match` (see engine.table_function) for its clauses.

    Raises SqlExtError as running it would.
    """
    statement = Statement(spark, text, args, {}, unhooked(spark))
    table_function.register(spark)
    for part in statement.parts():
        if isinstance(part, JoinClause):
            statement.put_join(part)
            continue
        site, clause = part
        planned = statement.plan(site, clause, is_portable=True)
        query = portable_sql.portable_query(planned.plan, planned.prefix, planned.is_ansi)
        statement.put(clause.whole, f"({query})")
    return str(statement.text())


class Statement:
    """One statement on its way from text to DataFrame."""

    def __init__(self, spark: SparkSession, text: str, args: Any, frames: Mapping[str, Any], sql: Sql):
        self.spark, self.sql, self.frames, self.user_text = spark, sql, frames, text
        self.settings = Settings.of(spark)
        self.tree = read_tree(text)
        raise_all(list(unbuilt(text, self.tree.tokens)))
        self.sites = scan(text)
        self.clauses = parse_clauses(text, self.tree.tokens, self.sites)
        self.joins = parse_joins(self.tree)
        self.hidden: dict[Query, dict[str, list[str]]] = {}
        patterns = [(c.pattern_text.start, c.pattern_text.stop) for c in self.clauses]
        self.source = Source(text, tuple(parameters.bind(text, args, patterns)))
        self.queries = Queries(sql, frames, self.source)
        self.has_asof = cache(lambda: bind_asof.is_native(self.queries))
        self._put_views()

    def run(self) -> DataFrame:
        """The statement by Spark, a DataFrame in the place of every clause."""
        target = parse_target(self.user_text)
        if target is None:
            self.run_clauses()
        elif (started := streaming_tables.run(self, target)) is not None:
            return started
        text = self.text()
        try:
            with quiet_probes() as held:
                return self.queries.execute(text)
        except (AnalysisException, ParseException) as e:
            error = self.queries.error(e, text)
            if error.place is None:
                held.release()
                raise
            raise error from None

    def parts(self) -> list[tuple[Site, MatchClause] | JoinClause]:
        """The clauses and the joins; what stands in the input or an operand of another comes before it."""
        parts: list[tuple[Site, MatchClause] | JoinClause] = [*zip(self.sites, self.clauses), *self.joins]
        return sorted(parts, key=lambda part: (part if isinstance(part, JoinClause) else part[1]).whole.stop)

    def run_clauses(self) -> list[Physical | AsofJoin | RewrittenJoin | None]:
        """Each clause becomes a DataFrame, each join another text, innermost first; what became of them. None: a join
        that Spark has itself."""
        done: list[Physical | AsofJoin | RewrittenJoin | None] = []
        for part in self.parts():
            if isinstance(part, JoinClause):
                done.append(self.put_join(part))
                continue
            site, clause = part
            way = physical.choose(self.plan(site, clause), self.settings, self.queries)
            self.put(clause.whole, self.queries.name(physical.run(way, self.queries, self.spark)))
            done.append(way)
        return done

    def text(self) -> Text:
        """The statement as Spark gets it, with the edits made so far."""
        return self.source.slice(0, len(self.user_text))

    def put(self, fragment: Fragment, replacement: str) -> None:
        """Let `replacement` stand for what the user wrote there."""
        self._edit([Edit(fragment.start, fragment.stop, replacement)])

    def put_join(self, clause: JoinClause) -> AsofJoin | RewrittenJoin | None:
        """Let Spark's own SQL stand for a join, whose hidden columns no star shows. None: Spark has it itself."""
        if clause.kind == "ASOF" and self.has_asof():
            return None
        done = self._asof_join(clause) if clause.kind == "ASOF" else self._interval_join(clause)
        if clause == [join for join in self.joins if join.query == clause.query][-1]:
            hidden = self.hidden.get(clause.query, {})
            self._edit(hide(self.tree, clause.query, hidden))
        return done

    def _asof_join(self, clause: JoinClause) -> AsofJoin:
        number, prefix = self.joins.index(clause), self._prefix(clause)
        bound = bind_asof.bind(clause, number, self.tree, self.source, prefix, self.queries)
        self._hide(clause, hidden_columns(bound))
        self._edit([Edit(clause.whole.start, clause.whole.stop, asof_sql(bound))])
        return bound

    def _interval_join(self, clause: JoinClause) -> RewrittenJoin:
        number, prefix = self.joins.index(clause), self._prefix(clause)
        zone = self.spark.conf.get("spark.sql.session.timeZone") or ""  # a default would be checked as a zone
        rewritten = bind_interval.rewrite(clause, number, self.tree, self.source, prefix, self.queries, zone)
        self._hide(clause, {"": rewritten.hidden} if rewritten.hidden else {})
        self._edit(rewritten.edits)
        return rewritten

    def _prefix(self, clause: JoinClause) -> Text:
        """The CTEs that the relations of a join can see."""
        return self._with(visible_ctes(self.tree, clause.whole))

    def _edit(self, edits: Iterable[Edit]) -> None:
        self.source = self.source.edited(edits)
        self.queries.source = self.source

    def _hide(self, clause: JoinClause, columns: Mapping[str, Sequence[str]]) -> None:
        """These columns, which the relations of the names have, are to be hidden in the query around the join."""
        if not columns:
            return
        self._check_not_input(clause)
        check_no_column_names(self.tree, clause)
        hidden = self.hidden.setdefault(clause.query, {})
        around = names_around(self.tree, clause)
        for name, found in columns.items():
            for key in {unquoted(name).lower(), *around}:
                hidden.setdefault(key, []).extend(found)

    def _check_not_input(self, clause: JoinClause) -> None:
        """A join as the whole input of MATCH_RECOGNIZE has no SELECT whose star could hide its columns."""
        start = self.tree.tokens[clause.query.from_].start
        for site in self.sites:
            if start < site.relation.start <= clause.whole.start and clause.whole.stop <= site.relation.stop:
                raise UnsupportedError(
                    "JOIN_INPUT", f"{clause.kind} JOIN cannot be the input of MATCH_RECOGNIZE by itself",
                    place=clause.keyword.place, hint="write FROM (SELECT … FROM … JOIN …) MATCH_RECOGNIZE (…).",
                )  # fmt: skip

    def plan(self, site: Site, clause: MatchClause, is_portable: bool = False) -> PlannedClause:
        """The plan of a clause whose inner clauses are done; `is_portable`: one that can be said in plain SQL.

        Raises BindError and UnsupportedError.
        """
        prefix = self._with_clause(site)
        relation = self.source.slice(clause.relation.start, clause.relation.stop)
        frame = self._input(join(prefix, "SELECT * FROM ", relation), site)
        if frame.isStreaming:
            if is_portable:
                raise UnsupportedError(
                    "STREAM",
                    "sqlext_match matches the rows that are there now, not a stream",
                    place=clause.relation.place,
                    hint="run the statement with spark.sql in an extended session.",
                )
            if is_processing_time(clause):
                self.put(clause.order_by[0].expression, NOW)
            else:
                stream_checks.check_order(clause, frame.schema)
        is_ansi = self.spark.conf.get("spark.sql.ansi.enabled", "true") == "true"
        inputs = InputRelation(
            columns=tuple((f.name, f.dataType.simpleString()) for f in frame.schema.fields),
            resolver=SparkTypeResolver(self.queries, prefix, relation),
            is_aggregate=cache(
                lambda name: is_aggregate(self.spark, self.sql, name)
            ),  # asks Spark, for every call in the clause
            is_ansi=is_ansi,
            takes_start_bounds=not is_portable,
            is_streaming=frame.isStreaming,
            unread=frozenset() if self.frames else unread(self.tree, clause.keyword, frame.schema.names),
        )
        plan = lower(clause, self.source, inputs, self.settings.strategy)
        stream_checks.check_row_times(plan)
        if not any(_CHAR in f.metadata for f in frame.schema.fields):
            plan = pushed_down(plan, self.tree, self.source, inputs.resolver)
        return PlannedClause(plan, prefix, is_ansi, frame.isStreaming)

    def _input(self, query: Text, site: Site) -> DataFrame:
        """The rows of a clause's input; in a subquery, an unknown name may have been meant for the outer query's."""
        try:
            return self.queries.run(query)
        except BindError as e:
            if not site.depth or not e.error_class.startswith("SQLEXT_UNRESOLVED_COLUMN"):
                raise
            hint = "a column of an outer query? The input cannot read it: join with the clause's result instead."
            raise e.with_(hint=hint) from None

    def _with_clause(self, site: Site) -> Text:
        """The CTEs that the clause's input can see, with what has been put into them."""
        ctes = visible_ctes(self.tree, site.whole)
        if not ctes:
            return Text()
        check_repeatable(self.tree, ctes, site.relation)
        return self._with(ctes)

    def _with(self, ctes: Sequence[Cte]) -> Text:
        if not ctes:
            return Text()
        word = "WITH RECURSIVE " if any(c.is_recursive for c in ctes) else "WITH "
        texts = (self.source.slice(c.definition.start, c.definition.stop) for c in ctes)
        return join(word, join(*texts, separator=", "), " ")

    def _put_views(self) -> None:
        """Stored views that the statement reads become DataFrames."""
        for mention in views.mentioned(self.spark, self.sql, self.user_text):
            frame = Statement(self.spark, mention.view.qualified_text, None, {}, self.sql).run()
            if mention.view.columns:
                frame = frame.toDF(*mention.view.columns)
            fragment = Fragment(self.user_text, mention.name.start, mention.name.stop)
            alias = f" AS `{mention.view.name}`" if self.tree.is_bare(mention.name) else ""
            self.put(fragment, self.queries.name(frame) + alias)

    def rename(self, helper: str, view: str) -> None:
        """Let a view stand where a helper stood."""
        word = re.compile(rf"\b{helper}\b")
        edits = (Edit(e.start, e.stop, sub(word, view, e.replacement)) for e in self.source.edits)
        self.source = Source(self.user_text, tuple(edits))


def _create_view(spark: SparkSession, text: str, args: Any, frames: Any, sql: Sql, head: Head) -> DataFrame:
    """CREATE VIEW over extended text: a temporary view reads DataFrames of this session, others are stored as text."""
    if head.is_temporary:
        return _create_temporary_view(Statement(spark, text, args, frames, sql))
    view = parse_create_view(text)
    if view is None:
        return sql(text, args, **frames)
    if args or frames:
        raise UnsupportedError("VIEW_PARAMETERS", "a stored view cannot hold parameters", place=head.place)
    Statement(spark, view.query, None, {}, sql).run()  # whether it is right
    return views.create(spark, sql, view)


def _create_temporary_view(statement: Statement) -> DataFrame:
    """The view outlives the statement, so its helpers become views of their own, under names that nobody has."""
    statement.run_clauses()
    for name, frame in statement.queries.helpers.items():
        view = f"__sqlext_{uuid.uuid4().hex}"
        frame.createOrReplaceTempView(view)
        statement.rename(name, view)
    return statement.sql(str(statement.text()), **statement.frames)


def parse_clauses(text: str, tokens: Tokens, sites: Sequence[Site]) -> list[MatchClause]:
    """The clauses of all sites, checked. Raises the syntax errors of all of them together, then those of the checks."""
    clauses = _collect(sites, lambda site: parse_match(text, tokens, site))
    _collect(clauses, check.check)
    for clause in clauses:
        for warning in check.warnings(clause):
            warnings.warn(warning, stacklevel=6)
    return clauses


def _collect(items: Sequence[Any], step: Callable[[Any], Any]) -> list[Any]:
    """`step` of all items, or all their errors at once."""
    errors: list[SqlExtError] = []
    results = []
    for item in items:
        try:
            results.append(step(item))
        except SqlExtErrors as e:
            errors += e.errors
        except SqlExtError as e:
            errors.append(e)
    raise_all(errors)
    return results
