// SPDX-License-Identifier: GPL-2.0-or-later
/* Where names come from, and limits of the process. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "doctor/parts.h"

#define DESCRIPTORS_ENOUGH 4096

/* Whether a line of kallsyms has an address: hidden ones read as 0 (kernel/kallsyms.c, s_show()). */
static bool has_address(char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")))
		if (strtoull(line, NULL, 16))
			return true;
	return false;
}

static void probe_kallsyms(struct examination *examination, struct doctor_finding *finding)
{
	char text[32768];
	ssize_t size = examine_read(examination, "/proc/kallsyms", text, sizeof(text));
	long restricted = 0;

	if (size <= 0)
		found(finding, DOCTOR_MISSING, "/proc/kallsyms: %s", size ? strerror((int)-size) : "is empty");
	else if (has_address(text))
		found(finding, DOCTOR_OK, "/proc/kallsyms");
	else if (examine_number(examination, "/proc/sys/kernel/kptr_restrict", &restricted))
		found(finding, DOCTOR_MISSING, "/proc/kallsyms hides addresses");
	else
		found(finding, DOCTOR_MISSING, "/proc/kallsyms hides addresses (kernel.kptr_restrict = %ld)",
		      restricted);
}

/* The memory is this process's own, mapped by the kernel. */
static void probe_vdso(struct examination *examination, struct doctor_finding *finding)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR); /* NOLINT(performance-no-int-to-ptr) */

	(void)examination;
	if (image && !memcmp(image, ELFMAG, SELFMAG))
		found(finding, DOCTOR_OK, "yes");
	else
		found(finding, DOCTOR_LIMITED, "no");
}

static void probe_descriptors(struct examination *examination, struct doctor_finding *finding)
{
	struct rlimit limit = {};

	(void)examination;
	getrlimit(RLIMIT_NOFILE, &limit);
	found(finding, limit.rlim_max < DESCRIPTORS_ENOUGH ? DOCTOR_LIMITED : DOCTOR_OK,
	      "%llu; record takes up to %llu", (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
}

static const struct check checks[] = {
	{"kernel symbols", probe_kallsyms, "names of kernel functions",
	 "cap_syslog, and kernel.kptr_restrict not over 1: sysctl kernel.kptr_restrict=1"},
	{"vDSO", probe_vdso, "stacks through clock_gettime() and its like", "boot without vdso=0"},
	{"RLIMIT_NOFILE", probe_descriptors, "each program and library that runs somewhere is kept open",
	 "ulimit -Hn 524288, as root"},
};

void examine_machine(struct examination *examination)
{
	examine_checks(examination, "machine", checks, sizeof(checks) / sizeof(checks[0]));
}
