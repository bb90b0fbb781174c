// Addresses of views: the part after "#" is the whole state, so every state has a link.

let lastSearch = "";

/** Return the view and the state of the current address. */
export function currentState(views) {
  const [, path, query] = /^#?\/?([^?]*)\??(.*)$/s.exec(location.hash); // a question may contain "?"
  return { view: views.includes(path) ? path : "search", state: new URLSearchParams(query) };
}

/** Return the address of a view; empty values are left out, lists give repeated fields. */
export function addressOf(view, values) {
  const fields = Object.entries(values).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  return `#/${view}?${new URLSearchParams(fields.filter(([, value]) => value !== "" && value !== undefined && value !== null))}`;
}

/** Return the address of a place in the reader. */
export function placeOf(kb, id, { start, end, chunk, question } = {}) {
  return addressOf("read", { kb, id, at: start === undefined ? "" : `${start}-${end}`, chunk, q: question });
}

/** Remember the address of a search, to which the reader leads back. */
export function rememberSearch() {
  lastSearch = location.hash;
}

/** Return the address of the last search; without one, that of the documents. */
export function searchAddress(kb, question) {
  return lastSearch || (question ? addressOf("search", { kb, q: question }) : addressOf("documents", { kb }));
}
