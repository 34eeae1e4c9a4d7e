// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs a fuzz target once on each file named on the command line: the corpus as a regression test. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		uint8_t *data;
		long size;

		if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET)) {
			perror(argv[i]);
			return 1;
		}
		data = malloc((size_t)size + 1);
		if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) {
			perror(argv[i]);
			return 1;
		}
		fclose(file);
		LLVMFuzzerTestOneInput(data, (size_t)size);
		free(data);
	}
	return 0;
}
