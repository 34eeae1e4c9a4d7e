# SPDX-License-Identifier: GPL-2.0-or-later
# Names that compilers and BOLT give to the loop's parts, and others, for any machine: part NAME, WHAT; see
# test_eval_ranges.c.
	.text
	.macro part name
	.type \name, %function
\name:
	.cfi_startproc
	nop
	ret
	.cfi_endproc
	.size \name, . - \name
	.endm

part _PyEval_EvalFrameDefault // hot
part _PyEval_EvalFrameDefault.cold // cold
part _PyEval_EvalFrameDefault.cold.0 // cold
part _PyEval_EvalFrameDefault.lto_priv.0 // hot
part _PyEval_EvalFrameDefault.lto_priv.12.cold.3 // cold
part _PyEval_EvalFrameDefault.constprop.0 // hot
part _PyEval_EvalFrameDefault.org.0 // hot
part _TAIL_CALL_LOAD_FAST // handler
part _TAIL_CALL_LOAD_FAST.cold // cold handler
part _PyEval_EvalFrameDefaults // none
part _PyEval_EvalFrame // none
part _PyEval_EvalFrame.cold // none
part x_PyEval_EvalFrameDefault // none
part TAIL_CALL_LOAD_FAST // none
