// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls that are target variables under another name. */
#include <string.h>

#include "lang/dialect/stap/stap.h"
#include "lang/dialect/stap/tasks.h"

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

/* task_current() is a target, and task_pid($p) is $p->tgid: of a task that is the probe's own. */
static bool is_of_task(struct compiler *c, struct stap_node *node)
{
	const char *member = node->kid_count == 1 && stap_state(c)->handler ? stap_task_member(node->text) : NULL;

	if (!strcmp(node->text, "task_current") && !node->kid_count) {
		*node = (struct stap_node){.kind = STAP_E_TARGET, .span = node->span, .text = STAP_CURRENT_TASK};
		return true;
	}
	if (!member)
		return false;
	if (node->kids[0]->kind == STAP_E_CALL)
		is_of_task(c, node->kids[0]);
	if (node->kids[0]->kind != STAP_E_TARGET)
		return false;
	*node = *stap_task_target(c, node->kids[0], member);
	return true;
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
