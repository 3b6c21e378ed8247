"""The buttons of the page: each is an edit of the clause that the user wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlext.errors import BindError
from sqlext.pattern.program import ast
from sqlext.pattern.task.skip_mode import MODES
from sqlext.rewriter.match.match_clause import MatchClause
from sqlext.rewriter.match.relaxations import GAP, QUANTIFIER_TEXT, edited, relaxations
from sqlext.rewriter.text.splice import Edit
from sqlext.rewriter.text.tokens import tokenize

GREEDY, RELUCTANT = "greedy", "reluctant"
STRICT, RELAXED = "strict", "relaxed"
SKIP, QUANTIFIERS, GAPS, WITHIN = "skip", "quantifiers", "gaps", "within"


def controls_of(clause: MatchClause) -> dict[str, Any]:
    """The state of each control: `skip`: the mode and the modes that are possible; `quantifiers`: GREEDY, RELUCTANT or
    None if there are none; `gaps`: STRICT, RELAXED, or None if there is nothing to choose."""
    return {
        "skip": _skip(clause),
        "skips": list(_skips(clause)),
        "quantifiers": _quantifiers(clause),
        "gaps": RELAXED if _relaxed(clause) else STRICT if _gaps(clause) else None,
        "within": None if clause.within is None else clause.within.bound.text,
    }


def with_control(clause: MatchClause, control: str, value: str) -> str:
    """The user's text with a control at another value.

    >>> from sqlext.rewriter.match.parse_match import parse_match
    >>> from sqlext.rewriter.match.sites import scan
    >>> text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B+) DEFINE B AS v > 1)"
    >>> clause = parse_match(text, tokenize(text), scan(text)[0])
    >>> for control, value in (("skip", "TO NEXT ROW"), ("quantifiers", "reluctant"), ("gaps", "relaxed"),
    ...                        ("within", "INTERVAL '5' MINUTE")):
    ...     print(with_control(clause, control, value)[45:])
    AFTER MATCH SKIP TO NEXT ROW
      PATTERN (A B+) DEFINE B AS v > 1)
    PATTERN (A B+?) DEFINE B AS v > 1)
    PATTERN (A -> B+) DEFINE B AS v > 1)
    PATTERN (A B+) WITHIN INTERVAL '5' MINUTE DEFINE B AS v > 1)

    Raises BindError: PLAYGROUND_QUESTION.
    """
    edits = {SKIP: _with_skip, QUANTIFIERS: _with_quantifiers, GAPS: _with_gaps, WITHIN: _with_within}
    if control not in edits:
        raise BindError(
            "PLAYGROUND_QUESTION", f"there is no control {control}", hint=f"controls are {', '.join(edits)}."
        )
    return edited(clause.whole.source, tuple(edits[control](clause, value)))


def _skip(clause: MatchClause) -> str:
    after, name = clause.after_match, clause.skip_mode.name
    return name if after is None or after.target is None else f"{name} {after.target.text}"


def _skips(clause: MatchClause) -> dict[str, str]:
    """The modes that the clause may have, with each variable where one is named, and the text of each in the clause."""
    targets = [f" {v.text}" for v in clause.pattern_variables]
    ways = [(mode, target) for mode in MODES.values() for target in (targets if mode.has_target else [""])]
    return {mode.name + target: mode.text + target for mode, target in ways}


def _with_skip(clause: MatchClause, mode: str) -> Iterator[Edit]:
    if mode not in _skips(clause):
        raise BindError(
            "PLAYGROUND_QUESTION", f"PATTERN has no variable for SKIP {mode}", hint="choose a mode of the list."
        )
    text = f"AFTER MATCH {_skips(clause)[mode]}"
    if clause.after_match is not None:
        yield Edit(clause.after_match.fragment.start, clause.after_match.fragment.stop, text)
        return
    at = next(t.start for t in reversed(_tokens_before(clause)) if t.word == "PATTERN")
    line = clause.whole.source[clause.whole.source.rfind("\n", 0, at) + 1 : at]
    yield Edit(at, at, f"{text}\n{line if line.isspace() else '  '}")


def _tokens_before(clause: MatchClause):
    return [t for t in tokenize(clause.whole.source) if t.start < clause.pattern_text.start]


def _suffixes(clause: MatchClause) -> Iterator[tuple[int, str]]:
    """Where the suffix of each quantifier is, which is nothing, `?` or `+`."""
    for node in ast.walk(clause.pattern):
        if isinstance(node, ast.Quantified):
            start, stop = node.place
            found = QUANTIFIER_TEXT.search(clause.whole.source[start:stop])
            if found is not None:
                yield start + found.start(2), found[2]


def _quantifiers(clause: MatchClause) -> str | None:
    suffixes = [suffix for _, suffix in _suffixes(clause)]
    return None if not suffixes else RELUCTANT if "?" in suffixes else GREEDY


def _with_quantifiers(clause: MatchClause, kind: str) -> Iterator[Edit]:
    for at, suffix in _suffixes(clause):
        if suffix != "+":  # possessive quantifiers stay
            yield Edit(at, at + len(suffix), "?" if kind == RELUCTANT else "")


def _gaps(clause: MatchClause) -> list[Edit]:
    return [edit for relaxation in relaxations(clause) if relaxation.kind == GAP for edit in relaxation.edits]


def _relaxed(clause: MatchClause) -> list[Edit]:
    """The edits that take the operators `->` and `->>` away."""
    relaxed = (node for node in ast.walk(clause.pattern) if isinstance(node, ast.Relaxed))
    return [Edit(node.place[0], node.item.place[0], "") for node in relaxed]


def _with_gaps(clause: MatchClause, kind: str) -> Iterator[Edit]:
    yield from _gaps(clause) if kind == RELAXED else _relaxed(clause)


def _with_within(clause: MatchClause, bound: str) -> Iterator[Edit]:
    if not bound:
        yield from (e for r in relaxations(clause) if r.kind == WITHIN for e in r.edits)
    elif clause.within is not None:
        yield Edit(clause.within.bound.start, clause.within.bound.stop, bound)
    else:
        yield from _new_within(clause, bound)


def _new_within(clause: MatchClause, bound: str) -> Iterator[Edit]:
    at = next(t.stop for t in tokenize(clause.whole.source) if t.start >= clause.pattern_text.stop)
    yield Edit(at, at, f" WITHIN {bound}")
