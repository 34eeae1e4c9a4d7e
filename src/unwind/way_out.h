/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * way_out: rules for code of which only one address is known, where a walk met it. The start of its function, and what
 * it did before, are not needed. A function restores its caller's registers before it returns, so the code from that
 * address to its returns says where they are:
 *
 *   met at ──▶ ...   pop %rbx      the caller's RBX is the word at SP
 *                    pop %rbp      the caller's RBP is the one above
 *                    ret           the return address is the next: CFA = SP + 24
 *
 * All paths are followed, up to a limit. If they disagree, there is no rule. Otherwise each instruction on the paths
 * has a rule, not only the one that was met. Calls are assumed to return, and are not followed. Where another function
 * seems to begin after the call, which may be chance, the function called is followed: it must come to a return.
 *
 * The result is not proved: the caller must check that the rule leads to a return address.
 */
#ifndef STRATA_UNWIND_WAY_OUT_H
#define STRATA_UNWIND_WAY_OUT_H

#include "unwind/code.h"
#include "unwind/rule_ranges.h"

struct way_out_source {
	/* Copies up to `size` bytes of code at an address; returns how many there are. */
	size_t (*read)(void *context, uint64_t address, uint8_t *ret, size_t size);
	/* The rule of an address, if it is known by other means; false: it is not. */
	bool (*known)(void *context, uint64_t address, struct unwind_rule *ret);
	void *context;
};

/*
 * Follows the code from an address on. `innermost`: it was interrupted there; else a call will return to it. Adds
 * sorted, disjoint ranges to *ret, one of which contains `address`. 0; -ENOENT: there is no rule; -ENOMEM, -ENOTSUP,
 * also where a call leaves the return address in a register.
 */
int way_out_find(const struct code_arch *arch, const struct way_out_source *source, uint64_t address, bool innermost,
		 rule_ranges *ret);

struct way_out_bounds {
	uint64_t start, end;
};

/* Where code within bounds jumps to outside of them, and which registers hold then what they held at the address, by 1
 * << number. */
struct way_out_exit {
	uint64_t to;
	uint32_t kept;
};

/*
 * The exits of code that is left by jumps only; at most `max`, each once. The number of them; 0 also if some way
 * returns, or two contradict each other. Negative: -ENOMEM, -ENOTSUP.
 */
int way_out_exits(const struct code_arch *arch, const struct way_out_source *source, uint64_t address,
		  const struct way_out_bounds *bounds, struct way_out_exit *ret, size_t max);

#endif
