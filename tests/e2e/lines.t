#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""record --lines: source lines of native code and inlined functions, compared with `addr2line -i` on every instruction of
programs that are compiled here; in every format; from a separate debug file; where there is no debug information, or a damaged
one."""
import gzip
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
sys.dont_write_bytecode = True
import e2e  # noqa: E402
import go  # noqa: E402

SOURCE = r"""
#include <cstdint>
#include <ctime>
volatile uint64_t sink;
namespace shapes {
static inline __attribute__((always_inline)) uint64_t mix(uint64_t v)
{
	for (int i = 0; i < 50; i++)
		v = v * 6364136223846793005ull +
		    (v >> 13);
	return v;
}
template <typename T> static inline __attribute__((always_inline)) T twice(T v)
{
	return mix(v) ^
	       mix(v + 1);
}
struct circle {
	uint64_t r;
	uint64_t area() const { return mix(r) * r; }
};
}
__attribute__((noinline)) uint64_t leaf(uint64_t n)
{
	uint64_t s = n;
	for (uint64_t i = 0; i < 200; i++)
		s += shapes::twice<uint64_t>(s + i);
	return s;
}
static inline __attribute__((always_inline)) uint64_t through(uint64_t n)
{
	uint64_t s = leaf(n) + 1;

	s += leaf(n + 1);
	return s;
}
__attribute__((noinline)) uint64_t work(uint64_t n)
{
	shapes::circle c = {n};
	uint64_t s = through(n);
	for (int i = 0; i < 100; i++, c.r++)
		s += c.area();
	return s;
}
int main(int argc, char **argv)
{
	while (clock() < CLOCKS_PER_SEC / 4)
		for (int i = 0; i < 20; i++)
			sink = work(sink);
}
"""
LINE = re.compile(r"^(.*) \((.*)\) \[(.*):(\d+)\]$")


def compile_program(where, name, *flags):
    source, program = os.path.join(where, "source file.cpp"), os.path.join(where, name)
    with open(source, "w") as file:
        file.write(SOURCE)
    subprocess.check_call(["g++", "-o", program, source] + list(flags))
    return program


def base(function):
    """The name alone: addr2line and the debug information differ in the rest."""
    return re.sub(r"[<(].*", "", function).split("::")[-1]


def functions():
    """Which function each line of the program belongs to."""
    found, name = {}, None
    for number, line in enumerate(SOURCE.split("\n"), 1):
        begins = re.match(r"^\t?(?:static|template|__attribute__|uint64_t|int).*?(\w+)\([^()]*\)(?: const)?(?: \{.*)?$", line)
        name = begins.group(1) if begins else name
        if name:
            found[number] = name
        if line == "}" or (begins and line.endswith("}")):
            name = None
    return found


OF_LINE = functions()


def chains(program):
    """What addr2line says of each instruction: {((file's name, line), ...)}, the innermost first. Its names of inlined functions
    are not compared: some are those of the functions around."""
    dump = subprocess.check_output(["objdump", "-d", "-j", ".text", "--no-show-raw-insn", program]).decode()
    addresses = re.findall(r"^ *([0-9a-f]+):\t", dump, re.M)
    said = subprocess.run(["addr2line", "-ai", "-e", program], input="\n".join(addresses), stdout=subprocess.PIPE,
                          universal_newlines=True, check=True).stdout.splitlines()
    found, chain = set(), []
    for line in said + ["0x"]:
        if line.startswith("0x"):
            found.add(tuple(chain))
            chain = []
        else:
            file, _, number = line.partition(" (")[0].rpartition(":")
            chain.append((os.path.basename(file), int(number) if number.isdigit() else 0))
    return found


def sampled(path, module):
    """The frames of the program in each stack, in the same form, outermost first."""
    stacks = []
    for frames, count in e2e.folded(path):
        own = []
        for frame in frames:
            line = LINE.match(frame)
            if line and line.group(2) == module:
                own.append((base(line.group(1)), os.path.basename(line.group(3)), int(line.group(4))))
            elif frame.endswith("(%s)" % module):
                own.append((base(frame.rpartition(" (")[0]), None, 0))
        if own:
            stacks.append((own, count, frames))
    return stacks


def split(own, known):
    """The chains that a stack is made of, each one function with what is inlined in it; None: it is made of no known ones."""
    if not own:
        return []
    for size in range(len(own), 0, -1):
        chain = tuple(frame[1:] for frame in reversed(own[:size]))
        if chain in known:
            rest = split(own[size:], known)
            if rest is not None:
                return [chain] + rest
    return None


def agrees(tap, where, words, program, *arguments):
    out = where + "/l.folded"
    done = e2e.record("--lines", "-F", 999, "-o", out, *(arguments or ("--", program)))
    known, wrong, deepest, right = chains(program), [], 0, 0
    for own, count, frames in sampled(out, os.path.basename(program)):
        mine = [frame for frame in own if frame[0] in set(OF_LINE.values())]
        found = split(mine, known) if all(OF_LINE.get(line) == function for function, _, line in mine) else None
        if found is None:
            wrong.append(";".join(frames))
            continue
        right += count
        deepest = max([deepest] + [len(chain) for chain in found])
    tap.ok(right and not wrong, "%s: %d samples have lines and inlined functions that addr2line knows" % (words, right),
           done.stderr, *wrong)
    tap.ok(deepest >= (3 if "-O2" in words else 1), "%s: up to %d functions at one address" % (words, deepest), done.stderr)
    return out


def formats(tap, where, program):
    names = {kind: "%s/f%s" % (where, kind) for kind in
             (".folded", ".pb.gz", ".html", ".speedscope.json", ".firefox.json.gz", ".trace.json")}
    outputs = [word for name in names.values() for word in ("-o", name)]
    done = e2e.record("--lines", "-F", 499, *(outputs + ["--", program]))
    stack = max((s for s in sampled(names[".folded"], os.path.basename(program)) if any(f[0] == "mix" for f in s[0])),
                key=lambda s: s[1], default=None)
    if not tap.ok(stack, "inlined functions were sampled", done.stderr):
        return
    source = os.path.join(where, "source file.cpp")
    line = [f[2] for f in stack[0] if f[0] == "mix"][-1]
    raw = subprocess.run(["go", "tool", "pprof", "-raw", names[".pb.gz"]], env=go.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         universal_newlines=True)
    tap.ok(re.search(r"mix.* %s:%d\b" % (re.escape(source), line), raw.stdout), "pprof has its file and line",
           raw.stderr, raw.stdout[-900:])
    shared = e2e.load(names[".speedscope.json"])["shared"]["frames"]
    tap.ok(any(f["name"].startswith("mix (") and f.get("file") == source and f.get("line") == line for f in shared), "speedscope",
           [f for f in shared if f["name"].startswith("mix")])
    with gzip.open(names[".firefox.json.gz"], "rt") as file:
        firefox = json.load(file)
    functions, frames, strings = (firefox["shared"][t] for t in ("funcTable", "frameTable", "stringArray"))
    sources = firefox["shared"]["sources"]
    told = {(strings[functions["name"][function]], functions["source"][function] is not None and
             strings[sources["filename"][functions["source"][function]]], frames["line"][i])
            for i, function in enumerate(frames["func"])}
    tap.ok(("mix", source, line) in told, "Firefox", sorted(map(str, told))[:20])
    with open(names[".trace.json"]) as file:
        events = json.load(file)["traceEvents"]
    tap.ok(any(e.get("name", "").startswith("mix") and e.get("args", {}).get("file") == source and e["args"].get("line") == line
               for e in events), "Perfetto", [e for e in events if e.get("name", "").startswith("mix")][:3])
    with open(names[".html"]) as file:
        tap.ok(json.dumps(source)[1:-1] in file.read(), "the page")
    diff = subprocess.run([e2e.STRATA, "diff", names[".folded"], names[".folded"], "-o", "-"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    tap.ok(not diff.returncode, "strata diff reads them", diff.stdout)


def without(tap, where, program):
    out = where + "/w.folded"
    stripped = program + "-without"
    subprocess.check_call(["objcopy", "--strip-debug", program, stripped])
    done = e2e.record("--lines", "-F", 499, "-o", out, "--", stripped)
    stacks = sampled(out, os.path.basename(stripped))
    tap.ok(stacks and all(line == 0 for own, _, _ in stacks for _, _, line in own), "no debug information: no lines, and names as ever",
           done.stderr, stacks[:3])
    done = e2e.record("-F", 499, "-o", out, "--", program)
    stacks = sampled(out, os.path.basename(program))
    tap.ok(stacks and all(line == 0 for own, _, _ in stacks for _, _, line in own), "without --lines there are none", done.stderr)


def damaged(tap, where, program):
    out = where + "/x.folded"
    for section in (".debug_info", ".debug_line", ".debug_abbrev"):
        broken = program + section
        junk = where + "/junk"
        subprocess.check_call(["objcopy", "-O", "binary", "--only-section=" + section, "--set-section-flags", section + "=alloc",
                               program, junk])
        with open(junk, "rb") as file:
            bytes_ = bytearray(file.read())
        for i in range(0, len(bytes_), 7):
            bytes_[i] = (bytes_[i] * 31 + i) & 0xff
        with open(junk, "wb") as file:
            file.write(bytes_)
        subprocess.check_call(["objcopy", "--update-section", section + "=" + junk, program, broken])
        done = e2e.record("--lines", "-F", 499, "-o", out, "--", broken)
        leaves = [own for own, _, _ in sampled(out, os.path.basename(broken)) if any(f[0] == "leaf" for f in own)]
        tap.ok(not done.returncode and leaves, "a damaged %s costs no names" % section, done.stderr)


def main():
    tap = e2e.Tap()
    with e2e.folder() as where:
        program = compile_program(where, "fast", "-O2", "-g")
        agrees(tap, where, "-O2", program)
        agrees(tap, where, "-O0", compile_program(where, "slow", "-O0", "-g"))
        agrees(tap, where, "-O2, DWARF 4, compressed", compile_program(where, "old", "-O2", "-gdwarf-4", "-gz"))
        apart = compile_program(where, "apart", "-O2", "-g")
        subprocess.check_call(["objcopy", "--only-keep-debug", apart, apart + ".debug"])
        subprocess.check_call(["objcopy", "--strip-all", "--add-gnu-debuglink=" + apart + ".debug", apart])
        agrees(tap, where, "-O2, of a separate debug file", apart)
        formats(tap, where, program)
        without(tap, where, program)
        damaged(tap, where, program)
    tap.done()


main()
