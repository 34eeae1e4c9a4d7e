// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory of a process, and the functions of its libraries, through /proc. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc/open_file.h"
#include "runtime/python/thread_state.h"

struct process_memory {
	struct foreign_files *files;
	int pid, fd;
	struct processes *processes;
	struct process *process;
};

static int process_read(void *context, uint64_t address, void *buffer, size_t size)
{
	const struct process_memory *process = context;

	if (address > INT64_MAX)
		return -EFAULT;
	return pread(process->fd, buffer, size, (off_t)address) == (ssize_t)size ? 0 : -EFAULT;
}

static bool find_in(const struct process_memory *process, const struct process_mapping *mapping, const char *name,
		    uint64_t *ret)
{
	uint64_t vaddr, size, base;
	struct foreign_file *file;
	struct elf_file *elf;
	bool found = false;

	if (mapping->to != UINT64_MAX || mapping->file->kind != FILE_REGULAR)
		return false;
	if (mapped_file_open(process->files, mapping->file, process->process, mapping, &file))
		return false;
	if (!elf_file_open_foreign(file, mapping->file->path, &elf, NULL)) {
		found = elf_file_vaddr_of_offset(elf, mapping->offset, &base) &&
			(elf_file_find_dynamic_symbol(elf, name, &vaddr, &size) ||
			 (elf_file_is_program(elf) && elf_file_find_symbol(elf, name, &vaddr, &size)));
		if (found)
			*ret = mapping->start - base + vaddr;
		elf_file_close(elf);
	}
	foreign_close(file);
	return found;
}

static int process_find_function(void *context, const char *name, uint64_t *ret)
{
	const struct process_memory *process = context;
	size_t i;

	for (i = 0; i < process->process->mappings.count; i++)
		if (find_in(process, &process->process->mappings.at[i], name, ret))
			return 0;
	return -ENOENT;
}

static void release(struct process_memory *process)
{
	if (process->fd >= 0)
		close(process->fd);
	if (process->processes)
		processes_destroy(process->processes, NULL);
	free(process);
}

int python_thread_memory_open(struct foreign_files *files, int pid, struct python_thread_memory *ret, struct diag *diag)
{
	struct process_memory *process = calloc(1, sizeof(*process));
	char path[32];
	int err = -ENOMEM;

	if (!process)
		return diag_fail(diag, ENOMEM, "python.memory", "process %d: out of memory", pid);
	process->files = files;
	process->pid = pid;
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	process->fd = open(path, O_RDONLY | O_CLOEXEC);
	process->processes = processes_create();
	if (process->fd < 0)
		err = errno == ENOENT ? -ESRCH : -EACCES;
	else if (process->processes)
		err = processes_scan(process->processes, pid, 0, &process->process);
	if (err) {
		release(process);
		return diag_fail(diag, -err, "python.process", "process %d cannot be read: %s", pid, strerror(-err));
	}
	*ret = (struct python_thread_memory){
		.read = process_read, .find_function = process_find_function, .context = process};
	return 0;
}

void python_thread_memory_close(struct python_thread_memory *memory)
{
	release(memory->context);
	*memory = (struct python_thread_memory){};
}
