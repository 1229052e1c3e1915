"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const state = { view: "", number: 0, stage: "", words: "", off: new Set(), sort: {} };
const PARTS = ["start-up", "graphs", "compiling", "loading code", "tier 0", "native code", "Python", "call overhead", "waiting"];
const WHO = { "native": "native-code", "native region": "native-code", "tier 0": "tier-0", "argument": "call-overhead", "control": "waiting" };

const at = (id) => document.getElementById(id);
const colour = (name) => `var(--${name.replaceAll(" ", "-")})`;
const time = (s) => s >= 1 ? `${s.toFixed(2)} s` : s >= 1e-3 ? `${(s * 1e3).toPrecision(3)} ms` : `${(s * 1e6).toPrecision(3)} us`;
const shown = (...texts) => !state.words || texts.join(" ").toLowerCase().includes(state.words);

function make(tag, attributes = {}, ...inside) {
  const drawn = ["svg", "g", "rect", "line", "path", "text", "title", "circle"].includes(tag);
  const element = drawn ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") element.style.cssText = value;
    else if (value !== false && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...inside);
  return element;
}

const nothing = (text) => make("p", { class: "none" }, text);

/* where the time went */
function bar(parts) {
  const total = Object.values(parts).reduce((sum, each) => sum + each, 0);
  if (!total) return nothing("Not called yet.");
  const there = PARTS.filter((part) => parts[part] > 0);
  return make("div", {},
    make("div", { class: "bar", role: "img", "aria-label": there.map((part) => `${part} ${time(parts[part])}`).join(", ") },
      ...there.map((part) => make("span", { style: `width:${100 * parts[part] / total}%;background:${colour(part)}`, title: `${part}: ${time(parts[part])}` }))),
    make("ul", { class: "legend" }, make("li", {}, `${time(total)} in all`),
      ...there.map((part) => make("li", {}, make("span", { class: "swatch", style: `background:${colour(part)}` }), `${part} ${time(parts[part])}`))));
}

/* a table that is sorted by a click on its head; columns: [title, value of a row, text of a row, is a number] */
function table(name, rows, columns) {
  if (!rows.length) return nothing(state.words ? "Nothing here has these words." : "Nothing happened yet.");
  const [column, way] = state.sort[name] || [-1, 1];
  const sorted = column < 0 ? rows : [...rows].sort((a, b) => way * (columns[column][1](a) > columns[column][1](b) ? 1 : -1));
  const head = columns.map(([title], i) => make("th", { scope: "col", "aria-sort": i === column ? (way > 0 ? "ascending" : "descending") : "none" },
    make("button", { type: "button", onclick: () => { state.sort[name] = [i, i === column ? -way : 1]; draw(); } }, title)));
  const most = 500, more = sorted.length > most ? nothing(`${sorted.length - most} rows more: search for what you want.`) : "";
  return make("div", { class: "scroll" }, more, make("table", {}, make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...sorted.slice(0, most).map((row) => make("tr", {},
      ...columns.map(([, value, text, number]) => make("td", number ? { class: "number" } : {}, text ? text(row) : String(value(row)))))))));
}

const views = {
  Overview(f) {
    const causes = f.causes.filter((cause) => shown(cause.what, cause.remedy, cause.line));
    return [make("p", { class: "verdict" }, f.verdict || "No calls yet."), make("h2", {}, "Where the time went"), bar(f.parts),
      f.background > 0 ? make("p", {}, `Besides ${time(f.background)} in the background.`) : "", make("h2", {}, "What costs time"),
      table("causes", causes, [["time", (c) => c.seconds, (c) => time(c.seconds), true], ["calls", (c) => c.calls, null, true],
        ["cause", (c) => c.what], ["what to do", (c) => c.remedy], ["line", (c) => c.line]]),
      make("h2", {}, "Counts"), make("p", {}, Object.entries(f.stats).filter(([, n]) => n).map(([name, n]) => `${name.replaceAll("_", " ")}: ${n}`).join("; ") || "none"),
      make("details", {}, make("summary", {}, "In words: explain(details=True)"), make("pre", {}, f.explain))];
  },
  Process() {
    return [make("h2", {}, "Where the time of the whole process went"), bar(data.parts), make("h2", {}, "By source line"),
      table("places", data.places.filter((place) => shown(place.name, place.line)), [["time", (p) => p.seconds, (p) => time(p.seconds), true],
        ["function", (p) => p.name], ["line", (p) => p.line], ["decorated", (p) => p.made, (p) => `${p.made} times`, true],
        ["of that", (p) => PARTS.filter((part) => p.parts[part] > 0.01 * p.seconds).map((part) => `${part} ${time(p.parts[part])}`).join(", ")]])];
  },
  Timeline(f) {
    const events = f.events.filter((event) => shown(event.text)), calls = f.calls;
    const ends = [...events.map((event) => event.time), ...calls.map(([start, took]) => start + took)];
    if (!ends.length) return [nothing("No calls and no events yet.")];
    const from = Math.min(...events.map((event) => event.time - event.ms / 1e3), ...calls.map(([start]) => start)), until = Math.max(...ends);
    const width = Math.max(700, at("main").clientWidth - 40), span = Math.max(until - from, 1e-6), x = (t) => 90 + (t - from) / span * (width - 110);
    const rows = [["calls", 30], ["compiles", 70], ["events", 110]];
    const svg = make("svg", { width, height: 150, role: "img", "aria-label": `${calls.length} calls and ${events.length} events in ${time(span)}` });
    for (const [name, y] of rows) svg.append(make("text", { x: 4, y: y + 5 }, name), make("line", { class: "axis", x1: 90, x2: width - 20, y1: y, y2: y }));
    for (let i = 0; i <= 4; i++) svg.append(make("text", { class: "soft", x: 90 + i * (width - 150) / 4, y: 145 }, time(span * i / 4)));
    const columns = new Map();  // calls that fall on one column of pixels are one mark
    for (const [start, took] of calls) {
      const column = Math.round(x(start)), known = columns.get(column);
      columns.set(column, known ? [Math.max(known[0], took), known[1] + 1] : [took, 1]);
    }
    for (const [column, [took, count]] of columns)
      svg.append(make("rect", { x: column, y: 18, width: Math.max(1.5, took / span * (width - 110)), height: 24, style: `fill:${colour("call-overhead")}` },
        make("title", {}, count > 1 ? `${count} calls, the longest ${time(took)}` : `a call of ${time(took)}`)));
    const drawn = new Set();  // of events of one kind that fall on one column one is drawn
    for (const event of events) {
      const spot = `${event.kind} ${Math.round(x(event.time))}`;
      if (drawn.has(spot)) continue;
      drawn.add(spot);
      const compile = event.kind.startsWith("compiled") || event.kind === "generalised" || event.kind === "split", long = event.ms / 1e3;
      const left = compile ? x(event.time - long) : x(event.time);
      svg.append(make("rect", { x: left, y: compile ? 58 : 98, width: compile ? Math.max(2, long / span * (width - 110)) : 2, height: 24,
        style: `fill:${colour(compile ? "compiling" : event.kind === "miss" ? "tier-0" : event.kind === "profiled" ? "graphs" : "loading-code")}` }, make("title", {}, event.text)));
    }
    return [make("p", {}, `The last ${calls.length} calls that came through Python, and the last events; hits that native code answers alone are not drawn, but counted.`),
      make("div", { class: "picture" }, svg), ...views.Events(f)];
  },
  Versions(f) {
    const rows = f.versions.filter((version) => shown(version.guards, version.kind, version.where));
    return [make("h2", {}, "Versions, their guards and hits"), table("versions", rows, [["hits", (v) => v.hits, null, true], ["guards", (v) => v.guards], ["kind", (v) => v.kind],
      ["where", (v) => v.where], ["made in", (v) => v.ms, (v) => `${v.ms.toFixed(0)} ms`, true], ["how", (v) => v.origin], ["call", (v) => v.call, null, true], ["graph", (v) => v.graph, null, true]])];
  },
  Graph(f) {
    const made = [];
    for (const graph of f.graphs) {
      const ops = graph.ops.map((op, i) => ({ ...op, i })).filter((op) => shown(op.name, op.line, op.who, op.type));
      made.push(make("h2", {}, `Graph for ${graph.title}: ${graph.ops.length} ops, ${graph.calls} calls`), picture(graph),
        table("ops", ops, [["op", (op) => op.i, (op) => `${"\u00a0\u00a0".repeat(op.depth)}${op.name}`],
          ["who answers", (op) => op.who, (op) => make("span", {}, make("span", { class: "swatch", style: `background:${colour(WHO[op.who])}` }), op.who)],
          ["type", (op) => op.type], ["line", (op) => op.line]]));
    }
    if (f["more graphs"]) made.push(nothing(`${f["more graphs"]} graphs more, with fewer calls.`));
    return made.length ? made : [nothing("No graph: it was not called yet, or Python answers its calls.")];
  },
  Program(f) {
    const stages = { ...Object.fromEntries(f.graphs.slice(0, 1).filter((g) => g.text).map((g) => ["graph", g.text])), ...f.stages };
    const names = Object.keys(stages);
    if (!names.length) return [nothing("No version yet, or its graph was released.")];
    const stage = names.includes(state.stage) ? state.stage : names[0];
    const choose = make("select", { id: "stage", onchange: (event) => { state.stage = event.target.value; draw(); at("stage").focus(); } },
      ...names.map((name) => make("option", { value: name, selected: name === stage }, name)));
    return [make("p", {}, make("label", {}, "Stage ", choose), " A line of one side shows what belongs to it on the other."), sides(f.source, stages[stage])];
  },
  Events(f) {
    const kinds = [...new Set(f.events.map((event) => event.kind))];
    const rows = f.events.filter((event) => !state.off.has(event.kind) && shown(event.text));
    return [make("h2", {}, "Events"), make("div", { class: "filters", role: "group", "aria-label": "Kinds of events" }, ...kinds.map((kind) => make("label", {},
      make("input", { type: "checkbox", checked: !state.off.has(kind), "data-kind": kind, onchange: (event) => { event.target.checked ? state.off.delete(kind) : state.off.add(kind); draw(); } }), ` ${kind}`))),
      table("events", rows, [["call", (e) => e.call, null, true], ["kind", (e) => e.kind], ["took", (e) => e.ms, (e) => e.ms ? time(e.ms / 1e3) : "", true],
        ["what happened", (e) => e.text], ["times", (e) => e.times, null, true]])];
  },
};

/* the graph, drawn; its ops have their places already, and their values the ways on which they pass rows of others */
function picture(graph) {
  if (!graph.ops.length) return "";
  const box = 170, high = 26, x = (column) => column * (box + 20) + box / 2 + 10, y = (row) => row * 52 + 8, { positions, ways } = graph;
  const columns = [...positions.map(([column]) => column), ...Object.values(ways).flat()];
  const width = x(Math.max(...columns)) + box / 2 + 10, height = y(Math.max(...positions.map(([, row]) => row))) + high + 8;
  const svg = make("svg", { width, height, role: "img", "aria-label": `a graph of ${graph.ops.length} ops, which the table below lists` });
  const edge = (from, row, to) => `M${x(from)} ${y(row) + high}C${x(from)} ${y(row + 1) - 9} ${x(to)} ${y(row) + high + 9} ${x(to)} ${y(row + 1)}`;
  graph.ops.forEach((op, i) => {
    const [column, row] = positions[i], lines = (ways[i] || []).map((to, k) => `${edge(k ? ways[i][k - 1] : column, row + k, to)}v${high}`);
    for (const from of op.operands) {
      const [above, first] = positions[from];
      lines.push(edge(row - first > 1 ? ways[from][row - first - 2] : above, row - 1, column));
    }
    if (lines.length) svg.append(make("path", { class: "edge", d: lines.join("") }));
  });
  graph.ops.forEach((op, i) => {
    const [left, top] = [x(positions[i][0]) - box / 2, y(positions[i][1])], name = op.name.length > 20 ? `${op.name.slice(0, 19)}\u2026` : op.name;
    svg.append(make("g", {}, make("title", {}, `${op.name}: ${op.who}; ${op.type}${op.line ? `; at ${op.line}` : ""}`),
      make("rect", { x: left, y: top, width: box, height: high, rx: 4, style: `fill:var(--raised);stroke:${colour(WHO[op.who])};stroke-width:${shown(op.name, op.line) ? 2 : .4}` }),
      make("text", { x: left + 8, y: top + 17 }, name)));
  });
  return make("div", { class: "picture", tabindex: 0, "aria-label": "the graph" }, svg);
}

/* a stage of the program beside the source lines: MLIR says of each op where it comes from */
function sides(source, text) {
  const names = new Map([...text.matchAll(/^(#loc\d*) = loc\("[^"]*":(\d+):\d+\)$/gm)].map((found) => [found[1], +found[2]]));
  const lines = text.split("\n").filter((line) => !line.startsWith("#loc")).map((line) => {
    const found = line.match(/ loc\((?:(#loc\d*)|"[^"]*":(\d+):\d+)\)\s*$/);
    return { text: line.replace(/ loc\([^()]*\)/g, ""), line: found ? +(found[2] || names.get(found[1]) || 0) : 0 };
  });
  const left = make("div", { class: "text", "aria-label": "source" }), right = make("div", { class: "text", "aria-label": "program", tabindex: 0 });
  const mark = (line) => { for (const each of [...left.children, ...right.children]) each.classList.toggle("here", line > 0 && +each.dataset.line === line); };
  const row = (number, line, of) => make("div", { "data-line": of, tabindex: of ? 0 : undefined, onclick: () => choose(of, row), onkeydown: (event) => { if (event.key === "Enter") choose(of); } },
    make("span", { class: "number-of-line" }, String(number)), line);
  const choose = (line) => { mark(line); for (const side of [left, right]) side.querySelector(".here")?.scrollIntoView({ block: "nearest" }); };
  source.lines.forEach((line, i) => left.append(row(source.first + i, line, source.first + i)));
  lines.slice(0, 6000).forEach(({ text, line }, i) => { if (shown(text)) right.append(row(i + 1, text, line)); });
  if (!source.lines.length) left.append(nothing("The source is not known."));
  return make("div", { class: "sides" }, left, right);
}

function names() { return [...(data.places ? ["Process"] : []), ...Object.keys(views).filter((name) => name !== "Process")]; }

function draw() {
  const f = data.functions[state.number], focused = document.activeElement?.dataset?.kind;
  at("main").replaceChildren(...(f || state.view === "Process" ? views[state.view](f) : [nothing("No function was called.")]));
  if (focused) document.querySelector(`[data-kind="${focused}"]`)?.focus();
  at("title").textContent = state.view === "Process" || !f ? "tierup: the whole process" : `${f.name} at ${f.place}`;
  for (const tab of at("tabs").children) {
    const chosen = tab.textContent === state.view;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
  }
}

function choose(view) { state.view = view; at("main").setAttribute("aria-label", view); draw(); }

function theme(dark) {
  document.documentElement.classList.toggle("dark", dark);
  at("theme").setAttribute("aria-pressed", dark);
}

names().forEach((name) => at("tabs").append(make("button", { role: "tab", type: "button", "aria-controls": "main", onclick: () => choose(name) }, name)));
at("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], all = names();
  if (!step) return;
  choose(all[(all.indexOf(state.view) + step + all.length) % all.length]);
  [...at("tabs").children].find((tab) => tab.tabIndex === 0).focus();
});
data.functions.forEach((f, i) => at("function").append(make("option", { value: i }, `${f.name} (${f.place.split(/[\\/]/).pop()})`)));
at("function").addEventListener("change", (event) => { state.number = +event.target.value; if (state.view === "Process") state.view = "Overview"; draw(); });
at("search").addEventListener("input", (event) => { state.words = event.target.value.trim().toLowerCase(); draw(); });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !["INPUT", "SELECT"].includes(document.activeElement?.tagName)) { event.preventDefault(); at("search").focus(); }
});
at("theme").addEventListener("click", () => theme(!document.documentElement.classList.contains("dark")));
theme(matchMedia("(prefers-color-scheme: dark)").matches);
at("footer").textContent = `Written ${data.written}. Arrow keys change the view, / searches.`;
choose(names()[0]);
