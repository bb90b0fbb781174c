// List of questions: filtered, sorted and paged; each entry can be expanded.

const AT_ONCE = 50;
const ORDERS = [
  ["worst", "worst first"],
  ["loss", "greatest loss first"],
  ["gain", "greatest gain first"],
  ["given", "as given"],
];

const valueOf = (question, retriever) => rowOf(question, retriever)?.values[chosen.metric] ?? null;

const list = {
  body: document.querySelector("#questions tbody"),
  shown: AT_ONCE,
  opened: new Set(),

  /** Return the listed questions in sort order; questions without a figure come last. */
  matching() {
    const group = Number($("group").value);
    const words = $("words").value.trim().toLowerCase();
    const members = group ? new Set(data.groups[group].members) : null;
    const found = data.questions
      .map((one, question) => ({ one, question }))
      .filter(({ one, question }) => (!members || members.has(question)) && (!words || `${one.id} ${one.text} ${one.answer}`.toLowerCase().includes(words)))
      .map(({ question }) => this.row(question));
    return this.ordered(found);
  },

  row(question) {
    const [first, second] = [valueOf(question, chosen.first), valueOf(question, chosen.second)];
    return { question, first, second, change: first === null || second === null ? null : first - second };
  },

  ordered(found) {
    const direction = data.metrics[chosen.metric].isHigherBetter ? 1 : -1;
    const keys = {
      worst: ({ first }) => (first === null ? Infinity : direction * first),
      loss: ({ change }) => (change === null ? Infinity : direction * change),
      gain: ({ change }) => (change === null ? Infinity : -direction * change),
      given: () => 0,
    };
    const key = keys[$("order").value];
    return found.sort((a, b) => (key(a) === key(b) ? a.question - b.question : key(a) - key(b)));
  },

  update() {
    const found = this.matching();
    const rows = found.slice(0, this.shown);
    this.head();
    this.body.replaceChildren(...rows.flatMap((row) => this.lines(row)));
    $("more").hidden = found.length <= this.shown;
    $("listed").textContent = `${whole.format(rows.length)} of ${count(found.length, "question")}; ${data.metrics[chosen.metric].words} at ${tokensOf(chosen.budget)}${this.balance(found)}`;
  },

  /** Return a sentence with the number of questions on which each method is better. */
  balance(found) {
    if (chosen.second < 0) return "";
    const direction = data.metrics[chosen.metric].isHigherBetter ? 1 : -1;
    const changes = found.map(({ change }) => change).filter((change) => change !== null);
    const better = changes.filter((change) => direction * change > 1e-9).length;
    const worse = changes.filter((change) => direction * change < -1e-9).length;
    return `; ${data.retrievers[chosen.first]} is better on ${whole.format(better)}, worse on ${whole.format(worse)}, the same on ${whole.format(changes.length - better - worse)}`;
  },

  head() {
    const names = [chosen.first, chosen.second].filter((retriever) => retriever >= 0).map((retriever) => make("th", { scope: "col", class: "number" }, swatch(retriever), data.retrievers[retriever]));
    if (chosen.second >= 0) names.push(make("th", { scope: "col", class: "number" }, "difference"));
    document.querySelector("#questions thead").replaceChildren(make("tr", null, make("th", { scope: "col" }, "Question"), ...names));
  },

  lines({ question, first, second, change }) {
    const { metric } = chosen;
    const cells = [numberCell(figure(first, metric), null, { "data-label": data.retrievers[chosen.first] })];
    if (chosen.second >= 0) {
      const isBetter = change > 0 === data.metrics[metric].isHigherBetter;
      const kind = change === null || Math.abs(change) < 1e-9 ? null : isBetter ? "better" : "worse";
      cells.push(numberCell(figure(second, metric), null, { "data-label": data.retrievers[chosen.second] }));
      cells.push(numberCell(change === null ? "\u2013" : make("span", { class: kind }, difference(change, metric)), null, { "data-label": "difference" }));
    }
    const isOpen = this.opened.has(question);
    const line = make("tr", { tabindex: "0", "aria-expanded": String(isOpen), "data-question": question }, make("td", { dir: "auto" }, data.questions[question].text), ...cells);
    line.addEventListener("click", () => this.toggle(question));
    line.addEventListener("keydown", (event) => this.key(event, question));
    if (!isOpen) return [line];
    return [line, make("tr", { class: "detail" }, make("td", { colspan: String(1 + cells.length) }, ...detail.of(question)))];
  },

  key(event, question) {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.toggle(question);
    }
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const lines = [...this.body.querySelectorAll("tr[data-question]")];
    lines[lines.indexOf(event.currentTarget) + steps[event.key]]?.focus();
  },

  toggle(question) {
    if (!this.opened.delete(question)) this.opened.add(question);
    this.update();
    this.body.querySelector(`tr[data-question="${question}"]`)?.focus({ preventScroll: true });
  },
};
