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

/** Format of whole numbers: 1,234. */
export const whole = new Intl.NumberFormat("en");
export const count = (number, noun) => `${whole.format(number)} ${noun}${number === 1 ? "" : "s"}`;

export const fixed = (number, digits) => number.toFixed(digits).replace("-", "\u2212");

/** Return the metadata of a document as texts: "name: value", lists with commas. */
export const fieldsOf = (metadata) => Object.entries(metadata).map(([name, value]) => `${name}: ${[value].flat().join(", ")}`);
