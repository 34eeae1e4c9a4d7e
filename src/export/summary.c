// SPDX-License-Identifier: GPL-2.0-or-later
/* summary: what came of a recording, in a few lines for people; what is missing comes with its reason. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "abi/loss.h"
#include "export/common.h"
#include "export/export.h"
#include "profile/text.h"

#define TICKS_WORTH   200 /* missed ticks are told from one in so many on; strata itself makes it miss a few */
#define COMMAND_MAX   255 /* bytes of it that are shown */
#define TASK_NS_SHOWN 50  /* of a sample: what is less is 0.0 us */

struct style {
	const char *bold, *good, *warn, *dim, *off;
};

static const struct style plain = {"", "", "", "", ""};
static const struct style colored = {"\033[1m", "\033[32m", "\033[33m", "\033[2m", "\033[0m"};

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Rounded towards what is worse: 99.999 % is not "100.00 %". */
static double percent_down(uint64_t part, uint64_t whole)
{
	return part == whole ? 100 : floor(percent(part, whole) * 100) / 100;
}

static void write_head(FILE *out, const struct profile *profile, const struct style *style)
{
	const struct profile_info *info = profile_get_info(profile);
	char number[32];

	fprintf(out, "%s%s samples%s", style->bold, export_grouped(profile_get_quality(profile)->samples, number),
		style->off);
	if (info->duration_s > 0)
		fprintf(out, " in %.1f s", info->duration_s);
	if (info->frequency)
		fprintf(out, " at %u Hz", info->frequency);
	if (*info->command) {
		fprintf(out, " %s(", style->dim);
		text_print(out, info->command, strnlen(info->command, COMMAND_MAX));
		fprintf(out, ")%s", style->off);
	}
	putc('\n', out);
}

/* All waits, and how many of them, by time, were looked at one by one. */
static void write_off_cpu(FILE *out, const struct profile_off_cpu *off)
{
	char waits[32], measured[32];

	fprintf(out, "  %-10s %12s  waits, %.2f s", "off CPU", export_grouped(off->waits, waits),
		(double)off->waits_ns / 1e9);
	if (off->measured < off->waits)
		fprintf(out, "; %s of them, %.2f %% of that time, were measured, and the others by sampling these",
			export_grouped(off->measured, measured), percent_down(off->measured_ns, off->waits_ns));
	putc('\n', out);
}

static void write_share(FILE *out, const char *label, uint64_t part, uint64_t whole, const char *color,
			const struct style *style)
{
	char number[32];

	fprintf(out, "  %-10s %12s  %s%6.2f %%%s\n", label, export_grouped(part, number), color,
		percent_down(part, whole), style->off);
}

static void write_reasons(FILE *out, const struct profile_quality *q, const struct style *style)
{
	char number[32];
	unsigned int i;

	for (i = 0; i < LOSS_COUNT; i++) {
		if (!loss_key(i) || !q->lost[i] || (i == LOSS_TICKS && q->lost[i] < q->bpf_runs / TICKS_WORTH))
			continue;
		fprintf(out, "    %-16s %6s  %s\n", loss_key(i), export_grouped(q->lost[i], number), loss_meaning(i));
		fprintf(out, "    %25s%sto do: %s%s\n", "", style->dim, loss_advice(i), style->off);
	}
}

static void write_cost(FILE *out, const struct profile *profile)
{
	const struct profile_quality *q = profile_get_quality(profile);
	double duration = profile_get_info(profile)->duration_s;

	fprintf(out, "  %-10s ", "cost");
	if (q->bpf_runs && q->samples) {
		fprintf(out, "%.1f µs a sample in the kernel", (double)q->bpf_run_ns / (double)q->samples / 1e3);
		if (q->bpf_frames)
			fprintf(out, " (%.0f ns a frame)",
				(double)(q->bpf_run_ns + q->bpf_task_ns) / (double)q->bpf_frames);
		if (q->bpf_worst_ns)
			fprintf(out, ", %.0f µs the longest", (double)q->bpf_worst_ns / 1e3);
		if (q->bpf_task_ns / q->samples >= TASK_NS_SHOWN)
			fprintf(out, ", %.1f µs in the threads' own time",
				(double)q->bpf_task_ns / (double)q->samples / 1e3);
		fputs("; ", out);
	}
	if (q->off_cpu.runs && q->off_cpu.waits)
		fprintf(out, "%.2f µs a wait; ", (double)q->off_cpu.run_ns / (double)q->off_cpu.waits / 1e3);
	fprintf(out, "strata itself %.2f s of CPU", q->self_cpu_s);
	if (duration > 0)
		fprintf(out, " (%.1f %% of a core)", 100 * q->self_cpu_s / duration);
	fprintf(out, ", %.0f MB; started in %.0f ms\n", (double)q->self_peak_rss_kb / 1024, q->startup_ms);
}

/* What was chosen to be verified, and could not be: by reasons. */
static void write_uncompared(FILE *out, const struct profile_verify *v)
{
	const char *before = " (";
	char number[32];
	unsigned int i;

	if (v->chosen <= v->samples)
		return;
	fprintf(out, "; could not be compared: %s", export_grouped(v->chosen - v->samples, number));
	for (i = 0; i < LOSS_COUNT; i++) {
		if (!loss_key(i) || !v->uncompared[i])
			continue;
		fprintf(out, "%s%s %s", before, loss_key(i), export_grouped(v->uncompared[i], number));
		before = ", ";
	}
	fputs(*before == ',' ? ")" : "", out);
}

static void write_verify(FILE *out, const struct profile_verify *v, const struct style *style)
{
	char number[32];

	write_share(out, "verified", v->agree, v->samples, v->agree == v->samples ? style->good : "", style);
	fprintf(out, "    native stacks of %s samples agree with libdw's", export_grouped(v->samples, number));
	if (v->differ)
		fprintf(out, "; %s%s differ%s", style->warn, export_grouped(v->differ, number), style->off);
	if (v->longer)
		fprintf(out, "; libdw found more frames: %s", export_grouped(v->longer, number));
	if (v->shorter)
		fprintf(out, "; libdw stopped before: %s", export_grouped(v->shorter, number));
	if (v->cut)
		fprintf(out, "; agree to the end of the copied stack: %s", export_grouped(v->cut, number));
	if (v->guessed)
		fprintf(out, "; libdw had no table and guessed: %s", export_grouped(v->guessed, number));
	write_uncompared(out, v);
	fputc('\n', out);
}

static void write_remarks(FILE *out, const struct profile *profile, const struct style *style)
{
	const char *remark;
	size_t i;

	for (i = 0; (remark = profile_remark(profile, i)); i++) {
		fprintf(out, "  %-10s %s", "note", style->warn);
		text_print(out, remark, strlen(remark));
		fprintf(out, "%s\n", style->off);
	}
}

int export_summary(FILE *out, const struct profile *profile, bool color)
{
	const struct profile_quality *q = profile_get_quality(profile);
	const struct style *style = color ? &colored : &plain;
	uint64_t whole = q->complete + q->truncated;
	uint64_t lost = q->samples > whole ? q->samples - whole : 0;
	const char *told = profile_get_info(profile)->children, *children = told && *told ? told : NULL;
	char stacks[32], depth[32];
	size_t i;

	write_head(out, profile, style);
	if (!q->samples) {
		fprintf(out, "  nothing was sampled: %s, %s\n",
			profile_get_info(profile)->weighed ? "no thread of the target was seen"
							   : "the target used no CPU time",
			children ? "but its children did" : "or it ended too soon");
	} else {
		bool good = percent(q->complete, q->samples) >= 99;

		write_share(out, "complete", q->complete, q->samples, good ? style->good : style->warn, style);
		if (q->truncated)
			write_share(out, "truncated", q->truncated, q->samples, style->warn, style);
		if (lost)
			write_share(out, "incomplete", lost, q->samples, style->warn, style);
	}
	if (children)
		fprintf(out, "  %-10s not sampled: %s; --children samples them, too\n", "children", children);
	write_reasons(out, q, style);
	if (q->samples) {
		for (i = 0; i < PROFILE_RUNTIMES_MAX && q->runtimes[i].name; i++)
			write_share(out, q->runtimes[i].language, q->runtimes[i].samples, q->samples, "", style);
		if (q->late_samples)
			write_share(out, "late", q->late_samples, q->samples, "", style);
		fprintf(out, "  %-10s %12s  distinct, the deepest of %s frames\n", "stacks",
			export_grouped(q->unique_stacks, stacks), export_grouped(q->max_depth, depth));
	}
	if (profile_get_info(profile)->weighed)
		write_off_cpu(out, &q->off_cpu);
	if (q->verified)
		write_verify(out, &q->verify, style);
	write_remarks(out, profile, style);
	write_cost(out, profile);
	return fflush(out) || ferror(out) ? -EIO : 0;
}

int export_summary_text(const struct profile *profile, char **ret)
{
	size_t size = 0;
	FILE *memory = open_memstream(ret, &size);
	int err = memory ? export_summary(memory, profile, false) : -ENOMEM;

	return memory && fclose(memory) ? -ENOMEM : err;
}
