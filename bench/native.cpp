// SPDX-License-Identifier: GPL-2.0-or-later
// Work 300 calls deep, in a leaf, for SECONDS; built without frame pointers. Prints units of work per second.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace bench
{

static double now()
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

__attribute__((noinline)) uint64_t leaf(uint64_t seed)
{
	for (int i = 0; i < 20000; i++)
		seed = seed * 6364136223846793005ull + (seed >> 29);
	return seed;
}

__attribute__((noinline)) uint64_t odd(uint64_t seed, int depth);

__attribute__((noinline)) uint64_t even(uint64_t seed, int depth)
{
	volatile uint64_t kept[4] = {seed, 1, 2, 3}; // frames of different sizes
	return depth ? odd(seed + 1, depth - 1) + kept[depth & 3] : leaf(seed);
}

uint64_t odd(uint64_t seed, int depth)
{
	// The leaf is called many times from the bottom, so that descending costs nothing that counts.
	if (depth)
		return even(seed ^ 5, depth - 1) + 1;
	for (int i = 0; i < 50; i++)
		seed += leaf(seed);
	return seed;
}

} // namespace bench

int main(int argc, char **argv)
{
	double warm_up = 1.5, seconds = argc > 1 ? atof(argv[1]) : 5.0;
	double begin = bench::now(), from = 0, units = 0;
	uint64_t sum = 1;

	for (;;) {
		sum += bench::odd(sum, 300);
		sum += bench::even(sum, 299);
		double time = bench::now();
		if (!from) {
			if (time - begin >= warm_up)
				from = time;
			continue;
		}
		units++;
		if (time - begin >= seconds) {
			printf("%.3f %d\n", units / (time - from), (int)(sum & 1));
			return 0;
		}
	}
}
