/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load_patience: programs are loaded even if signals keep coming.
 *
 * The verifier gives up with EAGAIN when a signal is pending for the thread, even one that only stops the process,
 * which nobody can block. libbpf asks again, but five times in all. With this it asks LOAD_ATTEMPTS times.
 */
#ifndef STRATA_KERNEL_LOAD_PATIENCE_H
#define STRATA_KERNEL_LOAD_PATIENCE_H

#define LOAD_ATTEMPTS 1000

/*
 * Holds for all objects that are opened from now on. Does nothing from the second time on. libbpf keeps it for the
 * whole process: no other thread may use libbpf meanwhile.
 */
void load_patiently(void);

#endif
