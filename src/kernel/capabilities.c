// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/capabilities.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>

static const struct capability capabilities[] = {
	{CAP_BPF, "cap_bpf", NULL},
	{CAP_PERFMON, "cap_perfmon", NULL},
	{CAP_SYS_PTRACE, "cap_sys_ptrace", "the mappings and files of other users' processes"},
	{CAP_DAC_READ_SEARCH, "cap_dac_read_search", "files that only others may read"},
	{CAP_SYSLOG, "cap_syslog", "the names of kernel functions"},
};

const struct capability *capability_at(size_t index)
{
	return index < sizeof(capabilities) / sizeof(capabilities[0]) ? &capabilities[index] : NULL;
}

uint64_t capabilities_effective(const char *status)
{
	FILE *file = fopen(status, "re");
	uint64_t effective = UINT64_MAX;
	char line[256];

	if (!file)
		return effective;
	while (fgets(line, sizeof(line), file))
		sscanf(line, "CapEff: %" SCNx64, &effective);
	fclose(file);
	return effective;
}

bool capability_held(uint64_t effective, const struct capability *capability)
{
	/* Until 5.8 CAP_SYS_ADMIN allowed what these two do now, and it still does. */
	if ((capability->number == CAP_BPF || capability->number == CAP_PERFMON) && effective >> CAP_SYS_ADMIN & 1)
		return true;
	return effective >> capability->number & 1;
}
