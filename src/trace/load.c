// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/load.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/core_types.h"
#include "kernel/load_iterators.h"
#include "kernel/load_log.h"
#include "kernel/load_patience.h"
#include "kernel/object_maps.h"
#include "lang/core/record.h"
#include "lang/rt/calls.h"
#include "trace/run.h"
#include "trace/wanted.h"

/*
 * The ring is mapped twice, and all of it counts as this process's memory. With stacks their frames come through it as
 * well. Where records come as often as processes do something, it has room for those of about a second, in which this
 * process has no CPU: as far as that is a small part of the machine's memory.
 */
#define RING_BYTES        (1u << 20)
#define RING_BYTES_STACKS (4u << 20)
#define RING_BYTES_MOST   (16u << 20)
#define RING_RECORDS      131072u
#define RING_HEADER       8u /* the kernel's, of each record */
#define MEMORY_SHARE      1024u

static int loud(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_DEBUG ? 0 : vfprintf(stderr, format, args);
}

/* A power of two, as the kernel wants it. */
static uint32_t ring_bytes(const struct compiler *c)
{
	uint64_t most = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / MEMORY_SHARE, usual = 0;
	uint32_t bytes = c->stack_parts ? RING_BYTES_STACKS : RING_BYTES;
	size_t i;

	for (i = 0; i < c->sites.count; i++) {
		const struct site *site = &c->sites.at[i];
		uint64_t takes =
			RING_HEADER + sizeof(struct rt_event) + (site->arguments ? record_usual(site->arguments) : 0);

		if (site->is_frequent && takes > usual)
			usual = takes;
	}
	if (most > RING_BYTES_MOST)
		most = RING_BYTES_MOST;
	while (bytes * 2ull <= most && bytes < usual * RING_RECORDS)
		bytes *= 2;
	return bytes;
}

/* As large as there may be: memory can be short, or limited, as it is up to Linux 5.10 by RLIMIT_MEMLOCK. */
static int create_ring(struct run *run)
{
	struct bpf_map *ring = bpf_object__find_map_by_name(run->object, "events");
	uint32_t bytes = ring_bytes(run->compiler);
	int fd, err;

	while ((fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "events", 0, 0, bytes, NULL)) < 0 && bytes > RING_BYTES)
		bytes /= 2;
	if (fd < 0)
		return fd;
	err = bpf_map__set_max_entries(ring, bytes);
	if (!err)
		err = bpf_map__reuse_fd(ring, fd);
	close(fd);
	return err;
}

static int configure_command(struct run *run, struct diag *diag)
{
	const struct compile_options *options = run->compiler->options;
	const struct rt_command command = {.tgid = (uint32_t)options->pid,
					   .namespace_device = options->namespace_device,
					   .namespace_inode = options->namespace_inode};
	struct bpf_map *map = bpf_object__find_map_by_name(run->object, RT_COMMAND_SECTION);
	int err = map ? bpf_map__set_initial_value(map, &command, sizeof(command)) : -ENOENT;

	return err ? diag_fail(diag, -err, "trace.command", "the programs cannot be told which process the command is")
		   : 0;
}

static int configure_calls(struct run *run, struct diag *diag)
{
	const struct rt_calls_wanted *wanted = run->compiler->calls_wanted;
	struct bpf_map *map = bpf_object__find_map_by_name(run->object, RT_CALLS_SECTION);
	int err = map ? bpf_map__set_initial_value(map, wanted, sizeof(*wanted)) : -ENOENT;

	return err ? diag_fail(diag, -err, "trace.calls", "the programs cannot be told which calls are wanted") : 0;
}

static int configure(struct loading *loading, struct diag *diag)
{
	struct run *run = loading->run;
	const struct compiler *c = run->compiler;
	struct bpf_program *program;
	size_t i;
	int err;

	for (i = 0; i < c->units.count; i++) {
		const struct unit *unit = &c->units.at[i];

		program = bpf_object__find_program_by_name(run->object, unit->program);
		if (!program)
			return diag_fail(diag, ENOENT, "trace.program", "a program is missing from the linked object");
		bpf_program__set_type(program, (enum bpf_prog_type)unit->provider->program_type);
		bpf_program__set_expected_attach_type(program,
						      (enum bpf_attach_type)unit->provider->expected_attach_type);
		err = unit->provider->configure
			      ? unit->provider->configure(program, &c->attaches.at[unit->first_attach], diag)
			      : 0;
		if (err)
			return err;
	}
	err = c->stack_parts ? stacks_configure(run->object, c->stack_parts, loading->finds, c->options, diag) : 0;
	if (!err && c->has_packets)
		err = packets_configure(run->object, diag);
	if (!err && c->has_python)
		err = wanted_configure(run->object, c, diag);
	if (!err && c->calls_wanted)
		err = configure_calls(run, diag);
	if (!err && provider_follows_command(c))
		err = configure_command(run, diag);
	return err;
}

/* What a kernel lacks that has no helper of this number. */
static const char *without_helper(int number)
{
	switch (number) {
	case BPF_FUNC_override_return:
		return "it was built without CONFIG_BPF_KPROBE_OVERRIDE, which override() needs";
	case BPF_FUNC_get_socket_cookie:
		return "socket_cookie() needs Linux 5.12";
	case BPF_FUNC_get_func_ret:
		return "retval of BPF programs needs Linux 5.17";
	default:
		return "loops need Linux 5.17, other functions a newer one";
	}
}

/* Older kernels' maps refuse them: MAX_BPF_STACK in kernel/bpf/hashtab.c. */
#define KEY_MAX_OLD 512

static bool has_long_key(const struct run *run)
{
	size_t i;

	for (i = 0; i < run->compiler->maps.count; i++)
		if (run->compiler->maps.at[i]->key && run->compiler->maps.at[i]->key->size > KEY_MAX_OLD)
			return true;
	return false;
}

/* Counts the calls of path() below a node; *ret is the last one. */
static unsigned int find_path(const struct node *node, const struct node **ret)
{
	unsigned int count = 0;
	uint32_t i;

	if (!node)
		return 0;
	if (node_calls(node, CORE_PATH)) {
		*ret = node;
		count++;
	}
	for (i = 0; i < node->kid_count; i++)
		count += find_path(node->kids[i], ret);
	return count;
}

/* Of several calls it is not known which one the kernel has refused. */
static int path_error(const struct run *run, int err, struct diag *diag)
{
	static const char where[] = "the kernel allows path() in functions that it lists (btf_allowlist_d_path), such "
				    "as security_file_open and filp_close, and from Linux 5.12 in iter";
	struct complaint complaint = {.text = "helper bpf_d_path not allowed in probe", .hint = where};
	const struct compiler *c = run->compiler;
	const struct node *call = NULL;
	unsigned int count = 0;
	size_t i;

	for (i = 0; i < c->units.count; i++)
		count += find_path(c->units.at[i].predicate, &call) + find_path(c->units.at[i].body, &call);
	if (count != 1)
		return diag_fail(diag, -err, "trace.path", "%s: %s", complaint.text, where);
	complaint.span = call->span;
	report_now(&run->compilation->report, &complaint, stderr);
	return err;
}

static int load_error(const struct run *run, int err, char *log, struct diag *diag)
{
	const char *reason, *helper;

	if (err == -EPERM)
		return diag_fail(diag, EPERM, "trace.permission",
				 "loading BPF programs is not permitted; run as root, or with CAP_BPF and CAP_PERFMON");
	if (run->options->verbose && log)
		fputs(log, stderr);
	reason = log ? load_log_reason(log) : NULL;
	/* "unknown func bpf_loop#181", "invalid func unknown#181", "program of this type cannot use helper
	 * bpf_loop#181" */
	helper = reason && (strstr(reason, " func ") || strstr(reason, " helper ")) ? strchr(reason, '#') : NULL;
	if (helper && atoi(helper + 1) == BPF_FUNC_probe_write_user)
		return diag_fail(diag, -err, "trace.helper",
				 "this kernel cannot run the script: it lets no program write to a process's memory, "
				 "as it is locked down (kernel_lockdown(7))");
	if (helper)
		return diag_fail(diag, -err, "trace.helper",
				 "this kernel cannot run the script: it has no BPF helper number %d here: %s",
				 atoi(helper + 1), without_helper(atoi(helper + 1)));
	if (reason && strstr(reason, "helper call is not allowed in probe"))
		return path_error(run, err, diag);
	if (reason && (strstr(reason, " is of type ") || strstr(reason, " expected=")))
		return diag_fail(diag, -err, "trace.object",
				 "the kernel has another type for what a function of the script is given: %s", reason);
	/* Up to 5.12 a loop's body, which is only called by a helper, is not even found. */
	if (reason && strstr(reason, "func_info"))
		return diag_fail(
			diag, -err, "trace.loops",
			"this kernel is too old for the script: loops need Linux 5.17; unroll() needs nothing");
	if (reason && strstr(reason, "address for kernel symbol"))
		return diag_fail(diag, -err, "trace.data",
				 "this kernel does not know where its own data is, which percpu_kaddr() needs: it was "
				 "built without CONFIG_KALLSYMS_ALL");
	if (reason && strstr(reason, "BPF_STX uses reserved fields"))
		return diag_fail(diag, -err, "trace.atomic",
				 "this kernel is too old for the script: the value of @x++ needs Linux 5.12; "
				 "use ++ as a statement, and read the map after it");
	if (err == -E2BIG && !reason && has_long_key(run))
		return diag_fail(diag, E2BIG, "trace.key",
				 "this kernel is too old for the script: up to 5.10 the keys of a map have %d bytes at "
				 "most; give str() in keys a length",
				 KEY_MAX_OLD);
	if (err == -E2BIG || (reason && strstr(reason, "too large")))
		return diag_fail(diag, E2BIG, "trace.complex",
				 "the script is too complex for the kernel's verifier; split it, or shorten its loops "
				 "and strings");
	return diag_fail(diag, -err, "trace.load",
			 "the kernel refused a program of the script: %s%s%s; -v shows its log", strerror(-err),
			 reason ? ": " : "", reason ? reason : "");
}

static void *load_programs(void *context)
{
	struct loading *loading = context;

	loading->err = bpf_object__load(loading->run->object);
	return NULL;
}

/* Opens and configures run->object. */
static int open_object(struct loading *loading, struct diag *diag)
{
	struct run *run = loading->run;
	char path[64];

	loading->log = calloc(1, LOAD_LOG_BYTES);
	loading->types =
		run->compiler->stack_parts || run->compiler->has_calls || provider_follows_command(run->compiler)
			? core_types_open(&loading->finds)
			: -1;
	if (loading->types == -EFBIG) {
		diag_fail(diag, EFBIG, "trace.file", "the programs need larger files in memory");
		diag_add_limits(diag, EFBIG);
		return -EFBIG;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", loading->types);

	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "strata", .kernel_log_buf = loading->log,
		    .kernel_log_size = loading->log ? LOAD_LOG_BYTES : 0,
		    .btf_custom_path = loading->types < 0 ? NULL : path);

	if (run->options->verbose)
		libbpf_set_print(loud);
	else
		load_log_silence();
	load_patiently();
	load_iterators(); /* the stacks of waiting threads are found while another thread loads */
	run->object = bpf_object__open_mem(run->compilation->object, run->compilation->object_size, &options);
	if (!run->object)
		return diag_fail(diag, errno, "trace.open", "the linked object cannot be read: %s", strerror(errno));
	return configure(loading, diag);
}

int load_begin(struct loading *loading, struct diag *diag)
{
	struct run *run = loading->run;
	int err = open_object(loading, diag);

	if (err)
		return err;
	err = create_ring(run);
	if (!err)
		err = object_maps_create(run->object);
	if (err)
		return load_error(run, err, loading->log, diag);
	loading->is_apart =
		run->compiler->stack_parts && !pthread_create(&loading->thread, NULL, load_programs, loading);
	return 0;
}

static void release(struct loading *loading)
{
	if (loading->types >= 0)
		close(loading->types);
	free(loading->log);
}

int load_end(struct loading *loading, int err, struct diag *diag)
{
	if (loading->is_apart)
		pthread_join(loading->thread, NULL);
	else if (!err)
		load_programs(loading);
	if (loading->err)
		err = load_error(loading->run, loading->err, loading->log, diag);
	release(loading);
	return err;
}

/* One script makes the same maps; what it makes for its own sections stays apart. */
static int share_maps(struct bpf_object *object, const struct bpf_object *first, struct diag *diag)
{
	struct bpf_map *map;
	int err;

	bpf_object__for_each_map(map, object)
	{
		const struct bpf_map *mate = bpf_object__find_map_by_name(first, bpf_map__name(map));

		if (bpf_map__is_internal(map) || !mate || bpf_map__fd(mate) < 0)
			continue;
		if (bpf_map__type(map) != bpf_map__type(mate) || bpf_map__key_size(map) != bpf_map__key_size(mate) ||
		    bpf_map__value_size(map) != bpf_map__value_size(mate))
			return diag_fail(diag, EINVAL, "trace.maps", "the map %s is another one", bpf_map__name(map));
		err = bpf_map__reuse_fd(map, bpf_map__fd(mate));
		if (err)
			return diag_fail(diag, -err, "trace.maps", "the map %s cannot be used once more: %s",
					 bpf_map__name(map), strerror(-err));
	}
	return 0;
}

static int choose_programs(const struct run *run, bool (*wanted)(const struct compiler *c, const struct unit *unit),
			   struct diag *diag)
{
	const struct compiler *c = run->compiler;
	struct bpf_program *program;
	size_t i;
	int err = 0;

	bpf_object__for_each_program(program, run->object) bpf_program__set_autoload(program, false);
	for (i = 0; i < c->units.count && !err; i++)
		if (wanted(c, &c->units.at[i]))
			err = bpf_program__set_autoload(
				bpf_object__find_program_by_name(run->object, c->units.at[i].program), true);
	return err ? diag_fail(diag, -err, "trace.program", "a program cannot be chosen: %s", strerror(-err)) : 0;
}

int load_more(struct loading *loading, const struct bpf_object *first,
	      bool (*wanted)(const struct compiler *c, const struct unit *unit), struct diag *diag)
{
	struct run *run = loading->run;
	int err = open_object(loading, diag);

	if (!err)
		err = share_maps(run->object, first, diag);
	if (!err)
		err = choose_programs(run, wanted, diag);
	if (!err) {
		load_programs(loading);
		if (loading->err)
			err = load_error(run, loading->err, loading->log, diag);
	}
	release(loading);
	return err;
}
