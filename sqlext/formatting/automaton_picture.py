"""Pictures of an automaton: SVG in the colours of the page around it, and Mermaid. Pure: text out, all values escaped.

>>> from sqlext.pattern.why.automaton import Automaton, AutomatonNode, Edge
>>> nodes = (AutomatonNode("(start)"), AutomatonNode("A<B", "A<B", 3), AutomatonNode("(match)", None, 0))
>>> two = Automaton(nodes, (Edge(0, 1), Edge(1, 2, "", 0)))
>>> print(mermaid(two))
flowchart LR
  n0(["(start)"])
  n1["A#60;B<br>3 start rows"]
  n2(["(match)<br>0 matches"])
  n0 --> n1
  n1 -->|"0"| n2
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import accumulate

from sqlext.pattern.why.automaton import MATCH, Automaton, AutomatonNode, Edge

HEIGHT, _LETTER, _ARC = 40, 7.3, 17  # in pixels; _LETTER is the width of one at 12 pixels
# Colours that have contrast on white and on black; for all others, the colours of the text around the picture.
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


@dataclass(frozen=True, kw_only=True)
class Box:
    """A node: its upper left corner, its width and the radius of its corners, in pixels; all are HEIGHT high."""

    node: AutomatonNode
    left: float
    top: float
    width: float

    @property
    def radius(self) -> float:
        return 4 if self.node.variable is not None else HEIGHT / 2


@dataclass(frozen=True, kw_only=True)
class EdgeLine:
    """An edge: its path as SVG writes it, and the middle of its label's base line."""

    edge: Edge
    path: str
    x: float
    y: float

    @property
    def label(self) -> str:
        return _label(self.edge)


@dataclass(frozen=True, kw_only=True)
class PictureLayout:
    """Where the parts of a picture are, in pixels. `notes` are lines of text at the bottom."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[EdgeLine, ...]
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """What the picture shows, for those who do not see it."""
        return f"Automaton of the pattern: {', '.join(box.node.written for box in self.boxes[1:-1])}"


def layout(automaton: Automaton) -> PictureLayout:
    """The nodes in a row, in the order of the pattern; edges that leave out nodes are arcs above them, edges back are
    arcs below.

    >>> placed = layout(Automaton((AutomatonNode("start"), AutomatonNode("A", "A")), (Edge(0, 1),)))
    >>> placed.lines[0].path, [box.left for box in placed.boxes]
    ('M60.5 63H103.1', [8.0, 103.1])
    """
    widths = [_width(node) for node in automaton.nodes]
    gap = 28 + _LETTER * max([2, *(len(_label(edge)) for edge in automaton.edges if edge.target == edge.source + 1)])
    lefts = list(accumulate(widths, lambda x, width: x + width + gap, initial=8.0))[:-1]
    above = max([1, *(edge.target - edge.source for edge in automaton.edges)])
    below = max([0, *(edge.source - edge.target + 1 for edge in automaton.edges if edge.target < edge.source)])
    top = 26 + _ARC * above
    return PictureLayout(
        width=max(lefts[-1] + widths[-1] + 8, *(_LETTER * len(note) + 16 for note in ("", *automaton.notes))),
        height=top + HEIGHT + (14 + _ARC * below if below else 12) + 18 * len(automaton.notes),
        boxes=tuple(
            Box(node=node, left=left, top=top, width=width) for node, left, width in zip(automaton.nodes, lefts, widths)
        ),
        lines=tuple(_line(edge, lefts, widths, top) for edge in automaton.edges),
        notes=automaton.notes,
    )


def svg(automaton: Automaton, *, is_file: bool = False) -> str:
    """The picture as SVG. A count of 0 is red and dashed: nothing came that far. The same automaton gives the same
    bytes.

    `is_file`: the picture has no page around it, and is light or dark as the system is.

    >>> picture = svg(Automaton((AutomatonNode("start"), AutomatonNode("A<B", "A<B")), (Edge(0, 1),)))
    >>> "A&lt;B" in picture, "A<B" in picture
    (True, False)
    """
    placed = layout(automaton)
    width, height = placed.width, placed.height
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" class="sqlext-automaton" font-family="monospace" '
        f'font-size="12" text-anchor="middle">',
        f"<title>{escape(placed.title)}</title>",
        *([_OF_SYSTEM] if is_file else []),
        _ARROW,
    ]
    parts += map(_edge, placed.lines)
    parts += map(_node, placed.boxes)
    parts += [
        f'<text x="8" y="{height - 18 * i - 6:g}" text-anchor="start" fill="currentColor">{escape(note)}</text>'
        for i, note in enumerate(reversed(placed.notes))
    ]
    return "\n".join([*parts, "</svg>"])


def mermaid(automaton: Automaton) -> str:
    """A flowchart in the language of Mermaid, which GitHub, Jupyter and many wikis draw."""
    return "\n".join(["flowchart LR", *_mermaid_lines(automaton)])


def _mermaid_lines(automaton: Automaton) -> Iterator[str]:
    for i, node in enumerate(automaton.nodes):
        text = "<br>".join(map(_mermaid_text, filter(None, [node.written, _count(node)])))
        begin, end = ('["', '"]') if node.variable is not None else ('(["', '"])')
        yield f"  n{i}{begin}{text}{end}"
    for edge in automaton.edges:
        label = f'|"{_mermaid_text(_label(edge))}"|' if _label(edge) else ""
        yield f"  n{edge.source} -->{label} n{edge.target}"


def _mermaid_text(text: str) -> str:
    """The text with all signs but these as their code points, which Mermaid shows as written."""
    return "".join(c if c.isalnum() or c in " _,.()" else f"#{ord(c)};" for c in text)


def _count(node: AutomatonNode) -> str:
    if node.count is None:
        return ""
    one, several = ("match", "matches") if node.written == MATCH else ("start row", "start rows")
    return f"{node.count:,} {one if node.count == 1 else several}"


def _label(edge: Edge) -> str:
    return " ".join(filter(None, [edge.label, "" if edge.count is None else f"{edge.count:,}"]))


def _width(node: AutomatonNode) -> float:
    return max(44.0, 16 + _LETTER * max(len(node.written), len(_count(node))))


def _node(box: Box) -> str:
    node = box.node
    count = _count(node)
    colour = _NEVER if node.count == 0 else "currentColor"
    dashed = ' stroke-dasharray="4 3"' if node.count == 0 else ""
    middle = box.left + box.width / 2
    frame = (
        f'<rect x="{box.left:g}" y="{box.top:g}" width="{box.width:g}" height="{HEIGHT}" rx="{box.radius:g}" '
        f'fill="none" stroke="{colour}" stroke-width="1.5"{dashed} />'
    )
    written = f'<text x="{middle:g}" y="{box.top + (17 if count else 24):g}" fill="currentColor" font-weight="bold">'
    second = f'<text x="{middle:g}" y="{box.top + 32:g}" fill="{colour}">{escape(count)}</text>' if count else ""
    return f"{frame}{written}{escape(node.written)}</text>{second}"


def _edge(line: EdgeLine) -> str:
    colour = _NEVER if line.edge.count == 0 else "currentColor"
    dashed = ' stroke-dasharray="4 3"' if line.edge.count == 0 else ""
    path = f'<path d="{line.path}" fill="none" stroke="{colour}"{dashed} marker-end="url(#sqlext-arrow)" />'
    if not line.label:
        return path
    return f'{path}<text x="{line.x:g}" y="{line.y:g}" fill="{colour}">{escape(line.label)}</text>'


def _line(edge: Edge, lefts: list[float], widths: list[float], top: float) -> EdgeLine:
    """A line to the next node, else an arc: above to a later node or to the node itself, below to an earlier one."""
    start, end = (lefts[i] + widths[i] / 2 for i in (edge.source, edge.target))
    far = abs(edge.target - edge.source)
    if edge.target == edge.source + 1:
        start, end, y = lefts[edge.source] + widths[edge.source], lefts[edge.target], top + HEIGHT / 2
        return EdgeLine(edge=edge, path=f"M{start:g} {y:g}H{end:g}", x=(start + end) / 2, y=y - 6)
    if edge.target >= edge.source:
        start, end = (start + 9, end - 9) if far else (start - 9, end + 9)
        peak, side = top - _ARC * max(far, 1), top
        y = top - 0.75 * _ARC * max(far, 1) - 4
    else:
        side = top + HEIGHT
        peak = side + _ARC * far + 8
        y = side + 0.75 * (peak - side) + 12
    path = f"M{start:g} {side:g}C{start:g} {peak:g} {end:g} {peak:g} {end:g} {side:g}"
    return EdgeLine(edge=edge, path=path, x=(start + end) / 2, y=y)
