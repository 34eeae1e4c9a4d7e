/* SPDX-License-Identifier: GPL-2.0-or-later */
/* demangle: readable names of C++ and Rust (legacy and v0) symbols, by libiberty. */
#ifndef STRATA_SYMBOL_DEMANGLE_H
#define STRATA_SYMBOL_DEMANGLE_H

/*
 * A malloc'd readable name, or NULL when `name` is not mangled or memory is short. C++ with its parameters
 * (DMGL_PARAMS | DMGL_ANSI), Rust without the hash. Suffixes such as `.cold`, `.part.0`, `.constprop.0` are kept as
 * " [clone .cold]" as c++filt does; what follows an `@` (`@plt`, a version) is kept unchanged.
 *
 * Names are hostile. libiberty's own limit on recursion is in force (so C++ names over some 1,000 characters are not
 * demangled). Names over 64 KiB are not demangled (NULL), nor are names whose readable form would be over 1 MiB:
 * substitutions can double it with every few characters. Thread-safe.
 */
char *demangle(const char *name);

#endif
