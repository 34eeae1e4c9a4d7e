// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calls FRAMES ROUNDS: so many times a recursion of so many frames of dive(), whose innermost one reads 77 bytes of
 * /dev/zero five times and opens a file that is not there.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noipa)) static void call(void)
{
	char bytes[77];
	int zero = open("/dev/zero", O_RDONLY), i;

	for (i = 0; i < 5; i++)
		sink += (unsigned long)read(zero, bytes, sizeof(bytes));
	sink += (unsigned long)open("/not-there", O_RDONLY);
	close(zero);
}

__attribute__((noipa)) static unsigned long dive(unsigned long left)
{
	if (left > 1)
		return dive(left - 1) + sink;
	call();
	return sink;
}

int main(int argc, char **argv)
{
	int rounds = argc < 3 ? 0 : atoi(argv[2]);

	for (; rounds > 0; rounds--) {
		dive(strtoul(argv[1], NULL, 0));
		if (rounds > 1)
			usleep(100000);
	}
	return 0;
}
