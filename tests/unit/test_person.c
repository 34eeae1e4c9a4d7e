// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose an id of a user namespace is. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/person.h"
#include "tap.h"

static void write_file(char path[], const char *text)
{
	int fd = mkstemp(path);
	FILE *file = fdopen(fd, "w");

	fputs(text, file);
	fclose(file);
}

int main(void)
{
	char ranges[] = "/tmp/strata-person-XXXXXX", names[] = "/tmp/strata-person-XXXXXX";

	write_file(ranges, "nonsense\n"
			   "anna:100000:65536\n"
			   "# a remark\n"
			   "1001:165536:65536\n"
			   "far:231072:65536\n"
			   "bert:296608:10\n"
			   "bert:400000:1\n"
			   "empty:450000:9\n"
			   "last:4294967290:99999999999\n"
			   ":500000:10\n"
			   "half:600000\n"
			   "odd:700000:x\n");
	write_file(names, "root:x:0:0:root:/root:/bin/sh\n"
			  "ann:x:7:7::/:/bin/sh\n"
			  "anna:x:1000:1000::/home/anna:/bin/sh\n"
			  "empty::1003:1::/:/bin/sh\n"
			  "bert:x:1002:1002::/home/bert:/bin/sh\n"
			  "last:x:1004");
	is_int(person_find(1000, ranges, names), 1000, "an id of his own");
	is_int(person_find(99999, ranges, names), 99999, "one below a range");
	is_int(person_find(100000, ranges, names), 1000, "the first of a range, by name");
	is_int(person_find(165535, ranges, names), 1000, "the last of a range");
	is_int(person_find(165536, ranges, names), 1001, "a range by number");
	is_int(person_find(231073, ranges, names), 231072, "of somebody whose name is not there: one for the range");
	is_int(person_find(296617, ranges, names), 1002, "a small range");
	is_int(person_find(296618, ranges, names), 296618, "and behind it");
	is_int(person_find(400000, ranges, names), 1002, "his second range");
	is_int(person_find(450001, ranges, names), 1003, "of a user without a password");
	is_int(person_find(4294967294u, ranges, names), 1004, "a range that goes beyond all ids");
	is_int(person_find(500001, ranges, names), 500001, "a line without a name");
	is_int(person_find(600000, ranges, names), 600000, "half a line");
	is_int(person_find(700000, ranges, names), 700000, "a count that is none");
	is_int(person_find(100000, ranges, NULL), 100000, "no names");
	is_int(person_find(100001, NULL, names), 100001, "no ranges");
	is_int(person_of(0), 0, "root");
	unlink(ranges);
	unlink(names);
	return tap_done();
}
