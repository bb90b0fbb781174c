// Segments as cards, with bars for the contributions to the score of their best chunk.

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
  const why = choice.whyOf(segment.best);
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

function drawSegments(state) {
  const parts = state.ranked.flatMap(({ best }) => choice.whyOf(best));
  state.scale = scaleOf(parts);
  const cards = choice.reading(state.ranked).map((segment) => segmentCard(segment, state));
  if (!cards.length) cards.push(make("li", { class: "hint" }, "Nothing is worth taking at these settings."));
  $("segments").replaceChildren(...cards);
}
