// SPDX-License-Identifier: GPL-2.0-or-later
/* What this process may do: user, capabilities, namespaces, and the settings that forbid BPF. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/parts.h"
#include "kernel/capabilities.h"

/* The inode numbers of the first namespaces: include/linux/proc_ns.h, PROC_USER_INIT_INO and PROC_PID_INIT_INO. */
#define FIRST_USER_NAMESPACE 0xEFFFFFFDu
#define FIRST_PID_NAMESPACE  0xEFFFFFFCu

static void probe_root(struct examination *examination, struct doctor_finding *finding)
{
	(void)examination;
	if (!geteuid())
		found(finding, DOCTOR_OK, "yes");
	else
		found(finding, DOCTOR_INFO, "no: uid %u", geteuid());
}

static ssize_t read_link(const struct examination *examination, const char *path, char *buffer, size_t size)
{
	char full[PATH_MAX];
	ssize_t length;

	snprintf(full, sizeof(full), "%s%s", examination->options->root, path);
	length = readlink(full, buffer, size - 1);
	if (length < 0)
		return -errno;
	buffer[length] = '\0';
	return length;
}

static void namespace_is(const struct examination *examination, struct doctor_finding *finding, const char *path,
			 unsigned int first)
{
	unsigned int inode;
	char link[64];

	if (read_link(examination, path, link, sizeof(link)) < 0 || sscanf(link, "%*[a-z]:[%u]", &inode) != 1)
		found(finding, DOCTOR_UNTRIED, "%s cannot be read", path);
	else if (inode == first)
		found(finding, DOCTOR_OK, "the machine's");
	else
		found(finding, DOCTOR_MISSING, "one of its own: %s", link);
}

static void probe_user_namespace(struct examination *examination, struct doctor_finding *finding)
{
	namespace_is(examination, finding, "/proc/self/ns/user", FIRST_USER_NAMESPACE);
}

static void probe_pid_namespace(struct examination *examination, struct doctor_finding *finding)
{
	namespace_is(examination, finding, "/proc/self/ns/pid", FIRST_PID_NAMESPACE);
}

static void probe_proc(struct examination *examination, struct doctor_finding *finding)
{
	char link[64], init[64];

	if (read_link(examination, "/proc/self", link, sizeof(link)) < 0)
		found(finding, DOCTOR_MISSING, "not mounted");
	else if (atoi(link) != getpid())
		found(finding, DOCTOR_MISSING, "of another pid namespace");
	else if (examine_read(examination, "/proc/1/stat", init, sizeof(init)) <= 0)
		found(finding, DOCTOR_MISSING, "shows no processes of other users");
	else
		found(finding, DOCTOR_OK, "shows all processes");
}

static void probe_lockdown(struct examination *examination, struct doctor_finding *finding)
{
	char text[128];
	ssize_t size = examine_read(examination, "/sys/kernel/security/lockdown", text, sizeof(text));

	if (size == -ENOENT)
		found(finding, DOCTOR_OK, "no lockdown in this kernel, or securityfs not mounted");
	else if (size < 0)
		found(finding, DOCTOR_UNTRIED, "/sys/kernel/security/lockdown: %s", strerror((int)-size));
	else if (strstr(text, "[confidentiality]"))
		found(finding, DOCTOR_MISSING, "confidentiality");
	else
		found(finding, DOCTOR_OK, "%s",
		      strstr(text, "[integrity]") ? "integrity, which allows sampling" : "none");
}

static void probe_unprivileged(struct examination *examination, struct doctor_finding *finding)
{
	long value;

	if (examine_number(examination, "/proc/sys/kernel/unprivileged_bpf_disabled", &value))
		found(finding, DOCTOR_INFO, "kernel.unprivileged_bpf_disabled cannot be read");
	else
		found(finding, DOCTOR_INFO, "kernel.unprivileged_bpf_disabled = %ld", value);
}

static const struct check checks[] = {
	{"root", probe_root, "root has all the capabilities below, unless a container took them away", "sudo"},
	{"user namespace", probe_user_namespace,
	 "capabilities for BPF, perf events and kernel names count only in the machine's first user namespace",
	 "run it outside of the container, or in one without user namespaces (no rootless one)"},
	{"pid namespace", probe_pid_namespace, "the kernel part tells processes by their pids on the machine",
	 "run it outside of the container, or in one that shares the machine's (--pid=host)"},
	{"/proc", probe_proc, "mappings, programs and names of processes are read there",
	 "a /proc of this pid namespace, and cap_sys_ptrace if it is mounted with hidepid"},
	{"lockdown", probe_lockdown, "in mode confidentiality BPF may not read the kernel's memory: no stacks",
	 "boot without lockdown=confidentiality"},
	{"unprivileged BPF", probe_unprivileged,
	 "does not matter to strata, which has its capabilities or cannot sample", NULL},
};

static void examine_capability(struct examination *examination, const struct capability *capability)
{
	struct doctor_finding finding = {
		.group = "privileges",
		.name = capability->name,
		.why = capability->without ? capability->without : "without it nothing can be sampled",
		.how = "run it with sudo; or once as root: setcap " CAPABILITIES_ALL " PATH-OF-STRATA",
	};

	if (capability_held(examination->capabilities, capability))
		found(&finding, DOCTOR_OK, "yes");
	else
		found(&finding, DOCTOR_MISSING, "no");
	examine_finding(examination, &finding);
}

void examine_privileges(struct examination *examination)
{
	const struct capability *capability;
	size_t i;

	examine_checks(examination, "privileges", checks, 1);
	for (i = 0; (capability = capability_at(i)); i++)
		examine_capability(examination, capability);
	examine_checks(examination, "privileges", checks + 1, sizeof(checks) / sizeof(checks[0]) - 1);
}
