// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The types and translators of D's own libraries: psinfo_t, lwpsinfo_t, cpuinfo_t, bufinfo_t, devinfo_t, fileinfo_t. A
 * translator's expressions are D, parsed when one is needed: most scripts ask for none.
 */
#include <string.h>

#include "lang/dialect/d/parser.h"

/* How a thread's state is shown, by the first bit that is set: asleep, stopped, dead, parked, running. */
#define STATE(asleep, stopped, dead, parked, runs)                                                                     \
	"T->__state & 3 ? " asleep " : T->__state & 0xc ? " stopped " : T->__state & 0xb0 ? " dead                     \
	" : T->__state & 0x300 ? " parked " : " runs
#define DEVICE(none, value) "T->bi_bdev == NULL ? " none " : " value
#define DRIVER "T->bi_bdev->bd_disk->part0->bd_device.parent"
#define FILE_OR(none, value) "T == NULL ? " none " : " value

/* A member, and what the translator from the source of its record says of it (NULL: nothing), with T for the value. */
static const struct row {
	const char *name, *type, *text;
} psinfo[] = {
	{"pr_flag", "int", NULL},
	{"pr_nlwp", "int", "1"},
	{"pr_pid", "pid_t", "T->tgid"},
	{"pr_ppid", "pid_t", "T->real_parent->tgid"},
	{"pr_pgid", "pid_t", "T->signal->pids[2]->numbers[0].nr"},
	{"pr_sid", "pid_t", "T->signal->pids[3]->numbers[0].nr"},
	{"pr_uid", "uid_t", "T->cred->uid.val"},
	{"pr_euid", "uid_t", "T->cred->euid.val"},
	{"pr_gid", "gid_t", "T->cred->gid.val"},
	{"pr_egid", "gid_t", "T->cred->egid.val"},
	{"pr_addr", "uintptr_t", "(uintptr_t)T"},
	{"pr_size", "size_t", NULL},
	{"pr_rssize", "size_t", NULL},
	{"pr_pad1", "size_t", NULL},
	{"pr_ttydev", "struct tty_struct *", "T->signal->tty ? T->signal->tty : (struct tty_struct *)-1"},
	{"pr_pctcpu", "ushort_t", NULL},
	{"pr_pctmem", "ushort_t", NULL},
	{"pr_start", "timestruc_t", NULL},
	{"pr_time", "timestruc_t", NULL},
	{"pr_ctime", "timestruc_t", NULL},
	{"pr_fname", "char[16]", "stringof(T->comm)"},
	{"pr_psargs", "char[80]", NULL},
	{"pr_wstat", "int", "0"},
	{"pr_argc", "int", NULL},
	{"pr_argv", "uintptr_t", NULL},
	{"pr_envp", "uintptr_t", NULL},
	{"pr_dmodel", "char", "2"},
	{"pr_pad2", "char[3]", NULL},
	{"pr_taskid", "taskid_t", "0"},
	{"pr_projid", "dprojid_t", "0"},
	{"pr_nzomb", "int", "0"},
	{"pr_poolid", "poolid_t", "0"},
	{"pr_zoneid", "zoneid_t", "0"},
	{"pr_contract", "id_t", "0"},
	{"pr_filler", "int[1]", NULL},
	{"pr_lwp", "lwpsinfo_t", NULL},
	{},
}, lwpsinfo[] = {
	{"pr_flag", "int", "T->__state & 4 ? 1 : 0"},
	{"pr_lwpid", "int", "T->pid"},
	{"pr_addr", "uintptr_t", "(uintptr_t)T"},
	{"pr_wchan", "uintptr_t", "0"},
	{"pr_stype", "char", "0"},
	{"pr_state", "char", STATE("1", "4", "3", "7", "2")},
	{"pr_sname", "char", STATE("'S'", "'T'", "'Z'", "'W'", "'R'")},
	{"pr_nice", "char", NULL},
	{"pr_syscall", "short", NULL},
	{"pr_oldpri", "char", NULL},
	{"pr_cpu", "char", NULL},
	{"pr_pri", "int", "T->prio"},
	{"pr_pctcpu", "ushort_t", NULL},
	{"pr_pad", "ushort_t", NULL},
	{"pr_start", "timestruc_t", NULL},
	{"pr_time", "timestruc_t", NULL},
	{"pr_clname", "char[8]", NULL},
	{"pr_name", "char[16]", "stringof(T->comm)"},
	{"pr_onpro", "processorid_t", "T->thread_info.cpu"},
	{"pr_bindpro", "processorid_t", NULL},
	{"pr_bindpset", "psetid_t", NULL},
	{"pr_lgrp", "int", NULL},
	{"pr_filler", "int[4]", NULL},
	{},
}, timestruc[] = {
	{"tv_sec", "time_t", NULL},
	{"tv_nsec", "int64_t", NULL},
	{},
}, cpuinfo[] = {
	{"cpu_id", "processorid_t", NULL},
	{"cpu_pset", "psetid_t", NULL},
	{"cpu_chip", "chipid_t", NULL},
	{"cpu_lgrp", "lgrp_id_t", NULL},
	{},
/* B_WRITE or B_READ, B_ASYNC, B_PHYS; bit 0 of bi_opf is REQ_OP_WRITE's, bit 11 REQ_SYNC (linux/blk_types.h). */
}, bufinfo[] = {
	{"b_flags", "int", "(T->bi_opf & 1 ? 0x100 : 0x40) | (T->bi_opf & 0x800 ? 0 : 0x400) | 0x20"},
	{"b_bcount", "size_t", "T->bi_iter.bi_size"},
	{"b_addr", "char *", "(char *)0"},
	{"b_lblkno", "uint64_t", "T->bi_iter.bi_sector"},
	{"b_blkno", "uint64_t", "T->bi_iter.bi_sector"},
	{"b_resid", "size_t", "0"},
	{"b_bufsize", "size_t", "T->bi_iter.bi_size"},
	{"b_iodone", "char *", "(char *)T->bi_end_io"},
	{"b_error", "int", "0"},
	{"b_edev", "uint32_t", DEVICE("0", "T->bi_bdev->bd_dev")},
	{},
}, devinfo[] = {
	{"dev_major", "int", DEVICE("0", "getmajor(T->bi_bdev->bd_dev)")},
	{"dev_minor", "int", DEVICE("0", "getminor(T->bi_bdev->bd_dev)")},
	{"dev_instance", "int", "0"},
	{"dev_name", "string",
	 DEVICE("\"nfs\"", DRIVER " == NULL ? \"<none>\" : " DRIVER "->driver == NULL ? \"<none>\" : "
			   "stringof(" DRIVER "->driver->name)")},
	{"dev_statname", "string", DEVICE("\"nfs\"", "stringof(T->bi_bdev->bd_device.kobj.name)")},
	{"dev_pathname", "string",
	 DEVICE("\"<nfs>\"", "strjoin(\"/dev/\", stringof(T->bi_bdev->bd_device.kobj.name))")},
	{},
/* Of a block no file is known. */
}, fileinfo[] = {
	{"fi_name", "string", "\"<unknown>\""},
	{"fi_dirname", "string", "\"<unknown>\""},
	{"fi_pathname", "string", "\"<unknown>\""},
	{"fi_offset", "int64_t", "0"},
	{"fi_fs", "string", "\"<unknown>\""},
	{"fi_mount", "string", "\"<unknown>\""},
	{"fi_oflags", "int", "0"},
	{},
}, file_opened[] = {
	{"fi_name", "string", FILE_OR("\"<none>\"", "stringof(T->f_path.dentry->d_name.name)")},
	{"fi_dirname", "string", FILE_OR("\"<none>\"", "dirname(d_path(&T->f_path))")},
	{"fi_pathname", "string", FILE_OR("\"<none>\"", "d_path(&T->f_path)")},
	{"fi_offset", "int64_t", FILE_OR("0", "T->f_pos")},
	{"fi_fs", "string", FILE_OR("\"<none>\"", "stringof(T->f_path.mnt->mnt_sb->s_type->name)")},
	{"fi_mount", "string", FILE_OR("\"<none>\"", "\"<unknown>\"")},
	{"fi_oflags", "int", FILE_OR("0", "T->f_flags")},
	{},
};

static const struct library_record {
	const char *name, *tag;
	const struct row *rows;
	const char *from; /* what it is translated from; NULL: nothing */
	const struct row *translated;
} records[] = {
	{"psinfo_t", "struct psinfo", psinfo, "task_struct", psinfo},
	{"lwpsinfo_t", "struct lwpsinfo", lwpsinfo, "task_struct", lwpsinfo},
	{"timestruc_t", "struct timestruc", timestruc, NULL, NULL},
	{"cpuinfo_t", "struct cpuinfo", cpuinfo, NULL, NULL},
	{"bufinfo_t", "struct bufinfo", bufinfo, "bio", bufinfo},
	{"devinfo_t", "struct devinfo", devinfo, "bio", devinfo},
	{"fileinfo_t", "struct fileinfo", fileinfo, "bio", fileinfo},
	{"fileinfo_t", "struct fileinfo", fileinfo, "file", file_opened},
};

#define RECORDS (sizeof(records) / sizeof(records[0]))

/* "int", "char[16]", "struct tty_struct *" */
static const struct type *type_of(struct compiler *c, const char *text)
{
	size_t length = strcspn(text, "[*");
	const char *name = arena_strdup(c->arena, text, text[length] == '*' ? length - 1 : length);
	const struct type *type = name ? d_type(c, name, (struct span){}) : &type_int32;
	uint32_t count = 0;

	if (text[length] == '*')
		return type_pointer(c->arena, type);
	for (length += text[length] == '['; text[length] >= '0' && text[length] <= '9'; length++)
		count = count * 10 + (uint32_t)(text[length] - '0');
	return count ? type_array(c->arena, type, count) : type;
}

static const struct type *make(struct compiler *c, const struct library_record *record)
{
	struct type *type = arena_new(c->arena, struct type);
	struct type_field *fields;
	uint32_t count = 0, i, at = 0, align = 1;

	while (record->rows[count].name)
		count++;
	fields = arena_array(c->arena, struct type_field, count);
	if (!type || !fields)
		return NULL;
	for (i = 0; i < count; i++) {
		const struct type *of = type_of(c, record->rows[i].type);

		at = (at + of->align - 1) / of->align * of->align;
		fields[i] = (struct type_field){.name = record->rows[i].name, .type = of, .offset = at};
		at += of->size;
		align = of->align > align ? of->align : align;
	}
	*type = (struct type){.kind = TYPE_RECORD,
			      .name = record->tag + strlen("struct "),
			      .align = align,
			      .size = (at + align - 1) / align * align,
			      .fields = fields,
			      .field_count = count};
	types_define(&c->types, record->tag, type);
	types_define(&c->types, record->name, type);
	return type;
}

const struct type *d_library_type(struct compiler *c, const char *name)
{
	size_t i;

	for (i = 0; i < RECORDS; i++)
		if (!strcmp(records[i].name, name) || !strcmp(records[i].tag, name))
			return make(c, &records[i]);
	return NULL;
}

/* --- translators --- */

/* All of it is where the script asks for it. */
static void move_to(struct d_expr *expr, struct span span)
{
	uint32_t i;

	if (!expr)
		return;
	expr->span = expr->type_name.span = span;
	for (i = 0; i < expr->kid_count; i++)
		move_to(expr->kids[i], span);
}

struct d_expr *d_library_expression(struct compiler *c, const char *text, struct span span)
{
	struct parser p = {.c = c};
	struct d_expr *expr;

	d_lexer_init(&p.lexer, c);
	p.lexer.source = text;
	p.lexer.end = (uint32_t)strlen(text);
	d_advance(&p);
	expr = d_expression(&p, 0);
	move_to(expr, span);
	return expr;
}

static bool is_named(const struct type *type, const char *name)
{
	return type->kind == TYPE_RECORD && type->name && !strcmp(type->name, name);
}

/* Is it the library's own? A script may define one of the same name. */
static bool is_record(const struct type *type, const struct library_record *record)
{
	return is_named(type, record->tag + strlen("struct ")) && type->field_count &&
	       type->fields->name == record->rows->name;
}

const struct d_translator *d_library_translator(struct compiler *c, const struct type *out, const struct type *in)
{
	const struct row *row;
	struct d_translator *ret;
	size_t i;

	if (in->kind != TYPE_POINTER || out->kind != TYPE_RECORD)
		return NULL;
	for (i = 0; i < RECORDS; i++)
		if (records[i].from && is_named(in->to, records[i].from) && is_record(out, &records[i]))
			break;
	ret = i < RECORDS ? arena_new(c->arena, struct d_translator) : NULL;
	if (!ret)
		return NULL;
	*ret = (struct d_translator){.out = out, .in = in, .parameter = "T"};
	ret->members = arena_array(c->arena, struct d_translation, sizeof(psinfo) / sizeof(psinfo[0]));
	for (row = records[i].translated; ret->members && row->name; row++)
		if (row->text)
			ret->members[ret->count++] = (struct d_translation){
				.name = row->name, .value = d_library_expression(c, row->text, (struct span){})};
	return ret;
}
