// The table of rows with the truth of their conditions, twenty-five rows at a time.
//
// The elements of a page of rows are made once, and a column of them for each variable. After a keystroke only what
// differs is written into them, so that the browser computes the layout of few cells.

import { $, colourOf, html } from './elements.js';
import { labelled } from './timeline.js';

const PAGE = 25;
const TRUTHS = { t: 'true', f: 'false', n: 'NULL', u: 'not tested' };

export class RowsTable {
  constructor(clicked) {
    this.clicked = clicked;
    this.first = 0;
    $('page-back').addEventListener('click', () => this.go(this.first - PAGE));
    $('page-forward').addEventListener('click', () => this.go(this.first + PAGE));
  }

  go(first) {
    this.first = Math.max(0, Math.min(first, Math.floor((this.view.answer.order.length - 1) / PAGE) * PAGE));
    this.draw(this.view);
    $('rows').scrollTop = 0;
  }

  /** Shows a row of the search. */
  reach(row) {
    this.first = Math.floor(row / PAGE) * PAGE;
  }

  draw(view) {
    this.view = view;
    const { answer, table } = view;
    const n = answer.order.length;
    if (this.first >= n) this.first = 0;
    const last = Math.min(n, this.first + PAGE);
    const shown = [table, answer.order.slice(this.first, last).join()];
    if (!this.shown?.every((part, i) => part === shown[i])) this.build(last);
    this.shown = shown;
    this.head(answer.variables);
    this.fill(labelled(answer));
    $('pages').hidden = n <= PAGE;
    $('page-text').textContent = `Rows ${this.first + 1} to ${last} of ${n.toLocaleString('en')}`;
    $('page-back').disabled = this.first === 0;
    $('page-forward').disabled = last === n;
  }

  /** Makes the elements of the rows up to `last`, with what no statement changes. */
  build(last) {
    const { answer, table } = this.view;
    this.heads = [];
    this.matchHead = html('th', { scope: 'col' }, 'Match');
    const head = html('tr', {}, html('th', { scope: 'col' }, 'Row'),
      ...table.columns.map((column) => html('th', { scope: 'col', class: column.numbers && !column.is_time ? 'number' : '' }, column.name)),
      this.matchHead);
    this.lines = answer.order.slice(this.first, last).map((row) => {
      const match = html('td');
      const line = html('tr', {},
        html('td', {}, html('button', { type: 'button', 'aria-label': `Why: row ${row + 1}`, on: { click: () => this.clicked(row) } }, `${row + 1}`)),
        ...table.columns.map((column) => html('td', { class: column.cells[row] === null ? 'null' : column.numbers && !column.is_time ? 'number' : null }, column.cells[row] ?? 'NULL')),
        match);
      return { line, dots: [], match, written: [] };
    });
    $('rows').replaceChildren(html('table', {}, html('thead', {}, head), html('tbody', {}, ...this.lines.map(({ line }) => line))));
  }

  /** Gives each variable a column with its name. */
  head(variables) {
    this.heads.splice(variables.length).forEach((cell) => cell.remove());
    for (const { dots } of this.lines) dots.splice(variables.length).forEach(({ cell }) => cell.remove());
    variables.forEach((name, i) => {
      if (i === this.heads.length) this.add(i);
      if (this.heads[i].textContent !== name) this.heads[i].textContent = name;
    });
  }

  add(i) {
    this.heads.push(html('th', { scope: 'col', class: 'dot-cell', colour: colourOf(i) }));
    this.matchHead.before(this.heads[i]);
    for (const { dots, match, written } of this.lines) {
      const [dot, word] = [html('i'), html('span', { class: 'sr' })];
      dots.push({ dot, word, cell: html('td', { class: 'dot-cell' }, dot, word) });
      match.before(dots[i].cell);
      written[1] = written[1]?.slice(0, i);
    }
  }

  /** Writes the conditions and matches of the answer into the rows. */
  fill(names) {
    const { answer, stream, step, row: chosen } = this.view;
    this.lines.forEach(({ line, dots, match: cell, written }, at) => {
      const i = this.first + at;
      const match = names.match[i];
      const classes = [match >= 0 && 'match', match % 2 === 1 && 'odd', step?.row === i && 'now', answer.order[i] === chosen && 'chosen', stream?.waiting.has(i) && 'waiting'];
      const truths = answer.truth.map((truth) => truth[i]).join('');
      const text = match >= 0 ? `${answer.matches[match].number} as ${answer.variables[names.label[i]]}` : stream?.kept.has(i) ? 'kept' : '';
      const colour = match >= 0 ? colourOf(names.label[i]) : '';
      const next = [classes.filter(Boolean).join(' '), truths, text, colour];
      if (next[0] !== written[0]) line.className = next[0];
      if (next[1] !== written[1]) {
        dots.forEach(({ dot, word }, label) => {
          if (truths[label] === written[1]?.[label]) return;
          dot.className = `dot ${truths[label]}`;
          word.textContent = TRUTHS[truths[label]];
        });
      }
      if (next[2] !== written[2]) cell.textContent = text;
      if (next[3] !== written[3]) cell.style.color = colour;
      written.splice(0, 4, ...next);
    });
  }
}
