"""Where the relations and conditions of a FROM begin and end, found by tokens: Spark's own grammar is not parsed."""

from __future__ import annotations

from sqlext.rewriter.joins.join_clause import EnclosingQuery
from sqlext.rewriter.parse_from import ends_operand, is_in_values, is_only_name, opens_relation, separates_relations
from sqlext.rewriter.text.tokens import Tokens

TIME_JOINS = frozenset({"INTERVAL", "ASOF"})
TYPE_WORDS = frozenset({"INNER", "LEFT", "RIGHT", "FULL", "OUTER", "SEMI", "ANTI", "CROSS", "NATURAL"})

# No join tree goes on to the left of these.
_BEFORE_TREE = frozenset([
    "SELECT", "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "UNION",
    "EXCEPT", "INTERSECT", "MINUS", "QUALIFY", "VIEW", "INSERT", "INTO", "MERGE", "UPDATE", "PIVOT", "UNPIVOT",
    "|>", ";",
])  # fmt: skip
# A FROM list, and with it the condition of its last join, ends at these.
_BEHIND_FROM = frozenset([
    "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "UNION", "EXCEPT",
    "INTERSECT", "MINUS", "QUALIFY", "WINDOW", "SELECT", "INSERT", "MAP", "REDUCE", "|>", ";",
])  # fmt: skip
_BEHIND_QUERY = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS", "|>", ";"})
_HAS_BY = frozenset({"GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE"})


def is_time_join(tokens: Tokens, i: int) -> bool:
    """Is token i the first word of INTERVAL JOIN or ASOF JOIN? Not where it names a column, a relation or its alias.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> [is_time_join(tokenize(t), 2) for t in ("FROM a INTERVAL JOIN b", "a AS interval JOIN b", "x = interval JOIN")]
    [True, False, False]
    """
    if tokens[i].word not in TIME_JOINS or i + 1 >= len(tokens) or tokens[i + 1].word != "JOIN":
        return False
    return i > 0 and (ends_operand(tokens, i - 1) or tokens[i - 1].word in TYPE_WORDS | {"|>"})


def join_start(tokens: Tokens, i: int) -> bool:
    """Does a join, Spark's own or one on time, begin at token i with its type or JOIN?"""
    k = i
    while k < len(tokens) and tokens[k].word in TYPE_WORDS:
        k += 1
    if k < len(tokens) and tokens[k].word in TIME_JOINS and (k > i or is_time_join(tokens, k)):
        k += 1
    return k < len(tokens) and tokens[k].word == "JOIN" and not is_only_name(tokens, i)


def tree_start(tokens: Tokens, i: int) -> int | None:
    """The index of the first token of the join tree that ends before token i; None: no relation can end there.

    >>> from sqlext.rewriter.text.tokens import tokenize
    >>> tree_start(tokenize("SELECT 1 FROM z, a JOIN b ON a.x IS DISTINCT FROM b.x INTERVAL JOIN c"), 19)
    5
    """
    if i == 0 or not ends_operand(tokens, i - 1):
        return None
    depth = tokens[i].depth
    for k in range(i - 1, -1, -1):
        token = tokens[k]
        if token.depth < depth:
            return k + 1 if opens_relation(tokens, k) else None
        if token.depth > depth or is_only_name(tokens, k):
            continue
        if token.word == "FROM" and tokens[k - 1].word != "DISTINCT":
            return k + 1
        if token.word == "," and separates_relations(tokens, k) and not is_in_values(tokens, k):
            return k + 1
        if token.word in _BEFORE_TREE:
            return None
    return None


def relation_stop(tokens: Tokens, start: int) -> int:
    """The index behind the relation, with its alias, that begins at token `start`."""
    for i in range(start, len(tokens)):
        if tokens[i].depth < tokens[start].depth:
            return i
        if tokens[i].depth > tokens[start].depth or (i > start and is_only_name(tokens, i)):
            continue
        if tokens[i].text == "," and is_in_values(tokens, i):
            continue
        is_condition = is_at(tokens, i, "MATCH_CONDITION") and is_at(tokens, i + 1, "(")
        if is_condition or tokens[i].word in ("ON", "USING", ",", ";", "|>"):
            return i
        if i > start and _ends_condition(tokens, i):
            return i
    return len(tokens)


def _ends_condition(tokens: Tokens, i: int) -> bool:
    """Does token i, which stands in no parentheses, end the condition or the relation before it?"""
    token = tokens[i]
    if token.text in (",", ";", "|>"):
        return True
    if not ends_operand(tokens, i - 1):
        return False
    after = tokens[i + 1].word if i + 1 < len(tokens) else ""
    if token.word in ("LATERAL", "PIVOT", "UNPIVOT"):
        return after in ("VIEW", "(", "INCLUDE", "EXCLUDE")
    return _ends_from(tokens, i) or join_start(tokens, i)


def _ends_from(tokens: Tokens, i: int) -> bool:
    """Does the clause behind FROM begin at token i, or is it the end of the query?"""
    token, after = tokens[i], tokens[i + 1].word if i + 1 < len(tokens) else ""
    if token.text in (";", "|>"):
        return True
    if token.word not in _BEHIND_FROM or not ends_operand(tokens, i - 1) or is_only_name(tokens, i):
        return False
    if token.word in _HAS_BY:
        return after == "BY"
    if token.word == "WINDOW":
        return i + 2 < len(tokens) and tokens[i + 2].word == "AS"
    return not (
        token.word in ("LIMIT", "OFFSET") and (after in ("ON", "USING", ",", ")", "") or join_start(tokens, i + 1))
    )


def is_at(tokens: Tokens, i: int, word: str) -> bool:
    return i < len(tokens) and tokens[i].word == word


def condition_stop(tokens: Tokens, start: int) -> int:
    """The index behind the condition that begins at token `start`, behind ON."""
    depth = tokens[start - 1].depth
    for i in range(start, len(tokens)):
        if tokens[i].depth < depth or (tokens[i].depth == depth and _ends_condition(tokens, i)):
            return i
    return len(tokens)


def enclosing_query(tokens: Tokens, start: int) -> EnclosingQuery:
    """The query whose FROM holds the join tree at token `start`, also in parentheses."""
    from_ = _from_before(tokens, start)
    depth = tokens[from_].depth
    select = None
    for i in range(from_ - 1, -1, -1):
        if tokens[i].depth < depth or (tokens[i].depth == depth and _ends_query(tokens, i)):
            break
        if tokens[i].depth == depth and tokens[i].word == "SELECT" and not is_only_name(tokens, i):
            select = i
            break
    behind = [i for i in range(start, len(tokens)) if tokens[i].depth <= depth]
    ends = (i for i in behind if tokens[i].depth < depth or _ends_query(tokens, i))
    stop = next(ends, len(tokens))
    from_stop = next((i for i in behind if i < stop and _ends_from(tokens, i)), stop)
    return EnclosingQuery(select, from_, from_stop, stop)


def _ends_query(tokens: Tokens, i: int) -> bool:
    """Not the EXCEPT of `* EXCEPT (…)`."""
    return tokens[i].word in _BEHIND_QUERY and _ends_from(tokens, i)


def _from_before(tokens: Tokens, start: int) -> int:
    """The index of the FROM whose list token `start` stands in."""
    depth = tokens[start].depth
    for i in range(start - 1, -1, -1):
        depth = min(depth, tokens[i].depth)
        if tokens[i].depth > depth or tokens[i].word != "FROM" or is_only_name(tokens, i):
            continue
        if tokens[i - 1].word != "DISTINCT":
            return i
    return 0
