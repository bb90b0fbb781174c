// The view of a question: segments in reading order, strips, and answers of the model.

import { baseOf, events, get, idOf, send } from "./api.js";
import { $, count, make, marked, stemsOf } from "./elements.js";
import { strip } from "./strip.js";

let running = null;

/** Return the address of a place in the reader. */
export function placeOf(kb, id, { start, end, chunk, question } = {}) {
  const state = new URLSearchParams({ kb, id });
  if (start !== undefined) state.set("at", `${start}-${end}`);
  if (chunk !== undefined) state.set("chunk", String(chunk));
  if (question) state.set("q", question);
  return `#/read?${state}`;
}

function bodyOf(state) {
  return {
    question: state.get("q"),
    ...(state.get("where") ? { where: state.get("where") } : {}),
    ...(state.get("document") ? { documents: [state.get("document")] } : {}),
  };
}

/** Search and show the segments; a new search cancels the previous one. */
export async function showSearch(kb, state) {
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  $("answer").replaceChildren();
  if (!state.get("q")) {
    $("results").replaceChildren(make("p", { class: "empty" }, "Ask a whole question in your own words. The result is a few passages of the documents that contain the answer, each with its document, section and page."));
    return;
  }
  $("results").replaceChildren(make("p", { class: "empty" }, "Searching …"));
  const body = { ...bodyOf(state), budget_tokens: Number(state.get("budget") || 4000) };
  if (state.get("preset")) body.preset = state.get("preset");
  const result = await send("POST", `${baseOf(kb)}/search`, body, { signal });
  drawResult(kb, state, result);
  await scrollToBest(kb, result.segments).catch(() => null);
  const explained = await send("POST", `${baseOf(kb)}/explain`, { ...body, candidates: 0 }, { signal }).catch(() => null);
  if (explained) drawStrips(kb, state, result, explained);
}

function drawResult(kb, state, result) {
  const stems = stemsOf(state.get("q"));
  const parts = result.warnings.map((warning) => make("p", { class: "note" }, warning));
  if (result.weak_evidence && result.segments.length) {
    parts.push(make("p", { class: "note" }, "Weak evidence: the documents may not answer this question."));
  }
  if (!result.segments.length) {
    parts.push(make("p", { class: "empty" }, "Nothing was found. Try other words, remove the filter, or read the documents."));
  } else {
    const settings = new URLSearchParams({ question: state.get("q"), where: state.get("where") ?? "", budget_tokens: String(result.budget_tokens) });
    parts.push(make("p", { class: "meta" },
      `${count(result.segments.length, "segment")}, ${count(result.tokens, "token")} of ${count(result.budget_tokens, "token")} · `,
      make("a", { href: `${baseOf(kb)}/explanation?${settings}`, target: "_blank", rel: "noopener" }, "Explain this search")));
  }
  let last = null;
  for (const segment of result.segments) {
    if (segment.document_id !== last) {
      last = segment.document_id;
      parts.push(
        make("h2", { dir: "auto" }, segment.citation.title || last),
        make("div", { "data-strip": last }),
      );
    }
    parts.push(card(kb, state, segment, stems));
  }
  $("results").replaceChildren(...parts);
}

function card(kb, state, segment, stems) {
  const similar = new Map(segment.similar_words.map((one) => [one.word, one.question_word]));
  const { citation } = segment;
  const titles = citation.section_path ?? [];
  const path = (titles[0] === citation.title ? titles.slice(1) : titles).join(" › ");
  const pages = citation.pages ? `pages ${citation.pages[0]}–${citation.pages[1]}`.replace(/pages (\d+)–\1$/, "page $1") : "";
  const facts = [pages, `relevance ${segment.relevance.toFixed(2)}`, segment.rank === 0 ? "best" : "",
    segment.also_in.length ? `also in ${count(segment.also_in.length, "other document")}` : ""];
  return make(
    "article",
    { class: "segment", id: `segment-${segment.rank}` },
    make("header", null,
      make("h3", { dir: "auto" }, path || segment.document_id),
      make("a", { href: placeOf(kb, segment.document_id, { start: segment.start, end: segment.end, question: state.get("q") }) }, "Open in the document")),
    make("p", { class: "meta" }, facts.filter(Boolean).join(" · ")),
    make("div", { class: "body", dir: "auto", tabindex: "0", role: "group", "aria-label": `Text of ${path || segment.document_id}` }, marked(segment.text.trim(), stems, similar)),
  );
}

/** Scroll each segment that is longer than its card to its most relevant chunk. */
async function scrollToBest(kb, segments) {
  for (const segment of segments) {
    const body = document.querySelector(`#segment-${segment.rank} .body`);
    if (!body || body.scrollHeight <= body.clientHeight) continue;
    const { chunks } = await get(`${baseOf(kb)}/chunks/${idOf(segment.document_id)}`);
    const best = segment.first_chunk + segment.relevances.indexOf(Math.max(...segment.relevances));
    // Offsets of the interface count code points; JavaScript counts UTF-16 units.
    const before = Array.from(segment.text).slice(0, chunks[best][0] - segment.start).join("").length;
    const top = topOf(body, before - (segment.text.length - segment.text.trimStart().length));
    if (top > body.clientHeight / 2) body.scrollTop = top;
  }
}

/** Return the distance of a character from the top of its element, in pixels. */
function topOf(element, offset) {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let rest = Math.max(0, offset);
  while (texts.nextNode() && rest >= texts.currentNode.length) rest -= texts.currentNode.length;
  if (!texts.currentNode.length || rest >= texts.currentNode.length) return 0;
  const place = document.createRange();
  place.setStart(texts.currentNode, rest);
  place.setEnd(texts.currentNode, rest + 1);
  return place.getBoundingClientRect().top - element.getBoundingClientRect().top;
}

function drawStrips(kb, state, result, explained) {
  for (const place of document.querySelectorAll("[data-strip]")) {
    const id = place.dataset.strip;
    const found = explained.documents.find((one) => one.document_id === id);
    if (!found) continue;
    const segments = result.segments.filter((segment) => segment.document_id === id);
    place.replaceChildren(strip(found, segments, (chunk) => {
      location.hash = placeOf(kb, id, { chunk, question: state.get("q") });
    }));
  }
}

/** Ask the model and show the answer while it is written. */
export async function showAnswer(kb, state) {
  const text = make("div", { class: "body", dir: "auto" });
  const rest = make("div");
  const stop = make("button", { type: "button", class: "plain small" }, "Stop");
  $("answer").replaceChildren(make("section", { class: "answer", "aria-label": "Answer" }, text, rest, stop));
  text.textContent = "The model is reading …";
  const control = new AbortController();
  stop.addEventListener("click", () => control.abort());
  let written = "";
  try {
    const response = await send("POST", `${baseOf(kb)}/ask`, bodyOf(state), { raw: true, signal: control.signal, headers: { Accept: "text/event-stream" } });
    for await (const [name, data] of events(response)) {
      if (name === "text") text.textContent = written += data.text;
      if (name === "error") rest.replaceChildren(make("p", { class: "problem" }, data.detail));
      if (name === "answer") rest.replaceChildren(...sources(kb, data));
    }
  } catch (error) {
    if (error.name !== "AbortError") text.replaceChildren(make("p", { class: "problem" }, error.message));
  } finally {
    stop.remove();
  }
}

function sourceOf({ title, document_id: id, section_path: path, pages }) {
  const titles = (path ?? []).filter((one) => one !== title).join(" › ");
  return [title || id, titles, pages ? `page ${pages[0]}` : ""].filter(Boolean).join(", ");
}

function sources(kb, answer) {
  const rows = answer.citations.map((cited) => make("li", { value: cited.number },
    make("blockquote", { dir: "auto" }, cited.quote),
    cited.citation
      ? make("a", { href: placeOf(kb, cited.citation.document_id, { start: cited.citation.start, end: cited.citation.end }) }, sourceOf(cited.citation))
      : make("span", { class: "problem" }, "not found in the documents")));
  const assumed = answer.assumed ? [`Assumed: ${answer.assumed}`] : [];
  const notes = [...assumed, ...answer.conflicts, ...answer.warnings].map((note) => make("p", { class: "note" }, note));
  const sums = answer.calculations.map(({ formula, result, operands, problem }) => make("p", { class: problem ? "problem" : "meta" },
    [result ? `${formula} = ${result}` : formula, ...operands.map(({ name, value, citation }) => `${name} = ${value} [${citation}]`), problem].filter(Boolean).join("; ")));
  return [...notes, rows.length ? make("ol", null, rows) : null, ...sums].filter(Boolean);
}
