#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A program without symbols: samples in one function are one frame, which bears the function's start, in every format;
pprof and ustack(raw) keep the addresses. An exported symbol without a size does not name the functions behind it."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import e2e  # noqa: E402
import go  # noqa: E402

# A second of CPU time in two functions, at many of their instructions.
PROGRAM = r"""
#include <time.h>
static volatile unsigned sink;
__attribute__((noinline)) static void first(unsigned n) {
	for (unsigned i = 0; i < n; i++) { sink += i * 7; if (sink & 4) sink ^= i; else sink -= 3; sink = sink * 5 + i % 7; } }
__attribute__((noinline)) static void second(unsigned n) {
	for (unsigned i = 0; i < n; i++) { sink ^= i / 3; sink = (sink << 3) | (sink >> 29); sink += 11; } first(n / 2); sink++; }
int main(void) {
	do { first(100000); second(100000); } while (clock() < CLOCKS_PER_SEC);
	return 0; }
"""
# Assembly as assemblers other than GNU's write it: neither type nor size. `hidden` is behind `shown`.
ASSEMBLY = """
.text
.globl shown
shown: mov $100000, %ecx
1: .rept 100
   inc %edx
   .endr
   dec %ecx
   jnz 1b
   ret
.p2align 4
.hidden hidden
.globl hidden
hidden: mov $100000, %ecx
1: .rept 100
   inc %eax
   .endr
   dec %ecx
   jnz 1b
   ret
.section .note.GNU-stack
"""
LIBRARY = """
void shown(void), hidden(void);
void (*table[])(void) = {hidden};
void run(unsigned i) { for (;;) { shown(); table[i](); } }
"""
tap = e2e.Tap()


def unnamed(texts):
    return {int(m.group(1), 16) for m in (re.match(r"0x([0-9a-f]+) \(stripped\)$", text) for text in texts) if m}


def check_record(where, program, starts):
    outputs = {kind: where + "/r" + kind for kind in (".folded", ".html", ".speedscope.json", ".pb.gz")}
    done = e2e.record("-F", 499, *[x for path in outputs.values() for x in ("-o", path)], "--", program)
    tap.ok(done.returncode == 0, "recorded", done.stderr)
    found = unnamed(frame for frames, _ in e2e.folded(outputs[".folded"]) for frame in frames)
    tap.ok(starts["first"] in found and starts["second"] in found, "both functions are there", found)
    tap.ok(found <= set(starts.values()), "folded: nothing but starts", {hex(a) for a in found}, starts)
    with open(outputs[".speedscope.json"]) as file:
        names = [frame["name"] for frame in json.load(file)["shared"]["frames"]]
    tap.ok(unnamed(names) == found and len(names) == len(set(names)), "speedscope: the same frames, each once", names)
    raw = subprocess.run(["go", "tool", "pprof", "-raw", outputs[".pb.gz"]], env=go.environment(HOME=where), text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
    places = re.findall(r"^\s*\d+: 0x([0-9a-f]+) M=\d+ 0x([0-9a-f]+) stripped", raw, re.M)
    tap.ok({int(start, 16) for _, start in places} == found, "pprof: the same functions", raw[:1000])
    tap.ok(len({at for at, start in places if int(start, 16) == starts["first"]}) > 3, "pprof: at several addresses", places)


def check_trace(where, program, starts):
    script = 'profile:hz:499 { if (comm == "stripped") { @[ustack%s] = count(); } }'
    for style in ("", "(raw)"):
        done = subprocess.run([e2e.STRATA, "trace", "-e", script % style, "-c", program], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=e2e.PATIENCE_S)
        tap.ok(done.returncode == 0, "trace: ustack%s" % style, done.stderr)
        if style:
            found = {int(word, 16) & 0xfff for word in re.findall(r"^\s*([0-9a-f]{8,})$", done.stdout, re.M)}
            tap.ok(len(found) > 5, "trace: raw addresses are as they were", done.stdout[:500])
        else:
            found = {int(word, 16) for word in re.findall(r"^\s*0x([0-9a-f]+)$", done.stdout, re.M)}
            tap.ok(starts["first"] in found and found <= set(starts.values()), "trace: nothing but starts",
                   {hex(a) for a in found}, starts)


def check_unsized(where):
    for name, text in (("a.S", ASSEMBLY), ("l.c", LIBRARY), ("m.c", "void run(int); int main(int n) { run(n - 1); }")):
        with open(where + "/" + name, "w") as file:
            file.write(text)
    subprocess.run(["gcc", "-O1", "-fPIC", "-shared", "-o", "libunsized.so", "l.c", "a.S"], cwd=where, check=True)
    nm = subprocess.check_output(["nm", where + "/libunsized.so"], text=True)
    start = int(re.search(r"^([0-9a-f]+) t hidden$", nm, re.M).group(1), 16)
    subprocess.run(["strip", "libunsized.so"], cwd=where, check=True)
    subprocess.run(["gcc", "-o", "unsized", "m.c", "-L.", "-lunsized", "-Wl,-rpath," + where], cwd=where, check=True)
    out = where + "/unsized.folded"
    done = e2e.record("-F", 499, "-d", 2, "-o", out, "--", where + "/unsized")
    found = [frames[-1] for frames, _ in e2e.folded(out) if not frames[-1].endswith("[k]")]
    wanted = {"shown (libunsized.so)", "0x%x (libunsized.so)" % start}
    tap.ok(wanted <= set(found), "a symbol without a size names its function, and not the next one", found, done.stderr)
    text = subprocess.run([e2e.STRATA, "trace", "-e",
                           'profile:hz:499 { if (comm == "unsized") { @[ustack(1)] = count(); } } interval:s:2 { exit(); }',
                           "-c", where + "/unsized"], stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE,
                          timeout=e2e.PATIENCE_S).stdout
    tap.ok(re.search(r"^\s*shown\b", text, re.M) and re.search(r"^\s*0x%x$" % start, text, re.M) and
           all(int(n) < 250 for n in re.findall(r"^\s*shown\+(\d+)$", text, re.M)), "trace: the same", text)


def check_long(where):
    """A name over 64 KiB is not taken: that is said, and the function is shown by its address."""
    done = {}
    for length in (60000, 70000):
        source = PROGRAM.replace("static void first(", "void first(").replace("#include <time.h>", (
            '#include <time.h>\nvoid first(unsigned n) __asm__("%s");' % ("l" * length)))
        program = where + "/long%d" % length
        subprocess.run(["gcc", "-O1", "-xc", "-", "-o", program], input=source.encode(), check=True)
        done[length] = e2e.record("-F", 499, "-o", program + ".folded", "--stats", program + ".json", "--", program)
        names = {frame for frames, _ in e2e.folded(program + ".folded") for frame in frames}
        tap.equal(any(name.startswith("llll") for name in names), length < 65536, "a name of %d bytes: %s" % (
            length, "it is there" if length < 65536 else "it is not"))
        told = [remark for remark in e2e.load(program + ".json")["remarks"] if "64 KiB" in remark]
        tap.ok(bool(told) == (length > 65535) and all("/long70000 have no names" in remark for remark in told), "  which is said", told)


with e2e.folder() as where:
    program = where + "/stripped"
    subprocess.run(["gcc", "-O1", "-xc", "-", "-o", program], input=PROGRAM.encode(), check=True)
    symbols = subprocess.check_output(["nm", program], universal_newlines=True)
    starts = {w[2]: int(w[0], 16) for w in map(str.split, symbols.splitlines()) if len(w) == 3 and w[1] in "tT"}
    subprocess.run(["strip", program], check=True)
    check_record(where, program, starts)
    check_trace(where, program, starts)
    check_unsized(where)
    check_long(where)
tap.done()
