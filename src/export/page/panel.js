/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * panel.js: how good the data is: the badge, the warning and the panel. Called by page.js, whose helpers it uses.
 */
function cell(text, more) {
	return element("td", {}, text, ...(more ? [element("small", {}, more)] : []));
}

function facts(pairs) {
	return element("dl", {}, ...pairs.filter(([, value]) => value).flatMap(([name, value]) =>
		[element("dt", {}, name), element("dd", {}, value)]));
}

const KINDS = {
	truncated: "cut at a limit; the innermost frames are there", partial: "the stack's outer part is missing",
	lost: "the sample is missing", note: "counted; no sample is missing",
};

function losses(quality) {
	if (!quality.losses.length)
		return element("p", {}, "Nothing was lost.");
	return element("table", { className: "losses" }, element("tbody", {}, ...quality.losses.map((loss) =>
		element("tr", {}, cell(loss.key, KINDS[loss.kind]), cell(grouped(loss.count)),
			cell(loss.meaning, `What to do: ${loss.advice}`)))));
}

function meters(quality, incomplete) {
	const made = element("div", { className: "meters" });

	for (const [name, part] of [["complete", quality.complete], ["truncated", quality.truncated], ["incomplete", incomplete]]) {
		const bar = element("i", { className: name });

		bar.style.width = `${100 * part / (quality.samples || 1)}%`;
		made.append(bar);
	}
	return made;
}

function cost(quality, info) {
	const { bpfNs, bpfRuns, bpfFrames } = quality;
	const perSample = bpfRuns ? `${(bpfNs / bpfRuns / 1000).toFixed(1)} µs a sample` : "";
	const perFrame = bpfFrames ? `${(bpfNs / bpfFrames).toFixed(0)} ns a frame` : "";
	const share = info.duration ? ` (${(100 * quality.cpu / info.duration).toFixed(1)} % of a core)` : "";

	return facts([
		["BPF programs", perSample && `${perSample}${perFrame ? ", " + perFrame : ""}; ${seconds(bpfNs / 1e9)} in all`],
		["strata itself", `${seconds(quality.cpu)} of CPU${share}, ${(quality.rssKb / 1024).toFixed(0)} MB at most`],
		["Started in", `${quality.startup.toFixed(0)} ms`],
	]);
}

function makeQuality() {
	const { quality, info } = profile, incomplete = Math.max(0, quality.samples - quality.complete - quality.truncated);
	const share = percentDown(quality.complete, quality.samples), good = quality.complete >= quality.samples * 0.99;
	const part = (count) => `${grouped(count)} (${percent(count, quality.samples)})`;
	const when = info.start ? new Date(info.start * 1000).toLocaleString() : "";

	byId("quality-share").textContent = quality.samples ? `${share} complete` : "no samples";
	byId("quality-button").classList.add(good && quality.samples ? "good" : "warn");
	byId("warning").hidden = good && quality.samples > 0;
	byId("warning-text").textContent = quality.samples ?
		`Only ${share} of the samples have their whole stack. Shares of outer frames may be too small.` :
		"The recording has no samples.";
	byId("quality").append(
		element("h2", { id: "quality-title" }, "How good the data is"), meters(quality, incomplete),
		facts([
			["Samples", grouped(quality.samples)],
			["Complete", `${grouped(quality.complete)} (${share}): from the thread's start to its innermost frame`],
			["Truncated", quality.truncated && part(quality.truncated)], ["Incomplete or lost", incomplete && part(incomplete)],
			...quality.runtimes.map((runtime) => [`With ${runtime.language}`, part(runtime.samples)]), ["Finished late", quality.late && `${part(quality.late)}, from a copy of the stack`],
			["Stacks", `${grouped(quality.stacks)} distinct, the deepest of ${grouped(quality.depth)} frames`],
		]),
		element("h3", {}, "Lost, by reason"), losses(quality), element("h3", {}, "Cost"), cost(quality, info),
		element("h3", {}, "Recording"),
		facts([
			["Target", info.command], ["Host", info.host], ["Kernel", info.kernel], ["When", when],
			["Duration", info.duration && `${info.duration.toFixed(1)} s`], ["Rate", info.frequency && `${info.frequency} Hz on each of ${info.cpus} CPUs`],
			["strata", info.version],
		]),
		element("form", { method: "dialog" }, element("button", {}, "Close")));
	byId("facts").textContent = [info.host, when, info.duration && `${info.duration.toFixed(1)} s`,
		info.frequency && `${info.frequency} Hz`, `${grouped(quality.samples)} samples`].filter(Boolean).join(" · ");
}

