// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * browser.js: drives a headless Chromium through the DevTools protocol over a pipe (--remote-debugging-pipe: messages
 * on descriptors 3 and 4, each ended by a NUL). Every console error, exception and request of a page is noted.
 */
"use strict";
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const ARGUMENTS = [
	"--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
	"--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe", "--window-size=1400,900", "about:blank",
];

class Browser {
	constructor() {
		this.directory = fs.mkdtempSync(path.join(os.tmpdir(), "strata-browser-"));
		this.process = spawn(process.env.CHROMIUM || "chromium", [`--user-data-dir=${this.directory}`, ...ARGUMENTS],
			{ stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
		this.calls = new Map();
		this.id = 0;
		this.rest = "";
		this.complaints = [];
		this.requests = [];
		this.process.on("error", (error) => this.fail(error));
		this.process.on("exit", () => this.fail(new Error("the browser has ended")));
		this.process.stdio[4].setEncoding("utf8").on("data", (data) => this.receive(data));
		this.process.stdio[3].on("error", (error) => this.fail(error));
	}

	fail(error) {
		for (const { reject } of this.calls.values())
			reject(error);
		this.calls.clear();
	}

	receive(data) {
		const messages = (this.rest + data).split("\0");

		this.rest = messages.pop();
		for (const text of messages) {
			const message = JSON.parse(text), call = this.calls.get(message.id);

			if (!call) {
				this.note(message);
				continue;
			}
			this.calls.delete(message.id);
			if (message.error)
				call.reject(new Error(message.error.message));
			else
				call.resolve(message.result);
		}
	}

	note({ method, params }) {
		if (method === "Runtime.exceptionThrown")
			this.complaints.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
		else if (method === "Runtime.consoleAPICalled")
			this.complaints.push(params.args.map((one) => one.value || one.description).join(" "));
		else if (method === "Log.entryAdded")
			this.complaints.push(params.entry.text);
		else if (method === "Network.requestWillBeSent")
			this.requests.push(params.request.url);
		else if (method === "Page.loadEventFired")
			this.loaded?.();
	}

	send(method, params = {}) {
		return new Promise((resolve, reject) => {
			this.calls.set(++this.id, { resolve, reject });
			this.process.stdio[3].write(JSON.stringify({ id: this.id, sessionId: this.session, method, params }) + "\0");
		});
	}

	async start() {
		const { targetInfos } = await this.send("Target.getTargets");
		const page = targetInfos.find((target) => target.type === "page");

		({ sessionId: this.session } = await this.send("Target.attachToTarget", { targetId: page.targetId, flatten: true }));
		for (const domain of ["Page", "Runtime", "Log", "Network"])
			await this.send(`${domain}.enable`);
		await this.resize(1400, 900);
	}

	resize(width, height, scale = 1) {
		return this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: scale, mobile: false });
	}

	/* Opens a file and waits until it is loaded; forgets earlier complaints. */
	async open(file, hash = "") {
		const loaded = new Promise((resolve) => { this.loaded = resolve; });

		this.complaints = [];
		this.requests = [];
		await this.send("Page.navigate", { url: "about:blank" });
		await loaded;
		const again = new Promise((resolve) => { this.loaded = resolve; });

		this.complaints = [];
		this.requests = [];
		await this.send("Page.navigate", { url: `file://${path.resolve(file)}${hash}` });
		await again;
	}

	/* The value of an expression in the page; promises are awaited. */
	async value(expression) {
		const { result, exceptionDetails } = await this.send("Runtime.evaluate",
			{ expression, returnByValue: true, awaitPromise: true });

		if (exceptionDetails)
			throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
		return result.value;
	}

	/* Waits until an expression is true; false after a minute. */
	async until(expression) {
		for (let tries = 0; tries < 1200; tries++) {
			if (await this.value(`!!(${expression})`))
				return true;
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
		return false;
	}

	async click(x, y, count = 1) {
		for (let clicks = 1; clicks <= count; clicks++)
			for (const type of ["mousePressed", "mouseReleased"])
				await this.send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: clicks });
	}

	move(x, y) {
		return this.send("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
	}

	/* A key as KeyboardEvent.key has it; modifiers: 2 Control, 8 Shift. */
	async key(key, modifiers = 0) {
		const text = key === "Enter" ? "\r" : key.length === 1 && !(modifiers & 2) ? key : undefined;
		const code = /^[0-9]$/.test(key) ? `Digit${key}` : key;
		const windowsVirtualKeyCode = key === "Escape" ? 27 : undefined; /* dialogs look at it */

		await this.send("Input.dispatchKeyEvent",
			{ type: text ? "keyDown" : "rawKeyDown", key, code, text, modifiers, windowsVirtualKeyCode });
		await this.send("Input.dispatchKeyEvent", { type: "keyUp", key, code, modifiers, windowsVirtualKeyCode });
	}

	async type(text) {
		for (const key of text)
			await this.key(key);
	}

	async screenshot(file) {
		const { data } = await this.send("Page.captureScreenshot", { format: "png" });

		fs.writeFileSync(file, Buffer.from(data, "base64"));
	}

	async stop() {
		if (this.process.exitCode !== null || !this.process.pid)
			return;
		const ended = new Promise((resolve) => this.process.once("exit", resolve));

		this.session = undefined;
		this.send("Browser.close").catch(() => {});
		setTimeout(() => this.process.kill("SIGKILL"), 3000).unref();
		await ended;
		fs.rmSync(this.directory, { recursive: true, force: true, maxRetries: 10 });
	}
}

module.exports = { Browser };
