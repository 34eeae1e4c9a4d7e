#!/usr/bin/env node
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The flame graph in a headless Chromium: what it shows is compared with the folded output of the same profile, and
 * it is worked by mouse and keyboard as a person would.
 */
"use strict";
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { Browser } = require("./browser.js");

const build = process.env.BUILD || path.join(__dirname, "../../build");
const directory = fs.mkdtempSync(path.join(os.tmpdir(), "strata-html-"));
const browser = new Browser();
let run = 0, failed = 0;

function ok(passed, name, note = "") {
	run++;
	failed += passed ? 0 : 1;
	console.log(`${passed ? "" : "not "}ok ${run} - ${name}`);
	if (!passed && note)
		console.log(`# ${note}`);
}

function is(got, expected, name) {
	const [a, b] = [JSON.stringify(got), JSON.stringify(expected)];

	ok(a === b, name, `got ${a}, expected ${b}`);
}

/* Makes a profile; the samples of its folded output as { frames, count }. */
function make(kind, stacks) {
	const prefix = path.join(directory, `${kind}${stacks}`);

	execFileSync(path.join(build, "tests/export/make_profile"), [kind, stacks, prefix]);
	const samples = fs.readFileSync(`${prefix}.folded`, "utf8").trim().split("\n").filter(Boolean).map((line) => {
		const space = line.lastIndexOf(" ");

		return { frames: line.slice(0, space).split(";"), count: Number(line.slice(space + 1)) };
	});

	return { file: `${prefix}.html`, samples, total: samples.reduce((sum, one) => sum + one.count, 0), prefix };
}

const matching = (profile, regex) => profile.samples.filter((one) => one.frames.some((frame) => regex.test(frame)))
	.reduce((sum, one) => sum + one.count, 0);
const state = () => browser.value("strata.state()");
const call = (method, ...values) => browser.value(`strata.${method}(...${JSON.stringify(values)})`);
const textOf = (id) => browser.value(`document.getElementById(${JSON.stringify(id)}).textContent`);
const still = () => browser.until("!strata.state().moving");

async function loads(web) {
	await browser.open(web.file);
	const now = await state();

	is(browser.complaints, [], "the page loads without errors");
	is(browser.requests.map((url) => path.basename(url)), [path.basename(web.file)], "it requests nothing but itself");
	is([now.total, now.shown], [web.total, web.total], "all samples are there");
	ok(now.boxes > 100, "boxes are drawn");
	const prefixes = new Set();

	for (const { frames } of web.samples)
		frames.forEach((_, i) => prefixes.add(frames.slice(0, i + 1).join(";")));
	is(now.nodes, prefixes.size + 1, "one node for each distinct stack's start");
	const text = fs.readFileSync(web.file, "utf8").replace(/<script type="application\/json"[^]*?<\/script>/, "");

	ok(!/https?:|src=|href=|url\(|@import/i.test(text), "nothing in it refers to anywhere");
	ok(/Content-Security-Policy" content="default-src 'none'; script-src 'nonce-[0-9a-f]{32}'/.test(text), "its policy forbids requests");
}

async function searches(web) {
	is(await call("search", "json"), { matched: matching(web, /json/i), total: web.total }, "a search's share");
	is(await call("search", "dispatch|render|serve"), { matched: matching(web, /dispatch|render|serve/), total: web.total },
		"nested matches count once");
	is((await call("search", "JSONEncoder")).matched, matching(web, /JSONEncoder/), "capitals make case count");
	is((await call("search", "jsonENCODER")).matched, 0, "so that other cases do not match");
	is(Object.keys(await call("search", "(")), ["error"], "an invalid expression is an answer, not an exception");
	ok(/^Not an expression yet: /.test(await textOf("found")), "and is told");
	await call("search", "");
	await browser.value("document.getElementById('canvas').focus()");
	await browser.key("/");
	is(await browser.value("document.activeElement.id"), "search", "/ goes to the search");
	await browser.type("sqlite3_step");
	ok(await browser.until("strata.state().search === 'sqlite3_step'"), "typing searches");
	ok(/^\d+(\.\d+)? % matched/.test(await textOf("found")), "the share is shown");
	await browser.key("Enter");
	await still();
	ok(/^sqlite3_step /.test((await state()).selected.pop()), "Enter goes to a match");
	const first = (await state()).selected.join(";");

	await browser.key("Escape");
	await browser.key("n");
	await still();
	is([(await state()).search, await browser.value("document.activeElement.id")], ["", "canvas"], "Escape ends the search");
	await browser.key("f", 2);
	is(await browser.value("document.activeElement.id"), "search", "Ctrl-F goes to the search");
	await call("search", "sqlite3_step");
	await browser.value("document.getElementById('canvas').focus()");
	await browser.key("n");
	await still();
	const second = (await state()).selected;

	ok(/^sqlite3_step /.test(second[second.length - 1]) && second.join(";") !== first, "n goes to the next match");
	await browser.key("N");
	await still();
	is((await state()).selected.join(";"), first, "N goes back");
	await call("search", "");
	await call("zoom", []);
	await still();
}

async function middle(where) {
	const box = await call("box", where);

	return [box.x + box.width / 2, box.y + box.height / 2];
}

async function mouse(web) {
	const where = ["worker", "clone3 (libc.so.6)", "start_thread (libc.so.6)"];
	const samples = web.samples.filter((one) => where.every((frame, i) => one.frames[i] === frame));

	await browser.open(web.file);
	await browser.move(...await middle(where));
	ok((await textOf("tip")).startsWith(where[2]), "pointing shows the frame");
	ok((await textOf("details")).startsWith(where[2]), "in the details, too");
	await browser.click(...await middle(where));
	await still();
	const now = await state();

	is(now.zoom, where, "a click zooms");
	is(now.zoomedTotal, samples.reduce((sum, one) => sum + one.count, 0), "to all samples of the box");
	const box = await call("box", where);

	ok(box.width > 1300, "it takes the whole width", `${box.width}`);
	ok(await browser.value("/z=\\d+/.test(location.hash)"), "the address knows");
	is(await browser.value("[...document.querySelectorAll('#crumbs button, #crumbs b')].map((one) => one.textContent)"),
		["All", "worker", "clone3", "start_thread"], "the way to it is shown");
	await browser.value("history.back()");
	ok(await browser.until("strata.state().zoom.length === 0"), "Back goes back");
	await browser.value("history.forward()");
	ok(await browser.until("strata.state().zoom.length === 3"), "Forward goes forward");
	await browser.value("document.querySelectorAll('#crumbs button')[1].click()");
	await still();
	is((await state()).zoom, ["worker"], "a step of the way zooms there");
	await browser.click(...await middle(["worker"]), 2);
	await still();
	is((await state()).zoom, [], "a double click zooms out");
	is(browser.complaints, [], "no errors by mouse");
}

async function keyboard(web) {
	await browser.open(web.file);
	await browser.value("document.getElementById('canvas').focus()");
	for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"])
		await browser.key(key);
	const widest = (await state()).selected;

	is(widest, ["worker", "clone3 (libc.so.6)", "start_thread (libc.so.6)"], "arrows go to the widest callee");
	ok((await textOf("spoken")).startsWith("start_thread (libc.so.6), Native, "), "it is said for screen readers");
	await browser.key("ArrowRight");
	is((await state()).selected, ["python3", "_start (python3.11)", "__libc_start_main (libc.so.6)"], "right: the box beside");
	await browser.key("ArrowLeft");
	await browser.key("ArrowUp");
	is((await state()).selected, widest.slice(0, 2), "left and up");
	await browser.key("Enter");
	await still();
	is((await state()).zoom, widest.slice(0, 2), "Enter zooms");
	await browser.key("Backspace");
	await still();
	is((await state()).zoom, [], "Backspace zooms out to the next wider box");
	await browser.key("f");
	await still();
	const root = await call("box", []), main = await browser.value("document.querySelector('main').getBoundingClientRect().bottom");

	ok(Math.abs(root.y + root.height - main) < 12, "f: a flame graph, its root at the bottom", `${root.y} ${main}`);
	await browser.key("ArrowUp");
	is((await state()).selected, widest, "there up leads to callees");
	await browser.key("f");
	await browser.key("?");
	is(await browser.value("document.getElementById('help').open"), true, "? shows the keys");
	await browser.key("Escape");
	is(await browser.value("document.getElementById('help').open"), false, "Escape closes them");
	is(browser.complaints, [], "no errors by keyboard");
}

async function layers(web) {
	const python = new Set(), isPython = (frame, i) => i === 0 || / \([^()]*:\d+\)$/.test(frame);

	for (const { frames } of web.samples) {
		const kept = frames.filter(isPython);

		kept.forEach((_, i) => python.add(kept.slice(0, i + 1).join(";")));
	}
	await browser.open(web.file);
	await browser.key("1");
	await browser.key("2");
	const now = await state();

	is(now.hidden, [true, true, false, false], "1 and 2 hide kernel and native frames");
	is([now.nodes, now.shown], [python.size + 1, web.total], "what is left is merged; no sample is lost");
	is((await call("search", "libsqlite3")).matched, 0, "hidden frames are not found");
	await browser.value("document.querySelector('#legend [data-layer=\"1\"]').click()");
	is((await state()).hidden, [true, false, false, false], "the legend shows them again");
	is((await call("search", "libsqlite3")).matched, matching(web, /libsqlite3/), "found again");
	await browser.key("3", 8);
	is((await state()).hidden, [true, true, false, true], "with Shift only this layer");
	await call("set", { hidden: [false, false, false, false], functions: true });
	is((await call("search", "app\\.py:80")).matched, 0, "merged lines have no numbers");
	is((await call("search", "\\(/srv/shop/app\\.py\\)")).matched, matching(web, /app\.py/), "but their functions");
	is(browser.complaints, [], "no errors");
}

async function threads(web) {
	const { profiles } = JSON.parse(fs.readFileSync(`${web.prefix}.speedscope.json`, "utf8"));
	const worker = profiles.find((one) => one.name.includes("tid 1203"));
	const count = Math.round(worker.endValue * 99);

	await browser.open(web.file);
	const value = await browser.value("[...document.querySelectorAll('#thread option')].find((one) => one.textContent.includes('(1203)')).value");

	await call("set", { thread: value });
	is((await state()).shown, count, "one thread's samples");
	await call("set", { thread: "p1201" });
	const process = profiles.filter((one) => one.name.includes("(pid 1201,")).reduce((sum, one) => sum + Math.round(one.endValue * 99), 0);

	is((await state()).shown, process, "one process's samples");
	const owners = await browser.value("[...document.querySelector('#thread optgroup').children].map((one) => one.textContent)");

	is([owners.length, owners.some((one) => one.startsWith("shop/cart-7d9f:app · ")), owners.some((one) => one.startsWith("web.service · "))],
		[2, true, true], "containers and units can be chosen");
	await browser.value("(() => { const list = document.getElementById('thread'); list.value = 'cshop/cart-7d9f:app'; list.dispatchEvent(new Event('change')); })()");
	is((await state()).shown, process, "one container's samples");
	const chosen = await browser.value("location.hash");

	await browser.open(web.file, chosen);
	is([(await state()).shown, (await state()).thread], [process, "cshop/cart-7d9f:app"], "the address brings it back");
	await call("set", { thread: "" });
	await browser.key("g");
	is([(await state()).byThread, await call("zoom", ["worker", "thread worker (1203)"])], [true, true], "g groups by thread");
	await still();
	is((await state()).zoomedTotal, count, "with the thread's samples");
	await call("search", "json");
	const hash = await browser.value("location.hash");

	await browser.open(web.file, hash);
	const now = await state();

	is([now.byThread, now.zoom, now.search], [true, ["worker", "thread worker (1203)"], "json"], "the address brings all of it back");
}

async function table(web) {
	const self = new Map();

	for (const { frames, count } of web.samples) {
		const name = frames[frames.length - 1].replace(/:\d+\)$/, ")");

		self.set(name, (self.get(name) || 0) + count);
	}
	const [top, most] = [...self].sort((a, b) => b[1] - a[1])[0];
	const rows = "[...document.querySelectorAll('#table tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))";

	await browser.open(web.file);
	await browser.key("t");
	const first = (await browser.value(rows))[0];

	is([first[0], Number(first[1].split(" ")[0].replace(",", ""))], [top, most], "the table starts with the most self samples");
	await browser.value("document.querySelector('#table [data-column=total]').click()");
	const totals = (await browser.value(rows)).map((row) => Number(row[2].split(" ")[0].replace(",", "")));

	ok(totals.every((value, i) => !i || value <= totals[i - 1]), "sorted by total");
	is(await browser.value("document.querySelectorAll('#table [aria-sort=descending]').length"), 1, "and says so");
	const dispatch = "[...document.querySelectorAll('#table td button')].find((one) => one.title.startsWith('dispatch '))";

	is(await browser.value(`${dispatch}.closest('tr').cells[2].textContent.split(' ')[0].replace(',', '')`),
		String(matching(web, /^dispatch /)), "a function's total");
	await browser.value(`${dispatch}.click()`);
	const now = await state();

	is([now.show, (await call("search", now.search)).matched], ["icicle", matching(web, /^dispatch \(/)], "a row leads to its boxes");
	is(browser.complaints, [], "no errors");
}

async function quality(web, poor, empty) {
	await browser.open(web.file);
	is(await browser.value("document.getElementById('warning').hidden"), true, "no warning for good data");
	await browser.open(poor.file);
	is(await browser.value("document.getElementById('warning').hidden"), false, "a warning when less than 99 % is complete");
	await browser.key("i");
	const text = await textOf("quality");

	ok(await browser.value("document.getElementById('quality').open"), "i shows the quality");
	for (const words of ["no-rule", "no unwind information covers this address", "-fasynchronous-unwind-tables", "sideband",
		"lab-7", "6.1.0-31-amd64", "99 Hz", "30.0 s", "ns a frame", "python3 -m shop.app"])
		ok(text.includes(words), `it tells: ${words}`);
	await browser.open(empty.file);
	is([await browser.value("document.getElementById('empty').hidden"), browser.complaints], [false, []], "no samples: it says so");
}

async function deep() {
	const profile = make("deep", 15000), levels = profile.samples[0].frames.length;

	await browser.open(profile.file);
	ok(await call("zoom", profile.samples[0].frames), `a stack of ${levels} frames`);
	await still();
	const box = await call("box", profile.samples[0].frames);

	ok(box.y > 0 && box.y < 900, "its end is scrolled to", JSON.stringify(box));
	console.log(`# drawn in ${(await browser.value("strata.redraw()")).toFixed(1)} ms`);
	is(browser.complaints, [], "no errors");
}

/* What an interpreter does itself, time off the CPU, files of equal names. */
async function hides() {
	const waits = make("waits", 1), main = ["python3", "_start (libc.so.6)"], format = "format (/srv/black/__init__.py:779)";
	const load = "load (/usr/lib/python3.11/json/__init__.py:5)";
	const total = async (...rest) => {
		await call("zoom", []);
		const found = await call("zoom", [...main, ...rest]);

		await still();
		return found ? (await state()).zoomedTotal : -1;
	};

	await browser.open(waits.file);
	is([await total("Py_BytesMain (python3.11)", format), await total(format)], [75, -1], "an interpreter's functions are shown");
	await browser.key("p");
	is([(await state()).shown, await total(format), await total("Py_BytesMain (python3.11)")], [75, 75, -1], "p hides them; no sample is lost");
	is([await total(format, load), await total(format, "list_sort_impl (python3.11)")], [55, 10], "what the innermost frame called is shown");
	is([await total(format, "compiled (ext.so)", load), await total(format, "compiled (ext.so)")], [7, 10], "other native functions stay");
	await browser.value("document.getElementById('waits').click()");
	is([(await state()).shown, await total(format, load)], [25, 5], "time off the CPU is left out");
	const hash = await browser.value("location.hash");

	await browser.open(waits.file, hash);
	is([(await state()).internals, (await state()).waits, (await state()).shown], [true, true, 25], "the address brings both back");
	await call("set", { waits: false });
	is((await state()).shown, 75, "shown again");
	is(await browser.value("document.getElementById('waits').closest('label').hidden"), false, "the switch is there");
	is(browser.complaints, [], "no errors");
}

/* What is written into boxes: by the page's own function. */
function texts() {
	return browser.value(`(() => {
		const texts = [], plain = CanvasRenderingContext2D.prototype.fillText;

		CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) { texts.push(text); plain.call(this, text, ...rest); };
		strata.redraw();
		CanvasRenderingContext2D.prototype.fillText = plain;
		return texts;
	})()`);
}

/* Four threads of a pool wait for more than 99 % of their time; one for less, one in two places; the main thread in the second slice only. */
async function idle() {
	const pool = make("pool", 1), wait = ["take (/srv/queue.py:9)", "[waiting: futex]"], main = ["_start (python3.11)", "main (/srv/app.py:3)"];
	const width = async (...path) => {
		await call("zoom", []);
		const found = await call("zoom", path);

		await still();
		return found ? (await state()).zoomedTotal / 1e6 : -1;
	};

	await browser.open(pool.file);
	is(await browser.value("document.getElementById('idle').closest('label').hidden"), false, "idle threads: the switch is there");
	is([(await state()).shown / 1e6, await width("worker"), await width("worker", ...main, ...wait)], [140, 120, 109.3], "all threads are shown at first");
	await browser.key("z");
	is([(await state()).shown / 1e6, await width("4 idle threads"), await width("worker"), await width("worker", ...main, ...wait), await width("python3")],
		[140, 80, 40, 29.7, 20], "z folds those that wait nearly always in one stack; their time counts");
	await call("zoom", ["4 idle threads"]);
	await still();
	ok((await texts()).includes("80.00 s"), "it says how long");
	ok(/^4 idle threads.*80\.00 s/.test(await textOf("details")), "so do the details", await textOf("details"));
	is((await call("search", "take")).matched / 1e6, 49.7, "what is folded is not found");
	await call("search", "");
	await call("set", { byThread: true });
	is([await width("4 idle threads"), await width("worker", "thread worker (21)"), await width("worker", "thread worker (25)")], [80, -1, 20], "by thread, too");
	await call("set", { byThread: false, span: [1, 2] });
	is([await width("5 idle threads"), await width("worker"), await width("python3")], [50, 20, -1], "in a span, those that are idle there");
	const hash = await browser.value("location.hash");

	await browser.open(pool.file, hash);
	is([(await state()).idle, await width("5 idle threads")], [true, 50], "the address brings it back");
	await call("set", { span: null, waits: true });
	is([(await state()).shown / 1e6, await browser.value("document.getElementById('idle').disabled")], [10.7, true], "without waiting nothing is folded");
	await browser.open(make("web", 20).file);
	is(await browser.value("document.getElementById('idle').closest('label').hidden"), true, "no switch where no time off the CPU is");
	is(browser.complaints, [], "no errors");
}

/* Names of boxes that tell files apart. */
async function names() {
	await browser.open(make("waits", 1).file);
	const drawn = await texts();

	ok(drawn.includes("black/__init__.py:779") && drawn.includes("json/__init__.py:5"), "files of equal names are told apart", drawn.join(" "));
}

async function sandwich(web) {
	const isDispatch = (frame) => /^dispatch \(/.test(frame), total = matching(web, /^dispatch \(/);
	const callees = new Map();

	for (const { frames, count } of web.samples) {
		const at = frames.findIndex(isDispatch), next = frames[at + 1];

		if (at >= 0 && next)
			callees.set(next, (callees.get(next) || 0) + count);
	}
	await browser.open(web.file);
	const halves = await call("sandwich", "dispatch (/srv/shop/app.py)");

	is([halves.callers[0].total, halves.callees[0].total, halves.callees[0].text], [total, total, "dispatch (/srv/shop/app.py)"],
		"a sandwich: both halves have the function's samples");
	is(halves.callers.filter((one) => one.depth === 1).map((one) => [one.text, one.total]), [["Server.serve (/srv/shop/app.py:120)", total]], "its callers");
	const shown = halves.callees.filter((one) => one.depth === 1).map((one) => [one.text, one.total]);

	is(shown.sort(), [...callees].sort(), "its callees");
	is(halves.callees.reduce((sum, one) => sum + one.self, 0), total, "their own samples add up");
	const box = await browser.value("(({ left, top, width }) => [left + 40, top + 33])(document.querySelector('#callees canvas').getBoundingClientRect())");

	await browser.click(...box);
	ok(await browser.until("document.querySelector('#focus b').textContent.startsWith('Handlers.page_')"), "a click goes to a callee");
	const hash = await browser.value("location.hash"), focus = await textOf("focus");

	await browser.value("history.back()");
	ok(await browser.until("document.querySelector('#focus b').textContent.startsWith('dispatch')"), "Back goes back");
	await browser.open(web.file, hash);
	is(await textOf("focus"), focus, "the address brings it back");
	is((await call("sandwich", "Server.serve (/srv/shop/app.py)")).callees[0].total, total, "another function");
	is(await call("sandwich", "nobody"), null, "none of that name");
	await browser.key("t");
	await browser.value("document.querySelector('#table .around').click()");
	is([(await state()).show, await browser.value("document.querySelector('#callers canvas').width > 1000")], ["sandwich", true], "a row of the table leads there");
	const fib = make("deep", 40);

	await browser.open(fib.file);
	const again = await call("sandwich", "fib (/srv/fib.py)");

	is([again.callers[0].total, again.callees[0].total, again.callees.length], [10, 10, 40], "recursion counts once");
	is(browser.complaints, [], "no errors");
}

/* Made-up times: spans that follow each other have all samples, at any zoom, thread and layer. */
async function spans(web) {
	await browser.open(web.file);
	const sums = await browser.value(`(() => {
		const sums = [0, 0, 0], nodes = [];

		for (let from = 0; from < strata.state().slices; from += 20) {
			strata.set({ span: [from, from + 20] });
			sums[0] += strata.state().shown;
			sums[1] += strata.search("json").matched;
			strata.set({ search: "" });
			strata.set({ hidden: [true, true, false, false] });
			sums[2] += strata.state().shown;
			strata.set({ hidden: [false, false, false, false] });
		}
		return sums;
	})()`);

	is(sums, [web.total, matching(web, /json/i), web.total], "spans have every sample once");
	await call("set", { span: [10, 12] });
	ok(await browser.value("[...document.querySelectorAll('#legend small')].length > 0 && strata.state().nodes < 1500"), "what is not in a span has no box");
	await browser.key("t");
	ok(await browser.value("[...document.querySelectorAll('#table tbody tr')].every((row) => !row.cells[2].textContent.startsWith('0 '))"), "and no row");
	await browser.value("history.replaceState(null, '', '#a=5-99999'); location.hash = '#a=7-99999'");
	ok(await browser.until("strata.state().span === null"), "an address with a wrong span shows everything");
	is(browser.complaints, [], "no errors");
}

async function rows(web) {
	const cells = "[...document.querySelectorAll('#table tbody tr')].map((row) => [row.cells[0].firstChild.textContent, row.cells[2].textContent.split(' ')[0].replace(',', '')])";

	await browser.open(web.file);
	await call("set", { show: "table", by: "line", search: "^dispatch" });
	const line = Object.fromEntries(await browser.value(cells));

	is(Number(line["dispatch (/srv/shop/app.py:80)"]), matching(web, /^dispatch \(.*:80\)$/), "a table by line");
	await call("set", { by: "module", search: "" });
	const module = Object.fromEntries(await browser.value(cells));

	is([module["libsqlite3.so.0.8.6"], module["/srv/shop/handlers.py"], module["[kernel]"]].map(Number),
		[/\(libsqlite3\.so\.0\.8\.6\)$/, /handlers\.py:/, / \[k\]$/].map((regex) => matching(web, regex)), "by module");
	for (const name of ["libsqlite3.so.0.8.6", "/srv/shop/handlers.py"]) {
		await browser.value(`[...document.querySelectorAll('#table td button')].find((one) => one.title === ${JSON.stringify(name)}).click()`);
		is((await call("search", (await state()).search)).matched, Number(module[name]), `${name}: a row leads to its boxes`);
		await call("set", { search: "", show: "table" });
	}
	await browser.open(web.file, await browser.value("location.hash"));
	is((await state()).by, "module", "the address brings it back");
	is(browser.complaints, [], "no errors");
}

/* Source files: a line's samples are those of the folded stacks; a file that differs between processes is there twice. */
async function source(web) {
	const place = (frame) => (/ \((\/.*):(\d+)\)$/.exec(frame) || []).slice(1).join(":");
	const count = (file) => {
		const lines = new Map();

		for (const { frames, count } of web.samples) {
			const places = frames.map(place).filter(Boolean);

			for (const one of new Set(places)) {
				const [path, line] = one.split(":"), had = lines.get(+line) || [0, 0];

				if (path === file)
					lines.set(+line, [had[0] + (places[places.length - 1] === one ? count : 0), had[1] + count]);
			}
		}
		return [...lines].map(([line, counts]) => [line, ...counts]).sort((a, b) => a[0] - b[0]);
	};

	await browser.open(web.file);
	is(await call("source", "/srv/shop/app.py"), count("/srv/shop/app.py"), "source: own and total samples of lines");
	is(await browser.value("document.querySelectorAll('#source select option').length"), 3, "one file for equal texts, two for different ones");
	const rows = "[...document.querySelectorAll('#source tr.hot')].map((row) => [...row.cells].map((cell) => cell.textContent))";

	is((await browser.value(rows)).map(([line, , total, text]) => [line, total.replace(/,/g, ""), text.trim()]),
		count("/srv/shop/app.py").map(([line, , total]) => [String(line), String(total), `line(${line})`]), "beside their text");
	const before = await browser.value("document.querySelectorAll('#source tr[data-line]').length");

	await browser.value("document.querySelector('#source .gap button').click()");
	is([before < 220, await browser.value("document.querySelectorAll('#source tr[data-line]').length")], [true, 220], "what has no samples is folded, and can be shown");
	const sum = (lines) => lines.reduce((all, [, own, total]) => [all[0] + own, all[1] + total], [0, 0]);
	const handlers = await browser.value("(({ options }) => [...options].filter((one) => one.textContent.startsWith('/srv/shop/handlers.py (pid ')).map((one) => Number(one.value)))(document.querySelector('#source select'))");

	await call("set", { source: handlers[1] });
	ok(await browser.value("!!document.querySelector('#source .changed')"), "a file that was written meanwhile is told");
	const hash = await browser.value("location.hash");

	await browser.open(web.file, hash);
	is([(await state()).show, (await state()).source], ["source", handlers[1]], "the address brings it back");
	await call("set", { thread: "p1377" });
	const one = sum(await call("source", "/srv/shop/app.py"));

	await call("set", { thread: "p1201" });
	const other = sum(await call("source", "/srv/shop/app.py"));

	is([one[0] + other[0], one[1] + other[1]], sum(count("/srv/shop/app.py")), "of the threads that are shown");
	await call("set", { thread: "" });
	const spans = [0, 0];

	for (let from = 0; from < 300; from += 100) {
		await call("set", { span: [from, from + 100] });
		sum(await call("source", "/srv/shop/app.py")).forEach((value, i) => { spans[i] += value; });
	}
	is(spans, sum(count("/srv/shop/app.py")), "and of the span");
	await browser.open(make("deep", 40).file, "#v=source&c=3");
	is([(await state()).show, await browser.value("document.querySelector('[data-show=source]').hidden")], ["icicle", true], "no files, no such view");
	is(browser.complaints, [], "no errors");
}

/* Two recordings in one page: sides, colours, what may be chance. */
async function compared() {
	const file = path.join(directory, "diff.html"), [before, after] = ["old", "new"].map((name) => path.join(directory, `${name}.folded`));
	/* Near a box's right end, where no text is. From a copy: reading the page's own canvas is complained about. */
	const pixel = (box) => browser.value(`(() => {
		const canvas = document.getElementById("canvas"), copy = new OffscreenCanvas(1, 1).getContext("2d");

		copy.drawImage(canvas, -${Math.round(box.x + box.width - 4)} + canvas.getBoundingClientRect().left,
			-${Math.round(box.y + 4)} + canvas.getBoundingClientRect().top);
		return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3);
	})()`);

	fs.writeFileSync(before, "app;main (app);slow (a.py:1) 500\napp;main (app);fast (app) 500\napp;main (app);gone (app) 100\n");
	fs.writeFileSync(after, "app;main (app);slow (a.py:9) 1500\napp;main (app);fast (app) 510\n");
	execFileSync(process.env.STRATA || path.join(build, "strata"), ["diff", before, after, "-o", file], { stdio: "pipe" });
	await browser.open(file);
	is(browser.complaints, [], "two recordings: the page loads without errors");
	is((await state()).compared, [1100, 2010], "with the samples of both");
	is((await state()).functions, true, "lines are merged");
	for (const [name, red] of [["slow (a.py)", 1], ["fast (app)", -1], ["gone (app)", -1], ["main (app)", 0]]) {
		const [r, g, b] = await pixel(await call("box", ["app", "main (app)", ...(name === "main (app)" ? [] : [name])]));

		is(Math.abs(r - b) < 12 ? 0 : Math.sign(r - b), red, `${name} is ${["blue", "grey", "red"][red + 1]} (${r},${g},${b})`);
	}
	await call("set", { side: "before" });
	is([await call("zoom", ["app", "main (app)", "gone (app)"]), (await call("box", ["app", "main (app)", "slow (a.py)"])) !== null], [true, true],
		"boxes of both sides are there");
	ok(await browser.value("/d=before/.test(location.hash)"), "the address knows the side");
	await call("zoom", []);
	await still();
	await browser.key("t");
	const rows = await browser.value("[...document.querySelectorAll('#table tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))");

	is(rows[0], ["slow (a.py)", "45.45 %", "74.63 %", "+29.17 %", "45.45 %", "74.63 %", "+29.17 %"], "the table starts with the largest change");
	is(await browser.value("[...document.querySelectorAll('#table tbody tr')].pop().cells[6].className"), "same", "what did not change is grey");
	const agree = await browser.value("JSON.stringify([...document.querySelectorAll('#table tbody tr')].map((row) => row.cells[3].className !== 'same'))");
	const text = execFileSync(process.env.STRATA || path.join(build, "strata"), ["diff", before, after, "-o", "-"], { encoding: "utf8" });

	is(JSON.parse(agree).filter(Boolean).length, text.split("\n").slice(6).filter((line) => line && !/~/.test(line.slice(0, 26))).length,
		"page and text agree about chance");
	is(browser.complaints, [], "no errors");
}

async function many() {
	const big = make("web", 50000);
	const began = Date.now();

	await browser.open(big.file);
	const opened = Date.now() - began, { timings, nodes } = await state();
	const draw = Math.max(...await browser.value("[1, 2, 3, 4, 5].map(() => strata.redraw())"));
	const search = await browser.value("(() => { const at = performance.now(); strata.search('json'); return performance.now() - at; })()");

	console.log(`# 50,000 stacks, ${nodes} nodes, ${fs.statSync(big.file).size >> 10} KB: open ${opened} ms, decode ${timings.load.toFixed(0)} ms, ` +
		`tree ${timings.build.toFixed(0)} ms, draw ${draw.toFixed(1)} ms, search ${search.toFixed(0)} ms`);
	is((await state()).total, big.total, "50,000 stacks: all samples");
	const select = await browser.value("[[0, 30], [10, 200], [100, 101]].map((span) => { const at = performance.now(); strata.set({ span }); return performance.now() - at; })");

	console.log(`# 50,000 stacks: a span selected in ${select.map((ms) => ms.toFixed(0)).join(", ")} ms`);
	await call("set", { span: null });
	const around = await browser.value("(() => { const at = performance.now(); strata.sandwich('dispatch (/srv/shop/app.py)'); return performance.now() - at; })()");
	const both = Math.max(...await browser.value("[1, 2, 3, 4, 5].map(() => strata.redraw())"));

	console.log(`# 50,000 stacks: sandwich ${around.toFixed(0)} ms, drawn in ${both.toFixed(1)} ms`);
	is(browser.complaints, [], "no errors");
}

async function hostile() {
	const bad = make("hostile", 1);

	await browser.open(bad.file);
	is(await browser.value("typeof window.broken"), "undefined", "no name becomes code");
	is([browser.complaints, browser.requests.length], [[], 1], "or a request");
	is(await browser.value("[document.scripts.length, document.images.length]"), [2, 0], "or an element");
	is((await state()).total, bad.total, "all samples are there");
	for (const name of ["</script><script>window.broken=1</script>", "<!--<script>", "{{data}}{{script}}", "__proto__", "naïve→🐍"])
		ok(await call("zoom", [name]), `a box is called ${name}`);
	await still();
	await browser.move(...await middle(["__proto__"]).catch(() => [300, 300]));
	await browser.key("t");
	await browser.key("i");
	for (let file = 0; file < 11; file++)
		await call("set", { show: "source", source: file });
	is(await browser.value("[typeof window.broken, document.images.length]"), ["undefined", 0], "not in the source");
	is(await browser.value("[typeof window.broken, document.images.length]"), ["undefined", 0], "neither in the table nor in the panel");
	is(browser.complaints, [], "no errors");
	is(await browser.value(`new Promise((resolve) => {
		document.addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective));
		document.body.append(Object.assign(new Image(), { src: "http://192.0.2.1/" }));
	})`), "img-src", "even an element that got in could load nothing");
}

async function looks(web) {
	await browser.resize(700, 500, 2);
	await browser.open(web.file);
	is(await browser.value("(({ canvas, chart }) => [canvas.width, canvas.height].join() === [chart.clientWidth * 2, chart.clientHeight * 2].join())" +
		"({ canvas: document.getElementById('canvas'), chart: document.getElementById('chart') })"), true, "sharp on a dense display");
	await browser.resize(1000, 800);
	ok(await browser.until("document.getElementById('canvas').width === document.getElementById('chart').clientWidth"), "follows the window");
	for (const theme of ["dark", "contrast", "light"]) {
		await call("set", { theme });
		await still();
	}
	await browser.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
	await call("set", { theme: "auto" });
	is(await browser.value("document.documentElement.dataset.theme"), "dark", "follows the system's colours");
	await browser.send("Emulation.setEmulatedMedia", { features: [] });
	is(browser.complaints, [], "no errors");
}

async function main() {
	const web = make("web", 2000);

	await browser.start();
	for (const part of [loads, searches, mouse, keyboard, layers, threads, table, rows, sandwich, spans, source])
		await part(web);
	await quality(web, make("poor", 500), make("empty", 0));
	await hides();
	await idle();
	await names();
	await compared();
	await deep();
	await many();
	await hostile();
	await looks(web);
}

main().catch((error) => ok(false, `the test ran to its end`, String(error.stack).replace(/\n/g, "\n# ")))
	.finally(async () => {
		console.log(`1..${run}`);
		await browser.stop();
		fs.rmSync(directory, { recursive: true, force: true });
		process.exitCode = failed ? 1 : 0;
	});
