// Views and their addresses: the part after "#" is the whole state, so every state has a link.

import { get, onKeyNeeded } from "./api.js";
import { addText, showDocuments } from "./documents.js";
import { $, make } from "./elements.js";
import { showDocument } from "./reader.js";
import { showAnswer, showSearch } from "./search.js";
import { acceptFiles, addUrl, onDocumentsChanged, showJobs } from "./uploads.js";

let wantsFocus = false; // whether the question field gets the focus when its view is shown
const VIEWS = ["search", "documents", "read"];

function stateOf() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: VIEWS.includes(path) ? path : "search", state: new URLSearchParams(query) };
}

function problem(error) {
  $("problem").hidden = !error;
  $("problem").textContent = error ? error.message : "";
}

/** Ask in a dialog; return whether the user agreed. */
function confirm(title, yes, content) {
  const dialog = $("dialog");
  $("dialog-title").textContent = title;
  $("dialog-yes").textContent = yes;
  $("dialog-body").replaceChildren(...content);
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

async function askForKey() {
  const key = make("input", { type: "password", autocomplete: "off", required: true });
  const isGiven = await confirm("This server needs a key", "Use the key", [make("label", null, "Key", key)]);
  return isGiven ? key.value.trim() : "";
}

async function changed(change) {
  try {
    await change();
    problem(null);
    await show();
  } catch (error) {
    problem(error);
  }
}

async function show() {
  const { view, state } = stateOf();
  problem(null);
  for (const name of VIEWS) $(name).hidden = name !== view;
  for (const link of document.querySelectorAll("nav [data-view]")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const kb = state.get("kb") || $("base").value;
  if (!kb) return;
  $("base").value = kb;
  document.title = state.get("q") ? `${state.get("q")} – Spanwise` : "Spanwise";
  try {
    if (view === "search") {
      fillForm(state);
      if (wantsFocus) $("question").focus();
      wantsFocus = false;
      await showSearch(kb, state);
    }
    if (view === "documents") {
      await showDocuments(kb, state, { confirm, changed });
      await showJobs(kb);
    }
    if (view === "read") await showDocument(kb, state);
  } catch (error) {
    if (error.name === "AbortError") return;
    $("results").replaceChildren();
    problem(error);
  }
}

function fillForm(state) {
  $("question").value = state.get("q") ?? "";
  $("where").value = state.get("where") ?? "";
  $("budget").value = state.get("budget") ?? "4000";
  $("preset").value = state.get("preset") ?? "";
  $("document").value = state.get("document") ?? "";
  if (state.get("where") || state.get("budget") || state.get("preset") || state.get("document")) $("more").open = true;
}

function formState() {
  const values = {
    kb: $("base").value,
    q: $("question").value.trim(),
    where: $("where").value.trim(),
    document: $("document").value,
    budget: $("budget").value === "4000" ? "" : $("budget").value,
    preset: $("preset").value,
  };
  return new URLSearchParams(Object.entries(values).filter(([, value]) => value));
}

async function fillDocuments() {
  const { documents } = await get(`/v1/knowledge-bases/${encodeURIComponent($("base").value)}/documents?limit=1000`);
  const first = make("option", { value: "" }, "all documents");
  $("document").replaceChildren(first, ...documents.map((one) => make("option", { value: one.id }, one.title || one.id)));
  const names = [...new Set(documents.flatMap((one) => Object.keys(one.metadata)))];
  $("filter-fields").replaceChildren(...names.map((name) => make("option", { value: `${name} = ` })));
}

$("question-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const hash = `#/search?${formState()}`;
  if (location.hash === hash) show();
  else location.hash = hash;
});
$("ask").addEventListener("click", async () => {
  if (!$("question").reportValidity()) return;
  await showAnswer($("base").value, formState());
});
$("documents-form").addEventListener("submit", (event) => {
  event.preventDefault();
  location.hash = `#/documents?${new URLSearchParams({ kb: $("base").value, where: $("documents-where").value.trim() })}`;
});
$("add-text").addEventListener("click", () => addText($("base").value, confirm, changed));
$("add-url").addEventListener("click", () => addUrl($("base").value, confirm, changed));
acceptFiles(() => $("base").value, () => {
  if (stateOf().view !== "documents") location.hash = `#/documents?${new URLSearchParams({ kb: $("base").value })}`;
});
onDocumentsChanged(() => {
  fillDocuments().catch(problem);
  if (stateOf().view === "documents") show();
});
$("base").addEventListener("change", async () => {
  const { view, state } = stateOf();
  await fillDocuments().catch(problem);
  const kept = view === "search" && state.get("q") ? { q: state.get("q") } : {};
  location.hash = `#/${view === "read" ? "documents" : view}?${new URLSearchParams({ kb: $("base").value, ...kept })}`;
});
window.addEventListener("hashchange", show);
document.addEventListener("keydown", (event) => {
  const isTyping = ["INPUT", "TEXTAREA", "SELECT"].includes(document.activeElement?.tagName);
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    if (stateOf().view === "search") $("question").focus();
    else wantsFocus = true;
    location.hash = "#/search";
  }
});

onKeyNeeded(askForKey);
try {
  const { knowledge_bases: bases, answers } = await get("/v1/knowledge-bases");
  $("ask").hidden = !answers;
  $("base").replaceChildren(...bases.map(({ name, documents }) => make("option", { value: name }, `${name} (${documents})`)));
  const asked = stateOf().state.get("kb");
  if (asked && bases.some(({ name }) => name === asked)) $("base").value = asked;
  await fillDocuments();
  await show();
  if (stateOf().view === "search") $("question").focus();
} catch (error) {
  $("search").hidden = false;
  problem(error);
}
