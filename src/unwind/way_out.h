/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * way_out: rules for code of which nothing is known but an address at which it was met: where its function begins, and
 * what it did before, need not be known. A function gives back what it was given before it returns, so the code from
 * there to its returns says where all of it lies:
 *
 *   met at ──▶ ...   pop %rbx      the caller's RBX is the word at SP
 *                    pop %rbp      the caller's RBP is the one above
 *                    ret           the return address is the next: CFA = SP + 24
 *
 * All ways are followed, to a bound; ways to different places are at odds, and there is no rule. Each instruction that
 * is passed has a rule then, not only the one that was met. What is passed by is what other functions do: that a call
 * returns is taken for granted, unless another function seems to begin behind it.
 *
 * It is not proved: whoever asks must see that the rule leads to a return address.
 */
#ifndef STRATA_UNWIND_WAY_OUT_H
#define STRATA_UNWIND_WAY_OUT_H

#include "unwind/code.h"
#include "unwind/rule_ranges.h"

struct way_out_source {
	/* Copies what there is of `size` bytes of code at an address; how many that are. */
	size_t (*read)(void *context, uint64_t address, uint8_t *ret, size_t size);
	/* The rule that is known of an address by other means; false: none is. */
	bool (*known)(void *context, uint64_t address, struct unwind_rule *ret);
	void *context;
};

/*
 * Follows the code from an address on: `innermost`, it was interrupted there, else a call is to return to it. Ranges
 * that are sorted and apart from each other are added to *ret, of which one has `address`. 0; -ENOENT: there is no
 * rule; -ENOMEM, -ENOTSUP.
 */
int way_out_find(const struct code_arch *arch, const struct way_out_source *source, uint64_t address, bool innermost,
		 rule_ranges *ret);

#endif
