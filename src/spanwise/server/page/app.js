// Views and their addresses: the part after "#" is the whole state, so every state has a link.

import { addressOf, currentState } from "./address.js";
import { clearAnswer, offerAnswer, showAnswer, showEach, showNoModel } from "./answers.js";
import { enterKey, forgetKey, get, hasKey, onKeyNeeded } from "./api.js";
import { openForm } from "./dialog.js";
import { addText, noDocuments, prepareTools, showDocuments } from "./documents.js";
import { $, make } from "./elements.js";
import { showEvaluation } from "./evaluation.js";
import { focusView, prepareKeys } from "./focus.js";
import { problemText } from "./problems.js";
import { showDocument } from "./reader.js";
import { rights, setRights } from "./rights.js";
import { forgetResults, showSearch } from "./search.js";
import { acceptFiles, addUrl, showJobs } from "./uploads.js";

let wantsFocus = false; // whether the question field gets the focus when its view is shown
let hasModel = false;
let shownAnswer = "";
const asked = new Set(); // keys of answers that were asked for by a click; a link alone calls no model
const VIEWS = ["search", "documents", "evaluation", "read"];
const TITLES = { documents: "Documents", evaluation: "Evaluation" };
const OPTIONS = ["where", "preset", "document"];

const stateOf = () => currentState(VIEWS);

function problem(error) {
  $("problem").hidden = !error;
  $("problem").replaceChildren(...(error ? problemText(error) : []));
  if (error?.problem?.status !== 401) return;
  $("problem").append(make("p", null, make("button", { type: "button", id: "enter-key", click: show }, "Enter a key")));
}

const allBases = () => [...$("base").options].map(({ value }) => value);

const namedBases = (state) => state.getAll("kb").filter(Boolean);

/** Return the known knowledge bases of a state; without any name, all of them are searched. */
function basesOf(state) {
  const named = namedBases(state);
  const known = named.filter((name) => allBases().includes(name));
  if (known.length) return known;
  return named.length ? named : allBases(); // the server says that there are none with these names
}

async function askForKey() {
  const key = make("input", { type: "password", autocomplete: "off", required: true });
  const isGiven = await openForm({
    title: "This server needs a key",
    yes: "Use the key",
    content: [make("label", null, "Key", key)],
    submit: () => enterKey(key.value.trim()),
  });
  if (isGiven && isLoaded) fillBases().catch(problem); // another key may have other rights
  return isGiven;
}

let isLoaded = false; // whether the knowledge bases of the server are known
let turn = 0; // number of calls of show; a later one ends the earlier ones

function showOnly(view) {
  for (const name of VIEWS) $(name).hidden = name !== view;
}

async function show() {
  const mine = ++turn;
  problem(null);
  try {
    if (!isLoaded) await fillBases();
    if (mine === turn) await showView(mine);
  } catch (error) {
    if (error.name === "AbortError" || mine !== turn) return;
    const { view } = stateOf();
    $("results").replaceChildren();
    showOnly(isLoaded && view === "search" ? view : ""); // another view may show another document
    problem(error);
  }
}

async function showView(mine) {
  const { view, state } = stateOf();
  const isCurrent = () => mine === turn;
  showOnly(view);
  for (const link of document.querySelectorAll("nav [data-view]")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const names = basesOf(state);
  const [kb] = view === "search" || state.get("kb") ? names : [$("base").value];
  if (!kb) return showNoBase();
  if (allBases().includes(kb)) $("base").value = kb;
  document.querySelector("label.base").hidden = view === "search" && allBases().length > 1;
  const title = state.get("q") ?? TITLES[view];
  document.title = title ? `${title} – Spanwise` : "Spanwise";
  if (view === "search") {
    if (wantsFocus) $("question").focus();
    wantsFocus = false;
    showLeftOut(namedBases(state).filter((name) => !names.includes(name)));
    await fillForm(names, state, mine === 1);
    if (!isCurrent()) return;
    await Promise.all([answer(names, state), showSearch(names, state, changeState)]);
    hintIfEmpty(names);
  }
  if (view === "documents") {
    await showDocuments(kb, state);
    if (isCurrent()) await showJobs(kb);
  }
  if (view === "evaluation") await showEvaluation(kb, state, isCurrent);
  if (view === "read") await showDocument(kb, state, isCurrent);
  if (!isCurrent()) return;
  focusView(view, state);
  if (view !== "search" && documentsOf !== kb) await fillDocuments([kb]); // the fields of its filter
}

/** Say which knowledge bases of a link are not searched. */
function showLeftOut(names) {
  $("left-out").hidden = !names.length;
  $("left-out").textContent = `Not searched: ${names.join(", ")}. The server has no such knowledge base, or your key does not allow it.`;
}

function showNoBase() {
  showOnly("search");
  $("results").replaceChildren(make("div", { class: "empty" },
    make("p", null, "This key allows no knowledge base of this server."),
    make("p", null, "Ask the person who runs the server for a key, or start it with a knowledge base: spanwise serve --kb reports.kb --create")));
}

const answerKey = (kind, names, state) => JSON.stringify([kind, names, state.get("q"), state.get("where"), state.get("document")]);

/** Show the answer that the state asks for; an answer that is shown already stays. */
async function answer(names, state) {
  const kind = state.get("q") ? state.get("answer") ?? "" : "";
  const key = kind && answerKey(kind, names, state);
  if (key && key === shownAnswer && $("answer").hasChildNodes()) return;
  shownAnswer = key;
  if (!kind) clearAnswer();
  else if (!hasModel) showNoModel();
  else if (kind === "each") await showEach(names, state);
  else if (asked.has(key)) await showAnswer(names, state);
  else {
    offerAnswer(() => {
      asked.add(key);
      showAnswer(names, state);
    });
  }
}

/** Put settings into the address, without a new entry in the history, and search with them. */
function changeState(settings) {
  const { view, state } = stateOf();
  if (view !== "search") return; // a slider was moved just before another view was opened
  for (const [name, value] of Object.entries(settings)) {
    if (value === null) state.delete(name);
    else state.set(name, String(value));
  }
  history.replaceState(null, "", `#/search?${state}`);
  show();
}

let documentsOf = ""; // knowledge bases whose documents are in the form

async function fillForm(names, state, isFirst) {
  const typed = isFirst ? $("question").value : ""; // while the page was loaded
  $("question").value = state.get("q") ?? typed;
  $("where").value = state.get("where") ?? "";
  $("budget").value = state.get("budget") ?? "4000";
  $("preset").value = state.get("preset") ?? "";
  for (const box of document.querySelectorAll("#bases input")) box.checked = names.includes(box.value);
  if (documentsOf !== names.join()) await fillDocuments(names).catch(problem);
  $("document").value = state.get("document") ?? "";
  if (OPTIONS.some((name) => state.get(name))) $("more").open = true;
}

/** Return the knowledge bases that are chosen in the form; none chosen means all. */
function chosenBases() {
  const boxes = [...document.querySelectorAll("#bases input:checked")].map(({ value }) => value);
  return boxes.length ? boxes : allBases();
}

/** Return the address of the question in the form; it names no knowledge bases if all are chosen. */
function formAddress(kind = "") {
  const chosen = chosenBases();
  return addressOf("search", {
    kb: chosen.length === allBases().length ? [] : chosen,
    q: $("question").value.trim(),
    where: $("where").value.trim(),
    document: $("document").value,
    budget: $("budget").value === "4000" ? "" : $("budget").value,
    preset: $("preset").value,
    answer: kind,
  });
}

async function fillDocuments(names) {
  documentsOf = names.join();
  const lists = await Promise.all(names.map((name) => get(`/v1/knowledge-bases/${encodeURIComponent(name)}/documents?limit=1000`)));
  if (documentsOf !== names.join()) return; // others were chosen meanwhile
  const documents = lists.flatMap((list) => list.documents);
  const first = make("option", { value: "" }, "all documents");
  $("document").replaceChildren(first, ...documents.map((one) => make("option", { value: one.id }, one.title || one.id)));
  const fields = [...new Set(documents.flatMap((one) => Object.keys(one.metadata)))];
  $("filter-fields").replaceChildren(...fields.map((name) => make("option", { value: `${name} = ` })));
}

/** Say what to do if there is no document to ask. */
function hintIfEmpty(names) {
  const isEmpty = documentsOf === names.join() && $("document").options.length === 1;
  if (isEmpty && stateOf().view === "search" && !stateOf().state.get("q")) $("results").replaceChildren(noDocuments(names[0]));
}

/** Load the names of the knowledge bases, their sizes, and the rights of the key. */
async function fillBases() {
  const { knowledge_bases: bases, answers, ...given } = await get("/v1/knowledge-bases");
  const chosen = $("base").value || stateOf().state.get("kb");
  isLoaded = true;
  setRights(given);
  hasModel = answers;
  $("evaluation-link").hidden = rights.isRestricted;
  $("ask").hidden = $("ask-each").hidden = !answers;
  $("no-model").hidden = answers;
  $("change-key").hidden = !hasKey();
  $("base").replaceChildren(...bases.map(({ name, documents }) => make("option", { value: name }, `${name} (${documents.toLocaleString("en")})`)));
  if (bases.some(({ name }) => name === chosen)) $("base").value = chosen;
  const boxes = [...document.querySelectorAll("#bases input")];
  const isChecked = (name) => boxes.find(({ value }) => value === name)?.checked ?? true;
  $("bases").hidden = bases.length < 2;
  $("bases").replaceChildren(make("legend", null, "Knowledge bases"), ...bases.map(({ name, documents }) =>
    make("label", { class: "chip" }, make("input", { type: "checkbox", value: name, checked: isChecked(name) }), `${name} `, make("span", { class: "meta" }, documents.toLocaleString("en")))));
}

function go(hash) {
  if (location.hash === hash) show();
  else location.hash = hash;
}

$("question-form").addEventListener("submit", (event) => {
  event.preventDefault();
  go(formAddress());
});
for (const [id, kind] of [["ask", "model"], ["ask-each", "each"]]) {
  $(id).addEventListener("click", () => {
    if (!$("question").reportValidity()) return;
    shownAnswer = "";
    const address = formAddress(kind);
    const state = new URLSearchParams(address.split("?")[1]);
    asked.add(answerKey(kind, basesOf(state), state));
    go(address);
  });
}
$("bases").addEventListener("change", () => {
  fillDocuments(chosenBases()).catch(problem);
  if ($("question").value.trim() && stateOf().state.get("q")) go(formAddress());
});
$("add-text").addEventListener("click", () => addText($("base").value));
$("add-url").addEventListener("click", () => addUrl($("base").value));
prepareTools(() => stateOf().state);
prepareKeys();
$("change-key").addEventListener("click", () => {
  forgetKey();
  location.reload();
});
acceptFiles(() => $("base").value, () => {
  if (stateOf().view !== "documents") location.hash = `#/documents?${new URLSearchParams({ kb: $("base").value })}`;
});
window.addEventListener("documentschange", () => {
  forgetResults();
  fillBases().then(() => fillDocuments(basesOf(stateOf().state))).catch(problem);
  if (stateOf().view === "documents") show();
});
$("base").addEventListener("change", () => {
  const { view, state } = stateOf();
  const q = view === "search" ? state.get("q") : "";
  location.hash = addressOf(view === "read" ? "documents" : view, { kb: $("base").value, q });
});
window.addEventListener("hashchange", show);
document.addEventListener("keydown", (event) => {
  const isTyping = ["INPUT", "TEXTAREA", "SELECT"].includes(document.activeElement?.tagName);
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || $("dialog").open) return;
  event.preventDefault();
  if (stateOf().view === "search") return $("question").focus();
  wantsFocus = true;
  location.hash = "#/search";
});

onKeyNeeded(askForKey);
wantsFocus = stateOf().view === "search";
show();
