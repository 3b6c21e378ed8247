"""Draws the rules of the grammar as railroad diagrams in SVG, whose colours come from website/site.css."""

from __future__ import annotations

import railroad

from website.grammar import Choice, Grammar, Node, Optional, Repeated, Rule, Sequence, Terminal

_WIDEST = 560  # in pixels; a longer sequence continues on a line of its own


def diagrams(grammar: Grammar, section: str) -> str:
    """The figures of all rules that a section shows, as HTML in one line: Markdown ends HTML at a blank line."""
    rules = [name for name, shown_in in grammar.sections.items() if shown_in == section]
    return "".join(_figure(name, grammar.rules[name]) for name in rules)


def _figure(name: str, node: Node) -> str:
    parts: list[str] = []
    lines = _lines(node)
    content = lines[0] if len(lines) == 1 else railroad.Stack(*lines)
    railroad.Diagram(content).writeSvg(parts.append)
    svg = "".join(parts).replace("\n", "")
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{name}: railroad diagram" ', 1)
    return f'<figure class="railroad"><figcaption>{name}</figcaption><div tabindex="0">{svg}</div></figure>'


def _lines(node: Node) -> list[railroad.DiagramItem]:
    """The parts of a sequence, of which each line has as many as fit."""
    if not isinstance(node, Sequence):
        return [_drawn(node)]
    lines: list[list[railroad.DiagramItem]] = [[]]
    width = 0.0
    for item in _folded(node.items):
        if lines[-1] and width + item.width > _WIDEST:
            lines.append([])
            width = 0.0
        lines[-1].append(item)
        width += item.width + 20
    return [railroad.Sequence(*line) for line in lines]


def _folded(items: tuple[Node, ...]) -> list[railroad.DiagramItem]:
    """The items; `x { "," x }` becomes one loop through x, with the comma on the way back."""
    drawn, i = [], 0
    while i < len(items):
        after = items[i + 1] if i + 1 < len(items) else None
        if isinstance(after, Repeated) and after.item == items[i]:
            drawn.append(railroad.OneOrMore(_drawn(items[i])))
            i += 1
        elif isinstance(after, Repeated) and isinstance(after.item, Sequence) and after.item.items[1:] == (items[i],):
            drawn.append(railroad.OneOrMore(_drawn(items[i]), _drawn(after.item.items[0])))
            i += 1
        else:
            drawn.append(_drawn(items[i]))
        i += 1
    return drawn


def _drawn(node: Node) -> railroad.DiagramItem:
    if isinstance(node, Terminal):
        return railroad.Terminal(node.text)
    if isinstance(node, Rule):
        return railroad.NonTerminal(node.name)
    if isinstance(node, Choice):
        return railroad.Choice(0, *map(_drawn, node.items))
    if isinstance(node, Optional):
        return railroad.Optional(_drawn(node.item))
    if isinstance(node, Repeated):
        return railroad.ZeroOrMore(_drawn(node.item))
    return railroad.Sequence(*_folded(node.items))
