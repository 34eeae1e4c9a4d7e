#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Generated code that is entered and left by jumps, in the frame of the function that enters it, as LuaJIT's traces: a program of
that shape that knows its stacks, and LuaJIT itself, where it is installed."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

SECONDS, HZ = 1, 1999
# enter() saves registers and jumps; its CFI is that of its frame from its first instruction on. What leaves jumps to leave(), which
# takes the frame from the current state, in a word of what R14 points to.
ASSEMBLY = r"""
.text
.globl enter
.type enter, @function
enter:
	.cfi_startproc
	.cfi_def_cfa_offset 64
	.cfi_offset rbp, -16
	.cfi_offset rbx, -24
	push %rbp
	push %rbx
	push %r14
	sub $32, %rsp
	mov %rdi, %r14
	mov 24(%r14), %rbx
	mov %rbx, 8(%rsp)
	mov %rdx, %rbp
	lea 2(%rsp), %rax
	mov %rax, 40(%rbx)
	jmp *%rsi
.globl leave
leave:
	mov 24(%r14), %rbx
	mov 40(%rbx), %rax
	and $-4, %rax
	mov %rax, %rsp
	movq $0, 40(%rbx)
	add $32, %rsp
	pop %r14
	pop %rbx
	pop %rbp
	ret
	.cfi_endproc
.size enter, . - enter
.section .note.GNU-stack,"",@progbits
"""
# A loop with a side trace, and one that calls C.
TRACES = r"""
.text
spins:
	sub $1016, %rsp
1:	dec %rbp
	test $3, %bpl
	jz side
2:	test %rbp, %rbp
	jg 1b
	jmp out
side:	sub $40, %rsp
	mov $20, %ecx
3:	dec %ecx
	jg 3b
	add $40, %rsp
	jmp 2b
.p2align 4
calls:
	sub $496, %rsp
	mov $10, %ebx
4:	mov %rbp, %rdi
	call *32(%r14)
	dec %ebx
	jg 4b
out:	push $3
	push $7
jump:	jmp .
	.fill 3, 1, 0x90
"""
PROGRAM = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

struct state { long words[5]; void *frame; };
struct global { long words[3]; struct state *current; void (*c)(long); };
long enter(struct global *global, void *trace, long times);
void leave(void);

volatile long sum;
__attribute__((noinline)) void spin_in_c(long n) { while (n-- > 0) sum += n; }
/* The second half of the time the same code is another state's. */
static struct state states[2];
static struct global globals[2] = {{.current = &states[0], .c = spin_in_c}, {.current = &states[1], .c = spin_in_c}}, *global = globals;
__attribute__((noinline)) void caller_0(void *trace) { enter(global, trace, 300000); sum++; }
__attribute__((noinline)) void caller_1(void *trace) { enter(global, trace, 40000); sum++; }

/* Leaves frames of earlier calls where the next call spills. */
__attribute__((noinline)) void caller_2(void *trace, long depth)
{
	volatile char room[48];
	room[0] = room[47] = 1;
	if (depth > 0)
		caller_2(trace, depth - 1);
	else
		enter(global, trace, 0);
	sum++;
}

/* entered SECONDS TRACES OFFSET OFFSET JUMP: of the two traces, and of the jump that leaves them */
int main(int argc, char **argv)
{
	char *at = mmap(0, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	FILE *file = fopen(argv[2], "rb");
	int distance;

	if (argc != 6 || at == MAP_FAILED || !file || !fread(at, 1, 4096, file))
		return 2;
	at[atol(argv[5])] = (char)0xe9; /* jmp rel32 */
	distance = (int)((char *)leave - (at + atol(argv[5]) + 5));
	memcpy(at + atol(argv[5]) + 1, &distance, sizeof(distance));
	while (clock() < atoi(argv[1]) * CLOCKS_PER_SEC) {
		global = &globals[clock() > atoi(argv[1]) * CLOCKS_PER_SEC / 2];
		for (long depth = 0; depth < 8; depth++)
			caller_2(at + atol(argv[3]), depth);
		caller_0(at + atol(argv[3]));
		caller_1(at + atol(argv[4]));
	}
	return 0;
}
"""
# Phases of a second each: a loop; the same in a coroutine; the same below DEPTH callbacks of a function in C.
LUA = r"""
local depth, seconds = tonumber(arg[1]), tonumber(arg[2])
local sum, items = 0, {}
local function work()
	local till = os.clock() + seconds
	while os.clock() < till do
		for i = 1, 20000 do
			sum = sum + (i % 7) * (i % 3 == 0 and 2 or 1)
			items[i % 100 + 1] = sum
		end
	end
end
local function inside(left)
	if left == 0 then work() return end
	string.gsub("x", "x", function() inside(left - 1) end)
end
work()
coroutine.wrap(function() work() coroutine.yield() end)()
inside(depth)
"""
DEPTH = 5


def record(tap, where, words, command):
    out, stats = where + "/out.folded", where + "/out.json"
    done = e2e.record("-F", HZ, "-o", out, "--stats", stats, "--", *command)
    tap.ok(done.returncode == 0, words + ": recorded", done.stderr)
    figures = e2e.load(stats)
    known = figures["samples"] - e2e.early(figures)
    tap.ok(figures["complete"] >= 0.9 * known and figures["complete"] > 0.5 * figures["samples"],
           words + ": %d of %d complete" % (figures["complete"], figures["samples"]), figures["lost"])
    stacks = [(stack, count) for stack, count in e2e.folded(out) if not any(frame.startswith("[incomplete") for frame in stack)]
    return [([e2e.native_name(frame) for frame in stack if not frame.endswith("[k]")], count) for stack, count in stacks]


def check_program(tap, where):
    for name, text in (("enter.S", ASSEMBLY), ("traces.S", TRACES), ("main.c", PROGRAM)):
        with open(where + "/" + name, "w", encoding="utf-8") as file:
            file.write(text)
    program, traces = where + "/entered", where + "/traces"
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-no-pie", "-o", program, where + "/main.c", where + "/enter.S"], check=True)
    subprocess.run(["gcc", "-c", "-o", traces + ".o", traces + ".S"], check=True)
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", traces + ".o", traces], check=True)
    offsets = {line.split()[2]: str(int(line.split()[0], 16)) for line in
               subprocess.check_output(["nm", traces + ".o"], universal_newlines=True).split("\n") if " t " in line}
    stacks = record(tap, where, "a program", [program, str(SECONDS), traces, offsets["spins"], offsets["calls"], offsets["jump"]])
    odd, seen = [], {}
    for stack, count in stacks:
        if not any(name.startswith("[unknown") or name == "spin_in_c" for name in stack):
            continue
        at = stack.index("main") if "main" in stack else 0
        below = ["[generated]" if name.startswith("[unknown") else name for name in stack[at + 1:]]
        seen[tuple(below)] = seen.get(tuple(below), 0) + count
        if not at or below not in (["caller_0", "[generated]"], ["caller_1", "[generated]"],
                                   ["caller_1", "[generated]", "spin_in_c"], ["caller_2"] * below.count("caller_2") + ["[generated]"]):
            odd.append((stack, count))
    tap.equal(odd[:3], [], "a program: no stack that it did not have")
    tap.ok(seen.get(("caller_0", "[generated]"), 0) > 200 and seen.get(("caller_1", "[generated]", "spin_in_c"), 0) > 200,
           "a program: traces, and what they call, were met", seen)


def check_luajit(tap, where):
    with open(where + "/phases.lua", "w", encoding="utf-8") as file:
        file.write(LUA)
    stacks = record(tap, where, "LuaJIT", ["luajit", where + "/phases.lua", str(DEPTH), "1"])
    seen = {}
    for stack, count in stacks:
        if not any(name.startswith("[unknown") for name in stack):
            continue
        # The interpreter is one function in assembly, which lua_cpcall() calls first.
        at = stack.index("lua_pcall") if "lua_pcall" in stack and "lua_cpcall" in stack and "main" in stack else len(stack)
        key = stack[at:].count(stack[stack.index("lua_cpcall") + 1]) if at < len(stack) else "?"
        seen[key] = seen.get(key, 0) + count
    tap.ok(set(seen) == {0, 1, DEPTH} and min(seen.values()) > 100,
           "LuaJIT: traces in the script, in a coroutine, below callbacks", seen)


tap = e2e.Tap()
with e2e.folder() as where:
    os.environ["XDG_CACHE_HOME"] = where
    check_program(tap, where)
    if shutil.which("luajit"):
        check_luajit(tap, where)
    else:
        tap.skip("LuaJIT", "luajit is not installed")
tap.done()
