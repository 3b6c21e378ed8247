"""Columns that a rewritten join needs and that nobody may see: the stars of the query around it leave them out.

Spark itself knows `* EXCEPT (a, b)`, also in calls. Columns under names that nobody else has need no qualifier there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlext.errors import Place, UnsupportedError
from sqlext.rewriter.joins.join_clause import EnclosingQuery
from sqlext.rewriter.joins.join_tree import relation_stop
from sqlext.rewriter.joins.relations import relation_name
from sqlext.rewriter.match.unread import is_star
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.lexemes import unquoted
from sqlext.rewriter.text.splice import Edit
from sqlext.rewriter.text.tokens import QUERY_STARTS, Tokens, closing, index_at


def hide(text: str, tokens: Tokens, query: EnclosingQuery, columns: Mapping[str, Sequence[str]]) -> list[Edit]:
    """What to edit so that no star of `query` shows the columns.

    `columns`: by the name of the relation that has them, in lower case ("": a relation that nobody can name), all
    hidden columns of the query's FROM, of all its joins at once. A query that has no SELECT (`FROM a JOIN b |> …`)
    drops them first.

    >>> from sqlext.rewriter.joins.join_tree import enclosing_query
    >>> from sqlext.rewriter.text.splice import Source
    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> def hidden(text, columns):
    ...     tokens = tokenize(text)
    ...     from_ = [t.word for t in tokens].index("FROM")
    ...     edits = hide(text, tokens, enclosing_query(tokens, from_ + 1), columns)
    ...     return str(Source(text).edited(edits).slice(0, len(text)))
    >>> hidden("SELECT *, a.*, b.*, 2 * x, count(*) FROM a JOIN b", {"b": ["__t"]})
    'SELECT * EXCEPT (__t), a.*, b.* EXCEPT (__t), 2 * x, count(*) FROM a JOIN b'
    >>> hidden("SELECT j.*, struct(* EXCEPT (x)) FROM (a JOIN b) j", {"b": ["__t"], "j": ["__t"]})
    'SELECT j.* EXCEPT (__t), struct(* EXCEPT (x, __t)) FROM (a JOIN b) j'
    >>> hidden("FROM a JOIN b |> SELECT *", {"b": ["__t"]})
    'FROM a JOIN b |> DROP __t |> SELECT *'
    """
    everything = [name for names in columns.values() for name in names]
    if not everything:
        return []
    _check_no_pivot(text, tokens, query)
    edits = []
    for i in _stars(tokens, query):
        names = everything if tokens[i - 1].text != "." else columns.get(unquoted(tokens[i - 2].text).lower(), ())
        if names:
            edits.append(_except(tokens, i, list(dict.fromkeys(names))))
    if query.select is None and not any(t.word == "SELECT" for t in tokens[query.from_stop : query.stop]):
        end = tokens[query.stop - 1].stop
        edits.append(Edit(end, end, f" |> DROP {', '.join(dict.fromkeys(everything))}"))
    return edits


def check_no_column_names(text: str, tokens: Tokens, query: EnclosingQuery, whole: Fragment) -> None:
    """A join with hidden columns has more than `(a JOIN b …) AS j (x, y)` would name. Raises UnsupportedError."""
    for relation in _around(tokens, query, whole):
        close = closing(relation, 0)
        name = relation_name(relation)
        if name is not None and relation[-1].text == ")" and close != len(relation) - 1:
            raise UnsupportedError(
                "COLUMN_NAMES", "the columns of a join on time cannot be named directly behind it",
                place=Place(text, name.start, name.stop),
                hint=f"put the join into a subquery: FROM (SELECT * FROM …) AS {name.text} (…).",
            )  # fmt: skip


def names_around(tokens: Tokens, query: EnclosingQuery, whole: Fragment) -> list[str]:
    """The names, in lower case, of the parentheses in FROM around the join `whole`: its columns are theirs, too.

    >>> from sqlext.rewriter.joins.join_tree import enclosing_query
    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> text = "SELECT * FROM ((a JOIN b) AS x JOIN c) Y"
    >>> names_around(tokenize(text), enclosing_query(tokenize(text), 5), Fragment(text, 16, 24))
    ['x', 'y']
    """
    names = (relation_name(relation) for relation in _around(tokens, query, whole))
    return [unquoted(name.text).lower() for name in names if name is not None]


def _around(tokens: Tokens, query: EnclosingQuery, whole: Fragment) -> Iterator[Tokens]:
    """The relations of FROM, each in parentheses, in which the join `whole` stands, the innermost first."""
    first = index_at(tokens, whole.start)
    depth = tokens[first].depth
    for i in range(first - 1, query.from_, -1):
        if tokens[i].text == "(" and tokens[i].depth < depth:
            depth = tokens[i].depth
            yield tokens[i : relation_stop(tokens, i)]


def _stars(tokens: Tokens, query: EnclosingQuery) -> Iterator[int]:
    """The stars of the query itself, none of its FROM or of a subquery."""
    start = query.from_ if query.select is None else query.select
    i = start
    while i < query.stop:
        if i == query.from_:
            i = query.from_stop
            continue
        if tokens[i].text == "(" and i + 1 < len(tokens) and tokens[i + 1].word in QUERY_STARTS:
            i = closing(tokens, i) or query.stop
        elif is_star(tokens, i):
            yield i
        i += 1


def _except(tokens: Tokens, star: int, names: list[str]) -> Edit:
    """The names go into the star's own EXCEPT (…), or into a new one."""
    opening = star + 2
    if opening + 1 < len(tokens) and tokens[star + 1].word == "EXCEPT" and tokens[opening].text == "(":
        close = closing(tokens, opening)
        if close is not None and tokens[opening + 1].word not in QUERY_STARTS:
            at = tokens[close].start
            return Edit(at, at, f", {', '.join(names)}")
    at = tokens[star].stop
    return Edit(at, at, f" EXCEPT ({', '.join(names)})")


def _check_no_pivot(text: str, tokens: Tokens, query: EnclosingQuery) -> None:
    for i in range(query.from_, min(query.from_stop + 1, len(tokens) - 1)):
        word = tokens[i]
        if word.word in ("PIVOT", "UNPIVOT") and tokens[i + 1].word in ("(", "INCLUDE", "EXCLUDE"):
            raise UnsupportedError(
                "PIVOT", f"{word.word} directly behind a join on time is not built",
                place=Place(text, word.start, word.stop),
                hint=f"put the join into a subquery: FROM (SELECT * FROM …) {word.word} (…).",
            )  # fmt: skip
