// The page: what the user sees is one state, which the address after # holds too.

import { ask, giveRows, latest } from './ask.js';
import { drawAutomaton, legend } from './automaton.js';
import { Editor } from './editor.js';
import { $, html, sentence } from './elements.js';
import { acceptRows } from './own_rows.js';
import { ResultTable } from './result_table.js';
import { RowsTable } from './rows_table.js';
import { Steps } from './steps.js';
import { Timeline, extent, heights, shownTime } from './timeline.js';

const state = { table: '1', text: '', row: null, stream: false, watermark: null, height: null, step: -1 };
let lessons = [];
let own = null;
let table = null;
let answer = null;
let streamed = null;
let stops = [];
let bounds = [''];
let remembering = null;

const editor = new Editor((text) => {
  state.text = text;
  steps.close();
  editor.light(null);
  asked();
}, async (name) => (await ask('page', { name })).page);
const timeline = new Timeline(why);
const rows = new RowsTable(why);
const result = new ResultTable();
const steps = new Steps(async () => {
  const about = question();
  const found = await ask('steps', about);
  return isCurrent(about) ? found : {};
}, () => {
  const step = steps.current;
  if (!answer) return;
  state.step = steps.at;
  if (step && step.row < answer.order.length) rows.reach(step.row);
  draw();
  remember();
});

const question = () => ({ table: state.table, text: state.text });
/** Whether a question is about the rows and the text that the page shows. */
const isCurrent = (about) => table !== null && about.text === state.text && about.table === state.table;
const failed = (error) => editor.show([{ class: '', message: `The playground does not answer: ${error.message}`, hint: 'start sqlext playground again.', start: null, stop: null }]);
const askAnswer = latest('answer', answered, failed);
const askStream = latest('stream', (found) => { streamed = found; drawStream(); draw(); }, failed);

function asked() {
  askAnswer(question());
  remember();
}

function answered(found, about) {
  if (!isCurrent(about)) return;
  editor.show(found.errors ?? [], found.variables);
  $('stale').hidden = !found.errors || !answer;
  showLesson(found.passed);
  if (!found.errors) {
    answer = found;
    showControls();
    if (state.stream) askStream({ ...question(), watermark: state.watermark });
    else streamed = null;
    if (state.row !== null) askWhy({ ...question(), row: state.row });
    result.draw(answer);
    draw();
  }
  document.body.dataset.answered = about.text;
}

function draw() {
  if (!answer) return;
  const step = steps.current;
  const view = { table, answer, row: state.row, step, stream: state.stream && streamed?.times ? streamView() : null, height: heightColumn() };
  const { matches } = answer;
  $('summary').textContent = answer.failure ?? `${matches.length} ${matches.length === 1 ? 'match' : 'matches'} in ${answer.order.length.toLocaleString('en')} rows`;
  legend(answer);
  timeline.draw(view);
  rows.draw(view);
  drawAutomaton(answer, step?.element ?? null);
  const element = step && answer.automaton.elements[step.element];
  editor.light(element ? [element.start, element.stop] : null);
  steps.show(answer);
}

// rows

function heightColumn() {
  const named = table.columns.find((column) => column.name === state.height);
  if (named) return named;
  const words = (answer.words.toLowerCase().match(/[\p{L}_][\p{L}\p{N}_]*/gu) ?? []);
  const others = table.columns.filter((c) => !c.is_time && c.name.toLowerCase() !== (answer.time ?? '').toLowerCase());
  const rank = (c) => (words.includes(c.name.toLowerCase()) ? words.indexOf(c.name.toLowerCase()) : 1000);
  const best = (some) => [...some].sort((a, b) => rank(a) - rank(b))[0];
  return best(others.filter((c) => c.numbers)) ?? best(others);
}

async function open(name, text) {
  table = await ask('rows', { table: name }); // what is typed meanwhile belongs to the table before
  Object.assign(state, { table: name, text, row: null, stream: false, watermark: null, height: null, step: -1 });
  answer = null;
  $('tables').value = name;
  $('table-note').textContent = `${table.rows.toLocaleString('en')} ${table.rows === 1 ? 'row' : 'rows'} of ${table.name}. ${table.note}`;
  editor.words.columns = table.columns.map((column) => column.name);
  $('height').replaceChildren(html('option', { value: '' }, 'by itself'), ...table.columns.filter((c) => !c.is_time).map((c) => html('option', { value: c.name }, c.name)));
  rows.first = 0;
  steps.close();
  $('why').hidden = true;
  $('as-stream').checked = false;
  $('stream').hidden = true;
  showLesson(undefined);
  editor.text = text;
}

// lessons

// A browser may refuse to keep anything: then the lessons that are passed are known until the page is closed.
const passed = keptLessons();

function keptLessons() {
  try {
    return new Set(JSON.parse(localStorage.getItem('passed') ?? '[]'));
  } catch {
    return new Set();
  }
}

function keep(lesson) {
  passed.add(lesson);
  try {
    localStorage.setItem('passed', JSON.stringify([...passed]));
  } catch { /* it is known until the page is closed */ }
}

/** Shows the lesson, and whether the statement solves it. */
function showLesson(isSolved) {
  const lesson = lessons.find((l) => String(l.number) === state.table);
  $('lesson').hidden = !lesson;
  if (!lesson) return;
  const title = `Lesson ${lesson.number} of ${lessons.length}: ${lesson.title}`;
  if ($('lesson-title').textContent !== title) {
    $('lesson-title').textContent = title;
    $('lesson-task').textContent = lesson.task;
    $('lesson-hint').textContent = lesson.hint;
    $('lesson-help').open = false;
  }
  $('lesson').classList.toggle('passed', isSolved === true);
  $('lesson-passed').hidden = isSolved !== true;
  $('next-lesson').hidden = lesson.number === lessons.length;
  if (isSolved && !passed.has(lesson.number)) {
    keep(lesson.number);
    listTables();
  }
}

function listTables() {
  const options = lessons.map((l) => html('option', { value: String(l.number) }, `${passed.has(l.number) ? '✓ ' : ''}${l.number}. ${l.title}`));
  if (own) options.unshift(html('option', { value: 'own' }, own.name));
  $('tables').replaceChildren(...options);
  $('tables').value = state.table;
}

const source = (name) => (name === 'own' ? own : lessons.find((l) => String(l.number) === name));
const beginning = (name) => source(name).statement;

async function begin(name) {
  await open(name, beginning(name));
  asked();
}

async function take(name, content) {
  const given = await giveRows(name, content);
  if (given.errors) return editor.show(given.errors);
  own = given.own;
  listTables();
  await begin('own');
}

// controls

function showControls() {
  const { controls } = answer;
  if (controls.skips.join() !== [...$('skip').options].map((option) => option.value).join()) {
    $('skip').replaceChildren(...controls.skips.map((mode) => html('option', { value: mode }, mode === 'NO SKIP' ? mode : `SKIP ${mode}`)));
  }
  $('skip').value = controls.skip;
  for (const button of document.querySelectorAll('[data-control]')) {
    const value = controls[button.dataset.control];
    button.disabled = value === null;
    button.setAttribute('aria-pressed', String(value === button.dataset.value));
  }
  const column = table.columns.find((c) => c.name.toLowerCase() === (answer.time ?? '').toLowerCase());
  bounds = ['', ...boundsOf(column)];
  if (controls.within !== null && !bounds.includes(controls.within)) bounds.push(controls.within);
  $('within').max = bounds.length - 1;
  $('within').value = controls.within === null ? 0 : bounds.indexOf(controls.within);
  $('within').disabled = bounds.length === 1;
  $('within-value').textContent = short(controls.within);
  $('within').setAttribute('aria-valuetext', short(controls.within));
}

const short = (bound) => (bound ? bound.replace(/^INTERVAL\s+'([^']*)'\s+/i, '$1 ') : 'none');

/** Bounds that are of use for the times of these rows. */
function boundsOf(column) {
  if (!column?.numbers) return [];
  const [low, high] = extent(column.numbers);
  if (!column.is_time) return [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].filter((n) => n <= high - low).map(String);
  const units = [['SECOND', 1e3, [1, 2, 5, 10, 20, 30]], ['MINUTE', 6e4, [1, 2, 5, 10, 15, 20, 30, 45]], ['HOUR', 36e5, [1, 2, 4, 8, 12]], ['DAY', 864e5, [1, 2, 3, 5, 7, 10, 14, 21, 30, 60, 90]]];
  const usable = column.type === 'date' ? units.slice(3) : units;
  return usable.flatMap(([unit, size, counts]) => counts.filter((n) => n * size <= high - low && n * size >= (high - low) / 300).map((n) => `INTERVAL '${n}' ${unit}`));
}

async function edit(control, value) {
  const about = question();
  const found = await ask('edit', { ...about, control, value });
  if (!isCurrent(about)) return;
  if (found.errors) return editor.show(found.errors);
  editor.text = state.text = found.text;
  steps.close();
  asked();
}

// why

const askWhy = latest('why', (found) => {
  if (!found.lines || found.row !== state.row) return;
  $('why').hidden = false;
  $('why-title').textContent = `Why: row ${found.row + 1}${found.head ? ` (${found.head})` : ''}`;
  $('why-lines').replaceChildren(...found.lines.map((line) => html('li', {}, ...sentence(line))));
}, failed);

function why(row) {
  if (!answer) return;
  state.row = row;
  askWhy({ ...question(), row });
  draw();
  remember();
}

// stream

function drawStream() {
  $('stream').hidden = !state.stream;
  if (!state.stream || !streamed) return;
  $('watermark').disabled = Boolean(streamed.refusal);
  if (streamed.refusal) {
    $('stream-text').textContent = streamed.refusal;
    return;
  }
  const column = table.columns.find((c) => c.name.toLowerCase() === answer.time.toLowerCase());
  const [low, high] = extent(column?.numbers ?? [0]);
  stops = [...new Set([low - Math.max(1, (high - low) / 50), ...(column?.numbers ?? []).filter((x) => x !== null), ...Object.values(streamed.times)])].sort((a, b) => a - b);
  const at = state.watermark === null ? 0 : stops.findLastIndex((x) => x <= state.watermark);
  $('watermark').max = stops.length - 1;
  $('watermark').value = Math.max(0, at);
  const shown = at <= 0 ? 'before all rows' : shownTime(stops[at], high - low);
  $('watermark-value').textContent = shown;
  $('watermark').setAttribute('aria-valuetext', shown);
  const view = streamView();
  const emitted = answer.matches.filter(view.isEmitted).length;
  const kept = view.kept.size;
  const never = answer.matches.filter((match) => view.timeOf(match) === undefined).length;
  $('stream-text').textContent = `${emitted} of ${answer.matches.length} matches have been emitted; ${kept} ${kept === 1 ? 'row is' : 'rows are'} kept for later, ${view.waiting.size} ${view.waiting.size === 1 ? 'is' : 'are'} after the watermark.`
    + (at > 0 ? ` A row that comes now with a time up to ${shown} is late.` : '')
    + (never ? ` ${never} ${never === 1 ? 'match waits' : 'matches wait'} for rows that decide ${never === 1 ? 'it' : 'them'}.` : '');
}

function streamView() {
  const timeOf = (match) => streamed.times[`${match.start} ${match.number}`];
  const watermark = state.watermark;
  const waiting = new Set(streamed.waiting);
  return {
    watermark, timeOf, waiting, kept: new Set(streamed.kept.filter((row) => !waiting.has(row))),
    isEmitted: (match) => watermark !== null && timeOf(match) <= watermark,
  };
}

// the address

/** Writes the state into the address, when the browser has nothing else to do: browsers limit how often it is written. */
function remember() {
  clearTimeout(remembering);
  remembering = setTimeout(() => history.replaceState(null, '', `#${encoded()}`), 200);
}

function encoded() {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function decoded(fragment) {
  try {
    const bytes = Uint8Array.from(atob(fragment.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
    const kept = JSON.parse(new TextDecoder().decode(bytes));
    const isKnown = kept.table === 'own' ? own : lessons.some((l) => String(l.number) === kept.table);
    return isKnown && typeof kept.text === 'string' ? kept : null;
  } catch {
    return null;
  }
}

async function restore(kept) {
  await open(kept.table, kept.text);
  for (const name of ['row', 'stream', 'watermark', 'height']) state[name] = kept[name] ?? null;
  $('height').value = state.height ?? '';
  $('as-stream').checked = Boolean(state.stream);
  asked();
  if (kept.step >= 0) steps.to(kept.step);
}

// copies

const PYTHON = (text) => text.replaceAll('\\', '\\\\').replaceAll('"""', '\\"\\"\\"');
const COPIES = {
  spark: () => `${source(state.table).view}spark.sql("""\n${PYTHON(state.text)}\n""").show()`,
  cell: () => `%%sql\n${state.text}`,
  link: () => `#${encoded()}`,
};
const SAID = { spark: 'Copied.', cell: 'Copied.', link: 'Copied: put it after the address of a playground.' };

async function copy(kind) {
  await navigator.clipboard.writeText(COPIES[kind]());
  $('copied').textContent = SAID[kind];
  setTimeout(() => { $('copied').textContent = ''; }, 4000);
}

// wiring

function wire() {
  acceptRows((name, content) => take(name, content).catch(failed));
  $('tables').addEventListener('change', (event) => begin(event.target.value));
  $('next-lesson').addEventListener('click', () => begin(String(Number(state.table) + 1)));
  $('skip').addEventListener('change', (event) => edit('skip', event.target.value));
  for (const button of document.querySelectorAll('[data-control]')) button.addEventListener('click', () => edit(button.dataset.control, button.dataset.value));
  $('within').addEventListener('change', (event) => edit('within', bounds[event.target.value]));
  $('within').addEventListener('input', (event) => { $('within-value').textContent = short(bounds[event.target.value]); });
  $('height').addEventListener('change', (event) => { state.height = event.target.value || null; draw(); remember(); });
  $('why-close').addEventListener('click', () => { state.row = null; $('why').hidden = true; draw(); remember(); });
  $('as-stream').addEventListener('change', (event) => {
    state.stream = event.target.checked;
    if (state.stream) askStream({ ...question(), watermark: state.watermark });
    else { streamed = null; drawStream(); draw(); }
    remember();
  });
  $('watermark').addEventListener('input', (event) => {
    const at = Number(event.target.value);
    state.watermark = at ? stops[at] : null;
    askStream({ ...question(), watermark: state.watermark });
    remember();
  });
  for (const button of document.querySelectorAll('[data-copy]')) button.addEventListener('click', () => copy(button.dataset.copy));
  $('theme').addEventListener('click', () => setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'));
  addEventListener('hashchange', () => { const kept = decoded(location.hash.slice(1)); if (kept) restore(kept); });
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
}

async function start() {
  setTheme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  wire();
  const begun = await ask('begin', {});
  ({ lessons, own } = begun);
  editor.words.keywords = new Set(begun.keywords);
  editor.words.functions = begun.functions;
  listTables();
  const kept = decoded(location.hash.slice(1));
  if (kept) await restore(kept);
  else await begin(begun.first);
}

start().catch(failed);
