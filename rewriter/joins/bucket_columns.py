"""What is computed for each row of a relation of a join, as text behind the relation: every name stays what it was."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlext.rewriter.joins.time_buckets import BUCKET, Side
from sqlext.rewriter.text.splice import Text, TextLike, join, sub

_READ = re.compile(r"__sqlext_(home|bucket)\b")  # buckets.HOME and buckets.BUCKET


@dataclass(frozen=True)
class Columns:
    """`text` gives a relation the columns `names`; `key` and `own` are those of buckets.Side."""

    text: Text
    names: tuple[str, ...]
    key: Text
    own: str = ""


def columns(side: Side, which: str, number: int, bounds: Sequence[tuple[Text, str]] = ()) -> Columns:
    """`which` and `number` tell the relations of a statement's joins apart. `bounds`: further columns, (what, name),
    which the others may read.

    >>> points = Side(join(BUCKET), join("array(1, 2)"), own=join(f"{BUCKET} = 1"))
    >>> found = columns(points, "left", 0)
    >>> print(found.text)  # doctest: +NORMALIZE_WHITESPACE
     JOIN LATERAL explode(array(1, 2)) AS __sqlext_left_copies0(__sqlext_left_bucket0)
     JOIN LATERAL (SELECT __sqlext_left_bucket0 = 1 AS __sqlext_left_own0) AS __sqlext_left_keys0
    >>> found.names, str(found.key)
    (('__sqlext_left_bucket0', '__sqlext_left_own0'), '__sqlext_left_bucket0')
    """

    def name(word: str) -> str:
        return f"__sqlext_{which}_{word}{number}"

    def named(text: Text) -> TextLike:
        return sub(_READ, rf"__sqlext_{which}_\g<1>{number}", text)

    has_key = str(side.key) != BUCKET
    steps = [_select(bounds, name("bounds"))]
    if side.home is not None:
        steps.append(_select([(side.home, name("home"))], name("homes")))
    if side.copies is not None:
        copies = join(" JOIN LATERAL explode(", named(side.copies), f") AS {name('copies')}({name('bucket')})")
        steps.append((copies, (name("bucket"),)))
    of_copy = [(named(side.key), name("key"))] if has_key else []
    if side.own is not None:
        of_copy.append((named(side.own), name("own")))
    steps.append(_select(of_copy, name("keys")))
    names = tuple(name for _, of_step in steps for name in of_step)
    return Columns(join(*(text for text, _ in steps)), names, join(name("key" if has_key else "bucket")), name("own"))


def _select(found: Sequence[tuple[TextLike, str]], alias: str) -> tuple[Text, tuple[str, ...]]:
    if not found:
        return Text(), ()
    shown = join(*(join(text, f" AS {name}") for text, name in found), separator=", ")
    return join(" JOIN LATERAL (SELECT ", shown, f") AS {alias}"), tuple(name for _, name in found)
