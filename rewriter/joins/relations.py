"""What a relation of FROM is called, found by tokens."""

from __future__ import annotations

from sqlext.rewriter.text.tokens import Token, Tokens

# What stands in parentheses behind these is no list of columns, and they are no alias.
_NOT_ALIASES = frozenset({"TABLESAMPLE", "MATCH_RECOGNIZE", "VALUES", "OF", "PERCENT", "ROWS", "WITH", "STREAM"})


def relation_name(relation: Tokens) -> Token | None:
    """The token that names the columns of a whole relation in front of a dot: its alias, else the table's own name.

    None: there is none, or several, as for `(a JOIN b)`.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> texts = ["db.a", "db.a AS x", "(SELECT 1) x (c, d)", "a VERSION AS OF 3 x", "range(3)", "(a JOIN b)", "(a)"]
    >>> [(name := relation_name(tokenize(text))) and name.text for text in texts]
    ['a', 'x', 'x', 'x', None, None, None]
    >>> texts = ["a TABLESAMPLE (5 ROWS)", "STREAM a WATERMARK t DELAY OF INTERVAL 5 SECONDS AS x", "VALUES (1), (2) x"]
    >>> [(name := relation_name(tokenize(text))) and name.text for text in texts]
    ['a', 'x', 'x']
    """
    if not relation:
        return None
    return _alias(relation) or _table(relation)


def _alias(relation: Tokens) -> Token | None:
    """The alias behind a relation, which a list of columns may follow."""
    i = len(relation) - 1
    if relation[i].text == ")":
        depth = relation[i].depth
        i = next(k for k in range(i - 1, -1, -1) if relation[k].text == "(" and relation[k].depth == depth) - 1
    if i < 1 or not relation[i].may_name or relation[i].word in _NOT_ALIASES:
        return None
    before = relation[i - 1]
    if before.word == "AS":
        return relation[i]
    is_behind_relation = before.text in (")", "}") or before.is_name or before.kind in ("number", "string")
    return relation[i] if is_behind_relation and before.word not in _NOT_ALIASES else None


def _table(relation: Tokens) -> Token | None:
    """The last part of the table's name."""
    if any(token.word == "MATCH_RECOGNIZE" and token.depth == relation[0].depth for token in relation):
        return None
    i = 1 if relation[0].word == "STREAM" and len(relation) > 1 and relation[1].is_name else 0
    if not relation[i].is_name or relation[i].word in _NOT_ALIASES:
        return None
    while i + 2 < len(relation) and relation[i + 1].text == "." and relation[i + 2].is_name:
        i += 2
    is_call = i + 1 < len(relation) and relation[i + 1].text == "("
    return None if is_call else relation[i]
