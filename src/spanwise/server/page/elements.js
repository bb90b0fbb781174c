// Creation of elements. Text of documents is put into text nodes only.

export const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

/** Return a new element; its children are elements or texts. */
export function make(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function draw(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== false && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Announce a text to screen readers; a repeated text is announced once. */
export function announce(text) {
  if ($("announcement").textContent !== text) $("announcement").textContent = text;
}

const whole = new Intl.NumberFormat("en");
export const count = (number, noun) => `${whole.format(number)} ${noun}${number === 1 ? "" : "s"}`;

export const fixed = (number, digits) => number.toFixed(digits).replace("-", "\u2212");

/** Return the metadata of a document as texts: "name: value", lists with commas. */
export const fieldsOf = (metadata) => Object.entries(metadata).map(([name, value]) => `${name}: ${[value].flat().join(", ")}`);

const WORD = /[\p{L}\p{N}]+/gu;
const COMMON = new Set("a an and are as at be by did do does for from had has have how in is it its of on or that the this to was were what when where which who why will with".split(" "));

/** Return a word without common endings, to compare forms of a word. */
export function stem(word) {
  const lower = word.toLowerCase();
  return lower.length > 4 ? lower.replace(/(ings?|edly|ed|es|ly|s)$/u, "") : lower;
}

/** Return the stems of the content words of a question. */
export function stemsOf(question) {
  return new Set((question.match(WORD) ?? []).filter((word) => !COMMON.has(word.toLowerCase())).map(stem));
}

/** Return a text as nodes in which words of the question, and similar words, are marked. */
export function marked(text, stems, similar = new Map()) {
  const nodes = [];
  let last = 0;
  for (const match of text.matchAll(WORD)) {
    const key = stem(match[0]);
    const like = similar.get(key);
    if (!stems.has(key) && !like) continue;
    nodes.push(text.slice(last, match.index));
    nodes.push(stems.has(key)
      ? make("mark", null, match[0])
      : make("mark", { class: "similar", title: `similar to "${like}"` }, match[0]));
    last = match.index + match[0].length;
  }
  nodes.push(text.slice(last));
  return nodes;
}
