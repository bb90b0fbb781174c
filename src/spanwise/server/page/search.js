// The view of a question: the request, and its result.

import { placeOf, rememberSearch } from "./address.js";
import { send } from "./api.js";
import { $, announce, count, fixed, make, whole } from "./elements.js";
import { rememberForms } from "./marks.js";
import { rights } from "./rights.js";
import { Selection } from "./selection.js";

const PRESETS = { precise: { token_price: 0.3, trim: true }, comprehensive: { token_price: 0 } };
const MOST_STORED = 12;
const PLACE_CHARS = 700;
const stored = new Map();
let running = null;
let shown = null;

/** Forget stored results, because documents were added or removed. */
export function forgetResults() {
  stored.clear();
}

/** Return the arguments of a question. */
export function questionOf(names, state) {
  return {
    question: state.get("q"),
    knowledge_bases: names,
    ...(state.get("where") ? { where: state.get("where") } : {}),
    ...(state.get("document") ? { documents: [state.get("document")] } : {}),
  };
}

function searchOf(names, state) {
  const body = { ...questionOf(names, state), budget_tokens: Number(state.get("budget") || 4000) };
  const preset = state.get("preset") ?? "";
  if (state.has("price") || state.has("charge")) {
    body.segment_options = { ...PRESETS[preset] };
    if (state.has("price")) body.segment_options.token_price = Number(state.get("price"));
    if (state.has("charge")) body.segment_options.segment_charge = Number(state.get("charge"));
  } else if (preset) body.preset = preset;
  return body;
}

async function found(body, signal) {
  const key = JSON.stringify(body);
  if (!stored.has(key)) {
    stored.set(key, await send("POST", "/v1/explanation", body, { signal }));
    if (stored.size > MOST_STORED) stored.delete(stored.keys().next().value);
  }
  return stored.get(key);
}

/**
 * Search and show the segments; a new search cancels the previous one.
 *
 * @param {string[]} names knowledge bases
 * @param {URLSearchParams} state question, filters and settings
 * @param {Function} changeState called with settings that the address gets; null removes one
 */
export async function showSearch(names, state, changeState) {
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  if (!state.get("q")) return showNothing();
  rememberSearch();
  const body = searchOf(names, state);
  const key = JSON.stringify(questionOf(names, state));
  const isSame = shown?.key === key && shown.selection.element.isConnected;
  if (!isSame && !stored.has(JSON.stringify(body))) $("results").replaceChildren(make("p", { class: "empty", role: "status" }, "Searching …"));
  const { result, data, documents } = await found(body, signal);
  if (signal.aborted || (isSame && shown.selection.isMoving)) return;
  rememberForms(state.get("q"), data.words);
  const context = contextOf(names, state, changeState);
  if (isSame) shown.selection.show({ result, data }, context);
  else {
    shown = { key, selection: new Selection({ result, data }, context) };
    $("results").replaceChildren(...placesPart(documents, context), shown.selection.element, ...savePart());
    shown.selection.fit();
    announce(result.segments.length ? `${count(result.segments.length, "segment")} found` : "Nothing was found");
  }
  shown.body = body;
}

/** Return the part of a long segment around its most relevant chunk. */
function bestPart({ text, relevances }) {
  if (text.length <= PLACE_CHARS) return text;
  const share = relevances.indexOf(Math.max(...relevances)) / relevances.length;
  const start = share ? text.indexOf(" ", Math.min(share * text.length, text.length - PLACE_CHARS)) + 1 : 0;
  const end = start + PLACE_CHARS;
  return `${start ? "… " : ""}${text.slice(start, end)}${end < text.length ? " …" : ""}`;
}

/** Return the list of the documents that a question asks for, each with its best place. */
function placesPart(documents, context) {
  if (!documents) return [];
  const { searched, found: holding, shown: listed } = documents.documents;
  const items = [...documents.segments].sort((one, other) => one.rank - other.rank).map((segment) => make("li", null,
    make("a", { href: placeOf(segment.knowledge_base || context.kb, segment.document_id, { start: segment.start, end: segment.end, question: context.question }), dir: "auto" }, segment.citation.title || segment.document_id),
    make("span", { class: "meta" }, ` relevance ${fixed(segment.relevance, 2)}`),
    make("p", { class: "place", dir: "auto" }, bestPart(segment))));
  const notes = documents.warnings.map((warning) => make("p", { class: "note" }, warning));
  return [make("section", { class: "places", "aria-labelledby": "places-title" },
    make("h2", { id: "places-title" }, `Evidence in ${whole.format(holding)} of ${count(searched, "document")}`),
    ...notes,
    items.length ? make("ol", null, ...items) : null,
    make("p", { class: "meta" }, `${count(listed, "document")} listed, best first. Below are the best passages of all documents.`))];
}

function contextOf(names, state, changeState) {
  return {
    kb: names.length === 1 ? names[0] : "",
    question: state.get("q"),
    isEmpty: $("document").options.length < 2,
    isTuned: ["price", "charge"].some((name) => state.has(name)),
    isChanged: ["price", "charge", "budget"].some((name) => state.has(name)),
    rested: (settings) => changeState(settings),
    reset: () => changeState({ price: null, charge: null, budget: null }),
  };
}

function showNothing() {
  shown = null;
  $("results").replaceChildren(make("div", { class: "empty welcome" },
    make("p", null, "Ask a whole question in your own words. The result is a few passages of the documents that contain the answer, each with its document, section and page."),
    make("ul", null,
      make("li", null, "A phrase in quotation marks must occur in the text."),
      make("li", null, "A filter limits the documents, such as: year >= 2022 and company = \"Nike\"."),
      make("li", null, make("a", { href: "#/documents" }, "Add documents"), " by dropping files on this page."))));
}

/** Return a button that saves the explanation of the search that is shown; a link would not send the key. */
function savePart() {
  if (rights.isRestricted) return []; // the server refuses it
  const button = make("button", { type: "button", class: "plain small" }, "Save the explanation as a page");
  button.addEventListener("click", async () => {
    const options = { raw: true, headers: { Accept: "text/html" } };
    const response = await send("POST", "/v1/explanation", shown.body, options).catch((error) => error);
    if (response instanceof Error) return button.replaceWith(make("p", { class: "note" }, response.message));
    const address = URL.createObjectURL(await response.blob());
    make("a", { href: address, download: "explanation.html" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
  return [make("p", { class: "after" }, button)];
}
