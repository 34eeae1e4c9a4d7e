/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * object_maps: makes the maps of a BPF object before the object is loaded, so that they can be filled while the
 * verifier reads the programs. Two threads make them, because many megabytes have to be cleared.
 */
#ifndef STRATA_KERNEL_OBJECT_MAPS_H
#define STRATA_KERNEL_OBJECT_MAPS_H

#include <bpf/libbpf.h>

/*
 * Creates all maps but two kinds, which bpf_object__load() makes: those of the object's own sections (.rodata), and
 * those with a field of the kernel's, which is found by the map's BTF. The maps made here have no BTF.
 * 0 or a negative errno; the maps created so far are closed with the object.
 */
int object_maps_create(struct bpf_object *object);

#endif
