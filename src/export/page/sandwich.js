/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandwich.js: all callers of a function, above it, and all that it calls, below it, wherever in the stacks it is.
 *
 * In recursion the outermost of its frames counts, so both halves add up to the function's total.
 */
class Around extends View {
	/* The outermost nodes of options.focus in options.source. `below`: nodes that have one on their path. */
	tops() {
		const { source, focus } = this.options, { profile } = source, tops = [];

		this.below = new Uint8Array(source.count);
		for (let node = 1; node < source.count; node++) {
			const key = source.key[node], parent = source.parent[node];

			this.below[node] = this.below[parent];
			if (!this.below[node] && key < profile.frames && profile.functionOf[key] === focus) {
				this.below[node] = 1;
				tops.push(node);
			}
		}
		return tops;
	}

	take(node, from, whole) {
		const { source } = this.options;

		this.self[node] += (whole ? source.total : source.self)[from];
		if (!this.ownWas)
			return;
		this.ownWas[node] += (whole ? source.was : source.ownWas)[from];
		this.ownIs[node] += (whole ? source.is : source.ownIs)[from];
		this.ownSpread[node] += (whole ? source.spread : source.ownSpread)[from];
	}
}

class Callers extends Around {
	merge() {
		const { source, focus } = this.options, tops = this.tops();

		this.reserve(tops.reduce((sum, top) => sum + source.depth[top], 1));
		this.key[0] = focus;
		for (const top of tops) {
			let at = 0;

			for (let node = source.parent[top]; node > 0; node = source.parent[node])
				at = this.child(at, source.key[node], source.raw[node]);
			this.take(at, top, true);
		}
	}
}

class Callees extends Around {
	merge() {
		const { source, focus } = this.options, tops = new Set(this.tops()), at = new Int32Array(source.count);

		this.reserve(this.below.reduce((sum, below) => sum + below, 1));
		this.key[0] = focus;
		for (let node = 1; node < source.count; node++) {
			if (!this.below[node])
				continue;
			at[node] = tops.has(node) ? 0 : this.child(at[source.parent[node]], source.key[node], source.raw[node]);
			this.take(at[node], node, false);
		}
	}
}

class Sandwich {
	constructor() {
		this.charts = ["callers", "callees"].map((id) => {
			const half = byId(id);

			return new Chart(half, half.querySelector("canvas"), half.querySelector(".spacer"));
		});
		this.charts[0].flame = true;
	}

	setTheme(theme) {
		this.charts.forEach((one) => one.setTheme(theme));
	}

	/* The function with the most own samples, where none was chosen. */
	busiest() {
		return view.functions(0).reduce((best, row) => row.self > best.self ? row : best, { key: -1, self: -1 }).key;
	}

	show(focus) {
		if (focus < 0 || focus >= profile.frames)
			focus = settings.focus = this.busiest();
		if (focus < 0)
			return;
		if (this.source !== view || this.focus !== focus) {
			this.source = view;
			this.focus = focus;
			[Callers, Callees].forEach((Made, i) => {
				this.charts[i].setView(new Made(profile, { ...view.options, source: view, focus }));
				this.charts[i].resize();
				this.charts[i].zoom(0, false);
			});
			this.charts[0].scroller.scrollTop = this.charts[0].graphHeight;
		}
		this.charts.forEach((one) => one.resize());
		this.tell();
		this.draw();
	}

	tell() {
		const { view: callees } = this.charts[1], all = view.total[0];

		byId("focus").replaceChildren(element("b", {}, profile.text(this.focus, true)), ...(view.was ?
			[element("span", {}, changeWords(callees.was[0], callees.is[0], callees.spread[0]))] :
			[element("span", {}, `total ${grouped(callees.total[0])} · ${percent(callees.total[0], all)}`),
				element("span", {}, `self ${grouped(callees.self[0])} · ${percent(callees.self[0], all)}`)]),
		element("span", {}, "callers above, callees below; a click goes to that function"));
	}

	draw() {
		return this.charts.reduce((sum, one) => sum + one.draw(), 0);
	}

	nodes() {
		return Object.fromEntries(["callers", "callees"].map((name, i) => {
			const { view: one } = this.charts[i];

			return [name, Array.from({ length: one.count }, (_, node) => ({
				text: one.text(node), total: one.total[node], self: one.self[node], depth: one.depth[node],
			}))];
		}));
	}

	listen() {
		for (const one of this.charts) {
			const at = (event) => {
				const { left, top } = one.canvas.getBoundingClientRect();

				return one.nodeAt(event.clientX - left, event.clientY - top);
			};
			const leave = () => {
				one.hovered = -1;
				byId("tip").hidden = true;
				one.schedule();
			};

			one.canvas.addEventListener("pointermove", (event) => {
				const node = at(event);

				one.canvas.classList.toggle("over", node >= 0);
				if (node < 0) {
					leave();
					return;
				}
				one.hovered = node;
				this.showTip(one.view, node, event);
				one.schedule();
			});
			one.canvas.addEventListener("pointerleave", leave);
			one.canvas.addEventListener("click", (event) => {
				const node = at(event);

				if (node > 0)
					focusOn(one.view.key[node]);
			});
			new ResizeObserver(() => one.view && one.resize()).observe(one.scroller);
		}
	}

	showTip(of, node, event) {
		const tip = byId("tip"), total = of.total[node];

		tip.replaceChildren(element("b", {}, of.text(node)), element("span", {}, of.was ? changeWords(of.was[node], of.is[node], of.spread[node]) :
			`${layerName(node, of)} · ${grouped(total)} samples · ${percent(total, view.total[0])} of all · ` +
			`${percent(total, of.total[0])} of this function's`));
		placeTip(tip, event);
	}
}
