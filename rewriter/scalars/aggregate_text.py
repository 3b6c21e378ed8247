"""The type of the text of an aggregate: `sum(DISTINCT v)`, `listagg(v, ',' ORDER BY ts)`, `mode() WITHIN GROUP (…)`."""

from __future__ import annotations

from sqlext.aggregates.bind import TypesOf, bind_aggregate
from sqlext.aggregates.registry import COMPUTED
from sqlext.errors import Place
from sqlext.rewriter.scalars.aggregate_syntax import parts_of_text, read_aggregate
from sqlext.rewriter.scalars.references import Scope, Words
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import lexemes
from sqlext.rewriter.text.splice import Source, Text, join


def aggregate_type_of(resolver: TypesOf[Text], text: Text, place: Place | None) -> str | None:
    """The type of an aggregate, or None if the text is not an aggregate.

    `resolver` returns the types of the aggregate's arguments. Raises BindError for a part that the aggregate does not
    take.
    """
    raw = str(text)
    words = Words(lexemes(Fragment(raw, 0, len(raw))), Scope(source=Source(raw), variables={}, columns=()))
    name = words.raw(0).lower()
    if name not in COMPUTED or words.raw(1) != "(":
        return None
    syntax = read_aggregate(words, 0)
    if syntax.stop != len(words.parts):
        return None

    def plain(lo: int, hi: int) -> Text:  # its places are not places of the user's text
        return join(str(words.slice(lo, hi)))

    return bind_aggregate(name, parts_of_text(syntax, plain, place), resolver)[0].result
