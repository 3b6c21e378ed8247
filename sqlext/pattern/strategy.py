"""Choose the matcher that runs a task, and give the reason: the only module that chooses, in batch and on streams.

A table lists its matchers in the order of preference, with the reason why one refuses a task. The first matcher that
accepts the task runs it. A choice depends on the task alone, and on streams also on `StreamFacts`, but never on rows.
Therefore EXPLAIN MATCH names the matcher that runs.

| strategy | accepts | time |
|---|---|---|
| two_pass | row-local DEFINE, no WITHIN, up to 64 positions | linear, a few ns a row |
| lazy_dfa | row-local DEFINE, no WITHIN | linear |
| bounded | row-local DEFINE, with or without WITHIN | linear |
| threads | every contiguous pattern, for run-dependent DEFINE | see there |
| interpreted | as threads, where DEFINE calls functions of Spark over several rows | as threads, in Python |
| cep | CEP tasks: skipped rows, absences, NO SKIP | that of the matcher in CEP_MATCHERS |
| reference | everything | exponential, with a budget of steps |

The matchers of streams stop at the first start row whose outcome depends on later rows (`event_time`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple

from sqlext.errors import UnsupportedError
from sqlext.pattern.batch import reference
from sqlext.pattern.cep.cep_task import CepTask
from sqlext.pattern.cep.desugared_task import inner_facts, inner_task, undecidable
from sqlext.pattern.conditions.condition_reads import is_interpreted, reads_number
from sqlext.pattern.program.position_automaton import MAX_SET_POSITIONS, count_positions, listed_targets
from sqlext.pattern.program.program import MatchEnd, MatchStart
from sqlext.pattern.task.event_time import Decisions, EventTimes, SearchPosition, StreamFacts
from sqlext.pattern.task.task import Rows, Spans, Task


class Matcher(NamedTuple):
    """`refusal(task)`: the reason why the matcher cannot run a task, as a sentence, or None if it can; `reason(task)`:
    the reason why it runs a task that the matchers before it refused. On streams both also take StreamFacts."""

    name: str
    refusal: Callable[..., str | None]
    reason: Callable[..., str]
    run: Callable[..., Any]


def choose(task: Task) -> tuple[str, str]:
    """The name of the strategy that runs a task in batch, and the reason as a sentence.

    If the task names a strategy other than "auto", that strategy is chosen.

    Raises UnsupportedError: STRATEGY_NOT_APPLICABLE, if the named strategy does not exist or refuses the task.

    >>> from sqlext.pattern.program.program import Done, MatchLabel, Program
    >>> from sqlext.pattern.task.task import MatchTask
    >>> choose(MatchTask(program=Program((MatchLabel(0), Done()), ("A",)), bits=(0,), conditions=(None,)))
    ('two_pass', 'DEFINE is row-local and PATTERN has 1 position, at most 64.')
    """
    if task.strategy == "auto":
        matcher = _first(BATCH_MATCHERS, task)
        return matcher.name, matcher.reason(task)
    refusal = _strategy_refusal(task)
    if refusal:
        raise not_applicable(task, task.strategy, refusal)
    return task.strategy, f'strategy "{task.strategy}" was asked for.'


def not_applicable(task: Task, strategy: str, refusal: str) -> UnsupportedError:
    """The error for a strategy that refuses the task."""
    return UnsupportedError(
        "STRATEGY_NOT_APPLICABLE",
        f'strategy "{strategy}" cannot run this clause: {refusal}',
        hint=f'leave the strategy at "auto", which takes {_first(BATCH_MATCHERS, task).name}.',
    )


def accepts(task: Task) -> bool:
    """True if the strategy that the task names can run it."""
    return _strategy_refusal(task) is None


def match(task: Task, rows: Rows) -> Iterator[Spans]:
    """All matches in batch, in blocks of bounded size, from the strategy that `choose` names.

    Raises UnsupportedError: STRATEGY_NOT_APPLICABLE, and what the strategy raises.

    >>> import numpy as np
    >>> from sqlext.pattern.program.program import Done, MatchLabel, Program
    >>> from sqlext.pattern.task.task import MatchTask
    >>> a = Program((MatchLabel(0), Done()), ("A",))
    >>> task = MatchTask(program=a, bits=(0,), conditions=(None,), strategy="reference")
    >>> rows = Rows(bounds=np.array([0, 3]), mask=np.array([[1], [0], [1]], np.uint8))
    >>> [spans.start.tolist() for spans in match(task, rows)]
    [[0, 2]]
    """
    return _named(BATCH_MATCHERS, choose(task)[0]).run(task, rows)


def choose_on_stream(task: Task, facts: StreamFacts) -> tuple[str, str]:
    """The name of the matcher that decides a task's matches on streams, and the reason as a sentence.

    `stream_refusal` must have no reason against the task.
    """
    matcher = _first(_stream_matchers(task), task, facts)
    return matcher.name, matcher.reason(task, facts)


def decide(
    task: Task,
    rows: Rows,
    event_times: EventTimes,
    position: SearchPosition,
    facts: StreamFacts,
    matcher: str | None = None,
) -> Decisions:
    """Continue the search from a position as far as the rows decide, with a matcher (None: the one that is chosen).

    `rows.limit` is as in batch, but only known where `event_times.end` has passed. Raises DataError as conditions do
    (STEP_BUDGET, ARITHMETIC_OVERFLOW, DIVIDE_BY_ZERO), and MATCH_BUDGET.

    >>> import numpy as np
    >>> from sqlext.pattern.task.event_time import first_position
    >>> from sqlext.pattern.program.program import Done, MatchLabel, Program
    >>> from sqlext.pattern.task.task import MatchTask
    >>> a_b = Program((MatchLabel(0), MatchLabel(1), Done()), ("A", "B"))
    >>> task = MatchTask(program=a_b, bits=(0, 1), conditions=(None, None))
    >>> rows = Rows(bounds=np.array([0, 4]), mask=np.array([[1], [2], [1], [1]], np.uint8))
    >>> times = EventTimes(key=np.array([5, 6, 7, 8]), watermark=8)
    >>> decisions = decide(task, rows, times, first_position(rows), StreamFacts())
    >>> decisions.spans.start, decisions.time, decisions.position.row
    (array([0]), array([6]), array([3]))
    """
    name = matcher or choose_on_stream(task, facts)[0]
    return _named(_stream_matchers(task), name).run(task, rows, event_times, position, facts)


def stream_refusal(task: Task, *, reads_ahead: bool) -> str | None:
    """The part of a task that no matcher of streams can decide, None if one can. `reads_ahead`: as in StreamFacts.

    >>> from sqlext.pattern.program.ast import Variable
    >>> from sqlext.pattern.cep.nfa_compile import compile_nfa
    >>> from sqlext.pattern.program.program import Done, MatchLabel, Program
    >>> from sqlext.pattern.task.skip_mode import NO_SKIP
    >>> from sqlext.pattern.task.task import Output, Skip
    >>> program, nfa = Program((MatchLabel(0), Done()), ("A",)), compile_nfa(Variable("A"), ("A",))
    >>> task = dict(program=program, bits=(0,), conditions=(None,), skip=Skip(NO_SKIP), nfa=nfa)
    >>> stream_refusal(CepTask(**task), reads_ahead=False)
    >>> stream_refusal(CepTask(**task, output=Output(is_all_rows=True, shows_unmatched=True)), reads_ahead=False)
    'WITH UNMATCHED ROWS together with AFTER MATCH NO SKIP'
    """
    if not isinstance(task, CepTask) or not task.skip.mode.lists_all:
        return None
    if task.output.shows_unmatched:
        return "WITH UNMATCHED ROWS together with AFTER MATCH NO SKIP"
    if any(end.at_end for end in task.nfa.ends):
        return "$ together with AFTER MATCH NO SKIP"
    return "NEXT in DEFINE together with AFTER MATCH NO SKIP" if reads_ahead else None


def _first(matchers: Sequence[Matcher], *task: Any) -> Matcher:
    return next(matcher for matcher in matchers if matcher.refusal(*task) is None)


def _named(matchers: Sequence[Matcher], name: str) -> Matcher:
    return next(matcher for matcher in matchers if matcher.name == name)


def _stream_matchers(task: Task) -> Sequence[Matcher]:
    return CEP_STREAM_MATCHERS if isinstance(task, CepTask) else STREAM_MATCHERS


def _strategy_refusal(task: Task) -> str | None:
    """The reason why the strategy that the task names cannot run it, or None."""
    if task.strategy not in STRATEGIES:
        return f"there are only {', '.join(STRATEGIES)}."
    return _named(BATCH_MATCHERS, task.strategy).refusal(task)


# batch: refusals and reasons


def _run_dependent(task: Task, *_: Any) -> str | None:
    names = [name for name, condition in zip(task.program.labels, task.conditions) if condition is not None]
    return f"the condition of {', '.join(names)} depends on the rows matched so far." if names else None


def _interpreted(task: Task) -> str | None:
    names = [name for name, condition in zip(task.program.labels, task.conditions) if is_interpreted(condition)]
    return f"the condition of {', '.join(names)} calls functions of Spark over several rows." if names else None


def _refused_by_interpreted(task: Task) -> str | None:
    return "it knows only matches whose rows are neighbours." if isinstance(task, CepTask) else None


def _refused_by_threads(task: Task) -> str | None:
    return _refused_by_interpreted(task) or _interpreted(task)


def _refused_by_bounded(task: Task) -> str | None:
    return _refused_by_interpreted(task) or _run_dependent(task)


def _refused_by_lazy_dfa(task: Task) -> str | None:
    return _refused_by_bounded(task) or ("it does not know WITHIN and frames." if task.is_within else None)


def _refused_by_two_pass(task: Task) -> str | None:
    large = f"PATTERN has {_positions(task)}, over {MAX_SET_POSITIONS}."
    return _refused_by_lazy_dfa(task) or (large if count_positions(task.program) > MAX_SET_POSITIONS else None)


def _positions(task: Task) -> str:
    count = count_positions(task.program)
    return f"{count:,} position{'s' * (count != 1)}"


def _why_two_pass(task: Task) -> str:
    return f"DEFINE is row-local and PATTERN has {_positions(task)}, at most {MAX_SET_POSITIONS}."


def _why_lazy_dfa(task: Task) -> str:
    return f"DEFINE is row-local and PATTERN has {_positions(task)}, over {MAX_SET_POSITIONS}."


def _why_bounded(task: Task) -> str:
    return f"DEFINE is row-local and {'WITHIN' if task.frame is None else 'a frame'} bounds the matches."


def _why_threads(task: Task) -> str:
    return str(_run_dependent(task))


def _why_interpreted(task: Task) -> str:
    return str(_interpreted(task) or _run_dependent(task))


def _refused_by_cep(task: Task) -> str | None:
    return None if isinstance(task, CepTask) else "the rows of each match are neighbours."


# CEP tasks: refusals and reasons


def _why_cep(task: CepTask) -> str:
    return _first(CEP_MATCHERS, task).reason(task)


def _wants_preferred(task: CepTask, *_: Any) -> str | None:
    return None if task.skip.mode.lists_all else "only the preferred match from each row is listed."


def _wants_every_match(task: CepTask, *_: Any) -> str | None:
    return "every match is listed." if task.skip.mode.lists_all else None


def _refused_by_shared_buffer(task: CepTask, *_: Any) -> str | None:
    return _wants_preferred(task) or _run_dependent(task)


def _why_shared_buffer(*_: Any) -> str:
    return "every match is listed; partial matches in the same state are one in the shared buffer."


def _why_path_search(task: CepTask, *_: Any) -> str:
    return f"every match is listed, path by path: {_run_dependent(task) or _REFERENCE}"


def _why_desugared(task: CepTask) -> str:
    return f"rows in between may be skipped; the desugared program is run by {choose(inner_task(task))[0]}."


# streams: refusals and reasons; task.strategy is "reference" or has no effect

_REFERENCE = 'strategy "reference" was asked for.'


def _is_reference(task: Task) -> str | None:
    return _REFERENCE if task.strategy == "reference" else None


def _refused_by_walk(task: Task, facts: StreamFacts) -> str | None:
    if task.strategy == "reference":
        return _REFERENCE
    if any(condition is not None for condition in task.conditions):
        return "a condition depends on the rows matched so far."
    if any(isinstance(x, MatchEnd) for x in task.program.instructions):
        return "PATTERN tests for the last row of the partition."
    if facts.reads_ahead and task.is_within:
        return "DEFINE reads NEXT within WITHIN."
    is_listed = listed_targets(task.program, task.bits) is not None
    return None if is_listed else "PATTERN has too many ways from one row to the next."


def _refused_by_unknown_rows(task: Task, facts: StreamFacts) -> str | None:
    if task.strategy == "reference":
        return _REFERENCE
    if facts.needs_times or facts.needs_failed:
        return "the times of the decisions are read."
    if any(isinstance(x, (MatchStart, MatchEnd)) for x in task.program.instructions):
        return "PATTERN tests for the first or the last row of the partition."
    return "a condition reads MATCH_NUMBER()." if any(map(reads_number, task.conditions)) else None


def _why_walk(*_: Any) -> str:
    return "DEFINE is row-local."


def _why_unknown_rows(task: Task, facts: StreamFacts) -> str:
    return str(_refused_by_walk(task, facts))


def _why_reference(task: Task, facts: StreamFacts) -> str:
    refusals = dict.fromkeys([_refused_by_walk(task, facts), _refused_by_unknown_rows(task, facts)])
    return " And ".join(map(str, refusals))


def _refused_by_shared_buffer_on_stream(task: CepTask, facts: StreamFacts) -> str | None:
    return _refused_by_shared_buffer(task) or _is_reference(task)


def _refused_by_desugared_on_stream(task: CepTask, facts: StreamFacts) -> str | None:
    return _wants_every_match(task) or undecidable(task)


def _refused_by_end_search(task: CepTask, facts: StreamFacts) -> str | None:
    reads_ahead = "DEFINE reads NEXT." if facts.reads_ahead else None
    return _wants_every_match(task) or _run_dependent(task) or reads_ahead or _is_reference(task)


def _why_desugared_on_stream(task: CepTask, facts: StreamFacts) -> str:
    inner = replace(inner_task(task), strategy=task.strategy)
    name, why = choose_on_stream(inner, inner_facts(task, facts))
    return f"rows in between may be skipped; the desugared program is decided by {name}: {why}"


def _why_searched(task: CepTask, facts: StreamFacts) -> str:
    return str(undecidable(task))


# the matchers


def _lazily(module: str, function: str = "find", **more: Callable) -> Callable[..., Any]:
    """A function of a module of this package, which is imported when the function runs: Numba takes half a second to
    load, which Spark's driver does not need, and a worker loads the matcher that runs alone."""

    def run(*inputs: Any) -> Any:
        return getattr(import_module(f"sqlext.pattern.{module}"), function)(*inputs, **more)

    return run


def _cep(task: CepTask, rows: Rows) -> Iterator[Spans]:
    from sqlext.pattern.cep import timeouts

    return timeouts.completed(_first(CEP_MATCHERS, task).run(task, rows), task, rows)


def _reference(task: Any, rows: Rows) -> Iterator[Spans]:
    return _lazily("cep.path_search")(task, rows) if isinstance(task, CepTask) else reference.find(task, rows)


BATCH_MATCHERS = (
    Matcher("two_pass", _refused_by_two_pass, _why_two_pass, _lazily("batch.two_pass")),
    Matcher("lazy_dfa", _refused_by_lazy_dfa, _why_lazy_dfa, _lazily("batch.lazy_dfa")),
    Matcher("bounded", _refused_by_bounded, _why_bounded, _lazily("batch.bounded")),
    Matcher("threads", _refused_by_threads, _why_threads, _lazily("threads.thread_search")),
    Matcher("interpreted", _refused_by_interpreted, _why_interpreted, _lazily("threads.interpreted_search")),
    Matcher("cep", _refused_by_cep, _why_cep, _cep),
    Matcher("reference", lambda *_: None, lambda task: _REFERENCE, _reference),
)
CEP_MATCHERS = (  # the matchers of strategy cep
    Matcher("shared_buffer", _refused_by_shared_buffer, _why_shared_buffer, _lazily("cep.every_match")),
    Matcher("path_search", _wants_preferred, _why_path_search, _lazily("cep.path_search", "find_matches")),
    Matcher("desugared", _wants_every_match, _why_desugared, _lazily("cep.preferred_match", match=match)),
)
STREAM_MATCHERS = (  # the matchers of contiguous tasks
    Matcher("walk", _refused_by_walk, _why_walk, _lazily("stream.walk", "decide")),
    Matcher("unknown_rows", _refused_by_unknown_rows, _why_unknown_rows,
            _lazily("stream.unknown_rows", "decide", match=match)),
    Matcher("reference", lambda *_: None, _why_reference, _lazily("stream.stream_reference", "decide")),
)  # fmt: skip
CEP_STREAM_MATCHERS = (
    Matcher("shared_buffer", _refused_by_shared_buffer_on_stream, _why_shared_buffer,
            _lazily("stream.every_match_decisions", "by_shared_buffer")),
    Matcher("path_search", _wants_preferred, _why_path_search,
            _lazily("stream.every_match_decisions", "by_path_search")),
    Matcher("desugared", _refused_by_desugared_on_stream, _why_desugared_on_stream,
            _lazily("stream.preferred_decisions", "by_desugared_task", decide=decide)),
    Matcher("end_search", _refused_by_end_search, _why_searched,
            _lazily("stream.preferred_decisions", "by_end_search")),
    Matcher("path_verdicts", _wants_every_match, _why_searched,
            _lazily("stream.preferred_decisions", "by_path_verdicts")),
)  # fmt: skip
STRATEGIES = tuple(matcher.name for matcher in BATCH_MATCHERS)
