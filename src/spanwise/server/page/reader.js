// The view of a document: its sections, its text with a place marked, and the page as an image.

import { addressOf, placeOf, searchAddress } from "./address.js";
import { baseOf, get, idOf, request } from "./api.js";
import { $, count, fieldsOf, make, whole } from "./elements.js";
import { formsBySuffix, formsOf, withMarks } from "./marks.js";

const PART_CHARS = 1_000_000; // longest text that the server returns at once
let image = "";

/**
 * Show a document, and scroll to a range of characters or to a chunk; of a very long one, show a part.
 *
 * @param {string} kb knowledge base
 * @param {URLSearchParams} state id of the document, its place, and `from`: start of the part
 * @param {Function} isCurrent returns false when another view was opened, which a late response must not change
 */
export async function showDocument(kb, state, isCurrent) {
  const id = state.get("id");
  const [record, { sections }, range] = await Promise.all([
    get(`${baseOf(kb)}/documents/${idOf(id)}`),
    get(`${baseOf(kb)}/sections/${idOf(id)}`),
    rangeOf(kb, id, state),
  ]);
  const from = partStart(record.chars, range, state);
  const part = await get(`${baseOf(kb)}/text/${idOf(id)}?start=${from}&end=${from + PART_CHARS}`);
  if (!isCurrent()) return;
  const place = inside(range, part);
  $("read-title").textContent = record.title || id;
  $("read-meta").textContent = [id, record.pages ? count(record.pages, "page") : count(record.chars, "character"), ...fieldsOf(record.metadata)].join(" · ");
  $("back").href = searchAddress(kb, state.get("q"));
  $("back").textContent = $("back").hash.startsWith("#/search") ? "← Back to the results" : "← Back to the documents";
  drawOutline(kb, id, sections, range, state);
  drawText(part, place, state);
  await drawPage(kb, id, part, place, isCurrent);
  if (isCurrent()) scrollToPlace(state);
}

/** Return the start of the part that is shown: the part that the state names, or the one around a place. */
function partStart(chars, range, state) {
  const named = state.get("from");
  const wanted = named === null ? Math.min((range?.[0] ?? 0) - PART_CHARS / 4, chars - PART_CHARS) : Math.min(Number(named), chars - 1);
  return Math.floor(Math.max(0, wanted || 0));
}

/** Return what of a range is in a part of the text; null if nothing is. */
function inside(range, { start, end }) {
  if (range === null || !(range[0] < end && range[1] > start)) return null;
  return [Math.max(range[0], start), Math.min(range[1], end)];
}

function scrollToPlace(state) {
  const bar = state.has("from") && document.querySelector("#text .pager");
  const target = (bar ? null : document.querySelector("#text mark.place")) ?? $("read-title");
  const isLong = target.getBoundingClientRect().height > innerHeight / 2;
  target.scrollIntoView({ block: isLong ? "start" : "center", behavior: "instant" });
  if (bar) bar.focus({ preventScroll: true }); // the link that was followed is gone
  const here = document.querySelector("#outline [aria-current]");
  if (here) $("outline").scrollTop += here.getBoundingClientRect().top - $("outline").getBoundingClientRect().top - $("outline").clientHeight / 3;
}

async function rangeOf(kb, id, state) {
  if (state.get("at")) return state.get("at").split("-").map(Number);
  if (!state.get("chunk")) return null;
  const { chunks } = await get(`${baseOf(kb)}/chunks/${idOf(id)}`);
  return chunks[Number(state.get("chunk"))] ?? null;
}

function drawOutline(kb, id, sections, range, state) {
  const root = make("ol");
  let open = [];
  for (const section of sections) {
    let list = root;
    const path = section.path.slice(0, -1);
    path.forEach((title, depth) => {
      if (open[depth]?.title !== title) {
        open = open.slice(0, depth);
        const inner = make("ol");
        list.append(make("li", null, make("span", { class: "meta", dir: "auto" }, title), inner));
        open[depth] = { title, list: inner };
      }
      list = open[depth].list;
    });
    open = open.slice(0, path.length);
    const isHere = range !== null && range[0] < section.end && range[1] > section.start;
    list.append(make("li", null, make("a", {
      href: placeOf(kb, id, { start: section.start, end: section.end, question: state.get("q") }),
      "aria-current": isHere ? "location" : null,
      dir: "auto",
    }, section.title)));
  }
  $("outline").replaceChildren(root);
}

function drawText({ text, start: from, end: to, chars }, place, state) {
  // Offsets of the interface count code points; JavaScript counts UTF-16 units.
  const points = /[\u{10000}-\u{10ffff}]/u.test(text) ? Array.from(text) : text;
  const cut = (start, end) => (typeof points === "string" ? points.slice(start, end) : points.slice(start, end).join(""));
  const bar = () => (to - from < chars ? [partBar(from, to, chars, state)] : []);
  let nodes = [text];
  if (place !== null) {
    const [start, end] = place.map((at) => at - from);
    const quoted = cut(start, end);
    const question = state.get("q") ?? "";
    const forms = formsOf(question) ?? formsBySuffix(quoted, question);
    nodes = [cut(0, start), make("mark", { class: "place", tabindex: "-1" }, withMarks(quoted, forms)), cut(end, points.length)];
  }
  $("text").replaceChildren(...bar(), ...nodes, ...bar());
}

/** Return which part of a long text is shown, with links to the parts before and after. */
function partBar(from, to, chars, state) {
  const link = (words, start) => make("a", { class: "button", href: addressOf("read", { ...Object.fromEntries(state), from: String(start) }) }, words);
  return make("div", { class: "pager", dir: "ltr", tabindex: "-1", role: "group", "aria-label": "Part of the document" },
    make("span", { class: "meta" }, `Characters ${whole.format(from + 1)} to ${whole.format(to)} of ${whole.format(chars)}`),
    from ? link("Part before", Math.max(0, from - PART_CHARS)) : null,
    to < chars ? link("Part after", to) : null);
}

async function drawPage(kb, id, { pages, start }, place, isCurrent) {
  const figure = $("page-image");
  figure.hidden = true;
  $("to-page").hidden = true;
  if (!pages.length) return;
  const at = place === null ? start : place[0];
  const number = Math.max(0, pages.findIndex(([first, last]) => first <= at && at < last)) + 1;
  const [first, last] = pages[number - 1];
  const highlight = place === null ? "" : `?highlight=${Math.max(place[0], first)}-${Math.min(place[1], last)}`;
  const drawn = await imageOf(`${baseOf(kb)}/pages/${number}/${idOf(id)}`, highlight);
  if (!drawn || !isCurrent()) return;
  if (image) URL.revokeObjectURL(image);
  image = URL.createObjectURL(drawn);
  figure.querySelector("img").src = image;
  figure.querySelector("img").alt = `Page ${number}`;
  figure.querySelector("figcaption").textContent = `Page ${number} of ${pages.length}`;
  figure.hidden = false;
  $("to-page").hidden = false;
  $("to-page").textContent = "Show the page";
}

/** Return the image of a page, without its highlight if that fails; null if there is none. */
async function imageOf(path, highlight) {
  for (const query of new Set([highlight, ""])) {
    try {
      return await (await request(`${path}${query}`)).blob();
    } catch {
      // no PDF, or its file is gone
    }
  }
  return null;
}

// On a narrow screen, the page is below the text: the button leads there and back.
$("to-page").addEventListener("click", () => {
  const figure = $("page-image");
  const { top, bottom } = figure.getBoundingClientRect();
  const isShown = top < innerHeight && bottom > 0;
  const place = document.querySelector("#text mark.place") ?? $("read-title");
  (isShown ? place : figure).scrollIntoView({ block: "start", behavior: "instant" });
  $("to-page").textContent = isShown ? "Show the page" : "Show the text";
});
