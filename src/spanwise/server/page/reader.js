// The view of a document: its sections, its text with a place marked, and the page as an image.

import { placeOf, searchAddress } from "./address.js";
import { baseOf, get, idOf, request } from "./api.js";
import { $, count, fieldsOf, make } from "./elements.js";
import { formsBySuffix, formsOf, withMarks } from "./marks.js";

let image = "";

/** Show a document, and scroll to a range of characters or to a chunk. */
export async function showDocument(kb, state) {
  const id = state.get("id");
  const [record, { sections }, whole] = await Promise.all([
    get(`${baseOf(kb)}/documents/${idOf(id)}`),
    get(`${baseOf(kb)}/sections/${idOf(id)}`),
    get(`${baseOf(kb)}/text/${idOf(id)}`),
  ]);
  const range = await rangeOf(kb, id, state);
  $("read-title").textContent = record.title || id;
  $("read-meta").textContent = [id, record.pages ? count(record.pages, "page") : count(record.chars, "character"), ...fieldsOf(record.metadata)].join(" · ");
  $("back").href = searchAddress(kb, state.get("q"));
  $("back").textContent = $("back").hash.startsWith("#/search") ? "← Back to the results" : "← Back to the documents";
  drawOutline(kb, id, sections, range, state);
  drawText(whole.text, range, state.get("q") ?? "");
  await drawPage(kb, id, whole.pages, range);
  const target = document.querySelector("#text mark.place") ?? $("read-title");
  const isLong = target.getBoundingClientRect().height > innerHeight / 2;
  target.scrollIntoView({ block: isLong ? "start" : "center", behavior: "instant" });
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

function drawText(text, range, question) {
  // Offsets of the interface count code points; JavaScript counts UTF-16 units.
  const points = /[\u{10000}-\u{10ffff}]/u.test(text) ? Array.from(text) : text;
  const part = (start, end) => (typeof points === "string" ? points.slice(start, end) : points.slice(start, end).join(""));
  if (range === null) {
    $("text").replaceChildren(text);
    return;
  }
  const [start, end] = range;
  const quoted = part(start, end);
  const forms = formsOf(question) ?? formsBySuffix(quoted, question);
  const place = make("mark", { class: "place", tabindex: "-1" }, withMarks(quoted, forms));
  $("text").replaceChildren(part(0, start), place, part(end, points.length));
}

async function drawPage(kb, id, pages, range) {
  const figure = $("page-image");
  figure.hidden = true;
  $("to-page").hidden = true;
  if (image) URL.revokeObjectURL(image);
  image = "";
  if (!pages.length) return;
  const at = range === null ? 0 : range[0];
  const number = Math.max(0, pages.findIndex(([start, end]) => start <= at && at < end)) + 1;
  const [first, last] = pages[number - 1];
  const inside = range === null ? "" : `?highlight=${Math.max(range[0], first)}-${Math.min(range[1], last)}`;
  for (const query of [inside, ""]) {
    try {
      const response = await request(`${baseOf(kb)}/pages/${number}/${idOf(id)}${query}`);
      image = URL.createObjectURL(await response.blob());
      break;
    } catch {
      if (!query) return; // no PDF, or its file is gone
    }
  }
  figure.querySelector("img").src = image;
  figure.querySelector("img").alt = `Page ${number}`;
  figure.querySelector("figcaption").textContent = `Page ${number} of ${pages.length}`;
  figure.hidden = false;
  $("to-page").hidden = false;
  $("to-page").textContent = "Show the page";
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
