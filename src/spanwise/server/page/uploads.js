// Uploads and ingest jobs: a row for each file. Small files are sent together, as one job.
//
// Rows of this page know their file, so they can be sent again. Rows of jobs that another page or
// program started, or this page before it was loaded again, come from the server.

import { baseOf, get, RequestError, send, uploadFiles } from "./api.js";
import { openForm } from "./dialog.js";
import { $, count, make } from "./elements.js";
import { chosenFiles, droppedFiles } from "./files.js";
import { rights } from "./rights.js";

const AT_ONCE = 2;
const MAX_FILES = 25; // of one request
const MAX_BYTES = 8 << 20;
const MAX_JOBS = 200; // jobs shown after a reload; at most 100 wait on the server
const POLL_MS = 800;
const RECENT_MS = 24 * 3600 * 1000;
const ENDED = new Set(["done", "failed", "cancelled"]);
const ESCAPE = /%(22|0A|0D)/; // browsers write a quotation mark or a line break in a file name like this
const DISMISSED = "spanwise-dismissed";
const MAX_DISMISSED = 1000;

let rows = []; // { kb, name, file, url, state, text, share, batch, element }
let shownBase = ""; // the knowledge base whose rows are shown
let isPolling = false;

/** Upload files, given as { name, file }. A file with the id of a document replaces it. */
export function addFiles(kb, files) {
  shownBase = kb;
  for (const { name, file } of files) addRow({ kb, name, file, isAlone: ESCAPE.test(name) });
  update();
  startNext();
}

/** Add a page or file of another server; without an address, ask for it. */
export async function addUrl(kb, address = "") {
  const submit = async (url) => {
    const job = await send("POST", `${baseOf(kb)}/documents`, { url });
    follow(batchOf([addRow({ kb, name: job.documents.join(", "), url })]), job);
  };
  const field = make("input", { type: "url", required: true, placeholder: "https://example.com/report.pdf", value: address });
  await openForm({
    title: address ? "Fetch the document again?" : "Add a URL",
    yes: address ? "Fetch" : "Add",
    content: [make("label", null, "URL", field)],
    submit: () => submit(field.value.trim()),
  });
}

/** Show the jobs of a knowledge base: unfinished ones, and failures of the last day. */
export async function showJobs(kb) {
  shownBase = kb;
  update();
  if (!rights.canWrite) return;
  let jobs;
  try {
    ({ jobs } = await get(`${baseOf(kb)}/jobs?limit=${MAX_JOBS}`));
  } catch (error) {
    if (error instanceof RequestError) return; // the knowledge base is no folder: there are no jobs
    throw error;
  }
  jobs.reverse(); // oldest first
  const last = new Map(jobs.flatMap(({ id, documents }) => documents.map((name) => [name, id])));
  for (const job of jobs) {
    if (!rows.some(({ batch }) => batch?.job === job.id)) showJob(kb, job, (name) => last.get(name) === job.id);
  }
  update();
}

/** Add rows for a job; for a finished one, only the failures that no later job has repaired. */
function showJob(kb, job, isLast) {
  const dismissed = new Set(readDismissed());
  const hasEnded = ENDED.has(job.state);
  if (hasEnded && Date.now() - Date.parse(job.finished_at) > RECENT_MS) return;
  const isShown = (name) => !dismissed.has(`${job.id}/${name}`) && (!hasEnded || (isLast(name) && outcome(job, name).state === "failed"));
  const names = job.documents.filter(isShown);
  if (!names.length) return;
  follow(batchOf(names.map((name) => addRow({ kb, name, url: job.kind === "url" ? name : undefined }))), job);
}

function addRow(fields) {
  const row = { state: "waiting", text: "Waiting", ...fields };
  row.bar = make("progress", { max: 1, value: 0, "aria-label": `Progress of ${row.name}` });
  row.note = make("span", { class: "note-text" });
  row.buttons = make("span", { class: "row-buttons" });
  row.element = make("li", null, make("span", { class: "name", dir: "auto" }, row.name), row.bar, row.note, row.buttons);
  rows.push(row);
  $("upload-list").append(row.element);
  draw(row);
  return row;
}

function change(row, changes) {
  const before = row.state;
  Object.assign(row, changes);
  draw(row, before === row.state);
  update();
}

function draw(row, isSameState = false) {
  const hasEnded = ENDED.has(row.state);
  row.element.className = row.state;
  row.note.textContent = row.text;
  row.bar.hidden = hasEnded;
  if (row.share === undefined) row.bar.removeAttribute("value");
  else row.bar.value = row.share;
  if (isSameState) return;
  const hadFocus = row.buttons.contains(document.activeElement);
  const button = (word, click) => make("button", { type: "button", class: "plain small", "aria-label": `${word} ${row.name}`, click }, word);
  row.buttons.replaceChildren(...[
    row.state === "failed" && (row.file || row.url) ? button("Retry", () => retry([row])) : null,
    hasEnded ? button("Dismiss", () => dismiss([row])) : button("Cancel", () => cancel(row)),
  ].filter(Boolean));
  if (hadFocus) row.buttons.firstElementChild.focus();
}

const ownRows = () => rows.filter(({ kb }) => kb === shownBase);

/** Update the line above the list. */
function update() {
  for (const { kb, element } of rows) element.hidden = kb !== shownBase;
  const own = ownRows();
  const ended = own.filter(({ state }) => ENDED.has(state));
  const failed = own.filter(({ state }) => state === "failed");
  $("upload-panel").hidden = !own.length;
  $("upload-progress").hidden = ended.length === own.length;
  $("upload-progress").max = own.length || 1;
  $("upload-progress").value = own.reduce((sum, row) => sum + (ENDED.has(row.state) ? 1 : 0.5 * (row.share ?? 0)), 0);
  const status = `${ended.length} of ${count(own.length, "file")} finished${failed.length ? `, ${failed.length} failed` : ""}`;
  if ($("upload-status").textContent !== status) $("upload-status").textContent = status;
  $("clear-uploads").hidden = !ended.length;
  $("cancel-uploads").hidden = own.length - ended.length < 2;
  $("retry-uploads").hidden = failed.filter(({ file, url }) => file || url).length < 2;
}

function batchOf(members) {
  const batch = { rows: members, abort: new AbortController() };
  for (const row of members) row.batch = batch;
  return batch;
}

/** Return the next waiting rows that fit into one request; none if there are none. */
function nextRows() {
  const first = rows.find(({ state }) => state === "waiting");
  if (!first || first.isAlone) return first ? [first] : [];
  const found = [];
  let bytes = 0;
  for (const row of rows) {
    if (row.state !== "waiting" || row.isAlone || row.kb !== first.kb) continue;
    bytes += row.file.size;
    const isTwice = found.some(({ name }) => name === row.name);
    if (found.length && (bytes > MAX_BYTES || found.length === MAX_FILES || isTwice)) break;
    found.push(row);
  }
  return found;
}

function startNext() {
  for (;;) {
    const sending = new Set(rows.filter(({ state }) => state === "sending").map(({ batch }) => batch)).size;
    const next = sending < AT_ONCE ? nextRows() : [];
    if (!next.length) return;
    sendBatch(batchOf(next));
  }
}

async function sendBatch(batch) {
  const { kb, name } = batch.rows[0];
  const query = ESCAPE.test(name) ? `?${new URLSearchParams({ document_id: name })}` : "";
  for (const row of batch.rows) change(row, { state: "sending", text: "Sending", share: 0 });
  try {
    const job = await uploadFiles(`${baseOf(kb)}/documents${query}`, batch.rows, {
      signal: batch.abort.signal,
      onProgress: (share) => showSent(batch.rows, share),
    });
    batch.job = job.id;
    if (batch.abort.signal.aborted) await endJob(batch);
    else follow(batch, job);
  } catch (error) {
    if (error.name !== "AbortError") refused(batch, error);
  }
  startNext();
}

function showSent(sent, share) {
  let bytes = share * sent.reduce((sum, { file }) => sum + file.size, 0);
  for (const row of sent) {
    const own = row.file.size ? Math.min(1, Math.max(0, bytes / row.file.size)) : 1;
    bytes -= row.file.size;
    change(row, { share: own, text: own < 1 ? `Sending, ${Math.round(100 * own)} %` : "Sent" });
  }
}

/** Handle a refused request: wait if the server is busy; send files one by one if one of them may be the cause. */
function refused(batch, error) {
  const seconds = error.retryAfter;
  for (const row of batch.rows) {
    if (seconds) change(row, { state: "paused", text: "The server is busy; trying again", share: undefined });
    else if (batch.rows.length > 1) change(row, { state: "waiting", text: "Waiting", isAlone: true });
    else change(row, { state: "failed", text: error.message });
  }
  if (!seconds) return;
  setTimeout(() => {
    for (const row of batch.rows.filter(({ state }) => state === "paused")) change(row, { state: "waiting" });
    startNext();
  }, 1000 * seconds);
}

/** Cancel a file. Others of its job are sent again; without their files, the whole job ends. */
async function cancel(row) {
  const { batch } = row;
  const isWithBatch = batch && !["waiting", "paused"].includes(row.state);
  if (isWithBatch && !row.file) {
    change(row, { text: "Cancelling" });
    await endJob(batch);
    return;
  }
  change(row, { state: "cancelled", text: "Cancelled" });
  if (!isWithBatch) return;
  for (const one of batch.rows) if (!ENDED.has(one.state)) change(one, { state: "waiting", text: "Waiting", share: 0, batch: null });
  await endJob(batch);
  startNext();
}

async function cancelAll() {
  const open = ownRows().filter(({ state }) => !ENDED.has(state));
  for (const row of open) change(row, { state: "cancelled", text: "Cancelled" });
  await Promise.all([...new Set(open.map(({ batch }) => batch))].map(endJob));
}

/** Stop the request of a batch, and its job if there is one. */
async function endJob(batch) {
  batch?.abort.abort();
  if (batch?.job) await send("DELETE", `${baseOf(batch.rows[0].kb)}/jobs/${batch.job}`).catch((error) => change(batch.rows[0], { text: error.message }));
}

function retry(failed) {
  rememberDismissed(failed);
  for (const row of failed) {
    if (row.url) {
      dismiss([row]);
      send("POST", `${baseOf(row.kb)}/documents`, { url: row.url })
        .then((job) => follow(batchOf([addRow({ kb: row.kb, name: row.name, url: row.url })]), job))
        .catch((error) => change(addRow({ kb: row.kb, name: row.name, url: row.url }), { state: "failed", text: error.message }));
    } else change(row, { state: "waiting", text: "Waiting", share: 0, batch: null });
  }
  startNext();
}

function dismiss(ended) {
  rememberDismissed(ended);
  const hadFocus = ended.some(({ element }) => element.contains(document.activeElement));
  rows = rows.filter((row) => !ended.includes(row));
  for (const { element } of ended) element.remove();
  if (hadFocus) ($("upload-list").querySelector("button") ?? $("choose-files")).focus();
  update();
}

function readDismissed() {
  try {
    return JSON.parse(localStorage.getItem(DISMISSED)) ?? [];
  } catch {
    return [];
  }
}

function rememberDismissed(ended) {
  const keys = ended.filter(({ batch }) => batch?.job).map(({ batch, name }) => `${batch.job}/${name}`);
  if (keys.length) localStorage.setItem(DISMISSED, JSON.stringify([...new Set([...readDismissed(), ...keys])].slice(-MAX_DISMISSED)));
}

function follow(batch, job) {
  batch.job = job.id;
  for (const row of batch.rows) change(row, shown(job, row.name));
  poll();
}

async function poll() {
  if (isPolling) return;
  isPolling = true;
  try {
    for (let failures = 0; failures < 10;) {
      const open = rows.filter(({ batch, state }) => batch?.job && !ENDED.has(state));
      if (!open.length) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      try {
        const hasEnded = await Promise.all([...new Set(open.map(({ kb }) => kb))].map((kb) => refresh(kb, open.filter((row) => row.kb === kb))));
        failures = 0;
        if (hasEnded.some(Boolean)) window.dispatchEvent(new Event("documentschange"));
      } catch (error) {
        failures += 1;
        for (const row of open) change(row, { text: error.message });
      }
    }
  } finally {
    isPolling = false;
  }
}

/** Update the rows of a knowledge base; return whether a row has ended. */
async function refresh(kb, open) {
  const batches = new Map(open.map((row) => [row, row.batch]));
  const { jobs } = await get(`${baseOf(kb)}/jobs?limit=1000`);
  const byId = new Map(jobs.map((job) => [job.id, job]));
  for (const row of open) {
    if (row.batch !== batches.get(row) || ENDED.has(row.state)) continue; // cancelled, or sent again
    const job = byId.get(row.batch.job);
    change(row, job ? shown(job, row.name) : { state: "failed", text: "The job is no longer on the server" });
  }
  return open.some(({ state }) => ENDED.has(state));
}

function shown(job, name) {
  const { state, progress } = job;
  if (state === "queued") return { state, text: "Waiting for other files", share: 1 };
  if (state !== "running") return outcome(job, name);
  if (job.documents.length > 1 || !progress || progress.documents_total < 2) return { state, text: "Adding", share: undefined };
  return { state, share: progress.documents_done / progress.documents_total, text: `Adding, ${progress.documents_done} of ${progress.documents_total}` };
}

/** Return the state and the text of one file of a finished job. */
function outcome({ state, report, error, documents }, name) {
  if (state === "cancelled") return { state, text: "Cancelled" };
  if (error) return { state: "failed", text: error.detail };
  const isOnly = documents.length === 1; // its report may name members of an archive, or a redirected address
  const isOf = (id) => isOnly || id === name || id.startsWith(`${name}!/`);
  const failed = report.failed.filter(({ source }) => isOf(source));
  const counts = ["added", "replaced", "updated", "unchanged"].map((kind) => [kind, report[kind].filter(isOf).length]).filter(([, number]) => number);
  const parts = counts.map(([kind, number]) => (number > 1 ? `${count(number, "document")} ${kind}` : kind));
  const reasons = failed.map(({ source, message }) => (failed.length > 1 ? message : message.replace(`${source}: `, "")));
  const warnings = report.warnings.filter((warning) => isOnly || warning.includes(name));
  const text = [parts.join(", "), ...reasons, ...warnings].filter(Boolean).join(". ");
  const hasFailed = !counts.length;
  return { state: hasFailed ? "failed" : "done", text: text ? text.charAt(0).toUpperCase() + text.slice(1) : "Not added" };
}

/** Accept files and folders that are chosen, or dropped anywhere on the page. */
export function acceptFiles(kbOf, showView) {
  for (const [button, input] of [["choose-files", "files"], ["choose-folder", "folder"]]) {
    $(button).addEventListener("click", () => $(input).click());
    $(input).addEventListener("change", () => {
      addFiles(kbOf(), chosenFiles($(input).files));
      $(input).value = "";
    });
  }
  $("clear-uploads").addEventListener("click", () => dismiss(ownRows().filter(({ state }) => ENDED.has(state))));
  $("cancel-uploads").addEventListener("click", cancelAll);
  $("retry-uploads").addEventListener("click", () => retry(ownRows().filter(({ state, file, url }) => state === "failed" && (file || url))));
  window.addEventListener("beforeunload", (event) => {
    if (rows.some(({ state, file }) => file && ["waiting", "paused", "sending"].includes(state))) event.preventDefault();
  });
  const hasFiles = (event) => rights.canWrite && event.dataTransfer?.types.includes("Files");
  const mark = (isOver) => document.body.classList.toggle("dropping", isOver);
  window.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault(); // a file that is dropped must not replace the page
    event.dataTransfer.dropEffect = rights.canWrite ? "copy" : "none";
    mark(rights.canWrite);
  });
  window.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) mark(false);
  });
  window.addEventListener("drop", async (event) => {
    mark(false);
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    if (!hasFiles(event)) return;
    const found = droppedFiles(event.dataTransfer);
    showView();
    addFiles(kbOf(), await found);
  });
}
