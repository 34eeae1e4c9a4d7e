// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/doctor.h"
#include "tap.h"

/* A machine made of files below a temporary directory. */
static char root[] = "/tmp/strata-doctor-XXXXXX";

/* Makes the folders on the way to a file; `path` begins with a slash. */
static void make_folders(const char *path)
{
	char full[256], *slash;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (mkdir(full, 0700) && errno != EEXIST)
			ok(false, "%s: %s", full, strerror(errno));
		*slash = '/';
	}
}

static void write_file(const char *path, const char *text)
{
	char full[256];
	FILE *file;

	make_folders(path);
	snprintf(full, sizeof(full), "%s%s", root, path);
	file = fopen(full, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		ok(false, "%s cannot be written", full);
}

struct file {
	const char *path, *text;
};

static void write_files(const struct file *files, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		write_file(files[i].path, files[i].text);
}

static void write_link(const char *path, const char *target)
{
	char full[256];

	make_folders(path);
	snprintf(full, sizeof(full), "%s%s", root, path);
	unlink(full);
	if (symlink(target, full))
		ok(false, "%s cannot be linked", full);
}

static struct doctor_report examine(void)
{
	const struct doctor_options options = {.root = root, .files_only = true};
	struct doctor_report report = {};
	struct diag diag = {};

	is_int(doctor_examine(&options, &report, &diag), 0, "examined");
	return report;
}

static void is_mark(const struct doctor_report *report, const char *name, enum doctor_mark mark, const char *words)
{
	size_t i;

	for (i = 0; i < report->count && strcmp(report->findings[i].name, name); i++)
		;
	if (!ok(i < report->count, "there is %s", name))
		return;
	is_str(doctor_mark_name(report->findings[i].mark), doctor_mark_name(mark), "  which is %s",
	       doctor_mark_name(mark));
	if (!ok(strstr(report->findings[i].found, words) != NULL, "  found: %s", words))
		printf("# %s\n", report->findings[i].found);
}

struct finding {
	const char *name;
	enum doctor_mark mark;
	const char *words; /* what was found has them */
};

static void are_marks(const struct doctor_report *report, const struct finding *findings, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		is_mark(report, findings[i].name, findings[i].mark, findings[i].words);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_nothing(void)
{
	static const struct finding findings[] = {
		{"BTF", DOCTOR_MISSING, "No such file"},         {"kernel symbols", DOCTOR_MISSING, "No such file"},
		{"/proc", DOCTOR_MISSING, "not mounted"},        {"pid namespace", DOCTOR_UNTRIED, "cannot be read"},
		{"bpf_loop", DOCTOR_UNTRIED, "needs bpf()"},     {"JIT", DOCTOR_UNTRIED, "No such file"},
		{"sampling clock", DOCTOR_UNTRIED, "not tried"},
	};
	struct doctor_report report = examine();
	size_t i, j, sum = 0;

	are_marks(&report, findings, COUNT(findings));
	for (i = 0; i < report.count; i++) {
		const struct doctor_finding *finding = &report.findings[i];

		ok(*finding->found && *finding->why, "%s: words", finding->name);
		ok(finding->how || finding->mark == DOCTOR_INFO || finding->mark == DOCTOR_UNTRIED, "  and advice");
		for (j = 0; j < i && strcmp(report.findings[j].name, finding->name); j++)
			;
		ok(j == i, "  and the name is its own");
	}
	for (i = 0; i < DOCTOR_MARKS; i++)
		sum += report.marks[i];
	is_int(sum, report.count, "each finding is counted once");
	doctor_report_deinit(&report);
}

static void make_machine(const char *capabilities)
{
	static const struct file files[] = {
		{"/proc/1/stat", "1 (init) S\n"},
		{"/proc/self/mounts", "a /x ext4 rw 0 0\nt /sys/kernel/tracing tracefs rw 0 0\n"},
		{"/proc/kallsyms", "0000000000000000 A first\nffffffff81000000 T _text\n"},
		{"/proc/sys/net/core/bpf_jit_enable", "1\n"},
		{"/proc/sys/kernel/perf_event_max_stack", "127\n"},
		{"/proc/sys/kernel/perf_event_max_sample_rate", "100000\n"},
		{"/proc/sys/kernel/unprivileged_bpf_disabled", "2\n"},
		{"/proc/sys/kernel/bpf_stats_enabled", "0\n"},
		{"/proc/sys/kernel/kptr_restrict", "1\n"},
		{"/sys/kernel/security/lockdown", "[none] integrity confidentiality\n"},
		{"/sys/kernel/btf/vmlinux", "BTF"},
		{"/sys/bus/event_source/devices/kprobe/type", "6\n"},
		{"/sys/bus/event_source/devices/uprobe/type", "7\n"},
	};
	char pid[32], path[64], status[128];

	snprintf(pid, sizeof(pid), "%d", getpid());
	write_link("/proc/self", pid);
	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	snprintf(status, sizeof(status), "Name:\tx\nCapEff:\t%s\nSeccomp:\t0\n", capabilities);
	write_file(path, status);
	write_files(files, COUNT(files));
	write_link("/proc/self/ns/user", "user:[4026531837]");
	write_link("/proc/self/ns/pid", "pid:[4026531836]");
}

static void test_good(void)
{
	static const char *const good[] = {
		"cap_bpf",
		"cap_perfmon",
		"cap_sys_ptrace",
		"cap_dac_read_search",
		"cap_syslog",
		"user namespace",
		"pid namespace",
		"/proc",
		"lockdown",
		"BTF",
		"JIT",
		"bpf_stats",
		"sampling rate",
		"kernel stack depth",
		"tracefs",
		"kprobes",
		"uprobes",
		"kernel symbols",
	};
	struct doctor_report report;
	size_t i;

	make_machine("000001ffffffffff");
	report = examine();
	for (i = 0; i < COUNT(good); i++)
		is_mark(&report, good[i], DOCTOR_OK, "");
	is_mark(&report, "tracefs", DOCTOR_OK, "/sys/kernel/tracing");
	doctor_report_deinit(&report);
}

static void test_bad(void)
{
	static const struct file files[] = {
		{"/proc/self/mounts", "a /x ext4 rw 0 0\n"},
		{"/proc/kallsyms", "0000000000000000 A first\n0000000000000000 T _text\n"},
		{"/proc/sys/kernel/kptr_restrict", "2\n"},
		{"/proc/sys/net/core/bpf_jit_enable", "0\n"},
		{"/proc/sys/kernel/perf_event_max_stack", "64\n"},
		{"/proc/sys/kernel/perf_event_max_sample_rate", "50\n"},
		{"/sys/kernel/security/lockdown", "none integrity [confidentiality]\n"},
	};
	static const struct finding findings[] = {
		{"cap_perfmon", DOCTOR_OK, ""},
		{"cap_bpf", DOCTOR_MISSING, ""},
		{"cap_syslog", DOCTOR_MISSING, ""},
		{"user namespace", DOCTOR_MISSING, "4026532101"},
		{"pid namespace", DOCTOR_MISSING, "4026532102"},
		{"tracefs", DOCTOR_LIMITED, "not mounted"},
		{"kernel symbols", DOCTOR_MISSING, "kptr_restrict = 2"},
		{"JIT", DOCTOR_LIMITED, "= 0"},
		{"kernel stack depth", DOCTOR_LIMITED, "64"},
		{"sampling rate", DOCTOR_LIMITED, "50"},
		{"lockdown", DOCTOR_MISSING, "confidentiality"},
	};
	struct doctor_report report;

	make_machine("0000004000000000"); /* cap_perfmon, number 38 */
	write_link("/proc/self/ns/user", "user:[4026532101]");
	write_link("/proc/self/ns/pid", "pid:[4026532102]");
	write_files(files, COUNT(files));
	report = examine();
	are_marks(&report, findings, COUNT(findings));
	doctor_report_deinit(&report);
}

static void test_middling(void)
{
	static const struct finding findings[] = {
		{"cap_bpf", DOCTOR_OK, ""},
		{"cap_perfmon", DOCTOR_OK, ""},
		{"cap_sys_ptrace", DOCTOR_MISSING, ""},
		{"/proc", DOCTOR_MISSING, "another pid namespace"},
		{"lockdown", DOCTOR_OK, "integrity"},
	};
	struct doctor_report report;

	make_machine("0000000000200000"); /* cap_sys_admin, number 21: as good as cap_bpf and cap_perfmon */
	write_link("/proc/self", "1");
	write_file("/proc/1/status", "CapEff:\t0000000000200000\n");
	write_file("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	report = examine();
	are_marks(&report, findings, COUNT(findings));
	doctor_report_deinit(&report);
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
	(void)stat;
	(void)type;
	(void)walk;
	return remove(path);
}

int main(void)
{
	if (!mkdtemp(root)) {
		printf("Bail out! no temporary directory\n");
		return 1;
	}
	test_nothing();
	test_good();
	test_bad();
	test_middling();
	nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	return tap_done();
}
