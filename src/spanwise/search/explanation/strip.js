// Plots of the relevance along each document, drawn when they come into view.

import { count, draw, make } from "./elements.js";
import { said } from "./choice.js";

const STRIP_HEIGHT = 100;
const heightOf = (relevance) => Math.sqrt(Math.max(0, Math.min(1, relevance))) * STRIP_HEIGHT;

/** Plot of one document: the relevance of its chunks, drawn when it comes into view. */
export class Strip {
  /**
   * @param {Choice} choice selection to show
   * @param {number} number index of the document
   * @param {Function} open called with the row of a chunk that was chosen
   * @param {string} heading tag of the name of the document
   */
  constructor(choice, number, open, heading = "h3") {
    Object.assign(this, { choice, number, onOpen: open, one: choice.data.documents[number] });
    this.cursor = -1;
    this.isSeen = false;
    this.drawnFor = null;
    this.box = make("div", { class: "strip", tabindex: "0", role: "img" });
    this.readout = make("p", { class: "meta readout", "aria-live": "polite" });
    const name = make(heading, { class: "name", dir: "auto" }, choice.nameOf(number));
    const facts = [this.one.title ? this.one.id : "", count(this.one.chunks, "chunk")];
    this.note = make("span", { class: "meta" }, facts.filter(Boolean).join(" \u00b7 "));
    this.element = make("article", { class: "document" }, name, this.note, this.box, this.readout, this.table());
    this.box.addEventListener("pointermove", (event) => this.point(event));
    this.box.addEventListener("pointerleave", () => this.moveTo(-1));
    this.box.addEventListener("click", () => this.open());
    this.box.addEventListener("keydown", (event) => this.key(event));
  }

  table() {
    const details = make("details", null, make("summary", null, "As a table"));
    details.addEventListener("toggle", () => {
      this.details = details.open ? details : null;
      this.fillTable();
    });
    return details;
  }

  fillTable() {
    if (!this.details || !this.state) return;
    const head = make("tr", null, ...["Chunk", "Relevance", "Tokens", "Decision"].map((name) => make("th", { scope: "col" }, name)));
    const lines = this.rows().map((row) =>
      make(
        "tr",
        null,
        make("td", null, String(this.choice.chunkOf[row])),
        make("td", null, said(this.choice.data.relevances[row])),
        make("td", null, String(this.choice.data.tokens[row])),
        make("td", null, this.choice.reasonOf(row, this.state)),
      ),
    );
    this.details.querySelector("table")?.remove();
    this.details.append(make("table", null, make("thead", null, head), make("tbody", null, ...lines)));
  }

  rows() {
    return this.one.runs.flatMap((run) => Array.from({ length: run.count }, (_, i) => run.row + i));
  }

  rowAt(chunk) {
    const run = this.one.runs.find(({ start, count: size }) => start <= chunk && chunk < start + size);
    return run ? run.row + chunk - run.start : -1;
  }

  update(state) {
    this.state = state;
    this.box.setAttribute("aria-label", this.spoken());
    if (this.isSeen && this.drawnFor !== state) this.draw();
  }

  draw() {
    this.drawnFor = this.state;
    const mine = this.segments();
    this.isLow = !mine.length && !this.track();
    const svg = draw("svg", { viewBox: `0 0 ${this.one.chunks} ${STRIP_HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    for (const { rows } of mine) {
      const x = this.choice.chunkOf[rows[0]];
      svg.append(draw("rect", { class: "shade", x, y: 0, width: rows[1] - rows[0], height: STRIP_HEIGHT }));
    }
    for (const level of [0.1, 0.5]) svg.append(this.level(level, "grid"));
    const [out, inside] = this.bars();
    svg.append(draw("path", { class: "chunks", d: out }), draw("path", { class: "taken", d: inside }));
    svg.append(this.level(this.choice.priceRelevance(this.state.settings.price), "price"), draw("path", { class: "track", d: this.track() }));
    this.box.classList.toggle("low", this.isLow);
    this.box.style.width = `min(100% - 2rem, ${this.one.chunks * 1.6}rem)`;
    this.box.replaceChildren(svg, ...this.marks(mine), ...this.ticks());
    this.fillTable();
    this.moveTo(this.cursor);
  }

  segments() {
    return this.state.ranked.filter(({ rows }) => this.choice.documentOf[rows[0]] === this.number);
  }

  spoken() {
    const places = this.segments().map(({ rows, rank }) => `segment ${rank + 1} at chunks ${this.choice.chunkOf[rows[0]]} to ${this.choice.chunkOf[rows[1] - 1]}`);
    return `Relevance along ${count(this.one.chunks, "chunk")} of ${this.choice.nameOf(this.number)}: ${places.join(", ") || "no segment"}. Arrow keys move from chunk to chunk.`;
  }

  /** Return the rank labels of the segments, side by side if segments are close. */
  marks(mine) {
    const width = this.box.clientWidth || 1;
    let least = -Infinity;
    return [...mine]
      .sort((a, b) => a.rows[0] - b.rows[0])
      .map(({ rows, rank }) => {
        const mark = make("span", { class: "mark" }, String(rank + 1));
        const middle = (this.choice.chunkOf[rows[0]] + (rows[1] - rows[0]) / 2) / this.one.chunks;
        const left = Math.max(middle * width, least);
        least = left + 13 + 7 * String(rank + 1).length;
        mark.style.left = `${(100 * left) / width}%`;
        return mark;
      });
  }

  level(relevance, name) {
    const y = STRIP_HEIGHT - heightOf(relevance);
    return draw("line", { class: name, x1: 0, x2: this.one.chunks, y1: y, y2: y });
  }

  /** Return the outlines of the bars: of chunks outside of segments, and inside. */
  bars() {
    const paths = ["", ""];
    for (const row of this.rows()) {
      const height = heightOf(this.choice.data.relevances[row]);
      if (height < 0.4) continue;
      const bar = `M${this.choice.chunkOf[row] + 0.06} ${STRIP_HEIGHT}v${-height.toFixed(2)}h0.88v${height.toFixed(2)}z`;
      paths[this.state.segmentOf[row] >= 0 ? 1 : 0] += bar;
    }
    return paths;
  }

  track() {
    return this.choice.original
      .filter(({ rows }) => this.choice.documentOf[rows[0]] === this.number)
      .map(({ rows }) => `M${this.choice.chunkOf[rows[0]]} ${STRIP_HEIGHT + 2}h${rows[1] - rows[0]}v4h${rows[0] - rows[1]}z`)
      .join("");
  }

  ticks() {
    return (this.isLow ? [1] : [1, 0.5, 0.1]).map((level) => {
      const tick = make("span", { class: "tick", "aria-hidden": "true" }, String(level));
      tick.style.top = `${100 - heightOf(level)}%`;
      return tick;
    });
  }

  point(event) {
    const frame = this.box.getBoundingClientRect();
    const chunk = Math.floor(((event.clientX - frame.left) / frame.width) * this.one.chunks);
    this.moveTo(Math.max(0, Math.min(this.one.chunks - 1, chunk)));
  }

  key(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1 };
    if (event.key === "Enter") this.open();
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.moveTo(Math.max(0, Math.min(this.one.chunks - 1, this.cursor + steps[event.key])));
  }

  moveTo(chunk) {
    this.cursor = chunk;
    this.box.querySelector(".cursor")?.remove();
    this.readout.textContent = "";
    if (chunk < 0) return;
    const cursor = make("i", { class: "cursor" });
    cursor.style.left = `${((chunk + 0.5) / this.one.chunks) * 100}%`;
    this.box.append(cursor);
    const row = this.rowAt(chunk);
    this.readout.textContent =
      row < 0
        ? `Chunk ${chunk}: not read, nothing pointed to it`
        : `Chunk ${chunk} \u00b7 relevance ${said(this.choice.data.relevances[row])} \u00b7 share ${said(this.choice.data.shares[row])} \u00b7 ${this.choice.reasonOf(row, this.state)}`;
  }

  open() {
    const row = this.rowAt(this.cursor);
    if (row >= 0) this.onOpen(row);
  }
}

/** Draw strips when they come into view. */
export function drawWhenSeen(strips) {
  const byElement = new Map(strips.map((strip) => [strip.element, strip]));
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const strip = byElement.get(target);
      strip.isSeen = isIntersecting;
      if (isIntersecting && strip.state) strip.update(strip.state);
    }
  }, { rootMargin: "400px" });
  for (const { element } of strips) seen.observe(element);
  return seen;
}
