// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * limits: how long a target runs, and how long it may take for one input, both in CPU time: on a busy machine a clock
 * on the wall says nothing of either. Each target is linked with it, in front of its LLVMFuzzerTestOneInput()
 * (mk/fuzz.mk).
 *
 * A target ends after FUZZ_CPU_SECONDS of the environment, as libFuzzer does it on SIGUSR1: with its figures, status 0.
 * Without that it runs until something else ends it. An input that takes INPUT_SECONDS fails and is kept.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "fuzz.h"

#define TICKS 10 /* in a second of CPU time */
#ifndef INPUT_SECONDS
#define INPUT_SECONDS 10 /* tests/fuzz/limits.t: 1 */
#endif

/* Made by the linker: --wrap. */
int __real_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned long input; /* the number of the one that runs; 0 between two */
static unsigned long ticks, ticks_most;

static void tick(int number)
{
	static const char told[] = "\nlimits: an input took too much CPU time\n";
	static unsigned long last, since;

	(void)number;
	ticks++;
	if (!input || input != last) {
		last = input;
		since = ticks;
	}
	if (input && ticks - since >= INPUT_SECONDS * TICKS) {
		(void)!write(STDERR_FILENO, told, sizeof(told) - 1);
		abort();
	}
	if (ticks_most && ticks >= ticks_most)
		raise(SIGUSR1);
}

static __attribute__((constructor)) void begin(void)
{
	const struct timeval part = {.tv_usec = 1000000 / TICKS};
	const struct itimerval every = {part, part};
	const struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
	const char *seconds = getenv("FUZZ_CPU_SECONDS");

	ticks_most = seconds ? strtoul(seconds, NULL, 10) * TICKS : 0;
	if (sigaction(SIGPROF, &action, NULL) || setitimer(ITIMER_PROF, &every, NULL))
		abort();
}

int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned long count;
	int ret;

	input = ++count;
	ret = __real_LLVMFuzzerTestOneInput(data, size);
	input = 0;
	return ret;
}
