// Filters above the figures, and the tables of figures.

const chosen = { metric: data.main, budget: 0, first: data.best, second: data.retrievers.length > 1 ? (data.best === 0 ? 1 : 0) : -1 };
const ALL = 0; // the group of all questions
const MINUS = "\u2212";

/** Return a formatted figure: shares in percent with one decimal, other numbers with two. */
function figure(value, metric) {
  if (value === null || value === undefined) return "\u2013";
  return data.metrics[metric].isShare ? fixed(100 * value, 1) : fixed(value, 2);
}

const difference = (value, metric) => (value > 0 ? "+" : "") + figure(value, metric);
const figuresOf = (group, retriever, budget) => data.figures[group][retriever][budget]; // null where not measured
const intervalOf = (group, retriever, budget, metric) => figuresOf(group, retriever, budget)?.values[metric] ?? null;
/** Return the number of questions behind a metric of a group: "60 of 68". */
function questionsOf({ measured, questions }, metric) {
  return measured[metric] === questions ? whole.format(questions) : `${whole.format(measured[metric])} of ${whole.format(questions)}`;
}

const colourOf = (retriever) => `var(--s${retriever % 8})`;
const tokensOf = (budget) => `${whole.format(data.budgets[budget])} tokens`;

function swatch(retriever) {
  const box = make("i", { class: "swatch" });
  box.style.background = colourOf(retriever);
  return box;
}

function numberCell(text, below, attributes) {
  const { class: more = "", ...others } = attributes ?? {};
  return make("td", { class: `number ${more}`.trim(), ...others }, text, below ? make("small", null, below) : null);
}

function intervalWords(interval, metric) {
  if (!interval || interval[1] === null) return "";
  return `${figure(interval[1], metric)} to ${figure(interval[2], metric)}`;
}

/** Return the CSS class of a comparison: significant or not, better or worse. */
function verdict(comparison) {
  if (!comparison || !comparison.isSeen) return "";
  return comparison.difference > 0 === data.metrics[comparison.metric].isHigherBetter ? "better" : "worse";
}

const comparisonOf = (group, retriever, budget) =>
  data.comparisons.find((one) => one.group === group && one.retriever === retriever && one.budget === budget);

const tables = {
  figures() {
    const names = data.metrics.map(({ words }, at) => make("th", { scope: "col", class: `number${at === chosen.metric ? " shown" : ""}` }, words));
    const against = data.retrievers.length > 1 ? [make("th", { scope: "col", class: "number folded" }, `${data.metrics[data.main].words} against ${data.retrievers[0]}`)] : [];
    const others = ["tokens", "texts", "time"].map((words) => make("th", { scope: "col", class: "number" }, words));
    if (data.hasCost) others.push(make("th", { scope: "col", class: "number" }, "cost"));
    const head = make("thead", null, make("tr", null, make("th", { scope: "col" }, "Method"), ...names, ...against, ...others));
    const width = 1 + names.length + against.length + others.length;
    const body = data.budgets.flatMap((_, budget) => [
      make("tr", { class: "budget" }, make("th", { scope: "rowgroup" }, tokensOf(budget)), make("td", { colspan: width - 1 })),
      ...data.retrievers.map((__, retriever) => this.figuresRow(retriever, budget, width)),
    ]);
    $("figures").replaceChildren(make("table", null, head, make("tbody", null, ...body)));
  },

  figuresRow(retriever, budget, width) {
    const one = figuresOf(ALL, retriever, budget);
    const head = make("th", { scope: "row", title: data.retrievers[retriever] }, swatch(retriever), data.retrievers[retriever]);
    if (!one) return make("tr", null, head, make("td", { class: "meta", colspan: width - 1 }, "not measured"));
    const cells = data.metrics.map((_, metric) => {
      const interval = one.values[metric];
      return numberCell(figure(interval?.[0], metric), intervalWords(interval, metric), { class: metric === chosen.metric ? "shown" : "" });
    });
    if (data.retrievers.length > 1) cells.push(this.against(ALL, retriever, budget));
    cells.push(numberCell(whole.format(Math.round(one.tokens))), numberCell(fixed(one.texts, 1)));
    cells.push(numberCell(`${fixed(one.milliseconds, 0)} ms`, `95 % within ${fixed(one.slowest, 0)}`));
    if (data.hasCost) cells.push(numberCell(one.cost === null ? "not known" : `$${fixed(one.cost, 4)}`));
    return make("tr", null, head, ...cells);
  },

  against(group, retriever, budget) {
    const comparison = comparisonOf(group, retriever, budget);
    if (!comparison) return numberCell("");
    const { metric } = comparison;
    const interval = comparison.low === null ? "" : `${difference(comparison.low, metric)} to ${difference(comparison.high, metric)}`;
    return numberCell(make("span", { class: verdict(comparison) }, difference(comparison.difference, metric)), interval, { title: comparison.sentence });
  },

  groups() {
    $("groups-section").hidden = data.groups.length < 2;
    if (data.groups.length < 2) return;
    const { metric, budget } = chosen;
    const direction = data.metrics[metric].isHigherBetter ? 1 : -1;
    $("groups-hint").textContent = `${data.metrics[metric].words} at ${tokensOf(budget)}; the best of each row is in bold.`;
    const head = make("tr", null, make("th", { scope: "col" }, "Questions"), make("th", { scope: "col", class: "number" }, "how many"),
      ...data.retrievers.map((name, retriever) => make("th", { scope: "col", class: "number" }, swatch(retriever), name)));
    const rows = data.groups.map((group, at) => {
      const intervals = data.retrievers.map((_, retriever) => intervalOf(at, retriever, budget, metric));
      const best = Math.max(...intervals.map((interval) => (interval ? direction * interval[0] : -Infinity)));
      const cells = intervals.map((interval) => {
        const isBest = interval && direction * interval[0] === best;
        const text = figure(interval?.[0], metric);
        return numberCell(isBest ? make("strong", null, text) : text, intervalWords(interval, metric), { class: isBest ? "best" : "" });
      });
      return make("tr", null, make("th", { scope: "row", dir: "auto", title: group.name }, group.name), numberCell(questionsOf(group, metric)), ...cells);
    });
    $("groups").replaceChildren(make("table", null, make("thead", null, head), make("tbody", null, ...rows)));
  },
};
