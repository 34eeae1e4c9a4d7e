// SPDX-License-Identifier: GPL-2.0-or-later
/* What this kernel has against what other users' processes and files may try (docs/SECURITY.md). */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/confine.h"
#include "doctor/parts.h"

/* A child tries it, for it cannot be undone. */
static void probe_confined(struct examination *examination, struct doctor_finding *finding)
{
	int status = 0, err;
	pid_t child = fork();

	(void)examination;
	if (!child)
		_exit(-confine(arch_here()->audit, 1ull << 40, 1 << 20) & 0xff);
	err = child < 0 || waitpid(child, &status, 0) != child ? errno
	      : WIFEXITED(status)                              ? WEXITSTATUS(status)
							       : EPERM;
	if (err)
		found(finding, DOCTOR_LIMITED, "%s", strerror(err));
	else
		found(finding, DOCTOR_OK, "yes: seccomp, no capabilities, limits");
}

static void probe_sealing(struct examination *examination, struct doctor_finding *finding)
{
	int fd = memfd_create("strata-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)examination;
	if (fd < 0 || ftruncate(fd, 4096) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		found(finding, DOCTOR_LIMITED, "%s", strerror(errno));
	else
		found(finding, DOCTOR_OK, "yes");
	if (fd >= 0)
		close(fd);
}

/* What a setting is, and whether it protects. */
static void setting_is(struct examination *examination, struct doctor_finding *finding, const char *path)
{
	long value;
	int err = examine_number(examination, path, &value);

	if (err)
		found(finding, DOCTOR_INFO, "%s", err == -ENOENT ? "this kernel does not have it" : strerror(-err));
	else
		found(finding, DOCTOR_INFO, value ? "on: %ld" : "off", value);
}

static void probe_symlinks(struct examination *examination, struct doctor_finding *finding)
{
	setting_is(examination, finding, "/proc/sys/fs/protected_symlinks");
}

static void probe_regular(struct examination *examination, struct doctor_finding *finding)
{
	setting_is(examination, finding, "/proc/sys/fs/protected_regular");
}

static void probe_ptrace(struct examination *examination, struct doctor_finding *finding)
{
	setting_is(examination, finding, "/proc/sys/kernel/yama/ptrace_scope");
}

static const struct check checks[] = {
	{"confined process", probe_confined,
	 "without it strata itself follows machine code that has no unwind tables, and may lose samples meanwhile",
	 "a kernel with CONFIG_SECCOMP_FILTER"},
	{"sealed memory", probe_sealing, "that process gives its results in such memory, else it is not used",
	 "a kernel with CONFIG_MEMFD_CREATE"},
	{"protected links", probe_symlinks,
	 "does not matter to strata's results, which keep that rule by themselves; other programs need it "
	 "(fs.protected_symlinks)",
	 NULL},
	{"protected files", probe_regular, "does not matter to strata's results either (fs.protected_regular)", NULL},
	{"ptrace scope", probe_ptrace,
	 "does not matter to strata, which has cap_sys_ptrace; it keeps processes of one user apart "
	 "(kernel.yama.ptrace_scope)",
	 NULL},
};

void examine_protections(struct examination *examination)
{
	examine_checks(examination, "protections", checks, sizeof(checks) / sizeof(checks[0]));
}
