#!/usr/bin/env node
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The time axis, from the recording to the page: a program works in one function, then in another; so do its spans.
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

async function main() {
	const file = path.join(directory, "t.html"), stats = path.join(directory, "stats");

	execFileSync(process.env.STRATA || path.join(__dirname, "../../build/strata"),
		["record", "-q", "-F", "199", "-o", file, "--stats", stats, "--", "python3", "-c", PROGRAM], { stdio: "inherit" });
	await browser.start();
	await browser.open(file);
	ok(!browser.complaints.length, "the page loads without errors", browser.complaints.join(" "));
	const slices = await browser.value("strata.state().slices"), total = await browser.value("strata.state().total");
	const found = await browser.value(`(() => {
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
	const at = (column) => found.map((row, i) => row[column] ? i : -1).filter((i) => i >= 0);
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
}

main().catch((error) => ok(false, "the test ran to its end", String(error.stack).replace(/\n/g, "\n# ")))
	.finally(async () => {
		console.log(`1..${run}`);
		await browser.stop();
		fs.rmSync(directory, { recursive: true, force: true });
		process.exitCode = failed ? 1 : 0;
	});
