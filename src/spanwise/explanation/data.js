// What the page is given, and small things that everything needs.
// Text of documents goes into text nodes alone.

const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const STRIP_HEIGHT = 100;
const LISTED_AT_ONCE = 50;
const [TABLE_SHARES, TABLE_RELEVANCES] = data.terms.table;
const ROWS = data.tokens.length;
const byRow = new Map(data.candidates.map((candidate) => [candidate.row, candidate]));
const copies = new Set(data.copies);
const documentOf = new Int32Array(ROWS);
const chunkOf = new Int32Array(ROWS);
data.documents.forEach((one, number) => {
  for (const run of one.runs) {
    documentOf.fill(number, run.row, run.row + run.count);
    for (let i = 0; i < run.count; i += 1) chunkOf[run.row + i] = run.start + i;
  }
});

const $ = (id) => document.getElementById(id);

/** Return a new element with attributes; children are elements or texts. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

function draw(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

const whole = new Intl.NumberFormat("en");
const count = (number, noun) => `${whole.format(number)} ${noun}${number === 1 ? "" : "s"}`;
const fixed = (number, digits) => number.toFixed(digits).replace("-", "\u2212");

/** Return a share, value or relevance with three digits that tell, as the program says it. */
function said(number) {
  if (number !== 0 && Math.abs(number) < 1e-4) return number > 0 ? "under 0.0001" : "above -0.0001";
  return String(Number(number.toPrecision(3)));
}

const worded = (decision, gaps) =>
  data.reasons[decision].replace(/\{(\w+)\}/g, (_, name) => gaps[name]);
