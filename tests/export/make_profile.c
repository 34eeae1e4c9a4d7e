// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * make_profile KIND STACKS PREFIX: writes a made-up profile in every format, for the tests of the formats:
 * PREFIX and each suffix, .stats.json, .summary. The same arguments give the same profile.
 *   web      a threaded web application in Python over sqlite3, json and re; about STACKS distinct stacks; source files
 *   hostile  names that try to break out of every format
 *   poor     as web, but a tenth of the samples is incomplete
 *   deep     one stack of STACKS frames, a recursion
 *   waits    an interpreter's own functions around Python's, files of equal names, time off the CPU
 *   pool     idle and busy threads of a pool, in two slices of time
 *   timed    a thread that runs, waits for half a second, runs and is renamed; each sample has its time
 *   exec     a thread that is renamed while a sample stands for the time before; each sample has its time
 *   renamed  a thread with two names, without times
 *   stripped STACKS samples, each at another address of one function without a symbol
 *   empty    no samples
 */
#include <stdlib.h>
#include <string.h>

#include "export/export.h"

#define BEGAN 5000000000ull

struct maker {
	struct profile *profile;
	uint64_t random;
	uint32_t stack[32768];
	uint32_t depth;
};

/* xorshift64: Marsaglia, 2003 */
static unsigned int pick(struct maker *maker, unsigned int below)
{
	maker->random ^= maker->random << 13;
	maker->random ^= maker->random >> 7;
	maker->random ^= maker->random << 17;
	return (unsigned int)(maker->random >> 33) % below;
}

static void push(struct maker *maker, enum frame_layer layer, const char *name, const char *file, int line)
{
	struct frame frame = {layer, name, file, line};

	if (layer == FRAME_RUNTIME)
		frame.runtime = "python";
	if (profile_frame(maker->profile, &frame, &maker->stack[maker->depth]))
		abort();
	maker->depth++;
}

static void python(struct maker *maker, const char *name, const char *file, int line, unsigned int lines)
{
	push(maker, FRAME_RUNTIME, name, file, line + (int)pick(maker, lines));
}

static void native(struct maker *maker, const char *name, const char *file)
{
	push(maker, FRAME_NATIVE, name, file, 0);
}

static void in_kernel(struct maker *maker)
{
	static const char *const ways[][5] = {
		{"entry_SYSCALL_64_after_hwframe", "do_syscall_64", "ksys_pread64", "vfs_read", "filemap_read"},
		{"entry_SYSCALL_64_after_hwframe", "do_syscall_64", "ksys_write", "vfs_write", "tcp_sendmsg"},
		{"entry_SYSCALL_64_after_hwframe", "do_syscall_64", "do_futex", "futex_wait", "schedule"},
		{"asm_exc_page_fault", "exc_page_fault", "handle_mm_fault", "do_anonymous_page", "clear_page_erms"},
	};
	unsigned int way = pick(maker, 4), depth = 2 + pick(maker, 4), i;

	for (i = 0; i < depth && i < 5; i++)
		push(maker, FRAME_KERNEL, ways[way][i], "", 0);
}

static void in_sqlite(struct maker *maker)
{
	static const char *const leaves[] = {"sqlite3VdbeExec", "sqlite3BtreeMovetoUnpacked", "sqlite3VdbeSerialGet",
					     "pcache1Fetch", "sqlite3VdbeRecordCompare"};

	python(maker, "Store.find", "/srv/shop/store.py", 60, 9);
	native(maker, "pysqlite_cursor_execute", "_sqlite3.cpython-311-x86_64-linux-gnu.so");
	native(maker, "sqlite3_step", "libsqlite3.so.0.8.6");
	native(maker, leaves[pick(maker, 5)], "libsqlite3.so.0.8.6");
	if (!pick(maker, 3))
		in_kernel(maker);
}

static void in_json(struct maker *maker)
{
	unsigned int i, levels = pick(maker, 5);

	python(maker, "dumps", "/usr/lib/python3.11/json/__init__.py", 227, 5);
	python(maker, "JSONEncoder.encode", "/usr/lib/python3.11/json/encoder.py", 190, 12);
	native(maker, "encoder_call", "python3.11");
	for (i = 0; i < levels; i++) {
		native(maker, "encoder_listencode_obj", "python3.11");
		native(maker, i % 2 ? "encoder_listencode_dict" : "encoder_listencode_list", "python3.11");
	}
	native(maker, pick(maker, 2) ? "py_encode_basestring_ascii" : "_PyAccu_Accumulate", "python3.11");
}

static void in_sort(struct maker *maker)
{
	python(maker, "rank", "/srv/shop/search.py", 30, 6);
	native(maker, "list_sort_impl", "python3.11");
	if (pick(maker, 3)) {
		python(maker, "rank.<locals>.<lambda>", "/srv/shop/search.py", 33, 1);
		native(maker, "PyFloat_FromDouble", "python3.11");
	}
}

static void in_template(struct maker *maker)
{
	char name[64];
	unsigned int i, levels = 1 + pick(maker, 6);

	for (i = 0; i < levels; i++) {
		snprintf(name, sizeof(name), "Block%u.render", pick(maker, 12));
		python(maker, name, "/srv/shop/templates.py", 100 + 20 * (int)i, 12);
	}
	python(maker, "sub", "/usr/lib/python3.11/re/__init__.py", 185, 2);
	native(maker, "pattern_subx", "python3.11");
	if (pick(maker, 2))
		python(maker, "escape.<locals>.replace", "/srv/shop/templates.py", 12, 4);
	else
		native(maker, "sre_ucs1_match", "python3.11");
}

static void one_stack(struct maker *maker, bool worker)
{
	static void (*const ways[])(struct maker * maker) = {in_sqlite, in_json, in_sort, in_template, in_kernel};
	unsigned int page = pick(maker, 4) * pick(maker, 5); /* some pages are asked for more often */
	char name[64];

	maker->depth = 0;
	native(maker, worker ? "clone3" : "_start", worker ? "libc.so.6" : "python3.11");
	native(maker, worker ? "start_thread" : "__libc_start_main", "libc.so.6");
	native(maker, worker ? "thread_run" : "Py_BytesMain", "python3.11");
	if (worker) {
		python(maker, "Thread._bootstrap", "/usr/lib/python3.11/threading.py", 995, 1);
		python(maker, "Thread.run", "/usr/lib/python3.11/threading.py", 975, 1);
	} else {
		python(maker, "<module>", "/srv/shop/app.py", 210, 1);
	}
	python(maker, "Server.serve", "/srv/shop/app.py", 120, 1);
	python(maker, "dispatch", "/srv/shop/app.py", 80, 2);
	snprintf(name, sizeof(name), "Handlers.page_%u", page);
	python(maker, name, "/srv/shop/handlers.py", 10 + 40 * (int)page, 2 + pick(maker, 3) * pick(maker, 3) * 3);
	ways[pick(maker, 9) % 5](maker);
}

/* Numbered lines; of one file two processes have different texts. */
static void add_sources(struct profile *profile)
{
	static const struct {
		const char *path;
		int pid;
		unsigned int lines;
	} files[] = {{"/srv/shop/app.py", 1201, 220},
		     {"/srv/shop/app.py", 1377, 220},
		     {"/srv/shop/handlers.py", 1201, 600},
		     {"/srv/shop/handlers.py", 1377, 590}};
	static char text[65536];
	size_t i, used;
	unsigned int line;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		for (line = 1, used = 0; line <= files[i].lines; line++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%*sline(%u)\n", (int)(line % 5) * 4,
						 "", line);
		if (profile_add_source(profile,
				       &(struct profile_source){.path = files[i].path,
								.text = text,
								.size = used,
								.is_changed = files[i].lines == 590},
				       files[i].pid))
			abort();
	}
}

static void make_web(struct maker *maker, size_t stacks, bool poor)
{
	struct profile_quality *quality = profile_quality(maker->profile);
	size_t tries;
	uint64_t count;

	for (tries = 0; profile_sample_count(maker->profile) < stacks && tries < 20 * stacks; tries++) {
		unsigned int thread = pick(maker, 8);
		int pid = thread < 6 ? 1201 : 1377;

		one_stack(maker, thread && thread != 6);
		count = 1 + pick(maker, 4) * pick(maker, 4) * pick(maker, 6);
		if (poor && !pick(maker, 10)) {
			maker->stack[0] = maker->stack[maker->depth - 1];
			maker->depth = 0;
			push(maker, FRAME_MARK, "[unknown 0x7f3a00001f40]", "", 0);
			native(maker, "0x1f40", "libvendor.so.3");
			quality->lost[pick(maker, 3) ? LOSS_NO_RULE : LOSS_STACK_READ] += count;
		} else {
			quality->complete += count;
		}
		quality->samples += count;
		quality->runtimes[0].samples += maker->depth > 3 ? count : 0;
		if (profile_add_sample(maker->profile,
				       &(struct profile_sample){.comm = thread && thread != 6 ? "worker" : "python3",
								.pid = pid,
								.tid = pid + (int)thread % 6,
								.cgroup = (uint64_t)pid,
								.count = count,
								.depth = maker->depth,
								.frames = maker->stack},
				       NULL))
			abort();
	}
	if (profile_set_owner(
		    maker->profile, 1201,
		    &(struct profile_owner){"/kubepods/pod1", "app", "shop/cart-7d9f", "", "shop/cart-7d9f:app"}) ||
	    profile_set_owner(
		    maker->profile, 1377,
		    &(struct profile_owner){"/system.slice/web.service", "", "", "web.service", "web.service"}))
		abort();
	add_sources(maker->profile);
	if (stacks > 20) {
		quality->late_samples = 12;
		quality->lost[LOSS_SIDEBAND] = 2;
	}
}

static void make_hostile(struct maker *maker)
{
	static const char *const names[] = {
		"</script><script>window.broken=1</script>",
		"\"><img src=x onerror=window.broken=1>",
		"a\xe2\x80\xa8window.broken=1\xe2\x80\xa9//",
		"quote\" back\\slash ' apos & amp <b>",
		"semi;colon\nnew\tline\x01 100",
		"<!--<script>",
		"{{data}}{{script}}",
		"\xff\xfe bad \xc3",
		"__proto__",
		"naïve→\xf0\x9f\x90\x8d",
		"",
	};
	char long_name[301] = "";
	uint32_t i, count = sizeof(names) / sizeof(names[0]);

	memset(long_name, 'x', sizeof(long_name) - 1);
	for (i = 0; i < count; i++) {
		maker->depth = 0;
		native(maker, "_start", names[i]);
		python(maker, names[i], names[(i + 1) % count], 1, 1);
		push(maker, FRAME_KERNEL, names[i], "", 0);
		python(maker, long_name, "/very/long.py", 1, 1);
		push(maker, FRAME_MARK, "[truncated]", "", 0);
		profile_add_sample(maker->profile,
				   &(struct profile_sample){.comm = names[i],
							    .pid = 1 + (int)i,
							    .tid = 1 + (int)i,
							    .cgroup = 1 + i,
							    .count = 1,
							    .depth = maker->depth,
							    .frames = maker->stack},
				   NULL);
		profile_set_owner(maker->profile, 1 + i,
				  &(struct profile_owner){names[i], names[i], names[i], names[i], names[i]});
	}
	profile_quality(maker->profile)->samples = profile_quality(maker->profile)->complete = count;
	for (i = 0; i < count; i++)
		if (profile_add_source(maker->profile,
				       &(struct profile_source){.path = names[(i + 1) % count],
								.text = names[i],
								.size = strlen(names[i])},
				       1 + (int)i))
			abort();
	profile_info(maker->profile)->command = profile_string(maker->profile, names[0]);
	profile_info(maker->profile)->hostname = profile_string(maker->profile, names[1]);
}

static void make_deep(struct maker *maker, size_t depth)
{
	struct profile_quality *quality = profile_quality(maker->profile);

	while (maker->depth < depth && maker->depth < sizeof(maker->stack) / sizeof(maker->stack[0]))
		push(maker, FRAME_RUNTIME, "fib", "/srv/fib.py", 3 + (int)maker->depth % 2);
	profile_add(maker->profile, "python3", 7, 7, maker->stack, maker->depth, 10);
	quality->samples = quality->complete = quality->runtimes[0].samples = 10;
}

#define SLICES 300

/* Over 300 slices of a tenth of a second: the stack's number says when it was seen first, and each later one follows.
 */
static void spread(struct profile *profile)
{
	size_t i;

	if (profile_slice_count(profile))
		return;
	for (i = 0; i < profile_sample_count(profile); i++) {
		uint64_t left = profile_sample_at(profile, i)->count, part;
		uint32_t slice = (uint32_t)(i * 7919 % SLICES);

		for (; left; left -= part, slice = (slice + 1) % SLICES) {
			part = left > 3 ? 3 : left;
			if (profile_add_slice(profile, &(struct profile_slice){(uint32_t)i, slice, part}))
				abort();
		}
	}
	profile_info(profile)->times = (struct profile_times){.start_s = 0.02, .width_s = 0.1, .count = SLICES};
}

static void describe(struct profile *profile, const char *kind)
{
	struct profile_quality *quality = profile_quality(profile);
	struct profile_info *info = profile_info(profile);
	size_t i;

	quality->runtimes[0].name = "python";
	quality->runtimes[0].language = "Python";
	*info = (struct profile_info){
		.command = profile_string(profile, "python3 -m shop.app --workers 5"),
		.hostname = profile_string(profile, "lab-7"),
		.kernel = profile_string(profile, "6.1.0-31-amd64"),
		.strata_version = profile_string(profile, STRATA_VERSION),
		.frequency = 99,
		.cpus = 2,
		.start_time = 1760000000.25,
		.began_ns = BEGAN,
		.weighed = !strcmp(kind, "timed") || !strcmp(kind, "pool") || !strcmp(kind, "exec"),
		.duration_s = 30.02,
	};
	if (!strcmp(kind, "web"))
		spread(profile);
	if (!strcmp(kind, "pool"))
		info->times = (struct profile_times){.width_s = 10, .count = 2};
	quality->unique_stacks = profile_sample_count(profile);
	for (i = 0; i < profile_sample_count(profile); i++)
		if (profile_sample_at(profile, i)->depth > quality->max_depth)
			quality->max_depth = profile_sample_at(profile, i)->depth;
	quality->bpf_runs = quality->samples;
	quality->bpf_run_ns = quality->samples * 5300;
	quality->bpf_worst_ns = 48000;
	quality->bpf_frames = quality->samples * 61;
	quality->self_cpu_s = 0.21;
	quality->self_peak_rss_kb = 31 * 1024;
	quality->startup_ms = 182.4;
}

static void make_stripped(struct maker *maker, size_t samples)
{
	size_t i;

	for (i = 0; i < samples; i++) {
		const struct frame frame = {.layer = FRAME_NATIVE,
					    .name = "0x49f0",
					    .file = "libz.so.1.2.13",
					    .address = 0x4a00 + i,
					    .path = "/usr/lib/libz.so.1.2.13",
					    .build_id = "c0ffee0123456789"};

		maker->depth = 0;
		native(maker, "main", "compress");
		if (profile_frame(maker->profile, &frame, &maker->stack[maker->depth++]) ||
		    profile_add(maker->profile, "compress", 7, 7, maker->stack, maker->depth, 1))
			abort();
	}
	profile_quality(maker->profile)->samples = profile_quality(maker->profile)->complete = samples;
}

static void make_waits(struct maker *maker)
{
	static const uint64_t counts[] = {50, 10, 5, 7, 3};
	uint64_t i;

	for (i = 0; i < 5; i++) {
		maker->depth = 0;
		native(maker, "_start", "libc.so.6");
		native(maker, "Py_BytesMain", "python3.11");
		python(maker, "format", "/srv/black/__init__.py", 779, 1);
		if (i > 2)
			native(maker, "compiled", "ext.so");
		if (i == 0 || i == 3)
			native(maker, "PyObject_Call", "python3.11");
		if (i == 1 || i == 2)
			native(maker, "list_sort_impl", "python3.11");
		if (i == 0 || i == 2 || i == 3)
			python(maker, "load", "/usr/lib/python3.11/json/__init__.py", 5, 1);
		if (!i) {
			push(maker, FRAME_KERNEL, "schedule", "", 0);
			push(maker, FRAME_MARK, "[waiting: futex]", "", 0);
		}
		if (profile_add(maker->profile, "python3", 7, 7, maker->stack, maker->depth, counts[i]))
			abort();
		profile_quality(maker->profile)->samples += counts[i];
		profile_quality(maker->profile)->complete += counts[i];
	}
}

static void timed(struct maker *maker, const char *comm, unsigned int at_ms, unsigned int ms)
{
	const struct profile_sample sample = {.comm = comm,
					      .pid = 7,
					      .tid = 7,
					      .count = 1,
					      .weight = ms * 1000000ull,
					      .depth = maker->depth,
					      .frames = maker->stack};
	struct profile_moment moment = {.time = BEGAN + at_ms * 1000000ull, .weight = sample.weight};

	if (profile_add_sample(maker->profile, &sample, &moment.sample) || profile_add_moment(maker->profile, &moment))
		abort();
	profile_quality(maker->profile)->samples++;
	profile_quality(maker->profile)->complete++;
}

static void make_timed(struct maker *maker)
{
	native(maker, "_start", "python3.11");
	python(maker, "main", "/srv/app.py", 3, 1);
	timed(maker, "python3", 100, 10);
	timed(maker, "python3", 110, 10);
	timed(maker, "python3", 650, 10);
	timed(maker, "renamed", 660, 10);
	push(maker, FRAME_MARK, "[waiting: futex]", "", 0);
	timed(maker, "python3", 610, 500);
}

/* In each of two slices of 10 s. */
static void in_slices(struct maker *maker, int tid, unsigned int first_ms, unsigned int second_ms)
{
	const uint64_t ns[] = {first_ms * 1000000ull, second_ms * 1000000ull};
	struct profile_sample sample = {.comm = tid == 20 ? "python3" : "worker",
					.pid = 20,
					.tid = tid,
					.count = 1,
					.weight = ns[0] + ns[1],
					.depth = maker->depth,
					.frames = maker->stack};
	struct profile_slice slice = {};

	if (profile_add_sample(maker->profile, &sample, &slice.sample))
		abort();
	for (slice.slice = 0; slice.slice < 2; slice.slice++) {
		slice.count = ns[slice.slice];
		if (slice.count && profile_add_slice(maker->profile, &slice))
			abort();
	}
	profile_quality(maker->profile)->samples++;
	profile_quality(maker->profile)->complete++;
}

static void make_pool(struct maker *maker)
{
	int tid;

	native(maker, "_start", "python3.11");
	python(maker, "main", "/srv/app.py", 3, 1);
	in_slices(maker, 20, 10000, 0);
	for (tid = 21; tid < 25; tid++)
		in_slices(maker, tid, 50, 50);
	in_slices(maker, 25, 150, 150);
	python(maker, "take", "/srv/queue.py", 9, 1);
	push(maker, FRAME_MARK, "[waiting: futex]", "", 0);
	in_slices(maker, 20, 0, 10000);
	for (tid = 21; tid < 25; tid++)
		in_slices(maker, tid, 9950, 9950);
	in_slices(maker, 25, 9850, 9850);
	in_slices(maker, 26, 5000, 5000);
	maker->depth--;
	push(maker, FRAME_MARK, "[waiting: poll]", "", 0);
	in_slices(maker, 26, 5000, 5000);
}

static void make_exec(struct maker *maker)
{
	native(maker, "_start", "python3.11");
	timed(maker, "sh", 10, 10);
	native(maker, "main", "python3.11");
	timed(maker, "python3", 17, 10);
	timed(maker, "sh", 19, 10);
}

static void make_renamed(struct maker *maker)
{
	native(maker, "_start", "python3.11");
	if (profile_add(maker->profile, "sh", 7, 7, maker->stack, maker->depth, 2) ||
	    profile_add(maker->profile, "python3", 7, 7, maker->stack, maker->depth, 3))
		abort();
	profile_quality(maker->profile)->samples = profile_quality(maker->profile)->complete = 5;
}

static FILE *open_output(const char *prefix, const char *suffix)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s%s", prefix, suffix);
	out = fopen(path, "w");
	if (!out) {
		perror(path);
		exit(1);
	}
	return out;
}

static void write_all(const struct profile *profile, const char *prefix)
{
	struct export_options options = {.threads = false};
	struct diag diag = {};
	unsigned int i;
	FILE *out;

	for (i = 0; exporter_at(i); i++) {
		out = open_output(prefix, exporter_at(i)->suffix);
		if (exporter_at(i)->write(out, profile, &options, &diag) || fclose(out)) {
			fprintf(stderr, "%s: %s\n", exporter_at(i)->suffix, diag.text);
			exit(1);
		}
	}
	out = open_output(prefix, ".stats.json");
	if (export_stats(out, profile, &diag) || fclose(out))
		exit(1);
	out = open_output(prefix, ".summary");
	if (export_summary(out, profile, false) || fclose(out))
		exit(1);
}

int main(int argc, char **argv)
{
	struct maker maker = {.random = 88172645463325252ull};

	if (argc != 4) {
		fputs("usage: make_profile web|poor|hostile|deep|waits|pool|timed|exec|renamed|stripped|empty STACKS "
		      "PREFIX\n",
		      stderr);
		return 2;
	}
	maker.profile = profile_create();
	if (!maker.profile)
		return 1;
	describe(maker.profile, argv[1]);
	if (!strcmp(argv[1], "hostile"))
		make_hostile(&maker);
	else if (!strcmp(argv[1], "deep"))
		make_deep(&maker, strtoul(argv[2], NULL, 10));
	else if (!strcmp(argv[1], "waits"))
		make_waits(&maker);
	else if (!strcmp(argv[1], "pool"))
		make_pool(&maker);
	else if (!strcmp(argv[1], "timed"))
		make_timed(&maker);
	else if (!strcmp(argv[1], "exec"))
		make_exec(&maker);
	else if (!strcmp(argv[1], "renamed"))
		make_renamed(&maker);
	else if (!strcmp(argv[1], "stripped"))
		make_stripped(&maker, strtoul(argv[2], NULL, 10));
	else if (strcmp(argv[1], "empty"))
		make_web(&maker, strtoul(argv[2], NULL, 10), !strcmp(argv[1], "poor"));
	if (strcmp(argv[1], "hostile"))
		describe(maker.profile, argv[1]);
	write_all(maker.profile, argv[3]);
	profile_destroy(maker.profile);
	return 0;
}
