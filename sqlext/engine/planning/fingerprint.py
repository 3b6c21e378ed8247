"""The fingerprint of a clause on a stream, which depends on exactly what decides its rows and its state.

A query resumes from a checkpoint if its fingerprint is the one in the checkpoint. A fingerprint is made of named parts,
which are also in the record beside the checkpoint, so that an error can name what has changed. A part is a digest or,
for a column that the clause reads, its type.

Earlier fingerprints had no parts, and depended on all columns of the input and on the options of its source. A clause
resumes from a checkpoint with such a fingerprint if one of its `former` fingerprints is equal to it; then the
checkpoint gets the present fingerprint.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlext.engine.planning.plan_parts import bounds_of, former_parts, outline_of, slot_parts
from sqlext.expressions.spark_types import as_recorded
from sqlext.operators.rows.columns import LATE_ROW
from sqlext.rewriter.checkpoint_words.resumed_words import resumed_words
from sqlext.rewriter.lowering.lower_measures import of_matches
from sqlext.rewriter.lowering.match_plan import InputColumn, MatchPlan, ShownColumn
from sqlext.rewriter.text.names import unquoted
from sqlext.rewriter.text.splice import TextLike, join
from sqlext.rewriter.text.tokens import tokenize

COLUMN = "column "  # the prefix of the names of parts that are the types of columns


@dataclass(frozen=True, kw_only=True)
class Fingerprint:
    """`parts`: digests and types by name; `former`: the fingerprints that earlier versions gave the same clause."""

    parts: Mapping[str, str] = field(default_factory=dict)
    former: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """16 hexadecimal digits."""
        return digest_of(sorted(self.parts.items()))


def digest_of(value: Any) -> str:
    """16 hexadecimal digits of a value that JSON can represent."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def fingerprint_of(
    parts: Mapping[str, Any],
    read: Sequence[TextLike],
    types: Sequence[tuple[str, str]],
    relation: TextLike,
    former: Iterable[str] = (),
) -> Fingerprint:
    """The fingerprint of a clause over `relation`, whose columns have the `types`.

    `parts`: values that JSON can represent, by name; `read`: the expressions; the types of the columns that they read
    matter.
    """
    words_read = (token for text in read for token in tokenize(as_recorded(str(text))) if token.is_name)
    names = {unquoted(token.text).lower() for token in words_read}
    columns = {f"{COLUMN}{name.lower()}": kind for name, kind in types if name.lower() in names}
    words, _ = _without_alias(resumed_words(str(relation)))
    digests = {name: digest_of(part) for name, part in {**parts, "the input": words}.items()}
    return Fingerprint(parts={**digests, **columns}, former=tuple(former))


def recorded_words(text: TextLike) -> list[str]:
    """The words of a text with casts of ours on which its checkpoint depends."""
    return resumed_words(as_recorded(str(text)))


def match_fingerprint(plan: MatchPlan) -> Fingerprint:
    """The fingerprint of MATCH_RECOGNIZE."""
    _, alias = _without_alias(resumed_words(str(plan.relation)))

    def words(text: TextLike) -> list[str]:
        return _without_prefix(recorded_words(text), alias)

    columns = [column for column in plan.columns if column.name != LATE_ROW]
    of_bounds = {name for bound in plan.bounds for name in (bound.key, bound.end)}
    named = [[column.name, words(column.text)] for column in columns]
    pattern, conditions = outline_of(plan.task)
    parts = {
        "PATTERN": pattern,
        "DEFINE": [conditions, [words(mask.text) for mask in plan.masks]],
        "PARTITION BY": [words(text) for text in plan.partition_by],
        "ORDER BY": [[words(text), direction] for text, direction in plan.order_by],
        "WITHIN": [bounds_of(plan), [column for column in named if column[0] in of_bounds]],
        "the columns that it keeps": [column for column in named if column[0] not in of_bounds],
        "MEASURES": [[slot_parts(slot) for slot in plan.slots], [[c.name, words(c.text)] for c in _recorded(plan)]],
    }
    read = [
        *(c.text for c in columns),
        *(m.text for m in plan.masks),
        *plan.partition_by,
        *(t for t, _ in plan.order_by),
    ]
    return fingerprint_of(parts, read, plan.input_types, plan.relation, _former_of_match(plan))


def _recorded(plan: MatchPlan) -> Iterator[ShownColumn]:
    """The columns of the result as checkpoints record them: with unmatched rows in a CASE that earlier versions had."""
    values = {slot.name for slot in plan.slots if slot.kind == "value" and plan.task.output.shows_unmatched}
    for column in plan.shown:
        yield replace(column, text=of_matches(column.text)) if str(column.text) in values else column


def _former_of_match(plan: MatchPlan) -> Iterable[str]:
    """The former fingerprints of the plan with its first columns, since columns may have been added after them. With a
    table of late rows, the fingerprint in the state differed from that in the record."""
    own = tuple(column for column in plan.columns if column.name != LATE_ROW)
    for columns in (own, (*own, InputColumn(LATE_ROW, join("to_json(struct(*))")))):
        parts = former_parts(replace(plan, shown=tuple(_recorded(plan))), columns)
        for count in range(len(plan.input_types), 0, -1):
            yield digest_of([*parts, plan.input_types[:count]])


def _without_alias(words: list[str]) -> tuple[list[str], str]:
    """The words of a relation without its alias, and the alias, which is "" if there is none."""
    return (words[:-2], words[-1]) if words[-2:-1] == ["AS"] else (words, "")


def _without_prefix(words: list[str], alias: str) -> list[str]:
    """The words without `alias.` before names."""
    prefixes = {i for i in range(len(words) - 1) if alias and words[i : i + 2] == [alias, "."]}
    return [word for i, word in enumerate(words) if i not in prefixes and i - 1 not in prefixes]
