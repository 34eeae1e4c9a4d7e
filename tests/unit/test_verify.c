// SPDX-License-Identifier: GPL-2.0-or-later
/* The second opinion on this process's own stack: it agrees with glibc's, and notices what was changed. */
#include <execinfo.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "abi/loss.h"
#include "engine/verify.h"
#include "tap.h"

#define PAGE     4096
#define STACK_ID 7 /* what the kernel part found */
#define OTHER_ID 8

static struct snapshot_event snapshot;
static uint8_t *bytes;
static uint64_t frames[64];
static struct late_stack walked = {.frames = frames, .id = STACK_ID};

static void copy_stack(uint64_t sp)
{
	char line[512];
	unsigned long start = 0, end = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && sp >= start && sp < end)
			break;
	if (maps)
		fclose(maps);
	snapshot.stack_start = sp & ~(uint64_t)(PAGE - 1);
	snapshot.stack_size = (uint32_t)(end - snapshot.stack_start);
	if (snapshot.stack_size > SNAPSHOT_PAGES * PAGE)
		snapshot.stack_size = SNAPSHOT_PAGES * PAGE;
	snapshot.pages = UINT64_MAX;
	bytes = malloc(snapshot.stack_size);
	/* Not memcpy(): AddressSanitizer keeps places on the stack that must not be touched. */
	process_vm_readv(getpid(), &(struct iovec){bytes, snapshot.stack_size}, 1,
			 &(struct iovec){(void *)(uintptr_t)snapshot.stack_start, snapshot.stack_size}, 1, 0);
}

/* Registers, stack and return addresses at one place. */
__attribute__((noinline)) static void take(void)
{
	void *addresses[64];
	__u64 *r = snapshot.registers;
	uint64_t pc;
	int i, got;

	got = backtrace(addresses, 64);
	asm volatile("lea 0(%%rip), %0; mov %%rbx, %1; mov %%rbp, %2; mov %%rsp, %3; mov %%r12, %4"
		     : "=&r"(pc), "=m"(r[3]), "=m"(r[6]), "=m"(r[7]), "=m"(r[12]));
	asm volatile("mov %%r13, %0; mov %%r14, %1; mov %%r15, %2" : "=m"(r[13]), "=m"(r[14]), "=m"(r[15]));
	snapshot.pc = r[16] = pc;
	snapshot.native_stack = STACK_ID;
	snapshot.tgid = snapshot.tid = (uint32_t)getpid();
	copy_stack(r[7]);
	frames[walked.count++] = pc;
	for (i = 1; i < got; i++)
		frames[walked.count++] = (uint64_t)(uintptr_t)addresses[i] | NATIVE_RETURN_ADDRESS;
}

__attribute__((noinline)) static int nested(int n)
{
	if (n)
		return nested(n - 1) + 1;
	take();
	return 0;
}

static struct profile_verify compare(struct verifier *verifier, struct objects *objects, const struct process *process)
{
	const struct verify_sample sample = {
		.process = process, .snapshot = &snapshot, .bytes = bytes, .walked = walked};
	struct profile_verify result = {};

	verifier_compare(verifier, objects, &sample, &result);
	return result;
}

/* What strata's own walk of the copy may come to instead of the stack that the kernel part found. */
static void test_other_ends(struct verifier *verifier, struct objects *objects, struct process *process)
{
	uint32_t whole = walked.count;
	struct profile_verify result;

	walked.id = OTHER_ID;
	result = compare(verifier, objects, process);
	ok(result.samples == 1 && result.differ == 1, "another whole stack in the copy");
	walked.loss = LOSS_LATE;
	walked.count = 3;
	result = compare(verifier, objects, process);
	ok(result.samples == 1 && result.cut == 1, "a stack that ends with the copy");
	frames[1] ^= 0x10;
	result = compare(verifier, objects, process);
	ok(result.samples == 1 && result.differ == 1 && !result.cut, "such a one is compared as far as it goes");
	frames[1] ^= 0x10;
	walked.loss = LOSS_NO_RULE;
	result = compare(verifier, objects, process);
	ok(!result.samples && result.uncompared[LOSS_NO_RULE] == 1 && !result.cut && !result.agree,
	   "one that ends by another reason is counted by that");
	walked.loss = LOSS_NO_MAPPING;
	ok(compare(verifier, objects, process).uncompared[LOSS_NO_MAPPING] == 1, "whichever it is");
	walked = (struct late_stack){.frames = frames, .count = whole, .id = STACK_ID};
	process->mappings.count = 0; /* and so libdw has no file */
	process->changes++;
	result = compare(verifier, objects, process);
	ok(!result.samples && result.uncompared[LOSS_NO_TABLES] == 1, "no file that libdw could read");
}

static int run(void)
{
	struct processes *processes = processes_create();
	struct objects *objects = objects_create(NULL);
	struct verifier *verifier = verifier_create(false);
	struct profile_verify result;
	struct process *process;
	size_t i, mappings;

	nested(5);
	if (processes_scan(processes, getpid(), 1, &process)) {
		printf("1..0 # SKIP /proc/self/maps cannot be read\n");
		return 0;
	}
	for (i = 0; i < process->mappings.count; i++)
		objects_get(objects, process->mappings.at[i].file, process, &process->mappings.at[i]);
	ok(walked.count >= 4, "%u frames", walked.count);
	result = compare(verifier, objects, process);
	ok(result.samples == 1 && result.agree == 1, "libdw finds the same");
	frames[3] ^= 0x10;
	result = compare(verifier, objects, process);
	ok(result.samples == 1 && result.differ == 1 && !result.agree, "a frame that is another one");
	frames[3] ^= 0x10;
	walked.count--;
	ok(compare(verifier, objects, process).longer == 1, "a stack that ends too soon");
	walked.count++;
	frames[walked.count++] = 0x1234;
	ok(compare(verifier, objects, process).shorter == 1, "a frame too many");
	walked.count--;
	snapshot.pages = 0;
	ok(compare(verifier, objects, process).cut == 1, "memory that was not copied");
	snapshot.pages = UINT64_MAX;
	process->changes++;
	ok(compare(verifier, objects, process).agree == 1, "after a change of the mappings");
	verifier_forget(verifier, process);
	ok(compare(verifier, objects, process).agree == 1, "and after the process was forgotten");
	mappings = process->mappings.count;
	test_other_ends(verifier, objects, process);
	process->mappings.count = mappings;
	verifier_destroy(verifier);
	objects_destroy(objects);
	processes_destroy(processes, NULL);
	free(bytes);
	return tap_done();
}

int main(void)
{
#ifdef __SANITIZE_ADDRESS__
	printf("1..0 # SKIP AddressSanitizer's backtrace() has frames of its own\n");
	return 0;
#endif
	return run();
}
