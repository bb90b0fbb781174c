// The form of the title and the metadata of a document: a row for each field, with its type.

import { baseOf, idOf, send } from "./api.js";
import { openForm } from "./dialog.js";
import { make } from "./elements.js";

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const TYPES = { text: "Text", number: "Number", date: "Date", truth: "Yes or no", list: "List of texts", numbers: "List of numbers" };
let made = 0; // for ids

/** Edit a document; return whether it was changed. */
export async function editDocument(kb, record, names) {
  const title = make("input", { value: record.title, autocomplete: "off" });
  const list = make("div", { class: "field-rows" });
  const rows = [];
  const add = (name, value) => {
    const row = fieldRow(name, value, () => rows.splice(rows.indexOf(row), 1));
    rows.push(row);
    list.append(row.element);
    return row;
  };
  for (const [name, value] of Object.entries(record.metadata)) add(name, value);
  const more = make("button", { type: "button", class: "plain", click: () => add("", "").name.focus() }, "Add a field");
  const suggestions = make("datalist", { id: "field-names" }, names.map((name) => make("option", { value: name })));
  return openForm({
    title: `Edit ${record.id}`,
    yes: "Save",
    content: [
      make("label", null, "Title", title),
      make("fieldset", null, make("legend", null, "Fields"), list, more, suggestions),
    ],
    submit: async () => {
      const body = changesOf(record, title.value, valuesOf(rows));
      if (!Object.keys(body.fields).length && body.title === undefined) return;
      try {
        await send("PATCH", `${baseOf(kb)}/documents/${idOf(record.id)}`, body);
      } catch (error) {
        const row = rows.find(({ name }) => error.message.includes(`'${name.value.trim()}'`));
        if (!row) throw error;
        row.refuse("value", error.message);
        throw new Error("The server refused a field.");
      }
    },
  });
}

/** Return the values of all rows by name; show errors next to the fields. */
function valuesOf(rows) {
  const values = {};
  let faulty = null;
  for (const row of rows) {
    row.accept();
    const name = row.name.value.trim();
    const fault = (part, text) => {
      row.refuse(part, text);
      faulty ??= part === "name" ? row.name : row.control;
    };
    if (!name) {
      if (textOf(row.control)) fault("name", "Give the field a name, or remove it.");
      continue;
    }
    if (Object.hasOwn(values, name)) {
      fault("name", "There are two fields with this name.");
      continue;
    }
    try {
      values[name] = valueOf(row.type.value, row.control);
    } catch (error) {
      fault("value", error.message);
    }
  }
  if (faulty) {
    faulty.focus();
    throw new Error("Some fields cannot be saved; see the messages next to them.");
  }
  return values;
}

function changesOf(record, title, values) {
  const fields = {};
  for (const name of Object.keys(record.metadata)) if (!Object.hasOwn(values, name)) fields[name] = null;
  for (const [name, value] of Object.entries(values)) {
    if (JSON.stringify(value) !== JSON.stringify(record.metadata[name])) fields[name] = value;
  }
  return { fields, ...(title === record.title ? {} : { title }) };
}

function typeOf(value) {
  if (Array.isArray(value)) return value.length && value.every((one) => typeof one === "number") ? "numbers" : "list";
  if (typeof value === "boolean") return "truth";
  if (typeof value === "number") return "number";
  return DATE.test(value) ? "date" : "text";
}

function fieldRow(given, value, onRemove) {
  made += 1;
  const id = `field-${made}`;
  const row = {};
  row.name = make("input", { id: `${id}-name`, value: given, list: "field-names", autocomplete: "off", "aria-describedby": `${id}-problem` });
  row.type = make("select", { id: `${id}-type` }, Object.entries(TYPES).map(([type, words]) => make("option", { value: type, selected: type === typeOf(value) }, words)));
  const place = make("div", { class: "field" });
  const draw = (shown) => {
    row.control = controlOf(row.type.value, shown);
    row.control.id = `${id}-value`;
    row.control.setAttribute("aria-describedby", `${id}-problem`);
    place.replaceChildren(make("label", { for: `${id}-value` }, "Value"), row.control);
  };
  const problem = make("p", { class: "field-problem", id: `${id}-problem`, role: "alert" });
  row.type.addEventListener("change", () => draw(textOf(row.control)));
  row.accept = () => {
    problem.textContent = "";
    for (const one of [row.name, row.control]) one.removeAttribute("aria-invalid");
  };
  row.refuse = (part, text) => {
    problem.textContent = text;
    (part === "name" ? row.name : row.control).setAttribute("aria-invalid", "true");
  };
  const remove = make("button", {
    type: "button",
    class: "plain",
    click: () => {
      const next = row.element.nextElementSibling ?? row.element.previousElementSibling;
      onRemove();
      row.element.remove();
      (next?.querySelector("input") ?? document.querySelector("dialog fieldset > button"))?.focus();
    },
  }, make("span", { "aria-hidden": "true" }, "×"), make("span", { class: "sr" }, `Remove the field ${given}`));
  row.element = make("div", { class: "field-row" },
    make("div", { class: "field" }, make("label", { for: row.name.id }, "Name"), row.name),
    make("div", { class: "field" }, make("label", { for: row.type.id }, "Type"), row.type),
    place, remove, problem);
  draw([value].flat().join("\n"));
  return row;
}

function controlOf(type, text) {
  if (type === "truth") {
    const isTrue = /^(true|yes|1)$/i.test(text);
    return make("select", null, make("option", { value: "true", selected: isTrue }, "yes"), make("option", { value: "false", selected: !isTrue }, "no"));
  }
  if (type === "list" || type === "numbers") {
    const area = make("textarea", { rows: 3, placeholder: "one per line" });
    area.value = text;
    return area;
  }
  if (type === "date") return make("input", { type: "date", value: DATE.test(text) ? text : "" });
  return make("input", { value: text, autocomplete: "off", inputmode: type === "number" ? "decimal" : null });
}

const textOf = (control) => control.value.trim();

function valueOf(type, control) {
  const text = textOf(control);
  if (type === "truth") return text === "true";
  if (type === "list" || type === "numbers") {
    const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
    return type === "list" ? lines : lines.map(numberOf);
  }
  if (!text && type === "date") throw new Error("Give a complete date.");
  if (!text) throw new Error("Give a value, or remove the field.");
  return type === "number" ? numberOf(text) : text;
}

function numberOf(text) {
  if (!NUMBER.test(text) || !Number.isFinite(Number(text))) throw new Error(`"${text}" is not a number; write it like 1250.5`);
  return Number(text);
}
