// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/waits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/waiting.h"
#include "lang/core/syscalls.h"
#include "proc/memory.h"

#define NAMED_MAX 8   /* of a poll() or select() that are named */
#define PATH_TOLD 512 /* bytes of a path */
#define PAGE      4096

/* What the arguments of a system call that may wait are. */
enum arguments { PLAIN, DESCRIPTOR, PATH, PATH_AT, POLL, SELECT, FUTEX, SLEEP, CHILD };

static const struct {
	const char *name;
	enum arguments arguments;
	const char *kind; /* NULL: "syscall" */
} calls[] = {
	{"read", DESCRIPTOR, NULL},
	{"write", DESCRIPTOR, NULL},
	{"pread64", DESCRIPTOR, NULL},
	{"pwrite64", DESCRIPTOR, NULL},
	{"readv", DESCRIPTOR, NULL},
	{"writev", DESCRIPTOR, NULL},
	{"recvfrom", DESCRIPTOR, NULL},
	{"recvmsg", DESCRIPTOR, NULL},
	{"recvmmsg", DESCRIPTOR, NULL},
	{"sendto", DESCRIPTOR, NULL},
	{"sendmsg", DESCRIPTOR, NULL},
	{"sendmmsg", DESCRIPTOR, NULL},
	{"accept", DESCRIPTOR, NULL},
	{"accept4", DESCRIPTOR, NULL},
	{"connect", DESCRIPTOR, NULL},
	{"ioctl", DESCRIPTOR, NULL},
	{"fcntl", DESCRIPTOR, NULL},
	{"flock", DESCRIPTOR, NULL},
	{"fsync", DESCRIPTOR, NULL},
	{"fdatasync", DESCRIPTOR, NULL},
	{"sendfile", DESCRIPTOR, NULL},
	{"splice", DESCRIPTOR, NULL},
	{"getdents64", DESCRIPTOR, NULL},
	{"io_uring_enter", DESCRIPTOR, NULL},
	{"open", PATH, NULL},
	{"openat", PATH_AT, NULL},
	{"openat2", PATH_AT, NULL},
	{"stat", PATH, NULL},
	{"lstat", PATH, NULL},
	{"newfstatat", PATH_AT, NULL},
	{"statx", PATH_AT, NULL},
	{"access", PATH, NULL},
	{"faccessat", PATH_AT, NULL},
	{"faccessat2", PATH_AT, NULL},
	{"readlink", PATH, NULL},
	{"readlinkat", PATH_AT, NULL},
	{"mkdir", PATH, NULL},
	{"mkdirat", PATH_AT, NULL},
	{"rmdir", PATH, NULL},
	{"unlink", PATH, NULL},
	{"unlinkat", PATH_AT, NULL},
	{"rename", PATH, NULL},
	{"renameat", PATH_AT, NULL},
	{"renameat2", PATH_AT, NULL},
	{"chdir", PATH, NULL},
	{"execve", PATH, NULL},
	{"execveat", PATH_AT, NULL},
	{"epoll_wait", DESCRIPTOR, "poll"},
	{"epoll_pwait", DESCRIPTOR, "poll"},
	{"epoll_pwait2", DESCRIPTOR, "poll"},
	{"poll", POLL, "poll"},
	{"ppoll", POLL, "poll"},
	{"select", SELECT, "poll"},
	{"pselect6", SELECT, "poll"},
	{"futex", FUTEX, "futex"},
	{"nanosleep", SLEEP, "sleep"},
	{"clock_nanosleep", SLEEP, "sleep"},
	{"restart_syscall", SLEEP, "sleep"},
	{"wait4", CHILD, "child"},
	{"waitid", CHILD, "child"},
};

#define SOCKETS_MAX 65536 /* of a network namespace, that are looked through in each list */

/* "127.0.0.1:80": an address as /proc/net has it, words in hexadecimal; nothing when there is none. */
static void tell_address(FILE *out, const char *before, const char *digits, unsigned int port)
{
	uint32_t words[4] = {};
	char text[INET6_ADDRSTRLEN];
	size_t count = strlen(digits) / 8, i;
	char word[9] = "";

	for (i = 0; i < count && i < 4; i++) {
		memcpy(word, digits + 8 * i, 8);
		words[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	if (count == 1 && inet_ntop(AF_INET, words, text, sizeof(text)))
		fprintf(out, "%s%s:%u", before, text, port);
	else if (count == 4 && inet_ntop(AF_INET6, words, text, sizeof(text)))
		fprintf(out, "%s[%s]:%u", before, text, port);
}

/* net/ipv4/tcp_ipv4.c, get_tcp4_sock(); the others are like it: local and remote address, and so on, inode */
static bool tell_if_inet(FILE *out, const char *line, unsigned long inode)
{
	unsigned int local_port, remote_port;
	char local[33], remote[33];
	unsigned long number;

	if (sscanf(line, " %*[^:]: %32[0-9A-F]:%x %32[0-9A-F]:%x %*x %*x:%*x %*x:%*x %*x %*u %*d %lu", local,
		   &local_port, remote, &remote_port, &number) != 5 ||
	    number != inode)
		return false;
	tell_address(out, " ", local, local_port);
	if (remote_port)
		tell_address(out, " to ", remote, remote_port);
	return true;
}

/* net/unix/af_unix.c, unix_seq_show(): the path comes last, if there is one. */
static bool tell_if_unix(FILE *out, const char *line, unsigned long inode)
{
	unsigned long number;
	int path = 0;

	if (sscanf(line, "%*[^:]: %*x %*x %*x %*x %*x %lu%n", &number, &path) != 1 || number != inode)
		return false;
	fprintf(out, "%.*s", (int)strcspn(line + path, "\n"), line + path);
	return true;
}

/*
 * Where a socket of the process leads, as the lists of its network namespace have it. A descriptor of our own for it
 * could be any file by then, and to close that may take for ever (base/foreign.h).
 */
static void tell_socket(FILE *out, int pid, unsigned long inode)
{
	static const char *const lists[] = {"tcp", "tcp6", "udp", "udp6", "unix"};
	char path[64], line[512];
	bool told = false;
	size_t i, count;

	for (i = 0; !told && i < sizeof(lists) / sizeof(*lists); i++) {
		bool is_unix = !strcmp(lists[i], "unix");
		FILE *list;

		snprintf(path, sizeof(path), "/proc/%d/net/%s", pid, lists[i]);
		list = fopen(path, "re");
		for (count = 0; list && !told && count < SOCKETS_MAX && fgets(line, sizeof(line), list); count++)
			told = is_unix ? tell_if_unix(out, line, inode) : tell_if_inet(out, line, inode);
		if (list)
			fclose(list);
	}
}

/* "fd 3 /tmp/x" */
void stack_tell_descriptor(FILE *out, int pid, int fd)
{
	char path[64], target[512];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	size = readlink(path, target, sizeof(target) - 1);
	fprintf(out, "fd %d", fd);
	if (size <= 0)
		return;
	target[size] = '\0';
	fprintf(out, " %s", target);
	if (!strncmp(target, "socket:[", 8))
		tell_socket(out, pid, strtoul(target + 8, NULL, 10));
}

static void tell_poll(FILE *out, int pid, const __u64 *arguments)
{
	const struct memory memory = memory_of_process(pid);
	uint64_t count = arguments[1], i;
	struct pollfd polls[NAMED_MAX];

	if (count > NAMED_MAX)
		count = NAMED_MAX;
	if (count && memory_read(&memory, polls, count * sizeof(*polls), arguments[0]))
		count = 0;
	for (i = 0; i < count; i++) {
		fputs(i ? ", " : "", out);
		stack_tell_descriptor(out, pid, polls[i].fd);
	}
	if (arguments[1] > count)
		fprintf(out, "%s%llu files", count ? " and others, " : "", arguments[1]);
}

static void tell_select(FILE *out, int pid, const __u64 *arguments)
{
	const struct memory memory = memory_of_process(pid);
	unsigned long sets[3][FD_SETSIZE / (8 * sizeof(long))] = {};
	size_t most = arguments[0] < FD_SETSIZE ? arguments[0] : FD_SETSIZE, fd, set, told = 0;

	for (set = 0; set < 3; set++)
		if (arguments[1 + set] && memory_read(&memory, sets[set], (most + 63) / 64 * 8, arguments[1 + set]))
			memset(sets[set], 0, sizeof(sets[set]));
	for (fd = 0; fd < most; fd++) {
		if (!((sets[0][fd / 64] | sets[1][fd / 64] | sets[2][fd / 64]) >> fd % 64 & 1))
			continue;
		if (told++ >= NAMED_MAX)
			continue;
		fputs(told > 1 ? ", " : "", out);
		stack_tell_descriptor(out, pid, (int)fd);
	}
	if (told > NAMED_MAX)
		fprintf(out, " and others, %zu files", told);
}

/* A path in the process's memory, as far as it can be read. By pages: the one after its end may not be there. */
static void tell_path(FILE *out, int pid, uint64_t address)
{
	const struct memory memory = memory_of_process(pid);
	char path[PATH_TOLD + 1] = "";
	size_t used = 0;

	while (strlen(path) == used && used < PATH_TOLD) {
		size_t part = PAGE - (address + used) % PAGE;

		if (part > PATH_TOLD - used)
			part = PATH_TOLD - used;
		if (memory_read(&memory, path + used, part, address + used)) {
			path[used] = '\0';
			break;
		}
		used += part;
		path[used] = '\0';
	}
	fprintf(out, "%s%s", path, strlen(path) == PATH_TOLD ? "..." : "");
}

/* The call with what it is called on; its kind. */
static const char *tell_call(FILE *out, int pid, const struct task_event *task)
{
	const char *name = syscall_name(task->call);
	size_t i;

	if (!name) {
		fprintf(out, "system call %" PRIu64, (uint64_t)task->call);
		return "syscall";
	}
	fputs(name, out);
	for (i = 0; i < sizeof(calls) / sizeof(*calls) && strcmp(calls[i].name, name); i++)
		;
	if (i == sizeof(calls) / sizeof(*calls))
		return "syscall";
	fputc('(', out);
	switch (calls[i].arguments) {
	case DESCRIPTOR:
		stack_tell_descriptor(out, pid, (int)task->arguments[0]);
		break;
	case PATH:
	case PATH_AT:
		tell_path(out, pid, task->arguments[calls[i].arguments == PATH_AT]);
		break;
	case POLL:
		tell_poll(out, pid, task->arguments);
		break;
	case SELECT:
		tell_select(out, pid, task->arguments);
		break;
	case FUTEX:
		fprintf(out, "%#" PRIx64, (uint64_t)task->arguments[0]);
		break;
	case CHILD: {
		int child = (int)task->arguments[calls[i].name[4] == 'i'];

		if (child > 0)
			fprintf(out, "%d", child);
		break;
	}
	case PLAIN:
	case SLEEP:
		break;
	}
	fputc(')', out);
	return calls[i].kind ? calls[i].kind : "syscall";
}

/* By what the thread called to come there. */
static const struct waiter *find_waiter(const struct stack_runtime *runtime, const struct task_event *task,
					const struct stack_thread *thread)
{
	struct waiting waiting = {};
	uint32_t i;

	for (i = 0; i < thread->depth && !waiting.done; i++)
		waiting_look(&waiting, thread->frames[i]);
	if (runtime->has_lock && task->arguments[0] >= runtime->data_start && task->arguments[0] < runtime->data_end)
		return waiting_runtime_lock(waiting.found);
	return waiting.found;
}

/* Its cgroup's freezer has it, whatever it was doing. */
static bool is_frozen(const struct stack_thread *thread)
{
	struct waiting_kernel kernel = {};
	uint32_t i;

	for (i = thread->depth; i-- > 0;)
		if (thread->frames[i]->layer == FRAME_KERNEL)
			waiting_look_kernel(&kernel, thread->frames[i]->name);
	return kernel.frozen;
}

int stack_explain(int pid, const struct stack_runtime *runtime, const struct task_event *task,
		  struct stack_thread *thread)
{
	const struct waiter *waiter;
	size_t size;
	FILE *out;

	if (thread->state != STACK_SLEEPING && thread->state != STACK_BLOCKED)
		return 0;
	out = open_memstream(&thread->detail, &size);
	if (!out)
		return -ENOMEM;
	/* Workers of io_uring and vhost have no registers: they run nothing of the program's. */
	if (task->flags & (TASK_KERNEL_THREAD | TASK_NO_REGISTERS)) {
		thread->waits_for = "kernel";
		fputs("work", out);
	} else if (is_frozen(thread)) {
		thread->waits_for = "frozen";
		fputs("a frozen cgroup", out);
	} else if (task->call == ~0ull) {
		thread->waits_for = "page-fault";
		fputs("memory", out);
	} else if (task->flags & TASK_32_BIT) {
		thread->waits_for = "syscall";
		fprintf(out, "32-bit system call %" PRIu64, (uint64_t)task->call);
	} else {
		thread->waits_for = tell_call(out, pid, task);
		waiter = !strcmp(thread->waits_for, "futex") ? find_waiter(runtime, task, thread) : NULL;
		if (waiter) {
			thread->waits_for = waiter->kind;
			fprintf(out, ": %s", waiter->what);
		}
	}
	return fclose(out) ? -ENOMEM : 0;
}

int stack_name_holder(struct stack_process *process)
{
	const struct stack_thread *holder = NULL;
	size_t i;

	for (i = 0; i < process->count; i++) {
		if (!process->threads[i].gil)
			continue;
		/* Two of two moments, or of two interpreters. */
		if (holder)
			return 0;
		holder = &process->threads[i];
	}
	for (i = 0; holder && i < process->count; i++) {
		struct stack_thread *thread = &process->threads[i];
		char *detail;

		if (!thread->waits_for || strcmp(thread->waits_for, "gil"))
			continue;
		if (asprintf(&detail, "%s, held by thread %d", thread->detail, holder->tid) < 0)
			return -ENOMEM;
		free(thread->detail);
		thread->detail = detail;
	}
	return 0;
}
