// Strip of the relevance of all chunks along a document, with the chosen segments shaded.

import { draw } from "./elements.js";

/**
 * Return the strip of a document.
 * @param {object} explained document of an explanation: title, chunks, runs
 * @param {Array} segments segments of the document, with first_chunk and last_chunk
 * @param {Function} open called with the number of a chunk that was chosen
 */
export function strip(explained, segments, open) {
  const { chunks } = explained;
  const picture = draw("svg", {
    class: "strip",
    viewBox: `0 0 ${Math.max(chunks, 1)} 100`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": `Relevance along ${explained.title || explained.document_id}; ${segments.length} chosen`,
  });
  const isIn = (chunk) => segments.some(({ first_chunk: first, last_chunk: last }) => first <= chunk && chunk < last);
  for (const { first_chunk: first, last_chunk: last } of segments) {
    picture.append(draw("rect", { class: "shade", x: first, width: last - first, y: 0, height: 100 }));
  }
  for (const run of explained.runs) {
    run.relevances.forEach((relevance, at) => {
      const chunk = run.start + at;
      const height = Math.max(2, 96 * relevance);
      picture.append(
        draw("rect", { class: isIn(chunk) ? "bar in" : "bar", x: chunk + 0.1, width: 0.8, y: 100 - height, height }),
        draw("rect", { class: "hit", x: chunk, width: 1, y: 0, height: 100, click: () => open(chunk) },
          draw("title", null, `chunk ${chunk}: relevance ${relevance.toFixed(2)}, share ${run.shares[at].toFixed(3)}`)),
      );
    });
  }
  return picture;
}
