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
