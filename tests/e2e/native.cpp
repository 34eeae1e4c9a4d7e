// SPDX-License-Identifier: GPL-2.0-or-later
// Native frames without frame pointers: deep recursion, templates, threads, a signal handler. One mode per run, which
// uses 1.5 s of CPU time.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/time.h>
#include <thread>
#include <vector>

static volatile unsigned long sink;

static bool running()
{
	return std::clock() < 3 * CLOCKS_PER_SEC / 2;
}

namespace shapes
{

template <typename T> struct Grinder {
	__attribute__((noinline)) T grind(T from)
	{
		for (int i = 0; i < 100000; i++)
			from = from * 31 + i;
		sink = sink + from;
		return from;
	}
};

__attribute__((noinline)) unsigned long descend(unsigned depth)
{
	volatile char room[48] = {(char)depth};

	if (depth)
		return descend(depth - 1) + room[0];
	Grinder<unsigned long> grinder;
	while (running())
		sink = sink + grinder.grind(3);
	return sink;
}

} // namespace shapes

__attribute__((noinline)) static void thread_body(int number)
{
	shapes::Grinder<unsigned> grinder;

	while (running())
		sink = sink + grinder.grind(number);
}

static void alarm_in(int microseconds)
{
	struct itimerval once = {{0, 0}, {0, microseconds}};

	setitimer(ITIMER_REAL, &once, nullptr);
}

// Where the time goes is the handler: it interrupts interrupted_loop, anywhere. It asks for the next signal itself,
// when its 4 ms are over: however slow or busy the machine, the loop goes on between two of them.
extern "C" __attribute__((noinline)) void on_alarm(int)
{
	std::clock_t end = std::clock() + 4 * CLOCKS_PER_SEC / 1000;

	while (std::clock() < end)
		for (int i = 0; i < 10000; i++)
			sink = sink + i;
	alarm_in(2000);
}

extern "C" __attribute__((noinline)) void interrupted_loop(void)
{
	while (running())
		for (int i = 0; i < 10000; i++)
			sink = sink ^ i;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "deep")) {
		shapes::descend(1000);
	} else if (!strcmp(mode, "threads")) {
		std::vector<std::thread> threads;
		for (int i = 0; i < 3; i++)
			threads.emplace_back(thread_body, i);
		for (auto &thread : threads)
			thread.join();
	} else if (!strcmp(mode, "signal")) {
		signal(SIGALRM, on_alarm);
		alarm_in(5000);
		interrupted_loop();
	} else {
		return 2;
	}
	return 0;
}
