// Settings, and the redraw after a change.

/** Slider on a logarithmic scale with a separate position for 0, next to a number field. */
class Setting {
  constructor(name, { low, high, digits, hasZero }) {
    Object.assign(this, { name, low, high, digits, hasZero });
    this.slider = $(name);
    this.number = $(`${name}-number`);
    this.number.max = high;
    this.slider.addEventListener("input", () => this.set(this.valueAt(Number(this.slider.value))));
    this.number.addEventListener("change", () => this.read());
    this.start = this.positionOf(initial[name]);
    this.show(initial[name]);
  }

  valueAt(position) {
    if (position === this.start) return initial[this.name];
    if (this.hasZero && position === 0) return 0;
    const value = this.low * (this.high / this.low) ** (position / 100);
    const rounded = Number(value.toPrecision(2));
    return this.digits === 0 ? Math.max(1, Math.round(rounded)) : Math.min(rounded, this.high);
  }

  positionOf(value) {
    if (this.hasZero && value <= 0) return 0;
    const position = Math.round((100 * Math.log(value / this.low)) / Math.log(this.high / this.low));
    return Math.max(this.hasZero ? 1 : 0, Math.min(100, position));
  }

  read() {
    const value = Number(this.number.value);
    const isFine = this.number.value !== "" && value >= (this.hasZero ? 0 : 1) && value <= this.high;
    this.set(isFine ? (this.digits === 0 ? Math.round(value) : value) : settings[this.name]);
  }

  set(value) {
    settings[this.name] = value;
    this.show(value);
    redraw();
  }

  show(value) {
    this.slider.value = this.positionOf(value);
    this.slider.setAttribute("aria-valuetext", String(value));
    this.number.value = value;
  }
}

const settings = { ...initial };
const mostTokens = data.tokens.reduce((sum, tokens) => sum + tokens + data.terms.header, 0);
const controls = [
  new Setting("price", { low: 1e-4, high: 10, hasZero: true }),
  new Setting("charge", { low: 5e-4, high: 1, hasZero: true }),
  new Setting("budget", { low: 100, high: Math.max(data.terms.budget, Math.min(200_000, mostTokens)), digits: 0 }),
];

/** Return a sentence about the differences between the settings and the result. */
function changed(state) {
  let more = 0;
  let fewer = 0;
  for (let row = 0; row < ROWS; row += 1) {
    const isIn = state.segmentOf[row] >= 0;
    if (isIn && !originalRows[row]) more += 1;
    if (!isIn && originalRows[row]) fewer += 1;
  }
  if (isInitial(state.settings)) return data.refused ? "none of it was returned" : "as the search chose";
  if (!more && !fewer) return "the same chunks as the search";
  return `${count(more, "chunk")} more and ${whole.format(fewer)} fewer than the search`;
}

function summarise(state) {
  const used = `${whole.format(state.tokens)} of ${count(state.settings.budget, "token")}`;
  const nearly = state.optimal ? "" : "; nearly the best, proving it would take too long";
  $("outcome").textContent = `${count(state.ranked.length, "segment")}, ${used}; ${changed(state)}${nearly}`;
  $("used").style.width = `${Math.min(100, (100 * state.tokens) / state.settings.budget)}%`;
  $("reset").disabled = isInitial(state.settings);
}

let strips = [];
let isWaiting = false;

function update() {
  isWaiting = false;
  const state = choose({ ...settings });
  summarise(state);
  drawSegments(state);
  for (const strip of strips) strip.update(state);
  table.update(state);
}

/** Redraw at most once per animation frame. */
function redraw() {
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(update);
}

function showHead() {
  $("question").textContent = data.question;
  document.title = `Why: ${data.question}`;
  const further = data.queries.slice(1);
  $("queries").hidden = !further.length;
  $("queries").append(...further.map((query) => make("li", { dir: "auto" }, query)));
  $("summary").textContent = `${count(data.weighed, "chunk")} weighed in ${count(data.documents.length, "document")}; ${count(data.segments.length, "segment")} chosen`;
  $("notice").hidden = !data.notices.length;
  $("notice").textContent = data.notices.join(" ");
  $("header").textContent = data.terms.header;
  const options = data.documents.map((_, number) => make("option", { value: number }, nameOf(number)));
  $("by-document").append(make("option", { value: "" }, "all"), ...options);
}

function listen() {
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const strip = strips[Number(target.dataset.number)];
      strip.isSeen = isIntersecting;
      if (isIntersecting && strip.state) strip.update(strip.state);
    }
  }, { rootMargin: "400px" });
  strips.forEach((strip, number) => {
    strip.element.dataset.number = number;
    seen.observe(strip.element);
  });
  for (const id of ["by-document", "by-decision"]) $(id).addEventListener("change", () => table.update(table.state));
  $("more").addEventListener("click", () => {
    table.shown += 4 * LISTED_AT_ONCE;
    table.update(table.state);
  });
  $("reset").addEventListener("click", () => {
    Object.assign(settings, initial);
    for (const control of controls) control.show(initial[control.name]);
    redraw();
  });
}

showHead();
strips = data.documents.map((_, number) => new Strip(number));
$("documents").append(...strips.map(({ element }) => element));
listen();
update();
