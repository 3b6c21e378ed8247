// Draws the automaton of the pattern: a node for each element, an arrow for each way from one to the next.

import { $, colourOf, html, svg } from './elements.js';

const GAP = 34;
const MIDDLE = 62;

export function drawAutomaton(answer, now) {
  const { elements, edges, begins, ends } = answer.automaton;
  const names = answer.variables.map((name) => name.toUpperCase());
  const widths = elements.map((element) => Math.max(40, element.text.length * 8 + 22));
  let x = GAP;
  const nodes = elements.map((element, i) => {
    const node = { x, width: widths[i], label: names.indexOf(element.variable.toUpperCase()) };
    x += widths[i] + GAP;
    return node;
  });
  const tall = Math.max(0, ...edges.map(([a, b]) => Math.abs(b - a)), ...begins);
  const height = MIDDLE + 44 + Math.min(tall, 5) * 8;
  const shapes = [
    ...edges.map(([a, b]) => arrow(nodes, a, b)),
    ...begins.filter((b) => b > 0).map((b) => path(`M 8 ${MIDDLE} Q ${nodes[b].x / 2} ${MIDDLE + 34 + b * 8} ${nodes[b].x + 8} ${MIDDLE + 17}`)),
    ...(begins.includes(0) ? [path(`M 8 ${MIDDLE} L ${nodes[0].x - 3} ${MIDDLE}`)] : []),
    ...nodes.map((node, i) => drawn(node, elements[i].text, ends.includes(i), now === i)),
  ];
  const said = elements.map((element, i) => element.text + (now === i ? ' (current)' : '')).join(', then ');
  $('automaton').replaceChildren(
    svg('svg', { viewBox: `0 0 ${x} ${height}`, role: 'img', 'aria-label': `Automaton: ${said}`, style: { maxWidth: `${x}px`, minWidth: `${Math.min(x, 330)}px` } },
      svg('defs', {}, svg('marker', { id: 'tip', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' },
        svg('path', { d: 'M0 0 8 4 0 8z', class: 'head-of-arrow' }))),
      ...shapes),
  );
}

const path = (d) => svg('path', { d, class: 'arrow', 'marker-end': 'url(#tip)' });

function arrow(nodes, a, b) {
  const [from, to] = [nodes[a], nodes[b]];
  const middle = (node) => node.x + node.width / 2;
  if (a === b) return path(`M ${middle(from) + 9} ${MIDDLE - 17} C ${middle(from) + 24} ${MIDDLE - 46} ${middle(from) - 24} ${MIDDLE - 46} ${middle(from) - 9} ${MIDDLE - 19}`);
  if (b === a + 1) return path(`M ${from.x + from.width} ${MIDDLE} L ${to.x - 3} ${MIDDLE}`);
  const bend = b > a ? 1 : -1;
  const control = MIDDLE + bend * (36 + Math.abs(b - a) * 8);
  return path(`M ${middle(from)} ${MIDDLE + bend * 17} Q ${(middle(from) + middle(to)) / 2} ${control} ${middle(to)} ${MIDDLE + bend * 19}`);
}

function drawn(node, text, isEnd, isNow) {
  const stroke = colourOf(node.label);
  const box = { x: node.x, y: MIDDLE - 17, width: node.width, height: 34, rx: 17 };
  return svg('g', { class: isNow ? 'is-now' : '' },
    svg('rect', { ...box, class: `node${isNow ? ' now' : ''}`, style: { stroke, fill: isNow ? `color-mix(in srgb, ${stroke} 25%, var(--card))` : '' } }),
    isEnd ? svg('rect', { ...box, x: box.x + 3.5, y: box.y + 3.5, width: box.width - 7, height: 27, rx: 13.5, class: 'ring', style: { stroke } }) : null,
    svg('text', { x: node.x + node.width / 2, y: MIDDLE, class: 'mono' }, text));
}

export function legend(answer) {
  const items = answer.variables.map((name, label) =>
    html('span', {}, html('i', { class: 'swatch', colour: colourOf(label) }), name));
  items.push(html('span', {}, html('i', { class: 'swatch hollow', colour: 'var(--quiet)' }), 'hollow: lacked one row'));
  $('legend').replaceChildren(...items);
}
