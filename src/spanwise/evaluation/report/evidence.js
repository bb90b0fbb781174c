// Evidence of one question and the places that each method returned. Offsets count code points, as
// in Python.

/** Return whether a returned place, [document, start, end] or pages, overlaps the evidence. */
function meets(place, evidence) {
  const [document, start, end, isPages] = place;
  if (document !== evidence.document || start === undefined) return false;
  if (isPages) return evidence.page !== null && start <= evidence.page && evidence.page <= end;
  return evidence.start !== null && start < evidence.end && evidence.start < end;
}

/** Return runs of the evidence text with two flags: returned by the first, by the second method. */
function runsOf(evidence, first, second) {
  const shown = Array.from(evidence.text).slice(0, data.evidenceChars);
  const inside = (places) =>
    places
      .filter(([document, start, , isPages]) => document === evidence.document && start !== undefined && !isPages)
      .map(([, start, end]) => [start - evidence.start, end - evidence.start]);
  const covers = [inside(first), inside(second)];
  const edges = covers.flat(2).filter((at) => at > 0 && at < shown.length);
  const cuts = [...new Set([0, shown.length, ...edges])].sort((a, b) => a - b);
  return cuts.slice(1).map((end, at) => {
    const start = cuts[at];
    const [one, other] = covers.map((ranges) => ranges.some(([from, to]) => from <= start && end <= to));
    return { text: shown.slice(start, end).join(""), kind: one && other ? "both" : one ? "one" : other ? "other" : "" };
  });
}

const rowOf = (question, retriever) =>
  retriever < 0 ? null : data.rows[(question * data.retrievers.length + retriever) * data.budgets.length + chosen.budget];

function placeWords([document, start, end, isPages]) {
  if (document < 0) return "could not be placed in the documents";
  const name = data.documents[document];
  if (start === undefined) return name;
  if (isPages) return `${name} \u00b7 ${start === end ? `page ${start}` : `pages ${start}\u2013${end}`}`;
  return `${name} \u00b7 characters ${whole.format(start)}\u2013${whole.format(end)}`;
}

function evidenceWords(evidence) {
  const name = evidence.document < 0 ? "" : data.documents[evidence.document];
  const page = evidence.page === null ? "" : `page ${evidence.page}`;
  const chars = evidence.start === null ? "" : `characters ${whole.format(evidence.start)}\u2013${whole.format(evidence.end)}`;
  return [name, page, chars].filter(Boolean).join(" \u00b7 ");
}

const detail = {
  of(question) {
    const one = data.questions[question];
    const about = [data.datasets[one.dataset], one.id, one.about].filter(Boolean).join(" \u00b7 ");
    return [
      make("p", { class: "meta", dir: "auto" }, about),
      one.answer ? make("p", { dir: "auto" }, make("span", { class: "meta" }, "Answer: "), one.answer) : null,
      one.rubric ? make("p", { dir: "auto" }, make("span", { class: "meta" }, "Rubric: "), one.rubric) : null,
      ...this.evidence(one, question),
      make("h4", null, `What was returned at ${tokensOf(chosen.budget)}`),
      make("p", { class: "meta" }, "\u25cf holds evidence, \u25cb the right document, \u00d7 another document"),
      make("div", { class: "returned" }, ...data.retrievers.map((_, retriever) => this.returned(one, question, retriever))),
      ...this.further(one),
    ].filter(Boolean);
  },

  evidence(one, question) {
    if (!one.evidence.length) return [make("p", { class: "meta" }, "No evidence is known for this question.")];
    const [first, second] = [chosen.first, chosen.second].map((retriever) => rowOf(question, retriever));
    const hasText = one.evidence.some(({ text, start }) => text && start !== null);
    return [
      make("h4", null, one.evidence.length > 1 ? `Evidence, in ${one.evidence.length} places` : "Evidence"),
      hasText ? this.keys(second) : null,
      ...one.evidence.flatMap((evidence) => this.passage(evidence, first, second)),
      one.moreEvidence ? make("p", { class: "meta" }, `and ${count(one.moreEvidence, "place")} more`) : null,
    ];
  },

  passage(evidence, first, second) {
    const where = make("p", { class: "meta", dir: "auto" }, evidenceWords(evidence));
    if (!evidence.text) return [where];
    const runs =
      evidence.start === null
        ? [document.createTextNode(evidence.text)]
        : runsOf(evidence, first?.places ?? [], second?.places ?? []).map(({ text, kind }) => make("mark", { class: kind || null }, text));
    const cut = evidence.isCut ? " \u2026" : null;
    return [where, make("blockquote", { dir: "auto" }, ...runs, cut)];
  },

  keys(second) {
    const names = [chosen.first, chosen.second].map((retriever) => data.retrievers[retriever]);
    const keys = second
      ? [["both", "found by both"], ["one", `by ${names[0]} alone`], ["other", `by ${names[1]} alone`], [null, "missed by both"]]
      : [["one", "found"], [null, "missed"]];
    return make("p", { class: "keys" }, ...keys.map(([kind, words]) => make("span", null, make("mark", { class: kind }, words))));
  },

  returned(one, question, retriever) {
    const row = rowOf(question, retriever);
    const head = make("p", null, swatch(retriever), make("strong", null, data.retrievers[retriever]));
    if (!row) return make("div", null, head, make("p", { class: "meta" }, "not measured"));
    const documents = new Set(one.evidence.map(({ document }) => document));
    const figures = data.metrics.map(({ words }, metric) => [words, row.values[metric]]).filter(([, value]) => value !== null && value !== undefined);
    const said = figures.slice(0, 4).map(([words, value], at) => `${words} ${figure(value, data.metrics.findIndex((metric) => metric.words === figures[at][0]))}`);
    const facts = [...said, count(Math.round(row.tokens), "token")].join(" \u00b7 ");
    const items = row.places.map((place, at) => {
      const kind = one.evidence.some((evidence) => meets(place, evidence)) ? "holds" : documents.has(place[0]) ? "near" : "wrong";
      const text = row.texts?.[at] ? make("q", { dir: "auto" }, row.texts[at]) : null;
      return make("li", { class: documents.size ? kind : null, dir: "auto" }, placeWords(place), text);
    });
    const more = row.more ? make("p", { class: "meta" }, `and ${count(row.more, "text")} more`) : null;
    const warnings = (row.warnings ?? []).map((warning) => make("p", { class: "worse" }, warning));
    return make("div", null, head, make("p", { class: "meta" }, facts), ...warnings, make("ol", null, ...items), more);
  },

  further(one) {
    if (data.drawing === null) return [];
    const without = data.retrievers.filter((_, retriever) => data.drawing[retriever] === null);
    return [
      make("h4", null, "Why these segments: the explain views"),
      ...data.retrievers.flatMap((name, retriever) => this.view(one, name, retriever)),
      without.length ? make("p", { class: "meta" }, `None for ${without.join(", ")}: only exact search chooses segments by values that can be shown.`) : null,
    ];
  },

  view(one, name, retriever) {
    const [address, drawing] = [one.explained[retriever], data.drawing[retriever]];
    if (address) return [make("p", null, make("a", { href: address, target: "_blank", rel: "noopener" }, `${name}: relevance along the documents, and every candidate`))];
    if (drawing === null) return [];
    if (!drawing || !one.words) return [make("p", { class: "meta" }, `${name}: not drawn for this question; --explain draws more`)];
    return [make("p", { class: "meta" }, `${name}: this draws it, with headers within the budget`), make("pre", { class: "command" }, `${drawing} ${one.words}`)];
  },
};
