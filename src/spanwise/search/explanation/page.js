// Settings, and the redraw after a change.

const settings = { ...initial };
const controls = Object.entries(scalesOf(data)).map(([name, scale]) => {
  const fields = { slider: $(name), number: $(`${name}-number`) };
  return new Setting(fields, scale, initial[name], (value) => {
    settings[name] = value;
    redraw();
  });
});

/** Return a sentence about the differences between the settings and the result. */
function changed(state) {
  const { more, fewer } = choice.difference(state);
  if (choice.isInitial(state.settings)) return data.refused ? "none of it was returned" : "as the search chose";
  if (!more && !fewer) return "the same chunks as the search";
  return `${count(more, "chunk")} more and ${whole.format(fewer)} fewer than the search`;
}

function summarise(state) {
  const used = `${whole.format(state.tokens)} of ${count(state.settings.budget, "token")}`;
  const nearly = state.optimal ? "" : "; nearly the best, proving it would take too long";
  $("outcome").textContent = `${count(state.ranked.length, "segment")}, ${used}; ${changed(state)}${nearly}`;
  $("used").style.width = `${Math.min(100, (100 * state.tokens) / state.settings.budget)}%`;
  $("reset").disabled = choice.isInitial(state.settings);
}

let strips = [];

function open(row) {
  if (byRow.has(row)) table.show(row);
}

let isWaiting = false;

function update() {
  isWaiting = false;
  const state = choice.choose({ ...settings });
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
  drawWhenSeen(strips);
  for (const id of ["by-document", "by-decision"]) $(id).addEventListener("change", () => table.update(table.state));
  $("more").addEventListener("click", () => {
    table.shown += 4 * LISTED_AT_ONCE;
    table.update(table.state);
  });
  $("reset").addEventListener("click", () => {
    Object.assign(settings, initial);
    for (const control of controls) control.show(control.start);
    redraw();
  });
}

showHead();
strips = data.documents.map((_, number) => new Strip(choice, number, open));
$("documents").append(...strips.map(({ element }) => element));
listen();
update();
