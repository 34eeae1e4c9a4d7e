/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load_iterators: BPF iterators are loaded without reading all types of the kernel: 14 ms and 11 MB.
 *
 * libbpf does that for every program whose kind has to do with a function of the kernel, whose number it looks for. An
 * iterator's function is known by its section, SEC("iter/task"): kernel_btf finds the number in a moment.
 */
#ifndef STRATA_KERNEL_LOAD_ITERATORS_H
#define STRATA_KERNEL_LOAD_ITERATORS_H

/*
 * Holds for all objects that are opened from now on. If they have CO-RE relocations, too, open them with the types of
 * core_types. Does nothing from the second time on. libbpf keeps it for the whole process: no other thread may use
 * libbpf meanwhile.
 */
void load_iterators(void);

#endif
