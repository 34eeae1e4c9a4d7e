// SPDX-License-Identifier: GPL-2.0-or-later
/* stats: the figures of a recording as one JSON object for scripts; docs/OUTPUT.md has the keys. */
#include <inttypes.h>
#include <math.h>

#include "export/common.h"
#include "export/export.h"

/* JSON has no NaN and no infinity. */
static double number(double value)
{
	return isfinite(value) ? value : 0;
}

/* `"name": {"reason": count, ...}`: the reasons that occurred; notes, or all the others. */
static void write_reasons(FILE *out, const char *name, const uint64_t counts[LOSS_COUNT], bool notes)
{
	const char *separator = "";
	unsigned int i;

	fprintf(out, "\"%s\": {", name);
	for (i = 0; i < LOSS_COUNT; i++) {
		if (!loss_key(i) || !counts[i] || (loss_kind(i) == LOSS_KIND_NOTE) != notes)
			continue;
		fprintf(out, "%s\"%s\": %" PRIu64, separator, loss_key(i), counts[i]);
		separator = ", ";
	}
	fputc('}', out);
}

static void write_verify(FILE *out, const struct profile_verify *v)
{
	fprintf(out,
		"  \"verify\": {\"chosen\": %" PRIu64 ", \"samples\": %" PRIu64 ", \"agree\": %" PRIu64
		", \"differ\": %" PRIu64 ", \"shorter\": %" PRIu64 ", \"longer\": %" PRIu64 ", \"cut\": %" PRIu64
		", \"guessed\": %" PRIu64 ", ",
		v->chosen, v->samples, v->agree, v->differ, v->shorter, v->longer, v->cut, v->guessed);
	write_reasons(out, "uncompared", v->uncompared, false);
	fputs("},\n", out);
}

static void write_off_cpu(FILE *out, const struct profile_off_cpu *off)
{
	fprintf(out,
		"  \"off_cpu\": {\"waits\": %" PRIu64 ", \"ns\": %" PRIu64 ", \"measured\": %" PRIu64
		", \"measured_ns\": %" PRIu64 ", \"share\": %.6f, \"run_ns\": %" PRIu64 ", \"runs\": %" PRIu64 "},\n",
		off->waits, off->waits_ns, off->measured, off->measured_ns,
		off->waits_ns ? (double)off->measured_ns / (double)off->waits_ns : 1, off->run_ns, off->runs);
}

int export_stats(FILE *out, const struct profile *profile, struct diag *diag)
{
	const struct profile_quality *q = profile_get_quality(profile);
	size_t i;

	fprintf(out, "{\n  \"samples\": %" PRIu64 ",\n  \"complete\": %" PRIu64 ",\n  \"truncated\": %" PRIu64 ",\n",
		q->samples, q->complete, q->truncated);
	fputs("  ", out);
	write_reasons(out, "lost", q->lost, false);
	fputs(",\n  ", out);
	write_reasons(out, "notes", q->lost, true);
	fputs(",\n", out);
	for (i = 0; i < PROFILE_RUNTIMES_MAX && q->runtimes[i].name; i++)
		fprintf(out, "  \"%s_samples\": %" PRIu64 ",\n", q->runtimes[i].name, q->runtimes[i].samples);
	fprintf(out, "  \"late_samples\": %" PRIu64 ",\n", q->late_samples);
	fprintf(out, "  \"unique_stacks\": %" PRIu64 ",\n  \"max_depth\": %" PRIu64 ",\n", q->unique_stacks,
		q->max_depth);
	if (q->verified)
		write_verify(out, &q->verify);
	fputs("  \"remarks\": [", out);
	for (i = 0; profile_remark(profile, i); i++) {
		fputs(i ? ", " : "", out);
		export_json_string(out, profile_remark(profile, i));
	}
	fputs("],\n", out);
	fprintf(out,
		"  \"bpf\": {\"run_ns\": %" PRIu64 ", \"runs\": %" PRIu64 ", \"frames\": %" PRIu64
		", \"thread_states\": %" PRIu64 ", \"worst_ns\": %" PRIu64 ", \"task_ns\": %" PRIu64 "},\n",
		q->bpf_run_ns, q->bpf_runs, q->bpf_frames, q->bpf_thread_states, q->bpf_worst_ns, q->bpf_task_ns);
	if (profile_get_info(profile)->weighed)
		write_off_cpu(out, &q->off_cpu);
	fprintf(out, "  \"self\": {\"cpu_s\": %.6f, \"peak_rss_kb\": %" PRIu64 "},\n  \"startup_ms\": %.3f\n}\n",
		number(q->self_cpu_s), q->self_peak_rss_kb, number(q->startup_ms));
	return export_finish(out, diag);
}
