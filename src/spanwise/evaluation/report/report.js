// Head of the report, its filters, and the redraw after a change.

function fill(id, options, value) {
  $(id).replaceChildren(...options.map(([key, words]) => make("option", { value: String(key) }, words)));
  $(id).value = String(value);
}

function showHead() {
  $("title").textContent = data.title;
  document.title = `Evaluation: ${data.title}`;
  $("summary").textContent = data.summary;
  showSentences();
  $("notices").append(...data.notices.map((notice) => make("p", { class: "notice", dir: "auto" }, notice)));
  $("command").textContent = data.command;
  $("command").hidden = !data.command;
  const pairs = (facts) => facts.flatMap(([name, value]) => [make("dt", null, name), make("dd", { dir: "auto" }, value)]);
  $("settings").append(...pairs(data.settings));
  $("meanings").append(...pairs(data.metrics.map(({ words, meaning }) => [words, meaning])));
}

/** Describe the comparison of the methods for each budget: the result, then its basis. */
function showSentences() {
  const { said, common } = data.sentences;
  data.budgets.forEach((tokens, budget) => {
    const told = said.filter((one) => one.budget === tokens);
    if (!told.length) return;
    const items = told.map(({ main, reservations, holds }) => {
      const rest = reservations.length ? make("small", null, `; ${reservations.join("; ")}.`) : ".";
      return make("li", { class: holds ? "seen" : null }, main, rest);
    });
    $("sentences").append(make("h3", null, `At ${tokensOf(budget)}`), make("ul", { class: "sentences" }, ...items));
  });
  if (common.length) $("sentences").append(make("p", { class: "hint" }, `All comparisons: ${common.join("; ")}.`));
}

function showGrades() {
  $("grades-section").hidden = !data.grades;
  if (!data.grades) return;
  const head = data.grades.columns.map((words, at) => make("th", { scope: "col", class: at ? "number" : null }, words));
  const rows = data.grades.rows.map(([name, ...cells]) => make("tr", null, make("th", { scope: "row" }, name), ...cells.map((cell) => numberCell(cell))));
  $("grades").append(make("table", null, make("thead", null, make("tr", null, ...head)), make("tbody", null, ...rows)));
  $("grade-sentences").append(...data.grades.sentences.map((sentence) => make("li", null, sentence)));
}

function showChoices() {
  const methods = data.retrievers.map((name, at) => [at, name]);
  fill("metric", data.metrics.map(({ words }, at) => [at, words]), chosen.metric);
  fill("budget", data.budgets.map((_, at) => [at, tokensOf(at)]), chosen.budget);
  fill("first", methods, chosen.first);
  fill("second", [[-1, "nothing"], ...methods], chosen.second);
  fill("order", ORDERS.filter(([name]) => chosen.second >= 0 || !["loss", "gain"].includes(name)), "worst");
  fill("group", data.groups.map(({ name }, at) => [at, name]), ALL);
  $("budget-label").hidden = data.budgets.length < 2;
  $("second-label").hidden = data.retrievers.length < 2;
  $("group-label").hidden = data.groups.length < 2;
}

function update() {
  $("metric-words").textContent = data.metrics[chosen.metric].meaning;
  tables.figures();
  tables.groups();
  drawCurves();
  list.update();
}

function listen() {
  for (const name of ["metric", "budget", "first", "second"]) {
    $(name).addEventListener("change", () => {
      chosen[name] = Number($(name).value);
      update();
    });
  }
  for (const [id, event] of [["order", "change"], ["group", "change"], ["words", "input"]]) {
    $(id).addEventListener(event, () => {
      list.shown = AT_ONCE;
      list.update();
    });
  }
  $("more").addEventListener("click", () => {
    list.shown += 4 * AT_ONCE;
    list.update();
  });
  let width = 0;
  new ResizeObserver(() => {
    const room = $("curves-section").clientWidth;
    if (room !== width) drawCurves();
    width = room;
  }).observe($("curves-section"));
}

showHead();
showGrades();
showChoices();
listen();
update();
