// The view of the documents: list, filter, metadata, adding and removing.

import { baseOf, get, idOf, send } from "./api.js";
import { $, count, fieldsOf, make } from "./elements.js";
import { placeOf } from "./search.js";

const PAGE = 100;

/** Show the documents that pass a filter. */
export async function showDocuments(kb, state, { confirm, changed }) {
  const where = state.get("where") ?? "";
  const offset = Number(state.get("offset") ?? 0);
  $("documents-where").value = where;
  const query = new URLSearchParams({ where, offset: String(offset), limit: String(PAGE) });
  const { documents, total } = await get(`${baseOf(kb)}/documents?${query}`);
  if (!documents.length) {
    const text = where ? "No document passes the filter." : "There are no documents yet. Add files or a text here, or folders on the command line: spanwise add reports/";
    $("document-list").replaceChildren(make("p", { class: "empty" }, text));
    return;
  }
  const rows = documents.map((record) => make("tr", null,
    make("td", { dir: "auto" }, make("a", { href: placeOf(kb, record.id) }, record.title || record.id), make("div", { class: "meta" }, record.id)),
    make("td", null, record.pages ? count(record.pages, "page") : count(record.chars, "character")),
    make("td", { class: "meta" }, fieldsOf(record.metadata).join(" · ")),
    make("td", null,
      make("button", { type: "button", class: "plain small", "aria-label": `Edit ${record.id}`, click: () => edit(kb, record, confirm, changed) }, "Edit"), " ",
      make("button", { type: "button", class: "plain small", "aria-label": `Remove ${record.id}`, click: () => remove(kb, record, confirm, changed) }, "Remove"))));
  const next = offset + PAGE < total
    ? make("p", null, make("a", { href: `#/documents?${new URLSearchParams({ kb, where, offset: String(offset + PAGE) })}` }, "Next documents"))
    : null;
  $("document-list").replaceChildren(...[
    make("p", { class: "meta" }, `${count(total, "document")}`),
    make("table", null,
      make("thead", null, make("tr", null, ...["Document", "Length", "Fields", "Actions"].map((title) => make("th", { scope: "col" }, title)))),
      make("tbody", null, rows)),
    next,
  ].filter(Boolean));
}

async function edit(kb, record, confirm, changed) {
  const title = make("input", { value: record.title });
  const fields = make("textarea", { "aria-describedby": "fields-hint" });
  fields.value = Object.entries(record.metadata).map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join("\n");
  const isSure = await confirm(`Edit ${record.id}`, "Save", [
    make("label", null, "Title", title),
    make("label", null, "Fields", fields),
    make("p", { class: "meta", id: "fields-hint" }, "One field per line: name = value. To remove a field, delete its line."),
  ]);
  if (!isSure) return;
  const values = Object.fromEntries(Object.keys(record.metadata).map((name) => [name, null]));
  for (const line of fields.value.split("\n").filter((one) => one.includes("="))) {
    const at = line.indexOf("=");
    values[line.slice(0, at).trim()] = valueOf(line.slice(at + 1).trim());
  }
  const same = (name) => JSON.stringify(values[name]) === JSON.stringify(record.metadata[name]);
  const changes = Object.fromEntries(Object.entries(values).filter(([name]) => !same(name)));
  const body = { fields: changes, ...(title.value === record.title ? {} : { title: title.value }) };
  if (!Object.keys(changes).length && body.title === undefined) return;
  await changed(() => send("PATCH", `${baseOf(kb)}/documents/${idOf(record.id)}`, body));
}

function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function remove(kb, record, confirm, changed) {
  const isSure = await confirm(`Remove ${record.id}?`, "Remove", [make("p", null, "The document is removed from the knowledge base. This cannot be undone.")]);
  if (isSure) await changed(() => send("DELETE", `${baseOf(kb)}/documents/${idOf(record.id)}`));
}

/** Add a text as a document. */
export async function addText(kb, confirm, changed) {
  const id = make("input", { required: true, placeholder: "notes.md" });
  const text = make("textarea", { required: true });
  const isSure = await confirm("Add a text", "Add", [make("label", null, "Id", id), make("label", null, "Text (Markdown)", text)]);
  if (!isSure || !id.value.trim()) return;
  const body = { document_id: id.value.trim(), text: text.value, media_type: "text/markdown" };
  await changed(() => send("PUT", `${baseOf(kb)}/texts`, body));
}
