// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/checks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attempt.h"
#include "kernel/capabilities.h"

#define PATIENCE_S 5.0 /* for a file system */

int check_process(pid_t pid, struct diag *diag)
{
	char path[64], line[256], state = '\0';
	FILE *status;
	int group = 0, threads = 0;

	if (kill(pid, 0) && errno == ESRCH)
		return diag_fail(diag, ESRCH, "cli.pid", "%d: no such process", pid);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	if (!status)
		return 0;
	while (fgets(line, sizeof(line), status)) {
		sscanf(line, "State: %c", &state);
		sscanf(line, "Tgid: %d", &group);
		sscanf(line, "Threads: %d", &threads);
	}
	fclose(status);
	if (group && group != pid)
		return diag_fail(diag, ESRCH, "cli.pid", "%d: this is a thread, of process %d", pid, group);
	if ((state == 'Z' && threads < 2) || state == 'X') /* the main thread may end before the others */
		return diag_fail(diag, ESRCH, "cli.pid", "%d: the process has ended, and waits for its parent", pid);
	return 0;
}

/* 0 when the file can be executed; EPERM when it is there and cannot; else why it was not found. */
static int may_execute(const char *path)
{
	struct stat file;

	if (stat(path, &file))
		return errno;
	if (S_ISDIR(file.st_mode))
		return EISDIR;
	if (!S_ISREG(file.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS))
		return EPERM;
	return 0;
}

/* As execvp(): a match that may not be executed is remembered, but the search goes on. */
static int search_path(const char *name)
{
	const char *dir = getenv("PATH"), *end;
	char path[PATH_MAX];
	int err, found = ENOENT;

	for (dir = dir ? dir : "/bin:/usr/bin";; dir = end + 1) {
		end = strchrnul(dir, ':');
		if (snprintf(path, sizeof(path), "%.*s%s%s", (int)(end - dir), dir, end > dir ? "/" : "", name) <
		    (int)sizeof(path)) {
			err = may_execute(path);
			if (!err)
				return 0;
			if (err == EPERM)
				found = EPERM;
		}
		if (!*end)
			return found;
	}
}

static int find_command(void *context, struct diag *diag)
{
	const char *name = context;
	int err;

	if (!*name)
		return diag_fail(diag, ENOENT, "cli.command", "the command to record is an empty word");
	if (strchr(name, '/')) {
		err = may_execute(name);
		if (err == EPERM)
			return diag_fail(diag, err, "cli.command", "%s: not a program that you may execute", name);
		return err ? diag_fail(diag, err, "cli.command", "%s: %s", name, strerror(err)) : 0;
	}
	err = search_path(name);
	if (err == EPERM)
		return diag_fail(diag, err, "cli.command", "%s: found in PATH, but not executable", name);
	return err ? diag_fail(diag, err, "cli.command", "%s: no such command in PATH", name) : 0;
}

int check_command(const char *name, struct diag *diag)
{
	const char *what = strchr(name, '/') ? name : "a folder of PATH";

	return attempt(PATIENCE_S, what, find_command, (void *)name, diag);
}

int check_frequency(unsigned int frequency, struct diag *diag)
{
	static const char path[] = "/proc/sys/kernel/perf_event_max_sample_rate";
	FILE *file = fopen(path, "re");
	unsigned int limit = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%u", &limit) != 1)
		limit = 0;
	fclose(file);
	if (limit && frequency > limit)
		return diag_fail(diag, EINVAL, "cli.frequency",
				 "-F %u: this kernel allows at most %u: raise it by "
				 "sysctl kernel.perf_event_max_sample_rate=%u",
				 frequency, limit, frequency);
	return 0;
}

#define OWN_STATUS "/proc/self/status"

int check_capabilities(struct diag *diag)
{
	uint64_t effective = capabilities_effective(OWN_STATUS);
	const struct capability *capability;
	char missing[64] = "", own[PATH_MAX];
	ssize_t size;
	size_t i;

	for (i = 0; (capability = capability_at(i)); i++) {
		if (capability->without || capability_held(effective, capability))
			continue;
		if (*missing)
			strcat(missing, " and ");
		strcat(missing, capability->name);
	}
	if (!*missing)
		return 0;
	size = readlink("/proc/self/exe", own, sizeof(own) - 1);
	own[size > 0 ? size : 0] = '\0';
	return diag_fail(diag, EPERM, "cli.capabilities",
			 "sampling needs %s: run it with sudo, or once as root: setcap " CAPABILITIES_ALL " %s",
			 missing, *own ? own : "strata");
}

bool own_namespace(uint64_t *device, uint64_t *inode)
{
	const ino_t initial = 0xeffffffc; /* PROC_PID_INIT_INO, include/linux/proc_ns.h */
	struct stat own;

	if (stat("/proc/self/ns/pid", &own) || own.st_ino == initial)
		return false;
	*device = own.st_dev;
	*inode = own.st_ino;
	return true;
}

int check_namespace(struct diag *diag)
{
	uint64_t device, inode;

	if (!own_namespace(&device, &inode))
		return 0;
	return diag_fail(diag, EINVAL, "cli.namespace",
			 "strata runs in a pid namespace of its own, as in a container, "
			 "and would not find the processes that the kernel samples: "
			 "run it on the host, or in a container with the host's pids (--pid=host)");
}

void warn_capabilities(FILE *out)
{
	uint64_t effective = capabilities_effective(OWN_STATUS);
	const struct capability *capability;
	bool first = true;
	size_t i;

	for (i = 0; (capability = capability_at(i)); i++) {
		if (!capability->without || capability_held(effective, capability))
			continue;
		fprintf(out, "%s%s (%s)", first ? "strata: not to be had without the capability: " : ", ",
			capability->without, capability->name);
		first = false;
	}
	if (!first)
		fputc('\n', out);
}

void warn_left(FILE *out, pid_t command)
{
	if (command)
		fprintf(out,
			"strata: the command, process %d, waits in the kernel and cannot be ended before that is over: "
			"look after the file system that it waits for\n",
			command);
}
