#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""dwarf: args of uprobes, types of a binary, and lines of its source, by its debug information: what a program was given
is what a script reads, whichever compiler made it and however. Needs root, gcc, clang and objcopy."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

STRATA = os.environ["STRATA"]

HEADER = r"""
#include <stdbool.h>
struct node { struct node *next; int value; struct { short low, high; } range; union { int number; char bytes[4]; }; };
struct flags { unsigned a : 3; int b : 5; unsigned long c : 40; unsigned char d; };
struct small { int x, y; };
struct half { long a; int b; };
struct three { char at[3]; };
struct point { float x, y; };
struct mixed { double d; long n; };
struct large { long at[5]; };
enum colour { RED, GREEN = 5, BLUE = -1 };
typedef struct { int first; long second; } named;
typedef unsigned long word;
struct packed { char c; int i; } __attribute__((packed));
#define OUT __attribute__((noinline, used)) /* as it is written: not inlined, nothing left out */
"""

CALLEES = HEADER + r"""
volatile long sink;
OUT long integers(char c, short s, int i, long l, unsigned char uc, bool b, int seventh, long eighth) { sink++; return c + s + i + l + uc + b + seventh + eighth; }
OUT long pointers(struct node *list, const char *text, int **deep, void *any, named *by_typedef) { sink++; return list->value + text[0] + **deep + (any == 0) + by_typedef->first; }
OUT long fields(struct flags *flags, word size, enum colour colour) { sink++; return flags->a + (long)size + colour; }
OUT long floats(int before, double d, float f, int behind) { sink++; return before + (long)d + (long)f + behind; }
OUT long values(struct small small, struct half half, struct three three, int behind) { sink++; return small.x + half.b + three.at[0] + behind; }
OUT long in_memory(struct large large, struct packed packed, int behind) { sink++; return large.at[4] + packed.i + behind; }
OUT long with_floats(struct point point, struct mixed mixed, int behind) { sink++; return (long)point.x + mixed.n + behind; }
OUT long wide(__int128 w, int behind) { sink++; return (long)w + behind; }
OUT long split(long a, long b, long c, long d, long e, struct half half, long sixth) { sink++; return a + b + c + d + e + half.b + sixth; }
OUT struct large hidden(int n, struct small small) { struct large large = {{n, small.y}}; sink++; return large; }
OUT int nothing(void) { return (int)sink++; }
OUT int unused(int first, int second __attribute__((unused)), int third) { sink++; return first + third; }
"""

CALLER = HEADER + r"""
extern long integers(char, short, int, long, unsigned char, bool, int, long);
extern long pointers(struct node *, const char *, int **, void *, named *);
extern long fields(struct flags *, word, enum colour);
extern long floats(int, double, float, int);
extern long values(struct small, struct half, struct three, int);
extern long in_memory(struct large, struct packed, int);
extern long with_floats(struct point, struct mixed, int);
extern long wide(__int128, int);
extern long split(long, long, long, long, long, struct half, long);
extern struct large hidden(int, struct small);
extern int nothing(void);
extern int unused(int, int, int);
int main(void) {
	char text[] = "a text";
	int number = 77, *pointer = &number;
	struct node last = {0, -4, {1, -2}, {0x41424344}}, first = {&last, 3, {10, 20}, {0}};
	struct flags flags = {5, -9, 0x123456789aul, 200};
	named by_typedef = {8, -8};
	integers(-3, -300, -70000, -5000000000l, 250, 1, -7, 1l << 40);
	pointers(&first, text, &pointer, (void *)0x1234, &by_typedef);
	fields(&flags, 99, GREEN);
	floats(1, 2.5, 3.5, 4);
	values((struct small){-1, 2}, (struct half){-10, 11}, (struct three){"abc"}, 12);
	in_memory((struct large){{1, 2, 3, 4, -5}}, (struct packed){'c', -6}, 13);
	with_floats((struct point){1, 2}, (struct mixed){3, 4}, 14);
	wide(((__int128)1 << 100) + 5, 15);
	split(1, 2, 3, 4, 5, (struct half){6, 7}, 8);
	hidden(16, (struct small){17, 18});
	nothing();
	unused(19, 20, 21);
	return 0;
}
"""

# function: (action, what it prints)
CASES = {
    "integers": ('print(args)', "{ .c = -3, .s = -300, .i = -70000, .l = -5000000000, .uc = 250, .b = true, .seventh = -7, .eighth = 1099511627776 }"),
    "pointers": ('printf("%d %d %d %d %d %s %d %p %d\\n", args.list.value, args.list.next.value, args.list->next->range.high, args.list.range.low, '
                 'args.list.next.number, str(args.text), **args.deep, args.any, args.by_typedef.second)', "3 -4 -2 10 1094861636 a text 77 0x1234 -8"),
    "fields": ('printf("%d %d %lx %d %d %s\\n", args.flags.a, args.flags.b, args.flags.c, args.flags.d, args.size, args.colour)', "5 -9 123456789a 200 99 GREEN"),
    "floats": ('printf("%d %d\\n", args.before, args.behind)', "1 4"),
    "values": ('printf("%d %d %d %d %s %d\\n", args.small.x, args.small.y, args.half.a, args.half.b, args.three.at, args.behind); print(args)',
               "-1 2 -10 11 abc 12\n{ .small = { .x = -1, .y = 2 }, .half = { .a = -10, .b = 11 }, .three = { .at = abc }, .behind = 12 }"),
    "in_memory": ('printf("%d %d %d %d\\n", args.large.at[4], args.packed.c, args.packed.i, args.behind)', "-5 99 -6 13"),
    "with_floats": ('print(args.behind)', "14"),
    "wide": ('print(args.behind)', "15"),
    "split": ('printf("%d %d %d %d\\n", args.e, args.half.a, args.half.b, args.sixth)', "5 6 7 8"),
    "hidden": ('printf("%d %d\\n", args.n, args.small.y)', "16 18"),
    "unused": ('printf("%d %d\\n", args.first, args.third)', "19 21"),
}

# Functions that become part of another: the line numbers are what the stacks must have.
INLINED = """volatile int sink;
static inline __attribute__((always_inline)) void inner(void) {
	sink++;
}
static inline __attribute__((always_inline)) void middle(void) {
	inner();
}
__attribute__((noinline)) int outer(void) {
	middle();
	return sink;
}
int main(void) {
	return outer() - 1;
}
"""

tap = Tap()


def run(*arguments, **more):
    result = subprocess.run([STRATA, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False, **more)
    return result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace")


def trace(program, command=None, *more):
    return run("trace", "-q", "-e", program, *more, *(["-c", command] if command else []))


def compiled(folder, name, compiler, *flags):
    """The callees as `flags` say, the caller always the same way; debug information of the callees."""
    path = os.path.join(folder, name)
    subprocess.run([compiler, "-g", *flags, "-Wno-psabi", "-c", "-o", path + "-callees.o", "callees.c"], check=True, cwd=folder)
    subprocess.run(["gcc", "-O0", "-o", path, "caller.c", path + "-callees.o"], check=True, cwd=folder)
    return path


def arguments(path, words):
    program = "".join(f'uprobe:{path}:{name} {{ printf("{name}:\\n"); {action}; }} ' for name, (action, _) in CASES.items())
    out, err = trace(program, path)
    parts = dict(re.findall(r"(?m)^(\w+):\n((?:(?!^\w+:\n).*\n?)*)", out))
    for name, (_, expected) in CASES.items():
        tap.ok(parts.get(name, "").strip() == expected, f"{words}: the arguments of {name}", parts.get(name), "expected", expected, err)


ODD = r"""
#include <stdio.h>
#include "both.h"
struct shape { int sides; struct shape *inner; }; /* line 4 */
struct only_here { long first; int second; };
volatile long sink;
static __attribute__((noinline)) int altered(int used, int always, int sum) {
	sink += used;
	return sum + always; /* line 9 */
}
__attribute__((noinline)) int plain(struct shape *shape, double size) {
	int i, sum = (int)size;
	for (i = 0; i < shape->sides; i++)
		sum += i;
	return both(sum); /* line 15 */
}
__attribute__((noinline)) long opaque(struct hidden *hidden) { sink++; return hidden != 0; }
__attribute__((noinline)) int main(void) {
	struct shape inner = {7, 0}, outer = {3, &inner};
	struct only_here here = {11, 12};
	extern long elsewhere(struct only_here *);
	extern struct hidden a_hidden;
	return plain(&outer, 1.5) + altered(1, 5, 2) + altered(2, 5, 3) + (int)elsewhere(&here) + (int)opaque(&a_hidden) < 0;
}
"""

BOTH = """extern volatile long sink;
struct hidden;
static inline int both(int n) {
	sink++;
	return n + 1;
}
"""

OTHER = """#include "both.h"
enum level { LOW = 3, HIGH = 4 };
struct only_here { int other; };
struct hidden { char name[8]; enum level level; } a_hidden = {"hidden", HIGH};
__attribute__((noinline)) long elsewhere(void *any) { struct only_here *here = any; return both(here->other != 0); }
"""

PLUS = r"""
extern "C" int puts(const char *);
namespace space {
struct Base { int base; virtual ~Base() {} };
struct Thing : Base {
	static int count;
	int own;
	Thing(int n) : own(n) { base = n * 2; }
	__attribute__((noinline)) int method(const int &reference, Thing copied);
	__attribute__((noinline)) static int of_class(long n) { asm volatile("" ::: "memory"); return (int)n; }
};
int Thing::count;
int Thing::method(const int &reference, Thing copied) { asm volatile("" ::: "memory"); return own + reference + copied.own; }
}
int main() { space::Thing thing(5), other(9); int n = 3; return thing.method(n, other) + space::Thing::of_class(4) == 0; }
"""


def write(folder, **files):
    for name, text in files.items():
        with open(os.path.join(folder, name.replace("_", ".")), "w", encoding="utf-8") as file:
            file.write(text)


def expect(name, program, command, pattern, *more):
    out, err = trace(program, command, *more)
    return tap.ok(re.search(pattern, out), name, repr(out), err)


def complains(name, program, underlined, pattern, *more):
    """An error with a caret below `underlined`."""
    out, err = trace(program, None, *more)
    lines = err.split("\n")
    below = [lines[i - 1][line.index("~"):line.rindex("~") + 1] for i, line in enumerate(lines) if i and set(line) <= set(" ~") and "~" in line]
    return tap.ok("ERROR" in err and re.search(pattern, err) and underlined in below, name, out, err, below)


def types(path, folder):
    expect("a cast to a struct of the binary", f"uprobe:{path}:plain {{ $s = (struct shape *)arg0; print(($s.sides, $s->inner.sides)); }}", path, r"^\(3, 7\)\n")
    expect("a struct of the script comes first", f"struct shape {{ short half; }} uprobe:{path}:plain {{ print(((struct shape *)arg0).half); print(sizeof(struct shape)); }}", path, r"^3\n2\n")
    expect("of two structs of one name that of the function's own unit", f"uprobe:{path}:plain {{ print(sizeof(struct only_here)); }}", path, r"^16\n")
    expect("... and in a function of the other unit its own", f"uprobe:{path}:elsewhere {{ print(sizeof(struct only_here)); print(LOW); }}", path, r"^4\nLOW\n")
    expect("a struct that is only declared in the function's unit", f'uprobe:{path}:opaque {{ printf("%s %s\\n", args.hidden.name, args.hidden.level); }}', path, r"^hidden HIGH\n")
    expect("types in a uretprobe", f"uprobe:{path}:plain {{ @s = args.shape; }} uretprobe:{path}:plain {{ print(@s.inner.sides); print(sizeof(struct shape)); print(retval); }}", path, r"^7\n16\n5\n")
    expect("args as a key and as a value", f'uprobe:{path}:altered* {{ @[args.sum] = 1; @last = args; }}', path, r"@\[2\]: 1\n@\[3\]: 1\n")
    expect("wildcards: each function has its own", f'uprobe:{path}:pl*n {{ print(args.shape.sides); }}', path, r"^3\n")
    out, _ = run("list", "-v", f"uprobe:{path}:plain")
    tap.equal(out, f"uprobe:{path}:plain\n    struct shape* shape\n    double size\n", "list -v has the parameters")


def refused(path, folder):
    stripped = os.path.join(folder, "stripped")
    subprocess.run(["objcopy", "-g", path, stripped], check=True)
    complains("a parameter that is in no register for numbers", f"uprobe:{path}:plain {{ print(args.size); }}", "args.size", r"double size is passed in a floating-point register")
    complains("no such parameter", f"uprobe:{path}:plain {{ print(args.nope); }}", "args.nope", r"has no parameter named 'nope'\n(.*\n)*HINT: its parameters are: struct shape\* shape, double size")
    complains("in the middle of a function", f"uprobe:{path}:plain+4 {{ print(args.shape); }}", "args", r"not at the beginning of a function")
    complains("a function without parameters", f"uprobe:{path}:main {{ print(args.x); }}", "args.x", r"HINT: it has none")
    complains("without debug information", f"uprobe:{stripped}:plain {{ print(args.shape); }}", "args", r"has no debug information \(DWARF\)\n(.*\n)*HINT: .*--debuginfo")
    complains("a line without debug information", f"uprobe:{stripped}@odd.c:15 {{ }}", f"uprobe:{stripped}@odd.c:15", r"has no debug information")
    complains("no such file", f"uprobe:{path}@nope.c:15 {{ }}", f"uprobe:{path}@nope.c:15", r"has no code of a file nope\.c")
    complains("no statement on the line", f"uprobe:{path}@odd.c:4 {{ }}", f"uprobe:{path}@odd.c:4", r"no statement begins on line 4 of .*odd\.c\n(.*\n)*HINT: the nearest line with statements is 7")
    complains("no statement at the column", f"uprobe:{path}@odd.c:15:77 {{ }}", f"uprobe:{path}@odd.c:15:77", r"no statement of line 15 begins at column 77 (.*\n)*HINT: one begins at column \d+")
    os.makedirs(f"{folder}/twin", exist_ok=True)
    write(f"{folder}/twin", odd_c="int twin(int n) { return n; }\n")
    subprocess.run(["gcc", "-g", "-o", f"{folder}/twins", "odd.c", "other.c", "twin/odd.c"], check=True, cwd=folder)
    complains("two files of one name", f"uprobe:{folder}/twins@odd.c:1 {{ }}", f"uprobe:{folder}/twins@odd.c:1", r"odd\.c means several files: .*odd\.c and .*odd\.c")
    complains("no line of a return probe", f"uretprobe:{path}@odd.c:15 {{ }}", f"uretprobe:{path}@odd.c:15", r"at the ends of functions")
    complains("args at a line", f"uprobe:{path}@odd.c:15 {{ print(args.shape); }}", "args", r"not at the beginning of a function")
    complains("args of a uretprobe", f"uretprobe:{path}:plain {{ print(args.shape); }}", "args", r"cannot be used with 'uretprobe' probes")


def altered(folder):
    """gcc takes away the parameter that is always 5: what is said of the others must be true, and that it is not there."""
    path = os.path.join(folder, "altered")
    subprocess.run(["gcc", "-g", "-O2", "-o", path, "odd.c", "other.c"], check=True, cwd=folder)
    symbols = subprocess.run(["nm", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    if "altered." not in symbols:
        tap.skip("parameters that the optimiser takes away", "this compiler leaves them")
        return
    name = re.search(r"altered\.\S+", symbols).group(0)
    expect("parameters beside one that is gone", f'uprobe:{path}:{name} {{ printf("%d %d\\n", args.used, args.sum); }}', path, r"^1 2\n2 3\n|^2 3\n1 2\n")
    complains("one that is gone", f"uprobe:{path}:{name} {{ print(args.always); }}", "args.always", r"int always .*optimised out")


def lines(path, folder):
    expect("a line", f"uprobe:{path}@odd.c:15 {{ @ = count(); }}", path, r"@: 1\n")
    expect("a line, as often as it is executed", f"uprobe:{path}@odd.c:14 {{ @ = count(); }}", path, r"@: 3\n")
    expect("a file by its whole path", f"uprobe:{path}@{os.path.realpath(folder)}/odd.c:15 {{ @ = count(); }}", path, r"@: 1\n")
    expect("a function's line is where it begins", f"uprobe:{path}@odd.c:11 {{ @a = reg(\"ip\"); }} uprobe:{path}:plain {{ @b = reg(\"ip\"); }} "
           'end { print(@a == @b && @a != 0); }', path, r"(?m)^true$|^1$")
    expect("a header's line", f"uprobe:{path}@both.h:4 {{ print(probe); }}", path, rf"^uprobe:{re.escape(path)}@both.h:4\n")
    expect("a cast at a line", f"uprobe:{path}@odd.c:15 {{ print(sizeof(struct only_here)); }}", path, r"^16\n")
    out, _ = run("list", f"uprobe:{path}@odd.c:15")
    tap.equal(out, f"uprobe:{path}@odd.c:15\n", "list has a line")


def separate(path, folder):
    """Debug files beside, in .debug, below another folder, and one that belongs to something else."""
    def program(name):
        return f"uprobe:{folder}/{name}:plain {{ print(args.shape.sides); }}"
    os.makedirs(f"{folder}/.debug")
    os.makedirs(f"{folder}/elsewhere/deep")
    subprocess.run(["objcopy", "--only-keep-debug", path, f"{folder}/elsewhere/apart.debug"], check=True)
    subprocess.run(["objcopy", "-g", path, f"{folder}/apart"], check=True)
    expect("--debuginfo: a relative folder, by build id", program("apart"), f"{folder}/apart", r"^3\n", "--debuginfo", "nowhere:elsewhere")
    expect("--debuginfo: an absolute one, and two options", program("apart"), f"{folder}/apart", r"^3\n", "--debuginfo", "/nowhere", "--debuginfo", f"{folder}/elsewhere")
    subprocess.run(["objcopy", "--only-keep-debug", path, f"{folder}/.debug/linked.debug"], check=True)
    subprocess.run(["objcopy", "-g", f"--add-gnu-debuglink={folder}/.debug/linked.debug", path, f"{folder}/linked"], check=True)
    expect("a debug link, in .debug", program("linked"), f"{folder}/linked", r"^3\n")
    subprocess.run(["gcc", "-g", "-O1", "-o", f"{folder}/elsewhere/deep/apart.debug", "odd.c", "other.c"], check=True, cwd=folder)
    complains("--debuginfo: a file of another build", program("apart"), "args", r"has no debug information", "--debuginfo", f"{folder}/elsewhere/deep")
    out, _ = run("list", "-v", "--debuginfo", "elsewhere", f"uprobe:{folder}/apart:opaque")
    tap.equal(out, f"uprobe:{folder}/apart:opaque\n    struct hidden* hidden\n", "list --debuginfo")


def split(folder):
    """Debug information in .dwo files, and in a package of them; gone, it is said where it should be."""
    path = os.path.join(folder, "split")
    os.makedirs(f"{folder}/units")
    for name in ("odd", "other"):
        subprocess.run(["gcc", "-g", "-gdwarf-5", "-gsplit-dwarf", "-c", f"../{name}.c"], check=True, cwd=f"{folder}/units")
    subprocess.run(["gcc", "-o", path, "units/odd.o", "units/other.o"], check=True, cwd=folder)
    probe, static = f"uprobe:{path}:plain {{ print((args.shape.sides, sizeof(struct only_here))); }}", f"uprobe:{path}:altered {{ print(args.sum); }}"
    expect(".dwo files", probe, path, r"^\(3, 16\)\n")
    expect(".dwo files: a static function", static, path, r"^2\n3\n|^3\n2\n")
    made = subprocess.run(["llvm-dwp", "-e", path, "-o", path + ".dwp"], cwd=f"{folder}/units", check=False) if shutil.which("llvm-dwp") else None
    for name in ("odd", "other"):
        os.unlink(f"{folder}/units/{name}.dwo")
    if not made or made.returncode:
        tap.skip("a DWARF package", "no llvm-dwp that makes one")
    else:
        expect("a DWARF package", probe, path, r"^\(3, 16\)\n")
        expect("a DWARF package: the other unit's types", f"uprobe:{path}:elsewhere {{ print(sizeof(struct only_here)); print(sizeof(struct hidden)); }}", path, r"^4\n12\n")
        complains("a DWARF package: a static function", static, "args", r"in a DWARF package \(\.dwp\), of which strata knows only functions that are not static")
        os.unlink(path + ".dwp")
    complains("no .dwo file", probe, "args", r"its debug information is in .*odd\.dwo, which was not found")


def sources(folder):
    """Stacks with files, lines and inlined functions, whichever way the debug information is kept."""
    inner, outer = "inner@\\S*inlined.c:3", "outer\\+\\d+@\\S*inlined.c:9"
    stack = rf"^\n {{8}}\[inlined\] {inner}\n {{8}}\[inlined\] middle@\S*inlined.c:6\n {{8}}{outer}\n {{8}}main\+\d+@\S*inlined.c:13\n"
    for compiler, *flags in (("gcc", "-gdwarf-5", "-gsplit-dwarf"), ("clang", "-gdwarf-5", "-gsplit-dwarf"), ("gcc", "-gdwarf-5"), ("clang", "-gdwarf-4")):
        path, at = f"{folder}/inlined", f"uprobe:{folder}/inlined@inlined.c:3"
        subprocess.run([compiler, "-g", "-O2", "-fno-pie", *flags, "-c", "inlined.c"], check=True, cwd=folder)
        subprocess.run([compiler, "-no-pie", "-o", path, "inlined.o"], check=True, cwd=folder)
        if "-gsplit-dwarf" in flags:
            expect(f"{compiler} {' '.join(flags)}: lines", f"{at} {{ print(ustack); }}", path, r"^\n {8}outer\+\d+@\S*inlined.c:3\n {8}main\+\d+@\S*inlined.c:13\n")
            continue
        expect(f"{compiler} {' '.join(flags)}: inlined functions and lines of a stack", f"{at} {{ print(ustack); }}", path, stack)
    expect("  in frames like perf's", f"{at} {{ print(ustack(perf, 1)); }}", path,
           r"^\n\t[0-9a-f]+ inner \(inlined\)\n\t[0-9a-f]+ middle \(inlined\)\n\t[0-9a-f]+ outer\+\d+ \(\S*/inlined\)\n\n")
    expect("  as JSON", f"{at} {{ print(ustack(2)); }}", path, r'"\[inlined\] inner@\S*:3\\n\[inlined\] middle@\S*:6\\nouter\+\d+@\S*:9\\nmain\+\d+@\S*:13"', "-f", "json")
    expect("  not where that is not wanted", f"config = {{ show_debug_info = 0 }} {at} {{ print(ustack); }}", path, r"^\n {8}outer\+\d+\n {8}main\+\d+\n")
    expect("  nor folded", f"{at} {{ print(ustack(folded)); }}", path, r";main \(inlined\);outer \(inlined\)\n")
    expect("  as a key", f"{at} {{ @[ustack(1)] = count(); }}", path, rf"@\[\n {{8}}\[inlined\] {inner}\n {{8}}\[inlined\] middle@\S*\n {{8}}{outer}\n\]: 1\n")
    os.makedirs(f"{folder}/kept")
    subprocess.run(["gcc", "-g", "-O2", "-o", path, "inlined.c"], check=True, cwd=folder)
    subprocess.run(["objcopy", "--only-keep-debug", path, f"{folder}/kept/inlined.debug"], check=True)
    subprocess.run(["objcopy", "-g", path], check=True)
    expect("  out of a separate file", f"uprobe:{path}:outer {{ print(ustack(1)); }}", path, r"outer\+0@\S*inlined.c:[89]\n", "--debuginfo", f"{folder}/kept")


def common(folder):
    """Parts of the debug information that several programs have in common are in another file (dwz)."""
    if not shutil.which("dwz"):
        tap.skip("debug information with parts in another file", "no dwz")
        return
    os.makedirs(f"{folder}/common")
    for name, *files in (("one", "inlined.c"), ("two", "odd.c", "other.c")):
        subprocess.run(["gcc", "-g", "-gdwarf-4", "-O1", "-include", "stdio.h", "-fno-eliminate-unused-debug-types", "-o", f"common/{name}", *files],
                       check=True, cwd=folder)
    subprocess.run(["dwz", "-m", "shared.debug", "-M", "shared.debug", "one", "two"], check=True, cwd=f"{folder}/common")
    path = f"{folder}/common/one"
    linked = "gnu_debugaltlink" in subprocess.run(["readelf", "-SW", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    stack = f"uprobe:{path}@inlined.c:3 {{ print(ustack(1)); }}"
    expect("debug information with parts in another file", stack, path, r"^\n {8}\[inlined\] inner@\S*inlined.c:3\n.*\n {8}outer\+\d+@\S*inlined.c:9\n" if linked else "never: dwz made none")
    arguments_of = f"uprobe:{folder}/common/two:plain {{ print(args.shape.sides); }}"
    expect("  and arguments", arguments_of, f"{folder}/common/two", r"^3\n")
    os.unlink(f"{folder}/common/shared.debug")
    expect("  which is gone", f"uprobe:{path}:outer {{ print(ustack(1)); }}", path, r"^\n {8}outer\+0\n")
    complains("  which arguments tell", arguments_of, "args", r"has parts in another file, \S*shared\.debug, which was not found")


def plus(folder):
    for compiler, flags in (("g++", ["-O0"]), ("g++", ["-O2"]), ("clang++", ["-O0"]), ("clang++", ["-O2"])):
        path = os.path.join(folder, compiler + flags[0])
        subprocess.run([compiler, "-g", "-gdwarf-5", *flags, "-o", path, "plus.cpp"], check=True, cwd=folder)
        expect(f"{compiler} {flags[0]}: this, a reference, a class with a copy constructor, a base class",
               f'uprobe:{path}:cpp:space::Thing::method {{ printf("%d %d %d %d\\n", args.this.own, args.this.base, *args.reference, args.copied.own); }}',
               path, r"^5 10 3 9\n")
        expect(f"{compiler} {flags[0]}: a static member function", f"uprobe:{path}:cpp:space::Thing::of_class {{ print(args.n); }}", path, r"^4\n")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("callees.c", CALLEES), ("caller.c", CALLER)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        paths = {}
        for compiler in ("gcc", "clang"):
            for flags in (["-O0", "-gdwarf-5"], ["-O2", "-gdwarf-5"], ["-O1", "-gdwarf-4"], ["-Os", "-gdwarf-4"], ["-O0", "-gdwarf-4"]):
                words = " ".join([compiler, *flags])
                paths[words] = compiled(folder, words.replace(" ", ""), compiler, *flags)
                arguments(paths[words], words)
        write(folder, odd_c=ODD, both_h=BOTH, other_c=OTHER, plus_cpp=PLUS, inlined_c=INLINED)
        path = os.path.join(folder, "odd")
        subprocess.run(["gcc", "-g", "-O0", "-o", path, "odd.c", "other.c"], check=True, cwd=folder)
        types(path, folder)
        refused(path, folder)
        altered(folder)
        lines(path, folder)
        separate(path, folder)
        sources(folder)
        common(folder)
        plus(folder)
        split(folder)
    tap.done()


main()
