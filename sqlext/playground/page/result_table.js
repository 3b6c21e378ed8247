// The rows of the clause's result: the values of MEASURES, and the columns that the result shows.

import { $, html } from './elements.js';

export class ResultTable {
  draw({ result }) {
    const count = result.rows === undefined ? '' : `${result.rows.toLocaleString('en')} ${result.rows === 1 ? 'row' : 'rows'}`;
    const shown = result.columns?.[0]?.cells.length ?? 0;
    $('result-title').textContent = count ? `Result: ${count}` : 'Result';
    $('result-note').textContent = result.refusal ?? (shown < result.rows && shown ? `The first ${shown} are shown.` : '');
    $('result').hidden = !shown;
    if (shown) this.fill(result.columns, shown);
  }

  /** Writes the values into the cells, which are made anew for other columns or another number of rows. */
  fill(columns, rows) {
    const shape = JSON.stringify([rows, columns.map(({ name, type }) => [name, type])]);
    if (shape !== this.shape) this.build(columns, rows);
    this.shape = shape;
    columns.forEach(({ cells }, i) => cells.forEach((text, row) => {
      if (text === this.written[i][row]) return;
      this.written[i][row] = text;
      this.cells[i][row].textContent = text ?? 'NULL';
      this.cells[i][row].classList.toggle('null', text === null);
    }));
  }

  build(columns, rows) {
    const isNumber = ({ type }) => /int|double|float|decimal/.test(type) && !type.includes('<');
    this.cells = columns.map((column) => Array.from({ length: rows }, () => html('td', { class: isNumber(column) ? 'number' : '' })));
    this.written = columns.map(() => []);
    const head = columns.map((column) => html('th', { scope: 'col', class: isNumber(column) ? 'number' : '', title: column.type }, column.name));
    const lines = Array.from({ length: rows }, (_, row) => html('tr', {}, ...this.cells.map((cells) => cells[row])));
    $('result').replaceChildren(html('table', {}, html('thead', {}, html('tr', {}, ...head)), html('tbody', {}, ...lines)));
  }
}
