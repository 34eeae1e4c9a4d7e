#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs on musl, whose libc has no unwind tables: stacks to the root, through its qsort(), printf(), malloc(), through signal
handlers, in the first thread and in others; dynamic, static, without any table of their own, stripped."""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import e2e  # noqa: E402

SECONDS, HZ = 1.25, 397  # CPU time of each program
PROGRAM = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#define OWN __attribute__((noinline, noclone))
static volatile unsigned sink;
static double end;
static double spent(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }
OWN void burn(int n) { for (int i = 0; i < n; i++) sink += i * i; }
OWN int compare(const void *a, const void *b) { burn(50); return *(const int *)a - *(const int *)b; }
OWN void on_alarm(int s) { burn(2000000); sink += s; }
OWN void sorts(void) { int v[200]; for (int i = 0; i < 200; i++) v[i] = rand(); qsort(v, 200, sizeof *v, compare); sink++; }
OWN void formats(void) { char b[300]; for (int i = 0; i < 100; i++) sink += snprintf(b, sizeof b, "%d %s %.12g %a", i, "x", i / 3.0, 1.0 / (i + 1)); }
OWN void allocates(void) { void *p[50]; for (int i = 0; i < 50; i++) memset(p[i] = malloc(i * 37 + 1), i, i + 1); for (int i = 0; i < 50; i++) free(p[i]); sink++; }
OWN void *work(void *argument) { while (spent() < end) { sorts(); formats(); allocates(); } return argument; }
int main(int count, char **arguments) {
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 20000}, {0, 20000}};
	pthread_t thread[2];
	int i;
	end = count > 1 ? atof(arguments[1]) : 1;
	sigaction(SIGPROF, &action, 0);
	setitimer(ITIMER_PROF, &often, 0);
	for (i = 0; i < 2; i++) pthread_create(&thread[i], 0, work, 0);
	work(0);
	for (i = 0; i < 2; i++) pthread_join(thread[i], 0);
	return 0;
}
"""
# What calls what: the next of the program's own functions on the way to the leaf.
CALLS = {None: {"main", "work"}, "main": {"work", "on_alarm"}, "work": {"sorts", "formats", "allocates", "on_alarm"},
         "sorts": {"compare", "on_alarm"}, "formats": {"on_alarm"}, "allocates": {"on_alarm"}, "compare": {"burn", "on_alarm"},
         "burn": {"on_alarm"}, "on_alarm": {"burn"}}
BARE = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
KINDS = [("dynamic", ["-O2"]), ("static", ["-O2", "-static"]), ("without tables", ["-Os", *BARE, "-static"]),
         ("stripped", ["-O2", *BARE, "-static", "-s"]), ("stripped, position-independent", ["-O2", *BARE, "-s", "-static-pie"])]


def check(tap, where, kind, flags):
    program, out, stats = where + "/musl-" + str(len(kind)), where + "/out.folded", where + "/stats.json"
    subprocess.run(["musl-gcc", *flags, "-o", program, where + "/program.c"], check=True)
    done = e2e.record("-F", HZ, "-o", out, "--stats", stats, "--", program, SECONDS)
    if not tap.ok(done.returncode == 0, kind + ": recorded", done.stderr):
        return
    figures = e2e.load(stats)
    stacks = [(frames, count) for frames, count in e2e.folded(out) if frames[0] == os.path.basename(program)[:15]]
    tap.ok(e2e.total(stacks) >= e2e.due(SECONDS, HZ), "%s: %d samples" % (kind, e2e.total(stacks)))
    tap.ok(e2e.complete(figures) >= 0.99, "%s: complete %.2f %%" % (kind, 100 * e2e.complete(figures)), figures["lost"])
    if "-s" in flags:
        return
    names = [[e2e.native_name(f) for f in frames] for frames, _ in stacks if not frames[1].startswith("[")]
    own = [[name for name in frames if name in CALLS] for frames in names]
    wrong = [frames for frames in own if any(b not in CALLS[a] for a, b in zip([None] + frames, frames))]
    tap.equal(wrong[:3], [], kind + ": every call is one that the program makes")
    roots = {frames[1] for frames, own_frames in zip(names, own) if own_frames}
    tap.ok(any("on_alarm" in frames for frames in own) and any("compare" in frames for frames in own),
           kind + ": handlers and callbacks are among them")
    tap.ok(any(frames[:1] == ["work"] for frames in own) and any(frames[:2] == ["main", "work"] for frames in own),
           kind + ": of both kinds of threads", roots)


def main():
    tap = e2e.Tap()
    if not shutil.which("musl-gcc"):
        print("1..0 # SKIP needs musl-gcc (musl-tools)")
        return
    with e2e.folder() as where:
        with open(where + "/program.c", "w") as file:
            file.write(PROGRAM)
        for kind, flags in KINDS:
            check(tap, where, kind, flags)
    tap.done()


main()
