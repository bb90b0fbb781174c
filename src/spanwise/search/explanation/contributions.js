// Bars for the contributions to the score of a chunk.

import { fixed, make } from "./elements.js";

/** Return the maximum bar length on each side of zero, so that the longest bar fits. */
export function scaleOf(parts) {
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

/** Return a list of bars with labels and numbers. */
export function barList(parts, scale) {
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
