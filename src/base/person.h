/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * person: whose a user id is. A user may have many ids, for the user namespaces of containers: /etc/subuid gives him
 * ranges of them (subuid(5)). In shares between users they all count as him.
 *
 * Both files are the administrator's and are read each time. No name service is asked: it may hang.
 */
#ifndef STRATA_BASE_PERSON_H
#define STRATA_BASE_PERSON_H

#include <stdint.h>

/*
 * The user whose range has this id, as his own id or his name in the first file says; the first id of the range if
 * the second file (as /etc/passwd) does not have his name; the id itself if no range has it. NULL: a file that is not
 * there.
 */
uint32_t person_find(uint32_t user, const char *ranges, const char *names);

/* The same by /etc/subuid and /etc/passwd. */
uint32_t person_of(uint32_t user);

#endif
