// SPDX-License-Identifier: GPL-2.0-or-later
/* Paths through C libraries that were assembled here (asm/libc_*.s), and verification against made-up thread lists. */
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>

#include "assemble.h"
#include "runtime/python/thread_state.h"
#include "tap.h"

#ifdef __aarch64__
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_X86_64
#endif

/* A process that has one file mapped at its own vaddrs. */
struct mapped {
	const struct elf_file *elf;
	const char *libc; /* which of the file's C libraries it uses */
};

static int mapped_read(void *context, uint64_t address, void *buffer, size_t size)
{
	const struct mapped *mapped = context;
	const uint8_t *bytes = elf_file_bytes_at(mapped->elf, address, size);

	if (!bytes)
		return -EFAULT;
	memcpy(buffer, bytes, size);
	return 0;
}

static int mapped_find(void *context, const char *name, uint64_t *ret)
{
	const struct mapped *mapped = context;
	char own[64];
	uint64_t size;

	snprintf(own, sizeof(own), "%s_%s", mapped->libc,
		 strcmp(name, "__tls_get_addr") ? "getspecific" : "tls_get_addr");
	return elf_file_find_symbol(mapped->elf, own, ret, &size) ? 0 : -ENOENT;
}

static void resolve(const struct elf_file *elf, const char *libc, enum python_thread_kind kind, const char *symbol,
		    int64_t offset, const char *expected)
{
	struct mapped mapped = {.elf = elf, .libc = libc};
	struct python_thread_memory memory = {.read = mapped_read, .find_function = mapped_find, .context = &mapped};
	struct python_thread_source source = {.kind = kind, .offset = offset};
	struct python_thread_path path = {};
	char text[128] = "";
	uint64_t size;
	uint32_t i;
	int err;

	elf_file_find_symbol(elf, symbol, &source.address, &size);
	err = python_thread_resolve(elf_file_machine(elf), &source, 0, &memory, &path, NULL);
	for (i = 0; i < path.count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%+" PRId64, i ? " " : "", path.offset[i]);
	if (err)
		snprintf(text, sizeof(text), "%s", strerror(-err));
	is_str(text, expected, "%s, %s: %s", libc, symbol, expected);
}

static void test_x86_64(void)
{
	struct elf_file *elf = assemble("libc_x86_64", "x86_64");

	if (!ok(elf, "C libraries for x86-64 are assembled"))
		return;
	resolve(elf, "glibc", PYTHON_THREAD_KEY, "key_low", 0, "+872");
	resolve(elf, "glibc", PYTHON_THREAD_KEY, "key_high", 0, "+1312 +216");
	resolve(elf, "old_glibc", PYTHON_THREAD_KEY, "key_low", 0, "+872");
	resolve(elf, "old_glibc", PYTHON_THREAD_KEY, "key_high", 0, "+1312 +216");
	resolve(elf, "musl", PYTHON_THREAD_KEY, "key_low", 0, "+128 +40");
	resolve(elf, "strange", PYTHON_THREAD_KEY, "key_low", 0, "No such file or directory");
	resolve(elf, "glibc", PYTHON_THREAD_KEY, "key_missing", 0, "Resource temporarily unavailable");
	resolve(elf, "no", PYTHON_THREAD_KEY, "key_low", 0, "No such file or directory");
	resolve(elf, "glibc", PYTHON_THREAD_TLS_DYNAMIC, "tls_index", 8, "+8 +48 +32");
	resolve(elf, "musl", PYTHON_THREAD_TLS_DYNAMIC, "tls_index", 8, "+8 +24 +32");
	resolve(elf, "glibc", PYTHON_THREAD_TLS_DESC, "tls_descriptor", 8, "-32");
	resolve(elf, "glibc", PYTHON_THREAD_TLS_DESC, "dynamic_descriptor_slot", 8, "+8 +48 +32");
	resolve(elf, "glibc", PYTHON_THREAD_TLS_GOT, "got_word", 8, "-16");
	resolve(elf, "glibc", PYTHON_THREAD_TLS_STATIC, "got_word", -8, "-8");
	elf_file_close(elf);
}

static void test_aarch64(void)
{
	struct elf_file *elf = assemble("libc_aarch64", "aarch64");

	if (!ok(elf, "C libraries for AArch64 are assembled"))
		return;
	resolve(elf, "glibc", PYTHON_THREAD_KEY, "key_low", 0, "-984");
	resolve(elf, "glibc", PYTHON_THREAD_KEY, "key_high", 0, "-544 +216");
	resolve(elf, "musl", PYTHON_THREAD_KEY, "key_low", 0, "-96 +40");
	resolve(elf, "strange", PYTHON_THREAD_KEY, "key_low", 0, "No such file or directory");
	resolve(elf, "musl", PYTHON_THREAD_TLS_DYNAMIC, "tls_index", 8, "-8 +24 +32");
	resolve(elf, "glibc", PYTHON_THREAD_TLS_DESC, "tls_descriptor", 8, "+48");
	resolve(elf, "glibc", PYTHON_THREAD_TLS_DESC, "dynamic_descriptor_slot", 8, "+0 +48 +32");
	resolve(elf, "glibc", PYTHON_THREAD_TLS_GOT, "got_word", 8, "+32");
	elf_file_close(elf);
}

/* A process made of words: interpreters, thread states and threads. */
enum { HEAD = 0x1000, INTERP = 0x2000, TSTATE = 0x10000, THREAD = 0x800000, STEP = 0x100, SLOT = 0x10, THREADS = 6 };
enum { NEXT = 0, THREADS_HEAD = 8, THREAD_ID = 16 };

struct words {
	uint64_t head, interp_next[2], interp_threads[2];
	uint64_t next[THREADS], id[THREADS], value[THREADS]; /* value: what thread i has at its SLOT */
	unsigned int reads;                                  /* of the head */
	unsigned int settles;                                /* with that many, a late thread is in the list */
	int late;
};

static int words_read(void *context, uint64_t address, void *buffer, size_t size)
{
	struct words *words = context;
	uint64_t value, i;

	if (address == HEAD) {
		value = words->head;
		if (++words->reads == words->settles)
			words->value[words->late] = TSTATE + (uint64_t)words->late * STEP;
	} else if (address >= INTERP && address < INTERP + 2 * STEP) {
		i = (address - INTERP) / STEP;
		value = (address & 0xff) == NEXT ? words->interp_next[i] : words->interp_threads[i];
	} else if (address >= TSTATE && address < TSTATE + THREADS * STEP) {
		i = (address - TSTATE) / STEP;
		value = (address & 0xff) == NEXT ? words->next[i] : words->id[i];
	} else if (address >= THREAD && address < THREAD + THREADS * STEP && (address & 0xff) == SLOT) {
		value = words->value[(address - THREAD) / STEP];
	} else {
		return -EFAULT;
	}
	if (size > sizeof(value))
		return -EFAULT;
	memcpy(buffer, &value, size);
	return 0;
}

/* Three threads in each of two interpreters; the last of the second is the main thread's second thread state. */
static void words_init(struct words *words)
{
	uint64_t i;

	*words = (struct words){
		.head = INTERP, .interp_next = {INTERP + STEP}, .interp_threads = {TSTATE, TSTATE + 3 * STEP}};
	for (i = 0; i < THREADS; i++) {
		words->next[i] = i % 3 == 2 ? 0 : TSTATE + (i + 1) * STEP;
		words->id[i] = THREAD + (i == 5 ? 0 : i) * STEP;
		words->value[i] = TSTATE + i * STEP;
	}
}

static void verify(struct words *words, int expected, size_t threads, size_t agreed, size_t empty, const char *what)
{
	struct python_thread_memory memory = {.read = words_read, .context = words};
	struct python_interpreter interpreter = {.interp_head = HEAD - 0x500,
						 .layout = {.interp_next = NEXT,
							    .interp_threads = THREADS_HEAD,
							    .tstate_next = NEXT,
							    .tstate_thread_id = THREAD_ID}};
	struct python_thread_path path = {.count = 1, .offset = {SLOT}};
	struct python_thread_check check;
	struct diag diag = {};
	int err = python_thread_verify(&interpreter, 0x500, &memory, &path, 0, &check, &diag);

	ok(err == expected && check.threads == threads && check.agreed == agreed && check.empty == empty &&
		   (!err || *diag.text),
	   "%s: %s", what, err ? diag.text : "verified");
	if (err != expected)
		printf("# %d: %zu threads, %zu agreed, %zu empty, %zu wrong\n", err, check.threads, check.agreed,
		       check.empty, check.disagreed);
}

static void test_verify(void)
{
	struct words words;
	size_t i;

	words_init(&words);
	verify(&words, 0, 5, 5, 0, "all threads agree");
	words.value[0] = TSTATE + 5 * STEP;
	verify(&words, 0, 5, 5, 0, "the second of a thread's thread states is as good");
	words.value[1] = 0;
	verify(&words, 0, 5, 4, 1, "a thread without the GIL has none");
	words.value[4] = TSTATE + 3 * STEP;
	verify(&words, -EINVAL, 5, 3, 1, "another thread's thread state");
	words_init(&words);
	words.value[2] = 0x123456;
	verify(&words, -EINVAL, 3, 2, 0, "something else");
	words_init(&words);
	words.value[2] = 0x123456;
	words.late = 2;
	words.settles = 3;
	verify(&words, 0, 5, 5, 0, "a thread that was just being made");
	words_init(&words);
	words.value[0] = TSTATE + 1 * STEP;
	verify(&words, 0, 5, 4, 0, "a sub-interpreter's thread state, made by another thread");
	words_init(&words);
	words.id[2] = 0x700000;
	verify(&words, -EINVAL, 1, 0, 0, "a thread whose memory cannot be read");
	words_init(&words);
	for (i = 0; i < THREADS; i++)
		words.value[i] = 0;
	verify(&words, -EAGAIN, 5, 0, 5, "nobody has one");
	words_init(&words);
	words.next[2] = TSTATE;
	words.interp_next[1] = INTERP;
	verify(&words, 0, 3, 3, 0, "a list without an end");
	words_init(&words);
	words.head = 0;
	verify(&words, -EAGAIN, 0, 0, 0, "no interpreter yet");
	words.head = 0x99;
	verify(&words, -EAGAIN, 0, 0, 0, "a list that cannot be read");
}

static void test_read(void)
{
	struct words words;
	struct python_thread_memory memory = {.read = words_read, .context = &words};
	struct python_thread_path path = {.count = 2, .offset = {SLOT, 8}};
	uint64_t value;

	words_init(&words);
	words.value[0] = 0;
	ok(!python_thread_read(&path, &memory, THREAD, &value) && !value, "a table that was not made yet has nothing");
	words.value[0] = 0x99;
	is_int(python_thread_read(&path, &memory, THREAD, &value), -EFAULT, "a table that cannot be read");
}

static void test_layers(void)
{
	struct elf_file *elf = assemble("key_x86_64", "x86_64");
	struct python_interpreter interpreter = {.version = 0x030c};
	struct python_thread_layer layers[PYTHON_THREAD_LAYERS];
	size_t count;

	if (!ok(elf && !python_thread_layers(elf, &interpreter, layers, PYTHON_THREAD_LAYERS, &count),
		"layers of an interpreter that was assembled"))
		return;
	is_int(count, PYTHON_THREAD_LAYERS, "all layers are listed");
	ok(layers[0].answer.kind == PYTHON_THREAD_TLS_DYNAMIC && layers[0].answer.offset == 16, "%s: %s",
	   layers[0].source, layers[0].result);
	ok(layers[1].answer.kind == PYTHON_THREAD_TLS_GOT && layers[1].answer.offset == 0, "%s: %s", layers[1].source,
	   layers[1].result);
	ok(!layers[2].found && !layers[2].answer.kind && strstr(layers[2].result, "disagree"), "%s: %s",
	   layers[2].source, layers[2].result);
	ok(layers[3].answer.kind == PYTHON_THREAD_KEY && strstr(layers[3].result, "_PyRuntime + 0x60c"), "%s: %s",
	   layers[3].source, layers[3].result);
	ok(!layers[4].found, "%s: %s", layers[4].source, layers[4].result);
	interpreter.version = 0x030b;
	interpreter.debug_build = true;
	interpreter.interp_head = 0x1234;
	ok(!python_thread_layers(elf, &interpreter, layers, 2, &count) && count == 2 && !layers[0].found &&
		   !layers[1].found,
	   "3.11 has no variable, and there may be room for less");
	ok(!python_thread_layers(elf, &interpreter, layers, PYTHON_THREAD_LAYERS, &count) && !layers[3].found &&
		   layers[4].answer.kind == PYTHON_THREAD_LIST,
	   "a debug build is not in the table");
	interpreter = (struct python_interpreter){.version = 0x030f};
	ok(!python_thread_layers(elf, &interpreter, layers, PYTHON_THREAD_LAYERS, &count) && layers[0].found &&
		   layers[1].found,
	   "3.15 has the variable");
	ok(layers[2].answer.kind != PYTHON_THREAD_KEY && layers[2].answer.stays && !layers[3].found &&
		   strstr(layers[3].result, "no key"),
	   "but no key, whatever its functions do: %s", layers[2].result);
	elf_file_close(elf);
}

/* This very process: its own C library, through /proc. */
static void test_own_process(void)
{
	static pthread_key_t keys[40];
	struct python_thread_memory memory;
	struct python_thread_source source = {.kind = PYTHON_THREAD_KEY};
	struct python_thread_path path;
	struct diag diag = {};
	uint64_t value;
	size_t i, right = 0;

	if (!ok(!python_thread_memory_open(NULL, getpid(), &memory, &diag), "own memory %s", diag.text))
		return;
	for (i = 0; i < 40; i++) {
		if (pthread_key_create(&keys[i], NULL) || pthread_setspecific(keys[i], &keys[i]))
			break;
		source.address = (uintptr_t)&keys[i];
		right += !python_thread_resolve(OWN_MACHINE, &source, 0, &memory, &path, &diag) &&
			 !python_thread_read(&path, &memory, (uintptr_t)__builtin_thread_pointer(), &value) &&
			 value == (uintptr_t)&keys[i];
	}
	is_int(right, 40, "this machine's C library: 40 keys, in both levels of its table %s", diag.text);
	for (i = 0; i < 40; i++)
		pthread_key_delete(keys[i]);
	python_thread_memory_close(&memory);
	ok(python_thread_memory_open(NULL, 0x7ffffff0, &memory, &diag) == -ESRCH, "no such process: %s", diag.text);
}

int main(void)
{
	test_own_process();
	test_verify();
	test_read();
	if (can_assemble()) {
		test_x86_64();
		test_aarch64();
		test_layers();
	} else {
		ok(true, "# SKIP paths and layers need clang and lld");
	}
	return tap_done();
}
