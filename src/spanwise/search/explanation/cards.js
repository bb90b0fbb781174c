// Segments as cards, with bars for the contributions to the score of their best chunk.

/** Return the contribution of each feature group relative to the mean candidate, largest first. */
function whyOf(row) {
  const candidate = byRow.get(row);
  if (!candidate?.scores.length) return [];
  const scores = [...candidate.scores].sort((a, b) => b.share - a.share)[0];
  const beyond = (at) => scores.contributions[at] - data.typical[scores.query][at];
  const groups = data.groups.map(([label, members]) => ({
    label,
    amount: members.reduce((sum, at) => sum + beyond(at), 0),
  }));
  groups.push({ label: data.spread, amount: scores.spread });
  return groups.filter(({ amount }) => Math.abs(amount) >= 0.15).sort((a, b) => b.amount - a.amount);
}

/** Return the maximum bar length on each side of zero, so that the longest bar fits. */
function scaleOf(parts) {
  const reach = (sign) => Math.max(0, ...parts.map(({ amount }) => sign * amount));
  const all = Math.max(1, reach(1) + reach(-1));
  return { all, zero: reach(-1) / all };
}

function barOf(amount, { all, zero }) {
  const bar = make("i", { class: amount < 0 ? "down" : null });
  const size = Math.abs(amount) / all;
  bar.style.insetInlineStart = `${100 * (amount < 0 ? zero - size : zero)}%`;
  bar.style.width = `${100 * size}%`;
  return make("div", { class: "bar", "aria-hidden": "true" }, bar);
}

function barList(parts, scale) {
  const list = make("dl", { class: "why" });
  list.style.setProperty("--zero", `${100 * scale.zero}%`);
  for (const { label, amount } of parts) {
    const sign = amount > 0 ? "+" : "";
    list.append(
      make("dt", null, label),
      make("dd", null, barOf(amount, scale)),
      make("dd", { class: "number" }, sign + fixed(amount, 1)),
    );
  }
  return list;
}

function nameOf(number) {
  return data.documents[number].title || data.documents[number].id;
}

function pathOf(candidate, number) {
  const path = data.paths[candidate.path] ?? [];
  const inner = path[0] === nameOf(number) ? path.slice(1) : path;
  return (inner.length > 2 ? ["\u2026", ...inner.slice(-2)] : inner).join(" \u203a ");
}

function segmentCard(segment, state) {
  const [first, end] = segment.rows;
  const number = documentOf[first];
  const one = data.documents[number];
  const best = byRow.get(segment.best);
  let tokens = data.terms.header;
  for (let row = first; row < end; row += 1) tokens += data.tokens[row];
  const known = data.segments.find(({ rows }) => rows[0] === first && rows[1] === end);
  const chunks = end - first === 1 ? `chunk ${chunkOf[first]}` : `chunks ${chunkOf[first]}\u2013${chunkOf[end - 1]}`;
  const facts = [
    one.title && one.title !== one.id ? one.id : "",
    chunks,
    known?.pages ?? "",
    count(known?.tokens ?? tokens, "token"),
    `relevance ${said(segment.relevance)}`,
    known && data.queries.length > 1 ? `serves ${known.queries.map((query) => `query ${query + 1}`).join(", ")}` : "",
    known?.also_in ? `also in ${count(known.also_in, "other document")}` : "",
  ];
  const why = whyOf(segment.best);
  const held = best?.terms.length ? `holds: ${best.terms.join(", ")}` : "";
  return make(
    "li",
    { "data-document": number, "data-first": chunkOf[first], "data-end": chunkOf[end - 1] + 1 },
    make("span", { class: "rank", title: "1 is most relevant" }, String(segment.rank + 1)),
    make(
      "div",
      null,
      make("h3", { dir: "auto" }, nameOf(number)),
      best ? make("p", { class: "path", dir: "auto" }, pathOf(best, number)) : null,
      make("p", { class: "meta" }, facts.filter(Boolean).join(" \u00b7 ")),
      make("blockquote", { dir: "auto" }, best?.text.trim() ?? "Its text is not part of this page."),
      make("p", { class: "meta", dir: "auto" }, [held, ...(known?.similar ?? [])].filter(Boolean).join(" \u00b7 ")),
    ),
    barList(why, state.scale),
  );
}

/** Return segments in reading order: documents by their best segment, then by position. */
function reading(ranked) {
  const firstRank = new Map();
  for (const { rows, rank } of ranked) {
    const number = documentOf[rows[0]];
    if (!firstRank.has(number)) firstRank.set(number, rank);
  }
  const place = ({ rows }) => firstRank.get(documentOf[rows[0]]);
  return [...ranked].sort((a, b) => place(a) - place(b) || a.rows[0] - b.rows[0]);
}

function drawSegments(state) {
  const parts = state.ranked.flatMap(({ best }) => whyOf(best));
  state.scale = scaleOf(parts);
  const cards = reading(state.ranked).map((segment) => segmentCard(segment, state));
  if (!cards.length) cards.push(make("li", { class: "hint" }, "Nothing is worth taking at these settings."));
  $("segments").replaceChildren(...cards);
}
