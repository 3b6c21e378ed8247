"""What an ASOF JOIN means in another system and not here: for EXPLAIN MATCH, as `rewriter/match/differences.py`."""

from __future__ import annotations

from sqlext.rewriter.joins.join_clause import JoinClause
from sqlext.rewriter.text.tokens import tokenize


def join_differences(clause: JoinClause) -> list[str]:
    """One sentence for each difference that the text of the join shows.

    >>> from sqlext.rewriter.joins.join_clause import parse_joins
    >>> from sqlext.rewriter.tree.read_tree import read_tree
    >>> for join in ("ASOF JOIN b MATCH_CONDITION (t >= u)", "ASOF JOIN b ON t >= u", "ASOF LEFT JOIN b USING (t)"):
    ...     print(join_differences(parse_joins(read_tree(f"SELECT * FROM a {join}"))[0]))
    ['Snowflake, QuestDB and pandas keep left rows without a partner: write LEFT ASOF JOIN.']
    []
    ['ClickHouse fills rows without a partner by 0 and empty texts, unless join_use_nulls is 1; here they have NULL.']
    """
    if clause.kind != "ASOF":
        return []
    after = tokenize(clause.whole.text[clause.right.stop - clause.whole.start :])
    if clause.join_type == "INNER" and any(token.word == "MATCH_CONDITION" for token in after):
        return ["Snowflake, QuestDB and pandas keep left rows without a partner: write LEFT ASOF JOIN."]
    if clause.join_type == "LEFT" and clause.words.text.upper().split()[:1] == ["ASOF"]:
        return [
            "ClickHouse fills rows without a partner by 0 and empty texts, unless join_use_nulls is 1; "
            "here they have NULL."
        ]
    return []
