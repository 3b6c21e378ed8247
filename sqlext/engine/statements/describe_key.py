"""DESCRIBE STREAMING TABLE name FOR KEY (condition): what a stream keeps for a key, and what it waits for.

The statement that created the table is planned again, but not started. Its plan has the operators that can read the
state in the checkpoint, which stays as it is. A running query is described as of its last completed micro-batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from sqlext.engine.joins.join_sides import JoinSides
from sqlext.engine.joins.kept_interval import KeptInterval, kept_joins
from sqlext.engine.planning.answers import KeptClause
from sqlext.engine.queries.queries import Queries
from sqlext.engine.queries.spark_errors import user_error
from sqlext.engine.queries.sql_call import SqlCall
from sqlext.engine.reports.counts import count
from sqlext.engine.reports.row_json import row_texts
from sqlext.engine.statements.plan_statement import plan_statement
from sqlext.engine.statements.statement_plan import StatementPlan
from sqlext.engine.streams.late_rows import late_rows
from sqlext.engine.streams.stored_state import StoredJoin, StoredOperator, stored_joins, stored_operators
from sqlext.engine.streams.stream_commands import known_table, time_text
from sqlext.errors import BindError, Place, UnsupportedError
from sqlext.operators.stateful.fact import KEY, LATE, NOT_YET, WATERMARK, Fact, ShowTime, not_yet
from sqlext.operators.stateful.key_state import coming, distinct_keys, of_key
from sqlext.operators.stateful.operator import State
from sqlext.operators.stateful.state_log import Stored, plan_of
from sqlext.rewriter.heads.stream_heads import DescribeKey
from sqlext.rewriter.text.names import quoted
from sqlext.rewriter.text.splice import Source, Text, join
from sqlext.spark.quiet_probes import quiet_probes
from sqlext.spark.versions import spark_schema

MAX_KEYS, MAX_COMING = 20, 50  # keys that are described, and of each the result rows that come
MAX_IN_MEMORY = 100_000_000  # bytes of state; what is beyond them is read a second time for the keys that are described
_COLUMNS = "clause STRING, key STRING, fact STRING, time STRING, text STRING"
_NUMBER = "__number"


def describe_key(call: SqlCall, command: DescribeKey) -> DataFrame:
    """The facts about the keys for which the condition of the command holds, one in a row.

    Raises BindError NOT_A_STREAMING_TABLE, and for a condition that Spark refuses or cannot compute for some key;
    UnsupportedError KEY_STATE for a query whose state cannot be read.
    """
    title, table = known_table(call.spark, command)
    checkpoint, record = table.checkpoint, table.query
    if checkpoint is None or record is None or not record.statement:
        raise UnsupportedError(
            "KEY_STATE",
            f"the statement that created {title} is not recorded",
            place=command.place,
            hint="statements with parameters, and checkpoints outside of the table's folder, are not kept.",
        )
    plan = plan_statement(replace(call, text=record.statement, args=None, frames={}))
    clauses, joins = plan.kept(), list(stream_joins(plan))
    if not clauses and not joins:
        raise UnsupportedError(
            "KEY_STATE",
            f"{title} has no MATCH_RECOGNIZE, no MATCH_RULES, no EMIT and no ASOF or INTERVAL JOIN of streams",
            place=command.place,
            hint="other state is Spark's own: read it with its data source statestore.",
        )
    states = _states_of(clauses, stored_operators(call.spark, checkpoint.location))
    places = [(clause.kind, clause.clause.place) for clause in clauses]
    places += [("INTERVAL JOIN", sides.clause.keyword.place) for sides in joins]
    lines = Counter(_line(*place) for place in places)
    described = _Description(call, command, record.identifier, time_text(call.spark), lines)
    rows = [row for clause, operator in zip(clauses, states) for row in described.rows(clause, operator)]
    if joins:
        rows += described.rows_of_joins(joins, stored_joins(call.spark, checkpoint.location))
    if described.error is not None and not described.has_keys:
        raise described.error
    return call.spark.createDataFrame(rows, _COLUMNS)


def stream_joins(plan: StatementPlan) -> Iterator[JoinSides]:
    """The INTERVAL JOINs of streams in a statement, and in the stored views that it reads. Spark's own operators run
    them, so what is kept of them is known only of all joins of the statement together."""
    for view in plan.views:
        yield from stream_joins(view.statement)
    yield from (join.sides for join in plan.joins if join.is_interval_of_streams)


def _states_of(clauses: Sequence[KeptClause], operators: Sequence[StoredOperator]) -> list[StoredOperator | None]:
    """For each clause the operator of the checkpoint that runs it, found by its fingerprint; None if no micro-batch has
    been completed."""
    written = {operator: plan_of(header) for operator in operators for header in list(operator.headers.values())[:1]}
    states: list[StoredOperator | None] = []
    for clause in clauses:
        own = (clause.clause.fingerprint.digest, *clause.clause.fingerprint.former)
        state = next((operator for operator, fingerprint in written.items() if fingerprint in own), None)
        if state is not None:
            del written[state]
        states.append(state)
    return states


@dataclass
class _Description:
    """The facts of one statement. `identifier`: of the query; `lines`: how many clauses have each name; `error`: the
    error of the condition over the keys of a clause; `has_keys`: the condition can be computed from the keys of some
    clause."""

    call: SqlCall
    command: DescribeKey
    identifier: str
    show: ShowTime
    lines: Counter[str]
    error: BindError | None = None
    has_keys: bool = False

    def rows(self, clause: KeptClause, operator: StoredOperator | None) -> Iterator[tuple[str | None, ...]]:
        """The rows of the result about a clause."""
        name = self._name(clause.kind, clause.clause.place)
        if operator is None:
            yield self._row(name, None, Fact(KEY, None, "no micro-batch has been completed yet"))
            return
        buckets, in_memory, size = dict[int, pa.Table](), dict[int, State](), 0
        watermark: int | None = None
        late = 0
        for number, stored in operator.buckets():
            state = _state(clause, stored)
            buckets[number] = distinct_keys([state], list(clause.keys))
            watermark, late = stored.header.watermark, late + stored.header.late
            size += sum(table.nbytes for table in state.tables.values())
            if size <= MAX_IN_MEMORY:
                in_memory[number] = state
        try:
            wanted, is_cut = self._wanted(clause, buckets)
        except BindError as error:
            self.error = error
            return
        self.has_keys = True
        if watermark is not None:
            yield self._row(name, None, self._watermark(watermark, operator.batch))
        late_ones = late_rows(self.call, clause, self.identifier, self._condition())
        yield self._row(name, None, Fact(LATE, None, _late_text(late, is_written=late_ones is not None)))
        for late_row in late_ones or ():
            yield self._row(name, late_row.key, Fact(LATE, late_row.time, late_row.text))
        if not wanted:
            text = (
                "nothing is kept for such a key: no row has arrived that was not late, or all of its rows are decided; "
                "EXPLAIN MATCH WHY of the query without STREAM says what becomes of a row"
            )
            yield self._row(name, None, Fact(KEY, None, text))
        read_again = [number for number in wanted if number not in in_memory]
        for number, stored in operator.buckets(read_again) if read_again else ():
            in_memory[number] = _state(clause, stored)
        for number in wanted:
            keys = buckets[number].take(pa.array(wanted[number])) if clause.keys else buckets[number]
            texts = row_texts(self.call.spark, clause.keys, keys) or ["{}"]
            for i, shown in enumerate(texts):
                key = keys.slice(i, 1)
                for fact in self._facts(clause, of_key(in_memory[number], list(clause.keys), key)):
                    yield self._row(name, shown, fact)
        if is_cut:
            of_which = f"more than {MAX_KEYS} keys, of which {MAX_KEYS} are described"
            text = f"the condition holds for {of_which}: make it narrower"
            yield self._row(name, None, Fact(KEY, None, text))

    def _name(self, kind: str, place: Place) -> str:
        """The name of a clause: its kind and line, and its column if that is the name of several ones."""
        name = _line(kind, place)
        return f"{name}, column {place.column}" if self.lines[name] > 1 else name

    def _watermark(self, watermark: int, batch: int) -> Fact:
        if not watermark:  # where Spark's watermark begins
            return Fact(WATERMARK, None, f"there is none yet: no row has passed; as of micro-batch {batch}")
        return Fact(WATERMARK, watermark, f"rows up to {self.show(watermark)} have passed; as of micro-batch {batch}")

    def rows_of_joins(
        self, joins: Sequence[JoinSides], stored: Sequence[StoredJoin]
    ) -> Iterator[tuple[str | None, ...]]:
        """The rows of the result about INTERVAL JOINs, which Spark's own joins of streams run."""
        kept = kept_joins(joins, stored) if stored else None
        for i, sides in enumerate(joins):
            name = self._name("INTERVAL JOIN", sides.clause.keyword.place)
            if not stored:
                yield self._row(name, None, Fact(KEY, None, "no micro-batch has been completed yet"))
            elif kept is None:
                text = (
                    "its rows are not shown: the query has several joins of streams, and which state is that of this "
                    "one is not known through views, CTEs and joins without INTERVAL"
                )
                yield self._row(name, None, Fact(KEY, None, text))
            else:
                yield from self._rows_of_join(name, kept[i])

    def _rows_of_join(self, name: str, kept: KeptInterval) -> Iterator[tuple[str | None, ...]]:
        watermark = kept.stored.watermark_us
        try:
            with quiet_probes():
                rows = list(kept.rows(self._condition(), self._queries))
        except BindError as error:
            self.error = self._about_key(error, kept.keys)
            return
        except PySparkException as error:
            raise self._failed(error, kept.keys) from None
        self.has_keys = True
        if watermark is not None:
            yield self._row(name, None, self._watermark(watermark, kept.stored.batch))
        yield self._row(name, None, kept.range)
        for key, fact in rows:
            yield self._row(name, key, fact)
        if not rows:
            text = "nothing is kept for such a key: no row has arrived that was not late, or no partner may still come"
            yield self._row(name, None, Fact(KEY, None, text))

    def _queries(self) -> Queries:
        return Queries(self.call.sql, {}, self.call.text)

    def _about_key(self, error: BindError, keys: Iterable[str]) -> BindError:
        """An error of the condition, with the names that it may use."""
        assert self.command.key is not None
        names = ", ".join(keys) or "there is none, so write FOR KEY (true)"
        hint = error.hint or f"the condition is about the key: {names}."
        return error.placed(self.command.key.place).with_(hint=hint)

    def _failed(self, error: PySparkException, keys: Iterable[str]) -> BindError:
        """The error of a condition that cannot be computed for some key, such as `card = 5` where cards are texts."""
        return self._about_key(user_error(error, self._condition(), self.call.text), keys)

    def _condition(self) -> Text:
        assert self.command.key is not None
        return Source(self.call.text).of(self.command.key)

    def _facts(self, clause: KeptClause, state: State) -> Iterator[Fact]:
        yield from clause.facts(state, self.show)
        expected = coming(clause.operator, state)
        results = clause.results(expected[:MAX_COMING]) if expected else []
        for row, text in zip(expected, results):
            if text is not None:
                yield not_yet(row.time, state.watermark, text, self.show)
            else:
                at = f"when the watermark reaches {self.show(row.time)}"
                lost = f"the firing {at} is not in the result: HAVING does not hold on it"
                yield Fact(NOT_YET, row.time, f"if no further row of the key comes, {lost}")
        if len(expected) > MAX_COMING:
            yield Fact(NOT_YET, None, f"{len(expected) - MAX_COMING:,} further rows come later")

    def _wanted(self, clause: KeptClause, buckets: dict[int, pa.Table]) -> tuple[dict[int, list[int]], bool]:
        """The positions of the chosen keys in the keys of each bucket, and whether there are more than MAX_KEYS. Raises
        BindError if the condition cannot be computed from the keys."""
        places = [(number, i) for number, keys in buckets.items() for i in range(max(keys.num_rows, not clause.keys))]
        numbers = pa.table({_NUMBER: pa.array(range(len(places)), pa.int64())})
        for column, name in clause.keys.items():
            values = pa.concat_tables([keys.select([column]) for keys in buckets.values()]).column(column)
            numbers = numbers.append_column(name, values)
        queries = self._queries()
        keys = queries.name(self.call.spark.createDataFrame(numbers, spark_schema(numbers.schema)))
        query = join(  # without an alias Spark reads `FROM keys WHERE (card)` as keys AS `where` (card)
            f"SELECT {quoted(_NUMBER)} FROM {keys} AS __keys WHERE (",
            self._condition(),
            f") ORDER BY 1 LIMIT {MAX_KEYS + 1}",
        )
        wanted: dict[int, list[int]] = {}
        try:
            with quiet_probes():
                chosen = queries.run(query).collect()
        except BindError as error:
            raise self._about_key(error, clause.keys.values()) from None
        except PySparkException as error:
            raise self._failed(error, clause.keys.values()) from None
        for (at,) in chosen[:MAX_KEYS]:
            number, i = places[at]
            wanted.setdefault(number, []).append(i)
        return wanted, len(chosen) > MAX_KEYS

    def _row(self, clause: str, key: str | None, fact: Fact) -> tuple[str | None, ...]:
        return clause, key, fact.kind, None if fact.time is None else self.show(fact.time), fact.text


def _line(kind: str, place: Place) -> str:
    """The kind of a clause, and its line in the statement of the table or of a view."""
    return f"{kind} in line {place.line}"


def _state(clause: KeptClause, stored: Stored) -> State:
    tables = clause.operator.tables
    return stored.fitted(tables).state(tables)


def _late_text(late: int, *, is_written: bool) -> str:
    """How many rows of all keys came too late; `is_written`: the late rows of the requested keys follow.

    >>> _late_text(0, is_written=False), _late_text(1, is_written=True)
    ('no row of any key has come too late', '1 row of all keys came too late, or has no time, and was dropped')
    """
    if not late:
        return "no row of any key has come too late"
    ends = ("has no time, and was", "have no time, and were")[late > 1]
    dropped = f"{count(late, 'row')} of all keys came too late, or {ends} dropped"
    if is_written:
        return dropped
    return f"{dropped}: to see which, SET sqlext.late_rows = a table and start the stream again"
