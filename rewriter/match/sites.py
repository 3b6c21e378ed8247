"""Finds the MATCH_RECOGNIZE clauses of a statement."""

from __future__ import annotations

import re
from itertools import pairwise

from sqlext.errors import ParseError, Place, UnsupportedError, all_of
from sqlext.rewriter.text.fragments import Fragment
from sqlext.rewriter.text.tokens import SYMBOL, Tokens, closing, directly_inside, is_at, unclosed
from sqlext.rewriter.tree.keywords import ends_operand, without_pipe
from sqlext.rewriter.tree.read_tree import read_tree
from sqlext.rewriter.tree.statement_tree import Site, Tree

KEYWORD = "MATCH_?RECOGN"  # also where it is misspelt
_KEYWORD = re.compile(KEYWORD, re.IGNORECASE)
_PARTS_OF_QUERIES = frozenset({"VIEW", "WHERE", "JOIN", "GROUP", "HAVING", "ORDER", "LIMIT", "QUALIFY"})
_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}


def scan(text: str, relation: Fragment | None = None) -> tuple[Site, ...]:
    """The MATCH_RECOGNIZE clauses of a statement. A clause in the input or the body of another clause comes before it.

    `relation`: the input of a clause with which the text begins, where it is written after the clause.

    Raises ParseError: UNCLOSED_TEXT, UNCLOSED_PARENTHESIS, MISPLACED_CLAUSE, CLAUSE_AFTER_PIPE; UnsupportedError:
    CORRELATED_INPUT. The errors of all clauses are raised together.

    >>> text = "SELECT * FROM a JOIN b AS x MATCH_RECOGNIZE (PATTERN (A)) AS m, c MATCH_RECOGNIZE (d, e)"
    >>> [(site.relation.text, site.body.text) for site in scan(text)]
    [('b AS x', 'PATTERN (A)')]
    """
    if _KEYWORD.search(text) is None:
        return ()
    tree = read_tree(text)
    sites = all_of(range(len(tree.tokens)), lambda i: _site(tree, i, relation if i == 0 else None))
    return tuple(sorted((site for site in sites if site is not None), key=lambda site: site.whole.stop))


def _site(tree: Tree, keyword: int, relation: Fragment | None) -> Site | None:
    """The clause whose keyword is token `keyword`; None for other tokens, and if the word belongs to Spark."""
    text, tokens = tree.text, tree.tokens
    if not is_at(tokens, keyword, "MATCH_RECOGNIZE", "("):
        if _is_misspelt(tokens, keyword):
            message, place = f"{tokens[keyword].text} is not a keyword", tree.fragment(keyword, keyword + 1).place
            raise ParseError("UNEXPECTED_WORD", message, place=place, hint="did you mean MATCH_RECOGNIZE?")
        return None
    if _holds_only_names(tokens, keyword + 1):
        return None
    relation = relation or _relation_before(tree, keyword)
    if relation is None:
        return None
    close, word = _close(text, tokens, keyword + 1), tokens[keyword]
    return Site(
        keyword=Fragment(text, word.start, word.stop),
        relation=relation,
        body=Fragment(text, tokens[keyword + 1].stop, tokens[close].start),
        whole=Fragment(text, min(relation.start, word.start), tokens[close].stop),
        depth=word.depth,
        opening=keyword + 1,
        closing=close,
    )


def _relation_before(tree: Tree, keyword: int) -> Fragment | None:
    """The input of a clause; None if the clause is the text of a rule, or the word a function or a column."""
    tokens, relation = tree.tokens, tree.relation_of(keyword)
    if relation is None:
        if _is_rule(tokens, keyword) or not holds_pattern(tokens, keyword + 1):
            return None
        raise _misplaced(tree, keyword)
    start = tokens[relation.start]
    if start.word == "LATERAL":
        raise UnsupportedError(
            "CORRELATED_INPUT",
            f"the input of {tokens[keyword].word} cannot be LATERAL",
            place=Place(tree.text, start.start, start.stop),
            hint="leave LATERAL out if the subquery reads no relation before it; otherwise make the join the input.",
        )
    return tree.fragment(relation.start, keyword)


def _is_rule(tokens: Tokens, keyword: int) -> bool:
    """True if the clause is that of CREATE PATTERN RULE … AS."""
    if not is_at(tokens, keyword - 1, "AS"):
        return False
    start = next((i for i in range(keyword - 1, -1, -1) if tokens[i].text == ";"), -1)
    words = [token.word for token in tokens[start + 1 : keyword]]
    return any(words[i : i + 2] == ["PATTERN", "RULE"] and words[i - 1] in ("CREATE", "REPLACE") for i in range(1, 6))


def _misplaced(tree: Tree, keyword: int) -> ParseError:
    """The error for a clause that does not follow a relation."""
    word = tree.tokens[keyword].word
    place = tree.fragment(keyword, keyword + 1).place
    if keyword and tree.tokens[keyword - 1].word == "|>":
        return ParseError(
            "CLAUSE_AFTER_PIPE",
            f"{word} cannot follow |>, it belongs to a relation",
            place=place,
            hint=f"write {without_pipe(tree.text, tree.tokens, keyword - 1)} {word} (…).",
        )
    query = _query_before(tree, keyword)
    hint = f"write FROM relation {word} (…) AS alias; its result can be joined to others."
    if query is not None:
        hint = f"write FROM (SELECT * FROM {query}) {word} (…)."
    message = f"{word} must directly follow the relation that it reads"
    return ParseError("MISPLACED_CLAUSE", message, place=place, hint=hint)


def _query_before(tree: Tree, keyword: int) -> str | None:
    """What follows FROM before the clause, in one line, without its middle if it is long. None if it is no query that
    may be the input: without a FROM, WHERE, join or view, or if the clause is not at its end."""
    tokens, depth = tree.tokens, tree.tokens[keyword].depth
    start = next((i for i in range(keyword - 1, -1, -1) if tokens[i].depth <= depth and tokens[i].word == "FROM"), None)
    if start is None or not ends_operand(tokens, keyword - 1):
        return None
    outside = [token.word for token in tokens[start:keyword] if token.depth == depth]
    if _PARTS_OF_QUERIES.isdisjoint(outside) or "SELECT" in outside:
        return None
    text = tree.fragment(start + 1, keyword).in_line
    return text if len(text) < 60 else f"{text[:20].rpartition(' ')[0]} … {text[-20:].partition(' ')[2]}"


def _is_misspelt(tokens: Tokens, i: int) -> bool:
    """True if token i is a misspelt MATCH_RECOGNIZE, such as `MATCH_RECOGNISE` before `( … PATTERN ( … ) … )`."""
    if not re.fullmatch(KEYWORD + "[A-Z]*", tokens[i].word) or not is_at(tokens, i + 1, "("):
        return False
    return holds_pattern(tokens, i + 1)


def _holds_only_names(tokens: Tokens, opening: int) -> bool:
    """True for `a, b, c`: Spark reads `t MATCH_RECOGNIZE (a, b, c)` as an alias with its columns."""
    close = closing(tokens, opening)
    if close is None or (close - opening) % 2:
        return False
    return all(
        tokens[i].text == "," if (i - opening) % 2 == 0 else tokens[i].is_name for i in range(opening + 1, close)
    )


def holds_pattern(tokens: Tokens, opening: int) -> bool:
    pairs = pairwise(tokens[i] for i in directly_inside(tokens, opening))
    return any(a.word == "PATTERN" and b.text == "(" for a, b in pairs)


def _close(text: str, tokens: Tokens, opening: int) -> int:
    """The index of the token that closes the clause. Raises ParseError if the brackets in it do not match."""
    expected: list[str] = []
    for i in range(opening, len(tokens)):
        for character in tokens[i].text if tokens[i].kind == SYMBOL else "":
            if character in _CLOSED_BY:
                expected.append(_CLOSED_BY[character])
            elif character in _CLOSED_BY.values() and (missing := expected.pop()) != character:
                message = f"{character} is written where {missing} is expected"
                raise ParseError(
                    "UNEXPECTED_BRACKET",
                    message,
                    place=Place(text, tokens[i].start, tokens[i].stop),
                    hint=_comment_hint(text[tokens[opening].start : tokens[i].start]),
                )
        if not expected:
            return i
    forgotten = tokens[_forgotten(tokens, opening)]
    raise unclosed(text, forgotten, hint=_comment_hint(text[forgotten.start :]))


def _forgotten(tokens: Tokens, opening: int) -> int:
    """The index of the parenthesis that the user most likely forgot to close.

    It is the parenthesis of PATTERN if DEFINE is inside it, and otherwise the parenthesis of the clause.
    """
    for i in range(opening, len(tokens) - 1):
        if tokens[i].word == "PATTERN" and tokens[i + 1].text == "(":
            inside = [t for t in tokens[i + 2 :] if t.depth > tokens[i].depth]
            if any(a.word == "DEFINE" and c.word == "AS" for a, c in zip(inside, inside[2:])):
                return i + 1
    return opening


def _comment_hint(body: str) -> str | None:
    if "{--" in body or "--}" in body:
        return "-- begins a comment, also in {-- and --}: put a space after {- and before -}."
    return None
