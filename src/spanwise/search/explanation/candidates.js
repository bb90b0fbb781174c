// Table of candidates with expandable rows.

const table = {
  body: document.querySelector("#candidates tbody"),
  shown: LISTED_AT_ONCE,
  opened: new Set(),

  update(state) {
    this.state = state;
    const only = $("by-document").value;
    const decision = $("by-decision").value;
    const isIn = (row) => state.segmentOf[row] >= 0;
    this.matching = data.candidates.filter(
      ({ row }) =>
        (only === "" || documentOf[row] === Number(only)) &&
        (decision === "" || isIn(row) === (decision === "in")),
    );
    const visible = this.matching.slice(0, this.shown);
    this.body.replaceChildren(...visible.flatMap((candidate) => this.lines(candidate)));
    $("more").hidden = this.matching.length <= this.shown;
    const unlisted = data.unlisted ? `; ${whole.format(data.unlisted)} of the least share are not part of this page` : "";
    $("listed").textContent = `${whole.format(visible.length)} of ${count(this.matching.length, "chunk")}${unlisted}`;
  },

  lines(candidate) {
    const { row } = candidate;
    const isIn = this.state.segmentOf[row] >= 0;
    const isOpen = this.opened.has(row);
    const level = make("i");
    level.style.width = `${data.relevances[row] * 100}%`;
    const line = make(
      "tr",
      { tabindex: "0", "aria-expanded": String(isOpen), class: isIn ? "in" : null, "data-row": row },
      make("td", { dir: "auto" }, nameOf(documentOf[row]), make("span", { class: "meta" }, ` \u00b7 chunk ${chunkOf[row]}`)),
      make("td", null, make("span", { class: "relevance", "aria-hidden": "true" }, level), fixed(data.relevances[row], 3)),
      make("td", { class: "number", "data-label": "share" }, fixed(data.shares[row], 4)),
      make("td", { class: "number", "data-label": "tokens" }, String(data.tokens[row])),
      make("td", { class: "number", "data-label": "value" }, fixed(this.state.values[row] / UNITS, 4)),
      make("td", null, reasonOf(row, this.state)),
    );
    line.addEventListener("click", () => this.toggle(row));
    line.addEventListener("keydown", (event) => this.key(event, row));
    return isOpen ? [line, this.detail(candidate)] : [line];
  },

  detail(candidate) {
    const scores = candidate.scores.map((one) => this.scores(one));
    const place = [pathOf(candidate, documentOf[candidate.row]), `characters ${candidate.start}\u2013${candidate.end}`];
    const held = candidate.terms.length ? `holds: ${candidate.terms.join(", ")}` : "holds no word of the question";
    return make(
      "tr",
      { class: "detail" },
      make(
        "td",
        { colspan: "6" },
        make("p", { class: "meta", dir: "auto" }, place.filter(Boolean).join(" \u00b7 ")),
        make("blockquote", { dir: "auto" }, candidate.text.trim()),
        make("p", { class: "meta", dir: "auto" }, held),
        ...scores,
      ),
    );
  },

  scores(one) {
    const parts = data.features.map((label, at) => ({ label, amount: one.contributions[at] - data.typical[one.query][at] }));
    parts.push({ label: data.spread, amount: one.spread });
    const facts = make("dl", { class: "facts" });
    const said3 = [["keyword score (BM25)", fixed(one.keyword, 2)], ["cosine of the vectors", fixed(one.cosine, 3)],
      ["score", fixed(one.score, 2)], ["share", said(one.share)], ["relevance", said(one.relevance)]];
    for (const [name, value] of said3) facts.append(make("dt", null, name), make("dd", null, value));
    const query = data.queries.length > 1 ? make("h4", { dir: "auto" }, data.queries[one.query]) : null;
    return make("div", { class: "scores" }, query, barList(parts, scaleOf(parts)), facts);
  },

  key(event, row) {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.toggle(row);
    }
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const lines = [...this.body.querySelectorAll("tr[data-row]")];
    lines[lines.indexOf(event.currentTarget) + steps[event.key]]?.focus();
  },

  toggle(row) {
    if (!this.opened.delete(row)) this.opened.add(row);
    this.update(this.state);
    this.body.querySelector(`tr[data-row="${row}"]`)?.focus({ preventScroll: true });
  },

  show(row) {
    $("by-document").value = String(documentOf[row]);
    $("by-decision").value = "";
    this.opened.add(row);
    this.shown = Math.max(this.shown, data.candidates.length);
    this.update(this.state);
    const line = this.body.querySelector(`tr[data-row="${row}"]`);
    line.focus({ preventScroll: true });
    line.scrollIntoView({ block: "center" });
  },
};
