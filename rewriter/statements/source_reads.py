"""How a statement reads a table of the records of topics: as a stream or in batch, with which options, by which name.

Spark does not know the table, so a relation takes the place of its name and of its options.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlext.rewriter.heads.kafka_options import BATCH, STREAM, Option
from sqlext.rewriter.heads.source_table import read_options
from sqlext.rewriter.statements.idle_sources import is_idle_after
from sqlext.rewriter.text.cursor import Cursor
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import RelationName, quoted
from sqlext.rewriter.text.splice import Edit
from sqlext.rewriter.text.tokens import closing, index_at, is_at
from sqlext.rewriter.tree.statement_tree import Tree


@dataclass(frozen=True, kw_only=True)
class SourceRead:
    """The table `name`, read by `reader`, BATCH or STREAM, with the `options` in `clause`, WITH (…), if it has some.

    `written`: the name with STREAM, if it is a stream; `alias_at`: the offset at which an alias keeps the name of the
    table for columns such as `events.ts`; None if it has an alias, or if there can be none.
    """

    name: RelationName
    written: Fragment
    reader: str
    options: tuple[Option, ...]
    clause: Fragment | None
    alias_at: int | None

    def edits(self, relation: str) -> Iterator[Edit]:
        """The edits that let the statement read `relation`."""
        yield Edit(self.written.start, self.written.stop, relation)
        if self.clause is not None:
            yield Edit(self.clause.start, self.clause.stop, "")
        if self.alias_at is not None:
            yield Edit(self.alias_at, self.alias_at, f" AS {quoted(self.name.parts[-1])}")


def source_read(tree: Tree, name: RelationName) -> SourceRead:
    """How a statement reads the table at one of the names of its relations. Raises ParseError, and BindError for an
    option that is there twice.

    >>> from sqlext.rewriter.text.splice import Source
    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> def read(text):
    ...     tree = read_tree(text)
    ...     reads = [source_read(tree, name) for name in tree.tables()]
    ...     edits = [edit for i, read in enumerate(reads) for edit in read.edits(f"R{i}")]
    ...     print([(read.reader, [o.name for o in read.options]) for read in reads])
    ...     print(Source(text).edited(edits).slice(0, len(text)))
    >>> read("SELECT * FROM STREAM e WATERMARK ts DELAY OF INTERVAL 1 DAY MATCH_RECOGNIZE (PATTERN (A)) m")
    [('a stream', [])]
    SELECT * FROM R0 WATERMARK ts DELAY OF INTERVAL 1 DAY AS `e` MATCH_RECOGNIZE (PATTERN (A)) m
    >>> read("TABLE db.e UNION ALL SELECT e.* FROM db.e WITH (minPartitions = 2) JOIN f AS g ON true")
    [('a batch query', []), ('a batch query', ['minPartitions']), ('a batch query', [])]
    TABLE R0 UNION ALL SELECT e.* FROM R1  AS `e` JOIN R2 AS g ON true
    >>> read("FROM STREAM(e) WITH (a = 1) WATERMARK ts DELAY OF INTERVAL 1 DAY IDLE AFTER INTERVAL 1 HOUR")
    [('a stream', ['a'])]
    FROM R0  WATERMARK ts DELAY OF INTERVAL 1 DAY IDLE AFTER INTERVAL 1 HOUR
    """
    tokens = tree.tokens
    first, stop = index_at(tokens, name.start), index_at(tokens, name.stop)
    is_bracketed = is_at(tokens, first - 2, "STREAM", "(")
    relation = next(
        each for each in tree.relations if (each.start == first - 2 if is_bracketed else each.table == name)
    )
    before = tokens[first - 1].word if first else ""
    is_stream = is_bracketed or before == "STREAM"
    stop += is_bracketed
    close = closing(tokens, stop + 1) if is_at(tokens, stop, "WITH", "(") else None
    options: tuple[Option, ...] = ()
    if close is not None:
        cursor = Cursor(tokens, text=tree.text, error_class="KAFKA_TABLE", hint="write WITH (name = value, …).")
        options = read_options(cursor, stop + 2, close)
    end = [*relation.clauses, relation.stop][0]
    idle = next((i for i in range(stop, end) if is_idle_after(tokens, i)), None)
    is_argument = "TABLE" in (before, tokens[relation.start - 1].word if relation.start else "")
    is_named = relation.aliases[0] is not None or is_argument or (is_stream and idle is not None)
    return SourceRead(
        name=name,
        written=tree.fragment(first - (2 if is_bracketed else is_stream), stop),
        reader=STREAM if is_stream else BATCH,
        options=options,
        clause=None if close is None else tree.fragment(stop, close + 1),
        alias_at=None if is_named else tokens[(end if idle is None else idle) - 1].stop,
    )
