/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verify: a second opinion on native stacks, for `record --verify`.
 *
 * The registers and the stack of every tenth sample are copied, as for a late sample, after the kernel has walked them.
 * The copy is walked twice. bpf/native.h, compiled for user space, must give the same stack id. elfutils' libdw walks
 * it by the files' own .eh_frame or .debug_frame. libdw shares no code with strata: it has its own reader of ELF files,
 * its own compiler of rows, and its own walk. Each verified process has one libdw session, until its mappings change.
 *
 * Each chosen sample is counted once:
 *   guessed      libdw has no unwind information for a frame and guesses that the frame pointer leads to the caller.
 *                A difference behind such a frame proves nothing. It happens in _init and _fini of a program (crti.o),
 *                where libdw leaves out the caller; strata follows the code, and gdb agrees with strata.
 *   cut          the walk in user space ends with the copy, because the stack is longer or goes on elsewhere. libdw has
 *                to agree up to there.
 *   uncompared   the walk in user space ends for another reason than the kernel's, so there is no second opinion. That
 *                reason is counted, as is stack-missing when no copy arrived.
 *   differ       a real difference. In 180,000 verified samples of OpenSSL's and Python's sha256 at 4,999 Hz there was
 *                none; the only disagreement was a guess, in bash's _fini.
 *
 * What neither walk can know: just before an exception reaches its handler, libgcc (uw_install_context_1) overwrites
 * the registers and return address that _Unwind_Resume saved with those of the handler. A sample in these few
 * instructions has frames that are gone or not there yet; some end as no-mapping or odd-stack.
 *
 * tests/e2e/verify.t covers signal handlers, alternate and split stacks, clone, vfork, realigned frames, lazy binding,
 * exceptions and libcrypto. Not thread-safe.
 */
#ifndef STRATA_ENGINE_VERIFY_H
#define STRATA_ENGINE_VERIFY_H

#include "abi/events.h"
#include "kernel/late_walk.h"
#include "profile/profile.h"
#include "engine/objects.h"

struct verifier;

/* NULL when memory is short. `verbose`: the first differences are printed to stderr. */
struct verifier *verifier_create(bool verbose);
void verifier_destroy(struct verifier *verifier);

/*
 * One sample: its process, the copy, and the stack that strata's own walk finds in the copy. The walk is the same
 * source as in the kernel, so this must be the stack that the kernel found (snapshot->native_stack), if the copy has
 * all of it.
 */
struct verify_sample {
	const struct process *process;
	const struct snapshot_event *snapshot;
	const uint8_t *bytes; /* of the stack, as they follow the event */
	struct late_stack walked;
};

/*
 * Compares, and counts the sample in *ret, in one of the counts that make up ret->samples or in ret->uncompared. A
 * stack that ends with the copy is compared up to there.
 */
void verifier_compare(struct verifier *verifier, struct objects *objects, const struct verify_sample *sample,
		      struct profile_verify *ret);

/* A process is forgotten. */
void verifier_forget(struct verifier *verifier, const struct process *process);

#endif
