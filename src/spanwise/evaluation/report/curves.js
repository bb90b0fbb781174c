// Plot of a metric against the budget: a line per method with its interval as a band; dots if there
// is only one budget.

const FONT = 12;

/** Return round axis ticks that cover a range, close to the requested number. */
function stepsOf(low, high, wanted) {
  const raw = (high - low) / wanted || 1;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((times) => times * size).find((one) => one >= raw - 1e-12);
  const steps = [];
  for (let at = Math.floor(low / step + 1e-9); at * step < high + step - 1e-9; at += 1) steps.push(at * step);
  return steps;
}

/** Return label heights without overlaps, each as close as possible to its own height. */
function spreadApart(heights, room, least, most) {
  const order = heights.map((height, at) => ({ height, at })).sort((a, b) => a.height - b.height);
  order.forEach((one, at) => {
    one.height = Math.max(one.height, at ? order[at - 1].height + room : least);
  });
  for (let at = order.length - 1; at >= 0; at -= 1) {
    order[at].height = Math.min(order[at].height, at === order.length - 1 ? most : order[at + 1].height - room);
  }
  const moved = [];
  for (const { height, at } of order) moved[at] = height;
  return moved;
}

/** Plot of one group of questions. */
class Curve {
  constructor(group, { width, height, isLabelled }) {
    Object.assign(this, { group, isLabelled, metric: chosen.metric });
    const longest = Math.max(...data.retrievers.map((name) => name.length));
    const labels = isLabelled ? Math.min(12 + longest * 6.6, width * 0.42) : 10;
    this.box = { left: 34, top: 8, right: width - labels, bottom: height - 20, width, height };
    this.series = data.retrievers
      .map((_, retriever) => ({ retriever, points: data.budgets.map((__, budget) => intervalOf(group, retriever, budget, this.metric)) }))
      .filter(({ points }) => points.some(Boolean));
    const values = this.series.flatMap(({ points }) => points.filter(Boolean).flatMap((point) => point.filter((one) => one !== null)));
    const unit = data.metrics[this.metric].isShare ? 100 : 1;
    this.unit = unit;
    this.steps = values.length ? stepsOf(unit * Math.min(...values), unit * Math.max(...values), height > 160 ? 5 : 3) : [0, 1];
  }

  x(budget) {
    const { left, right } = this.box;
    const logs = data.budgets.map(Math.log);
    const span = logs[logs.length - 1] - logs[0] || 1;
    return left + 8 + ((logs[budget] - logs[0]) / span) * (right - left - 16);
  }

  /** Return the x position of a method at a budget; with one budget, methods are side by side. */
  place(retriever, budget) {
    const { left, right } = this.box;
    const methods = data.retrievers.length;
    if (data.budgets.length === 1) return left + ((retriever + 0.5) / methods) * (right - left);
    return this.x(budget) + (retriever - (methods - 1) / 2) * 3;
  }

  y(value) {
    const { top, bottom } = this.box;
    const [low, high] = [this.steps[0], this.steps[this.steps.length - 1]];
    return bottom - ((this.unit * value - low) / (high - low || 1)) * (bottom - top);
  }

  text(words, x, y, attributes) {
    const element = draw("text", { x, y, ...attributes });
    element.textContent = words;
    return element;
  }

  draw() {
    const { width, height } = this.box;
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": this.spoken() });
    svg.append(...this.axes(), ...this.series.flatMap((one) => this.line(one)));
    if (this.isLabelled) svg.append(...this.names());
    return svg;
  }

  axes() {
    const { left, right, bottom } = this.box;
    const parts = this.steps.flatMap((step) => {
      const y = this.y(step / this.unit);
      return [draw("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }), this.text(String(Number(step.toPrecision(6))), left - 6, y + 4, { "text-anchor": "end" })];
    });
    const last = data.budgets.length - 1;
    let free = -Infinity; // labels that would stand over the one before are left out
    data.budgets.forEach((budget, at) => {
      if (this.x(at) < free) return;
      free = this.x(at) + (at === 0 ? 72 : 40);
      const anchor = at === 0 ? "start" : at === last && !this.isLabelled ? "end" : "middle";
      const x = this.x(at) - (at === 0 ? 8 : 0) + (anchor === "end" ? 8 : 0);
      parts.push(this.text(whole.format(budget) + (at === 0 ? " tokens" : ""), x, bottom + 15, { "text-anchor": anchor }));
    });
    return parts;
  }

  line({ retriever, points }) {
    const known = points.map((point, budget) => ({ point, budget })).filter(({ point }) => point);
    const colour = colourOf(retriever);
    const parts = [];
    const ranged = known.filter(({ point }) => point[1] !== null);
    if (ranged.length > 1) {
      const upper = ranged.map(({ point, budget }) => `${this.x(budget)},${this.y(point[2])}`);
      const lower = ranged.map(({ point, budget }) => `${this.x(budget)},${this.y(point[1])}`).reverse();
      parts.push(draw("polygon", { class: "band", points: [...upper, ...lower].join(" ") }));
      parts[0].style.fill = colour;
    }
    for (const { point, budget } of ranged) {
      const x = this.place(retriever, budget);
      const whisker = draw("line", { class: "whisker", x1: x, x2: x, y1: this.y(point[1]), y2: this.y(point[2]) });
      whisker.style.stroke = colour;
      parts.push(whisker);
    }
    const path = known.map(({ point, budget }, at) => `${at ? "L" : "M"}${this.x(budget)} ${this.y(point[0])}`).join("");
    const line = draw("path", { class: "line", d: path });
    line.style.stroke = colour;
    parts.push(line);
    for (const { point, budget } of known) {
      const dot = draw("circle", { cx: known.length > 1 ? this.x(budget) : this.place(retriever, budget), cy: this.y(point[0]), r: 3.5 });
      dot.style.fill = colour;
      const title = draw("title", {});
      title.textContent = `${data.retrievers[retriever]}, ${tokensOf(budget)}: ${figure(point[0], this.metric)}${point[1] === null ? "" : ` (${intervalWords(point, this.metric)})`}`;
      dot.append(title);
      parts.push(dot);
    }
    return parts;
  }

  names() {
    const { right, top, bottom } = this.box;
    const ends = this.series.map(({ points }) => this.y(points.filter(Boolean).at(-1)[0]));
    const heights = spreadApart(ends, FONT + 2, top + 4, bottom);
    return this.series.map(({ retriever }, at) => {
      const name = this.text(data.retrievers[retriever], right + 6, heights[at] + 4, { class: "name" });
      name.style.fill = colourOf(retriever);
      return name;
    });
  }

  spoken() {
    const said = this.series.map(({ retriever, points }) => {
      const values = points.map((point, budget) => (point ? `${figure(point[0], this.metric)} at ${tokensOf(budget)}` : null));
      return `${data.retrievers[retriever]} ${values.filter(Boolean).join(", ")}`;
    });
    return `${data.metrics[this.metric].words} of ${data.groups[this.group].name}: ${said.join("; ")}`;
  }
}

function drawCurves() {
  const { words } = data.metrics[chosen.metric];
  $("curves-title").textContent = data.budgets.length > 1 ? `${words} against budget` : `${words} at ${tokensOf(0)}`;
  const room = $("curves-section").clientWidth;
  const isLabelled = room > 560;
  $("legend").hidden = isLabelled;
  $("legend").replaceChildren(...data.retrievers.map((name, retriever) => make("li", null, swatch(retriever), name)));
  $("curve").replaceChildren(new Curve(ALL, { width: Math.min(room, 900), height: 260, isLabelled }).draw());
  $("curve").style.maxWidth = "900px";
  const sets = data.groups.map((group, at) => ({ ...group, at })).filter(({ kind }) => kind === "dataset");
  const width = Math.min(room, 300);
  $("curves").replaceChildren(
    ...sets.map(({ at, name, ...group }) =>
      make("figure", null, make("figcaption", { dir: "auto" }, `${name} \u00b7 ${questionsOf(group, chosen.metric)} question${group.questions === 1 ? "" : "s"}`), new Curve(at, { width, height: 130, isLabelled: false }).draw()),
    ),
  );
}
