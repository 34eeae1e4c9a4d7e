// SPDX-License-Identifier: GPL-2.0-or-later
/* How the kernel part finds a process's mappings (src/bpf/find.h), compiled for the host, in trees made by hand. */
#include "fake_kernel.h"
#include "tap.h"

#define TEXT    0x400000ull
#define STEP    0x3000ull /* from one VMA to the next: 8 KiB, and a gap */
#define VMAS    200
#define S       1000000000ull
#define COOKIE  0xc00c1e
#define TGID    4711
#define PAGES   300
#define WRITTEN 1 /* VM_READ */

enum { LEAVES = 29, LEAF_VMAS = 7, INNER = 4 };

/* A process with VMAS mappings, every other one of code, by turns of a file and of none; and where its nodes are. */
struct process {
	struct fake_kernel kernel;
	__u64 file;
	__u64 vmas[VMAS], leaves[LEAVES], inner[INNER], root;
};

static __u64 last_of(__u32 vma)
{
	return TEXT + vma * STEP + 0x2000 - 1;
}

/* Up to 7 VMAs, and the gaps before them; the last leaf has the gap behind them too. */
static void fill_leaf(struct process *process, __u32 leaf)
{
	__u32 first = leaf * LEAF_VMAS, i, at = 0;

	for (i = first; i < first + LEAF_VMAS && i < VMAS; i++) {
		bool ends = i + 1 == first + LEAF_VMAS;

		fake_slot(&process->kernel, process->leaves[leaf], at++, 0, TEXT + i * STEP - 1);
		/* The last one that is used need not say where it ends. */
		fake_slot(&process->kernel, process->leaves[leaf], at++, process->vmas[i],
			  ends && leaf % 2 ? 0 : last_of(i));
	}
	if (i == VMAS)
		fake_slot(&process->kernel, process->leaves[leaf], at, 0, ~0ull);
}

static void know_file(struct fake_kernel *kernel, __u64 file, __u64 changed, __u64 size)
{
	__u32 at = kernel->file_count++;
	__u64 inode;

	memcpy(&inode, fake_bytes(&kernel->memory, file, 8), 8);
	kernel->keys[at] = (struct file_key){.inode = inode, .changed = changed, .size = size};
	kernel->known[at] = (struct known_file){.kind = MAPPING_TABLE,
						.page_first = 7,
						.page_count = PAGES,
						.segments = {{.offset = 0x1000, .end = 0x100000, .shift = 0x5000}}};
}

static void create(struct process *process)
{
	struct fake_kernel *kernel = &process->kernel;
	__u32 i;

	fake_kernel_create(kernel);
	process->file = fake_file(kernel, 0x100000, 7, 8);
	know_file(kernel, process->file, 7 * S + 8, 0x100000);
	for (i = 0; i < VMAS; i++)
		process->vmas[i] = fake_vma(kernel, TEXT + i * STEP, last_of(i) + 1, i & 1 ? VMA_EXECUTABLE : WRITTEN,
					    i % 4 == 1 ? process->file : 0, 1 + i % 3);
	process->root = fake_node(kernel, NODE_GAPS);
	fake_root_node(kernel, process->root);
	for (i = 0; i < LEAVES; i++) {
		process->leaves[i] = fake_node(kernel, NODE_LEAF);
		fill_leaf(process, i);
		if (i % 8 == 0) {
			process->inner[i / 8] = fake_node(kernel, NODE_RANGE);
			fake_slot(kernel, process->root, i / 8, process->inner[i / 8],
				  i / 8 == INNER - 1 ? ~0ull : last_of((i + 8) * LEAF_VMAS - 1));
		}
		fake_slot(kernel, process->inner[i / 8], i % 8, process->leaves[i],
			  i == LEAVES - 1 ? 0 : last_of((i + 1) * LEAF_VMAS - 1));
	}
	kernel->s->sample.tgid = TGID;
	kernel->s->sample.cookie = COOKIE;
	kernel->s->sample.time = S;
}

static void destroy(struct process *process)
{
	fake_kernel_destroy(&process->kernel);
}

/* Looks once more, when it may. */
static int look(struct process *process)
{
	process->kernel.s->sample.time += S;
	process->kernel.memory.reads = 0;
	return find_mappings(process->kernel.s);
}

static const struct mapping_entry *found_at(const struct process *process, __u32 i)
{
	__u64 position = process->kernel.found.position + i;

	return &process->kernel.entries[position & (FOUND_MAPPINGS - 1)];
}

/* Whether the mappings found are those of code that there are, but for those of the file if that is not known. */
static bool is_right(const struct process *process, bool with_file)
{
	const struct process_entry *entry = &process->kernel.found.entry;
	__u32 i, at = 0;

	for (i = 1; i < VMAS; i += 2) {
		const struct mapping_entry *mapping = found_at(process, at);
		bool of_file = i % 4 == 1;
		__u64 start = TEXT + i * STEP;

		if (of_file && !with_file)
			continue;
		if (mapping->start != start || mapping->end != start + 0x2000 ||
		    mapping->kind != (of_file ? MAPPING_TABLE : MAPPING_FP_CHAIN) ||
		    (of_file && (mapping->bias != start - (1 + i % 3) * 0x1000 - 0x5000 || mapping->page_first != 7 ||
				 mapping->page_count != PAGES)))
			return false;
		at++;
	}
	return entry->mapping_count == at && entry->tgid == TGID && entry->check == process_entry_check(entry) &&
	       entry->mapping_first == MAPPINGS_MAX + (process->kernel.found.position & (FOUND_MAPPINGS - 1));
}

static void test_levels(void)
{
	struct process process;
	struct scratch *s;

	create(&process);
	s = process.kernel.s;
	ok(look(&process) && is_right(&process, true), "a tree of three levels: each mapping of code");
	is_int(s->find.vmas, VMAS, "of so many VMAs");
	is_int(process.kernel.event_count, 0, "of which nothing is to be told");
	ok(!find_mappings(s), "it is not the time to look again");
	ok(find_process_by_itself(s, TGID) && s->process.mapping_count == VMAS / 2, "what was found is there");
	process.kernel.position += FOUND_MAPPINGS;
	s->sample.time += S;
	ok(find_process_by_itself(s, TGID) && process.kernel.found.position > FOUND_MAPPINGS,
	   "until its run is overwritten: then it is found anew");
	process.kernel.voids = s->sample.time + 1;
	s->sample.time += S;
	process.kernel.memory.reads = 0;
	ok(find_process_by_itself(s, TGID) && process.kernel.memory.reads > VMAS, "or void");
	s->sample.cookie++;
	process.kernel.memory.reads = 0;
	s->sample.time += S;
	ok(find_process_by_itself(s, TGID) && process.kernel.memory.reads > VMAS, "or another program's");
	fake_root_node(&process.kernel, 0);
	s->sample.cookie++;
	ok(!look(&process) && s->find.is_empty, "an empty tree, in exec");
	destroy(&process);
}

static void test_writer(void)
{
	struct process process;
	__u64 reads, at, torn = 0, missed = 0;
	__u32 sequence;

	create(&process);
	fake_lock(&process.kernel, true);
	ok(!look(&process) && process.kernel.s->find.busy && !process.kernel.is_found, "a writer has the lock");
	is_int(process.kernel.memory.reads, 2, "nothing but the lock is read then");
	fake_lock(&process.kernel, false);
	ok(look(&process) && is_right(&process, true), "it is gone");
	sequence = process.kernel.found.lock_sequence;
	reads = process.kernel.memory.reads;
	/* The first read is that of the count, the last ones those of the lock and the count. */
	for (at = 4; at < 2 * reads; at++) {
		process.kernel.writer_at = at / 2;
		process.kernel.writer_stays = at & 1;
		torn += look(&process);
		missed += !process.kernel.s->find.busy;
		fake_lock(&process.kernel, false);
	}
	process.kernel.writer_at = 0;
	is_int(torn, 0, "a writer comes at any of %llu reads, and stays or goes: nothing is taken",
	       (unsigned long long)reads - 2);
	ok(!missed && process.kernel.found.lock_sequence == sequence, "but left for later");
	ok(look(&process) && is_right(&process, true), "and found then");
	destroy(&process);
}

static void test_again(void)
{
	struct process process;
	struct scratch *s;

	create(&process);
	s = process.kernel.s;
	s->cache.process = CACHED_FOUND;
	fake_wrote(&process.kernel);
	ok(look(&process), "found");
	ok(!find_again(s) && s->find.sure, "a walk has failed, and nobody has written: it went by what is mapped");
	fake_wrote(&process.kernel);
	s->sample.time += S;
	ok(find_again(s) && s->find.sure && is_right(&process, true), "somebody has: it is to be made again");
	destroy(&process);
}

/* Fails, whatever the damage; and does so each time. */
static void damaged(struct process *process, const char *words)
{
	bool is_found = look(process);

	ok(!is_found && process->kernel.s->find.failed && !process->kernel.found.entry.generation, "%s", words);
	destroy(process);
}

static void test_damage(void)
{
	struct process process;

	create(&process);
	fake_slot(&process.kernel, process.inner[1], 2, NODE_AT(process.leaves[10]), last_of(11 * LEAF_VMAS - 1));
	damaged(&process, "a node of no kind");
	create(&process);
	fake_slot(&process.kernel, process.root, 1, process.inner[1] | 15 << 3, last_of(16 * LEAF_VMAS - 1));
	damaged(&process, "a node of a kind that is not known");
	create(&process);
	process.inner[0] = fake_node(&process.kernel, NODE_RANGE);
	fake_slot(&process.kernel, process.inner[0], 0, process.root ^ 7 << 3, 0);
	fake_root_node(&process.kernel, process.inner[0]);
	damaged(&process, "the same, though what is in it makes sense");
	create(&process);
	fake_slot(&process.kernel, process.inner[0], 3, 0xffffc90000000008ull, last_of(4 * LEAF_VMAS - 1));
	damaged(&process, "a node that cannot be read");
	create(&process);
	fake_slot(&process.kernel, process.inner[0], 0, process.root, last_of(LEAF_VMAS - 1));
	damaged(&process, "a node within itself");
	create(&process);
	fake_slot(&process.kernel, process.leaves[5], 1, 0xffffc90000000000ull, last_of(5 * LEAF_VMAS));
	damaged(&process, "a VMA that cannot be read");
	create(&process);
	fake_slot(&process.kernel, process.leaves[5], 1, process.vmas[5 * LEAF_VMAS + 1], last_of(5 * LEAF_VMAS));
	fake_slot(&process.kernel, process.leaves[5], 3, process.vmas[5 * LEAF_VMAS], last_of(5 * LEAF_VMAS + 1));
	damaged(&process, "VMAs out of order");
	create(&process);
	fake_slot(&process.kernel, process.root, 2, process.inner[0], last_of(24 * LEAF_VMAS - 1));
	damaged(&process, "a part that comes twice");
	create(&process);
	fake_put64(&process.kernel.memory, process.vmas[77] + offsetof(struct vm_area_struct, vm_mm),
		   process.kernel.mm + 256);
	damaged(&process, "a VMA of another address space");
}

/* A tree without an end: nodes without a VMA, over and over. */
static void test_wide(void)
{
	struct process process;
	__u64 below;
	__u32 level, i;

	create(&process);
	below = fake_node(&process.kernel, NODE_LEAF);
	for (level = 1; level < 5; level++) {
		__u64 node = fake_node(&process.kernel, NODE_RANGE);

		for (i = 0; i < NODE_RANGE_SLOTS; i++)
			fake_slot(&process.kernel, node, i, below, (i + 1ull) << (8 * level));
		below = node;
	}
	fake_root_node(&process.kernel, below);
	ok(!look(&process) && process.kernel.memory.reads <= FIND_STEPS_MAX + 16 && process.kernel.s->find.failed,
	   "a tree of 65,536 empty leaves: there is a bound");
	destroy(&process);
}

static bool in_order(const struct process *process)
{
	const struct process_entry *entry = &process->kernel.found.entry;
	__u32 i;

	for (i = 0; i + 1 < entry->mapping_count; i++)
		if (found_at(process, i)->end > found_at(process, i + 1)->start)
			return false;
	return entry->mapping_count <= FIND_MAPPINGS_MAX;
}

/* A word of any node is any other, as a writer may leave it that no count tells of. */
static void test_any_damage(void)
{
	unsigned int failed = 0, wrong = 0, i;
	struct process process;
	uint64_t random = 1;

	create(&process);
	for (i = 0; i < 4000; i++) {
		__u64 nodes[] = {process.root, process.inner[i % INNER], process.leaves[i % LEAVES]};
		__u64 word = NODE_AT(nodes[i % 3]), value, before;

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		word += (random >> 33 & 31) * 8;
		value = random & 1 ? process.leaves[random >> 40 & 15] : random & 2 ? random : random >> 40;
		memcpy(&before, fake_bytes(&process.kernel.memory, word, 8), 8);
		fake_put64(&process.kernel.memory, word, value);
		if (!look(&process))
			failed++;
		else
			wrong += !in_order(&process);
		wrong += process.kernel.memory.reads > 16 * FIND_VMAS_MAX ||
			 process.kernel.s->find.vmas > FIND_VMAS_MAX + 1;
		fake_put64(&process.kernel.memory, word, before);
	}
	ok(failed > 100 && failed < i, "%u of %u damaged trees are refused", failed, i);
	is_int(wrong, 0, "of the others mappings are in order; and the reads have a bound");
	ok(look(&process) && is_right(&process, true), "once it is whole, all is found");
	destroy(&process);
}

static void test_too_many(void)
{
	struct process process;
	__u32 i, at;

	create(&process);
	for (i = 0; i < VMAS; i++)
		fake_put64(&process.kernel.memory, process.vmas[i] + offsetof(struct vm_area_struct, vm_flags),
			   VMA_EXECUTABLE);
	ok(look(&process), "%u mappings of code", VMAS);
	at = 0;
	for (i = 0; i < FIND_MAPPINGS_MAX / 16 + 1; i++) {
		__u64 leaf = fake_node(&process.kernel, NODE_LEAF);
		__u32 k;

		for (k = 0; k < NODE_RANGE_SLOTS; k++, at++)
			fake_slot(&process.kernel, leaf, k,
				  fake_vma(&process.kernel, TEXT + at * 0x1000, TEXT + (at + 1) * 0x1000,
					   VMA_EXECUTABLE, 0, 0),
				  TEXT + (at + 1) * 0x1000 - 1);
		if (!i)
			process.root = fake_node(&process.kernel, NODE_RANGE);
		if (i < NODE_RANGE_SLOTS - 1)
			fake_slot(&process.kernel, process.root, i, leaf, TEXT + at * 0x1000 - 1);
		else if (i == NODE_RANGE_SLOTS - 1)
			fake_slot(&process.kernel, process.root, i, process.leaves[0], 0);
	}
	fake_root_node(&process.kernel, process.root);
	(void)look(&process);
	ok(process.kernel.s->find.count <= FIND_MAPPINGS_MAX, "no more than there is room for");
	destroy(&process);
}

static void test_reused(void)
{
	struct process process;
	struct fake_kernel *kernel = &process.kernel;
	__u64 inode;

	create(&process);
	ok(look(&process) && is_right(&process, true), "of a file that is known");
	memcpy(&inode, fake_bytes(&kernel->memory, process.file, 8), 8);
	fake_put64(&kernel->memory, inode + offsetof(struct inode___find, i_ctime_sec), 9);
	ok(look(&process) && is_right(&process, false),
	   "written to, or another one in its place: it is not taken for that");
	is_int(kernel->found.unknown, VMAS / 4, "its mappings are not known");
	ok(kernel->event_count == 1 && kernel->events[0].key.inode == inode &&
		   kernel->events[0].key.changed == 9 * S + 8 && kernel->events[0].key.size == 0x100000 &&
		   kernel->events[0].start == TEXT + STEP && kernel->events[0].tgid == TGID,
	   "user space is told, once, by what name");
	know_file(kernel, process.file, 9 * S + 8, 0x100000);
	ok(look(&process) && is_right(&process, true) && kernel->event_count == 1, "and says what it is");
	fake_put64(&kernel->memory, inode + offsetof(struct inode, i_size), 0x200000);
	ok(look(&process) && is_right(&process, false) && kernel->event_count == 2, "another size: another file");
	destroy(&process);
}

/* Linux 6.6 to 6.10 keep the time as one record. */
static void test_old_time(void)
{
	struct process process;
	struct fake_kernel *kernel = &process.kernel;

	create(&process);
	kernel->has_split_ctime = false;
	process.file = fake_file(kernel, 0x3000, 11, 12);
	fake_put64(&kernel->memory, process.vmas[1] + offsetof(struct vm_area_struct, vm_file), process.file);
	(void)look(&process);
	ok(kernel->event_count && kernel->events[0].key.changed == 11 * S + 12 && kernel->events[0].key.size == 0x3000,
	   "a file's time, as older kernels have it");
	destroy(&process);
}

/* What the kernel maps itself. */
static void test_vdso(void)
{
	struct process process;
	struct fake_kernel *kernel = &process.kernel;
	__u64 special, name;

	create(&process);
	special = fake_kernel_alloc(kernel, 8);
	name = fake_kernel_alloc(kernel, 8);
	memcpy(fake_bytes(&kernel->memory, name, 7), "[vdso]", 7);
	fake_put64(&kernel->memory, special, name);
	fake_put64(&kernel->memory, process.vmas[3] + offsetof(struct vm_area_struct, vm_ops), special);
	fake_put64(&kernel->memory, process.vmas[3] + offsetof(struct vm_area_struct, vm_private_data), special);
	ok(look(&process) && kernel->event_count && kernel->events[0].key.inode == FILE_KEY_VDSO,
	   "the vDSO is told of");
	is_int(kernel->found.unknown, 1, "and not known yet");
	kernel->keys[kernel->file_count] = (struct file_key){.inode = FILE_KEY_VDSO};
	kernel->known[kernel->file_count++] = (struct known_file){
		.kind = MAPPING_TABLE, .page_first = 1, .page_count = 2, .segments = {{.end = 0x2000}}};
	ok(look(&process) && !kernel->found.unknown && found_at(&process, 1)->kind == MAPPING_TABLE, "then it is");
	memcpy(fake_bytes(&kernel->memory, name, 7), "[vvar]", 7);
	ok(look(&process) && found_at(&process, 1)->kind == MAPPING_NO_TABLE, "what else the kernel maps has no table");
	destroy(&process);
}

int main(void)
{
	test_levels();
	test_writer();
	test_again();
	test_damage();
	test_wide();
	test_any_damage();
	test_too_many();
	test_reused();
	test_old_time();
	test_vdso();
	return tap_done();
}
