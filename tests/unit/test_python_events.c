// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Places of a CPython's code, in libraries that are compiled here.
 *
 * Audits: the copies of sys_audit_tstate(), in a library that is compiled here and has what an optimiser leaves: a
 * function that PySys_Audit() calls, a copy with variable arguments, one that only asks for hooks, and, in another
 * library, one with a copy that does not get the event's name.
 *
 * The end of a collection: of a function by whose return also goes a call that finds a collection under way, and whose
 * result has to be looked for before that.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "runtime/python/audit_sites.h"
#include "runtime/python/event_sites.h"
#include "tap.h"

#define RSI 4 /* DWARF's number */

static const char audits[] =
	"#include <stdarg.h>\n"
	"struct hook { struct hook *next; int (*call)(const char *, void *, void *); void *data; };\n"
	"struct runtime { char pad[0x800]; struct hook *head; };\n"
	"struct interp { char pad[0x60]; struct runtime *runtime; char more[0x700]; void *hooks; };\n"
	"struct thread { void *a, *b; struct interp *interp; };\n"
	"extern void *PyUnicode_FromString(const char *), *build(const char *, va_list);\n"
	"extern int each(void *, void *);\n"
	"extern struct thread *current(void);\n"
	"static inline __attribute__((always_inline)) int audit(struct thread *t, const char *event,\n"
	"\t\tconst char *format, va_list list) {\n"
	"\tstruct interp *is; void *all, *name; struct hook *e;\n"
	"\tif (!t || !(is = t->interp)) return 0;\n"
	"\tif (!is->runtime->head && !is->hooks) return 0;\n"
	"\tall = build(format, list);\n"
	"\tfor (e = is->runtime->head; e; e = e->next) if (e->call(event, all, e->data) < 0) return -1;\n"
	"\tif (is->hooks) { name = PyUnicode_FromString(event); return each(is->hooks, name); }\n"
	"\treturn 0;\n"
	"}\n"
	"#define OWN __attribute__((noipa, visibility(\"hidden\")))\n"
	"OWN int inner(struct thread *t, const char *event, const char *format, va_list list) {\n"
	"\treturn audit(t, event, format, list);\n"
	"}\n"
	"int PySys_Audit(const char *event, const char *format, ...) {\n"
	"\tva_list list; int ret; va_start(list, format); ret = inner(current(), event, format, list); va_end(list);\n"
	"\treturn ret;\n"
	"}\n"
	"#ifdef COPY\n"
	"OWN int copy(struct thread *t, const char *event, const char *format, ...) {\n"
	"\tva_list list; int ret; va_start(list, format); ret = audit(t, event, format, list); va_end(list);\n"
	"\treturn ret;\n"
	"}\n"
	"int asks(struct thread *t, const char *event) {\n"
	"\tif (!t->interp->runtime->head && !t->interp->hooks) return 0;\n"
	"\treturn copy(t, event, \"O\", t);\n"
	"}\n"
	"#endif\n"
	"#ifdef INLINED\n"
	"int cleared(struct thread *t, void *p) {\n"
	"\tva_list none = {}; return audit(t, \"cleared\", 0, none) + each(p, p);\n"
	"}\n"
	"#endif\n"
	/* Other fields at the same offsets. */
	"struct other { char pad[0x10]; struct { char pad[0x10]; struct runtime *r; } *x; };\n"
	"void *stranger(struct other *o, struct interp *i) { return o->x->r->head ? i->hooks : 0; }\n";

static const char collector[] =
	"struct state { int collecting, debug; };\n"
	"extern void PySys_WriteStderr(const char *, ...);\n"
	"extern long work(struct state *, int), more(struct state *);\n"
	"extern struct state *state_of(void *); extern void tell(struct state *, long);\n"
	"__attribute__((visibility(\"hidden\"))) long collect(void *thread, int generation) {\n"
	"\tstruct state *s = state_of(thread);\n"
	"\tlong n, m = 0;\n"
	"\tif (s->collecting) return 0;\n"
	"\ts->collecting = 1;\n"
	"#ifdef TWICE\n"
	"\tif (generation > 1) { if (s->debug & 1) goto print; goto on; }\n"
	"\ttell(s, 1);\n"
	"#endif\n"
	"\tif (__builtin_expect(!(s->debug & 1), 1)) goto on;\n"
	"print:\n"
	"\tPySys_WriteStderr(\"gc: collecting generation %d...\\n\", generation);\n"
	"on:\n"
	"\tn = work(s, generation);\n"
	"#ifdef PARTS\n"
	"\tm = more(s);\n"
	"#else\n"
	"\tn += more(s);\n"
	"#endif\n"
	"\ttell(s, n);\n"
	"\ts->collecting = 0;\n"
	"\treturn n + m;\n"
	"}\n"
	"long (*const use)(void *, int) = collect;\n";

static int compile(const char *words, const char *source, struct elf_file **ret)
{
	char path[] = "/tmp/strata-audits-XXXXXX", command[8192];
	int fd = mkstemp(path), err;

	if (fd < 0)
		return -errno;
	close(fd);
	snprintf(command, sizeof(command), "cc %s -shared -fPIC -xc -o %s - <<'END'\n%s\nEND\n", words, path, source);
	err = system(command) ? -EIO : 0;
	fd = err ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		err = elf_file_open(fd, path, ret, NULL);
	else
		err = -EIO;
	if (fd >= 0)
		close(fd);
	unlink(path);
	return err;
}

static void check(const char *words, size_t copies, const char *refused)
{
	const struct python_interpreter interpreter = {.version = 0x30d,
						       .layout = {.version = 0x30d, .tstate_interp = 16}};
	python_event_sites sites = {};
	struct diag diag = {};
	struct elf_file *elf;
	size_t i;
	int err;

	if (compile(words, audits, &elf)) {
		ok(false, "%s: compiled", words);
		return;
	}
	err = python_audit_find(elf, &interpreter, &sites, &diag);
	if (refused) {
		ok(err == -ENOTSUP && strstr(diag.text, refused) && !sites.count, "%s: refused: %s", words, diag.text);
	} else {
		ok(!err && sites.count == copies, "%s: %zu sites for %zu copies %s", words, sites.count, copies,
		   diag.text);
		for (i = 0; i < sites.count; i++)
			ok(sites.at[i].value.kind == PYTHON_IN_REGISTER && sites.at[i].value.reg == RSI &&
				   !sites.at[i].value.add,
			   "%s: the name is the second argument", words);
	}
	vec_free(&sites);
	elf_file_close(elf);
}

static size_t find(const struct elf_file *elf, enum python_event event, struct python_event_site *ret,
		   struct diag *diag)
{
	const struct python_interpreter interpreter = {.version = 0x30e};
	python_event_sites sites = {};
	size_t count;

	python_event_code(elf, &interpreter, event, &sites, diag);
	count = sites.count;
	if (count)
		*ret = sites.at[0];
	vec_free(&sites);
	return count;
}

static void check_collector(const char *words, size_t questions, bool parts)
{
	struct python_event_site start = {}, done = {};
	struct diag diag = {};
	struct elf_file *elf;

	if (compile(words, collector, &elf)) {
		ok(false, "%s: compiled", words);
		return;
	}
	ok(find(elf, PYTHON_GC_START, &start, &diag) == questions, "%s: %zu places where a collection begins %s", words,
	   questions, diag.text);
	ok(find(elf, PYTHON_GC_DONE, &done, &diag) == 1 && done.value.kind != PYTHON_NOWHERE &&
		   parts == (done.more.kind != PYTHON_NOWHERE),
	   "%s: one place where it ends, and its result%s: %s", words, parts ? " in two parts" : "", diag.text);
	elf_file_close(elf);
}

int main(void)
{
#ifdef __x86_64__
	check_collector("-O2", 1, false);
	check_collector("-O2 -fno-omit-frame-pointer", 1, false);
	check_collector("-Os", 1, false);
	check_collector("-O2 -DPARTS", 1, true);
	check_collector("-Os -DPARTS", 1, true);
	check_collector("-O2 -DTWICE", 2, false);
	check("-O2", 1, NULL);
	check("-O2 -DCOPY", 2, NULL);
	check("-O1 -DCOPY", 2, NULL);
	check("-Os -DCOPY", 2, NULL);
	check("-O2 -DCOPY -DINLINED", 0, "copies that are not understood");
#endif
	return tap_done();
}
