"""The parsed joins on time, INTERVAL JOIN and ASOF JOIN: what the user wrote, with places, before names are bound."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.rewriter.text.fragments import Fragment, Name


@dataclass(frozen=True)
class MatchCondition:
    """`MATCH_CONDITION (left operator right)`; `operator` is `>=`, `>`, `<=` or `<`."""

    left: Fragment
    operator: str
    right: Fragment
    whole: Fragment


@dataclass(frozen=True)
class EnclosingQuery:
    """The query whose FROM holds a join; indexes of tokens, `*_stop` exclusive.

    `select` is its SELECT, None where it has none (`FROM t |> …`); `from_` is FROM; the FROM list ends at `from_stop`,
    the whole query at `stop` (a set operation or a pipe ends it too).
    """

    select: int | None
    from_: int
    from_stop: int
    stop: int


@dataclass(frozen=True)
class JoinClause:
    """`left [type] INTERVAL JOIN right ON …`, `left [type] ASOF JOIN right MATCH_CONDITION (…) [ON … | USING (…)]`.

    `kind`: "INTERVAL" or "ASOF". `join_type`: "INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI" or "LEFT ANTI".
    `whole` runs from the first character of `left`, the whole join tree before the join, to the end of ON, USING or
    MATCH_CONDITION. `words` is `[type] INTERVAL JOIN`, `keyword` its `INTERVAL JOIN`. `on` is the condition behind ON,
    `conjuncts` the members of its AND list, parentheses around them or around parts of the list taken off; an ON whose
    top is OR is one conjunct. `using` are the names in USING.
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
    query: EnclosingQuery
