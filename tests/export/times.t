#!/usr/bin/env node
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The time axis, from the recording to the page: a program works in one function, then in another; so do its spans.
 * Another one sleeps once in each: such a wait is one sample, and is in all slices that it lasted for.
 */
"use strict";
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { Browser } = require("./browser.js");

const PROGRAM = `
import time
def first(end):
    while time.process_time() < end: sum(range(1000))
def second(end):
    while time.process_time() < end: sum(range(1000))
first(0.6)
second(1.2)
`;
const SLEEPER = `
import time
def first():
    time.sleep(0.9)
def second():
    time.sleep(0.9)
first()
second()
`;
const directory = fs.mkdtempSync(path.join(os.tmpdir(), "strata-times-"));
const browser = new Browser();
let run = 0, failed = 0;

function ok(passed, name, note = "") {
	run++;
	failed += passed ? 0 : 1;
	console.log(`${passed ? "" : "not "}ok ${run} - ${name}`);
	if (!passed && note)
		console.log(`# ${note}`);
}

function record(name, program, ...options) {
	const file = path.join(directory, name);

	execFileSync(process.env.STRATA || path.join(__dirname, "../../build/strata"),
		["record", "-q", ...options, "-o", file, "--", "python3", "-c", program], { stdio: "inherit" });
	return file;
}

/* What is in each slice: all, what is in first(), and in second(). */
function bySlice(slices) {
	return browser.value(`(() => {
		const rows = [], replace = history.replaceState;

		history.replaceState = () => {}; /* Chromium lets a page change its address some 200 times in a while */
		for (let slice = 0; slice < ${slices}; slice++) {
			strata.set({ span: [slice, slice + 1] });
			rows.push([strata.state().shown, strata.search("^first ").matched, strata.search("^second ").matched]);
		}
		history.replaceState = replace;
		strata.set({ span: null, search: "" });
		return rows;
	})()`);
}

/* Time off the CPU, and both. */
async function waits(option) {
	await browser.open(record(`${option}.html`, SLEEPER, `--${option}`));
	const { slices, total } = await browser.value("strata.state()"), found = await bySlice(slices);
	const at = (column) => found.map((row, i) => row[column] ? i : -1).filter((i) => i >= 0), first = at(1), second = at(2);
	const sum = (column) => found.reduce((all, row) => all + row[column], 0), gone = (list) => list[list.length - 1] - list[0] + 1;

	ok(slices > 80 && slices < 2048, `${option}: ${slices} slices`);
	ok(sum(0) === total, `${option}: they have all of the time, once`, `${sum(0)} of ${total}`);
	ok(first.length >= 40 && first.length === gone(first), `${option}: one wait is in all slices that it lasted for`, first.join(" "));
	ok(second.length >= 40 && first[first.length - 1] <= second[0], `${option}: the other comes after it`, `${first} / ${second}`);
	ok(Math.max(...found.map((row) => row[1])) <= 20001, `${option}: no slice has more of one thread than it lasts`);
	const all = (await browser.value("strata.state()")).axis;

	ok(all === total, `${option}: the strip shows all of it`, `${all} of ${total}`);
	await browser.value("strata.set({ waits: true })");
	const { shown, axis: left } = await browser.value("strata.state()");

	ok(left === shown && left < total / 2, `${option}: without waits when these are hidden`, `${left} ${shown} ${total}`);
	ok(!browser.complaints.length, `${option}: no errors`, browser.complaints.join(" "));
}

async function main() {
	const file = record("t.html", PROGRAM, "-F", "199");

	await browser.start();
	await browser.open(file);
	ok(!browser.complaints.length, "the page loads without errors", browser.complaints.join(" "));
	const slices = await browser.value("strata.state().slices"), total = await browser.value("strata.state().total");
	const found = await bySlice(slices), at = (column) => found.map((row, i) => row[column] ? i : -1).filter((i) => i >= 0);
	const first = at(1), second = at(2), all = await browser.value("[strata.search('^first ').matched, strata.search('^second ').matched]");

	ok(slices > 50 && slices < 2048, `${slices} slices`);
	ok(found.reduce((sum, row) => sum + row[0], 0) === total, "they have every sample once", `${total}`);
	ok(JSON.stringify(all) === JSON.stringify([1, 2].map((column) => found.reduce((sum, row) => sum + row[column], 0))), "of each function, too");
	ok(first.length > 20 && second.length > 20, "both functions were seen", `${first.length} ${second.length}`);
	ok(first[first.length - 1] <= second[0], "one after the other", `${first[first.length - 1]} ${second[0]}`);
	const { left, top, width } = await browser.value("(({ left, top, width }) => ({ left, top, width }))(document.getElementById('strip').getBoundingClientRect())");
	const x = (slice) => left + slice * width / slices;

	for (const [type, slice] of [["mousePressed", 0.1], ["mouseMoved", second[0] - 2], ["mouseReleased", second[0] - 2]])
		await browser.send("Input.dispatchMouseEvent", { type, x: x(slice), y: top + 10, button: "left", buttons: 1, clickCount: 1 });
	ok(await browser.until("strata.state().span !== null"), "dragging selects a span");
	const [matched, none] = await browser.value("[strata.search('^first ').matched, strata.search('^second ').matched]");

	ok(matched > 0 && none === 0, "only the first function is in it", `${matched} ${none}`);
	const hash = await browser.value("location.hash"), span = await browser.value("strata.state().span");

	await browser.open(file, hash);
	const again = await browser.value("strata.state().span");

	ok(JSON.stringify(again) === JSON.stringify(span), "the address brings it back", `${hash} ${span} ${again}`);
	await browser.value("document.getElementById('strip').focus()");
	await browser.key("ArrowRight");
	ok((await browser.value("strata.state().span"))[0] > span[0], "an arrow key moves it");
	await browser.value("document.getElementById('span').click()");
	ok((await browser.value("strata.state().span")) === null && await browser.value("strata.state().shown") === total, "all of it again");
	ok(!browser.complaints.length, "no errors", browser.complaints.join(" "));
	await waits("off-cpu");
	await waits("wall");
}

main().catch((error) => ok(false, "the test ran to its end", String(error.stack).replace(/\n/g, "\n# ")))
	.finally(async () => {
		console.log(`1..${run}`);
		await browser.stop();
		fs.rmSync(directory, { recursive: true, force: true });
		process.exitCode = failed ? 1 : 0;
	});
