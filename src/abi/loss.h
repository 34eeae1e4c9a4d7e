/* SPDX-License-Identifier: GPL-2.0-or-later */
/* enum loss: the reasons of abi/loss.def as numbers; LOSS_NONE means that nothing was lost. */
#ifndef STRATA_ABI_LOSS_H
#define STRATA_ABI_LOSS_H

enum loss {
	LOSS_NONE = 0,
#define LOSS(id, name, kind, key, meaning, advice) LOSS_##name = id,
#include "abi/loss.def"
#undef LOSS
	LOSS_COUNT = 64 /* size of the counter arrays; larger than every id */
};

#endif
