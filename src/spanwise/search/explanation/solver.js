// Selection of segments with the same results as `core/extraction/exact.py`, ties included.
//
// Values are integers in billionths of a share. A selection is a path through a graph. Lagrangian
// relaxation of the token budget gives an upper bound; arcs that cannot be on a path near the bound
// are pruned, and the rest is solved by label setting: labels hold the tokens and value of paths
// that no other path dominates.

export const UNITS = 1e9;
export const PRICED_TOKENS = 1000;
const NEVER = 2 ** 60;
const MANY_LABELS = 200_000;

/** Return a number rounded to the nearest integer, halves to the even one. */
export function roundEven(number) {
  const floor = Math.floor(number);
  const rest = number - floor;
  if (rest !== 0.5) return rest < 0.5 ? floor : floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}

/** Return the value of each chunk in units: its share minus the price of its tokens. */
export function chunkValues(shares, tokens, price) {
  const value = (share, row) => roundEven((share - (price * tokens[row]) / PRICED_TOKENS) * UNITS);
  return Float64Array.from(shares, value);
}

/** Return the value of a piecewise linear function, which is constant outside of its points. */
export function interpolate(at, xs, ys) {
  if (at <= xs[0]) return ys[0];
  for (let i = 1; i < xs.length; i += 1) {
    if (at <= xs[i]) return ys[i - 1] + ((ys[i] - ys[i - 1]) * (at - xs[i - 1])) / (xs[i] - xs[i - 1]);
  }
  return ys[ys.length - 1];
}

/**
 * Return the runs with the highest total value within a budget.
 *
 * @param {object} problem
 *   values, tokens: value of each chunk in units, and its tokens;
 *   borders: cost in units of a run that contains the row and the row before it;
 *   edges: first row of each range, then the number of rows;
 *   budget, header, longest (or null): in tokens; charge, least: in units;
 *   required: rows that are selected before all others.
 * @returns {{runs: number[][], value: number, tokens: number, optimal: boolean}}
 *   runs as [first row, one past the last]; value minus charges and borders, in units.
 */
export function extractSegments(problem) {
  const fitting = problem.budget - problem.header;
  const longest = Math.min(fitting, problem.longest ?? fitting);
  const weights = weigh(problem);
  const sums = runningSums(weights, problem);
  const items = findItems(problem, weights, longest);
  const limited = problem.longest !== null && problem.longest < fitting;
  const build = limited || problem.least > problem.charge ? runGraph : chainGraph;
  const graph = build(problem, { ...sums, items, longest });
  const { arcs, optimal } = bestPath(graph, problem.budget);
  return { ...measured(graph.runs(arcs), problem), optimal };
}

/** Return the values, with a bonus for required chunks that exceeds all other values. */
function weigh({ values, borders, charge, least, required }) {
  if (!required.length) return values;
  const weights = Float64Array.from(values);
  const size = values.reduce((sum, value, row) => sum + Math.abs(value) + borders[row], 0);
  const bonus = size + charge * required.length + least + 1;
  for (const row of required) weights[row] += bonus;
  return weights;
}

/** Return exclusive prefix sums, and the sum of values before a run that starts at each row. */
function runningSums(weights, { tokens, borders }) {
  const worthEnds = new Float64Array(weights.length + 1);
  const tokenEnds = new Float64Array(weights.length + 1);
  for (let row = 0; row < weights.length; row += 1) {
    worthEnds[row + 1] = worthEnds[row] + weights[row] - borders[row];
    tokenEnds[row + 1] = tokenEnds[row] + tokens[row];
  }
  const worthStarts = Float64Array.from(borders, (cost, row) => worthEnds[row] - cost);
  return { worthEnds, worthStarts, tokenEnds };
}

/** Return the rows at which a run may begin or end, with the index of their range. */
function findItems({ tokens, edges }, weights, longest) {
  const items = [];
  for (let range = 0; range + 1 < edges.length; range += 1) {
    for (let row = edges[range]; row < edges[range + 1]; row += 1) {
      if (weights[row] > 0 && tokens[row] <= longest) items.push({ row, range });
    }
  }
  return items;
}

function measured(runs, { values, borders, tokens, charge, header }) {
  let value = 0;
  let total = 0;
  for (const [first, end] of runs) {
    value -= charge;
    total += header;
    for (let row = first; row < end; row += 1) {
      value += values[row] - (row > first ? borders[row] : 0);
      total += tokens[row];
    }
  }
  return { runs, value, tokens: total };
}

/** Arcs in ascending order of their tails, preferred arcs first; each tail is below its head. */
class Arcs {
  constructor() {
    this.tails = [];
    this.heads = [];
    this.values = [];
    this.tokens = [];
    this.notes = [];
  }

  add(tail, head, value, tokens, note) {
    this.tails.push(tail);
    this.heads.push(head);
    this.values.push(value);
    this.tokens.push(tokens);
    this.notes.push(note);
  }
}

/**
 * Return the graph with one arc each for opening, extending and closing a run.
 *
 * Nodes before each item and after the last one: 2 * item with an open run, 2 * item + 1 without.
 * The first arc of a node leads to the run that starts first and ends last.
 */
function chainGraph(
  { tokens, charge, header },
  { worthEnds, worthStarts, tokenEnds, items, longest },
) {
  const arcs = new Arcs();
  for (let at = 0; at <= items.length; at += 1) {
    const before = items[at - 1];
    const item = items[at];
    if (before && item && item.range === before.range) {
      const gap = tokenEnds[item.row] - tokenEnds[before.row + 1];
      const value = worthEnds[item.row + 1] - worthEnds[before.row + 1];
      if (gap <= longest) arcs.add(2 * at, 2 * at + 2, value, gap + tokens[item.row], "hold");
    }
    if (before) arcs.add(2 * at, 2 * at + 1, 0, 0, "close");
    if (!item) continue;
    const value = worthEnds[item.row + 1] - worthStarts[item.row];
    arcs.add(2 * at + 1, 2 * at + 2, value - charge, tokens[item.row] + header, "open");
    arcs.add(2 * at + 1, 2 * at + 3, 0, 0, "skip");
  }
  const runs = (path) => {
    const found = [];
    for (const arc of path) {
      const item = arcs.tails[arc] >> 1;
      if (arcs.notes[arc] === "open") found.push([items[item].row, items[item].row + 1]);
      if (arcs.notes[arc] === "hold") found[found.length - 1][1] = items[item].row + 1;
    }
    return found;
  };
  return { arcs, first: 1, last: 2 * items.length + 1, runs };
}

/** Return the graph with an arc for each run within the limits; its nodes are items. */
function runGraph(problem, { worthEnds, worthStarts, tokenEnds, items, longest }) {
  const { charge, least, header } = problem;
  const arcs = new Arcs();
  for (let at = 0; at < items.length; at += 1) {
    const start = items[at].row;
    const found = [];
    let top = Math.max(charge, 0);
    for (let end = at; end < items.length && items[end].range === items[at].range; end += 1) {
      const row = items[end].row;
      const size = tokenEnds[row + 1] - tokenEnds[start];
      const lost = end > at && worthStarts[row] <= worthStarts[start]; // better without its beginning
      if (size > longest || lost) break;
      const value = worthEnds[row + 1] - worthStarts[start];
      if (value > top && value >= least) found.push([end + 1, value - charge, size + header, row]);
      top = Math.max(top, value); // a run that ends later must be worth more
    }
    for (const [head, value, size, row] of found.reverse()) arcs.add(at, head, value, size, row);
    arcs.add(at, at + 1, 0, 0, -1);
  }
  const runs = (path) =>
    path
      .filter((arc) => arcs.notes[arc] >= 0)
      .map((arc) => [items[arcs.tails[arc]].row, arcs.notes[arc] + 1]);
  return { arcs, first: 0, last: items.length, runs };
}

/** Return the arcs of the best path within a budget, and whether it is proven to be optimal. */
function bestPath(graph, budget) {
  const quote = leastBound(graph, budget);
  const most = quote.bound - quote.value;
  const losses = lossesAt(graph, quote.price);
  const limits = [...new Set([most / 64, most / 16, most / 4, most].map(Math.floor))];
  for (const limit of limits) {
    const label = searchLabels(graph, { ...quote, ...losses, limit, budget });
    if (label === undefined) break;
    if (label !== null) return { arcs: traced(label), optimal: true };
  }
  return { arcs: quote.arcs, optimal: most === 0 };
}

/** Return the price per token with the lowest bound, and the best path found within the budget. */
function leastBound(graph, budget) {
  let inside = { value: 0, tokens: 0, arcs: [] };
  let over = null;
  let least = { bound: Infinity, price: 0 };
  const tried = new Set();
  for (let price = 0; !tried.has(price); ) {
    tried.add(price);
    const met = pathAt(graph, price);
    const bound = met.value - price * met.tokens + price * budget;
    if (bound < least.bound) least = { bound, price };
    if (met.tokens <= budget) inside = met.value >= inside.value ? met : inside;
    else over = met;
    if (price === 0 && over === null) break;
    price = Math.floor((over.value - inside.value) / (over.tokens - inside.tokens));
  }
  return { ...least, value: inside.value, arcs: inside.arcs };
}

/** Return the best path at a price per token, without a budget. */
function pathAt({ arcs, first, last }, price) {
  const worth = new Float64Array(last + 1).fill(-NEVER);
  const choice = new Int32Array(last + 1).fill(-1);
  worth[last] = 0;
  for (let arc = arcs.tails.length - 1; arc >= 0; arc -= 1) {
    const tail = arcs.tails[arc];
    const through = arcs.values[arc] - price * arcs.tokens[arc] + worth[arcs.heads[arc]];
    if (through >= worth[tail]) {
      worth[tail] = through;
      choice[tail] = arc;
    }
  }
  const path = { value: 0, tokens: 0, arcs: [] };
  for (let node = first; node !== last; node = arcs.heads[choice[node]]) {
    path.value += arcs.values[choice[node]];
    path.tokens += arcs.tokens[choice[node]];
    path.arcs.push(choice[node]);
  }
  return path;
}

/** Return the loss of the best path through each arc, and the best arcs that lead to each node. */
function lossesAt({ arcs, first, last }, price) {
  const before = new Float64Array(last + 1).fill(-NEVER);
  const after = new Float64Array(last + 1).fill(-NEVER);
  const worths = arcs.values.map((value, arc) => value - price * arcs.tokens[arc]);
  before[first] = 0;
  after[last] = 0;
  worths.forEach((worth, arc) => {
    const head = arcs.heads[arc];
    before[head] = Math.max(before[head], before[arcs.tails[arc]] + worth);
  });
  for (let arc = worths.length - 1; arc >= 0; arc -= 1) {
    const tail = arcs.tails[arc];
    after[tail] = Math.max(after[tail], worths[arc] + after[arcs.heads[arc]]);
  }
  const losses = worths.map(
    (worth, arc) => after[first] - (before[arcs.tails[arc]] + worth + after[arcs.heads[arc]]),
  );
  return { before, losses };
}

/** Return the label of the best path with a loss of at most the limit; null if there is none,
 * undefined if there are too many labels. */
function searchLabels({ arcs, first, last }, { before, losses, price, bound, limit, budget }) {
  const fronts = new Array(last + 1);
  fronts[last] = [{ tokens: 0, value: 0, arc: -1, next: null }];
  let made = 0;
  for (let arc = losses.length - 1; arc >= 0; ) {
    const tail = arcs.tails[arc];
    const least = bound - limit - before[tail] - price * budget;
    const kept = [];
    for (; arc >= 0 && arcs.tails[arc] === tail; arc -= 1) if (losses[arc] <= limit) kept.push(arc);
    const [only] = kept;
    if (kept.length === 1 && arcs.tokens[only] === 0) { // "close" or "skip", which change nothing
      fronts[tail] = fronts[arcs.heads[only]];
      continue;
    }
    const found = [];
    for (const arc of kept) {
      for (const next of fronts[arcs.heads[arc]] ?? []) {
        const tokens = next.tokens + arcs.tokens[arc];
        const value = next.value + arcs.values[arc];
        if (tokens <= budget && value - price * tokens >= least) found.push({ tokens, value, arc, next });
      }
    }
    made += found.length;
    if (made > MANY_LABELS) return undefined;
    fronts[tail] = unbeaten(found);
  }
  const best = fronts[first]?.at(-1);
  return best && best.value >= bound - limit ? best : null;
}

/** Return the nondominated labels by ascending tokens and values; of equal ones the first arc. */
function unbeaten(labels) {
  if (labels.length < 2) return labels;
  labels.sort((a, b) => a.tokens - b.tokens || b.value - a.value || a.arc - b.arc);
  let best = -Infinity;
  return labels.filter(({ value }) => {
    if (value <= best) return false;
    best = value;
    return true;
  });
}

function traced(label) {
  const arcs = [];
  for (let at = label; at.next !== null; at = at.next) arcs.push(at.arc);
  return arcs;
}
