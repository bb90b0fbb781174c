// Result of some settings: the segments, and the reason why each chunk is in or out.
//
// A row is a chunk that was read; rows are numbered over all documents.

import { PRICED_TOKENS, UNITS, chunkValues, extractSegments, interpolate, roundEven } from "./solver.js";

/** Return a share, value or relevance with three significant digits, as in the command line. */
export function said(number) {
  if (number !== 0 && Math.abs(number) < 1e-4) return number > 0 ? "under 0.0001" : "above -0.0001";
  return String(Number(number.toPrecision(3)));
}

/** Selection of segments from the data of one explanation. */
export class Choice {
  constructor(data) {
    this.data = data;
    this.initial = { price: data.terms.price, charge: data.terms.charge, budget: data.terms.budget };
    this.original = data.segments.map(({ rows, value, relevance }) => ({ rows, value, relevance }));
    this.size = data.tokens.length;
    this.byRow = new Map(data.candidates.map((candidate) => [candidate.row, candidate]));
    this.documentOf = new Int32Array(this.size);
    this.chunkOf = new Int32Array(this.size);
    data.documents.forEach((one, number) => {
      for (const run of one.runs) {
        this.documentOf.fill(number, run.row, run.row + run.count);
        for (let i = 0; i < run.count; i += 1) this.chunkOf[run.row + i] = run.start + i;
      }
    });
    this.originalRows = new Uint8Array(this.size);
    for (const { rows } of this.original) this.originalRows.fill(1, rows[0], rows[1]);
    this.copies = new Set(data.copies);
    this.totalShare = Math.max(1, data.shares.reduce((sum, share) => sum + share, 0));
    this.lastLoosened = { key: "", taken: [] };
  }

  isInitial(settings) {
    return Object.keys(this.initial).every((name) => settings[name] === this.initial[name]);
  }

  nameOf(number) {
    return this.data.documents[number].title || this.data.documents[number].id;
  }

  /** Return the charge of a segment including the price of its header. */
  withHeader(price, charge) {
    return charge + (price * this.data.terms.header) / PRICED_TOKENS;
  }

  /** Return the relevance at which a chunk of 100 tokens has the value 0. */
  priceRelevance(price) {
    const [shares, relevances] = this.data.terms.table;
    return interpolate((price * 100) / PRICED_TOKENS, shares, relevances) * this.data.terms.answer_chance;
  }

  /** Return the problem that `extractSegments` solves for some settings. */
  problemAt({ price, charge, budget }) {
    const { data } = this;
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
      charge: roundEven(this.withHeader(price, charge) * UNITS),
      least,
      required: data.required.filter((row) => values[row] > 0 && values[row] >= least),
    };
  }

  /** Return the result of some settings. */
  choose(settings) {
    const problem = this.problemAt(settings);
    const found = extractSegments(problem);
    const fromSearch = this.isInitial(settings) && !this.data.refused;
    const sums = ([first, end]) => {
      const costs = problem.borders.slice(first + 1, end).reduce((a, b) => a + b, 0);
      return problem.values.slice(first, end).reduce((a, b) => a + b, 0) - costs;
    };
    const runs = fromSearch ? this.original.map(({ rows }) => rows) : found.runs;
    const segments = runs.map((rows, at) => ({
      rows,
      value: fromSearch ? this.original[at].value : sums(rows) / UNITS,
      relevance: fromSearch ? this.original[at].relevance : this.relevanceOf(rows),
      best: this.bestRow(rows),
    }));
    const ranked = [...segments].sort((a, b) => b.relevance - a.relevance || b.value - a.value || a.rows[0] - b.rows[0]);
    ranked.forEach((segment, rank) => Object.assign(segment, { rank }));
    const segmentOf = new Int32Array(this.size).fill(-1);
    for (const { rows, rank } of ranked) segmentOf.fill(rank, rows[0], rows[1]);
    return {
      settings,
      values: problem.values,
      ranked,
      segmentOf,
      tokens: fromSearch ? this.data.tokens_used : found.tokens,
      optimal: found.optimal,
      fromSearch,
      looser: this.loosenedFor(settings, problem),
    };
  }

  bestRow([first, end]) {
    const { relevances } = this.data;
    let best = first;
    for (let row = first; row < end; row += 1) if (relevances[row] > relevances[best]) best = row;
    return best;
  }

  /** Return the probability that a segment contains evidence, as `Evidence.chance` in Python. */
  relevanceOf([first, end]) {
    let share = 0;
    for (let row = first; row < end; row += 1) share += this.data.shares[row];
    const here = Math.min(1, share / this.totalShare) * this.data.terms.answer_chance;
    return Math.max(here, this.data.relevances[this.bestRow([first, end])]);
  }

  /** Return the result of `loosened`, cached while only the budget changes. */
  loosenedFor({ price, charge }, problem) {
    const key = `${price} ${charge}`;
    if (this.lastLoosened.key !== key) this.lastLoosened = { key, taken: this.loosened(problem) };
    return this.lastLoosened.taken;
  }

  /** Return, for each relaxed limit, the rows that would be selected without a budget. */
  loosened(problem) {
    const roomy = { ...problem, budget: 10_000_000 };
    const limits = [["budget", roomy]];
    if (problem.longest !== null) limits.push(["longest", { ...roomy, longest: null }]);
    if (problem.least > 0) limits.push(["minimum", { ...roomy, longest: null, least: 0 }]);
    return limits.map(([name, loose]) => {
      const taken = new Uint8Array(this.size);
      for (const [first, end] of extractSegments(loose).runs) taken.fill(1, first, end);
      return [name, taken];
    });
  }

  /** Return the decision about a chunk in a result of `choose`. */
  decide(row, { values, segmentOf, looser, fromSearch }) {
    if (fromSearch && this.byRow.has(row)) return this.byRow.get(row).decision;
    if (segmentOf[row] >= 0) return values[row] > 0 ? "segment" : "bridge";
    if (this.copies.has(row)) return "copy";
    if (values[row] <= 0) return "price";
    return looser.find(([, taken]) => taken[row])?.[0] ?? "charge";
  }

  /** Return a sentence with the reason why a chunk is in or out. */
  reasonOf(row, state) {
    const { data } = this;
    const [otherDocument, otherChunk] = this.byRow.get(row)?.copy ?? ["another document", "?"];
    const { price, charge, budget } = state.settings;
    const gaps = {
      segment: state.segmentOf[row] + 1,
      other_document: otherDocument,
      other_chunk: otherChunk,
      tokens: data.tokens[row],
      value: said(state.values[row] / UNITS),
      charge: said(this.withHeader(price, charge)),
      minimum: said(data.terms.minimum),
      longest: data.terms.longest,
      budget,
      section: data.terms.named,
    };
    return data.reasons[this.decide(row, state)].replace(/\{(\w+)\}/g, (_, name) => gaps[name]);
  }

  /** Return segments in reading order: documents by their best segment, then by position. */
  reading(ranked) {
    const firstRank = new Map();
    for (const { rows, rank } of ranked) {
      const number = this.documentOf[rows[0]];
      if (!firstRank.has(number)) firstRank.set(number, rank);
    }
    const place = ({ rows }) => firstRank.get(this.documentOf[rows[0]]);
    return [...ranked].sort((a, b) => place(a) - place(b) || a.rows[0] - b.rows[0]);
  }

  /** Return how many chunks a result has in addition to the search, and how many fewer. */
  difference({ segmentOf }) {
    let more = 0;
    let fewer = 0;
    for (let row = 0; row < this.size; row += 1) {
      const isIn = segmentOf[row] >= 0;
      if (isIn && !this.originalRows[row]) more += 1;
      if (!isIn && this.originalRows[row]) fewer += 1;
    }
    return { more, fewer };
  }

  /** Return the contribution of each feature group relative to the mean candidate, largest first. */
  whyOf(row) {
    const { data } = this;
    const candidate = this.byRow.get(row);
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
}
