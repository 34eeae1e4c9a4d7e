// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/load_log.h"

#include <bpf/libbpf.h>
#include <string.h>

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

void load_log_silence(void)
{
	libbpf_set_print(quiet);
}

const char *load_log_reason(char *log)
{
	char *line, *rest = log, *reason = NULL;

	while ((line = strsep(&rest, "\n")))
		if (*line && strncmp(line, "processed ", 10) && strncmp(line, "verification time", 17))
			reason = line;
	return reason;
}
