// Draws the automaton of the pattern, whose places the server computes, in the colours of its variables.

import { $, colourOf, html, svg } from './elements.js';

export function drawAutomaton({ automaton, variables }, now) {
  const { elements, picture, refusal } = automaton;
  if (!picture) return $('automaton').replaceChildren(html('p', { class: 'quiet' }, refusal));
  const names = variables.map((name) => name.toUpperCase());
  const label = (element) => names.indexOf(elements[element].variable.toUpperCase());
  const { width, height, box_height: tall, boxes, lines, notes, title } = picture;
  const current = boxes.find((box) => box.element !== null && box.element === now);
  return $('automaton').replaceChildren(
    svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': current ? `${title}. The current one is ${current.text}.` : title, style: { maxWidth: `${width}px`, minWidth: `${Math.min(width, 330)}px` } },
      svg('defs', {}, svg('marker', { id: 'tip', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' },
        svg('path', { d: 'M0 0 8 4 0 8z', class: 'head-of-arrow' }))),
      ...lines.flatMap((line) => [svg('path', { d: line.path, class: 'arrow', 'marker-end': 'url(#tip)' }), line.label ? svg('text', { x: line.x, y: line.y, class: 'small middle' }, line.label) : null]),
      ...boxes.map((box) => node(box, tall, box.element === null ? 'var(--quiet)' : colourOf(label(box.element)), box === current)),
      ...notes.map((note, i) => svg('text', { x: 8, y: height - 18 * (notes.length - 1 - i) - 6, class: 'small' }, note))),
  );
}

function node({ left, top, width, radius, text }, tall, stroke, isNow) {
  return svg('g', { class: isNow ? 'is-now' : null },
    svg('rect', { x: left, y: top, width, height: tall, rx: radius, class: `node${isNow ? ' now' : ''}`, style: { stroke, fill: isNow ? `color-mix(in srgb, ${stroke} 25%, var(--card))` : '' } }),
    svg('text', { x: left + width / 2, y: top + tall / 2, class: 'mono' }, text));
}

export function legend(answer) {
  const items = answer.variables.map((name, label) =>
    html('span', {}, html('i', { class: 'swatch', colour: colourOf(label) }), name));
  items.push(html('span', {}, html('i', { class: 'swatch hollow', colour: 'var(--quiet)' }), 'hollow: lacked one row'));
  $('legend').replaceChildren(...items);
}
