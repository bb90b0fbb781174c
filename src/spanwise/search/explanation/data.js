// Data of the page by chunk, and formatting of numbers and sentences.

const STRIP_HEIGHT = 100;
const LISTED_AT_ONCE = 50;
const [TABLE_SHARES, TABLE_RELEVANCES] = data.terms.table;
const ROWS = data.tokens.length;
const byRow = new Map(data.candidates.map((candidate) => [candidate.row, candidate]));
const copies = new Set(data.copies);
const documentOf = new Int32Array(ROWS);
const chunkOf = new Int32Array(ROWS);
data.documents.forEach((one, number) => {
  for (const run of one.runs) {
    documentOf.fill(number, run.row, run.row + run.count);
    for (let i = 0; i < run.count; i += 1) chunkOf[run.row + i] = run.start + i;
  }
});

/** Return a share, value or relevance with three significant digits, as in the command line. */
function said(number) {
  if (number !== 0 && Math.abs(number) < 1e-4) return number > 0 ? "under 0.0001" : "above -0.0001";
  return String(Number(number.toPrecision(3)));
}

const worded = (decision, gaps) =>
  data.reasons[decision].replace(/\{(\w+)\}/g, (_, name) => gaps[name]);
