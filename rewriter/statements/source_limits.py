"""The options in `STREAM t WITH (…)` that say how much of a source one micro-batch reads.

Delta reads the rows that a table has when a query begins in the order of its files, which is not that of event time. If
that takes several micro-batches, the watermark of one makes rows of the next ones late. So the first micro-batch of a
streaming table reads them all. Databricks orders them by `withEventTimeOrder`, which Delta Lake does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import Parts, name_at
from sqlext.rewriter.text.splice import Edit
from sqlext.rewriter.text.tokens import Tokens, closing, is_at
from sqlext.rewriter.tree.statement_tree import Tree

_OF_ICEBERG = frozenset({"streaming-max-files-per-micro-batch", "streaming-max-rows-per-micro-batch"})
_LIMITS = frozenset({"maxfilespertrigger", "maxbytespertrigger"}) | _OF_ICEBERG
EVENT_TIME_ORDER = "witheventtimeorder"
_ALL = "maxFilesPerTrigger = 2147483647"  # Delta's limit is 1,000 files without an option, and Iceberg has none


@dataclass(frozen=True)
class StreamOption:
    """An option of a source: its name in lower case, and the option as written."""

    name: str
    written: Fragment

    @property
    def is_limit(self) -> bool:
        return self.name in _LIMITS


@dataclass(frozen=True)
class StreamTable:
    """`STREAM name [WITH (options)]`; `stop` is the index of the token after the name."""

    name: Parts
    stop: int
    options: tuple[StreamOption, ...]
    closing: int | None


def stream_options(tree: Tree) -> list[StreamOption]:
    """The options of all streams of a statement.

    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> tree = read_tree("SELECT * FROM STREAM t WITH (maxFilesPerTrigger = 1, 'failOnDataLoss' = false) AS t")
    >>> [(option.name, option.is_limit) for option in stream_options(tree)]
    [('maxfilespertrigger', True), ('failondataloss', False)]
    """
    return [option for table in stream_tables(tree) for option in table.options]


def has_watermark(tree: Tree) -> bool:
    """Return True if a relation of the statement has a WATERMARK."""
    tokens = tree.tokens
    delays = [k for k in range(len(tokens)) if is_at(tokens, k, "DELAY", "OF")]
    return any(token.word == "WATERMARK" and any(k > i for k in delays) for i, token in enumerate(tokens))


def without_limits(tree: Tree, is_table: Callable[[Parts], bool]) -> Iterator[Edit]:
    """The edits that let a micro-batch read all rows of the tables that are streams.

    >>> from sqlext.rewriter.text.splice import Source
    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> def edited(text):
    ...     return str(Source(text).edited(without_limits(read_tree(text), lambda name: True)).slice(0, len(text)))
    >>> edited("SELECT * FROM STREAM db.t WATERMARK ts DELAY OF INTERVAL 1 DAY")
    'SELECT * FROM STREAM db.t WITH (maxFilesPerTrigger = 2147483647) WATERMARK ts DELAY OF INTERVAL 1 DAY'
    >>> edited("SELECT * FROM STREAM(t) WITH (startingVersion = 1, maxBytesPerTrigger = '1g')")
    'SELECT * FROM STREAM(t) WITH (startingVersion = 1, maxFilesPerTrigger = 2147483647)'
    """
    for table in stream_tables(tree):
        if not is_table(table.name):
            continue
        after_name = tree.tokens[table.stop - 1].stop
        if table.closing is None:
            yield Edit(after_name, after_name, f" WITH ({_ALL})")
            continue
        kept = [option.written.text for option in table.options if not option.is_limit]
        yield Edit(after_name, tree.tokens[table.closing].stop, f" WITH ({', '.join([*kept, _ALL])})")


def stream_tables(tree: Tree) -> Iterator[StreamTable]:
    """Each relation that is a STREAM with a name."""
    tokens = tree.tokens
    starts = {relation.start for relation in tree.relations}
    for i in range(1, len(tokens)):
        if tokens[i].word == "STREAM" and (i in starts or tokens[i - 1].word == "TABLE"):
            is_bracketed = is_at(tokens, i + 1, "(")
            name = name_at(tokens, i + 1 + is_bracketed)
            if name is not None and name.start > tokens[i].start:
                stop = i + 1 + is_bracketed + 2 * len(name.parts) - 1 + is_bracketed
                yield _with_options(tree, name.parts, stop)


def _with_options(tree: Tree, name: Parts, stop: int) -> StreamTable:
    tokens = tree.tokens
    close = closing(tokens, stop + 1) if is_at(tokens, stop, "WITH", "(") else None
    if close is None:
        return StreamTable(name, stop, (), None)
    commas = [k for k in range(stop + 2, close) if tokens[k].text == ","]
    ends = zip([stop + 2, *(k + 1 for k in commas)], [*commas, close])
    options = (_option(tokens, tree, lo, hi) for lo, hi in ends if lo < hi)
    return StreamTable(name, stop, tuple(options), close)


def _option(tokens: Tokens, tree: Tree, lo: int, hi: int) -> StreamOption:
    return StreamOption(tokens[lo].text.strip("'\"`").lower(), tree.fragment(lo, hi))
