/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table.js: the table of functions, of one recording or two. Called by page.js, whose helpers it uses.
 */
const COLUMNS = [["name", "Function"], ["self", "Self"], ["total", "Total"]];
const COMPARED_COLUMNS = [["name", "Function"], ["ownWas", "Self before"], ["ownIs", "after"], ["ownChange", "change"],
	["was", "Total before"], ["is", "after"], ["change", "change"]];
const ROWS_SHOWN = 300;
let sortBy = "", sortUp = false, allRows = false;

function sortTable(column) {
	sortUp = sortBy === column ? !sortUp : column === "name";
	sortBy = column;
	showTable();
	byId("table").querySelector(`[data-column="${column}"]`).focus();
}

function headCell([column, label]) {
	const active = sortBy === column, arrow = active ? sortUp ? " ↑" : " ↓" : "";
	const button = element("button", { onclick: () => sortTable(column) }, label + arrow);

	button.dataset.column = column;
	return element("th", { scope: "col", "aria-sort": active ? sortUp ? "ascending" : "descending" : "none" }, button);
}

function nameCell(row) {
	const text = profile.text(row.key, true);

	return element("td", {}, element("button", { title: text, onclick: () => lookFor(row.key) }, text));
}

function plainCells(row, top) {
	const meter = element("i");

	meter.style.width = `${100 * row.total / (view.total[top] || 1)}%`;
	return [element("td", {}, `${grouped(row.self)}  ·  ${percent(row.self, view.total[top])}`),
		element("td", {}, `${grouped(row.total)}  ·  ${percent(row.total, view.total[top])}`,
			element("span", { className: "meter" }, meter))];
}

function changeCells(before, after) {
	const { compared } = profile, change = points(compared, before, after);
	const kind = differs(compared, before, after) ? change > 0 ? "more" : "less" : "same";

	return [element("td", {}, share(before, compared.weightBefore)), element("td", {}, share(after, compared.weight)),
		element("td", { className: kind, title: kind === "same" ? "may be chance" : "" }, signed(change))];
}

function tableRow(row, top) {
	const cells = profile.compared ? [...changeCells(row.ownWas, row.ownIs), ...changeCells(row.was, row.is)] : plainCells(row, top);
	const made = element("tr", {}, nameCell(row), ...cells);

	made.dataset.layer = profile.layerOf(row.key);
	return made;
}

/* Sorted by a change, what differs by more than chance comes first. */
function rankRows(rows) {
	const { compared } = profile, size = (before, after) =>
		(differs(compared, before, after) ? 1e6 : 0) + Math.abs(points(compared, before, after));

	for (const row of compared ? rows : []) {
		row.ownChange = size(row.ownWas, row.ownIs);
		row.change = size(row.was, row.is);
	}
}

function showTable() {
	const top = chart.zoomed, rows = view.functions(top), section = byId("table");
	const filter = found ? expression(settings.search) : null;
	const kept = filter ? rows.filter((row) => filter.test(profile.text(row.key, true)) || filter.test(profile.text(row.key, false))) : rows;
	const sign = sortUp ? 1 : -1, columns = profile.compared ? COMPARED_COLUMNS : COLUMNS;

	sortBy = sortBy || (profile.compared ? "ownChange" : "self");
	rankRows(kept);
	kept.sort((a, b) => sign * (sortBy === "name" ? a.key - b.key : a[sortBy] - b[sortBy]) || a.key - b.key);
	const body = element("tbody", {}, ...kept.slice(0, allRows ? Infinity : ROWS_SHOWN).map((row) => tableRow(row, top)));

	section.className = profile.compared ? "compared" : "";
	section.replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, ...columns.map(headCell))), body));
	if (!kept.length)
		section.append(element("p", {}, "No function matches."));
	if (kept.length > ROWS_SHOWN && !allRows)
		section.append(element("button", { className: "more", onclick: () => { allRows = true; showTable(); } },
			`Show all ${grouped(kept.length)} functions`));
}

/* From a row of the table to the graph, with the function searched for. */
function lookFor(key) {
	const quote = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
	const rest = profile.restOf(key, true);
	const tail = profile.layerOf(key) === RUNTIME ? quote(rest.slice(0, -1)) + "(:\\d+)?\\)" : quote(rest);

	change({ search: `^${quote(profile.nameOf(key))}${tail}$`, show: chart.flame ? "flame" : "icicle" });
	chart.canvas.focus();
}
