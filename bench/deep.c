// SPDX-License-Identifier: GPL-2.0-or-later
// deep DEPTH: works so many calls deep, for ever; built without frame pointers. Says "ready".
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned long down(unsigned long left)
{
	volatile unsigned long kept[3] = {left, 1, 2}, sum = 0;

	if (kept[0])
		return down(left - 1) + kept[1];
	puts("ready");
	fflush(stdout);
	for (;;)
		sum += kept[2];
}

int main(int argc, char **argv)
{
	return (int)down(argc > 1 ? strtoul(argv[1], NULL, 10) : 10);
}
