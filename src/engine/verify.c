// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/verify.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/loss.h"
#include "arch/arch.h"
#include "base/table.h"
#include "base/vec.h"

#define SESSIONS_MAX 64 /* a session holds the file's tables as libdw has them: some MB */
#define PAGE_BYTES   4096u
#define ADDRESS      ((uint64_t)~NATIVE_RETURN_ADDRESS)
#define TOLD_MAX     10 /* samples that are printed, of those that differ and of the others each */

struct session {
	Dwfl *dwfl;
	uint32_t changes; /* of the process, when it was begun */
	struct verifier *verifier;
};

struct verifier {
	struct table sessions;              /* process → struct session * */
	const struct verify_sample *sample; /* at hand */
	VEC(uint64_t) frames;               /* libdw's, as strata writes them */
	bool cut;                           /* libdw asked for memory that was not copied */
	bool verbose;
	unsigned int told[2]; /* samples: of those that agree or may, and of those that differ */
};

struct verifier *verifier_create(bool verbose)
{
	struct verifier *verifier = calloc(1, sizeof(*verifier));

	if (verifier)
		verifier->verbose = verbose;
	return verifier;
}

static void session_end(struct session *session)
{
	if (session->dwfl)
		dwfl_end(session->dwfl);
	free(session);
}

static void end_all(struct verifier *verifier)
{
	struct table_slot *slot;
	size_t at = 0;

	while ((slot = table_next(&verifier->sessions, &at)))
		session_end((struct session *)(uintptr_t)slot->value);
	table_deinit(&verifier->sessions);
	verifier->sessions = (struct table){};
}

void verifier_destroy(struct verifier *verifier)
{
	if (!verifier)
		return;
	end_all(verifier);
	vec_free(&verifier->frames);
	free(verifier);
}

void verifier_forget(struct verifier *verifier, const struct process *process)
{
	uint64_t found;

	if (!table_get(&verifier->sessions, (uint64_t)(uintptr_t)process, &found))
		return;
	table_remove(&verifier->sessions, (uint64_t)(uintptr_t)process);
	session_end((struct session *)(uintptr_t)found);
}

/* What libdw asks of a process: one thread, with these registers and this memory. */

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
	const struct session *session = context;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = context;
	return (pid_t)session->verifier->sample->snapshot->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *context, void **thread)
{
	(void)dwfl;
	(void)tid;
	*thread = context;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *context)
{
	struct verifier *verifier = ((struct session *)context)->verifier;
	const struct snapshot_event *snapshot = verifier->sample->snapshot;
	uint64_t at = snapshot_at(snapshot, address, sizeof(*ret));

	(void)dwfl;
	if (address < snapshot->stack_start || snapshot->stack_size < sizeof(*ret) ||
	    at > snapshot->stack_size - sizeof(*ret) || !(snapshot->pages >> at / PAGE_BYTES & 1) ||
	    !(snapshot->pages >> (at + sizeof(*ret) - 1) / PAGE_BYTES & 1)) {
		verifier->cut = true;
		return false;
	}
	memcpy(ret, verifier->sample->bytes + at, sizeof(*ret));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
	const struct snapshot_event *snapshot = ((struct session *)context)->verifier->sample->snapshot;
	const struct unwind_arch *arch = arch_here()->unwind;
	Dwarf_Word registers[REGISTERS_MAX + 1];
	unsigned int i, count = arch->register_count > arch->sp ? arch->register_count : arch->sp + 1u;

	for (i = 0; i < count; i++)
		registers[i] = snapshot->registers[i];
	if (arch->ra == count) /* a column of its own */
		registers[count++] = snapshot->pc;
	dwfl_thread_state_register_pc(thread, snapshot->pc);
	return dwfl_thread_state_registers(thread, 0, count, registers);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

static int no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *file,
			const char *link, GElf_Word crc, char **found)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)found;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = no_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* This process's vDSO as a file, which is what libdw reads. */
static int vdso_file(void)
{
	const uint8_t *image = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	int fd = image ? memfd_create("vdso", MFD_CLOEXEC) : -1;

	/* One or two pages; the second is there where the image needs it, and write() fails where it is not. */
	if (fd >= 0 && write(fd, image, PAGE_BYTES) == PAGE_BYTES)
		(void)!write(fd, image + PAGE_BYTES, PAGE_BYTES);
	return fd;
}

/* Tells libdw of a mapped file. Several mappings of one file have the same bias: libdw takes it once. */
static void report_mapping(struct session *session, struct objects *objects, const struct process_mapping *mapping)
{
	const struct object *object = objects_at(objects, mapping->file->index);
	uint64_t vaddr;
	char name[32];
	int fd;

	if (!object || !object->readable || !object_vaddr(object, mapping, mapping->start, &vaddr))
		return;
	fd = mapping->file->kind == FILE_VDSO ? vdso_file() : foreign_descriptor(object->content);
	snprintf(name, sizeof(name), "%" PRIu32 "-%" PRIx64, mapping->file->index, mapping->start - vaddr);
	if (fd >= 0 && !dwfl_report_elf(session->dwfl, name, mapping->file->path, fd, mapping->start - vaddr, true))
		close(fd);
}

static struct session *session_begin(struct verifier *verifier, struct objects *objects, const struct process *process)
{
	struct session *session = calloc(1, sizeof(*session));
	size_t i;

	if (!session)
		return NULL;
	session->verifier = verifier;
	session->changes = process->changes;
	session->dwfl = dwfl_begin(&callbacks);
	if (session->dwfl) {
		dwfl_report_begin(session->dwfl);
		for (i = 0; i < process->mappings.count; i++)
			if (process->mappings.at[i].to == UINT64_MAX)
				report_mapping(session, objects, &process->mappings.at[i]);
		dwfl_report_end(session->dwfl, NULL, NULL);
	}
	if (!session->dwfl || !dwfl_attach_state(session->dwfl, NULL, process->pid, &thread_callbacks, session)) {
		session_end(session);
		return NULL;
	}
	return session;
}

static struct session *session_of(struct verifier *verifier, struct objects *objects, const struct process *process)
{
	struct session *session;
	uint64_t found;

	if (table_get(&verifier->sessions, (uint64_t)(uintptr_t)process, &found)) {
		session = (struct session *)(uintptr_t)found;
		if (session->changes == process->changes)
			return session;
		verifier_forget(verifier, process);
	}
	if (verifier->sessions.count >= SESSIONS_MAX)
		end_all(verifier);
	session = session_begin(verifier, objects, process);
	if (session && table_set(&verifier->sessions, (uint64_t)(uintptr_t)process, (uint64_t)(uintptr_t)session)) {
		session_end(session);
		return NULL;
	}
	return session;
}

static int take_frame(Dwfl_Frame *frame, void *context)
{
	struct verifier *verifier = context;
	bool exact; /* not a return address */
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	if (vec_push(&verifier->frames, exact ? pc : pc | NATIVE_RETURN_ADDRESS))
		return DWARF_CB_ABORT;
	/* It has no limit of its own against a stack that leads in a circle. */
	return verifier->frames.count > verifier->sample->walked.count + 16ull ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* Has libdw unwind information for a frame? */
static bool is_covered(const struct session *session, uint64_t frame)
{
	Dwarf_Addr pc = (frame & ADDRESS) - (frame >> 63), eh_bias, debug_bias;
	Dwfl_Module *module = dwfl_addrmodule(session->dwfl, pc);
	Dwarf_CFI *eh = module ? dwfl_module_eh_cfi(module, &eh_bias) : NULL;
	Dwarf_CFI *debug = module ? dwfl_module_dwarf_cfi(module, &debug_bias) : NULL;
	Dwarf_Frame *found = NULL;
	bool covered = (eh && !dwarf_cfi_addrframe(eh, pc - eh_bias, &found)) ||
		       (debug && !dwarf_cfi_addrframe(debug, pc - debug_bias, &found));

	free(found);
	return covered;
}

/* Was one of the frames that both agree on without unwind information? From there on libdw guesses, by frame pointers.
 */
static bool guesses(const struct verifier *verifier, const struct session *session, size_t agreed)
{
	size_t i;

	for (i = 0; i < agreed; i++)
		if (!is_covered(session, verifier->frames.at[i]))
			return true;
	return false;
}

static void tell(struct verifier *verifier, bool differs, size_t first, const char *words)
{
	const struct verify_sample *sample = verifier->sample;
	const struct late_stack *walked = &sample->walked;
	size_t i;

	if (!verifier->verbose || verifier->told[differs]++ >= TOLD_MAX)
		return;
	fprintf(stderr, "verify: %d/%u: %s at frame %zu of %u\n", sample->process->pid, sample->snapshot->tid, words,
		first, walked->count);
	for (i = first ? first - 1 : 0; i < first + 3; i++)
		fprintf(stderr, "verify:   %3zu strata %#18" PRIx64 "  libdw %#18" PRIx64 "\n", i,
			i < walked->count ? walked->frames[i] & ADDRESS : 0,
			i < verifier->frames.count ? verifier->frames.at[i] & ADDRESS : 0);
}

/* Has libdw unwind the copy. How many frames are the same from the innermost one on. */
static size_t unwind(struct verifier *verifier, struct session *session)
{
	const struct late_stack *walked = &verifier->sample->walked;
	size_t i;

	dwfl_getthread_frames(session->dwfl, (pid_t)verifier->sample->snapshot->tid, take_frame, verifier);
	/* The address itself, as both may call the frame that a signal interrupted by other names. */
	for (i = 0; i < walked->count && i < verifier->frames.count; i++)
		if ((walked->frames[i] ^ verifier->frames.at[i]) & ADDRESS)
			break;
	return i;
}

/* Both have the copy's frames, the first `count` of them alike. Gives the count that the sample belongs to. */
static uint64_t *judge(struct verifier *verifier, const struct session *session, size_t count,
		       struct profile_verify *ret)
{
	const struct verify_sample *sample = verifier->sample;
	size_t mine = sample->walked.count, theirs = verifier->frames.count;
	bool is_same = sample->walked.id == sample->snapshot->native_stack;

	if (!is_same && sample->walked.loss == LOSS_NONE) {
		tell(verifier, true, count,
		     "the copy has another stack than the kernel part found, which libdw leaves");
		return &ret->differ;
	}
	if (is_same && count == mine && count == theirs)
		return &ret->agree;
	if (guesses(verifier, session, count)) {
		tell(verifier, false, count, "libdw has no table, and guesses,");
		return &ret->guessed;
	}
	if (count < mine && count < theirs) {
		tell(verifier, true, count, "another frame");
		return &ret->differ;
	}
	if (!is_same)
		return &ret->cut;
	if (count == mine) {
		tell(verifier, false, count, "libdw goes on");
		return &ret->longer;
	}
	tell(verifier, false, count, verifier->cut ? "libdw is at the end of the copy" : "libdw ends");
	return verifier->cut ? &ret->cut : &ret->shorter;
}

/*
 * Why the walk of the copy is no walk of the sample's stack. One that ended with the copy (LOSS_LATE) is, up to there;
 * any other loss is one that the kernel part did not have: what it went by is not known here, or not any more.
 */
static enum loss unlike(const struct verify_sample *sample)
{
	if (sample->walked.id == sample->snapshot->native_stack || sample->walked.loss == LOSS_LATE)
		return LOSS_NONE;
	return (enum loss)sample->walked.loss;
}

void verifier_compare(struct verifier *verifier, struct objects *objects, const struct verify_sample *sample,
		      struct profile_verify *ret)
{
	struct session *session;
	enum loss loss = unlike(sample);

	verifier->sample = sample;
	verifier->frames.count = 0;
	verifier->cut = false;
	if (loss != LOSS_NONE) {
		tell(verifier, false, sample->walked.count, loss_meaning(loss));
		ret->uncompared[loss]++;
		return;
	}
	errno = 0;
	session = session_of(verifier, objects, sample->process);
	if (!session) { /* libdw gives no error of its own where no file has anything for it */
		ret->uncompared[errno == ENOMEM ? LOSS_INTERNAL : LOSS_NO_TABLES]++;
		return;
	}
	ret->samples++;
	*judge(verifier, session, unwind(verifier, session), ret) += 1;
}
