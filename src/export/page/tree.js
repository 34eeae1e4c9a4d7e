"use strict";
/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree.js: from the page's data to trees.
 *
 * A profile has frames, threads, and one raw tree: typed arrays over all threads' nodes, parents before children.
 * A view is the tree that is shown: some threads, some layers, lines or functions, in an order. It is built anew
 * whenever one of these changes, which takes tens of milliseconds for some hundred thousand nodes.
 *
 * A node's key says what it shows: a frame's number, or frames + n for the n-th group (commands, threads, then how many
 * threads are folded into one box).
 * Frames are numbered in the order of their texts, so keys sort by name.
 */
const EVEN_WAITS = 1000; /* the data counts waits in thousandths */
const KERNEL = 0, NATIVE = 1, RUNTIME = 2, MARK = 3, GROUP = 4;
/* RUNTIME is called by its languages, which the data says. */
const LAYERS = ["Kernel", "Native", "", "Marks"];

/* Reads base64 of LEB128 numbers. */
class Numbers {
	constructor(base64) {
		this.bytes = atob(base64);
		this.at = 0;
	}

	get more() {
		return this.at < this.bytes.length;
	}

	next() {
		let value = 0, scale = 1, byte;

		do {
			byte = this.bytes.charCodeAt(this.at++);
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte & 128);
		return value;
	}
}

function hashOf(text) {
	let hash = 2166136261; /* FNV-1a */

	for (let i = 0; i < text.length; i++)
		hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
	return hash >>> 0;
}

/* The last `count` parts of a path. */
function pathEnd(path, count) {
	return path.split("/").filter(Boolean).slice(-count).join("/") || path;
}

const DIRECTORIES_MAX = 8;

/* Files → names that are short, and that tell them apart: "black/__init__.py", not five times "__init__.py". */
function shortNames(files) {
	const names = new Map();
	let left = new Set(files);

	for (let count = 1; left.size && count <= DIRECTORIES_MAX; count++) {
		const ends = Map.groupBy ? Map.groupBy(left, (file) => pathEnd(file, count)) : new Map();

		if (!Map.groupBy)
			left.forEach((file) => ends.set(pathEnd(file, count), [...(ends.get(pathEnd(file, count)) || []), file]));
		for (const [end, same] of ends)
			if (count === DIRECTORIES_MAX || (same.length === 1 && (count > 1 || !/^__\w+__\.py$/.test(end))))
				same.forEach((file) => { names.set(file, end); left.delete(file); });
	}
	return names;
}

class Profile {
	constructor(data) {
		this.info = data.info;
		this.quality = data.quality;
		LAYERS[RUNTIME] = data.quality.runtimes.map((runtime) => runtime.language).join(", ") || "Runtime";
		this.byThread = data.byThread;
		this.compared = data.compared || null; /* with another recording: diff.js */
		this.readFrames(data);
		this.readThreads(data);
		this.waiting = new Uint8Array(this.nodes); /* off the CPU */
		for (let node = 0; node < this.nodes; node++)
			this.waiting[node] = this.waits[this.frame[node]] || (this.parent[node] >= 0 && this.waiting[this.parent[node]]) ? 1 : 0;
		this.times = data.times || null; /* start and width in seconds, count of slices */
		this.readTimes(data);
	}

	/* When samples were: of which node and thread (node -1: its empty stack), in which slice, how many. */
	readTimes(data) {
		const time = this.time = { node: [], thread: [], slice: [], count: [] };

		if (!this.times)
			return;
		this.threads.forEach((thread, index) => {
			const numbers = new Numbers(data.threads[index].times);
			const read = (node) => {
				for (let left = numbers.next(), slice = 0; left > 0; left--) {
					slice += numbers.next();
					time.node.push(node);
					time.thread.push(index);
					time.slice.push(slice);
					time.count.push(numbers.next());
				}
			};

			read(-1);
			for (let node = thread.from; node < thread.to; node++)
				if (this.self[node] > 0)
					read(node);
		});
	}

	/* Own samples of each node, and of each thread's empty stack, in a span of slices; which nodes have some below. */
	between([from, to]) {
		const { time } = this, self = new Float64Array(this.nodes), empty = new Float64Array(this.threads.length);
		const alive = new Uint8Array(this.nodes);

		for (let i = 0; i < time.slice.length; i++) {
			if (time.slice[i] < from || time.slice[i] >= to)
				continue;
			if (time.node[i] < 0)
				empty[time.thread[i]] += time.count[i];
			else
				self[time.node[i]] += time.count[i];
		}
		for (let node = this.nodes - 1; node >= 0; node--) {
			alive[node] |= self[node] > 0 ? 1 : 0;
			if (this.parent[node] >= 0)
				alive[this.parent[node]] |= alive[node];
		}
		return { self, empty, alive };
	}

	readFrames(data) {
		const numbers = new Numbers(data.frames), first = new Map();

		this.layer = [];
		this.name = [];
		this.file = [];
		this.line = [];
		this.source = []; /* of native code with lines: the file of the line */
		this.functionOf = []; /* frame → the first frame of the same function */
		while (numbers.more) {
			const layer = numbers.next(), name = numbers.next(), file = numbers.next(), line = numbers.next();
			const source = layer === NATIVE && line ? data.strings[numbers.next()] : "";
			const id = `${layer} ${name} ${file}`, frame = this.layer.length;

			if (!first.has(id))
				first.set(id, frame);
			this.functionOf.push(first.get(id));
			this.layer.push(layer);
			this.name.push(data.strings[name]);
			this.file.push(data.strings[file]);
			this.line.push(line);
			this.source.push(source);
		}
		this.frames = this.layer.length;
		this.waits = this.name.map((name, frame) => this.layer[frame] === MARK && name.startsWith("[waiting: "));
		this.short = shortNames(this.file.filter((_, frame) => this.layer[frame] === RUNTIME));
		this.findModules();
	}

	/* What the table by module has a row for, by number. */
	findModules() {
		const numbers = new Map();

		this.modules = [];
		this.moduleOf = this.layer.map((layer, frame) => {
			const name = layer === KERNEL ? "[kernel]" : layer === MARK ? this.name[frame] : this.file[frame] || "?";

			if (!numbers.has(name))
				numbers.set(name, this.modules.push(name) - 1);
			return numbers.get(name);
		});
	}

	readThreads(data) {
		const limit = data.threads.reduce((sum, thread) => sum + (thread.tree.length >> 2), 0);
		let node = 0;

		this.parent = new Int32Array(limit); /* -1: none */
		this.frame = new Int32Array(limit);
		this.self = new Float64Array(limit);
		this.before = new Float64Array(this.compared ? limit : 0);
		this.spread = new Float64Array(this.compared?.times ? limit : 0);
		this.comms = [];
		this.threads = data.threads.map((thread) => {
			const numbers = new Numbers(thread.tree), from = node, comm = data.strings[thread.comm];
			let last = -1, total = thread.empty;

			while (numbers.more) {
				for (let up = numbers.next(); up > 0; up--)
					last = this.parent[last];
				this.parent[node] = last;
				this.frame[node] = numbers.next();
				this.self[node] = numbers.next();
				total += this.self[node];
				if (this.compared)
					this.before[node] = numbers.next();
				if (this.compared?.times)
					this.spread[node] = this.spreadOf(node, numbers.next() / EVEN_WAITS);
				last = node++;
			}
			if (!this.comms.includes(comm))
				this.comms.push(comm);
			return { comm, pid: thread.pid, tid: thread.tid, owner: data.strings[thread.owner] ?? "", empty: thread.empty, emptyBefore: thread.emptyBefore, from, to: node, total };
		});
		this.nodes = node;
		this.keys = this.frames + this.comms.length + 2 * this.threads.length + 1;
		this.total = this.threads.reduce((sum, thread) => sum + thread.total, 0);
		this.findInternals();
	}

	/*
	 * Which nodes are the interpreter's own code: native ones of the module that calls a process's frames of
	 * a runtime, as only the interpreter does. A module that did so once in a while is none.
	 */
	findInternals() {
		const callers = new Map();

		this.internal = new Uint8Array(this.nodes);
		this.loud = new Uint8Array(this.nodes);  /* a runtime's frame follows in some stack */
		this.quiet = new Uint8Array(this.nodes); /* some stack ends here, or below without one */
		for (const { pid, from, to } of this.threads) {
			const counts = callers.get(pid) || new Map();

			callers.set(pid, counts);
			for (let node = from; node < to; node++) {
				const caller = this.parent[node] < 0 ? -1 : this.frame[this.parent[node]];

				if (this.layer[this.frame[node]] === RUNTIME && caller >= 0 && this.layer[caller] === NATIVE)
					counts.set(this.file[caller], (counts.get(this.file[caller]) || 0) + 1);
			}
		}
		for (const { pid, from, to } of this.threads) {
			const counts = callers.get(pid), sum = [...counts.values()].reduce((a, b) => a + b, 0);

			for (let node = to - 1; node >= from; node--) {
				const frame = this.frame[node], parent = this.parent[node], runtime = this.layer[frame] === RUNTIME;

				this.internal[node] = this.layer[frame] === NATIVE && (counts.get(this.file[frame]) || 0) > sum / 5 ? 1 : 0;
				this.quiet[node] |= this.self[node] > 0 || this.before[node] > 0 ? 1 : 0;
				if (parent < 0)
					continue;
				this.loud[parent] |= runtime ? 1 : this.loud[node];
				this.quiet[parent] |= runtime ? 0 : this.quiet[node];
			}
		}
		this.hasInternals = this.internal.some((internal, node) => internal && this.loud[node]);
	}

	/* The variance of what a node itself counts for, which is that of so many waits of equal length. */
	spreadOf(node, waits) {
		const value = this.before[node] * this.compared.weightBefore + this.self[node] * this.compared.weight;

		return waits > 0 ? value * value / waits : 0;
	}

	commKey(thread) {
		return this.frames + this.comms.indexOf(this.threads[thread].comm);
	}

	threadKey(thread) {
		return this.frames + this.comms.length + thread;
	}

	idleKey(threads) {
		return this.frames + this.comms.length + this.threads.length + threads;
	}

	isIdle(key) {
		return key >= this.idleKey(0);
	}

	layerOf(key) {
		return key >= 0 && key < this.frames ? this.layer[key] : GROUP;
	}

	/* What a frame is called, and the rest of its text. */
	nameOf(key) {
		if (key < 0)
			return this.info.weighed ? "all of the time" : "all samples";
		if (key < this.frames)
			return this.name[key];
		if (key < this.frames + this.comms.length)
			return this.comms[key - this.frames] || "?";
		const index = key - this.frames - this.comms.length, thread = this.threads[index];

		if (!thread)
			return `${index - this.threads.length} idle thread${index - this.threads.length === 1 ? "" : "s"}`;
		return `thread ${thread.comm || "?"} (${thread.tid})`;
	}

	restOf(key, functions) {
		switch (this.layerOf(key)) {
		case KERNEL:
			return " [k]";
		case NATIVE:
			return ` (${this.file[key] || "?"})` + (functions || !this.source[key] ? "" : ` [${this.source[key]}:${this.line[key]}]`);
		case RUNTIME:
			return ` (${this.file[key] || "?"}${functions ? "" : ":" + this.line[key]})`;
		default:
			return "";
		}
	}

	/* The same, short enough for a box. */
	hintOf(key, functions) {
		switch (this.layerOf(key)) {
		case NATIVE:
			return this.file[key] + (functions || !this.source[key] ? "" : ` ${this.source[key].split("/").pop()}:${this.line[key]}`);
		case RUNTIME:
			return this.short.get(this.file[key]) + (functions ? "" : ":" + this.line[key]);
		default:
			return "";
		}
	}

	/* By the contract for frames as text; without the line when lines are merged. */
	text(key, functions) {
		return this.nameOf(key) + this.restOf(key, functions);
	}
}

/*
 * options: { threads: null or a Set of thread numbers, byThread, hidden: [by layer], functions, order: "size" | "name",
 *            side: "both" | "before" | "after" }
 * Of two recordings, self and total are those of a side, in samples of the later one, or the mean of both; `was` and `is`
 * have a subtree's own samples, `ownWas` and `ownIs` a node's.
 */
/*
 * A view's options may also hide `internals` (the interpreter's code outside of a runtime's frames; what the innermost of
 * these called is shown), and `waits` (samples off the CPU), fold `idle` threads into one box beside the commands, and
 * show only a `span` of time, [first slice, slice behind the last].
 */
const IDLE_SHARE = 0.99; /* of a thread's time in one waiting stack */

class View {
	constructor(profile, options) {
		this.profile = profile;
		this.options = options;
		this.merge();
		this.sum();
		this.arrange();
	}

	/* Walks the raw tree; nodes with the same parent and key become one. */
	merge() {
		const { profile, options } = this, [now, past] = this.weights();

		this.reserve(profile.nodes * (options.internals ? 2 : 1) + profile.threads.length * 2 + 2);
		this.shown = new Int32Array(profile.nodes).fill(-1); /* raw node → node */
		/* Where a stack goes on from a raw node if a frame of a runtime follows; the same, if nothing is hidden */
		this.through = options.internals ? new Int32Array(profile.nodes).fill(-1) : this.shown;
		const { waiting } = profile, span = options.span && profile.times ? profile.between(options.span) : null;
		const self = span ? span.self : profile.self;
		const idle = options.idle && !options.waits ? this.idleThreads(self, span, now, past) : new Set();
		const folded = idle.size ? this.child(0, profile.idleKey(this.countThreads(idle)), -1) : 0;

		profile.threads.forEach((thread, index) => {
			if (options.threads && !options.threads.has(index))
				return;
			if (span && !span.empty[index] && !span.alive.subarray(thread.from, thread.to).includes(1))
				return;
			let top = folded;

			if (!idle.has(index))
				top = this.child(0, profile.commKey(index), -1);
			if (options.byThread && top !== folded)
				top = this.child(top, profile.threadKey(index), -1);
			this.add(top, span ? span.empty[index] : thread.empty, thread.emptyBefore, now, past);
			for (let raw = thread.from; raw < thread.to; raw++) {
				const parent = profile.parent[raw];

				if (top === folded)
					this.shown[raw] = this.through[raw] = folded;
				else if ((options.waits && waiting[raw]) || (span && !span.alive[raw]))
					this.shown[raw] = this.through[raw] = parent < 0 ? top : this.shown[parent];
				else
					this.show(raw, parent < 0 ? top : this.shown[parent], parent < 0 ? top : this.through[parent]);
				if (!options.waits || !waiting[raw])
					this.add(this.shown[raw], self[raw], profile.before[raw], now, past, profile.spread[raw]);
			}
		});
		this.slots = this.through = null;
	}

	/* The threads that were in one and the same waiting stack nearly all of the time that is shown. */
	idleThreads(self, span, now, past) {
		const { profile, options } = this, idle = new Set();

		profile.threads.forEach((thread, index) => {
			let total = (span ? span.empty[index] : thread.empty) * now + thread.emptyBefore * past, most = 0;

			if (options.threads && !options.threads.has(index))
				return;
			for (let raw = thread.from; raw < thread.to; raw++) {
				const own = self[raw] * now + (profile.compared ? profile.before[raw] * past : 0);

				total += own;
				most = profile.waiting[raw] ? Math.max(most, own) : most;
			}
			if (most > 0 && most >= IDLE_SHARE * total)
				idle.add(index);
		});
		return idle;
	}

	/* A thread that was renamed is there for each name. */
	countThreads(indices) {
		return new Set([...indices].map((index) => `${this.profile.threads[index].pid} ${this.profile.threads[index].tid}`)).size;
	}

	reserve(limit) {
		let size = 64;

		while (size < limit * 2)
			size *= 2;
		this.slots = new Int32Array(size); /* a hash table of nodes; 0 is free, as the root is nobody's child */
		this.parent = new Int32Array(limit);
		this.key = new Int32Array(limit);
		this.raw = new Int32Array(limit).fill(-1); /* a raw node that is shown here */
		this.self = new Float64Array(limit);
		this.key[0] = this.parent[0] = -1;
		this.count = 1;
		if (this.profile.compared) {
			this.ownWas = new Float64Array(limit);
			this.ownIs = new Float64Array(limit);
			this.ownSpread = new Float64Array(limit);
		}
	}

	/* Where a raw node is shown, below what its parent is shown as: `above`, or, towards a runtime's frame, `through`. */
	show(raw, above, through) {
		const { profile, options } = this, frame = profile.frame[raw], layer = profile.layer[frame];
		const key = options.functions ? profile.functionOf[frame] : frame;

		if (options.hidden[layer]) {
			this.shown[raw] = above;
			this.through[raw] = through;
		} else if (!options.internals || layer === RUNTIME) {
			this.shown[raw] = this.through[raw] = this.child(through, key, raw);
		} else {
			const own = !profile.internal[raw] && profile.loud[raw];

			this.through[raw] = own ? this.child(through, key, raw) : through;
			this.shown[raw] = profile.quiet[raw] ? this.child(above, key, raw) : this.through[raw];
		}
	}

	/* What a sample after, and one before, adds to a box's width. */
	weights() {
		const { compared } = this.profile;

		if (!compared)
			return [1, 0];
		const ratio = compared.weightBefore / compared.weight;

		return { both: [0.5, 0.5 * ratio], before: [0, ratio], after: [1, 0] }[this.options.side];
	}

	add(node, after, before, now, past, spread = 0) {
		this.self[node] += after * now;
		if (!this.ownWas)
			return;
		this.self[node] += before * past;
		this.ownIs[node] += after;
		this.ownWas[node] += before;
		this.ownSpread[node] += spread;
	}

	child(parent, key, raw) {
		const mask = this.slots.length - 1;
		let at = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(key + 1, 0x85ebca6b)) >>> 3 & mask;

		for (let node; (node = this.slots[at]); at = at + 1 & mask)
			if (this.parent[node] === parent && this.key[node] === key)
				return node;
		this.slots[at] = this.count;
		this.parent[this.count] = parent;
		this.key[this.count] = key;
		this.raw[this.count] = raw;
		return this.count++;
	}

	sum() {
		this.total = this.self.slice(0, this.count);
		for (let node = this.count - 1; node > 0; node--)
			this.total[this.parent[node]] += this.total[node];
		if (!this.ownWas)
			return;
		this.was = this.ownWas.slice(0, this.count);
		this.is = this.ownIs.slice(0, this.count);
		this.spread = this.ownSpread.slice(0, this.count);
		for (let node = this.count - 1; node > 0; node--) {
			this.was[this.parent[node]] += this.was[node];
			this.is[this.parent[node]] += this.is[node];
			this.spread[this.parent[node]] += this.spread[node];
		}
	}

	/* The children of a node are list[start[node]] up to list[start[node + 1]], in the order of their places. */
	arrange() {
		const { count, total, key } = this;
		const bySize = (a, b) => total[b] - total[a] || key[a] - key[b], byName = (a, b) => key[a] - key[b];
		const order = this.options.order === "name" ? byName : bySize;

		this.start = new Int32Array(count + 1);
		this.list = new Int32Array(count);
		this.depth = new Int32Array(count);
		this.x = new Float64Array(count);
		this.deepest = 0;
		for (let node = 1; node < count; node++)
			this.start[this.parent[node] + 1]++;
		for (let node = 0; node < count; node++)
			this.start[node + 1] += this.start[node];
		const next = this.start.slice();

		for (let node = 1; node < count; node++)
			this.list[next[this.parent[node]]++] = node;
		for (let node = 0; node < count; node++) {
			const children = this.list.subarray(this.start[node], this.start[node + 1]);
			let x = this.x[node];

			if (children.length > 1)
				children.sort(order);
			for (const child of children) {
				this.x[child] = x;
				this.depth[child] = this.depth[node] + 1;
				this.deepest = Math.max(this.deepest, this.depth[child]);
				x += total[child];
			}
		}
	}

	/* Is a box for a function, not for a line? */
	merged(node) {
		return this.options.functions || node === 0;
	}

	text(node) {
		return this.profile.text(this.key[node], this.merged(node));
	}

	layer(node) {
		return this.profile.layerOf(this.key[node]);
	}

	/* The nodes from the root to this one. */
	path(node) {
		const path = [];

		for (; node >= 0; node = this.parent[node])
			path.push(node);
		return path.reverse();
	}

	/* The node that a path of texts leads to, or -1. */
	find(texts) {
		let node = 0;

		for (const text of texts) {
			const children = this.list.subarray(this.start[node], this.start[node + 1]);

			node = children.find((child) => this.text(child) === text) ?? -1;
			if (node < 0)
				break;
		}
		return node;
	}

	/* The deepest node at a place, at most `depth` deep; -1: nothing is there. */
	at(x, depth) {
		let node = 0;

		while (this.depth[node] < depth) {
			let low = this.start[node], high = this.start[node + 1];
			const end = high;

			while (low < high) { /* the first child that ends after x */
				const middle = low + high >> 1, child = this.list[middle];

				if (this.x[child] + this.total[child] > x)
					high = middle;
				else
					low = middle + 1;
			}
			if (low === end || this.x[this.list[low]] > x)
				return -1;
			node = this.list[low];
		}
		return node;
	}

	/*
	 * Which keys a regular expression matches, and how many samples of a subtree have a match in their stack. A
	 * sample counts once, however many of its frames match.
	 */
	search(regex, top) {
		const keys = new Uint8Array(this.profile.keys), covered = new Uint8Array(this.count);
		const tested = new Uint8Array(this.profile.keys), nodes = [];
		let matched = 0, inTop = 0;

		for (let node = 1; node < this.count; node++) {
			const key = this.key[node];

			if (!tested[key]) {
				tested[key] = 1;
				keys[key] = regex.test(this.text(node)) ? 1 : 0;
			}
			covered[node] = covered[this.parent[node]];
			if (!keys[key])
				continue;
			nodes.push(node);
			if (!covered[node]) {
				covered[node] = 1;
				matched += this.total[node];
				if (this.inside(node, top))
					inTop += this.total[node];
			}
		}
		if (covered[top])
			inTop = this.total[top];
		nodes.sort((a, b) => this.x[a] - this.x[b] || this.depth[a] - this.depth[b]);
		return { keys, nodes, matched, inTop };
	}

	inside(node, top) {
		return this.depth[node] >= this.depth[top] && this.x[node] >= this.x[top] &&
			this.x[node] < this.x[top] + this.total[top];
	}

	/*
	 * Self and total of every function, line or module below a node. Recursion counts once: a row's total grows only where it
	 * is not on the stack already.
	 */
	functions(top, by = "function") {
		const { profile } = this, rows = new Map(), stack = [top], active = new Int32Array(profile.keys);
		const rowOf = by === "module" ? profile.moduleOf : by === "line" ? null : profile.functionOf;

		while (stack.length) {
			const entry = stack.pop(), node = entry < 0 ? ~entry : entry, key = this.key[node];
			const frame = key >= 0 && key < profile.frames;
			const name = !frame ? -1 : rowOf ? rowOf[key] : key;

			if (entry < 0) { /* everything above it has been seen */
				active[name]--;
				continue;
			}
			if (frame)
				stack.push(~node);
			for (let i = this.start[node]; i < this.start[node + 1]; i++)
				stack.push(this.list[i]);
			if (!frame)
				continue;
			if (!rows.has(name))
				rows.set(name, { key: by === "function" ? name : key, id: name, self: 0, total: 0, ownWas: 0, ownIs: 0, ownSpread: 0, was: 0, is: 0, spread: 0 });
			const row = rows.get(name), first = !active[name]++;

			row.self += this.self[node];
			row.total += first ? this.total[node] : 0;
			if (!this.was)
				continue;
			row.ownWas += this.ownWas[node];
			row.ownIs += this.ownIs[node];
			row.ownSpread += this.ownSpread[node];
			row.was += first ? this.was[node] : 0;
			row.is += first ? this.is[node] : 0;
			row.spread += first ? this.spread[node] : 0;
		}
		return [...rows.values()];
	}

	/* The share of samples whose innermost frame is in each layer. */
	layers() {
		const self = [0, 0, 0, 0, 0];

		for (let node = 0; node < this.count; node++)
			self[this.layer(node)] += this.self[node];
		return self;
	}
}
