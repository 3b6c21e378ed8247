// Goes forward and back through the steps of the search.

import { $ } from './elements.js';

const REASONS = {
  WITHIN: 'it is too late for WITHIN', 'PARTITION END': 'there is no further row in its partition',
  '^': '^ needs the first row of the partition', $: '$ needs the last row of the partition',
  '!': 'the row that must be absent is there', POSSESSIVE: 'a possessive loop gives no row back', UNTIL: 'the row ends the loop of UNTIL',
};

export class Steps {
  /** `load()` asks for the steps; `changed()` is called when another step is shown. */
  constructor(load, changed) {
    this.load = load;
    this.changed = changed;
    this.close();
    $('step-forward').addEventListener('click', () => this.to(this.at + 1));
    $('step-back').addEventListener('click', () => this.to(this.at - 1));
    $('step-first').addEventListener('click', () => this.to(0));
    $('step-close').addEventListener('click', () => { this.close(); this.changed(); });
    $('step').addEventListener('input', (event) => this.to(Number(event.target.value)));
  }

  close() {
    this.steps = null;
    this.at = -1;
    this.show(null);
  }

  async to(at) {
    if (!this.steps) {
      const found = await this.load();
      if (!found.steps) return;
      ({ steps: this.steps, skip: this.skip, is_complete: this.isComplete } = found);
    }
    this.at = Math.max(0, Math.min(at, this.steps.length - 1));
    this.changed();
  }

  /** The current step: {row, taken, label, element}; null while the search is not shown. */
  get current() {
    const step = this.steps?.[this.at];
    if (!step) return null;
    const [kind, start, row, label, element, taken] = step;
    return { kind, start, row, label, element, taken };
  }

  show(answer) {
    const step = this.current;
    $('step-back').disabled = $('step-first').disabled = !step || this.at === 0;
    $('step-forward').disabled = Boolean(step) && this.at === this.steps.length - 1;
    $('step-close').hidden = !step;
    $('step').max = this.steps ? this.steps.length - 1 : 0;
    $('step').disabled = !step;
    $('step').value = Math.max(0, this.at);
    $('step-text').textContent = step && answer ? `${this.at + 1} of ${this.steps.length}${this.isComplete ? '' : '+'}: ${this.said(step, answer)}` : 'Step through the search: which row is tested for which variable, and why it fails.';
  }

  said(step, answer) {
    const number = (row) => (row < answer.order.length ? `row ${answer.order[row] + 1}` : 'the end');
    const name = step.label === null ? '' : answer.variables[step.label];
    if (step.kind === 'taken') return `${number(step.row)} is ${name}.`;
    if (step.kind === 'match') return `a match from ${number(step.start)}: ${step.taken.length} rows. AFTER MATCH ${this.skip}: the search goes on ${this.next(number)}.`;
    if (step.kind === 'no match') return `no match from ${number(step.start)}. The search goes on ${this.next(number)}.`;
    if (step.kind === 'FALSE' || step.kind === 'NULL') return `${number(step.row)} cannot be ${name}: ${this.failed(step, answer)}.`;
    return `${number(step.row)} cannot be ${name || 'here'}: ${REASONS[step.kind] ?? step.kind}.`;
  }

  failed(step, answer) {
    const conjuncts = answer.conjuncts[step.label];
    const failed = conjuncts.filter((c) => c.truth && c.truth[step.row] !== 't');
    const shown = failed.length ? failed : conjuncts.filter((c) => !c.truth);
    const what = step.kind === 'NULL' ? 'NULL' : 'false';
    return shown.map((c) => `${c.text} is ${c.truth ? (c.truth[step.row] === 'n' ? 'NULL' : 'false') : what}`).join(', ') || `its condition is ${what}`;
  }

  next(number) {
    const later = this.steps[this.at + 1];
    return later ? `at ${number(later[1])}` : 'nowhere: all rows are searched';
  }
}
