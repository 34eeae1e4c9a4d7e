/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff.js: two recordings in one page. A node has samples before and after; a weight makes them comparable. What may
 * be chance is grey: the same test as in src/diff/compare.h. `spread` is a node's variance, where times are compared.
 */
const LEAST_SAMPLES = 10, CRITICAL = 10.828; /* chi-squared, one degree of freedom, p = 0.001 */
const ROUNDING = 1e-12; /* of a share */
const FULL = 1; /* a change by this power of two, up or down, has the full colour */

function compareCell(seen, expected) {
	return seen > 0 && expected > 0 ? seen * Math.log(seen / expected) : 0;
}

function differs(compared, before, after, spread) {
	if (compared.times) {
		const was = before * compared.weightBefore, is = after * compared.weight, middle = (was + is) / 2;
		const variance = compared.byTime ? spread : (1 - 2 * middle) * spread + middle * middle * compared.spread;

		return (was + is) ** 2 >= LEAST_SAMPLES * spread && Math.abs(is - was) > ROUNDING * (is + was) &&
			(is - was) ** 2 > CRITICAL * Math.max(variance, 0);
	}
	const exposedBefore = 1 / compared.weightBefore, exposed = 1 / compared.weight;
	const share = exposedBefore / (exposedBefore + exposed);
	const row = (was, is) => compareCell(was, (was + is) * share) + compareCell(is, (was + is) * (1 - share));
	const off = (before + after) * share - before;

	if (before + after < LEAST_SAMPLES || Math.abs(off) <= 0.5)
		return false;
	const was = before + Math.sign(off) / 2, is = after - Math.sign(off) / 2; /* corrected for continuity: counts are whole */
	const g = row(was, is) + (compared.byTime ? 0 : row(exposedBefore - was, exposed - is));

	return 2 * g > CRITICAL;
}

/* From -1, all of it is gone, by 0, the same or chance, to 1, it is new. */
function changeOf(compared, before, after, spread) {
	if (!differs(compared, before, after, spread))
		return 0;
	const ratio = Math.log2((after * compared.weight) / (before * compared.weightBefore));

	return Math.max(-1, Math.min(1, ratio / FULL));
}

/* The difference in percent of what is compared. */
function points(compared, before, after) {
	return 100 * (after * compared.weight - before * compared.weightBefore);
}

function signed(value) {
	return `${value > 0 ? "+" : value < 0 ? "−" : "±"}${Math.abs(value).toFixed(2)} %`;
}

/* Samples or microseconds in words. */
const much = (count) => profile.compared.times ? seconds(count / 1e6) : `${grouped(count)} samples`;

const share = (count, weight) => `${(100 * count * weight).toFixed(2)} %`;

/* What changed in a node, in words. */
function changeWords(before, after, spread) {
	const { compared } = profile, clear = differs(compared, before, after, spread);

	return `${share(before, compared.weightBefore)} → ${share(after, compared.weight)}, ` +
		`${signed(points(compared, before, after))}${clear ? "" : ", may be chance"}`;
}

function compareDetails(footer, of, node) {
	const { compared } = profile, before = of.was[node], after = of.is[node], own = [of.ownWas[node], of.ownIs[node]], spread = of.spread[node];

	footer.replaceChildren(
		element("span", { className: "frame" }, of.text(node), element("small", {}, layerName(node, of))),
		figure(share(before, compared.weightBefore), `before · ${much(before)}`),
		figure(share(after, compared.weight), `after · ${much(after)}`),
		figure(signed(points(compared, before, after)), differs(compared, before, after, spread) ? "changed" : "may be chance"),
		figure(signed(points(compared, ...own)), differs(compared, ...own, of.ownSpread[node]) ? "own, changed" : "own, may be chance"));
}

/* The page of two recordings: what it compares stands where else the data's quality does. */
function makeComparison() {
	const { compared } = profile;

	for (const id of ["quality-button", "thread", "by-thread"])
		byId(id).closest(".toggle, .badge, select").hidden = true;
	byId("legend").classList.add("compared"); /* colours mean something else */
	byId("side").hidden = byId("scale").hidden = false;
	byId("facts").textContent = `Before: ${much(compared.samplesBefore)} · after: ${much(compared.samples)} · ` +
		(compared.byTime ? compared.times ? "compared by time for each second (% of one thread)" : "compared by CPU time for each second (% of one CPU)" :
			`compared by share of all ${compared.times ? "time" : "samples"}`);
}
