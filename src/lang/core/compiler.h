/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compiler: what dialects, providers, builtins and the generator share while one script is compiled, and what is left
 * of it for the side that runs it: symbols, sites, places to attach to, and units. compile.h makes one and releases
 * it.
 *
 * A unit is one program to be generated. A probe with several attach points has several units, and each has a tree of
 * its own: types, sizes and what `comptime` chooses are those of its attach point. If nothing in the action differs
 * (no `args`, no `comptime` about `probe`), the places of one attach point share a unit, and cookies tell them apart.
 */
#ifndef STRATA_LANG_CORE_COMPILER_H
#define STRATA_LANG_CORE_COMPILER_H

#include "base/table.h"
#include "lang/core/core.h"
#include "lang/core/types.h"

struct binary;
struct binary_arguments;
struct bpf_functions;
struct dialect;
struct kernel_functions;
struct provider;
struct python_cache;
struct python_later;
struct rt_calls_wanted;
struct task_lookup;

enum map_storage { STORAGE_HASH, STORAGE_LRU_HASH, STORAGE_PERCPU_HASH, STORAGE_LRU_PERCPU_HASH };

/* A variable or a map. */
struct symbol {
	const char *name;
	struct span span; /* where it occurs first */
	/* variable */
	const struct type *type; /* NULL: nothing assigned yet */
	bool is_declared;        /* by let with a type: it does not grow */
	uint32_t offset;         /* in the frame */
	uint32_t depth;          /* of the block that it belongs to; 0: out of scope */
	bool is_const_loop;
	/* map */
	bool is_map;
	bool used_keyed, used_bare;
	const struct type *key; /* NULL: has none */
	const struct type *value;
	enum map_storage storage;
	bool storage_declared;
	bool is_deleted;  /* its existence matters to the program */
	uint64_t entries; /* 0: the setting's */
	const char *bpf_name;
	const char *short_name; /* of the map of its short keys; NULL: it has none */
	uint32_t index;
};

/* Does this map have a value for each CPU? */
bool symbol_is_percpu(const struct symbol *map);
/*
 * Is it an array of one such value? A look-up takes half the time of a hash. The value always exists: a word of 1 after
 * it says that something was assigned.
 */
bool symbol_is_array(const struct symbol *map);
/*
 * Most strings are much shorter than what they have room for, and the kernel hashes and compares all bytes of a key. So
 * a map whose key is a long string, or ends with one, can have two maps in the kernel: `short_name` for keys whose
 * string has SYMBOL_SHORT - 1 bytes at most, with only these bytes in the key, and `bpf_name` for all others. Bytes of
 * its keys; 0: the key is none of these.
 */
#define SYMBOL_SHORT 64
uint32_t symbol_short_size(const struct symbol *map);
/* Which of the two has this key, which has all its bytes? */
bool symbol_is_short(const struct symbol *map, const uint8_t *key);
/* Bytes of a key and of a value in the kernel's map. */
uint32_t symbol_key_size(const struct symbol *map);
uint32_t symbol_value_size(const struct symbol *map);

enum site_kind {
	SITE_PRINTF,
	SITE_ERRORF,
	SITE_PRINT,
	SITE_PRINT_MAP,
	SITE_CLEAR,
	SITE_ZERO,
	SITE_TIME,
	SITE_CAT,
	SITE_SYSTEM,
	SITE_JOIN,
	SITE_UNWATCH,
	SITE_PACKET,    /* `format`: the file's path */
	SITE_WARNING,   /* `format`, about `span` */
	SITE_OF_DIALECT /* what only the dialect knows: dialect_print.record() */
};

/* A call that makes records, and how to read them. */
struct site {
	enum site_kind kind;
	const void *call; /* the call in the dialect's tree; SITE_OF_DIALECT: what it likes */
	struct span span;
	const char *format; /* of printf and its like, of time; the delimiter of join */
	const char *helper; /* SITE_WARNING: the helper that failed, with `code`; NULL: none */
	int code;
	const struct type *arguments;           /* TYPE_TUPLE: what follows struct rt_event */
	const struct symbol *map;               /* SITE_PRINT_MAP, SITE_CLEAR, SITE_ZERO */
	bool is_warning;                        /* SITE_ERRORF: it is no error */
	const struct expansion_place *expanded; /* the macro that `span` is in; NULL: none */
	bool is_frequent;                       /* as frequent as what processes do */
};

/* A name that predicates compare a field of `args` with: if none is equal, the user is told which names came. */
struct wanted_name {
	const char *field, *text;
	bool is_conditional; /* what stands before it in a predicate can keep it from being compared */
	bool is_of_calls;    /* of what begins and ends only */
};

enum attach_flag {
	ATTACH_WAITS = 1,         /* opening `path` may hang in its file system */
	ATTACH_HAS_RESULT = 2,    /* its function returns something, and only the kernel knows where that is */
	ATTACH_PARAMETERS = 4,    /* args comes from the binary's debug information */
	ATTACH_PACKED = 8,        /* the binary is part of that file, an archive */
	ATTACH_INSIDE = 16,       /* not at a function's beginning: its arguments may have been overwritten */
	ATTACH_UNTYPED = 32,      /* arguments only by number: those of a BPF program's function */
	ATTACH_MULTI = 64,        /* by a link of many: kprobe_multi, uprobe_multi */
	ATTACH_OVERRIDES = 128,   /* the program changes what the function returns */
	ATTACH_KEEPS_TYPES = 256, /* the verifier must know what the context's words point to */
	ATTACH_SYNTHESIZED = 512, /* of the provider `python`, in place of a marker that the file does not have */
	ATTACH_OF_KERNEL = 1024,  /* listed, a function of the kernel itself: its BTF knows the types */
	ATTACH_SESSION = 2048,    /* the program is for the function's call and its return */
	ATTACH_TOGETHER = 4096    /* to all places of the unit, or to none: each is a part of what is told */
};

/* One place to attach to: what dialects, the generator and the side that runs the script need to know about it. */
struct attach {
	const char *name;                 /* as `probe` shows it */
	const char *path;                 /* an ELF file; where an iterator is pinned */
	uint64_t address;                 /* file offset; a watched address; an address in the kernel */
	const char *function;             /* for func, if the provider knows it */
	const struct type *arguments;     /* TYPE_RECORD of `args`, with offsets into the context; NULL: none */
	const struct type_field *result;  /* retval's place in the context; NULL: in a register, or none */
	const char *spec;                 /* how USDT arguments are found */
	const struct types_source *types; /* of its binary; NULL: none */
	const struct binary_arguments *parameters; /* provider/binary_arguments.h; NULL: not needed yet */
	unsigned int flags;                        /* enum attach_flag */
	const void *own;                           /* the provider's own data */
};

/* PROVIDER:TARGET:... */
struct attach_text {
	struct span span;
	const char **parts; /* without quotes; the first is the provider's name */
	uint32_t part_count;
};

/* What a probe's action uses of its attach point. If it uses none of these, several places can share a program. */
enum probe_use {
	USES_ARGS = 1,      /* the record of its arguments */
	USES_ARGUMENTS = 2, /* an argument by its number, or the context */
	USES_TYPES = 4,     /* types that may differ between binaries */
	USES_PLACE = 8,     /* which of several places it is at */
	USES_CHOICE = 16,   /* a choice made while compiling */
	USES_NAME = 32      /* the name of the place */
};

/*
 * A program to be generated: a probe's action in the context of a provider. Its trees are its own: their types, and
 * what constant conditions choose, depend on the attach point.
 */
struct unit {
	struct span span;              /* of the probe */
	uint32_t probe;                /* the dialect's number of the probe */
	struct node *predicate, *body; /* set when the dialect has lowered it; predicate may be NULL */
	struct symbol *scratch;        /* memory that its pointers may write to, of type_scratch(); NULL: none */
	const struct attach_text *point;
	const struct provider *provider;
	uint32_t first_attach, attach_count;
	bool is_everywhere; /* -p and -c leave it its events in other processes */
	/* The unit, by its number from 1 on, for the returns of the same calls: both may be one program. 0: none. */
	uint32_t back;
	/* Set when its code is generated. The program's name: its first place, in letters of C, and a number. */
	const char *section, *program;
};

/* What scripts can set, under the names of their dialect. */
enum setting_id {
	SETTING_MAX_MAP_KEYS,
	SETTING_MAX_STRLEN,
	SETTING_MAX_PROBES,
	SETTING_MAX_BPF_PROGS,
	SETTING_MAX_CAT_BYTES,
	SETTING_MISSING_PROBES, /* "error", "warn" or "ignore" */
	SETTING_PRINT_MAPS_ON_EXIT,
	SETTING_SHOW_DEBUG_INFO,
	SETTING_LICENSE,
	SETTING_OF_DIALECT, /* this one and the following are a dialect's own */
	SETTING_COUNT = SETTING_OF_DIALECT + 16
};

/* A limit that is a setting of scripts, in messages: its name in the dialect, and how a script changes it. */
struct setting_words {
	const char *name; /* NULL: scripts cannot change it */
	const char *change;
};

/* Features that are not used even if the kernel has them. */
enum compile_without {
	COMPILE_WITHOUT_UPROBE_MULTI = 1,
	COMPILE_WITHOUT_KPROBE_MULTI = 2,
	COMPILE_WITHOUT_PYTHON_MARKERS = 4,
	COMPILE_WITHOUT_KPROBE_SESSION = 8
};

struct compile_options {
	const struct dialect *dialect; /* dialect/dialect.h; NULL: bpftrace's language */
	const char *path; /* of the script, whose folder imports are relative to; NULL: the working directory */
	const char *const *include_folders; /* where headers are looked for, before those of the system */
	uint32_t include_folder_count;
	const char *const *includes; /* headers that are read before the script */
	uint32_t include_count;
	const char *const *parameters;
	uint32_t parameter_count;
	const char *const *named; /* NAME or NAME=VALUE of getopt() */
	uint32_t named_count;
	bool tells_arguments; /* a list of places has what their programs are given */
	bool may_be_empty;    /* it need not have a probe */
	bool unsafe;
	bool synthesize; /* markers that a Python does not have are the provider `python`'s probes */
	bool hide_warnings;
	bool warn_of_helpers;            /* helpers of the kernel that fail */
	const char *debug_folders;       /* DIR:DIR of --debuginfo; may be NULL */
	const char *probe_filter;        /* a regular expression that the names of places must match; may be NULL */
	const char *traceable_functions; /* a file as available_filter_functions; NULL: the kernel's own */
	unsigned int without;            /* enum compile_without */
	uint64_t sample_ns;              /* how long a user stack may be walked in an interrupt; 0: the default */
	bool source_lines;               /* of the runtime library, for the verifier's log */
	int pid;                         /* the process that -p or -c means; 0: none */
	uint64_t namespace_device, namespace_inode; /* of our own pid namespace; 0: the initial one */
	const char *command_path;                   /* the program that -c starts; may be NULL */
	/*
	 * The file of the program `name` in that process, if the one in PATH is a script that executes it; NULL: there
	 * is none. May be NULL.
	 */
	const char *(*program)(void *context, const char *name);
	void *program_context;
	const char *(*setting)(void *context, const char *name); /* of the environment; may be NULL */
	void *setting_context;
	/*
	 * The compiler of the script that runs already: this one is for a Python that started later. What it makes has
	 * numbers after that one's, whose places and sites it has, too. NULL: it is the first.
	 */
	const struct compiler *first;
	const struct python_later *later; /* provider/python.h; with `first` */
};

struct compiler {
	struct arena *arena;
	struct report *report;
	const struct compile_options *options;
	const struct dialect *dialect; /* dialect/dialect.h */
	void *of_dialect;              /* its own data */
	struct types types;
	VEC(const struct attach_text *) points; /* what the script names, for those that list it */
	VEC(struct symbol *) maps;
	VEC(struct site) sites;
	VEC(struct unit) units;
	VEC(struct attach) attaches;
	VEC(struct wanted_name) wanted; /* provider/python_names.c */
	uint64_t numbers[SETTING_COUNT];
	const char *texts[SETTING_COUNT];
	struct setting_words setting_words[SETTING_OF_DIALECT];
	const struct unit *unit; /* the one being checked or generated */
	uint32_t stack_parts;    /* enum stack_part: the parts of all the script's stacks; 0: it has none */
	bool allows_empty_patterns; /* a place with wildcards may be none: that is a warning */
	bool names_markers;      /* places of USDT markers have the function that they are in */
	bool has_cpu;            /* only what happens on this CPU counts: clocks, and probes that the runner runs */
	uint32_t cpu;
	bool has_packets;        /* it writes packets to files */
	bool has_python;         /* it has probes of Python's functions */
	bool has_all_pythons;    /* those of the machine, of which some may start later */
	uint32_t python_lines;   /* probes for lines that are found by the code of all instructions */
	bool has_calls;          /* which send records of them: CORE_PYTHON_CALL */
	const struct rt_calls_wanted *calls_wanted; /* which of these; NULL: all */
	const struct symbol *series_clock; /* its value is the time of CORE_TSERIES, for tests; NULL: the clock's */
	struct kernel_functions *kernel_functions; /* NULL: not read yet; providers read them */
	struct bpf_functions *bpf_functions;       /* NULL: not read yet */
	struct foreign_files *files;               /* NULL: no file was read yet */
	struct task_lookup *tasks;                 /* how programs find a task by its id; NULL: not needed yet */
	struct python_cache *python_cache;         /* where the probes of Pythons are; NULL: not needed yet */
	struct table mapped;     /* binary_mapped_key() of files that processes had mapped; see there */
	struct binary *binaries; /* with DWARF that was needed: provider/binary_types.h */
};

/* Reads the files that attach points name, whose file systems may hang. NULL: then they are trusted. */
struct foreign_files *compiler_files(struct compiler *compiler);

/* The first place of the unit being checked or generated. */
static inline struct attach *compiler_attach(const struct compiler *c)
{
	return &c->attaches.at[c->unit->first_attach];
}

/* Maps, sites, and the trees of all units, for -d core. */
void compiler_print(const struct compiler *compiler, FILE *out);

#endif
