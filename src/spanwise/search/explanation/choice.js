// Result of some settings: the segments, and the reason why each chunk is in or out.

const initial = { price: data.terms.price, charge: data.terms.charge, budget: data.terms.budget };
const original = data.segments.map(({ rows, value, relevance }) => ({ rows, value, relevance }));
const TOTAL_SHARE = Math.max(1, data.shares.reduce((sum, share) => sum + share, 0));
const originalRows = new Uint8Array(ROWS);
for (const { rows } of original) originalRows.fill(1, rows[0], rows[1]);

function isInitial(settings) {
  return Object.keys(initial).every((name) => settings[name] === initial[name]);
}

/** Return the charge of a segment including the price of its header. */
function withHeader(price, charge) {
  return charge + (price * data.terms.header) / PRICED_TOKENS;
}

/** Return the relevance at which a chunk of 100 tokens has the value 0. */
function priceRelevance(price) {
  return interpolate((price * 100) / PRICED_TOKENS, TABLE_SHARES, TABLE_RELEVANCES) * data.terms.answer_chance;
}

/** Return the problem that `extractSegments` solves for some settings. */
function problemAt({ price, charge, budget }) {
  const values = chunkValues(data.shares, data.tokens, price);
  const least = roundEven(data.terms.minimum * UNITS);
  return {
    values,
    tokens: data.tokens,
    edges: data.edges,
    borders: data.borders.map((part) => roundEven(part * charge * UNITS)),
    budget,
    header: data.terms.header,
    longest: data.terms.longest,
    charge: roundEven(withHeader(price, charge) * UNITS),
    least,
    required: data.required.filter((row) => values[row] > 0 && values[row] >= least),
  };
}

/** Return the result of some settings. */
function choose(settings) {
  const problem = problemAt(settings);
  const found = extractSegments(problem);
  const fromSearch = isInitial(settings) && !data.refused;
  const sums = ([first, end]) => {
    const costs = problem.borders.slice(first + 1, end).reduce((a, b) => a + b, 0);
    return problem.values.slice(first, end).reduce((a, b) => a + b, 0) - costs;
  };
  const runs = fromSearch ? original.map(({ rows }) => rows) : found.runs;
  const segments = runs.map((rows, at) => ({
    rows,
    value: fromSearch ? original[at].value : sums(rows) / UNITS,
    relevance: fromSearch ? original[at].relevance : relevanceOf(rows),
    best: bestRow(rows),
  }));
  const ranked = [...segments].sort((a, b) => b.relevance - a.relevance || b.value - a.value || a.rows[0] - b.rows[0]);
  ranked.forEach((segment, rank) => Object.assign(segment, { rank }));
  const segmentOf = new Int32Array(ROWS).fill(-1);
  for (const { rows, rank } of ranked) segmentOf.fill(rank, rows[0], rows[1]);
  const looser = loosenedFor(settings, problem);
  return {
    settings,
    values: problem.values,
    ranked,
    segmentOf,
    tokens: fromSearch ? data.tokens_used : found.tokens,
    optimal: found.optimal,
    decide: (row) => decisionOf(row, { values: problem.values, segmentOf, looser, fromSearch }),
  };
}

function bestRow([first, end]) {
  let best = first;
  for (let row = first; row < end; row += 1) if (data.relevances[row] > data.relevances[best]) best = row;
  return best;
}

/** Return the probability that a segment contains evidence, as `Evidence.chance` in Python. */
function relevanceOf([first, end]) {
  let share = 0;
  for (let row = first; row < end; row += 1) share += data.shares[row];
  const here = Math.min(1, share / TOTAL_SHARE) * data.terms.answer_chance;
  return Math.max(here, data.relevances[bestRow([first, end])]);
}

let loosenedLast = { key: "", taken: [] };

/** Return the result of `loosened`, cached while only the budget changes. */
function loosenedFor({ price, charge }, problem) {
  const key = `${price} ${charge}`;
  if (loosenedLast.key !== key) loosenedLast = { key, taken: loosened(problem) };
  return loosenedLast.taken;
}

/** Return, for each relaxed limit, the rows that would be selected without a budget. */
function loosened(problem) {
  const roomy = { ...problem, budget: 10_000_000 };
  const limits = [["budget", roomy]];
  if (problem.longest !== null) limits.push(["longest", { ...roomy, longest: null }]);
  if (problem.least > 0) limits.push(["minimum", { ...roomy, longest: null, least: 0 }]);
  return limits.map(([name, loose]) => {
    const taken = new Uint8Array(ROWS);
    for (const [first, end] of extractSegments(loose).runs) taken.fill(1, first, end);
    return [name, taken];
  });
}

function decisionOf(row, { values, segmentOf, looser, fromSearch }) {
  if (fromSearch && byRow.has(row)) return byRow.get(row).decision;
  if (segmentOf[row] >= 0) return values[row] > 0 ? "segment" : "bridge";
  if (copies.has(row)) return "copy";
  if (values[row] <= 0) return "price";
  return looser.find(([, taken]) => taken[row])?.[0] ?? "charge";
}

/** Return a sentence with the reason why a chunk is in or out. */
function reasonOf(row, state) {
  const [otherDocument, otherChunk] = byRow.get(row)?.copy ?? ["another document", "?"];
  const { price, charge, budget } = state.settings;
  return worded(state.decide(row), {
    segment: state.segmentOf[row] + 1,
    other_document: otherDocument,
    other_chunk: otherChunk,
    tokens: data.tokens[row],
    value: said(state.values[row] / UNITS),
    charge: said(withHeader(price, charge)),
    minimum: said(data.terms.minimum),
    longest: data.terms.longest,
    budget,
    section: data.terms.named,
  });
}
