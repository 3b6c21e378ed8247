"""Hides the columns that only a rewritten join needs from the clauses that read the join.

These clauses are the stars of the query around the join, and a MATCH_RECOGNIZE whose input is the join in parentheses.

Spark has `* EXCEPT (a, b)`, also in calls. Names that no other column has need no qualifier there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlext.errors import UnsupportedError
from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.text.splice import Edit
from sqlext.rewriter.text.tokens import QUERY_STARTS, Tokens, closing, index_at, is_at
from sqlext.rewriter.tree.statement_tree import Alias, Query, Relation, Tree


def hide(tree: Tree, query: Query, columns: Mapping[str, Sequence[str]]) -> list[Edit]:
    """The edits after which no star of `query` shows the columns.

    `columns` are the hidden columns of all joins in the query's FROM, by the name of their relation in lower case; a
    relation without a name is "". A query without SELECT (`FROM a JOIN b |> …`) drops the columns first.

    >>> from sqlext.rewriter.text.splice import Source
    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> def hidden(text, columns):
    ...     tree = read_tree(text)
    ...     edits = hide(tree, tree.relations[0].query, columns)
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
    tokens = tree.tokens
    _check_no_pivot(tree, query.from_, query.from_stop + 1)
    edits = []
    for i in tree.stars(query):
        names = everything if tokens[i - 1].text != "." else columns.get(tree.key(i - 2), ())
        if names:
            edits.append(_except(tokens, i, list(dict.fromkeys(names))))
    if query.select is None and not any(t.word == "SELECT" for t in tokens[query.from_stop : query.stop]):
        end = tokens[query.stop - 1].stop
        edits.append(Edit(end, end, f" |> DROP {', '.join(dict.fromkeys(everything))}"))
    return edits


def check_no_column_names(tree: Tree, clause: JoinClause) -> None:
    """Raise UnsupportedError for `(a JOIN b …) AS j (x, y)`: a join with hidden columns has more columns than names."""
    for alias in _aliases_around(tree, clause):
        if alias.columns:
            name = tree.fragment(alias.name, alias.name + 1)
            raise UnsupportedError(
                "COLUMN_NAMES",
                "the columns of a join on time cannot be named directly after it",
                place=name.place,
                hint=f"put the join into a subquery: FROM (SELECT * FROM …) AS {name.text} (…).",
            )


def names_around(tree: Tree, clause: JoinClause) -> list[str]:
    """The aliases, in lower case, of the parentheses in FROM around a join; they also qualify its columns.

    >>> from sqlext.rewriter.joins.join_clause import parse_joins
    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> tree = read_tree("SELECT * FROM ((a ASOF JOIN b MATCH_CONDITION (a.t >= b.t)) AS x JOIN c) Y")
    >>> names_around(tree, parse_joins(tree)[0])
    ['x', 'y']
    """
    return [tree.key(alias.name) for alias in _aliases_around(tree, clause)]


def reader_of(tree: Tree, clause: JoinClause) -> Relation | None:
    """The relation whose MATCH_RECOGNIZE reads the rows of the join; None if no clause does.

    Raises UnsupportedError if there is a PIVOT between them.

    >>> from sqlext.rewriter.joins.join_clause import parse_joins
    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> tree = read_tree("SELECT * FROM (a ASOF JOIN b MATCH_CONDITION (a.t >= b.t)) MATCH_RECOGNIZE (…), c")
    >>> reader = reader_of(tree, parse_joins(tree)[0])
    >>> [tree.tokens[i].text for i in reader.clauses]
    ['MATCH_RECOGNIZE']
    """
    reader = next((relation for relation in _around(tree, clause) if relation.clauses), None)
    if reader is not None:
        _check_no_pivot(tree, reader.start, reader.clauses[0])
    return reader


def _around(tree: Tree, clause: JoinClause) -> list[Relation]:
    """The relations whose parentheses contain the join, the innermost first."""
    return tree.around(clause.query, index_at(tree.tokens, clause.whole.start))


def _aliases_around(tree: Tree, clause: JoinClause) -> Iterator[Alias]:
    """The aliases that qualify the columns of the join, up to the MATCH_RECOGNIZE that reads them."""
    for relation in _around(tree, clause):
        if relation.aliases[0] is not None:
            yield relation.aliases[0]
        if relation.clauses:
            return


def _except(tokens: Tokens, star: int, names: list[str]) -> Edit:
    """Put the names into the star's own EXCEPT (…), or into a new one."""
    if is_at(tokens, star + 1, "EXCEPT", "(") and star + 3 < len(tokens):
        close = closing(tokens, star + 2)
        if close is not None and tokens[star + 3].word not in QUERY_STARTS:
            at = tokens[close].start
            return Edit(at, at, f", {', '.join(names)}")
    at = tokens[star].stop
    return Edit(at, at, f" EXCEPT ({', '.join(names)})")


def _check_no_pivot(tree: Tree, start: int, stop: int) -> None:
    for i in range(start, min(stop, len(tree.tokens) - 1)):
        word = tree.tokens[i].word
        if word in ("PIVOT", "UNPIVOT") and tree.tokens[i + 1].word in ("(", "INCLUDE", "EXCLUDE"):
            raise UnsupportedError(
                "PIVOT",
                f"{word} directly after a join on time is not built",
                place=tree.fragment(i, i + 1).place,
                hint=f"put the join into a subquery: FROM (SELECT * FROM …) {word} (…).",
            )
