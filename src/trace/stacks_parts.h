/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stacks.c, stacks_fetch.c and stacks_print.c share. */
#ifndef STRATA_TRACE_STACKS_PARTS_H
#define STRATA_TRACE_STACKS_PARTS_H

#include "kernel/sampler.h"
#include "kernel/sideband.h"
#include "engine/resolver.h"
#include "engine/watch.h"
#include "trace/sources.h"
#include "trace/stacks.h"

struct frame_place {
	uint64_t address;      /* as it was in the process or the kernel */
	uint64_t vaddr;        /* in the file, or the number of a second location */
	struct object *object; /* of native frames; NULL: not known */
	int32_t position;      /* of frames of second stacks */
	bool is_return, is_entry, is_unsure, has_code;
};

struct sent_stack {
	enum event_type type;
	enum runtime_id runtime; /* of a second stack */
	uint32_t count;
	uint16_t loss;               /* of one that was finished here: why it ended early */
	struct frame_place frames[]; /* innermost first */
};

struct stacks {
	bool everything; /* all processes are watched */
	struct foreign_files *files;
	VEC(struct watch_file) expected;
	struct sampler *sampler;
	struct sideband *sideband;
	struct watch *watch;
	struct table sent[3]; /* by type: id → struct sent_stack * */
	struct store codes;
	struct table resolvers;  /* object → struct resolver * */
	struct table kept;       /* objects that frames point to: not to be forgotten */
	struct sources *sources; /* NULL: not wanted */
};

struct table *stacks_of(struct stacks *stacks, enum event_type type);

#endif
