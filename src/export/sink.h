/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sink: where profiles go, window after window: a file, or anything else that a profile can be sent to.
 *
 * A sink takes a profile, which the caller still owns and must keep until the next flush. When the flush returns, the
 * sink has delivered all that it took. A client of the engine knows nothing else about its outputs. Not thread-safe.
 */
#ifndef STRATA_EXPORT_SINK_H
#define STRATA_EXPORT_SINK_H

#include "base/diag.h"
#include "profile/profile.h"

struct sink;

struct sink_type {
	/* 0, or a negative errno and a diag: then the sink has not taken it. */
	int (*take)(struct sink *sink, const struct profile *profile, struct diag *diag);
	/* 0, or a negative errno and a diag. What was taken is delivered, or given up: it is not tried again. */
	int (*flush)(struct sink *sink, struct diag *diag);
	void (*close)(struct sink *sink);
};

/* The first member of each sink. */
struct sink {
	const struct sink_type *type;
};

static inline int sink_take(struct sink *sink, const struct profile *profile, struct diag *diag)
{
	return sink->type->take(sink, profile, diag);
}

static inline int sink_flush(struct sink *sink, struct diag *diag)
{
	return sink->type->flush(sink, diag);
}

/* What was taken since the last flush is not delivered. */
static inline void sink_close(struct sink *sink)
{
	if (sink)
		sink->type->close(sink);
}

#endif
