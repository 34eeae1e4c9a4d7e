/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * provider: the kinds of probes; each is one file behind a struct. A provider turns an attach point into places to
 * attach to, says what the program's context is, and attaches the program.
 */
#ifndef STRATA_LANG_PROVIDER_PROVIDER_H
#define STRATA_LANG_PROVIDER_PROVIDER_H

#include "base/diag.h"
#include "lang/core/compiler.h"

struct bpf_program;
struct kernel_functions;

enum context_kind {
	CONTEXT_NONE,       /* begin, end: nothing to be read */
	CONTEXT_REGISTERS,  /* struct pt_regs */
	CONTEXT_PERF,       /* struct bpf_perf_event_data, which begins with pt_regs; 8-byte loads only */
	CONTEXT_TRACEPOINT, /* the tracepoint's record */
	CONTEXT_WORDS,      /* u64 arguments: rawtracepoint, fentry, fexit */
	CONTEXT_ITER        /* pointers of the iterator */
};

/*
 * The program itself applies -p and -c, at its beginning (gen/gen.c): it continues only in threads of the process, or
 * of the command and its descendants. So providers must attach to at least these threads, and may attach to more.
 */
struct attach_target {
	int pid;         /* 0: all processes */
	bool is_command; /* with its descendants */
	int cpu;         /* the one on which clocks run; -1: as each provider does */
};

/* Attached programs: descriptors to be closed. */
struct descriptors {
	VEC(int) at;
};

struct attachment {
	struct descriptors links;     /* that are closed after a grace period */
	struct descriptors events;    /* of tracepoints whose program is attached by a link */
	struct descriptors fds;       /* other links, and events */
	struct descriptors iterators; /* iterators: reading them to the end runs their programs */
};

/* Adds a descriptor, or closes it when memory is short. 0, or -ENOMEM with a diag. */
int attachment_keep(struct descriptors *descriptors, int fd, struct diag *diag);
/* Closes those from `first` up to, but not including, `end`. They may already have been closed. */
void attachment_drop(struct descriptors *descriptors, size_t first, size_t end);
/* Programs may still run for some tenths of a second, so they must be told before to do nothing. */
void attachment_close(struct attachment *attachment);

enum provider_run {
	RUN_BY_KERNEL,  /* attached */
	RUN_FIRST,      /* by the runner, as these: when all are attached */
	RUN_LAST,       /* when all others have ended */
	RUN_ON_SIGNAL,  /* of strata's own */
	RUN_TO_MEASURE, /* with --bench */
	RUN_TO_TEST     /* with --test */
};

struct provider {
	const char *name;
	const char *aliases[3];
	enum context_kind context;
	unsigned int program_type;         /* enum bpf_prog_type */
	unsigned int expected_attach_type; /* 0: none */
	bool is_return;                    /* retval is there */
	bool has_result;                   /* the return value of its actions is used */
	enum provider_run run;             /* who runs its programs */
	bool is_kernel;                    /* places are kernel functions, at attach.address */
	bool in_task;                      /* its programs run in the context of the thread's own code */
	bool obeys_target;                 /* its events happen in processes: only those of -p or -c count */
	bool has_objects;                  /* its context's words are objects whose types the verifier can know */
	bool allows_paths;                 /* bpf_d_path() is allowed */
	bool allows_override;              /* what the function returns can be changed */
	bool has_parameters;               /* `args` is what the binary's debug information says */
	bool computes_args;                /* `args` is a record that the program itself makes (CORE_BEGIN) */
	bool is_watch;                     /* unwatch() removes its places, by their addresses */
	/* Several places share a program, told apart by the attach cookie. */
	bool shares_programs;
	/* If not: are both places, of one file, of the same program, which tells them apart? May be NULL. */
	bool (*is_alike)(const struct attach *a, const struct attach *b);
	/* Of the programs at one place, the kernel runs the one attached last first. */
	bool runs_last_first;
	/* Adds the places of an attach point to c->attaches. Complains when there is none. */
	void (*expand)(struct compiler *c, const struct provider *self, const struct attach_text *point);
	/* Lists places that match a pattern, for -l. May be NULL. */
	void (*list)(struct compiler *c, const struct provider *self, const struct attach_text *point);
	/*
	 * Sets what loading needs to know about the unit that begins at this place, besides the types above. May be
	 * NULL.
	 */
	int (*configure)(struct bpf_program *program, const struct attach *attach, struct diag *diag);
	/*
	 * Attaches a loaded program to `count` places whose cookies are `cookie` and up. 0, or a negative errno with a
	 * diag. NULL: the runner runs it itself.
	 */
	int (*attach)(int program, const struct attach *attaches, uint32_t count, uint64_t cookie,
		      const struct attach_target *target, struct attachment *ret, struct diag *diag);
	const char *usage;
};

/* The action for which a dialect asks for places: that of a probe of the script, by its number. */
struct action {
	struct span span; /* of the probe */
	uint32_t probe;
	unsigned int uses; /* enum probe_use */
};

/* Adds the units of an attach point of this action, or complains. */
void provider_expand(struct compiler *c, const struct action *action, const struct attach_text *point);
/* A unit by itself, of `count` places from `first` on; for dialects that put their units together anew. */
void provider_add_unit(struct compiler *c, const struct action *action, const struct attach_text *point,
		       const struct provider *provider, uint32_t first, uint32_t count);
/* After all are expanded: complains and returns false if there are too many. */
bool provider_expanded(struct compiler *c);

/* Are there events that count only in -c's command and its descendants? */
bool provider_follows_command(const struct compiler *c);
/* Is it an iterator that others read after strata has ended? */
bool unit_is_pinned(const struct compiler *c, const struct unit *unit);

const struct provider *provider_find(const char *name);
const struct provider *provider_at(unsigned int index); /* NULL behind the last */

extern const struct provider provider_bench, provider_test, provider_begin, provider_end, provider_interval,
	provider_profile, provider_tracepoint, provider_rawtracepoint, provider_uprobe, provider_uretprobe,
	provider_usdt, provider_software, provider_hardware, provider_watchpoint, provider_kprobe, provider_kretprobe,
	provider_fentry, provider_fexit, provider_iter, provider_self, provider_python;

/* uapi/linux/bpf.h of Linux 6.10: enum bpf_attach_type */
#define ATTACH_KPROBE_SESSION 56

/* For providers: */

/* "BINARY:FUNC" and so on: does `text` match the pattern with * and ? and [...]? */
bool provider_matches(const char *pattern, const char *text);
bool provider_has_wildcard(const char *text);
void provider_add(struct compiler *c, struct attach attach);
/* A copy of a provider's own data, for attach.own; NULL when memory is short. */
const void *provider_own(struct compiler *c, const void *data, size_t size);
/* Complains about the number of parts. */
bool provider_parts(struct compiler *c, const struct provider *self, const struct attach_text *point, uint32_t least,
		    uint32_t most);

/* Takes "+OFFSET" off a function's pattern. False, with a complaint, where a return probe has one. */
bool provider_offset(struct compiler *c, const struct provider *self, const struct attach_text *point,
		     const char **pattern, uint64_t *ret);

/* What uprobe, usdt and python have in common (uprobe.c): places by file and offset. `own` begins with this. */
struct uprobe_own {
	uint64_t semaphore; /* the file offset of a USDT marker's semaphore; 0: there is none */
};
int provider_configure_uprobe(struct bpf_program *program, const struct attach *attach, struct diag *diag);
int provider_attach_uprobe(int program, const struct attach *attaches, uint32_t count, uint64_t cookie,
			   const struct attach_target *target, struct attachment *ret, struct diag *diag);
void provider_add_uprobe(struct compiler *c, struct attach attach);

/*
 * An attach point of `usdt` that means no place: does it name a marker of CPython's, in a file that is one? Then, with
 * --synthesize, the places of the provider `python` are added, with ATTACH_SYNTHESIZED, and it is true; without, the
 * caller's complaint is to be followed by a hint: *has_probe is the name of the probe, else NULL.
 */
bool provider_python_instead(struct compiler *c, const struct attach_text *point, const char **has_probe);

/*
 * Does a marker of CPython's in this file tell what its name says? "function__entry" of 3.11 does not
 * (runtime/python/event_sites.h). Of a file that is no CPython it is true.
 */
bool provider_python_marker_is_right(struct compiler *c, const char *path, const char *marker);

/* No place was found: complains, warns or is silent, as missing_probes says. */
void provider_missing(struct compiler *c, const struct provider *self, const struct attach_text *point);

/* The kernel's functions, read when they are first asked for. NULL with a complaint when they cannot be. */
struct kernel_functions *provider_kernel_functions(struct compiler *c, struct span span);
/* Functions that a wildcard leaves out although they can be traced, because the machine may not survive it. */
bool provider_is_dangerous(const char *function);

/* perf_event_open() on a CPU, or on all (-1), with the program on each. */
struct perf_event_attr;
int provider_attach_perf(int program, const struct perf_event_attr *attr, int cpu, uint64_t cookie,
			 struct attachment *ret, struct diag *diag);

/*
 * The same for each thread of a process, by inheritance those that they start, and children. What the events count is
 * each thread's own.
 */
int provider_attach_threads(int program, const struct perf_event_attr *attr, int pid, uint64_t cookie,
			    struct attachment *ret, struct diag *diag);

/* The same for an event that is open, and off; takes it over, in any case. 0, or a negative errno. */
int provider_attach_event(int program, int fd, const struct perf_event_attr *attr, uint64_t cookie,
			  struct attachment *ret);

/* The number of a perf PMU by its name ("uprobe"), for struct perf_event_attr. 0, or a negative errno. */
int provider_pmu(const char *name, uint32_t *ret);

/* The tracing file system, or NULL when there is none. */
const char *provider_tracefs(void);

#endif
