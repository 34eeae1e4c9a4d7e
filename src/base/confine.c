// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/confine.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * What reading a file, computing, and telling the result takes. None of them can be turned on another process, as
 * fcntl() could (F_SETOWN) or prlimit(): in its user's others would have to let it.
 */
static const unsigned int allowed[] = {
	SYS_read,      SYS_pread64,       SYS_preadv2,    SYS_pwrite64, SYS_sendmsg, SYS_recvmsg,
	SYS_close,     SYS_fstat,         SYS_newfstatat, /* glibc's fstat() */
	SYS_mmap,      SYS_munmap,        SYS_mremap,     SYS_madvise,  SYS_brk,     SYS_setrlimit, /* its own */
	SYS_getrusage, SYS_clock_gettime, SYS_sysinfo, /* glibc's qsort() */
	SYS_exit,      SYS_exit_group,
};

#define ALLOWED_COUNT (sizeof(allowed) / sizeof(allowed[0]))

static int filter_system_calls(uint32_t machine)
{
	enum { HEAD = 4 };
	struct sock_filter code[HEAD + ALLOWED_COUNT + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, machine, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	const struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
	size_t i;

	for (i = 0; i < ALLOWED_COUNT; i++)
		code[HEAD + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i],
							      (uint8_t)(ALLOWED_COUNT - i), 0);
	code[HEAD + i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	code[HEAD + i + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) ? -errno : 0;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) ? -errno : 0;
}

/* A limit that is lower already stays: who has no CAP_SYS_RESOURCE cannot raise it. */
static int limit(int resource, rlim_t most)
{
	struct rlimit now;

	if (!getrlimit(resource, &now) && now.rlim_max < most)
		most = now.rlim_max;
	return setrlimit(resource, &(struct rlimit){most, most}) ? -errno : 0;
}

int confine(uint32_t machine, uint64_t memory, uint64_t file_size)
{
	int err = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0) ? -errno : 0;

#ifdef __SANITIZE_ADDRESS__
	memory = RLIM_INFINITY; /* its shadow takes most of the address space */
#endif
	if (!err)
		err = limit(RLIMIT_AS, memory);
	if (!err)
		err = limit(RLIMIT_CORE, 0);
	if (!err)
		err = limit(RLIMIT_FSIZE, file_size);
	if (!err)
		err = drop_capabilities();
	return err ? err : filter_system_calls(machine);
}
