// Answers of the language model: one answer that streams, or one for each document.

import { placeOf } from "./address.js";
import { events, send } from "./api.js";
import { $, announce, count, make, whole } from "./elements.js";
import { problemBox } from "./problems.js";
import { questionOf } from "./search.js";

const MARKER = /\[(\d+)(\?)?\]|\[\?\]|\[!\]/g;
const MEANINGS = {
  "[?]": "This statement has no quote.",
  "[!]": "No quote of the statement contains the number, date or name before this mark.",
  failed: "The quote was not found in the documents.",
};
const VERDICTS = ["yes", "no", "not stated", "failed", "not read"];
const HEADINGS = { yes: "Yes", no: "No", "not stated": "Not stated", failed: "Failed", "not read": "Not read" };
const EVENTS = { Accept: "text/event-stream" };

let running = null;

/** Stop the answer that is being written, and remove it. */
export function clearAnswer() {
  running?.abort();
  running = null;
  $("answer").replaceChildren();
}

/** Show what to do if the server has no language model. */
export function showNoModel() {
  clearAnswer();
  $("answer").replaceChildren(make("div", { class: "note" },
    make("p", null, make("strong", null, "This server has no language model.")),
    make("p", null, "The passages below do not need one. For answers, start the server with a model:"),
    make("pre", null, "spanwise serve --llm openai:gpt-5-mini\nspanwise serve --llm ollama:qwen3")));
}

/** Offer to ask the model: the address came from a link, and a call may cost money. */
export function offerAnswer(ask) {
  clearAnswer();
  const start = make("button", { type: "button", id: "answer-start" }, "Ask the model");
  start.addEventListener("click", ask, { once: true });
  $("answer").replaceChildren(make("div", { class: "note" },
    make("p", null, "This link asks the language model of the server. A call may cost money."),
    make("p", { class: "line" }, start)));
}

/** Ask the model and show the answer while it is written. */
export async function showAnswer(names, state) {
  const { signal, area, stop } = begin("Answer");
  const text = make("div", { class: "body", dir: "auto" }, make("span", { class: "waiting" }, "The model is reading the passages …"));
  const rest = make("div");
  area.append(text, rest, stop);
  let written = "";
  try {
    const response = await send("POST", "/v1/ask", questionOf(names, state), { raw: true, signal, headers: EVENTS });
    for await (const [name, data] of events(response)) {
      if (name === "text") text.textContent = written += data.text;
      if (name === "error") rest.replaceChildren(problemBox({ problem: data }));
      if (name === "answer") {
        drawAnswer(names, data, text, rest);
        announce(`Answer: ${written}`);
      }
    }
  } catch (error) {
    if (signal.aborted) rest.replaceChildren(make("p", { class: "meta" }, "Stopped."));
    else text.replaceChildren(problemBox(error));
  } finally {
    stop.remove();
  }
}

/** Estimate the cost of a question to each document, and ask after a confirmation. */
export async function showEach(names, state) {
  const { signal, area, stop } = begin("Answers of each document");
  const text = make("p", { role: "status" }, "Estimating …");
  area.append(text);
  const body = questionOf(names, state);
  try {
    const { usage, documents } = await send("POST", "/v1/ask-each", { ...body, dry_run: true }, { signal });
    const cost = usage.cost === null ? "at unknown cost" : `at most $${usage.cost.toFixed(2)}`;
    text.textContent = `The model reads ${count(documents.length, "document")} one by one: at most ${count(usage.calls, "call")} and ${whole.format(usage.input_tokens + usage.output_tokens)} tokens, ${cost}. Stored answers cost nothing.`;
    const start = make("button", { type: "button", id: "each-start" }, "Ask each document");
    area.append(make("p", { class: "line" }, start));
    start.addEventListener("click", () => {
      start.parentElement.replaceWith(stop);
      readEach(names, body, { signal, area, stop, text });
    }, { once: true });
  } catch (error) {
    if (!signal.aborted) area.replaceChildren(problemBox(error));
  }
}

async function readEach(names, body, { signal, area, stop, text }) {
  const bar = make("progress", { max: 1, "aria-label": "Documents read" });
  stop.before(bar, " ");
  try {
    const response = await send("POST", "/v1/ask-each", body, { raw: true, signal, headers: EVENTS });
    for await (const [name, data] of events(response)) {
      if (name === "progress") {
        bar.max = data.total;
        bar.value = data.done;
        text.textContent = `${whole.format(data.done)} of ${count(data.total, "document")} read`;
      }
      if (name === "error") area.append(problemBox({ problem: data }));
      if (name === "answers") area.replaceChildren(...listOf(names, data));
    }
  } catch (error) {
    if (signal.aborted) text.textContent = "Stopped. The answers so far are stored; ask again to continue.";
    else area.append(problemBox(error));
  } finally {
    stop.remove();
    bar.remove();
  }
}

/** Return the parts of a new answer, whose area replaces the previous one. */
function begin(label) {
  clearAnswer();
  const control = new AbortController();
  running = control;
  const stop = make("button", { type: "button", class: "plain small stop" }, "Stop");
  stop.addEventListener("click", () => control.abort());
  const area = make("section", { class: "answer", "aria-label": label });
  $("answer").replaceChildren(area);
  return { signal: control.signal, area, stop };
}

const kbOf = (names, citation) => citation.knowledge_base || names[0];

function citationLink(names, { number, quote, citation }, label) {
  const place = sourceOf(citation);
  return make("a", {
    href: placeOf(kbOf(names, citation), citation.document_id, citation),
    class: label ? null : "cite",
    title: label ? null : `“${quote}” – ${place}`,
    "aria-label": label ? null : `Citation ${number}: ${place}`,
  }, label ?? `[${number}]`);
}

/** Return a text as nodes: citations as links, and marks of doubt with their meaning. */
function withCitations(names, text, citations) {
  const byNumber = new Map(citations.map((cited) => [cited.number, cited]));
  const nodes = [];
  let done = 0;
  for (const match of text.matchAll(MARKER)) {
    const cited = byNumber.get(Number(match[1]));
    const meaning = MEANINGS[match[0]] ?? MEANINGS.failed;
    nodes.push(text.slice(done, match.index), cited?.citation
      ? citationLink(names, cited)
      : make("span", { class: "doubt", title: meaning }, match[0]));
    done = match.index + match[0].length;
  }
  return [...nodes, text.slice(done)];
}

/** Return the meanings of the marks of doubt in some texts. */
function doubtsIn(texts) {
  const marks = new Set(texts.join(" ").match(MARKER)?.filter((mark) => /[?!]/.test(mark)));
  const rows = [...marks].map((mark) => make("li", null, make("span", { class: "doubt" }, mark), ` ${MEANINGS[mark] ?? MEANINGS.failed}`));
  return rows.length ? [make("ul", { class: "doubts" }, rows)] : [];
}

function sourceOf({ title, document_id: id, section_path: path, pages, knowledge_base: kb }) {
  const titles = (path ?? []).filter((one) => one !== title).slice(-2).join(" › ");
  return [kb, title || id, titles, pages ? `page ${pages[0]}` : ""].filter(Boolean).join(", ");
}

function quotes(names, citations) {
  if (!citations.length) return [];
  const rows = citations.map((cited) => make("li", { value: cited.number },
    make("blockquote", { dir: "auto" }, cited.quote),
    cited.citation
      ? citationLink(names, cited, sourceOf(cited.citation))
      : make("span", { class: "problem-text" }, MEANINGS.failed)));
  return [make("ol", { class: "quotes" }, rows)];
}

function drawAnswer(names, answer, text, rest) {
  const note = (content) => make("p", { class: "note" }, content);
  text.classList.toggle("refused", answer.refused);
  text.replaceChildren(...withCitations(names, answer.text, answer.citations));
  const sums = answer.calculations.map(({ formula, result, operands, problem }) => make("p", { class: problem ? "problem-text" : "meta" },
    [result ? `${formula} = ${result}` : formula, ...operands.map(({ name, value, citation }) => `${name} = ${value} [${citation}]`), problem].filter(Boolean).join("; ")));
  rest.replaceChildren(
    ...(answer.assumed ? [note(`Assumed: ${answer.assumed}`)] : []),
    ...(answer.missing ? [note(`Not answered: ${answer.missing}`)] : []),
    ...answer.conflicts.map((conflict) => note(withCitations(names, `Conflict: ${conflict}`, answer.citations))),
    ...doubtsIn([answer.text, ...answer.conflicts]),
    ...quotes(names, answer.citations),
    ...sums,
    ...answer.warnings.map((warning) => make("p", { class: "meta" }, warning)),
    make("p", { class: "meta" }, [answer.model, costOf(answer.usage)].filter(Boolean).join(" · ")));
}

function costOf({ calls, cached_calls: cached, cost }) {
  const made = calls ? count(calls, "call") : "";
  return [made, cached ? `${count(cached, "stored output")}` : "", cost ? `$${cost.toFixed(4)}` : ""].filter(Boolean).join(", ");
}

/** Return the list of the documents by verdict. */
function listOf(names, answers) {
  const parts = [];
  for (const verdict of VERDICTS) {
    const rows = answers.documents.filter((one) => one.verdict === verdict);
    if (!rows.length) continue;
    const list = make("ul", { class: "each" }, rows.map((row) => eachRow(names, row)));
    const title = `${HEADINGS[verdict]} (${rows.length})`;
    parts.push(["yes", "no"].includes(verdict)
      ? make("section", { "data-verdict": verdict }, make("h2", null, title), list)
      : make("details", { "data-verdict": verdict }, make("summary", null, title), list));
  }
  const texts = answers.documents.flatMap((row) => row.statements);
  return [
    ...(parts.length ? parts : [make("p", { class: "empty" }, "No document passes the filter. Remove or change it.")]),
    ...doubtsIn(texts),
    ...answers.warnings.map((warning) => make("p", { class: "note" }, warning)),
    make("p", { class: "meta" }, [answers.model, costOf(answers.usage)].filter(Boolean).join(" · ")),
  ];
}

function eachRow(names, row) {
  const link = make("a", { href: placeOf(kbOf(names, row), row.document_id), dir: "auto" }, row.title || row.document_id);
  return make("li", null,
    make("p", null, row.knowledge_base ? make("span", { class: "base-name" }, row.knowledge_base) : null, link, row.value ? make("strong", null, `: ${row.value}`) : null),
    row.statements.map((statement) => make("p", { dir: "auto" }, withCitations(names, statement, row.citations))),
    row.reason ? make("p", { class: "meta" }, row.reason) : null,
    row.warnings.map((warning) => make("p", { class: "meta" }, warning)));
}
