/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table.js: the table of functions, lines or modules, of one recording or two. Called by page.js, whose helpers it uses.
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

function rowText(row) {
	return settings.by === "module" ? profile.modules[row.id] : profile.text(row.key, settings.by === "function" || settings.functions);
}

function nameCell(row) {
	const text = rowText(row), cell = element("td", {}, element("button", { title: text, onclick: () => lookFor(row) }, text));

	if (settings.by !== "module")
		cell.append(element("button", { className: "around", title: `callers and callees of ${text}`, onclick: () => focusOn(row.key) }));
	return cell;
}

function bySelect() {
	const select = element("select", { ariaLabel: "Rows", onchange: () => change({ by: select.value }) },
		...["function", "line", "module"].map((by) => element("option", { value: by }, `By ${by}`)));

	select.value = settings.by;
	return element("div", { className: "by" }, select);
}

function plainCells(row, top) {
	const meter = element("i");

	meter.style.width = `${100 * row.total / (view.total[top] || 1)}%`;
	return [element("td", {}, `${amount(row.self)}  ·  ${percent(row.self, view.total[top])}`),
		element("td", {}, `${amount(row.total)}  ·  ${percent(row.total, view.total[top])}`,
			element("span", { className: "meter" }, meter))];
}

function changeCells(before, after, spread) {
	const { compared } = profile, change = points(compared, before, after);
	const kind = differs(compared, before, after, spread) ? change > 0 ? "more" : "less" : "same";

	return [element("td", {}, share(before, compared.weightBefore)), element("td", {}, share(after, compared.weight)),
		element("td", { className: kind, title: kind === "same" ? "may be chance" : "" }, signed(change))];
}

function tableRow(row, top) {
	const cells = profile.compared ? [...changeCells(row.ownWas, row.ownIs, row.ownSpread), ...changeCells(row.was, row.is, row.spread)] : plainCells(row, top);
	const made = element("tr", {}, nameCell(row), ...cells);

	made.dataset.layer = profile.layerOf(row.key);
	return made;
}

/* Sorted by a change, what differs by more than chance comes first. */
function rankRows(rows) {
	const { compared } = profile, size = (before, after, spread) =>
		(differs(compared, before, after, spread) ? 1e6 : 0) + Math.abs(points(compared, before, after));

	for (const row of compared ? rows : []) {
		row.ownChange = size(row.ownWas, row.ownIs, row.ownSpread);
		row.change = size(row.was, row.is, row.spread);
	}
}

function showTable() {
	const top = chart.zoomed, rows = view.functions(top, settings.by), section = byId("table");
	const filter = found ? expression(settings.search) : null;
	const kept = filter ? rows.filter((row) => filter.test(rowText(row)) || filter.test(profile.text(row.key, false))) : rows;
	const sign = sortUp ? 1 : -1, columns = profile.compared ? COMPARED_COLUMNS : COLUMNS;

	sortBy = sortBy || (profile.compared ? "ownChange" : "self");
	rankRows(kept);
	kept.sort((a, b) => sign * (sortBy === "name" ? a.key - b.key : a[sortBy] - b[sortBy]) || a.key - b.key);
	if (columns[0][1].toLowerCase() !== settings.by)
		columns[0][1] = settings.by[0].toUpperCase() + settings.by.slice(1);
	const body = element("tbody", {}, ...kept.slice(0, allRows ? Infinity : ROWS_SHOWN).map((row) => tableRow(row, top)));

	section.className = profile.compared ? "compared" : "";
	section.replaceChildren(bySelect(), element("table", {}, element("thead", {}, element("tr", {}, ...columns.map(headCell))), body));
	if (!kept.length)
		section.append(element("p", {}, "Nothing matches."));
	if (kept.length > ROWS_SHOWN && !allRows)
		section.append(element("button", { className: "more", onclick: () => { allRows = true; showTable(); } },
			`Show all ${grouped(kept.length)} rows`));
}

/* From a row of the table to the graph, with what it is about searched for. */
function lookFor(row) {
	const quote = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"), layer = profile.layerOf(row.key), module = settings.by === "module";
	const rest = profile.restOf(row.key, true), name = quote(profile.nameOf(row.key));
	const tail = layer === RUNTIME ? quote(rest.slice(0, -1)) + "(:\\d+)?\\)" :
		layer === NATIVE ? quote(rest) + "( \\[.*\\])?" : quote(rest);
	const whole = settings.by === "line" && (layer === RUNTIME || layer === NATIVE) ? name + quote(profile.restOf(row.key, settings.functions)) : name + tail;

	change({ search: module ? (layer === MARK ? `^${name}$` : `${tail}$`) : `^${whole}$`, show: chart.flame ? "flame" : "icicle" });
	chart.canvas.focus();
}
