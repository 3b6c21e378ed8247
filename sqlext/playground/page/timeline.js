// Draws the rows on a time axis: a panel for each partition, matches as spans, rows in the colours of their variables.

import { $, colourOf, svg } from './elements.js';

const LEFT = 52;
const RIGHT = 14;
const TOP = 20;
const MOST_PANELS = 6;

/** What is drawn of each row: its label in a match, or in an attempt that lacked one row; -1 if there is none. */
export function labelled(answer, isShown = () => true) {
  const n = answer.order.length;
  const found = { label: new Int16Array(n).fill(-1), match: new Int32Array(n).fill(-1), near: new Int16Array(n).fill(-1) };
  answer.matches.forEach((match, i) => {
    if (!isShown(match)) return;
    match.rows.forEach((row, j) => {
      if (found.match[row] >= 0) return;
      found.match[row] = i;
      found.label[row] = match.labels[j];
    });
  });
  const longest = new Int32Array(n);
  answer.near.forEach((attempt) => attempt.rows.forEach((row, j) => {
    if (attempt.rows.length > longest[row]) {
      longest[row] = attempt.rows.length;
      found.near[row] = attempt.labels[j];
    }
  }));
  return found;
}

/** The numbers of a column; texts become 0, 1, … in the order in which they first come. */
export function heights(column) {
  if (!column) return { numbers: null, names: null };
  if (column.numbers) return { numbers: column.numbers, names: null };
  const names = [...new Set(column.cells.filter((cell) => cell !== null))].slice(0, 12);
  return { numbers: column.cells.map((cell) => (names.includes(cell) ? names.indexOf(cell) : null)), names };
}

export class Timeline {
  /** `clicked(row)` gets a row of the table. */
  constructor(clicked) {
    this.box = $('timeline');
    this.clicked = clicked;
    this.box.addEventListener('click', (event) => this.click(event));
    // asking the box for its width in `draw` would make the browser compute a layout that the next lines change
    this.boxWidth = this.box.clientWidth;
    new ResizeObserver(([{ contentRect }]) => {
      if (this.boxWidth === contentRect.width) return;
      this.boxWidth = contentRect.width;
      if (this.view) this.draw(this.view);
    }).observe(this.box);
  }

  /** `view`: {table, answer, height: a column, stream, step, row}. */
  draw(view) {
    this.view = view;
    const { answer, table } = view;
    this.width = Math.max(240, this.boxWidth);
    const time = table.columns.find((column) => column.name.toLowerCase() === (answer.time ?? '').toLowerCase());
    const xs = answer.order.map((row, i) => time?.numbers?.[row] ?? (time?.numbers ? null : i));
    this.isTime = Boolean(time?.is_time);
    const y = heights(view.height);
    this.x = scale(xs, LEFT, this.width - RIGHT);
    const panels = this.panels();
    const tall = panels.length > 1 ? Math.max(84, 190 - 22 * panels.length) : Math.min(270, Math.max(190, this.width / 2.6));
    const names = labelled(answer, view.stream ? (match) => view.stream.isEmitted(match) : undefined);
    this.places = [];
    const shapes = panels.map((p, i) => this.panel(p, i * (tall + 26), tall, xs, y, names));
    const bottom = panels.length * (tall + 26);
    const rest = answer.bounds.length - 1 - panels.length;
    this.box.replaceChildren(svg('svg', {
      viewBox: `0 0 ${this.width} ${bottom + 22}`, height: bottom + 22, role: 'img',
      'aria-label': `${answer.matches.length} matches in ${answer.order.length} rows over ${answer.time ?? 'their order'}. The table below has the same rows.`,
    }, ...shapes, ...this.axis(xs, bottom),
    rest > 0 ? svg('text', { x: LEFT, y: 12, class: 'small' }, `${rest} more partitions are in the table`) : null));
  }

  /** The partitions that are drawn: those with matches, or with near misses, first. */
  panels() {
    const { bounds, matches, near } = this.view.answer;
    const all = bounds.slice(1).map((_, p) => p);
    if (all.length <= MOST_PANELS) return all;
    const of = (row) => bounds.findLastIndex((first) => first <= row);
    const weight = new Map();
    for (const attempt of near) weight.set(of(attempt.rows[0]), 1);
    for (const match of matches) if (match.rows.length) weight.set(of(match.rows[0]), 2);
    return all.sort((a, b) => (weight.get(b) ?? 0) - (weight.get(a) ?? 0) || a - b).slice(0, MOST_PANELS).sort((a, b) => a - b);
  }

  panel(p, top, tall, xs, ys, names) {
    const { answer, table, stream, step } = this.view;
    const [first, stop] = [answer.bounds[p], answer.bounds[p + 1]];
    const rows = Array.from({ length: stop - first }, (_, i) => first + i);
    const y = scale(answer.order.map((row) => ys.numbers?.[row] ?? null), top + tall - 8, top + TOP + 8);
    const at = (row) => [this.x(xs[row]), ys.numbers ? y(ys.numbers[answer.order[row]]) : top + tall / 2];
    const base = top + tall;
    const shapes = [svg('line', { x1: LEFT, x2: this.width - RIGHT, y1: base, y2: base, class: 'axis' })];
    const numbers = [];
    const spans = new Map(); // those of one look are one path, as dots are
    answer.matches.forEach((match, i) => {
      if (!match.rows.length || match.rows[0] < first || match.rows[0] >= stop) return;
      const [a, b] = [this.x(xs[match.rows[0]]) - 6, this.x(xs[match.rows.at(-1)]) + 6];
      const look = `span${i % 2 ? ' odd' : ''}${stream && !stream.isEmitted(match) ? ' open' : ''}`;
      spans.set(look, `${spans.get(look) ?? ''}${rounded(a, top + TOP, b - a, tall - TOP)}`);
      if (b - a > 22 || answer.matches.length < 20) numbers.push(svg('text', { x: a + 5, y: top + TOP - 4, class: 'small' }, `${match.number}`));
    });
    shapes.push(...[...spans].map(([look, d]) => svg('path', { d, class: look })), ...numbers);
    if (table.rows <= 3000 && ys.numbers && !ys.names) {
      const line = rows.map(at).filter(([x, h]) => Number.isFinite(x) && Number.isFinite(h)).map(([x, h]) => `${x.toFixed(1)},${h.toFixed(1)}`);
      shapes.push(svg('polyline', { points: line.join(' '), class: 'series' }));
    }
    shapes.push(...labels(ys, y));
    const key = answer.keys.map((name) => `${name} ${table.columns.find((c) => c.name.toLowerCase() === name.toLowerCase())?.cells[answer.order[first]] ?? ''}`).join(', ');
    if (key) shapes.push(svg('text', { x: this.width - RIGHT, y: top + 13, 'text-anchor': 'end' }, key));
    const dots = this.dots(names);
    const kept = [];
    const rings = [];
    for (const row of rows) {
      const [cx, cy] = at(row);
      if (!Number.isFinite(cx)) continue;
      const h = Number.isFinite(cy) ? cy : base - 8;
      this.places.push([cx, h, row]);
      dots.add(row, cx, h);
      if (stream?.kept.has(row)) kept.push(`M${(cx - 4).toFixed(1)} ${base + 4}h8`);
      if (answer.order[row] === this.view.row) rings.push(svg('circle', { cx, cy: h, r: 7, class: 'chosen' }));
    }
    if (kept.length) shapes.push(svg('path', { d: kept.join(''), class: 'kept' }));
    shapes.push(...dots.shapes(), ...rings);
    if (stream) shapes.push(...this.watermark(stream, top, tall));
    if (step) {
      for (const row of step.taken) if (row >= first && row < stop) shapes.push(svg('circle', { cx: at(row)[0], cy: at(row)[1], r: 8, class: 'taken' }));
      if (step.row >= first && step.row < stop) shapes.push(svg('circle', { cx: at(step.row)[0], cy: at(step.row)[1], r: 11, class: 'cursor' }));
    }
    return svg('g', {}, ...shapes);
  }

  /** Dots of one look are one path, so that a thousand rows are few elements. */
  dots(names) {
    const { stream, answer } = this.view;
    const dense = answer.order.length > 300;
    const radius = dense ? { match: 3, near: 3, other: 1.8 } : { match: 5.5, near: 5, other: 3.2 };
    const groups = new Map();
    return {
      add(row, x, y) {
        const kind = names.match[row] >= 0 ? 'match' : names.near[row] >= 0 ? 'near' : 'other';
        const label = kind === 'match' ? names.label[row] : kind === 'near' ? names.near[row] : -1;
        const look = `${kind}${stream?.waiting.has(row) ? ' waiting' : ''}`;
        const key = `${look} ${label}`;
        if (!groups.has(key)) groups.set(key, { kind, look, label, places: [] });
        groups.get(key).places.push(`M${x.toFixed(1)} ${y.toFixed(1)}h0`);
      },
      shapes: () => [...groups.values()].flatMap(({ kind, look, label, places }) => {
        const d = places.join('');
        const dot = (width, stroke, name = '') => svg('path', { d, class: `dots ${look}${name}`, 'stroke-width': width, style: stroke ? { stroke } : {} });
        const r = radius[kind];
        if (kind === 'near') return [dot(2 * r + 2, colourOf(label)), dot(2 * r - 2, null, ' inner')];
        return [dot(2 * r, label < 0 ? null : colourOf(label))];
      }),
    };
  }

  watermark(stream, top, tall) {
    if (stream.watermark === null) return [];
    const at = Math.min(Math.max(this.x(stream.watermark), LEFT - 8), this.width - RIGHT + 8);
    return [
      svg('rect', { x: LEFT - 8, y: top + TOP, width: Math.max(0, at - LEFT + 8), height: tall - TOP, class: 'late' }),
      svg('line', { x1: at, x2: at, y1: top + 10, y2: top + tall + 6, class: 'now-line' }),
    ];
  }

  axis(xs, bottom) {
    const known = xs.filter((x) => x !== null);
    if (!known.length) return [];
    const [low, high] = extent(known);
    const count = this.width < 480 ? 2 : 4;
    return Array.from({ length: count + 1 }, (_, i) => {
      const value = low + ((high - low) * i) / count;
      const anchor = i === 0 ? 'start' : i === count ? 'end' : 'middle';
      return svg('text', { x: this.x(value), y: bottom + 12, 'text-anchor': anchor, class: 'small' }, this.shown(value, high - low));
    });
  }

  shown(value, range) {
    if (!this.isTime) return Number.isInteger(value) ? `${value}` : value.toPrecision(4);
    return shownTime(value, range);
  }

  click(event) {
    if (!this.places?.length) return;
    const box = this.box.firstElementChild.getBoundingClientRect();
    const ratio = this.width / box.width;
    const [x, y] = [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
    const distance = ([a, b]) => (a - x) ** 2 + ((b - y) / 2) ** 2;
    const nearest = this.places.reduce((best, place) => (distance(place) < distance(best) ? place : best));
    this.clicked(this.view.answer.order[nearest[2]]);
  }
}

/** A time in milliseconds as text: with the date where the axis is longer than a day, with seconds where it is short. */
export function shownTime(value, range = 0) {
  const text = new Date(value).toISOString();
  if (range > 3 * 86_400_000) return text.slice(0, 10);
  if (range > 86_400_000) return text.slice(5, 16).replace('T', ' ');
  return text.slice(11, range < 600_000 ? 19 : 16);
}

export function extent(numbers) {
  let [low, high] = [Infinity, -Infinity];
  for (const number of numbers) {
    if (number === null) continue;
    if (number < low) low = number;
    if (number > high) high = number;
  }
  return [low, high];
}

/** The path of a box with rounded corners. */
function rounded(x, y, width, height, r = 6) {
  const arc = (dx, dy) => `a${r} ${r} 0 0 1 ${dx} ${dy}`;
  return `M${(x + r).toFixed(1)} ${y}h${(width - 2 * r).toFixed(1)}${arc(r, r)}v${height - 2 * r}${arc(-r, r)}h${(2 * r - width).toFixed(1)}${arc(-r, -r)}v${2 * r - height}${arc(r, -r)}z`;
}

function scale(numbers, from, to) {
  const [low, high] = extent(numbers);
  if (!(high > low)) return (value) => (value === null ? NaN : (from + to) / 2);
  return (value) => (value === null ? NaN : from + ((value - low) / (high - low)) * (to - from));
}

function labels(ys, y) {
  if (!ys.numbers) return [];
  if (ys.names) return ys.names.map((name, i) => svg('text', { x: LEFT - 12, y: y(i) + 4, 'text-anchor': 'end', class: 'small' }, name.slice(0, 8)));
  const [low, high] = extent(ys.numbers);
  const short = (value) => (Number.isInteger(value) ? `${value}` : value.toPrecision(3));
  if (!Number.isFinite(low)) return [];
  return [...new Set([low, high])].map((value) => svg('text', { x: LEFT - 12, y: y(value) + 4, 'text-anchor': 'end', class: 'small' }, short(value)));
}
