// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs that know who ends their waits: in each case the thread `waiter` waits in wait_here(), and what is named in
 * wakers.t ends it, in end_it().
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEEP  __attribute__((noipa))
#define TIMES 100
#define TURNS 30000

static int pipes[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t together;
static int turn;
static const char *what;

static int times(void)
{
	return strcmp(what, "turns") ? TIMES : TURNS;
}

static double seconds(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double not_running(void)
{
	return seconds(CLOCK_MONOTONIC) - seconds(CLOCK_THREAD_CPUTIME_ID);
}

KEEP static void wait_here(void)
{
	char byte;

	if (!strcmp(what, "pipe") || !strcmp(what, "process") || !strcmp(what, "turns")) {
		if (read(pipes[0], &byte, 1) != 1)
			abort();
	} else if (!strcmp(what, "mutex")) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	} else if (!strcmp(what, "condition")) {
		pthread_mutex_lock(&mutex);
		while (!turn)
			pthread_cond_wait(&condition, &mutex);
		turn = 0;
		pthread_mutex_unlock(&mutex);
	} else {
		usleep(5000);
	}
	asm volatile("");
}

KEEP static void end_it(void)
{
	if (!strcmp(what, "mutex")) {
		pthread_mutex_unlock(&mutex);
	} else if (!strcmp(what, "condition")) {
		pthread_mutex_lock(&mutex);
		turn = 1;
		pthread_cond_signal(&condition);
		pthread_mutex_unlock(&mutex);
	} else if (write(pipes[1], "x", 1) != 1) {
		abort();
	}
	asm volatile("");
}

static void *waker(void *unused)
{
	int i;

	prctl(PR_SET_NAME, "waker");
	for (i = 0; i < times(); i++) {
		if (!strcmp(what, "mutex"))
			pthread_mutex_lock(&mutex);
		if (strcmp(what, "process"))
			pthread_barrier_wait(&together);
		if (strcmp(what, "turns"))
			usleep(5000);
		end_it();
		if (!strcmp(what, "mutex")) /* else it takes it again, first */
			pthread_barrier_wait(&together);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	double waited = 0, before;
	int i, alone;

	what = argc > 1 ? argv[1] : "sleep";
	alone = !strcmp(what, "sleep");
	if (pipe(pipes))
		return 1;
	prctl(PR_SET_NAME, "waiter");
	pthread_barrier_init(&together, NULL, 2);
	if (!strcmp(what, "process") && !fork()) {
		waker(NULL);
		_exit(0);
	}
	if (!alone && strcmp(what, "process") && pthread_create(&thread, NULL, waker, NULL))
		return 1;
	for (i = 0; i < times(); i++) {
		if (!alone && strcmp(what, "process"))
			pthread_barrier_wait(&together);
		before = not_running();
		wait_here();
		waited += not_running() - before;
		if (!strcmp(what, "mutex"))
			pthread_barrier_wait(&together);
	}
	printf("wait_here %.6f\n", waited);
	if (!alone && strcmp(what, "process"))
		pthread_join(thread, NULL);
	wait(NULL);
	return 0;
}
