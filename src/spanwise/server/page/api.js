// Requests to the HTTP interface. A key is stored for this tab only.

const KEY = "spanwise-key";
let askForKey = async () => false;
let asking = null; // the dialog that asks for a key, while it is open

/** Set the function that asks the user for a key and gives it to `enterKey`; it returns whether there is one. */
export function onKeyNeeded(ask) {
  askForKey = ask;
}

export const hasKey = () => sessionStorage.getItem(KEY) !== null;

/** Forget the key; the next request asks for another one. */
export const forgetKey = () => sessionStorage.removeItem(KEY);

/** Error with the problem details of a response. */
export class RequestError extends Error {
  constructor(problem) {
    super(problem.detail ?? "The server did not answer.");
    Object.assign(this, { problem });
  }
}

async function requestWith(key, path, options) {
  const headers = { ...(options.headers ?? {}), ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  try {
    return await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RequestError({ detail: "The server cannot be reached. Is it still running?" });
  }
}

const errorOf = async (response) => new RequestError(await response.json().catch(() => ({ detail: `Status ${response.status}` })));

/** Return the response of a request; if its key is missing or wrong, the user is asked for one. */
export async function request(path, options = {}) {
  const key = sessionStorage.getItem(KEY);
  const response = await requestWith(key, path, options);
  if (response.ok) return response;
  if (response.status !== 401) throw await errorOf(response);
  if (sessionStorage.getItem(KEY) === key) {
    forgetKey();
    asking ??= askForKey().finally(() => { asking = null; });
    if (!(await asking)) throw await errorOf(response);
  }
  return request(path, options);
}

/** Use a key from now on. An error if the server refuses it. */
export async function enterKey(key) {
  const response = await requestWith(key, "/v1/knowledge-bases", {});
  if (response.status === 401) throw new Error("This key is wrong. Enter another one.");
  if (!response.ok) throw await errorOf(response);
  sessionStorage.setItem(KEY, key);
}

export async function get(path) {
  return (await request(path)).json();
}

export async function send(method, path, body, options = {}) {
  const response = await request(path, {
    ...options,
    method,
    headers: { "Content-Type": "application/json", ...(options.headers ?? {}) },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return options.raw ? response : response.json();
}

/** Upload files, given as { name, file }, and return the job. A stream of `fetch` has no progress. */
export function uploadFiles(path, files, { signal, onProgress }) {
  return new Promise((resolve, reject) => {
    const call = new XMLHttpRequest();
    const fail = (problem) => reject(new RequestError(problem));
    call.open("POST", path);
    const key = sessionStorage.getItem(KEY);
    if (key) call.setRequestHeader("Authorization", `Bearer ${key}`);
    call.responseType = "json";
    call.upload.addEventListener("progress", ({ loaded, total }) => onProgress(total ? loaded / total : 0));
    call.addEventListener("load", () => {
      if (call.status === 202) return resolve(call.response);
      const error = new RequestError(call.response ?? { detail: `Status ${call.status}` });
      if (call.status === 429) error.retryAfter = Number(call.getResponseHeader("Retry-After")) || 1;
      return reject(error);
    });
    call.addEventListener("error", () => fail({ detail: "The file could not be sent: it may be too large, or the server has stopped." }));
    call.addEventListener("abort", () => reject(new DOMException("cancelled", "AbortError")));
    signal.addEventListener("abort", () => call.abort());
    const form = new FormData();
    for (const { name, file } of files) form.append("file", file, name);
    call.send(form);
  });
}

export const baseOf = (name) => `/v1/knowledge-bases/${encodeURIComponent(name)}`;
export const idOf = (id) => encodeURIComponent(id);

/** Yield the events of a streamed response as [name, data]. */
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const [name, data] = part.split("\n");
      yield [name.slice("event: ".length), JSON.parse(data.slice("data: ".length))];
    }
  }
}
