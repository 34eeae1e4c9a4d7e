// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls say() with two strings, at so many calls a second for so many seconds, once its input has a byte. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* It begins with an instruction at which a probe costs least. */
void say(const char *path, const char *name);
__asm__(".text\n.globl say\n.type say, @function\nsay: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\nret\n.size say, . - say\n");

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	char path[] = "/usr/lib/python3.11/asyncio/base_events.py", name[] = "BaseEventLoop", byte;
	long rate, count, i;
	double begin;

	if (argc != 3 || read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	rate = atol(argv[1]);
	count = rate * atol(argv[2]);
	begin = now();
	for (i = 0; i < count; i++) {
		while (i % 64 == 0 && (double)i > (now() - begin) * (double)rate)
			usleep(500);
		say(path, name);
	}
	puts("done");
	fflush(stdout);
	return read(STDIN_FILENO, &byte, 1) < 0;
}
