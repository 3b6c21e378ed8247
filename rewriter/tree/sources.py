"""Resolves the names of relations: the CTEs that a piece of a statement can name, and the tables that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sqlext.errors import ParseError, Place, UnsupportedError
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.names import Parts, RelationName, quote
from sqlext.rewriter.text.splice import Text, join
from sqlext.rewriter.text.tokens import Tokens, index_at, is_at, tokens_inside
from sqlext.rewriter.tree.read_tree import read_tree
from sqlext.rewriter.tree.statement_tree import Cte, Tree

RANDOM_FUNCTIONS = frozenset({
    "RAND", "RANDN", "RANDOM", "RANDSTR", "UNIFORM", "UUID", "SHUFFLE", "MONOTONICALLY_INCREASING_ID",
    "SPARK_PARTITION_ID",
})  # fmt: skip


def visible_ctes(tree: Tree, piece: Fragment) -> tuple[Cte, ...]:
    """The CTEs that a piece of a statement can name, in an order in which they can be defined.

    Of several CTEs with the same name, only the innermost is returned. Raises UnsupportedError: RECURSIVE_INPUT (the
    piece reads the recursive CTE that it is a part of), SHADOWED_CTE (a CTE reads an outer one of the same name as an
    inner one, so one list of CTEs could not define both).

    >>> text = "WITH a AS (SELECT 1), b AS (SELECT * FROM (a) m), c AS (SELECT 2) SELECT * FROM b"
    >>> [c.name.text for c in visible_ctes(read_tree(text), Fragment(text, 42, 45))]
    ['a']
    """
    visible: list[Cte] = []
    for cte in tree.ctes:
        if cte.definition.stop <= piece.start and piece.stop <= cte.scope_stop:
            visible.append(cte)
        elif cte.definition.start <= piece.start and piece.stop <= cte.definition.stop:
            _check_not_own_name(tree, cte, piece)
    _check_not_shadowed(tree, visible)
    last = {_key(cte): cte for cte in visible}
    return tuple(cte for cte in visible if last[_key(cte)] is cte)


def _key(cte: Cte) -> str:
    return cte.name.text.upper()


def _readers(tree: Tree, key: str, piece: Fragment) -> list[RelationName]:
    """The places where a piece of the statement reads a relation whose name is `key`."""
    names = (name for name in tree.tables() if _is_inside(name, piece))
    return [name for name in names if len(name.parts) == 1 and name.parts[0].upper() == key]


def _check_not_own_name(tree: Tree, cte: Cte, piece: Fragment) -> None:
    readers = _readers(tree, _key(cte), piece) if cte.is_recursive else []
    if readers:
        raise UnsupportedError(
            "RECURSIVE_INPUT",
            f'the recursive CTE "{cte.name.text}" cannot be the input of a clause inside it',
            place=Place(tree.text, readers[0].start, readers[0].stop),
            hint="use the clause on the finished CTE, in the query after WITH.",
        )


def _check_not_shadowed(tree: Tree, visible: list[Cte]) -> None:
    """Raise UnsupportedError if a definition reads an outer CTE that an inner one hides.

    One list `WITH a, b, …` could not define both.
    """
    for i, outer in enumerate(visible):
        inner = next((k for k in range(i + 1, len(visible)) if _key(visible[k]) == _key(outer)), None)
        if inner is None:
            continue
        for reader in visible[i + 1 : inner + 1]:
            if _readers(tree, _key(outer), reader.query):
                raise UnsupportedError(
                    "SHADOWED_CTE",
                    f'two CTEs "{outer.name.text}" are visible here, and "{reader.name.text}" reads the outer one',
                    place=visible[inner].name.fragment.place,
                    hint="give one of them another name.",
                )


def check_repeatable(tree: Tree, ctes: tuple[Cte, ...], read: Sequence[Fragment]) -> None:
    """Raise UnsupportedError (RANDOM_CTE) if the pieces `read` read a random CTE that is read more than once.

    Its readers would see different rows.
    """
    pieces = list(read)
    needed: list[Cte] = []
    for cte in reversed(ctes):
        if any(_readers(tree, _key(cte), piece) for piece in pieces):
            pieces.append(cte.query)
            needed.insert(0, cte)
    random: list[str] = []
    for cte in needed:
        if not (is_random(tree.tokens, cte.query) or any(_readers(tree, key, cte.query) for key in random)):
            continue
        random.append(_key(cte))
        if len(_readers(tree, _key(cte), Fragment(tree.text, 0, len(tree.text)))) > 1:
            raise UnsupportedError(
                "RANDOM_CTE",
                f'the CTE "{cte.name.text}" is random, and is read by a clause and elsewhere too',
                place=cte.name.fragment.place,
                hint="write it into a table, or a temporary view with a seed, first.",
            )


def is_random(tokens: Tokens, piece: Fragment) -> bool:
    """Whether a piece of the statement calls a random function or takes a sample."""
    inside = tokens_inside(tokens, piece.start, piece.stop)
    return any((a.word in RANDOM_FUNCTIONS and b.text == "(") or a.word == "TABLESAMPLE" for a, b in pairwise(inside))


def relations(text: str) -> tuple[RelationName, ...]:
    """The names of relations that a statement reads, in the order of the text.

    The statement's own CTEs and table functions are left out. A name need not belong to a table, so look it up. The
    result is empty if a string or comment has no end, which Spark itself reports best.

    >>> [name.parts for name in relations("WITH c AS (TABLE a.t) SELECT EXTRACT(DAY FROM d) FROM c, v, f(TABLE w)")]
    [('a', 't'), ('v',), ('w',)]
    >>> [name.parts for name in relations("WITH c AS (SELECT 1) TABLE v")]
    [('v',)]
    """
    try:
        tree = read_tree(text)
    except ParseError:
        return ()
    return tuple(name for name in tree.tables() if not any(_is_named(cte, name) for cte in tree.ctes))


def renames_columns(text: str) -> bool:
    """Return True if an alias or a CTE gives columns other names, as in `t AS a (x, y)` and `WITH c (x, y) AS (…)`.

    >>> texts = "SELECT x FROM t AS a (x, y)", "WITH c (x) AS (SELECT 1) TABLE c", "WITH c AS (SELECT f(1)) TABLE c"
    >>> [renames_columns(text) for text in texts]
    [True, True, False]
    """
    tree = read_tree(text)
    aliases = (alias for relation in tree.relations for alias in relation.aliases)
    heads = (cte.definition.text[: cte.query.start - cte.definition.start - 1] for cte in tree.ctes)
    return any(alias is not None and alias.columns for alias in aliases) or any("(" in head for head in heads)


def without_unread_ctes(text: Text) -> Text:
    """The text without the CTEs that nothing in it reads.

    >>> texts = (
    ...     "WITH a AS (SELECT 1), b AS (TABLE a), c AS (SELECT 2) TABLE c",
    ...     "WITH a AS (SELECT 1) SELECT * FROM (WITH b AS (TABLE a) SELECT 2)",
    ...     "WITH RECURSIVE a AS (SELECT 1 UNION ALL TABLE a) SELECT 2",
    ... )
    >>> [str(without_unread_ctes(join(text))) for text in texts]
    ['WITH c AS (SELECT 2) TABLE c', ' SELECT * FROM ( SELECT 2)', ' SELECT 2']
    """
    tree = read_tree(str(text))
    for cte in tree.ctes:
        if not any(_is_named(cte, name) and not _is_inside(name, cte.definition) for name in tree.tables()):
            start, stop = _with_its_comma(tree.tokens, cte)
            return without_unread_ctes(join(text.part(0, start), text.part(stop, len(tree.text))))
    return text


def _is_inside(name: RelationName, piece: Fragment) -> bool:
    return piece.start <= name.start < piece.stop


def _with_its_comma(tokens: Tokens, cte: Cte) -> tuple[int, int]:
    """The characters of a CTE with the comma after it or before it, or with WITH if it is the only one."""
    first, after = index_at(tokens, cte.definition.start), index_at(tokens, cte.definition.stop)
    if is_at(tokens, after, ","):
        return cte.definition.start, tokens[after + 1].start
    before = first - 1 - is_at(tokens, first - 1, "RECURSIVE")
    return tokens[before].start, cte.definition.stop


def _is_named(cte: Cte, name: RelationName) -> bool:
    """Whether a name refers to this CTE."""
    if len(name.parts) > 1 or name.parts[0].upper() != _key(cte) or name.start >= cte.scope_stop:
        return False
    return name.start >= (cte.definition.start if cte.is_recursive else cte.definition.stop)


def qualify(text: str, schema: Parts) -> str:
    """The text with `schema` in front of every name of a relation that has no schema.

    >>> qualify("SELECT * FROM t JOIN other.u USING (k)", ("main", "db"))
    'SELECT * FROM `main`.`db`.t JOIN other.u USING (k)'
    """
    for name in reversed(relations(text)):
        if len(name.parts) == 1:
            text = f"{text[: name.start]}{quote(schema)}.{text[name.start :]}"
    return text
