"""Pictures of an automaton: SVG in the colours of the page around it, and Mermaid. Pure: text out, all values escaped.

>>> from sqlext.pattern.why.automaton import Automaton, Edge, Node
>>> two = Automaton((Node("start"), Node("A<B", "A<B", 3), Node("match", None, 0)), (Edge(0, 1), Edge(1, 2, "", 0)))
>>> print(mermaid(two))
flowchart LR
  n0(["start"])
  n1["A#60;B<br>3 start rows"]
  n2(["match<br>0 matches"])
  n0 --> n1
  n1 -->|"0"| n2
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import accumulate

from sqlext.pattern.why.automaton import Automaton, Edge, Node

_HEIGHT, _LETTER, _ARC = 40, 7.3, 17  # in pixels; _LETTER is the width of one at 12 pixels
# Colours that have contrast on white and on black; all others are those of the text around the picture.
_NEVER = "#d1495b"
_OF_SYSTEM = (
    "<style>svg { color: #1f1f1f; background: #ffffff } "
    "@media (prefers-color-scheme: dark) { svg { color: #e6edf3; background: #0d1117 } }</style>"
)
_ARROW = (
    '<defs><marker id="sqlext-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="currentColor" /></marker></defs>'
)


@dataclass(frozen=True)
class PatternPicture:
    """The automaton of a pattern as a picture, which notebooks show in the colours of their page."""

    automaton: Automaton

    @property
    def svg(self) -> str:
        """The text of an SVG file, light or dark as the system is."""
        return svg(self.automaton, is_file=True)

    @property
    def mermaid(self) -> str:
        """A flowchart in the language of Mermaid."""
        return mermaid(self.automaton)

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x: auto">{svg(self.automaton)}</div>'

    def __repr__(self) -> str:
        return f"<picture: {' '.join(node.written for node in self.automaton.nodes[1:-1])}>"


def svg(automaton: Automaton, *, is_file: bool = False) -> str:
    """The nodes in a row, in the order of the pattern; edges that leave out nodes are arcs above them, edges back are
    arcs below. A count of 0 is red and dashed: nothing came that far. The same automaton gives the same bytes.

    `is_file`: the picture has no page around it, and is light or dark as the system is.

    >>> picture = svg(Automaton((Node("start"), Node("A<B", "A<B")), (Edge(0, 1),)))
    >>> "A&lt;B" in picture, "A<B" in picture
    (True, False)
    """
    widths = [_width(node) for node in automaton.nodes]
    gap = 28 + _LETTER * max([2, *(len(_label(edge)) for edge in automaton.edges if edge.target == edge.source + 1)])
    lefts = list(accumulate(widths, lambda x, width: x + width + gap, initial=8.0))[:-1]
    above = max([1, *(edge.target - edge.source for edge in automaton.edges)])
    below = max([0, *(edge.source - edge.target + 1 for edge in automaton.edges if edge.target < edge.source)])
    top = 26 + _ARC * above
    height = top + _HEIGHT + (14 + _ARC * below if below else 12) + 18 * len(automaton.notes)
    width = max(lefts[-1] + widths[-1] + 8, *(_LETTER * len(note) + 16 for note in ("", *automaton.notes)))
    title = f"Automaton of the pattern: {', '.join(node.written for node in automaton.nodes[1:-1])}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" class="sqlext-automaton" font-family="monospace" '
        f'font-size="12" text-anchor="middle">',
        f"<title>{escape(title)}</title>",
        *([_OF_SYSTEM] if is_file else []),
        _ARROW,
    ]
    parts += [_edge(edge, lefts, widths, top) for edge in automaton.edges]
    parts += [_node(node, left, width, top) for node, left, width in zip(automaton.nodes, lefts, widths)]
    parts += [
        f'<text x="8" y="{height - 18 * i - 6:g}" text-anchor="start" fill="currentColor">{escape(note)}</text>'
        for i, note in enumerate(reversed(automaton.notes))
    ]
    return "\n".join([*parts, "</svg>"])


def mermaid(automaton: Automaton) -> str:
    """A flowchart in the language of Mermaid, which GitHub, Jupyter and many wikis draw."""
    return "\n".join(["flowchart LR", *_mermaid_lines(automaton)])


def _mermaid_lines(automaton: Automaton) -> Iterator[str]:
    for i, node in enumerate(automaton.nodes):
        text = "<br>".join(
            map(_mermaid_text, filter(None, [node.written, _count(node, is_last=_is_last(automaton, i))]))
        )
        begin, end = ('["', '"]') if node.variable is not None else ('(["', '"])')
        yield f"  n{i}{begin}{text}{end}"
    for edge in automaton.edges:
        label = f'|"{_mermaid_text(_label(edge))}"|' if _label(edge) else ""
        yield f"  n{edge.source} -->{label} n{edge.target}"


def _mermaid_text(text: str) -> str:
    """The text with all signs but letters, digits and spaces as their code points, which Mermaid shows as written."""
    return "".join(c if c.isalnum() or c in " _,." else f"#{ord(c)};" for c in text)


def _is_last(automaton: Automaton, i: int) -> bool:
    return i == len(automaton.nodes) - 1


def _count(node: Node, *, is_last: bool = False) -> str:
    if node.count is None:
        return ""
    one, several = ("match", "matches") if is_last else ("start row", "start rows")
    return f"{node.count:,} {one if node.count == 1 else several}"


def _label(edge: Edge) -> str:
    return " ".join(filter(None, [edge.label, "" if edge.count is None else f"{edge.count:,}"]))


def _width(node: Node) -> float:
    return max(44.0, 16 + _LETTER * max(len(node.written), len(_count(node))))


def _node(node: Node, left: float, width: float, top: float) -> str:
    count = _count(node, is_last=node.written == "match" and node.variable is None)
    colour = _NEVER if node.count == 0 else "currentColor"
    dashed = ' stroke-dasharray="4 3"' if node.count == 0 else ""
    radius = 4 if node.variable is not None else _HEIGHT / 2
    middle = left + width / 2
    box = (
        f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{_HEIGHT}" rx="{radius:g}" fill="none" '
        f'stroke="{colour}" stroke-width="1.5"{dashed} />'
    )
    written = f'<text x="{middle:g}" y="{top + (17 if count else 24):g}" fill="currentColor" font-weight="bold">'
    second = f'<text x="{middle:g}" y="{top + 32:g}" fill="{colour}">{escape(count)}</text>' if count else ""
    return f"{box}{written}{escape(node.written)}</text>{second}"


def _edge(edge: Edge, lefts: list[float], widths: list[float], top: float) -> str:
    """A line to the next node, else an arc: above to a later node or to the node itself, below to an earlier one."""
    start, end = (lefts[i] + widths[i] / 2 for i in (edge.source, edge.target))
    far = abs(edge.target - edge.source)
    if edge.target == edge.source + 1:
        start, end, y = lefts[edge.source] + widths[edge.source], lefts[edge.target], top + _HEIGHT / 2
        path, x, label_y = f"M{start:g} {y:g}H{end:g}", (start + end) / 2, y - 6
    elif edge.target >= edge.source:
        start, end = (start + 9, end - 9) if far else (start - 9, end + 9)
        peak = top - _ARC * max(far, 1)
        path = f"M{start:g} {top:g}C{start:g} {peak:g} {end:g} {peak:g} {end:g} {top:g}"
        x, label_y = (start + end) / 2, top - 0.75 * _ARC * max(far, 1) - 4
    else:
        bottom = top + _HEIGHT
        peak = bottom + _ARC * far + 8
        path = f"M{start:g} {bottom:g}C{start:g} {peak:g} {end:g} {peak:g} {end:g} {bottom:g}"
        x, label_y = (start + end) / 2, bottom + 0.75 * (peak - bottom) + 12
    colour = _NEVER if edge.count == 0 else "currentColor"
    dashed = ' stroke-dasharray="4 3"' if edge.count == 0 else ""
    line = f'<path d="{path}" fill="none" stroke="{colour}"{dashed} marker-end="url(#sqlext-arrow)" />'
    text = f'<text x="{x:g}" y="{label_y:g}" fill="{colour}">{escape(_label(edge))}</text>' if _label(edge) else ""
    return line + text
