"""Replaces the references in an expression by texts, without changing what any other name in it means.

A text that replaces a reference may read a column with the name of a lambda's parameter: `exists(xs, v -> v > A.v)`
becomes `exists(xs, v -> v > v)`. Such a parameter gets another name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sqlext.rewriter.scalars.references import Item, Reference
from sqlext.rewriter.scalars.struct_fields import field_naming
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import Lexeme, names_in
from sqlext.rewriter.text.names import quoted_if_needed, unquoted
from sqlext.rewriter.text.splice import Source, Text, join, standing_for

_RENAMED = "__lambda_"


def render(items: Sequence[Item], source: Source, replace_reference: Callable[[Reference], Text]) -> Text:
    """The text of consecutive items as the user wrote it, with every reference replaced."""
    texts = {item.start: replace_reference(item) for item in items if isinstance(item, Reference)}
    texts |= _renamed_parameters(items, texts.values())
    pieces, at = [], items[0].start
    for item in items:
        if item.start in texts:
            pieces += [source.slice(at, item.start), texts[item.start]]
            at = item.stop
    return join(*pieces, source.slice(at, items[-1].stop))


def render_fields(items: Sequence[Item], source: Source, replace_reference: Callable[[Reference], Text]) -> Text:
    """As `render`, with what replaces a reference named as the field where the reference is a field of a struct."""
    named = field_naming(items)
    return render(items, source, lambda r: named(replace_reference(r), r.start, r.stop, r.column))


def _renamed_parameters(items: Sequence[Item], texts: Iterable[Text]) -> dict[int, Text]:
    """The start of each parameter of a lambda that has the name of a column in `texts` → its other name.

    >>> from sqlext.rewriter.text.lexemes import lexemes
    >>> text = "f(xs, (v, w) -> struct(V, w))"
    >>> renamed = _renamed_parameters(lexemes(Fragment(text, 0, len(text))), [join("v")])
    >>> {start: str(name) for start, name in renamed.items()}
    {7: '__lambda_v', 23: '__lambda_v AS `V`'}
    """
    parameters = [item for item in items if isinstance(item, Lexeme) and item.declared_at is not None]
    if not parameters:
        return {}
    read = set().union(*(names_in(Fragment(str(text), 0, len(str(text)))) for text in texts))
    named, renamed = field_naming(items), {}
    for item in parameters:
        name = unquoted(item.raw)
        if name.lower() in read:
            text = standing_for(quoted_if_needed(_RENAMED + name.lower()), item.start)
            is_use = item.start != item.declared_at
            renamed[item.start] = named(text, item.start, item.stop, name) if is_use else text
    return renamed
