// The view of the documents: list, search, order, pages, and the changes of one document.

import { addressOf, placeOf } from "./address.js";
import { baseOf, get, idOf, send } from "./api.js";
import { openForm } from "./dialog.js";
import { $, announce, count, fieldsOf, make } from "./elements.js";
import { editDocument } from "./metadata.js";
import { rights } from "./rights.js";
import { addFiles, addUrl } from "./uploads.js";

const PAGE = 50;
const SORTS = { title: "Title", id: "Name", pages: "Pages", chars: "Length" };
const TYPING_MS = 250;
let typing = 0;
let latest = 0; // number of the list asked for last

/** Tell the page that documents may have changed. */
export const documentsChanged = () => window.dispatchEvent(new Event("documentschange"));

/** Return the address of the list with some parts of its state changed. */
const changedAddress = (state, changes) => addressOf("documents", { ...Object.fromEntries(state), ...changes });

/** Show the documents that contain the words and pass the filter. */
export async function showDocuments(kb, state) {
  const words = state.get("words") ?? "";
  const where = state.get("where") ?? "";
  const offset = Number(state.get("offset") ?? 0);
  const sort = state.get("sort") || "title";
  const isDescending = state.get("descending") === "true";
  fillTools({ words, where, sort, isDescending });
  $("drop").hidden = !rights.canWrite;
  const query = new URLSearchParams({ words, where, sort, descending: String(isDescending), offset: String(offset), limit: String(PAGE) });
  latest += 1;
  const asked = latest;
  const { documents, total } = await get(`${baseOf(kb)}/documents?${query}`);
  if (asked !== latest) return; // a later list is on its way
  if (!documents.length && total && offset) {
    location.replace(changedAddress(state, { offset: "" }));
    return;
  }
  const isEmpty = !total && !words && !where;
  $("documents-form").hidden = isEmpty;
  const focused = document.activeElement?.getAttribute("aria-label");
  $("document-list").replaceChildren(...(documents.length
    ? [table(kb, documents), pager(state, offset, documents.length, total)]
    : [isEmpty ? noDocuments(kb) : make("p", { class: "empty" }, "No document matches the words and the filter.")]));
  if (focused) document.querySelector(`#document-list [aria-label="${CSS.escape(focused)}"]`)?.focus();
  announce(isEmpty ? "There are no documents." : count(total, "document"));
}

function fillTools({ words, where, sort, isDescending }) {
  const fill = (field, value) => {
    if (document.activeElement !== field) field.value = value;
  };
  fill($("documents-words"), words);
  fill($("documents-where"), where);
  $("documents-sort").value = `${sort}${isDescending ? "-" : ""}`;
  if (where) $("documents-more").open = true;
}

/** Return what to do while there are no documents. */
export function noDocuments(kb) {
  if (!rights.canWrite) return make("p", { class: "empty" }, "There are no documents that your key allows. A key with the role “write” can add documents.");
  return make("div", { class: "empty" },
    make("p", null, "There are no documents yet. Drop files or folders on this page, or add a folder on the command line:"),
    make("pre", null, `spanwise add reports/ --kb ${kb}.kb`));
}

function table(kb, documents) {
  const names = [...new Set(documents.flatMap((record) => Object.keys(record.metadata)))];
  const titles = ["Document", "Length", "Fields", ...(rights.canWrite ? ["Actions"] : [])];
  return make("table", { "aria-label": "Documents" },
    make("thead", null, make("tr", null, titles.map((title) => make("th", { scope: "col" }, title)))),
    make("tbody", null, documents.map((record) => make("tr", null,
      make("td", { dir: "auto", class: "name" },
        make("a", { href: placeOf(kb, record.id) }, record.title || record.id),
        record.title && record.title !== record.id ? make("div", { class: "meta" }, record.id) : null),
      make("td", { class: "length" }, record.pages ? count(record.pages, "page") : count(record.chars, "character"),
        record.status === "ok" ? null : make("div", { class: "status" }, record.status === "partial" ? "read in part" : "needs OCR")),
      make("td", null, make("ul", { class: "tags" }, fieldsOf(record.metadata).map((field) => make("li", { dir: "auto" }, field)))),
      rights.canWrite ? make("td", { class: "actions" }, actions(kb, record, names)) : null))));
}

function actions(kb, record, names) {
  const button = (word, click) => make("button", { type: "button", class: "plain small", "aria-label": `${word} ${record.id}`, click }, word);
  const isMember = record.id.includes("!/");
  const replaceIt = record.source
    ? () => addUrl(kb, record.source)
    : () => chooseFile(record.id, (file) => addFiles(kb, [{ name: record.id, file }]));
  return [
    button("Edit", async () => { if (await editDocument(kb, record, names)) documentsChanged(); }),
    isMember ? null : button(record.source ? "Fetch again" : "Replace", replaceIt),
    button("Remove", () => remove(kb, record)),
  ];
}

function chooseFile(id, use) {
  const end = /\.[^./]+$/.exec(id)?.[0];
  const input = $("replacement");
  input.accept = end ?? "";
  input.onchange = () => {
    if (input.files.length) use(input.files[0]);
    input.value = "";
  };
  input.click();
}

function pager(state, offset, shown, total) {
  const range = `${offset + 1}–${offset + shown} of ${count(total, "document")}`;
  const link = (text, at) => make("a", { class: "button", href: changedAddress(state, { offset: at ? String(at) : "" }) }, text);
  return make("nav", { class: "pager", "aria-label": "Pages of the list" },
    make("span", { class: "meta" }, total > PAGE ? range : count(total, "document")),
    offset ? link("Previous", Math.max(0, offset - PAGE)) : null,
    offset + shown < total ? link("Next", offset + shown) : null);
}

async function remove(kb, record) {
  const isRemoved = await openForm({
    title: `Remove ${record.id}?`,
    yes: "Remove",
    isDangerous: true,
    content: [make("p", null, "The document is removed from the knowledge base. This cannot be undone.")],
    submit: () => send("DELETE", `${baseOf(kb)}/documents/${idOf(record.id)}`),
  });
  if (!isRemoved) return;
  documentsChanged();
  $("documents-title").focus();
}

/** Add a text as a document; ask before it replaces another one. */
export async function addText(kb) {
  const id = make("input", { required: true, placeholder: "notes.md", autocomplete: "off" });
  const text = make("textarea", { required: true, rows: 10 });
  const put = (replace) => send("PUT", `${baseOf(kb)}/texts`, { document_id: id.value.trim(), text: text.value, media_type: "text/markdown", replace });
  let isAdded = false;
  while (!isAdded) {
    let isTaken = false;
    const isGiven = await openForm({
      title: "Add a text",
      yes: "Add",
      content: [make("label", null, "Name", id), make("label", null, "Text (Markdown)", text)],
      submit: async () => {
        isTaken = await isStored(kb, id.value.trim());
        if (!isTaken) await put(false);
      },
    });
    if (!isGiven) return;
    isAdded = !isTaken || await openForm({
      title: `Replace ${id.value.trim()}?`,
      yes: "Replace",
      isDangerous: true,
      content: [make("p", null, "There is already a document with this name. The text replaces it. This cannot be undone.")],
      submit: () => put(true),
    });
  }
  documentsChanged();
}

async function isStored(kb, id) {
  try {
    await get(`${baseOf(kb)}/documents/${idOf(id)}`);
    return true;
  } catch (error) {
    if (error.problem?.status === 404) return false;
    throw error;
  }
}

/** Make the fields above the list change its address. */
export function prepareTools(stateNow) {
  $("documents-sort").replaceChildren(...Object.entries(SORTS).flatMap(([sort, words]) => [
    make("option", { value: sort }, sort === "pages" || sort === "chars" ? `${words}, fewest first` : `${words}, A to Z`),
    make("option", { value: `${sort}-` }, sort === "pages" || sort === "chars" ? `${words}, most first` : `${words}, Z to A`),
  ]));
  const go = () => {
    const chosen = $("documents-sort").value;
    const changes = {
      words: $("documents-words").value.trim(),
      where: $("documents-where").value.trim(),
      sort: chosen === "title" ? "" : chosen.replace("-", ""),
      descending: chosen.endsWith("-") ? "true" : "",
      offset: "",
    };
    const address = changedAddress(stateNow(), changes);
    if (address !== location.hash) location.replace(address);
  };
  $("documents-form").addEventListener("submit", (event) => {
    event.preventDefault();
    go();
  });
  $("documents-sort").addEventListener("change", go);
  $("documents-words").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(go, TYPING_MS);
  });
}
