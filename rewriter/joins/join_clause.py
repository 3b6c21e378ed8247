"""Parses INTERVAL JOIN and ASOF JOIN, and keeps the place of each part, before names are bound.

Like Spark's own joins they are left-associative: the left operand is the whole join tree before the join, the right
operand is a single relation or a join tree in parentheses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlext.errors import ParseError, Place, UnsupportedError
from sqlext.rewriter.joins.range_aggregates import AggregateClause, parse_aggregates
from sqlext.rewriter.text.and_list import and_list, top_level
from sqlext.rewriter.text.fragments import Fragment, Name
from sqlext.rewriter.text.names import name_of, unquoted
from sqlext.rewriter.text.tokens import closed, closing, is_at, tokenize, words_of
from sqlext.rewriter.tree.keywords import after_join, first_word_of_join, is_time_join, without_pipe
from sqlext.rewriter.tree.read_clauses import read_clauses
from sqlext.rewriter.tree.statement_tree import Join, Query, Tree

_TYPES = {
    "": "INNER", "INNER": "INNER",
    "LEFT": "LEFT", "LEFT OUTER": "LEFT", "RIGHT": "RIGHT", "RIGHT OUTER": "RIGHT",
    "FULL": "FULL", "FULL OUTER": "FULL",
    "SEMI": "LEFT SEMI", "LEFT SEMI": "LEFT SEMI", "ANTI": "LEFT ANTI", "LEFT ANTI": "LEFT ANTI",
}  # fmt: skip
_TYPES_OF = {"INTERVAL": _TYPES, "ASOF": {k: v for k, v in _TYPES.items() if v in ("INNER", "LEFT")}}
_COMPARISONS = frozenset({">=", ">", "<=", "<"})
_AGGREGATE_HINTS = {
    "RIGHT": "exchange the relations and write LEFT INTERVAL JOIN: each left row gets aggregates of right rows.",
    "FULL": "write LEFT INTERVAL JOIN, and add the right rows in no range by UNION ALL and an ANTI INTERVAL JOIN.",
    "LEFT SEMI": "write INTERVAL JOIN: it keeps the left rows with a partner.",
    "LEFT ANTI": "a row without a partner has no rows to aggregate: leave AGGREGATE out.",
}
NEAREST = "NEAREST"


@dataclass(frozen=True, kw_only=True)
class MatchCondition:
    """`MATCH_CONDITION (left operator right) [WITHIN within]`, or with `NEAREST (left, right)`.

    `operator` is `>=`, `>`, `<=`, `<` or NEAREST; `whole` ends before WITHIN.
    """

    left: Fragment
    operator: str
    right: Fragment
    whole: Fragment
    within: Fragment | None = None


@dataclass(frozen=True, kw_only=True)
class JoinClause:
    """`left [type] INTERVAL JOIN right ON …`, `left [type] ASOF JOIN right MATCH_CONDITION (…) [ON … | USING (…)]`.

    `kind` is "INTERVAL" or "ASOF", `join_type` is "INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI" or "LEFT ANTI".
    `whole` runs from the first character of `left`, the whole join tree before the join, to the end of ON, USING,
    MATCH_CONDITION or AGGREGATE. `words` is `[type] INTERVAL JOIN`, `keyword` is the `INTERVAL JOIN` in it. `on` is
    the condition after ON; `conjuncts` are the members of its AND list, without parentheses around them. An ON
    whose top is OR is one conjunct. `using` are the names in USING; without a MATCH_CONDITION the last name is the
    time of both relations, which an ASOF JOIN compares by >=. `comparisons` are those of ON by >=, >, <= and < if
    the join has no MATCH_CONDITION: the binder takes the one that reads both relations, and a single one is taken
    before. `aggregate`: what an INTERVAL JOIN returns of each range instead of its pairs. `query` is the query that
    the join is a part of.
    """

    kind: str
    join_type: str
    whole: Fragment
    left: Fragment
    words: Fragment
    keyword: Fragment
    right: Fragment
    on: Fragment | None
    conjuncts: tuple[Fragment, ...]
    match_condition: MatchCondition | None
    using: tuple[Name, ...]
    query: Query
    comparisons: tuple[MatchCondition, ...] = ()
    aggregate: AggregateClause | None = None

    def with_condition(self, condition: MatchCondition | None) -> JoinClause:
        """The clause with a comparison of ON, or none, as its MATCH_CONDITION."""
        conjuncts = tuple(c for c in self.conjuncts if condition is None or c != condition.whole)
        return replace(self, conjuncts=conjuncts, match_condition=condition, comparisons=())


def parse_joins(tree: Tree) -> tuple[JoinClause, ...]:
    """All joins on time of a statement; a join in an operand or the condition of another one comes before it.

    Raises ParseError (MISPLACED_CLAUSE, CLAUSE_AFTER_PIPE, JOIN_TYPE, JOIN_CONDITION, MATCH_CONDITION) and
    UnsupportedError (LATERAL_JOIN), all of a statement together.

    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> text = "SELECT * FROM a JOIN b USING (k) LEFT INTERVAL JOIN c x ON (x.k = a.k) AND x.t BETWEEN 1 AND 2 WHERE 1"
    >>> (clause,) = parse_joins(read_tree(text))
    >>> clause.join_type, clause.left.text, clause.right.text, [c.text for c in clause.conjuncts]
    ('LEFT', 'a JOIN b USING (k)', 'c x', ['x.k = a.k', 'x.t BETWEEN 1 AND 2'])
    """
    keywords = (i for i in range(len(tree.tokens)) if is_time_join(tree.tokens, i))
    return read_clauses(keywords, lambda keyword: _parse(tree, keyword))


def _parse(tree: Tree, keyword: int) -> JoinClause:
    join = tree.join_at(keyword)
    if join is None:
        raise _misplaced(tree, keyword)
    join_type = _join_type(tree, join)
    right = _right(tree, join)
    _check_criteria(tree, join)
    aggregate = _aggregate(tree, join, join_type)
    on = tree.fragment(*join.on) if join.on and join.on[0] < join.on[1] else None
    conjuncts = and_list(on) if on else ()
    condition, comparisons = None, tuple[MatchCondition, ...]()
    using = tree.tokens[slice(*join.using)] if join.using else ()
    if tree.tokens[keyword].word == "ASOF" and (join.match_condition or not any(token.is_name for token in using)):
        if join.match_condition is not None or on is None or _bare_condition(tree, join) is not None:
            condition = _match_condition(tree, join)
        else:
            comparisons = _condition_in_on(on, conjuncts)
    clause = JoinClause(
        kind=tree.tokens[keyword].word,
        join_type=join_type,
        whole=tree.fragment(join.start, join.stop),
        left=tree.fragment(join.start, join.first),
        words=tree.fragment(join.first, join.after),
        keyword=tree.fragment(keyword, join.after),
        right=right,
        on=on,
        conjuncts=conjuncts,
        match_condition=condition,
        comparisons=comparisons,
        using=tuple(name_of(tree.text, token) for token in using if token.is_name),
        query=join.query,
        aggregate=aggregate,
    )
    return replace(clause.with_condition(comparisons[0]), comparisons=comparisons) if len(comparisons) == 1 else clause


def _aggregate(tree: Tree, join: Join, join_type: str) -> AggregateClause | None:
    """What the join returns of each range. Raises ParseError for a join whose result is no left row with a range."""
    clause = parse_aggregates(tree, join)
    if clause is None:
        return None
    if tree.tokens[join.keyword].word == "ASOF":
        raise ParseError(
            "JOIN_AGGREGATE",
            "ASOF JOIN finds one right row, and has no AGGREGATE",
            place=clause.keyword.place,
            hint="write INTERVAL JOIN with a range of time in ON.",
        )
    if join_type not in ("INNER", "LEFT"):
        raise ParseError("JOIN_TYPE", f"{join_type} INTERVAL JOIN has no AGGREGATE", place=clause.keyword.place,
                         hint=_AGGREGATE_HINTS[join_type])  # fmt: skip
    return clause


def check_right_time(tree: Tree, clause: JoinClause) -> None:
    """Raise UnsupportedError if the query reads the right time of `ASOF JOIN r USING (k, t)`, as `r.t` or `r.*`."""
    relation = tree.relation_at(clause.right)
    name = tree.name_of(relation) if relation else None
    if name is None:
        return
    tokens, right, time = tree.tokens, unquoted(name.text).lower(), unquoted(clause.using[-1].fragment.text).lower()
    start = clause.query.from_ if clause.query.select is None else clause.query.select
    for i in range(start, min(clause.query.end, len(tokens) - 2)):
        if tokens[i].is_name and tree.key(i) == right and tokens[i + 1].text == "." and tree.key(i + 2) in (time, "*"):
            times = f"{right}.{time}"
            raise UnsupportedError(
                "ASOF_USING",
                f"after USING (…, {time}), {times} shows the left time",
                place=_place(tree, i, i + 3),
                hint=f"to read both, write MATCH_CONDITION (left.{time} >= {times}) USING (…), without {time}, or ON.",
            )


def _place(tree: Tree, lo: int, hi: int) -> Place:
    return tree.fragment(lo, hi).place


def _join_type(tree: Tree, join: Join) -> str:
    kind = tree.tokens[join.keyword].word
    types = _TYPES_OF[kind]
    after = words_of(tree.tokens[join.keyword + 1 : join.after - 1])
    if after and kind == "INTERVAL":
        type_ = " ".join([*words_of(tree.tokens[join.first : join.keyword]), *after])
        raise ParseError(
            "JOIN_TYPE",
            f"{' '.join(after)} is written before INTERVAL JOIN, not inside",
            place=_place(tree, join.keyword, join.after),
            hint=f"write {type_} INTERVAL JOIN; an alias called interval is written AS interval.",
        )
    words = " ".join(
        words_of([*tree.tokens[join.first : join.keyword], *tree.tokens[join.keyword + 1 : join.after - 1]])
    )
    if words in types:
        return types[words]
    hint = f"write the type of the join as one of {', '.join(t for t in types if t)}."
    if "NATURAL" in words:
        hint = "write the equal columns and the range into ON." if kind == "INTERVAL" else "write USING (…)."
    elif "CROSS" in words:
        hint = "leave CROSS out: keys are optional in ON." if kind == "INTERVAL" else "leave CROSS out: ON is optional."
    elif _TYPES.get(words) in ("LEFT SEMI", "LEFT ANTI"):
        hint = f"a row has a nearest partner if it has any: write {_plain_join(tree, join, _TYPES[words])}."
    elif words in _TYPES and kind == "ASOF":
        hint = (
            "ASOF JOIN finds one right row for each left row, so it is INNER or LEFT: add the right rows that it has "
            "not by UNION ALL SELECT … FROM b LEFT ANTI JOIN joined ON b.id = joined.id, or exchange the relations for "
            "the nearest left row of each right row, b LEFT ASOF JOIN a."
        )
    place = _place(tree, join.first, join.after)
    raise ParseError("JOIN_TYPE", f"there is no {words} {kind} JOIN", place=place, hint=hint)


def _plain_join(tree: Tree, join: Join, join_type: str) -> str:
    """The SEMI or ANTI join that has the rows of an ASOF join of this type."""
    on = tree.fragment(*join.on) if join.on and join.on[0] < join.on[1] else None
    inside = tree.fragment(join.match_condition[0] + 2, join.match_condition[1] - 1) if join.match_condition else None
    if join.right is None or on is None or join.within or (inside and not _comparison(inside)):
        return f"{join_type} JOIN b ON a.key = b.key AND a.ts >= b.ts"
    keys = f"({on.text})" if inside and "OR" in words_of(tokenize(on.text)) else on.text
    right = tree.fragment(join.right.start, join.right.stop).text
    return f"{join_type} JOIN {right} ON {keys}{f' AND {inside.text}' if inside else ''}"


def _misplaced(tree: Tree, keyword: int) -> ParseError:
    tokens, kind = tree.tokens, tree.tokens[keyword].word
    first = first_word_of_join(tokens, keyword)
    after = after_join(tokens, keyword) or keyword + 1
    place = _place(tree, keyword, after)
    if first and tokens[first - 1].word == "|>":
        words = " ".join(words_of(tokens[first:after]))
        return ParseError(
            "CLAUSE_AFTER_PIPE",
            f"{kind} JOIN cannot follow |>, it joins relations of FROM",
            place=place,
            hint=f"write {without_pipe(tree.text, tokens, first - 1)} {words} ….",
        )
    hint = f"write FROM a {kind} JOIN b …, with what is joined to b in parentheses."
    depth = tokens[keyword].depth
    start = next((i for i in range(first - 1, -1, -1) if tokens[i].depth < depth), -1)
    if any(token.word == "TABLE" and token.depth == depth for token in tokens[start + 1 : first]):
        hint = f"write TABLE (SELECT … FROM a {kind} JOIN b …)."
    return ParseError(
        "MISPLACED_CLAUSE", f"{kind} JOIN must be written between two relations of FROM", place=place, hint=hint
    )


def _right(tree: Tree, join: Join) -> Fragment:
    kind, right = tree.tokens[join.keyword].word, join.after
    if is_at(tree.tokens, right, "LATERAL"):
        raise UnsupportedError(
            "LATERAL_JOIN",
            f"{kind} JOIN cannot be LATERAL",
            place=_place(tree, right, right + 1),
            hint="leave LATERAL out if the subquery reads no relation before it; otherwise write Spark's own JOIN.",
        )
    if join.right is None:
        place = _place(tree, join.keyword, right)
        raise ParseError("MISPLACED_CLAUSE", f"the right relation of {kind} JOIN is missing", place=place)
    for i in range(right + 1, join.right.stop):
        # with a list of names it is an alias
        if is_at(tree.tokens, i, "AGGREGATE", "(") and "AS" in words_of(tree.tokens[i : closing(tree.tokens, i + 1)]):
            raise ParseError(
                "JOIN_AGGREGATE",
                "AGGREGATE follows the condition of ON",
                place=_place(tree, i, i + 1),
                hint="write ON a.key = b.key AND b.t BETWEEN … AND … AGGREGATE (…).",
            )
    return tree.fragment(join.right.start, join.right.stop)


def _match_condition(tree: Tree, join: Join) -> MatchCondition:
    """The MATCH_CONDITION of an ASOF JOIN."""
    lo, hi = join.match_condition or (0, 0)
    bare = _bare_condition(tree, join)
    if bare is not None:
        raise ParseError(
            "MATCH_CONDITION",
            "the parentheses of MATCH_CONDITION are missing",
            place=_place(tree, bare, bare + 1),
            hint="write MATCH_CONDITION (a.t >= b.t).",
        )
    if hi - lo < 4 or tree.tokens[hi - 1].text != ")":
        raise ParseError(
            "MATCH_CONDITION",
            "ASOF JOIN needs MATCH_CONDITION after its right relation",
            place=_place(tree, join.keyword, join.after),
            hint="write MATCH_CONDITION (a.t >= b.t), before ON or USING, or such a comparison in ON.",
        )
    inside = tree.fragment(lo + 2, hi - 1)
    condition = _comparison(inside) or _nearest(inside)
    if condition is None:
        raise ParseError(
            "MATCH_CONDITION",
            "MATCH_CONDITION is one comparison by >=, >, <= or <, or NEAREST (a.t, b.t)",
            place=inside.place,
            hint="write further conditions in ON.",
        )
    within = None
    if join.within is not None:
        if join.within[0] == join.within[1]:
            raise ParseError(
                "MATCH_CONDITION",
                "no distance follows WITHIN",
                place=_place(tree, hi, hi + 1),
                hint="write MATCH_CONDITION (…) WITHIN INTERVAL 5 MINUTES, before ON.",
            )
        within = tree.fragment(*join.within)
    return replace(condition, whole=tree.fragment(lo, hi), within=within)


def _bare_condition(tree: Tree, join: Join) -> int | None:
    """The token MATCH_CONDITION of a join if no parentheses follow it."""
    words = words_of(tree.tokens)
    first = next((i for i in range(join.after, len(words)) if words[i] in ("MATCH_CONDITION", "JOIN")), 0)
    is_bare = join.match_condition is None and is_at(tree.tokens, first, "MATCH_CONDITION")
    return first if is_bare else None


def _nearest(inside: Fragment) -> MatchCondition | None:
    """`NEAREST (left, right)`; None if it is something else."""
    tokens = tokenize(inside.text)
    if not is_at(tokens, 0, "NEAREST", "(") or closing(tokens, 1) != len(tokens) - 1:
        return None
    times = inside.part(tokens, 2, len(tokens) - 1) if len(tokens) > 3 else inside
    tokens = tokenize(times.text)
    commas = [i for i in top_level(words_of(tokens)) if tokens[i].text == ","]
    if len(commas) != 1 or not 0 < commas[0] < len(tokens) - 1:
        return None
    left, right = times.part(tokens, 0, commas[0]), times.part(tokens, commas[0] + 1, len(tokens))
    return MatchCondition(left=left, operator=NEAREST, right=right, whole=inside)


def _condition_in_on(on: Fragment, conjuncts: tuple[Fragment, ...]) -> tuple[MatchCondition, ...]:
    """The comparisons by >=, >, <= or < in ON, of which DuckDB uses one instead of MATCH_CONDITION. Raises ParseError
    for an ON without any."""
    comparisons = tuple(comparison for conjunct in conjuncts if (comparison := _comparison(conjunct)))
    if not comparisons:
        raise no_comparison(on)
    return comparisons


def no_comparison(on: Fragment) -> ParseError:
    """The error for an ASOF JOIN without MATCH_CONDITION whose ON compares no time of both relations."""
    return ParseError(
        "MATCH_CONDITION",
        "this ON compares no time of the left relation with one of the right by >=, >, <= or <",
        place=on.place,
        hint="write MATCH_CONDITION (a.t >= b.t) before ON, or AND a.t >= b.t in it.",
    )


def _comparison(conjunct: Fragment) -> MatchCondition | None:
    """The conjunct as a comparison by >=, >, <= or <; None if it is something else."""
    tokens = tokenize(conjunct.text)
    top = list(top_level(words_of(tokens)))
    at = [i for i in top if tokens[i].text in _COMPARISONS]
    if len(at) != 1 or not 0 < at[0] < len(tokens) - 1 or any(tokens[i].word in ("AND", "OR", "NOT") for i in top):
        return None
    left, right = conjunct.part(tokens, 0, at[0]), conjunct.part(tokens, at[0] + 1, len(tokens))
    return MatchCondition(left=left, operator=tokens[at[0]].text, right=right, whole=conjunct)


def _check_criteria(tree: Tree, join: Join) -> None:
    """Raise ParseError unless ON and USING are complete, and an INTERVAL JOIN has ON."""
    kind, i = tree.tokens[join.keyword].word, join.criteria
    if join.using:
        closed(tree.text, tree.tokens, join.using[0] - 1)
    for token in tree.tokens[slice(*join.using)] if join.using else ():
        if not token.is_name and token.text != ",":
            raise ParseError(
                "JOIN_CONDITION",
                "USING takes names of columns",
                hint="write a quoted name in backticks.",
                place=Place(tree.text, token.start, token.stop),
            )
    if join.on is not None and join.on[0] == join.on[1]:
        raise ParseError("JOIN_CONDITION", "no condition follows ON", place=_place(tree, i, i + 1))
    if kind == "ASOF":
        return
    hint = "write ON a.key = b.key AND b.t BETWEEN a.t - INTERVAL 5 MINUTES AND a.t."
    if join.on is not None:
        within = next((n for n in range(*join.on) if is_at(tree.tokens, n, "WITHIN", "INTERVAL")), None)
        if within is not None:
            message = "INTERVAL JOIN has no WITHIN: its range is a condition of ON"
            raise ParseError("JOIN_CONDITION", message, place=_place(tree, within, within + 1), hint=hint)
        return
    place, message = _place(tree, join.keyword, join.after), "INTERVAL JOIN needs ON with a range of time"
    if is_at(tree.tokens, i, "USING"):
        place, message = _place(tree, i, i + 1), "INTERVAL JOIN takes ON, not USING"
    raise ParseError("JOIN_CONDITION", message, place=place, hint=hint)
