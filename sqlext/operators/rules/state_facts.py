"""The state of MATCH_RULES for one key, in words. Loads Numba."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from sqlext.errors import SqlExtError
from sqlext.operators.match.state_facts import WAITS, Failed, fate, search_facts
from sqlext.operators.rules.kept_rules import KeptRule, PatternOf, kept_rules
from sqlext.operators.rules.operator import RulesOperator
from sqlext.operators.rules.plan import CompiledRules
from sqlext.operators.rules.rule_run import Compile
from sqlext.operators.rules.rule_versions import Acting
from sqlext.operators.rules.shared_rows import SharedRows
from sqlext.operators.rules.state import RULES, read_versions
from sqlext.operators.rules.step import kept_rows
from sqlext.operators.stateful.fact import MAX_ROWS, ROW, RULE, Fact, RowTexts, ShowTime, further_rows
from sqlext.operators.stateful.operator import FIRST_WATERMARK, State
from sqlext.pattern.task.event_time import NEVER

MAX_RULES = 20  # that are described


def rules_facts(
    operator: RulesOperator,
    state: State,
    pattern_of: PatternOf,
    failed_of: Callable[[str], Failed],
    texts: RowTexts,
    show: ShowTime,
) -> Iterator[Fact]:
    """The facts: the rows of the key, then for each rule its search, its partial matches, and why rows are in no match.

    `pattern_of`, `failed_of`: the pattern of a clause, and what is said of its conjuncts that do not hold.
    """
    compiled = CompiledRules(operator.plan)
    shared = kept_rows(state, operator.plan)
    rules = list(kept_rules(state, shared, compiled, pattern_of))
    begun = [rule for rule in rules if rule.search is not None]
    yield from _row_facts(shared, begun, texts, state.watermark, show)
    for rule in begun[:MAX_RULES]:
        yield _rule_fact(rule.version, show)
        assert rule.search is not None
        for fact in search_facts(rule.search, failed_of(rule.version.version.clause or ""), show):
            yield fact._replace(text=f"{_name(rule.version)}: {fact.text}")
    if len(begun) > MAX_RULES:
        yield Fact(RULE, None, f"{len(begun) - MAX_RULES:,} further rules have begun: {_names(begun[MAX_RULES:])}")
    waiting = [rule for rule in rules if rule.search is None]
    if waiting:
        yield Fact(RULE, None, f"no match can begin at a kept row: {_names(waiting)}")
    yield from _errors(state, compiled)


def _row_facts(
    shared: SharedRows, rules: Sequence[KeptRule], texts: RowTexts, watermark: int, show: ShowTime
) -> Iterator[Fact]:
    table = pa.table(dict(shared.values.columns)).slice(0, MAX_ROWS)
    for i, (time, row) in enumerate(zip(shared.time.tolist(), texts(table))):
        about = [f"{_name(rule.version)}: {text}" for rule in rules if (text := _fate(rule, i, show)) is not None]
        waits = [WAITS.rstrip(", ")] if time > watermark else []
        yield Fact(ROW, time, "; ".join([row, *waits, *(about or ["no rule maps it, if no further row comes"])]))
    yield from further_rows(len(shared.time))


def _fate(rule: KeptRule, row: int, show: ShowTime) -> str | None:
    """What a rule does with row `row` of the key; None if it maps it to no variable."""
    kept, at = rule.search, row - rule.first
    if kept is None or not 0 <= at < len(kept.later) or kept.later[at] is kept.timed_out[at] is None:
        return None
    return fate(kept, at, show).removeprefix(WAITS)


def _rule_fact(version: Acting, show: ShowTime) -> Fact:
    first = version.version.first
    since = None if first <= FIRST_WATERMARK else first
    until = "" if version.until == NEVER else f", up to {show(version.until)}"
    acts = "all rows" if since is None else f"rows after {show(since)}"
    return Fact(RULE, since, f"{_name(version)}: it acts on {acts}{until}")


def _name(version: Acting) -> str:
    return f"{version.version.name}, version {version.version.version}"


def _names(rules: Sequence[KeptRule]) -> str:
    """The names of the first ten rules, and how many others there are."""
    names = [_name(rule.version) for rule in rules]
    return "; ".join(names[:10]) + (f"; and {len(names) - 10:,} others" if len(names) > 10 else "")


def _errors(state: State, compiled: Compile) -> Iterator[Fact]:
    """The rules that do nothing, because their clauses have errors."""
    for version in read_versions(state.tables[RULES]):
        error = compiled(version.clause or "") if version.matches else None
        if isinstance(error, SqlExtError):
            yield Fact(RULE, None, f"{version.name}, version {version.version}, does nothing: {error.message}")
