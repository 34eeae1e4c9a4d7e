// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign.h"
#include "tap.h"

#define SIZE (3 * 65536 + 17) /* more than what a reader gives at once */

static char disk[] = "/var/tmp/strata-foreign-XXXXXX", memory[] = "/dev/shm/strata-foreign-XXXXXX";

static void fill(char *folder)
{
	char path[64];
	FILE *out;
	size_t i;

	if (!mkdtemp(folder))
		return;
	snprintf(path, sizeof(path), "%s/file", folder);
	out = fopen(path, "wb");
	for (i = 0; out && i < SIZE; i++)
		fputc((int)(i * 31 >> 3 & 0xff), out);
	if (out)
		fclose(out);
	snprintf(path, sizeof(path), "%s/fifo", folder);
	mkfifo(path, 0600);
}

static void empty(const char *folder)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/file", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/fifo", folder);
	unlink(path);
	rmdir(folder);
}

static int open_in(struct foreign_files *files, const char *folder, const char *name, uint64_t place,
		   struct foreign_file **ret)
{
	struct foreign_request request = {.place = place};
	char path[128], none[128];

	snprintf(none, sizeof(none), "%s/none", folder);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	request.paths[1] = none;
	request.paths[2] = path;
	return foreign_open(files, &request, ret);
}

static bool reads(struct foreign_file *file, uint64_t offset, size_t size, ssize_t expected)
{
	uint8_t *bytes = malloc(size + 1);
	ssize_t got = foreign_read(file, bytes, size, offset), i;

	for (i = 0; i < got; i++)
		if (bytes[i] != ((offset + (uint64_t)i) * 31 >> 3 & 0xff))
			break;
	free(bytes);
	return got == expected && (got < 0 || i == got);
}

static void test_reading(struct foreign_files *files, const char *folder, const char *words)
{
	struct foreign_request request = {.root = folder, .paths = {"file"}};
	struct foreign_file *file, *other;
	char path[64], real[64];
	struct stat status;
	uint8_t byte;
	int fd;

	is_int(open_in(files, folder, "none", 1, &file), -ENOENT, "%s: a file that is not there", words);
	is_int(open_in(files, folder, "fifo", 1, &file), -EINVAL, "%s: a FIFO is refused, without waiting", words);
	is_int(open_in(files, folder, "", 1, &file), -EINVAL, "%s: so is a directory", words);
	if (!ok(!open_in(files, folder, "file", 1, &file), "%s: a file", words))
		return;
	ok(!foreign_stat(file, &status) && status.st_size == SIZE, "%s: its size", words);
	ok(reads(file, 0, SIZE, SIZE), "%s: all of it", words);
	ok(reads(file, 65000, 70000, 70000), "%s: from the middle", words);
	ok(reads(file, SIZE - 5, 100, 5), "%s: at the end", words);
	ok(reads(file, SIZE + 5, 100, 0), "%s: behind it", words);
	request.inode = status.st_ino;
	ok(!foreign_open(files, &request, &other) && reads(other, 3, 7, 7), "%s: below a root, by its inode", words);
	ok(reads(file, 9, 70, 70), "%s: two at a time", words);
	foreign_close(other);
	request.inode++;
	is_int(foreign_open(files, &request, &other), -ESTALE, "%s: another inode is another file", words);
	fd = foreign_descriptor(file);
	ok(fd >= 0 && lseek(fd, 0, SEEK_END) == SIZE, "%s: a descriptor", words);
	ok(pread(fd, &byte, 1, 65600) == 1 && byte == (65600ull * 31 >> 3 & 0xff), "%s: that reads the same", words);
	close(fd);
	snprintf(path, sizeof(path), "%s/file", folder);
	ok(foreign_path(file, real, sizeof(real)) && !strcmp(real, path), "%s: its path", words);
	ok(!foreign_path(file, real, strlen(path)), "%s: which needs room", words);
	foreign_close(foreign_share(file));
	ok(reads(file, 0, 10, 10), "%s: of two owners one closed it", words);
	foreign_close(file);
}

static void test_patterns(struct foreign_files *files, const char *folder, const char *words)
{
	char pattern[64], wanted[128], names[128];
	ssize_t size;

	snprintf(pattern, sizeof(pattern), "%s/f*", folder);
	size = snprintf(wanted, sizeof(wanted), "%s/fifo%c%s/file", folder, 0, folder) + 1;
	ok(foreign_glob(files, pattern, names, sizeof(names)) == size && !memcmp(names, wanted, (size_t)size),
	   "%s: what matches a pattern", words);
	is_int(foreign_glob(files, pattern, names, (size_t)size - 1), -E2BIG, "%s: which needs room", words);
	snprintf(pattern, sizeof(pattern), "%s/g*", folder);
	is_int(foreign_glob(files, pattern, names, sizeof(names)), 0, "%s: nothing matches", words);
}

/* The process of that name in our process group; 0 when there is none, -1 when there are several. */
static pid_t ours(const char *name)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	while (proc && (entry = readdir(proc))) {
		char path[300], comm[32], state;
		int pid, parent, group;
		FILE *status;

		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		status = atoi(entry->d_name) > 1 ? fopen(path, "re") : NULL;
		if (!status)
			continue;
		if (fscanf(status, "%d (%31[^)]) %c %d %d", &pid, comm, &state, &parent, &group) == 5 &&
		    group == getpid() && !strcmp(comm, name) && state != 'Z' && state != 'X')
			found = found ? -1 : pid;
		fclose(status);
	}
	if (proc)
		closedir(proc);
	return found;
}

/*
 * Sends a signal to the reader, and to nobody else: kill() takes 0 and -1 for many. `*ret` is who got it. False when
 * there is no reader.
 */
static bool signal_reader(int number, pid_t *ret)
{
	pid_t reader;
	int i;

	/* One that was left or killed may not have ended yet. */
	for (i = 0; i < 60000 && (reader = ours("strata-reader")) < 0; i++)
		usleep(1000);
	*ret = reader;
	return reader > 1 && !kill(reader, number);
}

/* A stopped reader is one that never answers. */
static void test_hanging(struct foreign_files *files)
{
	struct foreign_file *file, *other;
	pid_t reader;
	int i;

	if (!ok(!open_in(files, memory, "file", 7, &file), "a file"))
		return;
	if (!ok(signal_reader(SIGSTOP, &reader), "its reader is stopped")) {
		foreign_close(file);
		return;
	}
	ok(reads(file, 0, 10, -ETIMEDOUT), "a reader that hangs: no answer");
	ok(foreign_unanswered(file), "which the file remembers");
	ok(reads(file, 0, 10, -ETIMEDOUT), "nor is there one at once");
	is_int(open_in(files, memory, "file", 7, &other), -ETIMEDOUT, "another file of the same place");
	ok(!open_in(files, memory, "file", 8, &other) && reads(other, 0, SIZE, SIZE), "other places answer");
	foreign_close(other);
	ok(!foreign_files_recovered(files), "it has not come back");
	kill(reader, SIGCONT); /* more than 1: signal_reader() */
	for (i = 0; i < 60000 && !foreign_files_recovered(files); i++)
		usleep(1000);
	ok(i < 60000 && !foreign_files_recovered(files), "it has, which is told once");
	ok(reads(file, 0, SIZE, SIZE), "and the file is read on");
	ok(signal_reader(SIGKILL, &reader), "its reader is ended");
	ok(reads(file, 0, 10, -EIO) || reads(file, 0, 10, 10), "a reader that dies costs one answer");
	ok(reads(file, 0, 10, 10), "and another one goes on");
	foreign_close(file);
	if (ok(signal_reader(SIGSTOP, &reader), "another one is stopped"))
		ok(open_in(files, memory, "file", 7, &file) == -ETIMEDOUT, "and hangs to the end");
}

int main(void)
{
	struct foreign_files *files;
	struct diag diag;
	int i;

	if (!ok(!setpgid(0, 0), "a process group of our own, to find the readers by"))
		return tap_done();
	fill(disk);
	fill(memory);
	test_reading(NULL, disk, "trusted");
	test_patterns(NULL, disk, "trusted");
	if (!ok(!foreign_files_create(0, &files, &diag), "readers"))
		return tap_done();
	test_reading(files, disk, "on disk");
	test_reading(files, memory, "in memory");
	test_patterns(files, disk, "on disk");
	test_hanging(files);
	ok(foreign_files_cpu_s(files) > 0, "it took CPU time");
	foreign_files_destroy(files);
	for (i = 0; i < 60000 && ours("strata-nursery"); i++)
		usleep(1000);
	ok(!ours("strata-nursery"), "nobody waits for the one that hangs");
	foreign_files_destroy(NULL);
	empty(disk);
	empty(memory);
	return tap_done();
}
