"""Parses TUMBLE, HOP, CUMULATE, SESSION and GLOBAL_WINDOW as table functions, and keeps the place of each part."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

from sqlext.errors import BindError, ParseError, Place
from sqlext.operators.emit.parts import CUMULATE, GLOBAL, HOP, SESSION, TUMBLE
from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.splice import Source, Text, join
from sqlext.rewriter.text.tokens import Tokens, closed, closing, directly_inside, is_at, split_at_commas
from sqlext.rewriter.tree.read_clauses import read_clauses
from sqlext.rewriter.tree.statement_tree import Relation, Tree

# The durations of each function in order; in a call they follow DATA and TIMECOL, and OFFSET may be left out.
DURATIONS = {
    TUMBLE: ("SIZE", "OFFSET"),
    HOP: ("SLIDE", "SIZE", "OFFSET"),
    CUMULATE: ("STEP", "SIZE", "OFFSET"),
    SESSION: ("GAP",),
    GLOBAL: (),
}
_BEFORE_FUNCTION = frozenset({"FROM", "JOIN", ",", "LATERAL", "(", "TABLE"})
_CLAUSES = frozenset({"SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "WINDOW"})
_KSQL_WINDOWS = {"TUMBLING": TUMBLE, "HOPPING": HOP, "SESSION": SESSION}
_EXAMPLES = {
    TUMBLE: "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTES)",
    HOP: "HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '1' HOUR), the slide before the size",
    CUMULATE: "CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '1' DAY), the step before the size",
    SESSION: "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' MINUTES)",
    GLOBAL: "GLOBAL_WINDOW(TABLE t)",
}


@dataclass(frozen=True, kw_only=True)
class WindowTvf:
    """A call of a window function.

    `data` is the relation after TABLE, which may have an alias. `time` is the column in DESCRIPTOR, None for
    GLOBAL_WINDOW. `partition_by` are the keys of SESSION. `durations` are the arguments by the names in DURATIONS.
    `relation` is the call as a relation of the statement, its alias included.
    """

    kind: str
    whole: Fragment
    data: Fragment
    has_alias: bool
    time: Fragment | None
    partition_by: tuple[Fragment, ...]
    durations: Mapping[str, Fragment]
    relation: Relation

    def data_as(self, alias: str, source: Source) -> Text:
        """The data as edited in `source`, under the alias of the call, which may be empty."""
        data = source.of(self.data)
        if not alias:
            return data
        return join("(SELECT * FROM ", data, f") AS {alias}") if self.has_alias else join(data, f" AS {alias}")


def is_window_tvf(tokens: Tokens, i: int) -> bool:
    """Whether token i is one of the functions, called with a bare `TABLE t` or a DESCRIPTOR.

    Any other call is a call of the user's own function. Flink's older `GROUP BY TUMBLE(ts, INTERVAL …)` and
    `FROM TUMBLE(t, ts, INTERVAL …)` count as calls too: for them the parser reports what to write instead.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> calls = ("TUMBLE(TABLE t, 1)", "tumble(3)", "GLOBAL_WINDOW(DATA => TABLE t)")
    >>> [is_window_tvf(tokenize(f"FROM {call}"), 1) for call in calls]
    [True, False, True]
    """
    if tokens[i].word not in DURATIONS or not 0 < i < len(tokens) - 2 or tokens[i + 1].text != "(":
        return False
    arguments = tuple(tokens[k] for k in directly_inside(tokens, i + 1))
    if is_at(arguments, 0, "DATA", "=>", "TABLE"):
        arguments = arguments[2:]
    if any(a.word == "INTERVAL" for a in arguments) and _is_from_or_group(tokens, i):
        return True
    if tokens[i - 1].word not in _BEFORE_FUNCTION:
        return False
    if arguments and arguments[0].word == "TABLE" and len(arguments) > 1 and arguments[1].text != "=>":
        return True
    return any(a.word == "DESCRIPTOR" and b.text == "(" for a, b in pairwise(arguments))


def _is_from_or_group(tokens: Tokens, i: int) -> bool:
    """Whether token i begins the relation of a FROM or a JOIN, or is in GROUP BY."""
    if tokens[i - 1].word in ("FROM", "JOIN"):
        return True
    before = (t.word for t in reversed(tokens[:i]) if t.depth == tokens[i].depth)
    return next((word for word in before if word in _CLAUSES), None) == "GROUP"


def is_ksql_window(tokens: Tokens, i: int) -> bool:
    """Whether token i is the word WINDOW of ksqlDB's `WINDOW TUMBLING (SIZE …)`."""
    return is_at(tokens, i, "WINDOW") and any(is_at(tokens, i + 1, word, "(") for word in _KSQL_WINDOWS)


def parse_window_tvfs(tree: Tree) -> tuple[WindowTvf, ...]:
    """All window functions of a statement; a call in the data of another one comes before it. Raises ParseError.

    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> text = "SELECT * FROM HOP(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), SLIDE => INTERVAL 1 DAY, SIZE => x) AS w"
    >>> (call,) = parse_window_tvfs(read_tree(text))
    >>> call.kind, call.data.text, call.time.text, {name: d.text for name, d in call.durations.items()}
    ('HOP', 't', 'ts', {'SLIDE': 'INTERVAL 1 DAY', 'SIZE': 'x'})
    """
    tokens = tree.tokens
    names = (i for i in range(len(tokens)) if is_window_tvf(tokens, i) or is_ksql_window(tokens, i))
    return read_clauses(names, lambda name: _call(tree, name))


def _call(tree: Tree, name: int) -> WindowTvf:
    """The call whose function is token `name`. Raises ParseError; for ksqlDB's WINDOW, always."""
    if is_ksql_window(tree.tokens, name):
        word = tree.tokens[name + 1].word
        message = f"windows are functions in FROM, not WINDOW {word}"
        raise _misplaced(message, tree.fragment(name, name + 2).place, _KSQL_WINDOWS[word])
    return _WindowCallReader(tree, name).call()


def _misplaced(message: str, place: Place, kind: str) -> ParseError:
    """The error for a window function that is not a relation of FROM, with a hint how to write it."""
    hint = f"write GROUP BY window_start, window_end after FROM {_EXAMPLES[kind]}."
    return ParseError("MISPLACED_CLAUSE", message, place=place, hint=hint)


def check_session_keys(
    call: WindowTvf, keys: Sequence[Fragment], normal: Callable[[Fragment], Hashable], place: Place
) -> None:
    """Raise BindError (SESSION_KEYS) unless the keys of SESSION are `keys`, which are the keys of GROUP BY without the
    columns of the window. `normal`: an expression in the form in which two of them are compared."""
    own, grouped = ({normal(key): key.text for key in of} for of in (call.partition_by, keys))
    if own.keys() == grouped.keys():
        return
    if own.keys() < grouped.keys():
        time = call.time.text if call.time is not None else "ts"
        arguments = f"TABLE … PARTITION BY {', '.join(grouped.values())}, DESCRIPTOR({time}), …"
        hint = f"write SESSION({arguments}), so that each key has sessions of its own."
    else:
        hint = f"write GROUP BY {', '.join([*own.values(), 'window_start', 'window_end'])}."
    message = "the keys of SESSION and those of GROUP BY must be the same on a stream and with EMIT"
    raise BindError("SESSION_KEYS", message, place=place, hint=hint)


class _WindowCallReader:
    def __init__(self, tree: Tree, name: int):
        self.tree, self.tokens, self.name = tree, tree.tokens, name
        self.kind = tree.tokens[name].word
        self.cursor = Cursor(tree.tokens, name, text=tree.text, hint=f"write {_EXAMPLES[self.kind]}.")
        self.close = closed(tree.text, tree.tokens, name + 1, hint=self.cursor.hint)

    def call(self) -> WindowTvf:
        first, stop = self._bounds()
        relation = next((r for r in self.tree.relations if r.start == first), None)
        if relation is None:
            place = self.tree.fragment(self.name, self.name + 1).place
            raise _misplaced(f"{self.kind} is a relation of FROM", place, self.kind)
        arguments = self._named()
        data, partition_by = self._data(arguments)
        rows = self.tree.relation_at(data)
        return WindowTvf(
            kind=self.kind,
            whole=self.tree.fragment(first, stop),
            data=data,
            has_alias=rows is not None and rows.aliases[-1] is not None,
            time=self._time(arguments),
            partition_by=partition_by,
            durations={n: self.tree.fragment(*arguments[n]) for n in DURATIONS[self.kind] if n in arguments},
            relation=relation,
        )

    def _bounds(self) -> tuple[int, int]:
        """The tokens of the call, with `TABLE(…)` around it as Flink writes it."""
        before = [t.word for t in self.tokens[max(0, self.name - 2) : self.name]]
        after = [t.text for t in self.tokens[self.close + 1 : self.close + 2]]
        is_wrapped = before == ["TABLE", "("] and after == [")"]
        return (self.name - 2, self.close + 2) if is_wrapped else (self.name, self.close + 1)

    def _ranges(self) -> list[tuple[int, int]]:
        depth, ranges, start = self.tokens[self.name].depth + 1, [], self.name + 2
        for i in range(start, self.close + 1):
            is_comma = self.tokens[i].text == "," and self.tokens[i].depth == depth
            if i == self.close or (is_comma and not self._in_keys(start, i)):
                ranges.append((start, i))
                start = i + 1
        return [(lo, hi) for lo, hi in ranges if lo < hi]

    def _in_keys(self, start: int, i: int) -> bool:
        """Whether the comma at i separates keys of PARTITION BY: neither DESCRIPTOR nor `name =>` follows it."""
        words = [t.word for t in self.tokens[start:i]]
        return "PARTITION" in words and self.tokens[i + 1].word != "DESCRIPTOR" and self.tokens[i + 2].text != "=>"

    def _named(self) -> dict[str, tuple[int, int]]:
        """The tokens of each argument by its name; positional arguments come first."""
        order = ("DATA", *(() if self.kind == GLOBAL else ("TIMECOL",)), *DURATIONS[self.kind])
        arguments: dict[str, tuple[int, int]] = {}
        for k, (lo, hi) in enumerate(self._ranges()):
            name, first = (self.tokens[lo].word, lo + 2) if self.tokens[lo + 1].text == "=>" else (None, lo)
            if name is None and k >= len(order):
                raise self.cursor.error(f"{self.kind} has no such argument", lo, hi, error_class="TOO_MANY_ARGUMENTS")
            name = name or order[k]
            if name not in order:
                near = get_close_matches(name, order, 1)
                message = f"{self.kind} has no argument {name}" + (f", did you mean {near[0]}?" if near else "")
                raise self.cursor.error(message, lo, lo + 1, error_class="UNKNOWN_ARGUMENT")
            if name in arguments:
                raise self.cursor.error(f"{name} is there twice", lo, hi, error_class="DUPLICATE_ARGUMENT")
            if first >= hi:
                raise self.cursor.error(f"the value of {name} is missing", lo, hi, error_class="WRONG_ARGUMENT")
            arguments[name] = first, hi
        missing = [name for name in order if name not in arguments and name != "OFFSET"]
        if missing:
            message = f"{self.kind} needs {' and '.join(_WORDS.get(name, name) for name in missing)}"
            raise self.cursor.error(message, self.name, self.name + 1, error_class="MISSING_ARGUMENT")
        return arguments

    def _data(self, arguments: Mapping[str, tuple[int, int]]) -> tuple[Fragment, tuple[Fragment, ...]]:
        lo, hi = arguments["DATA"]
        if self.tokens[lo].word != "TABLE" or hi == lo + 1:
            raise self.cursor.error("the first argument is TABLE and a relation", lo, hi, error_class="WRONG_ARGUMENT")
        depth = self.tokens[self.name].depth + 1
        at = next(
            (
                i
                for i in range(lo, hi - 1)
                if self.tokens[i].word == "PARTITION"
                and self.tokens[i].depth == depth
                and self.tokens[i + 1].word == "BY"
            ),
            hi,
        )
        if at == hi:
            return self.tree.fragment(lo + 1, hi), ()
        if self.kind != SESSION:
            message = f"{self.kind} has no PARTITION BY: the windows of all keys are the same"
            raise self.cursor.error(message, at, hi, error_class="MISPLACED_CLAUSE")
        return self.tree.fragment(lo + 1, at), tuple(self._keys(at + 2, hi))

    def _keys(self, start: int, stop: int) -> Iterator[Fragment]:
        """The keys of PARTITION BY: `k, l` as Flink writes them, and `(k, l)` as Spark does."""
        if self.tokens[start].text == "(" and closing(self.tokens, start) == stop - 1:
            start, stop = start + 1, stop - 1
        for bounds in split_at_commas(self.tokens, start, stop):
            yield self.tree.fragment(*bounds)

    def _time(self, arguments: Mapping[str, tuple[int, int]]) -> Fragment | None:
        if self.kind == GLOBAL:
            return None
        lo, hi = arguments["TIMECOL"]
        if self.tokens[lo].word != "DESCRIPTOR" or hi - lo < 4:
            raise self.cursor.error("the time column is written DESCRIPTOR(ts)", lo, hi, error_class="WRONG_ARGUMENT")
        return self.tree.fragment(lo + 2, hi - 1)


_WORDS = {"DATA": "TABLE t", "TIMECOL": "DESCRIPTOR(ts)"}
