"""What all parts of a clause's lowering share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlext.pattern.task import Aggregate, Navigation
from sqlext.rewriter.match.condition import TypeResolver
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match.match_plan import InputColumn
from sqlext.rewriter.match.references import Reference, Scope, unknown_column
from sqlext.rewriter.text.lexemes import lexemes
from sqlext.rewriter.text.splice import Source, Text


@dataclass(frozen=True, kw_only=True)
class InputRelation:
    """What is known of a clause's input: its columns and Spark types in order, and what only Spark knows.

    `is_static`: there is no Spark at hand to compute scalars (`sqlext_match`), only columns can be read.
    `takes_start_bounds`: may conjuncts of DEFINE become bounds? `unread`: columns, in lower case, that nothing reads of
    the clause's result. `is_streaming`: the rows never end, and Spark has no window functions over them.
    """

    columns: tuple[tuple[str, str], ...]
    resolver: TypeResolver
    is_aggregate: Callable[[str], bool]
    is_ansi: bool = True
    is_static: bool = False
    takes_start_bounds: bool = True
    is_streaming: bool = False
    unread: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)


@dataclass(kw_only=True)
class Context:
    """What the parts of a lowering share, and the columns of the input query, which they ask for.

    `label_sets`: the labels of each variable and SUBSET. `needs_times`: does the worker find out when results are
    decided? Then it sees all conditions itself.
    `needs_states`: the clause wants more than preferred matches of neighbouring rows, so it needs an Nfa.
    """

    clause: MatchClause
    source: Source
    relation: InputRelation
    label_sets: dict[str, tuple[int, ...]]
    needs_times: bool
    needs_states: bool
    columns: list[InputColumn] = field(default_factory=list)

    def slice(self, fragment) -> Text:
        return self.source.slice(fragment.start, fragment.stop)

    def scope(self, in_define: bool) -> Scope:
        return Scope(
            source=self.source,
            variables=self.label_sets,
            columns=self.relation.names,
            is_aggregate=self.relation.is_aggregate,
            in_define=in_define,
        )

    def labels(self, reference: Reference) -> tuple[int, ...] | None:
        return None if reference.variable is None else self.label_sets[reference.variable]

    def navigation(self, reference: Reference, argument: int) -> Navigation:
        return Navigation(
            argument,
            self.labels(reference),
            reference.from_first,
            reference.offset,
            reference.step,
            reference.is_final,
        )

    def aggregate(self, reference: Reference, argument: int | None) -> Aggregate:
        function = "avg" if reference.function == "mean" else reference.function
        return Aggregate(function, argument, self.labels(reference), reference.is_distinct, reference.is_final)

    def input_column(self, prefix: str, text: Text) -> str:
        """The name of a column of the input query, made if it is not there."""
        for column in self.columns:
            if str(column.text) == str(text):
                return column.name
        name = f"__{prefix}{len(self.columns)}"  # nobody's own name
        self.columns.append(InputColumn(name, text))
        return name

    def column_name(self, fragment) -> str | None:
        """The input column that an expression is, if it is nothing else."""
        parts = lexemes(fragment, self.source)
        if len(parts) not in (1, 3) or not parts[-1].is_name or (len(parts) == 3 and parts[1].raw != "."):
            return None
        scope = self.scope(False)
        if (
            len(parts) == 3
            and (column := scope.column(parts[0]))
            and dict(self.relation.columns)[column][:7] == "struct<"
        ):
            return None  # a field, not alias . column
        found = scope.column(parts[-1])
        if found is None:
            raise unknown_column(parts[-1], scope)
        return found

    def is_local(self, reference: Reference, label: int) -> bool:
        """Does the current row, which counts as mapped to the tested label, decide what the reference reads?"""
        labels = self.labels(reference)
        if self.relation.is_static and reference.step:
            return False
        is_current = not reference.from_first and reference.offset == 0 and (labels is None or label in labels)
        return is_current and (
            reference.kind == "navigation" or (reference.kind == "classifier" and reference.step == 0)
        )
