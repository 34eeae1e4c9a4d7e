#!/usr/bin/env node
// SPDX-License-Identifier: GPL-2.0-or-later
/* record --source: the lines of a program whose hot ones are known, in the page, compared with the folded output. */
"use strict";
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { Browser } = require("./browser.js");

const PROGRAM = `import time
def cold(): return sum(range(10))
def hot():
    end = time.process_time() + 2
    n = 0
    while n >= 0:
        if n % 1000 == 0 and time.process_time() > end: break
        n += len(str(n * n)); n += 1000 - n % 1000
        sum(i * i for i in range(3000))  # the hot line
cold()
hot()
`;
let run = 0, failed = 0;

function ok(passed, name, note = "") {
	run++;
	failed += passed ? 0 : 1;
	console.log(`${passed ? "" : "not "}ok ${run} - ${name}`);
	if (!passed && note)
		console.log(`# ${note}`);
}

/* [[line, own, total], …] of a file: own where no other Python frame is called from it. */
function counted(folded, file) {
	const lines = new Map();

	for (const row of folded.trim().split("\n")) {
		const space = row.lastIndexOf(" "), count = Number(row.slice(space + 1));
		const places = row.slice(0, space).split(";").map((frame) => (/ \(([^()]*:\d+)\)$/.exec(frame) || [])[1]).filter(Boolean);

		for (const place of new Set(places)) {
			const colon = place.lastIndexOf(":"), line = Number(place.slice(colon + 1)), had = lines.get(line) || [0, 0];

			if (place.slice(0, colon) === file)
				lines.set(line, [had[0] + (places[places.length - 1] === place ? count : 0), had[1] + count]);
		}
	}
	return [...lines].map(([line, counts]) => [line, ...counts]).sort((a, b) => a[0] - b[0]);
}

async function main(directory, browser) {
	const strata = process.env.STRATA || path.join(__dirname, "../../build/strata");
	const program = path.join(directory, "program.py"), page = path.join(directory, "x.html"), folded = path.join(directory, "x.folded");

	fs.writeFileSync(program, PROGRAM);
	execFileSync(strata, ["record", "-q", "--source", "-o", page, "-o", folded, "--", "/usr/bin/python3", program], { stdio: "inherit" });
	await browser.start();
	await browser.open(page);
	const lines = await browser.value(`strata.source(${JSON.stringify(program)})`), expected = counted(fs.readFileSync(folded, "utf8"), program);
	const total = await browser.value("strata.state().total"), hot = lines?.find(([line]) => line === 9) || [9, 0, 0];

	ok(JSON.stringify(lines) === JSON.stringify(expected), "the lines have the samples of the folded output", `${JSON.stringify(lines)} ${JSON.stringify(expected)}`);
	ok(hot[2] > 0.8 * total && lines.every(([line]) => [1, 2, 4, 5, 6, 7, 8, 9, 10, 11].includes(line)), "most in the hot line", JSON.stringify(lines));
	ok((await browser.value("document.querySelector('#source tr[data-line=\"9\"]').className")) === "hot" &&
		(await browser.value("document.querySelector('#source tr[data-line=\"9\"]').lastChild.textContent")).endsWith("# the hot line"), "beside its text");
	ok(browser.complaints.length === 0 && browser.requests.length === 1, "no errors, no requests", browser.complaints.join(" "));
	/* Whose the native files are that were met before exec is not certain. Python's are. */
	execFileSync(strata, ["record", "-q", "--source", "--lines", "-F", "999", "-o", page, "--", "bash", "-c",
		`for ((i = 0; i < 100000; i++)); do :; done; exec /usr/bin/python3 ${program}`], { stdio: "inherit" });
	await browser.open(page);
	const later = await browser.value(`strata.source(${JSON.stringify(program)})`);

	ok(later?.some(([line]) => line === 9), "also of a program that another one became, with --lines", JSON.stringify(later));
}

if (process.geteuid() !== 0) {
	console.log("1..0 # SKIP needs root");
} else {
	const directory = fs.mkdtempSync(path.join(os.tmpdir(), "strata-source-")), browser = new Browser();

	main(directory, browser).catch((error) => ok(false, "the test ran to its end", String(error.stack).replace(/\n/g, "\n# ")))
		.finally(async () => {
			console.log(`1..${run}`);
			await browser.stop();
			fs.rmSync(directory, { recursive: true, force: true });
			process.exitCode = failed ? 1 : 0;
		});
}
