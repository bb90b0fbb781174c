// Errors as text: title, detail and what to do.

import { make } from "./elements.js";

const HINTS = {
  filter: "The view “Documents” shows the fields of each document. A filter is written as: company = \"Nike\" and year >= 2022",
  key_missing_or_wrong: "Ask the person who runs the server for one; `spanwise keys add` creates it.",
  no_language_model: "Start the server with a model: spanwise serve --llm openai:gpt-5-mini, or a local one: --llm ollama:qwen3",
  no_document_passes: "Remove the filter, or change its values. The view “Documents” shows the fields of each document.",
  embedder_mismatch: "Choose one knowledge base, or several that were made with the same embedder.",
  too_many_requests: "Wait a moment, then search again.",
  timeout: "Search fewer documents, or ask a shorter question.",
};

const DETAILS = { key_missing_or_wrong: "This server needs a key." }; // in place of advice for programs
const WITHOUT_TITLE = new Set([400, 401, 422]); // "Unprocessable Entity" tells a reader nothing

/** Return the content of an error message. */
export function problemText(error) {
  const { title, status, detail, code, hint, faults } = error.problem ?? {};
  const help = hint ?? HINTS[code];
  return [
    title && !WITHOUT_TITLE.has(status) ? make("strong", null, title) : null,
    make("p", null, DETAILS[code] ?? detail ?? error.message),
    faults?.length ? make("ul", null, ...faults.map((fault) => make("li", null, String(fault)))) : null,
    help ? make("p", { class: "meta" }, help) : null,
  ].filter(Boolean);
}

/** Return an error message as an element. */
export const problemBox = (error) => make("div", { class: "problem", role: "alert" }, ...problemText(error));
