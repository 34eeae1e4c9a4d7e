/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page.js: the controls around the chart.
 *
 * What is shown is one `settings` object and the zoomed node; both stand in the address's fragment, so that Back and
 * bookmarks work. A node is written as the number of a raw node that it shows ("z=123"), or as a group's key ("z=k7"):
 * these stay valid when layers, threads or lines change, and the nearest node that is still shown is zoomed then.
 * Text from the profile enters the document as textContent only.
 *
 * For scripts and tests, window.strata has
 *   search(text)  sets the search: { matched, total } in samples, or { error }
 *   zoom(path)    zooms to the node that a list of frame texts leads to, from below the root; [] is the root.
 *                 false: there is no such node
 *   set(change)   changes settings: { show: "icicle"|"flame"|"table"|"sandwich"|"source", source: number of a source file, byThread, functions, order, hidden: [4 booleans], thread,
 *                 span: null or [first slice of time, slice behind the last], theme, side: "both"|"before"|"after", internals and waits (true hides them), idle (true folds idle threads), by: "function"|"line"|"module" }
 *   sandwich(text) shows callers and callees of a function, by its text without the line: { callers, callees }, each a list of
 *                 { text, total, self, depth }, outwards from the function; null: there is no such function
 *   box(path)     where a node's box is in the window, { x, y, width, height }, or null
 *   source(path)  shows a source file: [[line, own, total], …] of its lines with samples, or null
 *   redraw()      draws at once; milliseconds
 *   state()       what is shown: settings, zoom and selected (as paths), total, slices, axis (samples on the time axis), shown, nodes, boxes, timings
 */
const byId = (id) => document.getElementById(id);
const began = performance.now();
const data = JSON.parse(byId("data").textContent);
const profile = new Profile(data);
const chart = new Chart(byId("chart"), byId("canvas"), byId("spacer"));
const sandwich = new Sandwich();
const strip = new Strip();
const sources = new Sources(data.sources);
const settings = {
	show: "icicle", search: "", thread: "", byThread: profile.byThread, functions: false, order: "size",
	hidden: [false, false, false, false], side: "both",
	internals: false, waits: false, idle: false, span: null, by: "function", focus: -1, source: -1,
};

settings.functions = !!profile.compared; /* code moves between recordings, so lines would differ */
const timings = { load: performance.now() - began, build: 0 };
const quiet = window.matchMedia("(prefers-reduced-motion: reduce)");
let view, found = null, searchError = "", ready = false;
let address = location.hash; /* that the page has shown or set itself */

function element(tag, properties, ...children) {
	const made = document.createElement(tag);

	for (const [name, value] of Object.entries(properties || {}))
		if (name in made)
			made[name] = value;
		else
			made.setAttribute(name, value);
	made.append(...children);
	return made;
}

const grouped = (number) => Math.round(number).toLocaleString("en-US");
/* Of a node: samples, or where they are weighed the time, in microseconds. */
const amount = (number) => profile.info.weighed ? seconds(number / 1e6) : grouped(number);
const unit = () => profile.info.weighed ? "of time" : "samples";

function percent(part, whole) {
	if (!whole || !part)
		return "0 %";
	const share = 100 * part / whole;

	return `${share.toFixed(share >= 99.95 && part < whole ? 3 : share >= 10 ? 1 : 2)} %`;
}

/* Rounded towards what is worse: 99.999 is not 100. */
function percentDown(part, whole) {
	return part === whole ? "100 %" : `${(Math.floor(10000 * part / (whole || 1)) / 100).toFixed(2)} %`;
}

/* ---- the view ---- */

function threadSet() {
	const { thread } = settings, chosen = new Set();

	if (!thread)
		return null;
	profile.threads.forEach((one, index) => {
		if (thread === `p${one.pid}` || thread === `t${index}` || thread === `c${one.owner}`)
			chosen.add(index);
	});
	return chosen;
}

function tokenOf(node) {
	return node <= 0 ? "" : view.raw[node] >= 0 ? String(view.raw[node]) : `k${view.key[node]}`;
}

function nodeOf(token) {
	if (!token)
		return 0;
	if (token[0] !== "k")
		return Math.max(0, view.shown[Number(token)] ?? 0);
	for (let node = 1; node < view.count; node++)
		if (view.raw[node] < 0 && view.key[node] === Number(token.slice(1)))
			return node;
	return 0;
}

function rebuild(zoom = view ? tokenOf(chart.zoomed) : "") {
	const start = performance.now(), selected = view ? tokenOf(chart.selected) : "";

	view = new View(profile, { ...settings, threads: threadSet() });
	timings.build = performance.now() - start;
	chart.setView(view);
	chart.resize();
	chart.selected = nodeOf(selected);
	chart.zoom(nodeOf(zoom), false);
	byId("empty").hidden = view.total[0] > 0;
	byId("empty").textContent = profile.total ? "Nothing of this is shown: every layer is hidden, or the thread has no samples." :
		"The recording has no samples: the target used no CPU time, or it ended too soon.";
	runSearch();
	refresh();
}

/* Shows the settings in the controls; draws. */
function refresh() {
	const table = settings.show === "table", both = settings.show === "sandwich", source = settings.show === "source";

	chart.flame = settings.show === "flame" || ((table || both || source) && chart.flame);
	for (const button of document.querySelectorAll("[data-show]"))
		button.setAttribute("aria-pressed", String(button.dataset.show === settings.show));
	byId("chart").hidden = table || both || source;
	byId("source").hidden = !source;
	byId("sandwich").hidden = !both;
	byId("table").hidden = !table;
	byId("by-thread").checked = settings.byThread;
	byId("functions").checked = settings.functions;
	byId("internals").checked = settings.internals;
	byId("waits").checked = settings.waits;
	byId("idle").checked = settings.idle;
	byId("idle").disabled = settings.waits; /* then there are none */
	byId("order").value = settings.order;
	byId("thread").value = settings.thread;
	byId("side").value = settings.side;
	if (byId("search").value !== settings.search)
		byId("search").value = settings.search;
	byId("span").hidden = !settings.span;
	byId("span-text").textContent = strip.words();
	strip.draw();
	showLegend();
	showCrumbs();
	showDetails(chart.hovered >= 0 ? chart.hovered : chart.selected);
	if (table)
		showTable();
	else if (both)
		sandwich.show(settings.focus);
	else if (source)
		sources.show();
	else
		chart.resize();
	chart.schedule();
}

function change(changes, push = false) {
	const before = settings.show;

	Object.assign(settings, changes);
	if (changes.by === "line" && settings.functions) { /* merged lines have no rows of their own */
		settings.functions = false;
		changes = { ...changes, functions: false };
	}
	if (["thread", "byThread", "functions", "order", "hidden", "side", "internals", "waits", "idle", "span"].some((name) => name in changes)) {
		rebuild();
	} else {
		if ("search" in changes)
			runSearch();
		refresh();
	}
	if (settings.show !== before && ["icicle", "flame"].includes(settings.show)) {
		chart.scroller.scrollTop = settings.show === "flame" ? chart.graphHeight : 0;
		chart.reveal(chart.zoomed, true);
	}
	remember(push);
}

/* ---- the address ---- */

function remember(push) {
	const words = new URLSearchParams(), put = (name, value) => value && words.set(name, value);

	if (!ready)
		return;
	put("z", tokenOf(chart.zoomed));
	put("v", settings.show === "icicle" ? "" : settings.show);
	put("q", settings.search);
	put("t", settings.thread);
	put("g", settings.byThread === profile.byThread ? "" : settings.byThread ? "1" : "0");
	put("l", settings.functions === !!profile.compared ? "" : settings.functions ? "1" : "0");
	put("d", settings.side === "both" ? "" : settings.side);
	put("s", settings.order === "size" ? "" : settings.order);
	put("i", settings.internals ? "1" : "");
	put("a", settings.span ? settings.span.join("-") : "");
	put("c", settings.source < 0 ? "" : String(settings.source));
	put("w", settings.waits ? "1" : "");
	put("e", settings.idle ? "1" : "");
	put("b", settings.by === "function" ? "" : settings.by);
	put("f", settings.focus < 0 ? "" : String(settings.focus));
	put("h", settings.hidden.map((hidden, layer) => hidden ? layer : "").join(""));
	const hash = `#${words}`;

	if (hash === (location.hash || "#"))
		return;
	if (push)
		location.hash = hash;
	else
		history.replaceState(null, "", hash);
	address = location.hash;
}

/* Back, forward, or an address typed in. */
function travel() {
	const before = JSON.stringify(settings);

	if (location.hash === address)
		return;
	address = location.hash;
	const zoom = recall();

	if (JSON.stringify(settings) !== before) {
		rebuild(zoom);
		return;
	}
	chart.selected = nodeOf(zoom);
	chart.zoom(chart.selected, !quiet.matches);
	countInZoom();
	refresh();
}

function recall() {
	const words = new URLSearchParams(location.hash.slice(1)), hidden = words.get("h") || "";

	settings.show = ["flame", "table", "sandwich", ...(sources.files.length ? ["source"] : [])].includes(words.get("v")) ? words.get("v") : "icicle";
	settings.search = words.get("q") || "";
	settings.thread = words.get("t") || "";
	settings.byThread = words.has("g") ? words.get("g") === "1" : profile.byThread;
	settings.functions = words.has("l") ? words.get("l") === "1" : !!profile.compared;
	settings.side = profile.compared && ["before", "after"].includes(words.get("d")) ? words.get("d") : "both";
	settings.internals = words.get("i") === "1";
	const span = /^(\d{1,9})-(\d{1,9})$/.exec(words.get("a") || "");

	settings.span = span && profile.times && +span[1] < +span[2] && +span[2] <= profile.times.count ? [+span[1], +span[2]] : null;
	settings.waits = words.get("w") === "1";
	settings.idle = words.get("e") === "1";
	settings.by = ["line", "module"].includes(words.get("b")) ? words.get("b") : "function";
	settings.focus = Number(words.get("f") || -1);
	if (!(Number.isInteger(settings.focus) && settings.focus < profile.frames))
		settings.focus = -1;
	settings.source = sources.files[words.get("c") || -1] ? Number(words.get("c")) : -1;
	settings.order = words.get("s") === "name" ? "name" : "size";
	settings.hidden = LAYERS.map((_, layer) => hidden.includes(String(layer)));
	if (!(threadSet()?.size ?? 1))
		settings.thread = "";
	return words.get("z") || "";
}

/* ---- zoom and selection ---- */

function zoomTo(node, selected = node) {
	if (node < 0 || node === chart.zoomed)
		return;
	chart.zoom(node, !quiet.matches);
	chart.selected = selected;
	countInZoom();
	refresh();
	speak(selected);
	remember(true);
}

/* The nearest caller that is wider: a step that can be seen. */
function wider(node) {
	const total = view.total[node];

	for (node = view.parent[node]; node > 0 && view.total[node] <= total; node = view.parent[node])
		;
	return Math.max(0, node);
}

function select(node) {
	if (node < 0)
		return;
	chart.selected = node;
	chart.hovered = -1;
	if (view.total[node] > 0 && !view.inside(node, chart.zoomed) && !view.inside(chart.zoomed, node))
		zoomTo(wider(node), node);
	chart.reveal(node, false);
	showDetails(node);
	speak(node);
	chart.schedule();
}

function visible(node) {
	return chart.box(node).width >= NARROW;
}

/* The box beside: a sibling, or a caller's sibling's descendant that is about as deep. */
function beside(node, step) {
	const depth = view.depth[node];

	for (let at = node; at > 0; at = view.parent[at]) {
		const parent = view.parent[at], from = view.start[parent], to = view.start[parent + 1];

		for (let i = view.list.indexOf(at, from) + step; i >= from && i < to; i += step) {
			let next = view.list[i];

			if (!visible(next))
				continue;
			while (view.depth[next] < depth) {
				const children = [...view.list.subarray(view.start[next], view.start[next + 1])].filter(visible);

				if (!children.length)
					break;
				next = step > 0 ? children[0] : children[children.length - 1];
			}
			return next;
		}
	}
	return node;
}

function widestChild(node) {
	let widest = -1;

	for (let i = view.start[node]; i < view.start[node + 1]; i++) {
		const child = view.list[i];

		if ((view.inside(child, chart.zoomed) || view.inside(chart.zoomed, child)) &&
		    (widest < 0 || chart.box(child).width > chart.box(widest).width))
			widest = child;
	}
	return widest < 0 ? node : widest;
}

/* ---- search ---- */

function expression(text) {
	return new RegExp(text, text === text.toLowerCase() ? "i" : "");
}

function runSearch() {
	searchError = "";
	found = null;
	if (settings.search) {
		try {
			found = view.search(expression(settings.search), chart.zoomed);
		} catch (error) {
			searchError = String(error.message).replace(/^Invalid regular expression: /, "").replace(/^.*\/[a-z]*: /, "");
		}
	}
	chart.found = found;
	showFound();
}

function countInZoom() {
	if (found)
		found.inTop = view.search(expression(settings.search), chart.zoomed).inTop;
	showFound();
}

function showFound() {
	const output = byId("found");

	byId("search").setAttribute("aria-invalid", String(!!searchError));
	output.className = searchError ? "bad" : "";
	byId("next").disabled = byId("previous").disabled = !found?.nodes.length;
	if (searchError)
		output.textContent = `Not an expression yet: ${searchError}`;
	else if (!found)
		output.textContent = "";
	else if (!found.nodes.length)
		output.textContent = "No match";
	else
		output.textContent = `${percent(found.matched, view.total[0])} matched` +
			(chart.zoomed ? ` · ${percent(found.inTop, view.total[chart.zoomed])} of zoomed` : "");
	output.title = found ? `${amount(found.matched)} of ${amount(view.total[0])} ${unit()} have a match in their stack` : "";
}

/* To the match after, or before, the selected box, around the ends. */
function jump(step) {
	const nodes = found?.nodes;

	if (!nodes?.length)
		return;
	const order = (a, b) => view.x[a] - view.x[b] || view.depth[a] - view.depth[b];
	let at = nodes.findIndex((node) => order(node, chart.selected) >= 0);

	if (at < 0)
		at = nodes.length;
	if (step > 0 && nodes[at] === chart.selected)
		at++;
	else if (step < 0)
		at--;
	const node = nodes[(at + nodes.length) % nodes.length];

	if (["table", "sandwich", "source"].includes(settings.show))
		change({ show: "icicle" });
	if (!view.inside(node, chart.zoomed) || view.total[node] / view.total[chart.zoomed] * chart.width < 3)
		zoomTo(node);
	select(node);
}

/* ---- what is said about a box ---- */

function layerName(node, of = view) {
	return ["Kernel", "Native", LAYERS[RUNTIME], "What is missing", "Group"][of.layer(node)];
}

function figure(value, label) {
	return element("span", { className: "figure" }, element("b", {}, value), label);
}

function showDetails(node) {
	const footer = byId("details"), total = view.total[node];

	if (node < 0 || (node === 0 && document.activeElement !== chart.canvas && chart.zoomed === 0 && chart.hovered < 0))
		return;
	if (view.was) {
		compareDetails(footer, view, node);
		return;
	}
	footer.replaceChildren(
		element("span", { className: "frame" }, view.text(node), element("small", {}, layerName(node))),
		figure(amount(total), unit()), figure(amount(view.self[node]), "self"),
		figure(percent(total, view.total[0]), "of all"));
	if (chart.zoomed)
		footer.append(figure(percent(total, view.total[chart.zoomed]), "of zoomed"));
	if (profile.info.frequency && !profile.info.weighed)
		footer.append(figure(seconds(total / profile.info.frequency), "CPU time"));
}

function seconds(value) {
	return value >= 100 ? `${value.toFixed(0)} s` : value >= 1 ? `${value.toFixed(2)} s` :
		value >= 0.01 || !value ? `${(value * 1000).toFixed(0)} ms` : `${(value * 1e6).toFixed(0)} µs`;
}

function speak(node) {
	byId("spoken").textContent = `${view.text(node)}, ${layerName(node)}, ${amount(view.total[node])} ${unit()}, ` +
		`${percent(view.total[node], view.total[0])} of all, self ${amount(view.self[node])}, level ${view.depth[node]}`;
}

function showTip(node, event) {
	const tip = byId("tip"), total = view.total[node];

	tip.replaceChildren(element("b", {}, view.text(node)), element("span", {}, view.was ? changeWords(view.was[node], view.is[node], view.spread[node]) :
		`${layerName(node)} · ${amount(total)} ${unit()} · ${percent(total, view.total[0])}` +
		(chart.zoomed ? ` · ${percent(total, view.total[chart.zoomed])} of zoomed` : "") +
		(view.self[node] ? ` · self ${percent(view.self[node], view.total[0])}` : "")));
	placeTip(tip, event);
}

function placeTip(tip, event) {
	tip.hidden = false;
	const { width, height } = tip.getBoundingClientRect();
	const left = Math.max(6, Math.min(event.clientX + 14, window.innerWidth - width - 8));
	const below = event.clientY + 20, top = below + height > window.innerHeight - 6 ? event.clientY - height - 12 : below;

	tip.style.transform = `translate(${left}px, ${Math.max(6, top)}px)`;
}

/* To the callers and callees of a key's function. */
function focusOn(key) {
	change({ show: "sandwich", focus: key >= 0 && key < profile.frames ? profile.functionOf[key] : settings.focus }, true);
}

function showCrumbs() {
	const crumbs = byId("crumbs"), path = view.path(chart.zoomed), last = path.length - 1;
	/* The ends of a long path; what lies between is one step. */
	const shown = path.map((node, i) => i < 3 || i > last - 4 ? node : -1);

	crumbs.hidden = chart.zoomed === 0;
	crumbs.replaceChildren();
	shown.forEach((node, i) => {
		if (node < 0 && shown[i - 1] < 0)
			return;
		if (i)
			crumbs.append("›");
		if (node < 0)
			crumbs.append(element("span", { title: `${last - 6} more` }, " … "));
		else if (i === last)
			crumbs.append(element("b", { title: view.text(node) }, profile.nameOf(view.key[node])));
		else
			crumbs.append(element("button", { title: view.text(node), onclick: () => zoomTo(node) },
				i ? profile.nameOf(view.key[node]) : "All"));
	});
}

/* ---- legend, threads ---- */

function toggleLayer(layer, only) {
	const alone = settings.hidden.every((hidden, i) => hidden === (i !== layer));

	change({ hidden: settings.hidden.map((hidden, i) => only ? !alone && i !== layer : i === layer ? !hidden : hidden) });
}

function makeLegend() {
	LAYERS.forEach((name, layer) => {
		const button = element("button", {
			title: `${name}: press to hide or show, with Shift to see only this (${layer + 1})`,
			onclick: (event) => toggleLayer(layer, event.shiftKey),
		}, element("i"), name, element("small"));
		const spot = (on) => () => {
			chart.spotlight = on && !settings.hidden[layer] ? layer : -1;
			chart.schedule();
		};

		button.dataset.layer = layer;
		button.addEventListener("pointerenter", spot(true));
		button.addEventListener("pointerleave", spot(false));
		byId("legend").append(button);
	});
}

function showLegend() {
	const self = view.layers();

	for (const button of byId("legend").children) {
		const layer = Number(button.dataset.layer), hidden = settings.hidden[layer];

		button.setAttribute("aria-pressed", String(!hidden));
		button.lastChild.textContent = hidden ? "" : percent(self[layer], view.total[0]);
		button.lastChild.title = (profile.info.weighed ? "time" : "samples") + " whose innermost shown frame is of this layer";
		button.hidden = layer === MARK && !profile.layer.includes(MARK);
	}
}

/* Containers, pods and units, where there are several. */
function listOwners(list) {
	const owners = new Map(), group = element("optgroup", { label: "Containers and units" });

	for (const { owner, total } of profile.threads)
		owners.set(owner, (owners.get(owner) || 0) + total);
	if (owners.size < 2)
		return;
	for (const [owner, total] of [...owners].sort((a, b) => b[1] - a[1]))
		group.append(element("option", { value: `c${owner}` }, `${owner || "?"} · ${percent(total, profile.total)}`));
	list.append(group);
}

function makeThreads() {
	const list = byId("thread"), processes = new Map();

	profile.threads.forEach((thread, index) => {
		const process = processes.get(thread.pid) || { comm: thread.comm, total: 0, threads: [] };

		if (thread.tid === thread.pid)
			process.comm = thread.comm;
		process.total += thread.total;
		process.threads.push({ ...thread, index });
		processes.set(thread.pid, process);
	});
	list.append(element("option", { value: "" }, `All threads (${grouped(profile.threads.length)})`));
	listOwners(list);
	for (const [pid, process] of [...processes].sort((a, b) => b[1].total - a[1].total)) {
		const group = element("optgroup", { label: `${process.comm} · pid ${pid}` });

		if (process.threads.length > 1)
			group.append(element("option", { value: `p${pid}` },
				`${process.comm} (${pid}), whole process · ${percent(process.total, profile.total)}`));
		for (const thread of process.threads.sort((a, b) => b.total - a.total))
			group.append(element("option", { value: `t${thread.index}` },
				`${thread.comm} (${thread.tid}) · ${percent(thread.total, profile.total)}`));
		list.append(group);
	}
}

/* ---- theme ---- */

const dark = window.matchMedia("(prefers-color-scheme: dark)"), strong = window.matchMedia("(prefers-contrast: more)");

function applyTheme() {
	const chosen = byId("theme").value;
	const theme = chosen !== "auto" ? chosen : strong.matches ? "contrast" : dark.matches ? "dark" : "light";

	document.documentElement.dataset.theme = theme;
	chart.setTheme(theme);
	sandwich.setTheme(theme);
	strip.setTheme(theme);
}

/* ---- events ---- */

function pointer() {
	const { canvas } = chart;
	let before = 0;
	const at = (event) => {
		const { left, top } = canvas.getBoundingClientRect();

		return chart.nodeAt(event.clientX - left, event.clientY - top);
	};
	const leave = () => {
		chart.hovered = -1;
		byId("tip").hidden = true;
		showDetails(chart.selected);
		chart.schedule();
	};

	canvas.addEventListener("pointermove", (event) => {
		const node = at(event);

		if (node < 0) {
			canvas.classList.remove("over");
			leave();
			return;
		}
		canvas.classList.add("over");
		chart.hovered = node;
		showTip(node, event);
		showDetails(node);
		chart.schedule();
	});
	canvas.addEventListener("pointerleave", leave);
	chart.scroller.addEventListener("scroll", () => { byId("tip").hidden = true; }, { passive: true });
	canvas.addEventListener("click", (event) => {
		if (event.detail > 1) /* of a double click: it zooms out */
			return;
		before = chart.zoomed;
		zoomTo(at(event));
	});
	canvas.addEventListener("dblclick", () => zoomTo(wider(before)));
	canvas.addEventListener("focus", () => chart.schedule());
	canvas.addEventListener("blur", () => chart.schedule());
}

function openDialog(id) {
	byId("tip").hidden = true;
	byId(id).showModal();
	byId(id).scrollTop = 0; /* showModal() goes to the first button, which is at the end */
}

const outward = () => zoomTo(wider(chart.zoomed), chart.zoomed); /* Enter goes back in */
const inward = (up) => chart.flame ? up : !up; /* does this arrow lead to callees? */
const vertical = (up) => select(inward(up) ? widestChild(chart.selected) : Math.max(0, view.parent[chart.selected]));
const KEYS = {
	"/": () => byId("search").focus(), "?": () => openDialog("help"), "i": () => openDialog("quality"),
	"n": () => jump(1), "N": () => jump(-1), "Escape": outward, "Backspace": outward,
	"0": () => zoomTo(0), "Home": () => zoomTo(0),
	"f": () => change({ show: settings.show === "flame" ? "icicle" : "flame" }),
	"t": () => change({ show: settings.show !== "table" ? "table" : chart.flame ? "flame" : "icicle" }),
	"w": () => focusOn(chart.selected > 0 ? view.key[chart.selected] : settings.focus),
	"c": () => sources.files.length && change({ show: settings.show !== "source" ? "source" : chart.flame ? "flame" : "icicle" }),
	"p": () => change({ internals: !settings.internals }), "z": () => change({ idle: !settings.idle }),
	"g": () => change({ byThread: !settings.byThread }), "l": () => change({ functions: !settings.functions }),
	"s": () => change({ order: settings.order === "size" ? "name" : "size" }),
};
const CHART_KEYS = {
	"ArrowUp": () => vertical(true), "ArrowDown": () => vertical(false), "ArrowLeft": () => select(beside(chart.selected, -1)),
	"ArrowRight": () => select(beside(chart.selected, 1)), "Enter": () => zoomTo(chart.selected), " ": () => zoomTo(chart.selected),
};

function onKey(event) {
	const { target } = event, search = target === byId("search"), layer = /^Digit([1-4])$/.exec(event.code);

	if (document.querySelector("dialog[open]"))
		return;
	if ((event.ctrlKey || event.metaKey) && event.key === "f") {
		event.preventDefault();
		byId("search").focus();
		byId("search").select();
		return;
	}
	if (event.ctrlKey || event.metaKey || event.altKey)
		return;
	if (search) {
		if (event.key === "Enter")
			jump(event.shiftKey ? -1 : 1);
		else if (event.key === "Escape" && settings.search)
			change({ search: "" });
		if (event.key === "Escape") {
			event.preventDefault();
			chart.canvas.focus();
		}
		return;
	}
	if (target.tagName === "SELECT")
		return;
	const free = target === chart.canvas || target === document.body;
	const action = KEYS[event.key] || (free && !["table", "sandwich", "source"].includes(settings.show) && CHART_KEYS[event.key]);

	if (action) {
		event.preventDefault();
		if (CHART_KEYS[event.key])
			chart.canvas.focus();
		action();
	} else if (layer) {
		event.preventDefault();
		toggleLayer(layer[1] - 1, event.shiftKey);
	}
}

function controls() {
	let waiting;

	for (const button of document.querySelectorAll("[data-show]"))
		button.addEventListener("click", () => change({ show: button.dataset.show }));
	byId("search").addEventListener("input", () => {
		clearTimeout(waiting);
		waiting = setTimeout(() => change({ search: byId("search").value }), 60);
	});
	byId("next").addEventListener("click", () => jump(1));
	byId("previous").addEventListener("click", () => jump(-1));
	byId("thread").addEventListener("change", () => change({ thread: byId("thread").value }));
	byId("by-thread").addEventListener("change", () => change({ byThread: byId("by-thread").checked }));
	byId("internals").addEventListener("change", () => change({ internals: byId("internals").checked }));
	byId("span").addEventListener("click", () => change({ span: null }, true));
	byId("waits").addEventListener("change", () => change({ waits: byId("waits").checked }));
	byId("internals").closest("label").hidden = !profile.hasInternals;
	byId("idle").addEventListener("change", () => change({ idle: byId("idle").checked }));
	for (const id of ["waits", "idle"])
		byId(id).closest("label").hidden = !profile.waits.includes(true);
	document.querySelector("[data-show=source]").hidden = !sources.files.length;
	byId("functions").addEventListener("change", () => change({ functions: byId("functions").checked }));
	byId("order").addEventListener("change", () => change({ order: byId("order").value }));
	byId("side").addEventListener("change", () => change({ side: byId("side").value }));
	byId("theme").addEventListener("change", applyTheme);
	byId("quality-button").addEventListener("click", () => openDialog("quality"));
	byId("warning-button").addEventListener("click", () => openDialog("quality"));
	byId("help-button").addEventListener("click", () => openDialog("help"));
	for (const media of [dark, strong])
		media.addEventListener("change", applyTheme);
	document.addEventListener("keydown", onKey);
	window.addEventListener("hashchange", travel);
	new ResizeObserver(() => chart.resize()).observe(byId("chart"));
}

const pathOf = (node) => view.path(node).slice(1).map((one) => view.text(one));

window.strata = {
	search(text) {
		change({ search: text });
		return searchError ? { error: searchError } : { matched: found ? found.matched : 0, total: view.total[0] };
	},
	zoom(path) {
		const node = view.find(path);

		zoomTo(node);
		return node >= 0;
	},
	set({ theme, ...changes }) {
		if (theme) {
			byId("theme").value = theme;
			applyTheme();
		}
		change(changes);
	},
	box(path) {
		const node = view.find(path), { left, top } = chart.canvas.getBoundingClientRect(), box = node >= 0 && chart.box(node);

		return box ? { ...box, x: box.x + left, y: box.y + top } : null;
	},
	sandwich(text) {
		const key = profile.functionOf.findIndex((first, frame) => first === frame && profile.text(frame, true) === text);

		if (key < 0)
			return null;
		focusOn(key);
		return sandwich.nodes();
	},
	source(path) {
		const source = sources.files.findIndex((file) => file.path === path);

		if (source < 0)
			return null;
		change({ show: "source", source });
		return [...sources.count()[source]].map(([line, { own, total }]) => [line, own, total]).sort((a, b) => a[0] - b[0]);
	},
	redraw: () => settings.show === "sandwich" ? sandwich.draw() : chart.draw(),
	state: () => ({
		...settings, zoom: pathOf(chart.zoomed), selected: pathOf(chart.selected), total: profile.total, slices: profile.times?.count ?? 0, axis: strip.total(), compared: view.was ? [view.was[0], view.is[0]] : null, shown: view.total[0],
		zoomedTotal: view.total[chart.zoomed], nodes: view.count, rawNodes: profile.nodes, boxes: chart.boxes,
		timings: { ...timings, draw: chart.drawMs }, moving: !!chart.began || !!chart.pending,
	}),
};

if (profile.compared)
	makeComparison();
else
	makeQuality();
makeLegend();
makeThreads();
pointer();
sandwich.listen();
controls();
applyTheme();
rebuild(recall());
if (settings.show === "flame")
	chart.scroller.scrollTop = chart.graphHeight;
ready = true;
