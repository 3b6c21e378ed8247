// The editor: a textarea, the same text with colours behind it, errors, and completions.

import { $, colourOf, html, pageOf } from './elements.js';

const TOKEN = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^'\\]|\\.|'')*'?|"(?:[^"\\]|\\.)*"?)|(\b\d+(?:\.\d+)?\b)|(`[^`]*`?|[\p{L}_][\p{L}\p{N}_]*)/gu;

export class Editor {
  /** `changed(text)` is called when the user has changed the text; `textAbout(name)` is the page about an error. */
  constructor(changed, textAbout) {
    this.textAbout = textAbout;
    this.area = $('text');
    this.behind = $('behind');
    this.words = { keywords: new Set(), functions: [], columns: [], variables: [] };
    this.errors = [];
    this.lit = null;
    this.completion = new Completion(this);
    this.area.addEventListener('input', () => {
      this.draw();
      this.completion.propose();
      changed(this.text);
    });
    this.area.addEventListener('scroll', () => this.scrolled());
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
    this.area.rows = Math.min(Math.max(text.split('\n').length + 1, 8), 18);
    this.completion.close();
    this.draw();
  }

  scrolled() {
    this.behind.scrollTop = this.area.scrollTop;
    this.behind.scrollLeft = this.area.scrollLeft;
  }

  /** Shows errors, each with its characters `start` to `stop`, in a text with these pattern variables. */
  show(errors, variables = this.words.variables) {
    if (!errors.length && !this.errors.length && variables.join() === this.words.variables.join()) return;
    this.errors = errors;
    this.words.variables = variables;
    this.draw();
    $('errors').replaceChildren(...errors.map((error) => this.described(error)));
    if (errors.length) this.area.setAttribute('aria-invalid', 'true');
    else this.area.removeAttribute('aria-invalid');
  }

  /** Lights the characters of the current element; null for none. */
  light(range) {
    if (`${range}` === `${this.lit}`) return;
    this.lit = range;
    this.draw();
  }

  described(error) {
    const excerpt = [];
    if (error.start !== null) {
      const characters = [...this.text];
      const before = characters.slice(0, error.start).join('');
      const first = before.lastIndexOf('\n') + 1;
      const line = this.text.slice(first).split('\n')[0];
      const number = `${before.split('\n').length}`.padStart(3);
      const length = Math.max(1, Math.min(error.stop - error.start, [...line].length - [...before.slice(first)].length));
      const pad = before.slice(first).replace(/[^\t]/gu, ' ');
      excerpt.push(html('pre', {}, `${number} | ${line}\n    | ${pad}`, html('span', { class: 'caret' }, '^'.repeat(length))));
    }
    return html('div', { class: 'error', 'data-class': error.class },
      html('div', {}, error.message), ...excerpt,
      error.hint ? html('div', { class: 'hint' }, `Hint: ${error.hint}`) : null,
      error.class ? this.about(error.class) : null);
  }

  /** The page of the documentation about an error, which is asked for when it is opened. */
  about(name) {
    const page = html('div', { class: 'page', tabindex: 0, role: 'region', 'aria-label': name });
    const details = html('details', {}, html('summary', {}, `About ${name}`), page);
    details.addEventListener('toggle', async () => {
      if (details.open && !page.textContent) page.replaceChildren(...pageOf(await this.textAbout(name)));
    });
    return details;
  }

  draw() {
    const parts = [];
    const characters = [...this.text]; // one of Python's may be two units of a text of JavaScript
    const unit = (character) => characters.slice(0, character).join('').length;
    const marks = [...this.errors.filter((e) => e.start !== null).map((e) => [e.start, e.stop, 'e']), ...(this.lit ? [[...this.lit, 'lit']] : [])];
    this.ranges = marks.map(([start, stop, mark]) => [unit(start), unit(stop), mark]);
    let at = 0;
    for (const match of this.text.matchAll(TOKEN)) {
      parts.push([at, match.index, '']);
      at = match.index + match[0].length;
      parts.push([match.index, at, this.kindOf(match)]);
    }
    parts.push([at, this.text.length, '']);
    this.behind.replaceChildren(...parts.flatMap((part) => this.pieces(...part)), '\n');
  }

  kindOf([, comment, string, number, word]) {
    if (comment !== undefined) return 'c';
    if (string !== undefined) return 's';
    if (number !== undefined) return 'd';
    const label = this.words.variables.findIndex((name) => name.toLowerCase() === word.toLowerCase());
    if (label >= 0) return `v ${label}`;
    return this.words.keywords.has(word.toUpperCase()) && !this.words.columns.includes(word) ? 'k' : '';
  }

  /** A part of the text, cut where an error or the lit element begins or ends. */
  pieces(from, to, kind) {
    if (from === to) return [];
    const cuts = [from, to, ...this.ranges.flat().filter((x) => typeof x === 'number' && x > from && x < to)];
    cuts.sort((a, b) => a - b);
    return cuts.slice(1).map((stop, i) => {
      const marks = this.ranges.filter(([a, b]) => a < stop && b > cuts[i]).map(([, , mark]) => mark);
      const text = this.text.slice(cuts[i], stop);
      const [name, label] = kind.split(' ');
      const classes = [name, ...marks].filter(Boolean).join(' ');
      return classes ? html('span', { class: classes, colour: name === 'v' ? colourOf(+label) : null }, text) : text;
    });
  }
}

/** Proposes columns, variables, functions and keywords that begin like the word before the caret. */
class Completion {
  constructor(editor) {
    this.editor = editor;
    this.list = $('completions');
    this.chosen = -1;
    editor.area.addEventListener('keydown', (event) => this.key(event));
    editor.area.addEventListener('blur', () => this.close());
  }

  get isOpen() {
    return !this.list.hidden;
  }

  propose() {
    const { area, words } = this.editor;
    const before = area.value.slice(0, area.selectionStart);
    const [word] = /[\p{L}_][\p{L}\p{N}_]*$/u.exec(before) ?? [''];
    if (!word || /^[\p{L}\p{N}_]/u.test(area.value.slice(area.selectionStart))) return this.close();
    const isLike = (name) => name.toLowerCase().startsWith(word.toLowerCase()) && name.toLowerCase() !== word.toLowerCase();
    const functions = words.functions.filter((f) => isLike(f.name));
    const keywords = word.length > 1 ? [...words.keywords].filter(isLike) : [];
    const found = [
      ...words.columns.filter(isLike).map((name) => [name, 'column']),
      ...words.variables.filter(isLike).map((name) => [name, 'variable']),
      ...functions.slice(0, 8).map((f) => [f.name, 'function', f]),
      ...keywords.filter((name) => !functions.some((f) => f.name === name)).slice(0, 8).map((name) => [name, '']),
    ];
    if (!found.length) return this.close();
    this.word = word;
    this.list.replaceChildren(...found.map(([name, kind, about], i) => html('li',
      { role: 'option', id: `completion-${i}`, 'data-name': name, on: { mousedown: (e) => { e.preventDefault(); this.take(name); } } },
      name, html('span', {}, kind), about ? html('div', {}, about.form, html('p', {}, about.says), about.example) : null)));
    this.list.hidden = false;
    this.choose(0, false);
    this.place(before);
  }

  place(before) {
    const lines = before.split('\n');
    const { area } = this.editor;
    const style = getComputedStyle(area);
    const canvas = (this.canvas ??= document.createElement('canvas').getContext('2d'));
    canvas.font = `${style.fontSize} ${style.fontFamily}`;
    const left = canvas.measureText(lines.at(-1)).width + parseFloat(style.paddingLeft) - area.scrollLeft;
    const top = lines.length * parseFloat(style.lineHeight) + parseFloat(style.paddingTop) - area.scrollTop;
    this.list.style.left = `${Math.max(0, Math.min(left, area.clientWidth - 170))}px`;
    this.list.style.top = `${top + 2}px`;
  }

  choose(number, byKey = true) {
    this.chosen = number;
    this.byKey = byKey;
    [...this.list.children].forEach((item, i) => item.setAttribute('aria-selected', String(i === number)));
    this.editor.area.setAttribute('aria-activedescendant', `completion-${number}`);
    this.list.children[number]?.scrollIntoView({ block: 'nearest' });
  }

  key(event) {
    if (!this.isOpen) return;
    const count = this.list.children.length;
    if (event.key === 'ArrowDown') this.choose((this.chosen + 1) % count);
    else if (event.key === 'ArrowUp') this.choose((this.chosen + count - 1) % count);
    else if (event.key === 'Tab' || (event.key === 'Enter' && this.byKey)) this.take(this.list.children[this.chosen].dataset.name);
    else if (event.key === 'Escape') this.close();
    else return;
    event.preventDefault();
  }

  take(name) {
    const { area } = this.editor;
    const at = area.selectionStart;
    area.setRangeText(name, at - this.word.length, at, 'end');
    this.close();
    area.dispatchEvent(new Event('input'));
    this.close();
  }

  close() {
    this.list.hidden = true;
    this.editor.area.removeAttribute('aria-activedescendant');
  }
}
