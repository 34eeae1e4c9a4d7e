// SPDX-License-Identifier: GPL-2.0-or-later
/* page.js FILE...: timelines of calls in a headless Chromium, a line for each: how many calls it has, what is drawn first and under that,
 * errors, requests. */
"use strict";
const { Browser } = require("../export/browser.js");

const browser = new Browser();

async function look(file) {
	await browser.open(file);
	const count = await browser.value("calls.state().count");
	const tip = "document.getElementById('tip').textContent.split('\\n')[0]";
	const names = [];

	for (const level of [0, 1]) {
		const [x, y] = await browser.value(`(() => {
			const lane = calls.lanes[0], row = lane.rows[${level}], { from, to } = calls.state(), view = document.getElementById("view");
			const box = view.getBoundingClientRect(), when = row.began[0] + row.took[0] / 2;

			return [box.left + (when - from) / (to - from) * view.clientWidth, box.top + lane.top + 22 + 18 * ${level} + 9];
		})()`);

		await browser.move(x, y);
		await browser.until(`!document.getElementById("tip").hidden`);
		names.push(await browser.value(tip));
	}
	await browser.value("calls.show(0, calls.state().total / 1000)");
	console.log(count, ...names, browser.complaints.length, browser.requests.length);
}

async function main() {
	await browser.start();
	for (const file of process.argv.slice(2))
		await look(file);
}

main().catch((error) => console.log(String(error.stack))).finally(() => browser.stop());
