// The view of the evaluation reports: list, figures with intervals, and questions with their values.

import { addressOf, placeOf } from "./address.js";
import { baseOf, get } from "./api.js";
import { $, announce, count, draw, make } from "./elements.js";

const SHOWN = 50; // questions at first
const KINDS = { failed: "Not found", part: "Found in part", all: "All questions" };
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const dateOf = (report) => day.format(new Date(report.created_at));

/** Show the list of reports, or the report that the state names, unless `isCurrent` returns false by then. */
export async function showEvaluation(kb, state, isCurrent) {
  const name = state.get("name");
  $("evaluation-back").hidden = !name;
  $("evaluation-back").href = addressOf("evaluation", { kb });
  if (!name) {
    $("evaluation-title").textContent = "Evaluation";
    const { evaluations, total } = await get(`${baseOf(kb)}/evaluations?limit=200`);
    if (!isCurrent()) return;
    $("report").replaceChildren(...(evaluations.length ? listOf(kb, evaluations, total) : emptyState(kb)));
    return;
  }
  const report = await get(`${baseOf(kb)}/evaluations/${encodeURIComponent(name)}`);
  if (!isCurrent()) return;
  $("evaluation-title").textContent = report.datasets.join(", ");
  $("report").replaceChildren(...reportOf(kb, state, report));
}

function emptyState(kb) {
  return [make("div", { class: "empty" },
    make("p", null, "There are no evaluation reports yet. Measure how much of the evidence of your own questions is found, and keep the report:"),
    make("pre", null, `spanwise eval questions.jsonl --kb ${kb}.kb --keep`))];
}

function listOf(kb, evaluations, total) {
  announce(count(total, "report"));
  return [make("table", { "aria-label": "Reports" },
    make("thead", null, make("tr", null, ["Questions", "Date", "Methods", "Budgets"].map((title) => make("th", { scope: "col" }, title)))),
    make("tbody", null, evaluations.map((report) => make("tr", null,
      make("td", { class: "name" }, make("a", { href: addressOf("evaluation", { kb, name: report.name }) }, report.datasets.join(", ")),
        make("div", { class: "meta" }, count(report.questions, "question"))),
      make("td", null, dateOf(report)),
      make("td", null, report.retrievers.join(", ")),
      make("td", null, `${report.budgets.map((budget) => budget.toLocaleString("en")).join(", ")} tokens`)))))];
}

function reportOf(kb, state, report) {
  const all = report.figures.filter(({ kind }) => kind === "all");
  const sentences = report.comparisons.filter(({ kind }) => kind === "all");
  const measured = all.length ? numberOf(report, all[0]) : "";
  return [
    make("p", { class: "meta" }, [dateOf(report), count(report.questions.length, "question"), measured.includes(" of ") ? `${measured} with evidence` : null, `tokens of ${report.tokenizer}`].filter(Boolean).join(" · ")),
    sentences.length ? make("ul", { class: "sentences" }, sentences.map(({ sentence, holds, budget_tokens: budget }) => make("li", { class: holds ? "holds" : null }, `${count(budget, "token")}: ${sentence}.`))) : null,
    ...report.notices.map((notice) => make("p", { class: "note" }, notice)),
    make("h2", null, `${capital(report.metric.words)} of each method`),
    make("p", { class: "meta" }, `${report.metric.meaning} The lines are 95 % confidence intervals.`),
    ...report.budgets.map((budget) => figure(report, all.filter(({ budget_tokens: own }) => own === budget), budget)),
    make("h2", null, "All figures"),
    figuresTable(report, all),
    ...groupsOf(report),
    ...answersOf(report),
    ...questionsOf(kb, state, report),
  ].filter(Boolean);
}

/** Return the number of questions behind the main metric of a row: "60 of 68". */
function numberOf({ metric }, { metrics, count: questions }) {
  const measured = metrics[metric.name]?.questions ?? questions; // earlier reports have no number
  return measured === questions ? questions.toLocaleString("en") : `${measured.toLocaleString("en")} of ${questions.toLocaleString("en")}`;
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Return a value of the main metric or of another one as text; shares are in percent. */
function shown(value, isShare) {
  return isShare ? (100 * value).toFixed(1) : value.toLocaleString("en", { maximumFractionDigits: 2 });
}

function withInterval({ mean, low, high }, isShare) {
  const range = low === null ? "" : ` (${shown(low, isShare)} to ${shown(high, isShare)})`;
  return `${shown(mean, isShare)}${range}`;
}

/** Return the plot of the main metric at one budget: a dot and an interval for each method. */
function figure(report, figures, budget) {
  const isShare = report.metric.unit === "share";
  const measured = figures.filter(({ metrics }) => metrics[report.metric.name]);
  if (!measured.length) return null;
  const top = isShare ? 1 : Math.max(...measured.map(({ metrics: { [report.metric.name]: one } }) => one.high ?? one.mean), 1e-9);
  const whole = Math.min(700, $("report").clientWidth || 600);
  const [left, width, step] = [4, whole - 8, 44];
  const height = measured.length * step + 22;
  const at = (value) => left + (width * Math.min(Math.max(value, 0), top)) / top;
  const words = measured.map(({ retriever, metrics }) => `${retriever} ${withInterval(metrics[report.metric.name], isShare)}`).join("; ");
  const picture = draw("svg", { class: "plot", viewBox: `0 0 ${whole} ${height}`, role: "img", "aria-label": `${report.metric.words} at ${count(budget, "token")}: ${words}` });
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    picture.append(
      draw("line", { class: "grid", x1: at(part * top), x2: at(part * top), y1: 0, y2: height - 18 }),
      draw("text", { class: "tick", x: at(part * top), y: height - 4, "text-anchor": part === 0 ? "start" : part === 1 ? "end" : "middle" }, isShare ? `${100 * part} %` : shown(part * top, false)));
  }
  measured.forEach(({ retriever, metrics }, place) => {
    const { mean, low, high } = metrics[report.metric.name];
    const y = place * step + 30;
    picture.append(
      draw("text", { class: "label", x: left, y: y - 13 }, `${retriever}  ${shown(mean, isShare)}`),
      draw("line", { class: "interval", x1: at(low ?? mean), x2: at(high ?? mean), y1: y, y2: y }),
      draw("circle", { class: "dot", cx: at(mean), cy: y, r: 5 }));
  });
  return make("figure", { class: "chart" }, make("figcaption", null, `At ${count(budget, "token")}`), picture);
}

function scrolled(label, table) {
  return make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, table);
}

function figuresTable(report, figures) {
  const metrics = Object.keys(report.metrics);
  return scrolled("All figures", make("table", { class: "figures" },
    make("thead", null, make("tr", null, ["Budget", "Method", ...metrics.map((metric) => report.metrics[metric].words), "tokens", "ms"].map((title) => make("th", { scope: "col" }, title)))),
    make("tbody", null, figures.map((row) => make("tr", null,
      make("td", null, row.budget_tokens.toLocaleString("en")),
      make("th", { scope: "row" }, row.retriever),
      metrics.map((metric) => make("td", null, row.metrics[metric] ? shown(row.metrics[metric].mean, report.metrics[metric].unit === "share") : "–")),
      make("td", null, Math.round(row.tokens).toLocaleString("en")),
      make("td", null, (1000 * row.seconds).toFixed(1)))))));
}

/** Return the main metric by kind of question, at the smallest budget. */
function groupsOf(report) {
  const rows = report.figures.filter(({ kind, budget_tokens: budget }) => kind !== "all" && budget === report.budgets[0]);
  const groups = [...new Set(rows.map(({ questions }) => questions))];
  if (!groups.length) return [];
  const isShare = report.metric.unit === "share";
  const cell = (group, retriever) => {
    const found = rows.find((row) => row.questions === group && row.retriever === retriever)?.metrics[report.metric.name];
    return make("td", null, found ? withInterval(found, isShare) : "–");
  };
  return [
    make("h2", null, "By kind of question"),
    make("p", { class: "meta" }, `${capital(report.metric.words)} at ${count(report.budgets[0], "token")}, with 95 % intervals.`),
    scrolled("By kind of question", make("table", { class: "figures" },
      make("thead", null, make("tr", null, ["Questions", "Number", ...report.retrievers].map((title) => make("th", { scope: "col" }, title)))),
      make("tbody", null, groups.map((group) => make("tr", null,
        make("th", { scope: "row" }, group),
        make("td", null, numberOf(report, rows.find(({ questions }) => questions === group))),
        report.retrievers.map((retriever) => cell(group, retriever))))))),
  ];
}

function answersOf({ answers }) {
  if (!answers) return [];
  return [
    make("h2", null, "Graded answers"),
    scrolled("Graded answers", make("table", { class: "figures" },
      make("thead", null, make("tr", null, answers.columns.map((title) => make("th", { scope: "col" }, title)))),
      make("tbody", null, answers.rows.map((row) => make("tr", null, row.map((text) => make("td", null, text))))))),
    make("ul", { class: "sentences" }, answers.sentences.map((sentence) => make("li", null, sentence))),
  ];
}

function questionsOf(kb, state, report) {
  const list = make("ol", { class: "questions" });
  const status = make("p", { class: "meta" });
  const more = make("button", { type: "button", class: "plain", click: () => show(Infinity) }, "Show all");
  const choice = (label, options, first) => {
    const field = make("select", { change: () => show(SHOWN) }, options.map(([value, words]) => make("option", { value, selected: value === first }, words)));
    return [field, make("label", null, label, field)];
  };
  const [method, methodLabel] = choice("Method", report.retrievers.map((one) => [one, one]), report.retrievers.at(-1));
  const [budget, budgetLabel] = choice("Budget", report.budgets.map((one) => [String(one), count(one, "token")]), String(report.budgets[0]));
  const [kind, kindLabel] = choice("Show", Object.entries(KINDS), "failed");
  const valueOf = (question) => question.values[method.value]?.[budget.value] ?? null;
  const sign = report.metric.higher_is_better ? 1 : -1;
  const isIn = (value) => kind.value === "all" || (value !== null && (kind.value === "failed" ? value <= 0 : value > 0 && value < 1));
  function show(most) {
    const found = report.questions.map((question) => [question, valueOf(question)]).filter(([, value]) => isIn(value))
      .sort(([, one], [, other]) => sign * ((one ?? 2) - (other ?? 2)));
    list.replaceChildren(...found.slice(0, most).map(([question, value]) => questionOf(kb, report, question, value, budget.value)));
    status.textContent = found.length ? `${count(found.length, "question")} of ${report.questions.length.toLocaleString("en")}` : "No question matches.";
    announce(status.textContent);
    more.hidden = found.length <= most;
  }
  show(SHOWN);
  return [make("h2", null, "Questions"), make("div", { class: "fields" }, methodLabel, budgetLabel, kindLabel), status, list, more];
}

function questionOf(kb, report, question, value, budget) {
  const search = `#/search?${new URLSearchParams({ kb, q: question.text, budget })}`;
  const evidence = question.evidence.map(({ document_id: id, start, end }) => make("a", {
    href: placeOf(kb, id, start === null ? { question: question.text } : { start, end, question: question.text }), dir: "auto",
  }, id));
  return make("li", null,
    make("a", { href: search, dir: "auto" }, question.text),
    make("span", { class: "value" }, value === null ? "–" : shown(value, report.metric.unit === "share")),
    evidence.length ? make("p", { class: "meta" }, "Evidence: ", evidence.flatMap((link, place) => (place ? [", ", link] : [link]))) : null);
}
