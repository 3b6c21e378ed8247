"""The automaton of a pattern, as the page draws it: the places of `sqlext.draw`, and the elements that steps name."""

from __future__ import annotations

from typing import Any

from sqlext.errors import UnsupportedError
from sqlext.formatting.automaton_picture import HEIGHT, layout
from sqlext.pattern.program.elements import elements
from sqlext.pattern.why.automaton import automaton
from sqlext.rewriter.match.match_clause import MatchClause


def automaton_of(clause: MatchClause) -> dict[str, Any]:
    """`elements`: the variables of PATTERN with their places in the text, in order. `picture`: the places of boxes,
    each with the number of its element or None, and of lines; None with a `refusal` if it would be too large."""
    pattern, text = clause.pattern, clause.whole.source
    named = [{"variable": e.name, "start": e.whole[0], "stop": e.whole[1]} for e in elements(pattern)]
    try:
        placed = layout(automaton(pattern, text))
    except UnsupportedError as error:
        return {"elements": named, "picture": None, "refusal": f"{error.message}."}
    numbers = iter(range(len(named)))
    boxes = [
        {
            "text": box.node.written,
            "element": None if box.node.variable is None else next(numbers),
            **{name: getattr(box, name) for name in ("left", "top", "width", "radius")},
        }
        for box in placed.boxes
    ]
    lines = [{name: getattr(line, name) for name in ("path", "label", "x", "y")} for line in placed.lines]
    size = {"width": placed.width, "height": placed.height, "box_height": HEIGHT}
    return {
        "elements": named,
        "picture": {**size, "title": placed.title, "boxes": boxes, "lines": lines, "notes": placed.notes},
    }
