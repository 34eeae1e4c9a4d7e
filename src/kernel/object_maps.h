/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * object_maps: the maps of a BPF object, made before the object is loaded, so that they can be filled while the
 * verifier reads the programs; and by two threads, as they are many megabytes to be cleared.
 */
#ifndef STRATA_KERNEL_OBJECT_MAPS_H
#define STRATA_KERNEL_OBJECT_MAPS_H

#include <bpf/libbpf.h>

/*
 * Creates all maps but those of the object's own sections (.rodata), which bpf_object__load() fills. They have no BTF.
 * 0 or a negative errno; what was created then goes with the object.
 */
int object_maps_create(struct bpf_object *object);

#endif
