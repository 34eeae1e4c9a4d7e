// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/provider/provider.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/table.h"
#include "lang/kernel/kernel_functions.h"
#include "lang/core/number.h"

static const struct provider *const providers[] = {
	&provider_self,      &provider_bench,     &provider_test,       &provider_begin,         &provider_end,
	&provider_interval,  &provider_profile,   &provider_tracepoint, &provider_rawtracepoint, &provider_uprobe,
	&provider_uretprobe, &provider_usdt,      &provider_software,   &provider_hardware,      &provider_watchpoint,
	&provider_kprobe,    &provider_kretprobe, &provider_fentry,     &provider_fexit,         &provider_iter,
	&provider_python,
};

#define PROVIDERS (sizeof(providers) / sizeof(providers[0]))

const struct provider *provider_find(const char *name)
{
	size_t i, j;

	for (i = 0; i < PROVIDERS; i++) {
		if (!strcmp(providers[i]->name, name))
			return providers[i];
		for (j = 0; j < 3 && providers[i]->aliases[j]; j++)
			if (!strcmp(providers[i]->aliases[j], name))
				return providers[i];
	}
	return NULL;
}

const struct provider *provider_at(unsigned int index)
{
	return index < PROVIDERS ? providers[index] : NULL;
}

bool provider_matches(const char *pattern, const char *text)
{
	/* This tells most of the kernel's functions from a pattern, in a tenth of the time. */
	if (!strchr("*?[\\", *pattern) && *pattern != *text)
		return false;
	return !strcmp(pattern, "*") || !fnmatch(pattern, text, 0);
}

bool provider_has_wildcard(const char *text)
{
	return strpbrk(text, "*?[") != NULL;
}

void provider_add(struct compiler *c, struct attach attach)
{
	if (vec_push(&c->attaches, attach))
		c->arena->failed = true;
}

const void *provider_own(struct compiler *c, const void *data, size_t size)
{
	void *own = arena_alloc(c->arena, size);

	return own ? memcpy(own, data, size) : NULL;
}

bool provider_parts(struct compiler *c, const struct provider *self, const struct attach_text *point, uint32_t least,
		    uint32_t most)
{
	if (point->part_count > least && point->part_count <= most + 1)
		return true;
	report_error(c->report, "probe.parts", point->span, "%s probe type requires %u to %u arguments, found %u",
		     self->name, least, most, point->part_count - 1);
	report_hint(c->report, "usage: %s", self->usage);
	return false;
}

bool provider_offset(struct compiler *c, const struct provider *self, const struct attach_text *point,
		     const char **pattern, uint64_t *ret)
{
	const char *plus = strrchr(*pattern, '+'), *name;

	if (!plus || plus == *pattern || !number_parse(plus + 1, strlen(plus + 1), ret))
		return true;
	name = arena_strdup(c->arena, *pattern, (size_t)(plus - *pattern));
	*pattern = name ? name : "";
	if (!self->is_return || !*ret)
		return true;
	report_error(c->report, "probe.offset", point->span, "%ss can not be attached to a function offset",
		     self->name);
	return false;
}

void provider_missing(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	const char *mode = c->texts[SETTING_MISSING_PROBES], *place = point->part_count > 1 ? point->parts[1] : "";
	uint32_t i;

	for (i = 2; place && i < point->part_count; i++)
		place = arena_printf(c->arena, "%s:%s", place, point->parts[i]);
	/* A pattern may match nothing, if the probe has another place: see bpftrace.c. */
	if (!strcmp(mode, "error") && !(c->allows_empty_patterns && place && provider_has_wildcard(place)))
		report_error(c->report, "probe.none", point->span, "No matches for %s %s.", self->name, place);
	else if (strcmp(mode, "ignore") != 0)
		report_warning(c->report, "probe.none", point->span, "No matches for %s %s. Skipping.", self->name,
			       place);
	else
		return;
	report_hint(c->report, "strata trace -l '%s:%s%s' lists what there is", self->name,
		    point->part_count > 2 ? point->parts[1] : "", point->part_count > 2 ? ":*" : "*");
}

struct kernel_functions *provider_kernel_functions(struct compiler *c, struct span span)
{
	const char *given = c->options->traceable_functions, *tracefs = given ? NULL : provider_tracefs();
	struct diag diag = {};
	char path[128];

	/* With addresses since Linux 6.5. */
	snprintf(path, sizeof(path), "%s/available_filter_functions_addrs", tracefs ? tracefs : "");
	if (access(path, R_OK))
		snprintf(path, sizeof(path), "%s/available_filter_functions", tracefs ? tracefs : "");
	if (!c->kernel_functions && kernel_functions_create("/proc/kallsyms",
							    given     ? given
							    : tracefs ? path
								      : NULL,
							    &c->kernel_functions, &diag))
		report_error(c->report, "probe.functions", span, "%s", diag.text);
	return c->kernel_functions;
}

bool provider_is_dangerous(const char *function)
{
	/*
	 * The first are those that the kernel's own test of attaching to everything leaves out
	 * (tools/testing/selftests/bpf/prog_tests/kprobe_multi_test.c). The others lock the programs' maps: a probe
	 * there can wait for one on another CPU, which waits for it.
	 */
	static const char *const patterns[] = {
		"arch_cpu_idle",  "default_idle",           "bpf_dispatcher_*_func", "rcu_*",
		"_raw_spin_lock", "_raw_spin_lock_irqsave", "_raw_spin_unlock*",     "queued_spin_lock_slowpath"};
	size_t i;

	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (provider_matches(patterns[i], function))
			return true;
	return false;
}

int provider_attach_event(int program, int fd, const struct perf_event_attr *attr, uint64_t cookie,
			  struct attachment *ret)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = cookie);
	bool is_tracepoint = attr->type == PERF_TYPE_TRACEPOINT;
	/* Those of tracepoints, kprobes and uprobes wait for a grace period; the latter have numbers above. */
	bool waits = is_tracepoint || attr->type >= PERF_TYPE_MAX;
	struct descriptors *kept = &ret->fds;
	int link = bpf_link_create(program, fd, BPF_PERF_EVENT, &options);

	if (link < 0) {
		/* Before links of perf events (5.15). */
		if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program)) {
			close(fd);
			return link;
		}
	} else if (attachment_keep(waits ? &ret->links : &ret->fds, link, NULL)) {
		close(fd);
		return -ENOMEM;
	} else if (is_tracepoint) {
		kept = &ret->events;
	}
	if (attachment_keep(kept, fd, NULL))
		return -ENOMEM;
	return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

static int attach_one(int program, const struct perf_event_attr *attr, int pid, int cpu, uint64_t cookie,
		      struct attachment *ret)
{
	struct perf_event_attr copy = *attr;
	int fd;

	copy.size = sizeof(copy);
	fd = (int)syscall(SYS_perf_event_open, &copy, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : provider_attach_event(program, fd, &copy, cookie, ret);
}

static int perf_failed(int err, struct diag *diag)
{
	return diag_fail(diag, -err, "attach.perf", "the event cannot be opened: %s", strerror(-err));
}

int provider_attach_perf(int program, const struct perf_event_attr *attr, int cpu, uint64_t cookie,
			 struct attachment *ret, struct diag *diag)
{
	int err = 0, first = cpu < 0 ? 0 : cpu, last = cpu < 0 ? (int)sysconf(_SC_NPROCESSORS_CONF) - 1 : cpu, i;

	for (i = first; i <= last && !err; i++) {
		err = attach_one(program, attr, -1, i, cookie, ret);
		if (err == -ENODEV || err == -ENXIO)
			err = 0; /* an offline CPU */
	}
	return err ? perf_failed(err, diag) : 0;
}

/* Those that are there and not in `done` yet. 0, or a negative errno. */
static int attach_new(int program, const struct perf_event_attr *attr, DIR *threads, uint64_t cookie,
		      struct table *done, struct attachment *ret)
{
	const struct dirent *entry;
	int err = 0;

	while (!err && (entry = readdir(threads))) {
		int thread = atoi(entry->d_name);

		if (thread <= 0 || table_get(done, (uint64_t)thread, NULL))
			continue;
		err = table_set(done, (uint64_t)thread, 1);
		if (!err)
			err = attach_one(program, attr, thread, -1, cookie, ret);
		if (err == -ESRCH)
			err = 0; /* it has ended meanwhile */
	}
	return err;
}

int provider_attach_threads(int program, const struct perf_event_attr *attr, int pid, uint64_t cookie,
			    struct attachment *ret, struct diag *diag)
{
	struct perf_event_attr inherited = *attr;
	struct table done = {};
	size_t before;
	char path[64];
	DIR *threads;
	int err;

	inherited.inherit = 1;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	if (!threads)
		return diag_fail(diag, errno, "attach.threads", "%s cannot be read: %s", path, strerror(errno));
	/* One that had no event yet may have started another one meanwhile: once no new one is met, all have theirs. */
	do {
		before = done.count;
		rewinddir(threads);
		err = attach_new(program, &inherited, threads, cookie, &done, ret);
	} while (!err && done.count > before);
	closedir(threads);
	table_deinit(&done);
	return err ? perf_failed(err, diag) : 0;
}

int provider_pmu(const char *name, uint32_t *ret)
{
	char path[128];
	FILE *file;
	int found;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	file = fopen(path, "re");
	found = file ? fscanf(file, "%u", ret) : 0;
	if (file)
		fclose(file);
	return found == 1 ? 0 : -ENOENT;
}

const char *provider_tracefs(void)
{
	static const char *const paths[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	char path[64];
	size_t i;

	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/events", paths[i]);
		if (!access(path, R_OK))
			return paths[i];
	}
	/* Where nobody has mounted it. */
	return !mount("tracefs", paths[0], "tracefs", 0, NULL) ? paths[0] : NULL;
}
