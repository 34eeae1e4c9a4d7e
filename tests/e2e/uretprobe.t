#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of a program whose functions have uretprobes: the kernel has put a trampoline's address in place of their return
addresses. Sampled at any instruction, by copies of the stack, in the trampoline, and in an instruction that runs as a copy. And of
one with a uprobe on a NOP of five bytes, which Linux 6.18 makes a call of a trampoline. And of one whose return addresses look as if
the kernel were just writing the trampoline's."""
import contextlib
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define KEEP __attribute__((noipa))
static volatile long sink;
#ifdef NOP
KEEP static long leaf(long n) { asm volatile(".byte 0x0f, 0x1f, 0x44, 0, 0" : "+r"(n) :: "memory"); return n * 3; }
#else
KEEP static long leaf(long n) { asm volatile("xorl %%eax, %%eax\n\tlea 1(%%rax), %%rax" ::: "rax", "memory"); return n * 3; }
#endif
KEEP static long mid(long n) { return leaf(n) + sink; }
KEEP static long down(int n) { if (n) return down(n - 1) + sink; return mid(n) + leaf(n); }
int main(int argc, char **argv) {
	double ms = atof(argv[1]);
	clock_t end = clock() + (clock_t)(ms * CLOCKS_PER_SEC / 1000);
	puts("READY"); fflush(stdout);
	if (argc > 2) getchar();
	while (clock() < end) for (int i = 0; i < 100; i++) sink += down(5);
	return 0;
}
"""
# Functions that meet a page fault with a word on top of the stack that ends in 00, as the trampoline's address does: `half` returns to
# the middle of `elsewhere`, as if one byte of its return address were replaced; `whole` returns behind a call that ends there; for
# `local` the word is none of its return address.
TORN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
asm(".text\n.p2align 8\n.globl elsewhere\n.type elsewhere, @function\nelsewhere: .cfi_startproc\n.fill 512, 1, 0x90\nret\n"
    ".cfi_endproc\n.size elsewhere, . - elsewhere\n"
    ".type half, @function\nhalf: .cfi_startproc\nlea elsewhere+256(%rip), %rax\npush %rax\nmovb $1, (%rdi)\npop %rax\n"
    "ret\n.cfi_endproc\n.size half, . - half\n"
    ".type whole, @function\nwhole: .cfi_startproc\nmovb $1, (%rdi)\nret\n.cfi_endproc\n.size whole, . - whole\n"
    ".type local, @function\nlocal: .cfi_startproc\npush $0x500\n.cfi_adjust_cfa_offset 8\nmovb $1, (%rdi)\npop %rax\n"
    ".cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n.size local, . - local\n"
    ".globl calls\n.type calls, @function\ncalls: .cfi_startproc\npush %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbx, 0\n"
    "mov %rdi, %rbx\ncall half\nlea 4096(%rbx), %rdi\ncall local\nlea 8192(%rbx), %rdi\njmp 1f\n.p2align 8\n.fill 251, 1, 0x90\n"
    "1: call whole\npop %rbx\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n.size calls, . - calls\n");
void calls(char *pages);
__attribute__((noipa)) int probed(int n) { return n + 1; }
int main(void) {
	puts("READY"); fflush(stdout);
	char *pages = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(pages, 3 * 4096, MADV_NOHUGEPAGE);
	for (int i = 0;; i++) {
		madvise(pages, 3 * 4096, MADV_DONTNEED);
		probed(i);
		calls(pages);
		usleep(2000);
	}
	return 0;
}
"""
# clock() and what it calls are libc's; the rest is the program's.
WHOLE = re.compile("_start( [^ ]+){0,3} main( down){0,6}( mid)?( leaf)?$|_start( [^ ]+){0,3} main( (?!down|mid|leaf)[^ ]+)*$")
UNTIL_KNOWN = ("late", "stack-missing", "exited", "no-mapping")


def judge(tap, name, path, stats):
    wrong, seen = [], {}
    for frames, count in e2e.folded(path):
        words = [e2e.native_name(frame) for frame in frames[1:] if not frame.endswith("[k]")]
        if "main" not in words or any(frame.startswith("[incomplete") for frame in frames):
            if any(word in ("down", "mid", "leaf") for word in words) and not any(frame.startswith("[incomplete") for frame in frames):
                wrong.append(words)
            continue
        downs = words.count("down")
        inner = words[words.index("main") + 1:]
        for word in inner:
            seen[word] = seen.get(word, 0) + count
        if not WHOLE.match(" ".join(words)) or (("leaf" in inner or "mid" in inner) and downs != 6):
            wrong.append(words)
    tap.ok(not wrong, "%s: each stack is one that the program had" % name, wrong[:3])
    tap.ok(min(seen.get(word, 0) for word in ("down", "mid", "leaf")) > 5, "%s: seen in each of its functions" % name, seen)
    lost = {reason: count for reason, count in stats["lost"].items() if reason not in UNTIL_KNOWN + ("uretprobe", "ring-full")}
    tap.ok(not lost and stats["lost"].get("uretprobe", 0) <= 0.02 * stats["samples"], "%s: nothing is lost but while one is made" % name, stats["lost"])


@contextlib.contextmanager
def traced(tap, name, script):
    """A tracer; gives what ends it, and then what it wrote: stdout, stderr."""
    with subprocess.Popen([e2e.STRATA, "trace", "-e", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True) as tracer:
        def finish():
            tracer.send_signal(signal.SIGINT)
            return tracer.communicate(timeout=60)
        finish.tracer = tracer
        try:
            tap.ok("Attached" in tracer.stderr.readline(), name)
            yield finish
        finally:
            tracer.kill()


def calls(tap, where):
    program, out, stats = where + "/called", where + "/called.folded", where + "/called.json"
    subprocess.run(["gcc", "-O2", "-DNOP", "-fno-optimize-sibling-calls", "-x", "c", "-", "-o", program], input=PROGRAM.encode(), check=True)
    with traced(tap, "a probe on a NOP", "uprobe:%s:leaf { @ = count(); @depth = max(len(ustack)); }" % program) as finish:
        target = e2e.start([program, "1500", "wait"])
        e2e.record_rest(target, "-F", 1999, "-o", out, "--stats", stats)
        judge(tap, "a probe on a NOP", out, e2e.load(stats))
        text, errors = finish()
    depth = re.search(r"@depth: (\d+)", text)
    tap.ok(depth and int(depth.group(1)) > 10, "a probe on a NOP: len(ustack)", text, errors)


def returns(tap, where):
    program, out, stats = where + "/probed", where + "/out.folded", where + "/stats.json"
    subprocess.run(["gcc", "-O2", "-fno-optimize-sibling-calls", "-x", "c", "-", "-o", program], input=PROGRAM.encode(), check=True)
    script = ("uretprobe:{0}:down,uretprobe:{0}:mid,uretprobe:{0}:leaf {{ @ = count(); @depth[func] = max(len(ustack)); }} "
              "uprobe:{0}:leaf+2 {{ @copied = count(); @at = max(len(ustack)); }}").format(program)
    with traced(tap, "probes", script) as finish:
        target = e2e.start([program, "1500", "wait"])
        done = e2e.record_rest(target, "-F", 1999, "--verify", "-o", out, "--stats", stats)
        figures = e2e.load(stats)
        judge(tap, "known", out, figures)
        verify = figures["verify"]
        tap.ok(verify["samples"] > 50 and not verify["differ"], "libdw's second opinion of %d" % verify["samples"], verify, done.stderr)
        e2e.record("-F", 4999, "-o", out, "--stats", stats, "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do %s 60; done" % program)
        judge(tap, "from copies", out, e2e.load(stats))
        text, errors = finish()
    depths = dict(re.findall(r"@(?:depth\[)?(\w+)\]?: (\d+)", text))
    base = int(depths.get("down", 0))  # of the stack that the innermost down() of six returns to
    tap.ok(base > 5 and int(depths.get("mid", 0)) == int(depths.get("leaf", 0)) - 1 == base + 1 == int(depths.get("at", 0)) - 2,
           "len(ustack) where each returns to", text, errors)


def torn(tap, where):
    program = where + "/torn"
    subprocess.run(["gcc", "-O2", "-x", "c", "-", "-o", program], input=TORN.encode(), check=True)
    script = ("uretprobe:%s:probed { @ = count(); } tracepoint:exceptions:page_fault_user /comm == \"torn\"/ "
              "{ printf(\"<%%s>\\n\", ustack); }") % program
    of, stack = {"half": [], "whole": [], "local": []}, []
    with traced(tap, "torn", script) as finish:
        target = e2e.start([program])
        for line in finish.tracer.stdout:  # the first ones come before it is known
            words = re.split(r"[+ @]", line.strip())
            stack = [] if line.startswith("<") else stack + [" ".join(words[:2]) if line.strip().startswith("[") else words[0]]
            if line.startswith(">") and stack[0] in of:
                of[stack[0]].append(stack[:-1])
                if min(map(len, of.values())) >= 20:
                    break
        target.kill()
        target.wait()
        finish()
    tap.equal([stack for stack in of["half"] if stack != ["half", "[incomplete: uretprobe]"]][:3], [], "half a return address ends the stack")
    for name in ("whole", "local"):
        tap.equal([stack for stack in of[name] if stack[:3] != [name, "calls", "main"]][:3], [], "a whole one does not: " + name)


def main():
    tap = e2e.Tap()
    with e2e.folder() as where:
        torn(tap, where)
        calls(tap, where)
        returns(tap, where)
    tap.done()


main()
