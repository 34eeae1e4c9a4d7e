// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls that are target variables under another name. */
#include <string.h>

#include "lang/dialect/stap/stap.h"

/* long_arg(2) is $arg2, and returnval() is $return. */
static bool is_target(struct compiler *c, struct stap_node *node)
{
	static const char *const names[] = {"long_arg", "ulong_arg",    "int_arg",
					    "uint_arg", "longlong_arg", "pointer_arg"};
	size_t i;

	if (!strcmp(node->text, "returnval") && !node->kid_count) {
		*node = (struct stap_node){.kind = STAP_E_TARGET, .span = node->span, .text = "$return"};
		return true;
	}
	if (node->kid_count != 1 || node->kids[0]->kind != STAP_E_NUMBER)
		return false;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], node->text)) {
			const char *text = arena_printf(c->arena, "$arg%lld", (long long)node->kids[0]->value);

			*node = (struct stap_node){
				.kind = STAP_E_TARGET, .span = node->span, .text = text ? text : "$arg0"};
			return true;
		}
	return false;
}

/* task_pid($p) is $p->tgid: of a task that is the probe's own. */
static bool is_of_task(struct compiler *c, struct stap_node *node)
{
	static const struct {
		const char *name, *member;
	} table[] = {{"task_pid", "tgid"},  {"task_tid", "pid"},       {"task_execname", "comm"},
		     {"task_prio", "prio"}, {"task_state", "__state"}, {"task_parent", "real_parent"},
		     {"task_cpu", "thread_info->cpu"}};
	size_t i;

	if (node->kid_count != 1 || node->kids[0]->kind != STAP_E_TARGET)
		return false;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, node->text)) {
			const char *text = arena_printf(c->arena, "%s->%s", node->kids[0]->text, table[i].member);

			*node = (struct stap_node){
				.kind = STAP_E_TARGET, .span = node->span, .text = text ? text : "$arg0"};
			return true;
		}
	return false;
}

/* kernel_string($p->comm), which is a text already. */
static bool is_text_already(struct compiler *c, struct stap_node *node)
{
	if (strncmp(node->text, "kernel_string", 13) != 0 || !node->kid_count ||
	    node->kids[0]->kind != STAP_E_TARGET || !stap_state(c)->handler ||
	    stap_target_type(c, node->kids[0]) != STAP_STRING)
		return false;
	*node = *node->kids[0];
	return true;
}

bool stap_rewrite_call(struct compiler *c, struct stap_node *node)
{
	return is_target(c, node) || is_of_task(c, node) || is_text_already(c, node);
}
