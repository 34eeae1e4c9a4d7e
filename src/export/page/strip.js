/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * strip.js: the time axis: how many samples there were when, or how much time they stand for, coloured by the layer of
 * their innermost frame. A span that is selected, by dragging or by the arrow keys, is what the other views show.
 */
const STRIP_HEIGHT = 46, LABELS = 14;

class Strip {
	constructor() {
		this.canvas = byId("strip");
		this.context = this.canvas.getContext("2d");
		this.palette = PALETTES.light;
		this.canvas.hidden = !profile.times;
		if (profile.times)
			this.listen();
	}

	setTheme(name) {
		this.palette = PALETTES[name];
		this.draw();
	}

	/* Samples, or time, by slice and layer, of the threads that are shown; with waits only if these are. */
	count() {
		const { times } = profile, threads = threadSet(), { time } = profile, shown = `${settings.waits} ${settings.thread}`;

		if (this.counted === shown && this.counts)
			return;
		this.counted = shown;
		this.counts = [0, 1, 2, 3].map(() => new Float64Array(times.count));
		for (let i = 0; i < time.slice.length; i++) {
			if (threads && !threads.has(time.thread[i]))
				continue;
			const node = time.node[i];

			if (settings.waits && node >= 0 && profile.waiting[node])
				continue;
			this.counts[node < 0 ? MARK : profile.layer[profile.frame[node]]][time.slice[i]] += time.count[i];
		}
	}

	/* All that it shows. */
	total() {
		if (!profile.times)
			return 0;
		this.count();
		return this.counts.reduce((sum, counts) => sum + counts.reduce((all, one) => all + one, 0), 0);
	}

	at(x) {
		return Math.max(0, Math.min(profile.times.count, x / this.width * profile.times.count));
	}

	select(from, to) {
		const first = Math.floor(Math.min(from, to)), last = Math.ceil(Math.max(from, to));

		change({ span: last > first ? [first, Math.min(last, profile.times.count)] : null }, true);
	}

	draw() {
		const { canvas, context, palette } = this;

		if (!profile.times || !this.width)
			return;
		this.count();
		const ratio = window.devicePixelRatio || 1, { count } = profile.times, columns = Math.min(count, Math.floor(this.width));
		const bars = this.counts.map((counts) => {
			const bar = new Float64Array(columns);

			counts.forEach((value, slice) => { bar[Math.floor(slice * columns / count)] += value; });
			return bar;
		});
		const most = Math.max(1, ...Array.from({ length: columns }, (_, i) => bars.reduce((sum, bar) => sum + bar[i], 0)));
		const room = STRIP_HEIGHT - LABELS, step = this.width / columns;

		canvas.width = Math.round(this.width * ratio);
		canvas.height = Math.round(STRIP_HEIGHT * ratio);
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		for (let i = 0; i < columns; i++) {
			let y = room;

			for (const layer of [RUNTIME, NATIVE, KERNEL, MARK]) {
				const height = bars[layer][i] / most * room, [hue, , saturation, light] = palette.layers[layer];

				context.fillStyle = `hsl(${hue} ${saturation}% ${light - 8}%)`;
				context.fillRect(i * step, y - height, Math.max(1, step - (step > 4 ? 1 : 0)), height);
				y -= height;
			}
		}
		this.drawLabels(room);
		this.drawSpan(room);
	}

	drawLabels(room) {
		const { context, palette } = this, { start, width, count } = profile.times, all = width * count;
		const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200].find((one) => all / one <= this.width / 70) || all;

		context.font = "10px system-ui, sans-serif";
		context.textBaseline = "alphabetic";
		context.fillStyle = palette.hint;
		for (let at = Math.ceil(start / step) * step; at < start + all; at += step) {
			const x = (at - start) / all * this.width;

			context.fillRect(x, room, 1, 3);
			context.fillText(clock(at), x + 3, STRIP_HEIGHT - 3);
		}
	}

	drawSpan(room) {
		const { context, palette } = this, span = this.dragged || settings.span;

		if (!span)
			return;
		const [from, to] = span.map((slice) => slice / profile.times.count * this.width);

		context.fillStyle = palette.edge;
		context.globalAlpha = 0.16;
		context.fillRect(Math.min(from, to), 0, Math.abs(to - from), room);
		context.globalAlpha = 1;
		context.fillRect(Math.min(from, to) - 1, 0, 2, room);
		context.fillRect(Math.max(from, to) - 1, 0, 2, room);
	}

	resize() {
		this.width = this.canvas.clientWidth;
		this.draw();
	}

	/* The span in words; empty without one. */
	words() {
		const { start, width } = profile.times || {};

		return settings.span ? `${clock(start + settings.span[0] * width)} – ${clock(start + settings.span[1] * width)}` : "";
	}

	listen() {
		const { canvas } = this, place = (event) => this.at(event.clientX - canvas.getBoundingClientRect().left);
		let from = -1;

		canvas.addEventListener("pointerdown", (event) => {
			from = place(event);
			canvas.setPointerCapture(event.pointerId);
		});
		canvas.addEventListener("pointermove", (event) => {
			if (from < 0)
				return;
			this.dragged = [from, place(event)];
			this.draw();
		});
		canvas.addEventListener("pointerup", (event) => {
			const to = place(event), moved = Math.abs(to - from) / profile.times.count * this.width;

			this.dragged = null;
			if (moved < 3) /* a click: everything */
				this.select(0, 0);
			else
				this.select(from, to);
			from = -1;
		});
		canvas.addEventListener("keydown", (event) => {
			const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], { count } = profile.times;
			const [first, last] = settings.span || [0, Math.max(1, Math.round(count / 10))];

			if (!step)
				return;
			event.preventDefault();
			event.stopPropagation();
			const by = step * Math.max(1, Math.round((last - first) / 4));

			if (event.shiftKey)
				this.select(first, Math.max(first + 1, Math.min(count, last + by)));
			else if (first + by >= 0 && last + by <= count)
				this.select(first + by, last + by);
		});
		new ResizeObserver(() => this.resize()).observe(canvas);
	}
}

function clock(time) {
	const whole = Math.floor(time), two = (value) => String(value).padStart(2, "0");

	if (time < 60)
		return `${Number(time.toFixed(2))} s`;
	return `${whole >= 3600 ? `${Math.floor(whole / 3600)}:` : ""}${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}
