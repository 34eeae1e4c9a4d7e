// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loads and unloads libraries of functions.S as it is told, a line each, and answers "ok":
 *   open PATH, close PATH
 *   run PATH SECONDS PREFIX...   calls every STEPth function of each prefix, one from the other, down to spin()
 *   child -, end -               what is between happens in a child, which takes its libraries along
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIBRARIES_MAX 16
#define CHAIN_MAX     1000

typedef void (*function)(void **next);

static struct library {
	char path[256];
	void *handle;
} libraries[LIBRARIES_MAX];

static double seconds;

static double cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) void spin(void **next)
{
	double end = cpu_time() + seconds;

	(void)next;
	while (cpu_time() < end)
		for (volatile int i = 0; i < 20000; i++)
			;
}

static struct library *find(const char *path)
{
	for (struct library *l = libraries; l < libraries + LIBRARIES_MAX; l++)
		if (!strcmp(l->path, path))
			return l;
	fprintf(stderr, "loader: no library %s\n", path);
	exit(1);
}

static void load(const char *path)
{
	struct library *library = find("");

	library->handle = dlopen(path, RTLD_NOW);
	if (!library->handle) {
		fprintf(stderr, "loader: %s\n", dlerror());
		exit(1);
	}
	strcpy(library->path, path);
}

static void run(const char *path, char *prefixes)
{
	void *chain[CHAIN_MAX], *handle = find(path)->handle;
	char *prefix, name[64];
	int count = 0, n;

	for (prefix = strtok(prefixes, " "); prefix; prefix = strtok(NULL, " ")) {
		for (n = 0; count < CHAIN_MAX - 1; n += STEP) {
			snprintf(name, sizeof(name), "%s%d", prefix, n);
			chain[count] = dlsym(handle, name);
			if (!chain[count])
				break;
			count++;
		}
	}
	chain[count] = spin;
	((function)chain[0])(chain + 1);
}

/* The parent goes on when the child has ended. */
static void begin_child(void)
{
	pid_t child = fork();

	if (child < 0)
		exit(1);
	if (child)
		waitpid(child, NULL, 0);
}

int main(void)
{
	char line[1024], verb[16], path[256];
	int at;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		at = 0;
		if (sscanf(line, "%15s %255s %n", verb, path, &at) < 2)
			return 1;
		if (!strcmp(verb, "open")) {
			load(path);
		} else if (!strcmp(verb, "close")) {
			struct library *library = find(path);

			dlclose(library->handle);
			library->path[0] = '\0';
		} else if (!strcmp(verb, "child")) {
			begin_child();
		} else if (!strcmp(verb, "end")) {
			_exit(0); /* its parent answers */
		} else {
			char *rest;

			seconds = strtod(line + at, &rest);
			run(path, rest);
		}
		puts("ok");
	}
	return 0;
}
