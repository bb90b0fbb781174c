// Segments of a search with strips and sliders. The sliders select again in the page, exactly; when
// they rest, the server searches with their settings and its texts replace the preview.

import { placeOf } from "./address.js";
import { Choice, said } from "./choice.js";
import { barList, scaleOf } from "./contributions.js";
import { count, make, whole } from "./elements.js";
import { matchedIn, withMarks } from "./marks.js";
import { scalesOf, Setting } from "./settings.js";
import { drawWhenSeen, Strip } from "./strip.js";

const REST_MS = 600;
const MOST_OTHERS = 8;
const LABELS = {
  price: ["Penalty", "for irrelevant text", "Penalty: price of 1,000 tokens, in shares"],
  charge: ["Charge", "for each segment", "Charge of a segment, a share"],
  budget: ["Budget", "in tokens", "Token budget"],
};

/** Result of a search on the page. */
export class Selection {
  /**
   * @param {object} found result and data of `/v1/explanation`
   * @param {object} context kb: name of the only knowledge base, or ""; question;
   *   rested: called with settings when the sliders rest; reset: called to return to the defaults;
   *   isEmpty: whether there are no documents; isTuned: whether the address has a penalty or charge; isChanged: or a budget
   */
  constructor(found, context) {
    this.context = context;
    this.timer = 0;
    this.isWaiting = false;
    this.makePanel();
    this.notes = make("div");
    this.list = make("div", { class: "found" });
    this.element = make("div", { class: "selection" }, this.notes, this.panel, this.list);
    this.show(found, context);
  }

  /** Show another result of the same question; the sliders keep the focus. */
  show({ result, data }, context) {
    Object.assign(this, { result, data, context });
    this.choice = new Choice(data);
    this.settings = { ...this.choice.initial };
    this.cards = new Map();
    this.seen?.disconnect();
    this.strips = data.documents.map((_, number) => new Strip(this.choice, number, (row) => this.openChunk(row), "h2"));
    this.strips.forEach((strip, number) => this.nameBase(strip, number));
    this.seen = drawWhenSeen(this.strips);
    const scales = scalesOf(data);
    for (const [name, control] of Object.entries(this.controls)) {
      Object.assign(control, scales[name]);
      control.number.max = scales[name].high;
      control.begin(this.settings[name]);
    }
    if (context.isTuned) this.panel.open = true;
    this.update();
    const isBare = data.refused && !this.list.querySelector(".segment"); // the first notice is about segments
    const notices = isBare ? data.notices.slice(1) : data.notices;
    this.notes.replaceChildren(...notices.map((notice) => make("p", { class: "note" }, notice)));
  }

  makePanel() {
    this.controls = {};
    const fields = Object.entries(LABELS).map(([name, [label, hint, long]]) => {
      const slider = make("input", { type: "range", min: 0, max: 100, step: 1, id: `slider-${name}` });
      const number = make("input", { type: "number", min: name === "budget" ? 1 : 0, step: name === "budget" ? 1 : "any", "aria-label": long });
      const changed = (value) => this.changed(name, value);
      this.controls[name] = new Setting({ slider, number }, { low: 1, high: 10, digits: name === "budget" ? 0 : undefined }, 1, changed);
      return make("div", { class: "setting" }, make("label", { for: `slider-${name}` }, label, " ", make("small", null, hint)), slider, number);
    });
    this.used = make("i");
    this.outcome = make("p", { role: "status", id: "outcome" });
    this.resetButton = make("button", { type: "button", class: "plain small", click: () => this.reset() }, "Reset");
    this.summary = make("span");
    this.panel = make("details", { class: "tuning", id: "tuning" },
      make("summary", null, this.summary, make("span", { class: "hint" }, "Adjust")),
      make("div", { class: "sliders" }, fields,
        make("div", { class: "outcome" }, make("div", { class: "meter", "aria-hidden": "true" }, this.used), this.outcome, this.resetButton)),
      this.legend());
  }

  legend() {
    const key = (name, text) => make("li", null, make("i", { class: `key ${name}` }), text);
    return make("ul", { class: "legend" },
      key("chunk", "relevance of a chunk"), key("taken", "in a segment"), key("line", "relevance that a chunk must reach"),
      make("li", null, make("mark", null, "word"), " of the question, in any form"),
      make("li", null, make("mark", { class: "similar" }, "word"), " of similar meaning"));
  }

  changed(name, value) {
    this.settings[name] = value;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.rest(), REST_MS);
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => this.update());
  }

  /** Whether a slider was moved and does not rest yet; a result of earlier settings is then late. */
  get isMoving() {
    return this.timer !== 0;
  }

  reset() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.context.reset();
  }

  rest() {
    this.timer = 0;
    if (!this.element.isConnected || this.choice.isInitial(this.settings)) return;
    const moved = Object.entries(this.settings).filter(([name, value]) => value !== this.choice.initial[name]);
    const { charge_factor: factor } = this.data.terms;
    this.context.rested(Object.fromEntries(moved.map(([name, value]) => [name, name === "charge" ? value / factor : value])));
  }

  /** Select with the settings, and draw segments and strips. */
  update() {
    this.isWaiting = false;
    const state = this.choice.choose({ ...this.settings });
    const { more, fewer } = this.choice.difference(state);
    const isSame = this.choice.isInitial(this.settings);
    const changes = [more ? `${count(more, "chunk")} more` : "", fewer ? `${count(fewer, "chunk")} fewer` : ""].filter(Boolean);
    const size = `${count(state.ranked.length, "segment")} · ${whole.format(state.tokens)} of ${count(this.settings.budget, "token")}`;
    this.summary.textContent = size;
    this.outcome.replaceChildren(
      make("span", { class: "sr" }, `${size}. `),
      isSame ? "as selected by the search" : `${changes.join(", ") || "the same chunks"}${state.optimal ? "" : ", nearly optimal"}`);
    this.used.style.width = `${Math.min(100, (100 * state.tokens) / this.settings.budget)}%`;
    this.resetButton.disabled = isSame && !this.context.isChanged;
    this.draw(state);
  }

  draw(state) {
    this.scale = scaleOf(state.ranked.flatMap(({ best }) => this.choice.whyOf(best)));
    const groups = [];
    for (const segment of this.choice.reading(state.ranked)) {
      const number = this.choice.documentOf[segment.rows[0]];
      if (groups.at(-1)?.number !== number) groups.push({ number, cards: [] });
      groups.at(-1).cards.push(this.cardOf(segment));
    }
    const shown = new Set(groups.map(({ number }) => number));
    const parts = groups.map(({ number, cards }) => make("section", { class: "group" }, this.strips[number].element, cards));
    if (!groups.length) parts.push(make("p", { class: "empty" }, [this.emptyText()].flat()));
    const others = this.strips.filter((_, number) => !shown.has(number)).slice(0, MOST_OTHERS);
    this.list.replaceChildren(...parts, ...this.othersOf(others));
    for (const strip of this.strips) strip.update(state);
    this.fit();
  }

  /** Scroll new texts that are longer than their card to their most relevant chunk, and show
   * which texts continue; the element must be part of the page. */
  fit() {
    for (const card of this.cards.values()) {
      const { body } = card;
      if (!body.isConnected || !body.clientHeight) continue;
      if (card.top === null) {
        const best = body.scrollHeight > body.clientHeight ? topOf(body, card.bestAt) : 0;
        card.top = best > body.clientHeight / 2 ? best : 0;
      }
      body.scrollTop = card.top; // an element that was moved has lost it
      markOverflow(body);
    }
  }

  emptyText() {
    if (this.context.isTuned || !this.choice.isInitial(this.settings)) return "No text is worth its price at these settings. Move “Penalty” or “Charge” to the left, or “Budget” to the right.";
    if (this.context.isEmpty) return ["There are no documents yet. ", make("a", { href: "#/documents" }, "Add documents"), " or drop files on this page."];
    return "Nothing was found. Use other words, remove the filter, or choose all documents.";
  }

  /** Return the strips of documents without a segment, folded. */
  othersOf(strips) {
    if (!strips.length) return [];
    this.others ??= make("details", { class: "others" });
    const title = `${count(strips.length, "other document")} with weaker evidence`;
    this.others.replaceChildren(make("summary", null, title), ...strips.map(({ element }) => element));
    return [this.others];
  }

  baseOf(number) {
    return this.data.documents[number].knowledge_base || this.context.kb;
  }

  nameBase(strip, number) {
    const { knowledge_base: name, document_id: id } = this.data.documents[number];
    strip.note.textContent = [id, count(strip.one.chunks, "chunk")].join(" · ");
    if (name) strip.note.before(make("span", { class: "base-name" }, name));
  }

  openChunk(row) {
    const number = this.choice.documentOf[row];
    const { document_id: id } = this.data.documents[number];
    location.hash = placeOf(this.baseOf(number), id, { chunk: this.choice.chunkOf[row], question: this.context.question });
  }

  /** Return the card of a segment; a card that was shown before is used again. */
  cardOf(segment) {
    const key = segment.rows.join("-");
    if (!this.cards.has(key)) this.cards.set(key, this.makeCard(segment));
    const { element, facts, parts } = this.cards.get(key);
    element.id = `segment-${segment.rank}`;
    element.querySelector(".rank").textContent = segment.rank + 1;
    facts.textContent = [...parts, `relevance ${said(segment.relevance)}`].join(" · ");
    element.querySelector(".why")?.replaceWith(barList(this.choice.whyOf(segment.best), this.scale));
    return element;
  }

  makeCard(segment) {
    const at = this.data.segments.findIndex(({ rows }) => rows[0] === segment.rows[0] && rows[1] === segment.rows[1]);
    const text = at < 0 ? this.previewOf(segment) : this.textOf(this.result.segments[at], this.data.segments[at].pages, this.choice.byRow.get(segment.best));
    const number = this.choice.documentOf[segment.rows[0]];
    const { document_id: id } = this.data.documents[number];
    const path = text.path.filter((title) => title !== this.choice.nameOf(number)).join(" › ") || "Beginning";
    const facts = make("p", { class: "meta" });
    const body = make("div", { class: "body", dir: "auto", tabindex: "0", role: "group", "aria-label": `Text of ${path}` }, withMarks(text.text, this.data.words));
    body.addEventListener("scroll", () => {
      const card = this.cards.get(segment.rows.join("-"));
      if (card.body === body && body.isConnected) card.top = body.scrollTop;
      markOverflow(body);
    }, { passive: true });
    const link = make("a", { href: placeOf(this.baseOf(number), id, { start: text.start, end: text.end, question: this.context.question }) }, "Open in the document");
    const element = make("article", { class: "segment", "data-document": id, "data-first": this.choice.chunkOf[segment.rows[0]], "data-end": this.choice.chunkOf[segment.rows[1] - 1] + 1 },
      make("header", null, make("span", { class: "rank", title: "Rank by relevance" }), make("h3", { dir: "auto" }, path), link),
      facts,
      text.head ? make("p", { class: "meta table-head", dir: "auto" }, `${text.head}\n…`) : null,
      make("div", { class: "frame" }, body, moreButton(body)),
      this.foundBy(text.text),
      this.whyDetails(segment));
    return { element, facts, body, parts: text.facts, bestAt: text.bestAt, top: null };
  }

  /** Return the text of a segment of the search, and where its best chunk begins in it. */
  textOf(segment, pages, best) {
    // Offsets of the interface count code points; JavaScript counts UTF-16 units.
    const before = Array.from(segment.text).slice(0, Math.max(0, (best?.start ?? 0) - segment.start)).join("").length;
    const bestAt = before - (segment.text.length - segment.text.trimStart().length);
    const others = segment.also_in.length ? `also in ${count(segment.also_in.length, "other document")}` : "";
    const facts = [pages, count(segment.tokens, "token"), others].filter(Boolean);
    return { text: segment.text.trim(), start: segment.start, end: segment.end, path: segment.citation.section_path ?? [], head: segment.table_head, facts, bestAt };
  }

  /** Return the text of a segment that the page selected, from its scored chunks. */
  previewOf({ rows, best }) {
    let text = "";
    let tokens = this.data.terms.header;
    let bestAt = 0;
    let last = null;
    let first = null;
    for (let row = rows[0]; row < rows[1]; row += 1) {
      tokens += this.data.tokens[row];
      const chunk = this.choice.byRow.get(row);
      if (row === best) bestAt = text.length;
      if (!chunk) text += text.endsWith(" …\n") ? "" : "\n …\n";
      else text += (last && last.end < chunk.start ? "\n" : "") + chunk.text;
      last = chunk ?? last;
      first ??= chunk;
    }
    const path = this.data.paths[this.choice.byRow.get(best)?.path] ?? [];
    return { text: text.trim() || "The text appears when you stop moving the slider.", start: first?.start, end: last?.end, path, facts: [count(tokens, "token"), "preview"], bestAt };
  }

  /** Return a line with the words that a segment was found by. */
  foundBy(text) {
    const { same, similar } = matchedIn(text, this.data.words);
    const listed = (nodes) => nodes.flatMap((node, at) => (at ? [", ", node].flat() : node));
    return make("p", { class: "meta found-by", dir: "auto" },
      same.length ? ["Words of the question: ", ...listed(same.map((word) => make("mark", null, word)))] : "Contains no word of the question; found by its meaning",
      similar.length ? [" · Similar words: ", ...listed(similar.map(([form, word]) => [make("mark", { class: "similar" }, form), ` for “${word}”`]))] : null);
  }

  whyDetails(segment) {
    if (!this.choice.whyOf(segment.best).length) return null;
    return make("details", { class: "reasons" },
      make("summary", null, "Why this segment"),
      make("p", { class: "meta" }, "What raises or lowers the score of its best chunk, compared with the mean candidate."),
      make("dl", { class: "why" }));
  }
}

/** Show at its edges that a text continues, and whether all of it is shown. */
export function markOverflow(body) {
  const isLong = body.scrollHeight > body.clientHeight + 2;
  body.parentElement.classList.toggle("more-above", isLong && body.scrollTop > 2);
  body.parentElement.classList.toggle("more-below", isLong && body.scrollTop + body.clientHeight < body.scrollHeight - 2);
  const button = body.parentElement.querySelector("button");
  button.hidden = !isLong && !body.classList.contains("whole");
}

function moreButton(body) {
  const button = make("button", { type: "button", class: "plain small show-all", "aria-expanded": "false", hidden: true }, "Show all");
  button.addEventListener("click", () => {
    const isWhole = body.classList.toggle("whole");
    button.textContent = isWhole ? "Show less" : "Show all";
    button.setAttribute("aria-expanded", String(isWhole));
    markOverflow(body);
  });
  return button;
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
