// The table of rows with the truth of their conditions, a hundred rows at a time.

import { $, colourOf, html } from './elements.js';
import { labelled } from './timeline.js';

const PAGE = 100;
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
    const { answer, table, stream, step, row: chosen } = view;
    const n = answer.order.length;
    if (this.first >= n) this.first = 0;
    const last = Math.min(n, this.first + PAGE);
    const names = labelled(answer);
    const head = html('tr', {}, html('th', { scope: 'col' }, 'Row'),
      ...table.columns.map((column) => html('th', { scope: 'col', class: column.numbers && !column.is_time ? 'number' : '' }, column.name)),
      ...answer.variables.map((name, i) => html('th', { scope: 'col', class: 'dot-cell', colour: colourOf(i) }, name)),
      html('th', { scope: 'col' }, 'Match'));
    const body = [];
    for (let i = this.first; i < last; i++) {
      const row = answer.order[i];
      const match = names.match[i];
      const classes = [match >= 0 && 'match', match % 2 === 1 && 'odd', step?.row === i && 'now', row === chosen && 'chosen', stream?.waiting.has(i) && 'waiting'];
      body.push(html('tr', { class: classes.filter(Boolean).join(' ') || null },
        html('td', {}, html('button', { type: 'button', 'aria-label': `Why: row ${row + 1}`, on: { click: () => this.clicked(row) } }, `${row + 1}`)),
        ...table.columns.map((column) => html('td', { class: column.cells[row] === null ? 'null' : column.numbers && !column.is_time ? 'number' : null }, column.cells[row] ?? 'NULL')),
        ...answer.truth.map((truth) => html('td', { class: 'dot-cell' }, html('i', { class: `dot ${truth[i]}` }), html('span', { class: 'sr' }, TRUTHS[truth[i]]))),
        html('td', { colour: match >= 0 ? colourOf(names.label[i]) : null },
          match >= 0 ? `${answer.matches[match].number} as ${answer.variables[names.label[i]]}` : stream?.kept.has(i) ? 'kept' : '')));
    }
    $('rows').replaceChildren(html('table', {}, html('thead', {}, head), html('tbody', {}, ...body)));
    $('pages').hidden = n <= PAGE;
    $('page-text').textContent = `Rows ${this.first + 1} to ${last} of ${n.toLocaleString('en')}`;
    $('page-back').disabled = this.first === 0;
    $('page-forward').disabled = last === n;
  }
}
