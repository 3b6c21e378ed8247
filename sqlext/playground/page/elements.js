// Makes elements. All texts become text nodes: nothing here, or anywhere on the page, parses HTML.

const SVG = 'http://www.w3.org/2000/svg';

export const $ = (id) => document.getElementById(id);

function made(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === 'on') for (const [event, f] of Object.entries(value)) element.addEventListener(event, f);
    else if (name === 'colour') element.style.color = value;
    else if (name === 'style') Object.assign(element.style, value);
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const html = (tag, attributes = {}, ...children) => made(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) =>
  made(document.createElementNS(SVG, tag), attributes, children);

export const colourOf = (label) => `var(--v${label % 8})`;

/** The text with the parts in backquotes, and what follows "Would match with:", as code. */
export function sentence(text) {
  const change = /^(Would match with: )(.*?)( {2}-- )(.*)$/.exec(text);
  if (change) return [change[1], html('code', {}, change[2]), ` (${change[4]})`];
  return text.split('`').map((part, i) => (i % 2 ? html('code', {}, part) : part));
}

const CODE = /(`+) ?(.*?) ?\1(?!`)/;

/** The elements of a page of errors, which is in Markdown: headings, lists, blocks of code and sentences. */
export function pageOf(markdown) {
  const parts = markdown.split(/^```\w*\n([\s\S]*?)^```$/m);
  return parts.flatMap((part, i) => (i % 2 ? [html('pre', {}, part.trimEnd())] : part.split('\n').filter(Boolean).map(line)));
}

function line(text) {
  const [, mark, rest] = /^(#+|-)? ?(.*)$/.exec(text);
  const pieces = rest.split(CODE); // text, backquotes, code, text, …
  const shown = pieces.map((piece, i) => (i % 3 === 2 ? html('code', {}, piece) : i % 3 ? null : piece));
  return html(mark === '-' ? 'p' : mark ? 'h3' : 'p', mark === '-' ? { class: 'item' } : {}, ...shown);
}
