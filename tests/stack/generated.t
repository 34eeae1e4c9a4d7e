#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""strata stack and generated code without frame pointers: one look is enough, of a thread that runs, of one that is held, and of
one that sleeps below such code and is never sampled."""
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e"))
sys.dont_write_bytecode = True
import e2e  # noqa: E402

PROGRAM = r"""
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* push %rbp; push %rbx; lea 1(%rsp), %rbp; 1: dec %rdi; jnz 1b; pop %rbx; pop %rbp; ret */
static const unsigned char spins[] = {0x55, 0x53, 0x48, 0x8d, 0x6c, 0x24, 1, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5b, 0x5d, 0xc3};
/* push %rbp; push %rbx; sub $24, %rsp; xor %ebp, %ebp; call *%rdi; add $24, %rsp; pop %rbx; pop %rbp; ret */
static const unsigned char calls[] = {0x55, 0x53, 0x48, 0x83, 0xec, 0x18, 0x31, 0xed, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0xc3};
static char *code;
__attribute__((noinline)) static void waits(void) { pause(); __asm__ volatile(""); }
__attribute__((noinline)) static void *calls_it(void *unused)
{
	((void (*)(void (*)(void)))(code + 64))(waits);
	__asm__ volatile("");
	return unused;
}
__attribute__((noinline)) static void spins_in_it(void)
{
	for (;;) {
		((void (*)(unsigned long))code)(1ul << 40);
		__asm__ volatile("");
	}
}
int main(int argc, char **argv)
{
	pthread_t thread;
	code = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, spins, sizeof(spins));
	memcpy(code + 64, calls, sizeof(calls));
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
	if (argc > 1) /* only this one: what the other teaches would help it */
		return calls_it(0) != 0;
	pthread_create(&thread, 0, calls_it, 0);
	write(1, "ready\n", 6);
	spins_in_it();
	return 0;
}
"""
LUA = """
local function leaf(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end
while true do for i = 1, 1000 do leaf(1000 + i) end end
"""
LOOKS = 5


def stacks_of(pid, *options):
    """{thread's number: names, innermost first}"""
    done = subprocess.run([e2e.STRATA, "stack", "--json", *options, str(pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=e2e.PATIENCE_S)
    if done.returncode:
        return {}, done.stderr
    threads = json.loads(done.stdout)["threads"]
    return {i: [frame["name"] for frame in thread["frames"] if frame["kind"] != "kernel"] for i, thread in enumerate(threads)}, done.stdout


def sleeps(pid):
    with open("/proc/%d/stat" % pid) as stat:
        return stat.read().rpartition(")")[2].split()[0] == "S"


def check_program(tap, where):
    source, program = os.path.join(where, "p.c"), os.path.join(where, "p")
    with open(source, "w") as file:
        file.write(PROGRAM)
    subprocess.run(["gcc", "-g", "-O2", "-fomit-frame-pointer", "-pthread", "-o", program, source], check=True)
    for options in ([], ["--freeze"]):
        runs = subprocess.Popen([program], stdout=subprocess.PIPE)
        runs.stdout.readline()
        wrong = []
        for _ in range(LOOKS):
            stacks, said = stacks_of(runs.pid, *options)
            main, other = stacks.get(0, []), stacks.get(1, [])
            if main[1:3] != ["spins_in_it", "main"] or not main[-1:] == ["_start"] or "calls_it" not in other or \
                    not {"start_thread"} & set(other):
                wrong.append(said)
        tap.ok(not wrong, "a thread that runs, %s: all of %d stacks are whole" % (" ".join(options) or "as it runs", LOOKS), *wrong[:1])
        runs.kill()
        runs.wait()
        sleeper = subprocess.Popen([program, "sleep"])
        e2e.until(lambda: sleeps(sleeper.pid))
        stacks, said = stacks_of(sleeper.pid, *options)
        names = stacks.get(0, [])
        tap.ok("waits" in names and "calls_it" in names and names[-1:] == ["_start"], "one that sleeps: at the first look", said)
        sleeper.kill()
        sleeper.wait()


def check_luajit(tap, where):
    script = os.path.join(where, "x.lua")
    with open(script, "w") as file:
        file.write(LUA)
    for options in ([], ["--freeze"]):
        runs = subprocess.Popen(["luajit", script])

        def has_traces():
            with open("/proc/%d/maps" % runs.pid) as maps:
                return any(" r-xp " in line and line.split()[4] == "0" and len(line.split()) == 5 for line in maps)
        e2e.until(has_traces)
        wrong = []
        for _ in range(LOOKS):
            stacks, said = stacks_of(runs.pid, *options)
            names = stacks.get(0, [])
            if "lua_pcall" not in names or names[-1:] != ["_start"]:
                wrong.append(said)
        # On a busy machine what is learnt may come too late for some. Without it none is whole.
        tap.ok(2 * len(wrong) < LOOKS, "LuaJIT %s: most stacks are whole" % " ".join(options), *wrong[:1])
        runs.kill()
        runs.wait()


tap = e2e.Tap()
if os.geteuid():
    print("1..0 # SKIP needs root")
    sys.exit()
with e2e.folder() as where:
    os.environ["XDG_CACHE_HOME"] = where
    check_program(tap, where)
    if shutil.which("luajit"):
        check_luajit(tap, where)
    else:
        tap.skip("LuaJIT", "luajit is not installed")
tap.done()
