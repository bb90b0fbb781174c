// Uploads and ingest jobs: a row for each file, with its progress, its result and a button to cancel it.

import { baseOf, get, RequestError, send, uploadFile } from "./api.js";
import { $, count, make } from "./elements.js";

const AT_ONCE = 2;
const POLL_MS = 800;
const ENDED = new Set(["done", "failed", "cancelled"]);

const rows = []; // { kb, name, file, job, state, text, element, abort }
let isPolling = false;
let onChange = () => {};

/** Set the function that is called when documents may have changed. */
export function onDocumentsChanged(refresh) {
  onChange = refresh;
}

/** Upload files; folders are refused, because the browser does not read them. */
export function addFiles(kb, files, folders = []) {
  for (const name of folders) addRow({ kb, name, state: "failed", text: "Folders are added on the command line: spanwise add FOLDER" });
  for (const file of files) addRow({ kb, name: file.name, file, state: "waiting", text: "Waiting" });
  startNext();
}

/** Add a page or file of another server. */
export async function addUrl(kb, confirm, changed) {
  const url = make("input", { type: "url", required: true, placeholder: "https://example.com/report.pdf" });
  if (!(await confirm("Add a URL", "Add", [make("label", null, "URL", url)])) || !url.value.trim()) return;
  await changed(async () => {
    const job = await send("POST", `${baseOf(kb)}/documents`, { url: url.value.trim() });
    follow(addRow({ kb, name: job.documents.join(", ") }), job);
  });
}

/** Show the unfinished jobs of a knowledge base, which another page or program may have started. */
export async function showJobs(kb) {
  const lists = await Promise.all(["running", "queued"].map((state) => get(`${baseOf(kb)}/jobs?state=${state}&limit=50`)))
    .catch((error) => { // a key with a filter, or no folder: there are no jobs to show
      if (error instanceof RequestError) return [];
      throw error;
    });
  for (const job of lists.flatMap(({ jobs }) => jobs).reverse()) {
    if (!rows.some((row) => row.job === job.id)) follow(addRow({ kb, name: job.documents.join(", ") }), job);
  }
}

function addRow(fields) {
  const row = { state: "waiting", text: "Waiting", ...fields };
  row.bar = make("progress", { max: 1, value: 0, "aria-label": `Progress of ${row.name}` });
  row.note = make("span", { class: "note-text" });
  row.button = make("button", { type: "button", class: "plain small", "aria-label": `Cancel ${row.name}`, click: () => cancel(row) }, "Cancel");
  row.element = make("li", null, make("span", { class: "name", dir: "auto" }, row.name), row.bar, row.note, row.button);
  rows.push(row);
  $("upload-list").append(row.element);
  update(row, {});
  return row;
}

function update(row, changes) {
  Object.assign(row, changes);
  const hasEnded = ENDED.has(row.state);
  row.element.className = row.state;
  row.note.textContent = row.text;
  row.bar.hidden = hasEnded;
  if (row.share === undefined) row.bar.removeAttribute("value");
  else row.bar.value = row.share;
  row.button.hidden = hasEnded;
  const ended = rows.filter(({ state }) => ENDED.has(state));
  const failed = rows.filter(({ state }) => state === "failed").length;
  $("upload-tools").hidden = !rows.length;
  $("upload-status").textContent = `${ended.length} of ${count(rows.length, "file")} finished${failed ? `, ${failed} failed` : ""}`;
  $("clear-uploads").disabled = !ended.length;
}

function startNext() {
  const sending = rows.filter(({ state }) => state === "sending").length;
  const next = rows.filter(({ state }) => state === "waiting").slice(0, Math.max(AT_ONCE - sending, 0));
  for (const row of next) sendFile(row);
}

async function sendFile(row) {
  const abort = new AbortController();
  update(row, { state: "sending", text: "Sending", share: 0, abort });
  try {
    const job = await uploadFile(`${baseOf(row.kb)}/documents`, row.file, {
      signal: abort.signal,
      onProgress: (share) => update(row, { share, text: share < 1 ? `Sending, ${Math.round(100 * share)} %` : "Saving" }),
    });
    follow(row, job);
  } catch (error) {
    const seconds = error.retryAfter;
    if (error.name === "AbortError") update(row, { state: "cancelled", text: "Cancelled" });
    else if (seconds) {
      update(row, { state: "paused", text: "The server is busy; trying again", share: undefined });
      setTimeout(() => {
        if (row.state === "paused") update(row, { state: "waiting" });
        startNext();
      }, 1000 * seconds);
    } else update(row, { state: "failed", text: error.message });
  }
  startNext();
}

async function cancel(row) {
  if (row.job) {
    await send("DELETE", `${baseOf(row.kb)}/jobs/${row.job}`).catch((error) => update(row, { text: error.message }));
    update(row, { text: "Cancelling" });
  } else if (row.state === "sending") row.abort.abort();
  else update(row, { state: "cancelled", text: "Cancelled" });
}

function follow(row, job) {
  row.file = undefined;
  update(row, { job: job.id, ...shown(job) });
  poll();
}

async function poll() {
  if (isPolling) return;
  isPolling = true;
  try {
    for (let failures = 0; failures < 10;) {
      const open = rows.filter((row) => row.job && !ENDED.has(row.state));
      if (!open.length) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      try {
        const hasEnded = await Promise.all([...new Set(open.map(({ kb }) => kb))].map((kb) => refresh(kb, open.filter((row) => row.kb === kb))));
        failures = 0;
        if (hasEnded.some(Boolean)) onChange();
      } catch (error) {
        failures += 1;
        for (const row of open) update(row, { text: error.message });
      }
    }
  } finally {
    isPolling = false;
  }
}

/** Update the rows of a knowledge base; return whether one of its jobs has ended. */
async function refresh(kb, open) {
  const { jobs } = await get(`${baseOf(kb)}/jobs?limit=1000`);
  for (const row of open) {
    const job = jobs.find(({ id }) => id === row.job);
    update(row, job ? shown(job) : { state: "failed", text: "The server has no such job any more" });
  }
  return open.some(({ state }) => ENDED.has(state));
}

function shown({ state, progress, report, error }) {
  if (state === "queued") return { state, text: "Waiting for other files", share: undefined };
  if (state === "running") {
    const share = progress && progress.documents_total > 1 ? progress.documents_done / progress.documents_total : undefined;
    return { state, share, text: share === undefined ? "Adding" : `Adding, ${progress.documents_done} of ${progress.documents_total}` };
  }
  return { state, text: result(state, report, error) };
}

function result(state, report, error) {
  if (state === "cancelled") return "Cancelled";
  if (error) return error.detail;
  const parts = ["added", "replaced", "updated", "unchanged"].filter((name) => report[name].length)
    .map((name) => (report[name].length > 1 ? `${count(report[name].length, "document")} ${name}` : name));
  const text = [parts.join(", "), ...report.failed.map(({ source, message }) => (report.failed.length > 1 ? message : message.replace(`${source}: `, ""))), ...report.warnings].filter(Boolean).join(". ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function clear() {
  for (const row of rows.filter(({ state }) => ENDED.has(state))) {
    rows.splice(rows.indexOf(row), 1);
    row.element.remove();
  }
  $("upload-tools").hidden = !rows.length;
}

/** Accept files that are chosen, or dropped anywhere on the page. */
export function acceptFiles(kbOf, showDocuments) {
  $("choose-files").addEventListener("click", () => $("files").click());
  $("files").addEventListener("change", () => {
    addFiles(kbOf(), $("files").files);
    $("files").value = "";
  });
  $("clear-uploads").addEventListener("click", clear);
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const mark = (isOver) => document.body.classList.toggle("dropping", isOver);
  window.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    mark(true);
  });
  window.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) mark(false);
  });
  window.addEventListener("drop", (event) => {
    mark(false);
    if (!hasFiles(event)) return;
    event.preventDefault();
    const items = [...event.dataTransfer.items].filter(({ kind }) => kind === "file");
    const isFolder = (item) => item.webkitGetAsEntry?.()?.isDirectory;
    const folders = items.filter(isFolder).map((item) => item.webkitGetAsEntry().name);
    const files = items.filter((item) => !isFolder(item)).map((item) => item.getAsFile()).filter(Boolean);
    showDocuments();
    addFiles(kbOf(), files, folders);
  });
}
