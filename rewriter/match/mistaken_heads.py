"""Finds misspelt heads of sections, and clauses of queries, where a section of MATCH_RECOGNIZE could begin.

Each of them is reported by one error that names it, and the words after it are not read as a part of the section before
it. So one wrong letter causes one error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

NOTHING = ""  # the section of words that do not belong to the clause


@dataclass(frozen=True, kw_only=True)
class MistakenHead:
    """`length` words that are wrong.

    The words after them are read as the section `meant`, or are not read if that is NOTHING.
    """

    meant: str
    length: int
    message: str
    hint: str
    error_class: str = "UNEXPECTED_WORD"


_FILTER_HINT = (
    "filter the input, FROM (SELECT … WHERE …) MATCH_RECOGNIZE (…), or the result, after the closing parenthesis."
)
_RESULT_HINT = "write it after the closing parenthesis, for the result of the clause."
_QUERY_CLAUSES = {
    ("WHERE",): _FILTER_HINT,
    ("HAVING",): _FILTER_HINT,
    ("QUALIFY",): _RESULT_HINT,
    ("LIMIT", "DURATION"): "write ORDER BY ts, and PATTERN (A B) WITHIN INTERVAL '1' MINUTE.",  # Azure Stream Analytics
    ("LIMIT",): _RESULT_HINT,
    ("OPTIONS",): "leave FALSE out, which is the rule here: an earlier alternative is preferred, not the "
    "longest match; for TRUE write the longer alternative first.",  # BigQuery
    ("GROUP", "BY"): "to match the rows of each group by themselves, write PARTITION BY.",
    ("DISTRIBUTE", "BY"): "write PARTITION BY.",
    ("CLUSTER", "BY"): "write PARTITION BY and ORDER BY.",
    ("SORT", "BY"): "write ORDER BY.",
    ("ALL", "MATCHES"): "write AFTER MATCH NO SKIP, which finds every match, as with SKIP TO CURRENT ROW in Esper.",
}
_SEARCH_MODES = ("INITIAL", "SEEK")
_ENDS = ("", ",", ")")


def mistaken_head(words: Sequence[str], *, is_head_next: bool) -> MistakenHead | None:
    """The mistake that begins with the first of four words, or None.

    `words` are at a place where no operand is possible; "" represents a literal, or a place after the end of the
    clause. `is_head_next`: the second word begins a section, so the first one may be a name.

    >>> mistaken_head(["PATERN", "(", "A", ")"], is_head_next=False).hint
    'did you mean PATTERN?'
    >>> mistaken_head(["WHERE", "X", ">", ""], is_head_next=False).message
    'WHERE is not allowed inside MATCH_RECOGNIZE'
    >>> mistaken_head(["MEASURE", ",", "A", "."], is_head_next=False) is None   # a name
    True
    """
    if is_head_next:
        return _search_mode(words)
    return _query_clause(words) or _frame(words) or _incomplete(words) or _misspelt(words)


def _frame(words: Sequence[str]) -> MistakenHead | None:
    if words[0] not in ("ROWS", "RANGE") or words[1] not in ("BETWEEN", "UNBOUNDED") or words[2] in _ENDS:
        return None
    hint = "leave it out, or bound the match: WITHIN INTERVAL '1' HOUR after PATTERN ( … ), or PATTERN (A B{0,5})."
    return MistakenHead(meant=NOTHING, length=2, message="a frame belongs to a pattern in the WINDOW clause", hint=hint)


def _search_mode(words: Sequence[str]) -> MistakenHead | None:
    if words[0] not in _SEARCH_MODES or words[1:3] != ["PATTERN", "("]:
        return None
    hint = f"leave {words[0]} out: here the search goes on from row to row until a match is found."
    return MistakenHead(
        meant=NOTHING, length=1, message=f"{words[0]} belongs to a pattern in the WINDOW clause", hint=hint
    )


def _query_clause(words: Sequence[str]) -> MistakenHead | None:
    for head, hint in _QUERY_CLAUSES.items():
        if tuple(words[: len(head)]) == head and words[len(head)] not in (",", ")", "."):
            message = f"{' '.join(head)} is not allowed inside MATCH_RECOGNIZE"
            return MistakenHead(meant=NOTHING, length=len(head), message=message, hint=hint)
    return None


def _incomplete(words: Sequence[str]) -> MistakenHead | None:
    """The mistake of PARTITION or ORDER without BY, or of PATTERN without parentheses; None for other words."""
    if words[0] == "PATTERN" and words[1] == "" and words[2] in ("DEFINE", "SUBSET", "WITHIN"):
        message, hint = "a pattern is no text, and its parentheses are missing", "write PATTERN (A B+), without quotes."
        return MistakenHead(meant=NOTHING, length=1, message=message, hint=hint, error_class="MISSING_PATTERN")
    if words[1] in _ENDS or not _is_word(words[1]):
        return None
    if words[0] in ("PARTITION", "ORDER") and words[1] != "BY":
        hint = f"write {words[0]} BY."
        return MistakenHead(meant=f"{words[0]} BY", length=1, message=f"BY is missing after {words[0]}", hint=hint)
    if words[0] == "PATTERN":
        message, hint = "the parentheses of PATTERN are missing", "write PATTERN (A B+)."
        return MistakenHead(meant=NOTHING, length=1, message=message, hint=hint, error_class="MISSING_PATTERN")
    return None


def _misspelt(words: Sequence[str]) -> MistakenHead | None:
    first, second, third, _ = words
    if second == "BY" and (meant := _close(first, ("PARTITION", "ORDER"))):
        return _did_you_mean(f"{meant} BY", f"{meant} BY", words[:2])
    if third == "PER" and (meant := _close(f"{first} {second}", ("ALL ROWS", "ONE ROW"))):
        return _did_you_mean("ONE ROW or ALL ROWS PER MATCH", f"{meant} PER MATCH", words[:2])
    if third in ("SKIP", "NO") and _close(f"{first} {second}", ("AFTER MATCH",)):
        return _did_you_mean("AFTER MATCH", "AFTER MATCH", words[:2])
    if second == "(" and first != "PATTERN" and _close(first, ("PATTERN",)):
        return _did_you_mean("PATTERN", "PATTERN", words[:1])
    if third == "=" and _close(first, ("SUBSET",)):
        return _did_you_mean("SUBSET", "SUBSET", words[:1])
    if third == "AS" and first != "DEFINE" and _close(first, ("DEFINE",)):
        return _did_you_mean("DEFINE", "DEFINE", words[:1])
    if _is_word(second) and first != "MEASURES" and _close(first, ("MEASURES",)):
        return _did_you_mean("MEASURES", "MEASURES", words[:1])
    return None


def _did_you_mean(section: str, text: str, words: Sequence[str]) -> MistakenHead:
    message = f"{' '.join(words)} is not a keyword of MATCH_RECOGNIZE"
    return MistakenHead(meant=section, length=len(words), message=message, hint=f"did you mean {text}?")


def _close(word: str, candidates: Iterable[str]) -> str | None:
    return next(iter(get_close_matches(word, candidates, n=1, cutoff=0.75)), None)


def _is_word(word: str) -> bool:
    return word[:1].isalpha() or word[:1] == "_"
