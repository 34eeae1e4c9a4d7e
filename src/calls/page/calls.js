// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The calls along the time: a lane for each thread, a row for each level of calls. Times are nanoseconds since the first
 * call. A row's calls do not overlap, and stand in the order of time, so what is to be seen is found by bisection; of those that
 * are narrower than a pixel only the first one of each pixel is drawn.
 */
"use strict";
(() => {
	const data = JSON.parse(document.getElementById("data").textContent);
	const get = (id) => document.getElementById(id);
	const view = get("view"), canvas = get("chart"), pen = canvas.getContext("2d"), tip = get("tip");
	const ROW = 18, HEAD = 22, AXIS = 24, GAP = 8, FONT = "12px system-ui, 'DejaVu Sans', sans-serif";
	const KINDS = { 2: "resumed", 3: "resumed by an exception" };
	const ENDS = { 1: "yields", 2: "ended by an exception", 3: "its end was not seen", 4: "has not returned", 255: "goes on later" };
	let total = 1, height = AXIS, count = 0;
	let from = 0, to = 1, wanted = null, drag = null, queued = false;

	/* Flat numbers to rows: of each call when it began, how long it took, function, kind, end. */
	const lanes = data.lanes.map((lane) => {
		const rows = [];
		let at = 0;

		for (let i = 0; i < lane.calls.length; i += 6) {
			const row = rows[lane.calls[i + 3]] ||= { began: [], took: [], func: [], kind: [], end: [] };

			at += lane.calls[i];
			row.began.push(at);
			row.took.push(lane.calls[i + 1]);
			row.func.push(lane.calls[i + 2]);
			row.kind.push(lane.calls[i + 4]);
			row.end.push(lane.calls[i + 5]);
			total = Math.max(total, at + lane.calls[i + 1]);
			count++;
		}
		const made = { name: `${lane.name || "?"}  ${lane.tid}` + (lane.tid === lane.pid ? "" : ` of ${lane.pid}`), rows, top: height };

		height += HEAD + rows.length * ROW + GAP;
		return made;
	});

	to = total;

	function time(ns) {
		return ns < 1e3 ? `${ns.toFixed(0)} ns` : ns < 1e6 ? `${+(ns / 1e3).toFixed(3)} µs` : ns < 1e9 ? `${+(ns / 1e6).toFixed(3)} ms` : `${+(ns / 1e9).toFixed(3)} s`;
	}

	/* The same name has the same colour. */
	const colors = data.functions.map(([name, file]) => {
		let hash = 5381;

		for (const c of name + file)
			hash = (hash * 33 ^ c.codePointAt(0)) >>> 0;
		return [20 + hash % 40 * 4.5, 45 + hash % 7 * 4];
	});

	/* The first call of the row that ends behind this time. */
	function bisect(row, when) {
		let low = 0, high = row.began.length;

		while (low < high) {
			const middle = (low + high) >> 1;

			if (row.began[middle] + row.took[middle] <= when)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	function style(name) {
		return getComputedStyle(document.documentElement).getPropertyValue(name);
	}

	function drawAxis(width, ink) {
		const about = (to - from) / Math.max(2, width / 120), power = 10 ** Math.floor(Math.log10(about));
		const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= about);

		pen.fillStyle = style("--paper");
		pen.fillRect(0, 0, width, AXIS);
		pen.fillStyle = pen.strokeStyle = ink;
		for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
			const x = (t - from) / (to - from) * width;

			pen.globalAlpha = 0.15;
			pen.fillRect(x, AXIS - 4, 1, canvas.clientHeight);
			pen.globalAlpha = 1;
			pen.fillText(time(t), x + 3, AXIS / 2);
		}
	}

	function drawRow(row, y, width, dark) {
		const scale = width / (to - from);
		let drawn = -1;

		for (let i = bisect(row, from); i < row.began.length && row.began[i] < to; i++) {
			const left = Math.max(0, (row.began[i] - from) * scale);
			const right = Math.min(width, (row.began[i] + row.took[i] - from) * scale);
			const wide = Math.max(1, right - left - (right - left > 3 ? 1 : 0));
			const [hue, saturation] = colors[row.func[i]], matched = !wanted || wanted[row.func[i]];

			if (wide <= 1 && Math.floor(left) === drawn && !(wanted && matched))
				continue;
			drawn = Math.floor(left);
			pen.globalAlpha = matched ? 1 : 0.25;
			pen.fillStyle = row.end[i] === 2 ? (dark ? "#b0524a" : "#e58a80") : `hsl(${hue} ${saturation}% ${dark ? 36 : 72}%)`;
			pen.fillRect(left, y, wide, ROW - 2);
			if (wide < 30)
				continue;
			pen.save();
			pen.beginPath();
			pen.rect(left, y, wide - 3, ROW);
			pen.clip();
			pen.fillStyle = dark ? "#f0eee8" : "#1c2028";
			pen.fillText(data.functions[row.func[i]][0] + (KINDS[row.kind[i]] ? " ↻" : ""), left + 4, y + ROW / 2 - 1);
			pen.restore();
		}
		pen.globalAlpha = 1;
	}

	function draw() {
		const width = view.clientWidth, tall = view.clientHeight, ratio = window.devicePixelRatio || 1, top = view.scrollTop;
		const dark = matchMedia("(prefers-color-scheme: dark)").matches, ink = style("--ink");

		queued = false;
		get("rest").style.height = `${Math.max(height, tall)}px`;
		canvas.width = width * ratio;
		canvas.height = tall * ratio;
		canvas.style.width = `${width}px`;
		canvas.style.height = `${tall}px`;
		pen.setTransform(ratio, 0, 0, ratio, 0, 0);
		pen.font = FONT;
		pen.textBaseline = "middle";
		for (const lane of lanes) {
			const y = lane.top - top;

			if (y > tall || y + HEAD + lane.rows.length * ROW < 0)
				continue;
			lane.rows.forEach((row, level) => {
				const at = y + HEAD + level * ROW;

				if (at > -ROW && at < tall)
					drawRow(row, at, width, dark);
			});
			pen.fillStyle = style("--soft");
			pen.fillRect(0, y, width, 1);
			pen.font = `600 ${FONT}`;
			pen.fillText(lane.name, 6, y + HEAD / 2);
			pen.font = FONT;
		}
		drawAxis(width, ink);
		get("facts").textContent = `${count.toLocaleString("en")} calls, ${lanes.length} thread${lanes.length === 1 ? "" : "s"}, ` +
			`${time(to - from)} of ${time(total)}`;
	}

	function redraw() {
		if (!queued)
			requestAnimationFrame(draw);
		queued = true;
	}

	function show(begin, end) {
		const span = Math.min(total, Math.max(100, end - begin));

		from = Math.max(0, Math.min(total - span, begin));
		to = from + span;
		redraw();
	}

	function zoom(factor, x) {
		const at = from + (to - from) * x / view.clientWidth;

		show(at - (at - from) * factor, at + (to - at) * factor);
	}

	/* The call under the mouse: [lane, row, index], or null. */
	function under(event) {
		const box = view.getBoundingClientRect(), y = event.clientY - box.top;
		const when = from + (to - from) * (event.clientX - box.left) / view.clientWidth, near = (to - from) / view.clientWidth;
		const lane = y > AXIS && lanes.findLast((one) => one.top <= y + view.scrollTop);
		const row = lane && lane.rows[Math.floor((y + view.scrollTop - lane.top - HEAD) / ROW)];
		const i = row ? bisect(row, when - near) : 0;

		return row && i < row.began.length && row.began[i] <= when + near ? [lane, row, i] : null;
	}

	function point(event) {
		const found = drag ? null : under(event);

		tip.hidden = !found;
		if (!found)
			return;
		const [lane, row, i] = found, [name, file, line] = data.functions[row.func[i]];
		const marks = [KINDS[row.kind[i]], ENDS[row.end[i]]].filter(Boolean).join(", ");

		tip.textContent = `${name}\n${file}:${line}\n${time(row.took[i])}, at ${time(row.began[i])}${marks ? `\n${marks}` : ""}\n${lane.name}`;
		tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
		tip.style.top = `${Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
	}

	function find() {
		const text = get("search").value.trim().toLowerCase();
		let found = 0;

		wanted = text ? data.functions.map(([name, file]) => `${name} (${file}`.toLowerCase().includes(text)) : null;
		for (const lane of wanted ? lanes : [])
			for (const row of lane.rows)
				for (const f of row ? row.func : [])
					found += wanted[f] ? 1 : 0;
		get("found").textContent = wanted ? `${found.toLocaleString("en")} calls` : "";
		redraw();
	}

	for (const lane of lanes)
		for (let i = 0; i < lane.rows.length; i++)
			lane.rows[i] ||= { began: [], took: [], func: [], kind: [], end: [] };
	get("notes").textContent = data.notes;
	get("notes").hidden = !data.notes;
	get("all").addEventListener("click", () => show(0, total));
	get("search").addEventListener("input", find);
	view.addEventListener("wheel", (event) => {
		if (event.shiftKey)
			return;
		event.preventDefault();
		if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
			show(from + event.deltaX / view.clientWidth * (to - from), to + event.deltaX / view.clientWidth * (to - from));
		else
			zoom(1.0015 ** event.deltaY, event.clientX - view.getBoundingClientRect().left);
	}, { passive: false });
	view.addEventListener("mousedown", (event) => {
		drag = { x: event.clientX, y: event.clientY, from, to, top: view.scrollTop };
	});
	addEventListener("mousemove", (event) => {
		if (drag) {
			const by = (drag.x - event.clientX) / view.clientWidth * (drag.to - drag.from);

			show(drag.from + by, drag.to + by);
			view.scrollTop = drag.top + drag.y - event.clientY;
		}
		point(event);
	});
	addEventListener("mouseup", () => { drag = null; });
	view.addEventListener("dblclick", (event) => {
		const found = under(event);

		if (found)
			show(found[1].began[found[2]] - found[1].took[found[2]] * 0.02, found[1].began[found[2]] + found[1].took[found[2]] * 1.02);
	});
	view.addEventListener("scroll", redraw);
	addEventListener("resize", redraw);
	addEventListener("keydown", (event) => {
		const span = to - from, middle = view.clientWidth / 2;
		const deeds = {
			ArrowLeft: () => show(from - span / 8, to - span / 8), ArrowRight: () => show(from + span / 8, to + span / 8),
			"+": () => zoom(0.7, middle), "-": () => zoom(1 / 0.7, middle), 0: () => show(0, total),
		};

		if (event.target.id === "search" || !deeds[event.key])
			return;
		event.preventDefault();
		deeds[event.key]();
	});
	window.calls = { lanes, show, under, state: () => ({ from, to, total, count }) };
	draw();
})();
