// SPDX-License-Identifier: GPL-2.0-or-later
#include "doctor/doctor.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/parts.h"
#include "kernel/capabilities.h"

const char *doctor_mark_name(enum doctor_mark mark)
{
	static const char *const names[DOCTOR_MARKS] = {
		[DOCTOR_OK] = "ok",           [DOCTOR_INFO] = "info",       [DOCTOR_LIMITED] = "limited",
		[DOCTOR_MISSING] = "missing", [DOCTOR_UNTRIED] = "untried",
	};

	return names[mark];
}

void found(struct doctor_finding *finding, enum doctor_mark mark, const char *fmt, ...)
{
	va_list args;
	char *c;

	finding->mark = mark;
	va_start(args, fmt);
	vsnprintf(finding->found, sizeof(finding->found), fmt, args);
	va_end(args);
	for (c = finding->found; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

void examine_finding(struct examination *examination, const struct doctor_finding *finding)
{
	if (vec_push(&examination->findings, *finding))
		examination->out_of_memory = true;
}

void examine_checks(struct examination *examination, const char *group, const struct check *checks, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct doctor_finding finding = {
			.group = group, .name = checks[i].name, .why = checks[i].why, .how = checks[i].how};

		checks[i].probe(examination, &finding);
		examine_finding(examination, &finding);
	}
}

FILE *examine_open(const struct examination *examination, const char *path)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", examination->options->root, path);
	return fopen(full, "re");
}

ssize_t examine_read(const struct examination *examination, const char *path, char *buffer, size_t size)
{
	FILE *file = examine_open(examination, path);
	size_t used;
	int err;

	*buffer = '\0';
	if (!file)
		return -errno;
	errno = 0;
	used = fread(buffer, 1, size - 1, file);
	err = ferror(file) ? -(errno ? errno : EIO) : 0;
	fclose(file);
	buffer[err ? 0 : used] = '\0';
	return err ? err : (ssize_t)used;
}

int examine_number(const struct examination *examination, const char *path, long *ret)
{
	char text[64], *end;
	ssize_t size = examine_read(examination, path, text, sizeof(text));
	long value;

	if (size < 0)
		return (int)size;
	errno = 0;
	value = strtol(text, &end, 10);
	if (end == text || errno)
		return -EINVAL;
	*ret = value;
	return 0;
}

bool examine_has(const struct examination *examination, unsigned int capability)
{
	return examination->capabilities >> capability & 1;
}

int doctor_examine(const struct doctor_options *options, struct doctor_report *ret, struct diag *diag)
{
	struct examination examination = {.options = options};
	struct doctor_report report = {};
	char status[PATH_MAX];
	size_t i;

	/* What it would say of a probe that fails is said by the finding. */
	libbpf_set_print(NULL);
	snprintf(status, sizeof(status), "%s/proc/self/status", options->root);
	examination.capabilities = capabilities_effective(status);
	examine_privileges(&examination);
	examine_bpf(&examination);
	examine_events(&examination);
	examine_machine(&examination);
	examine_protections(&examination);
	if (examination.out_of_memory) {
		vec_free(&examination.findings);
		return diag_fail(diag, ENOMEM, "doctor.memory", "%s", strerror(ENOMEM));
	}
	report.findings = examination.findings.at;
	report.count = examination.findings.count;
	for (i = 0; i < report.count; i++)
		report.marks[report.findings[i].mark]++;
	*ret = report;
	return 0;
}

void doctor_report_deinit(struct doctor_report *report)
{
	free(report->findings);
	*report = (struct doctor_report){};
}
