"""What a clause reads: where the relation before it begins, and which CTEs that relation can name.

Spark's own grammar is not parsed. A relation is what stands between the clause and the nearest FROM, JOIN, USING (of a
MERGE), comma of a FROM list or opening parenthesis of a relation on its left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from sqlext.errors import ParseError, Place, SqlExtError, UnsupportedError
from sqlext.rewriter.text.fragments import Fragment, Name
from sqlext.rewriter.text.names import name_of
from sqlext.rewriter.text.tokens import NUMBER, QUERY_STARTS, QUOTED, STRING, SYMBOL, WORD, Token, Tokens, closing

# No relation goes on to the left of these.
_BOUNDARIES = frozenset([
    "SELECT", "WHERE", "ON", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "BY", "LIMIT", "OFFSET",
    "UNION", "EXCEPT", "INTERSECT", "MINUS", "QUALIFY", "WINDOW", "SET", "WHEN", "THEN", "VIEW", "TABLE", "AND", "OR",
    "NOT", "INSERT", "INTO", "MERGE", "UPDATE", "|>", ";",
])  # fmt: skip
_JOINS = frozenset({"FROM", "JOIN"})
_QUERY_STARTS = QUERY_STARTS | {"("}
_ENDS_OF_RELATION = frozenset({")", "}", "?"})

# Behind these words something is still to come: what follows is a name, whatever else it may mean.
_OPERATORS = frozenset([
    "AND", "OR", "NOT", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "IN", "IS", "DIV", "CASE", "WHEN", "THEN",
    "ELSE", "ON", "USING", "AS", "FROM", "JOIN", "STREAM", "LATERAL", "SELECT", "DISTINCT", "WHERE", "BY", "HAVING",
    "SET", "CROSS", "INNER", "NATURAL", "TABLE", "UPDATE", "INTO", "QUALIFY", "LIMIT", "OFFSET", "EXISTS", "ESCAPE",
])  # fmt: skip
_RANDOM = frozenset({"RAND", "RANDN", "RANDOM", "RANDSTR", "UNIFORM", "UUID", "SHUFFLE", "MONOTONICALLY_INCREASING_ID",
                     "SPARK_PARTITION_ID"})  # fmt: skip


def ends_operand(tokens: Tokens, i: int) -> bool:
    """Can a relation or an expression end with token i?

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> [ends_operand(tokenize("a . in ) AND"), i) for i in range(5)]
    [True, False, True, True, False]
    """
    token = tokens[i]
    if token.kind == WORD:
        return token.word not in _OPERATORS or (i > 0 and tokens[i - 1].text == ".")
    return token.kind in (QUOTED, STRING, NUMBER) or token.text in (")", "]", "}", "?")


@dataclass(frozen=True)
class Cte:
    """`definition` is `name [(columns)] [AS] (query)` as written; `query` is inside its parentheses."""

    name: Name
    definition: Fragment
    query: Fragment
    is_recursive: bool


def relation_start(tokens: Tokens, keyword: int) -> int | None:
    """The index of the first token of the relation that ends before token `keyword`; None: no relation ends there.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> relation_start(tokenize("SELECT 1 FROM a JOIN b AS c MATCH_RECOGNIZE (x + 1)"), 8)
    5
    """
    if not _ends_relation(tokens, keyword - 1):
        return None
    depth = tokens[keyword].depth
    for i in range(keyword - 1, -1, -1):
        token = tokens[i]
        if token.depth < depth:
            return i + 1 if opens_relation(tokens, i) else None
        if token.depth > depth or is_only_name(tokens, i):
            continue
        if _begins_relation(tokens, i):
            return i + 1 if i + 1 < keyword else None
        if token.word in _BOUNDARIES:
            return None
    return None


def _ends_relation(tokens: Tokens, i: int) -> bool:
    if i < 0 or tokens[i].word in ("AS", "OF"):
        return False
    return tokens[i].kind != SYMBOL or tokens[i].text in _ENDS_OF_RELATION


def is_only_name(tokens: Tokens, i: int) -> bool:
    """`set` in `FROM set`, `x.set`, `AS set`: a keyword that names something."""
    before = tokens[i - 1].word if i else ""
    if tokens[i].kind != WORD or tokens[i].word in ("SELECT", "FROM", "JOIN"):
        return before == "."
    return before in (".", "AS", "FROM", "JOIN", ",", "STREAM")


def _begins_relation(tokens: Tokens, i: int) -> bool:
    word = tokens[i].word
    if word == "USING":
        return _word_on_left(tokens, i, frozenset({"MERGE", "JOIN", "SELECT"})) == "MERGE"
    if word == ",":
        return separates_relations(tokens, i) and not is_in_values(tokens, i)
    return word in _JOINS


def _word_on_left(tokens: Tokens, i: int, words: frozenset[str]) -> str:
    """The nearest of `words` to the left at the depth of token i; "(" if there is none inside the parenthesis."""
    depth = tokens[i].depth
    for k in range(i - 1, -1, -1):
        if tokens[k].depth < depth:
            return "("
        if tokens[k].depth == depth and tokens[k].word in words and not is_only_name(tokens, k):
            return tokens[k].word
    return ""


def separates_relations(tokens: Tokens, comma: int) -> bool:
    return _word_on_left(tokens, comma, _BOUNDARIES | _JOINS | {"USING"}) in ("FROM", "JOIN", "ON", "USING")


def is_in_values(tokens: Tokens, comma: int) -> bool:
    """The commas between the rows of VALUES; the list ends with the alias behind its last row."""
    depth = tokens[comma].depth
    for i in range(comma - 1, -1, -1):
        if tokens[i].depth < depth or tokens[i].word in _JOINS:
            return False
        if tokens[i].depth > depth:
            continue
        if tokens[i].word == "VALUES":
            return True
        if tokens[i].word == "AS" or (tokens[i].is_name and tokens[i - 1].text == ")"):
            return False
    return False


def opens_relation(tokens: Tokens, i: int) -> bool:
    """Is this the parenthesis of `FROM (a JOIN b …)`?"""
    if tokens[i].text != "(" or i == 0:
        return False
    before = tokens[i - 1].word
    if before == "(":
        return opens_relation(tokens, i - 1)
    return before in _JOINS or (before in ("USING", ",") and _begins_relation(tokens, i - 1))


def misplaced(text: str, tokens: Tokens, keyword: int) -> ParseError:
    """The error for a clause that no relation precedes."""
    word = tokens[keyword].word
    place = Place(text, tokens[keyword].start, tokens[keyword].stop)
    if keyword and tokens[keyword - 1].word == "|>":
        return ParseError("CLAUSE_AFTER_PIPE", f"{word} cannot follow |>, it belongs to a relation", place=place,
                          hint=f"write {without_pipe(text, tokens, keyword - 1)} {word} (…).")  # fmt: skip
    return ParseError("MISPLACED_CLAUSE", f"{word} must stand directly behind the relation that it reads", place=place,
                      hint=f"write FROM relation {word} (…) AS alias; its result can be joined to others.")  # fmt: skip


def without_pipe(text: str, tokens: Tokens, pipe: int) -> str:
    """The query before the pipe at token `pipe` as a FROM clause."""
    depth, start = tokens[pipe].depth, pipe
    while start and tokens[start - 1].depth >= depth and tokens[start - 1].text != ";":
        start -= 1
    froms = [i for i in range(start, pipe) if tokens[i].depth == depth and tokens[i].word == "FROM"]
    start = start if tokens[start].word in _QUERY_STARTS else (froms or [start])[0]
    query = text[tokens[start].start : tokens[pipe - 1].stop] if start < pipe else ""
    is_relation = froms[:1] == [start] and not any(t.word in ("|>", "WHERE") for t in tokens[start:pipe])
    if not query or len(query) > 60 or "\n" in query:
        query, is_relation = "the query before the pipe", False
    return query if is_relation else f"FROM ({query})"


def lateral_input(text: str, tokens: Tokens, start: int, keyword: int) -> SqlExtError | None:
    """The error for `LATERAL (…)` as an input: it may read the relations on its left."""
    if tokens[start].word != "LATERAL":
        return None
    return UnsupportedError(
        "CORRELATED_INPUT", f"the input of {tokens[keyword].word} cannot be LATERAL",
        place=Place(text, tokens[start].start, tokens[start].stop),
        hint="leave LATERAL out if the subquery reads nothing of the relations before it, else join it in the input.",
    )  # fmt: skip


def visible_ctes(text: str, tokens: Tokens, start: int, stop: int) -> tuple[Cte, ...]:
    """The CTEs that the characters `start` to `stop` of a statement can name, in an order in which they can be defined.

    Of those with one name the innermost. Raises UnsupportedError: RECURSIVE_INPUT (the text reads the recursive CTE
    that it stands in), SHADOWED_CTE (one list of CTEs could not say what is meant).

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> text = "WITH a AS (SELECT 1), b AS (SELECT * FROM (a) m), c AS (SELECT 2) SELECT * FROM b"
    >>> [c.name.text for c in visible_ctes(text, tokenize(text), 42, 45)]
    ['a']
    """
    found: list[Cte] = []
    for i, token in enumerate(tokens):
        if token.start >= start:
            break
        if token.word == "WITH" and stop <= _stop_of_level(text, tokens, i):
            for cte in _with_list(text, tokens, i):
                if cte.definition.stop <= start:
                    found.append(cte)
                elif cte.definition.start <= start:
                    _check_not_own_name(cte, tokens, start, stop)
    _check_not_shadowed(found, tokens)
    last = {cte.name.key.upper(): cte for cte in found}
    return tuple(cte for cte in found if last[cte.name.key.upper()] is cte)


def _stop_of_level(text: str, tokens: Tokens, i: int) -> int:
    """Where the query that WITH at i begins must end at the latest."""
    depth = tokens[i].depth
    for token in tokens[i:]:
        if token.depth < depth or (token.depth == depth and token.text == ";"):
            return token.start
    return len(text)


def _with_list(text: str, tokens: Tokens, i: int) -> Iterator[Cte]:
    """The CTEs of the WITH at i; none for WITH in other senses."""
    i += 1
    is_recursive = tokens[i].word == "RECURSIVE" and tokens[i + 1].is_name if i + 1 < len(tokens) else False
    i += is_recursive
    while i + 1 < len(tokens) and tokens[i].is_name:
        opening = _query_of_cte(tokens, i)
        close = opening and closing(tokens, opening)
        if not opening or not close:
            return
        definition = Fragment(text, tokens[i].start, tokens[close].stop)
        query = Fragment(text, tokens[opening].stop, tokens[close].start)
        yield Cte(name_of(text, tokens[i]), definition, query, is_recursive)
        if close + 1 >= len(tokens) or tokens[close + 1].text != ",":
            return
        i = close + 2


def _query_of_cte(tokens: Tokens, i: int) -> int | None:
    """The index of the parenthesis around the query of `name [(columns)] [MAX RECURSION LEVEL n] [AS] (query)`."""
    k = i + 1
    if _is_at(tokens, k, "(") and not _is_query(tokens, k):
        k = (closing(tokens, k) or len(tokens)) + 1
    if _is_at(tokens, k, "MAX") and _is_at(tokens, k + 1, "RECURSION"):
        k += 4
    if _is_at(tokens, k, "AS"):
        k += 1
    return k if _is_at(tokens, k, "(") and _is_query(tokens, k) else None


def _is_at(tokens: Tokens, i: int, word: str) -> bool:
    return i < len(tokens) and tokens[i].word == word


def _is_query(tokens: Tokens, opening: int) -> bool:
    return opening + 1 < len(tokens) and tokens[opening + 1].word in _QUERY_STARTS


def _reads(tokens: Tokens, key: str, start: int, stop: int) -> Token | None:
    """A token that names the relation `key` between two characters, which begin with a relation or a query."""
    for i, token in enumerate(tokens):
        is_named = start <= token.start < stop and token.is_name and _key(token) == key
        if is_named and (tokens[i - 1].start < start or _stands_for_relation(tokens, i)):
            return token
    return None


def _stands_for_relation(tokens: Tokens, i: int) -> bool:
    before = tokens[i - 1].word
    if before == ",":
        return separates_relations(tokens, i - 1)
    return before in ("FROM", "JOIN", "TABLE", "STREAM", "USING") or (before == "(" and opens_relation(tokens, i - 1))


def _key(token: Token) -> str:
    raw = token.text
    return (raw[1:-1].replace("``", "`") if raw[0] == "`" else raw).upper()


def _check_not_own_name(cte: Cte, tokens: Tokens, start: int, stop: int) -> None:
    token = _reads(tokens, cte.name.key.upper(), start, stop) if cte.is_recursive else None
    if token is not None:
        raise UnsupportedError(
            "RECURSIVE_INPUT", f'the recursive CTE "{cte.name.text}" cannot be the input of a clause inside it',
            place=Place(cte.definition.source, token.start, token.stop),
            hint="use the clause on the finished CTE, in the query behind WITH.",
        )  # fmt: skip


def _check_not_shadowed(found: list[Cte], tokens: Tokens) -> None:
    """One list `WITH a, b, …` must mean the same: no definition may read an outer CTE that an inner one hides."""
    for i, outer in enumerate(found):
        key = outer.name.key.upper()
        inner = next((k for k in range(i + 1, len(found)) if found[k].name.key.upper() == key), None)
        if inner is None:
            continue
        for reader in found[i + 1 : inner + 1]:
            if _reads(tokens, key, reader.query.start, reader.query.stop):
                raise UnsupportedError(
                    "SHADOWED_CTE",
                    f'two CTEs "{outer.name.text}" are visible here, and "{reader.name.text}" reads the outer one',
                    place=found[inner].name.fragment.place, hint="give one of them another name.",
                )  # fmt: skip


def check_repeatable(tokens: Tokens, ctes: tuple[Cte, ...], start: int, stop: int) -> None:
    """Raise UnsupportedError (RANDOM_CTE) if the characters `start` to `stop`, which see `ctes`, read one that is not
    the same each time, and the statement reads it elsewhere too: the clause would see other rows of it."""
    spans = [(start, stop)]
    needed: list[Cte] = []
    for cte in reversed(ctes):
        if any(_reads(tokens, cte.name.key.upper(), *span) for span in spans):
            spans.append((cte.query.start, cte.query.stop))
            needed.insert(0, cte)
    random: list[str] = []
    for cte in needed:
        key, query = cte.name.key.upper(), cte.query
        if not (is_random(tokens, query) or any(_reads(tokens, r, query.start, query.stop) for r in random)):
            continue
        random.append(key)
        readers = [i for i, t in enumerate(tokens) if t.is_name and _key(t) == key and _stands_for_relation(tokens, i)]
        if len(readers) > 1:
            raise UnsupportedError(
                "RANDOM_CTE",
                f'the CTE "{cte.name.text}" is random, and is read by a clause and elsewhere too',
                place=cte.name.fragment.place, hint="write it into a table, or a temporary view with a seed, first.",
            )  # fmt: skip


def is_random(tokens: Tokens, query: Fragment) -> bool:
    inside = [t for t in tokens if query.start <= t.start < query.stop]
    return any((a.word in _RANDOM and b.text == "(") or a.word == "TABLESAMPLE" for a, b in pairwise(inside))
