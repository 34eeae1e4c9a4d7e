/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chart.js: a view drawn on a canvas that is as large as the window's part, not as the graph.
 *
 * Horizontally the window [from, to) of samples is shown; zooming moves it. Vertically the element scrolls. Boxes
 * narrower than a pixel are not visited one by one: a run of them beside each other becomes one pale box in the
 * first one's colour, and what stands on them is left out; the cost of a frame is bounded by the pixels, not by the stacks.
 */
const ROW = 20, NARROW = 1, GAP = 1, ANIMATION_MS = 180;

/* How a theme draws each layer: hue range, saturation, lightness range. */
const PALETTES = {
	light: {
		layers: [[4, 14, 62, 76, 81], [200, 214, 42, 76, 83], [37, 47, 84, 69, 77], [0, 0, 0, 80, 83], [228, 228, 14, 88, 88]],
		text: "#20242c", hint: "rgba(32,36,44,.62)", match: "#c94fa8", matchText: "#ffffff",
		edge: "#0b57d0", hover: "#3c4450", hatch: "rgba(60,60,60,.28)", same: "hsl(220 6% 86%)",
		more: (part) => `hsl(8 ${30 + 60 * part}% ${84 - 16 * part}%)`, less: (part) => `hsl(212 ${30 + 55 * part}% ${84 - 14 * part}%)`,
	},
	dark: {
		layers: [[3, 13, 36, 37, 42], [203, 214, 28, 35, 41], [36, 44, 50, 33, 39], [0, 0, 0, 31, 34], [226, 226, 10, 25, 25]],
		text: "#f1f1ee", hint: "rgba(241,241,238,.62)", match: "#b23a93", matchText: "#ffffff",
		edge: "#8ab4ff", hover: "#d5d9e0", hatch: "rgba(230,230,230,.2)", same: "hsl(220 5% 27%)",
		more: (part) => `hsl(8 ${20 + 45 * part}% ${30 + 10 * part}%)`, less: (part) => `hsl(212 ${20 + 45 * part}% ${30 + 12 * part}%)`,
	},
	contrast: {
		layers: [[10, 10, 100, 72, 72], [195, 195, 100, 78, 78], [50, 50, 100, 62, 62], [0, 0, 0, 84, 84], [0, 0, 0, 95, 95]],
		text: "#000000", hint: "#000000", match: "#7a0060", matchText: "#ffffff",
		edge: "#0000ff", hover: "#000000", hatch: "rgba(0,0,0,.5)", same: "hsl(0 0% 92%)",
		more: (part) => `hsl(14 100% ${82 - 20 * part}%)`, less: (part) => `hsl(195 100% ${84 - 20 * part}%)`,
	},
};
const SHADES = 6;

class Chart {
	constructor(scroller, canvas, spacer) {
		this.scroller = scroller;
		this.canvas = canvas;
		this.spacer = spacer;
		this.context = canvas.getContext("2d");
		this.flame = false;
		this.zoomed = this.selected = 0;
		this.hovered = -1;
		this.found = null;	  /* what search() gave */
		this.spotlight = -1;	  /* a layer to show while the others fade */
		this.from = 0;
		this.to = 1;
		this.boxes = 0;		  /* drawn by the last draw() */
		this.widths = new Map();
		this.setTheme("light");
		scroller.addEventListener("scroll", () => this.schedule(), { passive: true });
	}

	setTheme(name) {
		this.palette = PALETTES[name];
		this.contrast = name === "contrast";
		this.fills = this.palette.layers.map(([hue0, hue1, saturation, light0, light1]) =>
			Array.from({ length: SHADES }, (_, i) => {
				const part = i / (SHADES - 1), hue = hue0 + (hue1 - hue0) * part;

				/* Lightness in another order than hue, so that neighbours differ. */
				const light = light0 + (light1 - light0) * ((i * 2) % SHADES) / (SHADES - 1);

				return `hsl(${hue} ${saturation}% ${light}%)`;
			}));
		this.schedule();
	}

	setView(view) {
		const { profile } = view;

		this.view = view;
		if (!this.shades) {
			this.shades = new Uint8Array(profile.keys);
			for (let key = 0; key < profile.frames; key++) {
				const group = profile.layer[key] === KERNEL ? profile.name[key] : profile.file[key];

				this.shades[key] = hashOf(group) % SHADES;
			}
		}
		this.hovered = -1;
		this.found = null;
	}

	resize() {
		const ratio = window.devicePixelRatio || 1, { clientWidth, clientHeight } = this.scroller;
		const width = Math.max(1, Math.round(clientWidth * ratio)), height = Math.max(1, Math.round(clientHeight * ratio));

		this.spacer.style.height = `${Math.max(0, this.graphHeight - clientHeight)}px`;
		if (this.canvas.width === width && this.canvas.height === height)
			return;
		this.width = clientWidth;
		this.height = clientHeight;
		this.ratio = ratio;
		this.canvas.style.width = `${clientWidth}px`;
		this.canvas.style.height = `${clientHeight}px`;
		this.canvas.width = width; /* this empties the canvas: */
		this.canvas.height = height;
		this.draw();
	}

	get graphHeight() {
		return (this.view.deepest + 1) * ROW + 8;
	}

	/* The top of a row in the canvas. */
	rowTop(depth) {
		if (!this.flame)
			return depth * ROW + 2 - this.scroller.scrollTop;
		return Math.max(this.graphHeight, this.height) - 4 - (depth + 1) * ROW - this.scroller.scrollTop;
	}

	/* The box of a node in the canvas, clipped at the sides. */
	box(node) {
		const { view } = this, scale = this.width / (this.to - this.from);
		const left = Math.max(0, (view.x[node] - this.from) * scale);
		const right = Math.min(this.width, (view.x[node] + view.total[node] - this.from) * scale);

		return { x: left, y: this.rowTop(view.depth[node]), width: right - left, height: ROW };
	}

	nodeAt(x, y) {
		const step = this.flame ? Math.max(this.graphHeight, this.height) - 4 - y - this.scroller.scrollTop :
			y - 2 + this.scroller.scrollTop;
		const depth = Math.floor(step / ROW);

		if (depth < 0 || depth > this.view.deepest)
			return -1;
		return this.view.at(this.from + x / this.width * (this.to - this.from), depth);
	}

	zoom(node, animate) {
		const { view } = this;

		this.zoomed = node;
		this.target = [view.x[node], view.x[node] + Math.max(view.total[node], 1e-9)];
		this.began = animate ? performance.now() : 0;
		this.origin = [this.from, this.to];
		if (!animate)
			[this.from, this.to] = this.target;
		this.reveal(node, true);
		this.schedule();
	}

	/* Scrolls so that a node's row is seen; after a zoom with room for what stands on it. */
	reveal(node, room) {
		const y = this.rowTop(this.view.depth[node]), margin = room ? this.height * 0.6 : ROW * 2;
		const low = this.flame ? margin : ROW * 2, high = this.height - (this.flame ? ROW * 2 : margin);

		if (y < low)
			this.scroller.scrollTop -= Math.max(low, ROW * 2) - y;
		else if (y + ROW > high)
			this.scroller.scrollTop += y + ROW - high;
	}

	schedule() {
		if (!this.pending && this.view)
			this.pending = requestAnimationFrame(() => {
				this.pending = 0;
				this.step();
				this.draw();
			});
	}

	step() {
		if (!this.began)
			return;
		const part = Math.min(1, (performance.now() - this.began) / ANIMATION_MS), ease = 1 - (1 - part) ** 3;

		this.from = this.origin[0] + (this.target[0] - this.origin[0]) * ease;
		this.to = this.origin[1] + (this.target[1] - this.origin[1]) * ease;
		if (part === 1) {
			this.began = 0;
			[this.from, this.to] = this.target;
		} else {
			this.schedule();
		}
	}

	/* Draws everything that is seen; returns how long it took in milliseconds. */
	draw() {
		const start = performance.now(), { context, view } = this, scale = this.width / (this.to - this.from);
		const stack = [0];

		context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		context.clearRect(0, 0, this.width, this.height);
		context.font = "12px system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";
		context.textBaseline = "middle";
		this.boxes = 0;
		this.runs = [];
		while (stack.length) {
			const node = stack.pop(), y = this.rowTop(view.depth[node]);

			if (y > -ROW && y < this.height)
				this.drawBox(node, y, scale);
			if (this.flame ? y < -ROW : y > this.height)
				continue;
			this.visit(node, stack, scale);
		}
		this.drawRuns();
		this.drawEdges();
		return (this.drawMs = performance.now() - start);
	}

	/* Pushes a node's children that are wide enough; notes the runs of the others. */
	visit(node, stack, scale) {
		const { view } = this, y = this.rowTop(view.depth[node] + 1);
		let runFrom = -1, runTo = -1, layer = 0;

		for (let i = view.start[node]; i < view.start[node + 1]; i++) {
			const child = view.list[i], left = (view.x[child] - this.from) * scale;
			const right = left + view.total[child] * scale;

			if (right <= 0)
				continue;
			if (left >= this.width)
				break;
			if (right - left >= NARROW) {
				stack.push(child);
				continue;
			}
			if (left > runTo + 0.01 && runFrom >= 0) {
				this.runs.push(runFrom, runTo, y, layer);
				runFrom = -1;
			}
			if (runFrom < 0) {
				runFrom = left;
				layer = view.layer(child);
			}
			runTo = right;
		}
		if (runFrom >= 0)
			this.runs.push(runFrom, runTo, y, layer);
	}

	drawRuns() {
		const { context } = this;

		for (let i = 0; i < this.runs.length; i += 4) {
			const [left, right, y, layer] = this.runs.slice(i, i + 4);

			if (y <= -ROW || y >= this.height || right - left < 0.4)
				continue;
			context.globalAlpha = this.found || (this.spotlight >= 0 && this.spotlight !== layer) ? 0.2 : 0.5;
			context.fillStyle = this.view.was ? this.palette.same : this.fills[layer][0];
			context.fillRect(left, y, Math.max(0.5, right - left - GAP * 0.5), ROW - GAP);
		}
		context.globalAlpha = 1;
	}

	drawBox(node, y, scale) {
		const { context, view, palette } = this, key = view.key[node], layer = view.layer(node);
		const left = Math.max(0, (view.x[node] - this.from) * scale);
		const right = Math.min(this.width, (view.x[node] + view.total[node] - this.from) * scale);
		const width = right - left - (right - left > 3 ? GAP : GAP * 0.3);

		if (right <= 0 || left >= this.width || width <= 0)
			return;
		const match = this.found && key >= 0 && this.found.keys[key];
		const faded = (this.found && !match) || (this.spotlight >= 0 && this.spotlight !== layer);
		const outer = view.depth[node] < view.depth[this.zoomed];

		this.boxes++;
		context.globalAlpha = faded ? 0.38 : outer ? 0.6 : 1;
		context.fillStyle = match ? palette.match : this.fillOf(node, layer);
		this.shape(left, y, width);
		context.fill();
		if (layer === MARK && !match && width > 4)
			this.hatch(left, y, width);
		if (this.contrast && width > 6) {
			context.strokeStyle = "#000";
			context.lineWidth = 1;
			context.stroke();
		}
		context.globalAlpha = faded ? 0.75 : 1;
		if (width > 22)
			this.label(node, left + 5, y + (ROW - GAP) / 2 + 0.5, width - 9, match);
		context.globalAlpha = 1;
	}

	/* Of one recording a box has its layer's colour; of two, what changed. */
	fillOf(node, layer) {
		const { view, palette } = this, key = view.key[node];

		if (!view.was)
			return this.fills[layer][key >= 0 ? this.shades[key] : 0];
		const change = changeOf(view.profile.compared, view.was[node], view.is[node], view.spread[node]);

		return change > 0 ? palette.more(change) : change < 0 ? palette.less(-change) : palette.same;
	}

	shape(left, y, width) {
		const { context } = this;

		context.beginPath();
		if (width > 6 && !this.contrast)
			context.roundRect(left, y, width, ROW - GAP, 2.5);
		else
			context.rect(left, y, width, ROW - GAP);
	}

	hatch(left, y, width) {
		const { context } = this;

		context.save();
		context.clip();
		context.strokeStyle = this.palette.hatch;
		context.lineWidth = 1.5;
		context.beginPath();
		for (let x = left - ROW; x < left + width; x += 7) {
			context.moveTo(x, y + ROW);
			context.lineTo(x + ROW, y);
		}
		context.stroke();
		context.restore();
	}

	drawEdges() {
		const { context } = this;

		for (const [node, color, line] of [[this.hovered, this.palette.hover, 1.2], [this.selected, this.palette.edge, 2]]) {
			if (node < 0 || (node === 0 && line === 2 && document.activeElement !== this.canvas))
				continue;
			const box = this.box(node);

			if (box.width <= 0 || box.y < -ROW || box.y > this.height)
				continue;
			context.strokeStyle = color;
			context.lineWidth = line;
			this.shape(box.x + line / 2, box.y + line / 2 - 0.5, Math.max(1.5, box.width - line - GAP));
			context.beginPath();
			context.roundRect(box.x + line / 2, box.y + line / 2 - 0.5, Math.max(1.5, box.width - line - GAP),
				ROW - GAP - line + 1, 2);
			context.stroke();
		}
	}

	label(node, x, y, room, match) {
		const { context, view, palette } = this, { profile } = view, key = view.key[node];
		const name = profile.nameOf(key), used = this.measure(name, room);

		context.fillStyle = match ? palette.matchText : palette.text;
		if (used > room) {
			context.fillText(this.cut(name, room), x, y);
			return;
		}
		context.fillText(name, x, y);
		const hint = profile.isIdle(key) ? amount(view.total[node]) : profile.hintOf(key, view.merged(node)), rest = room - used - 8;

		if (hint && rest > 30) {
			context.fillStyle = match ? palette.matchText : palette.hint;
			context.fillText(this.measure(hint, rest) <= rest ? hint : this.cut(hint, rest), x + used + 8, y);
		}
	}

	/* Widths are added up by character: measuring each text would take most of the time of drawing. */
	charWidth(char) {
		let width = this.widths.get(char);

		if (width === undefined) {
			width = this.context.measureText(char).width;
			this.widths.set(char, width);
		}
		return width;
	}

	/* The width of a text, or of as much of it as exceeds the limit: C++ names may be very long. */
	measure(text, limit) {
		let width = 0;

		for (const char of text) {
			width += this.charWidth(char);
			if (width > limit)
				break;
		}
		return width;
	}

	cut(text, room) {
		let width = this.charWidth("…"), kept = "";

		for (const char of text) {
			width += this.charWidth(char);
			if (width > room)
				break;
			kept += char;
		}
		return kept.length > 1 ? kept + "…" : "";
	}
}
