/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source.js: source files beside the samples of their lines. Called by page.js, whose helpers it uses.
 *
 * A line's own samples are those whose innermost frame with a source line is there, its total those that have it in
 * their stack. Both are of the threads and the span that are shown; zoom and layers do not matter.
 */
const AROUND = 8; /* lines shown beside one that has samples */

/* What would change how text looks, or not be seen, is written as its number. */
function visibleText(text) {
	return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
		(char) => `<U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);
}

class Sources {
	constructor(sources) {
		this.files = sources.map(({ path, text, changed, pids }) =>
			({ path, changed, pids, lines: text.split("\n").map((line) => line.replace(/\r$/, "")) }));
		this.byProcess = new Map();
		this.files.forEach((file, index) => {
			if (file.lines.at(-1) === "")
				file.lines.pop();
			for (const pid of file.pids) {
				if (!this.byProcess.has(pid))
					this.byProcess.set(pid, new Map());
				this.byProcess.get(pid).set(file.path, index);
			}
		});
		this.opened = new Set();
	}

	/* The path that a frame's line is in. */
	pathOf(frame) {
		const layer = profile.layer[frame];

		return !profile.line[frame] ? "" : layer === RUNTIME ? profile.file[frame] : layer === NATIVE ? profile.source[frame] || "" : "";
	}

	/* For each file a Map: line → { own, total }. */
	count() {
		const counts = this.files.map(() => new Map()), threads = threadSet(), span = settings.span && profile.times ? profile.between(settings.span) : null;
		const self = span ? span.self : profile.self, seen = new Set();

		profile.threads.forEach((thread, index) => {
			const files = this.byProcess.get(thread.pid);

			if (!files || (threads && !threads.has(index)))
				return;
			for (let node = thread.from; node < thread.to; node++) {
				if (!self[node] || (settings.waits && profile.waiting[node]))
					continue;
				let own = true;

				seen.clear();
				for (let at = node; at >= 0; at = profile.parent[at]) {
					const frame = profile.frame[at], path = this.pathOf(frame), line = profile.line[frame];

					if (!path)
						continue;
					const file = files.get(path), place = file === undefined ? "" : `${file}:${line}`;

					if (place && !seen.has(place)) {
						const count = counts[file].get(line) || { own: 0, total: 0 };

						seen.add(place);
						count.total += self[node];
						count.own += own ? self[node] : 0;
						counts[file].set(line, count);
					}
					own = false;
				}
			}
		});
		return counts;
	}

	/* The file at hand: the one that was chosen, or that with the most own samples. */
	show() {
		const counts = this.count(), section = byId("source");
		const own = counts.map((lines) => [...lines.values()].reduce((sum, line) => sum + line.own, 0));
		const order = [...own.keys()].sort((a, b) => own[b] - own[a] || a - b);
		const chosen = settings.source >= 0 ? settings.source : order[0], file = this.files[chosen];
		const same = new Map();

		for (const { path } of this.files)
			same.set(path, (same.get(path) || 0) + 1);
		const list = element("select", { ariaLabel: "Source file", onchange: () => change({ source: Number(list.value) }, true) }, ...order.map((index) =>
			element("option", { value: index }, `${visibleText(this.files[index].path)}${same.get(this.files[index].path) > 1 ? ` (pid ${this.files[index].pids.join(", ")})` : ""} · ${percent(own[index], profile.total)}`)));

		list.value = chosen;
		section.replaceChildren(element("div", { className: "by" }, list, ...(file.changed ?
			[element("span", { className: "changed" }, "The file was written after the recording began: lines may be others.")] : [])),
			this.table(file, chosen, counts[chosen]));
	}

	table(file, index, counts) {
		const most = [...counts.values()].reduce((most, line) => Math.max(most, line.own), 1), hot = [...counts.keys()].sort((a, b) => a - b);
		const body = element("tbody", {}), around = this.opened.has(index) ? Infinity : AROUND;
		let next = 1;

		for (let number = 1, i = 0; number <= file.lines.length; number++) {
			while (i < hot.length && hot[i] + around < number)
				i++;
			if (around !== Infinity && (i === hot.length || hot[i] - around > number))
				continue;
			if (number > next)
				body.append(this.gap(index, number - next));
			body.append(this.row(file, number, counts.get(number), most));
			next = number + 1;
		}
		if (next <= file.lines.length)
			body.append(this.gap(index, file.lines.length - next + 1));
		return element("table", {}, element("thead", {}, element("tr", {}, ...["Line", "Own", "Total", ""].map((text) => element("th", {}, text)))), body);
	}

	gap(index, lines) {
		const button = element("button", { onclick: () => { this.opened.add(index); this.show(); } }, `⋯ ${grouped(lines)} line${lines === 1 ? "" : "s"} without samples`);

		return element("tr", { className: "gap" }, element("td", { colSpan: 4 }, button));
	}

	row(file, number, count, most) {
		const made = element("tr", {}, element("td", {}, String(number)), element("td", {}, count && count.own ? amount(count.own) : ""),
			element("td", {}, count ? amount(count.total) : ""), element("td", {}, visibleText(file.lines[number - 1])));

		made.dataset.line = number;
		if (count) {
			made.className = "hot";
			made.style.setProperty("--heat", String(count.own / most)); /* its callers' lines would all be as hot */
			made.title = `line ${number}: ${percent(count.total, profile.total)} of all, own ${percent(count.own, profile.total)}`;
		}
		return made;
	}
}
