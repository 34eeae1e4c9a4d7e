#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""rows.t: the rows of unwind tables against an independent reading of .eh_frame, that of binutils' readelf.

At every address where either of the two changes its mind, the CFA, the saved rbp and rbx and the return address must
agree. CFAs and places of rbx by expression are compared by what `--debug-dump=frames` shows of them.
"""

import os
import re
import subprocess
import sys
import tempfile
from bisect import bisect_right
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
DUMP = f"{BUILD}/tests/elf/dump_rows"

REALIGNED = r"""
#include <alloca.h>
#include <stdarg.h>
#include <string.h>
void use(void *, ...);
__attribute__((force_align_arg_pointer)) int realigned(int n)
{
	_Alignas(64) char a[128];
	char *b = alloca(n);
	use(a, b, n);
	return a[n] + b[0];
}
int aligned(int n, ...)
{
	_Alignas(64) char a[256];
	va_list list;
	char *b = alloca(n * 2);
	va_start(list, n);
	use(a, b, va_arg(list, int));
	va_end(list);
	return a[n] + b[n];
}
int many(int a, int b, int c, int d, int e, int f, int g, int h)
{
	use(&a, &b, &c, &d, &e, &f, &g, &h);
	return a + b * c + d * e + f * g + h;
}
void use(void *p, ...) { memset(p, 1, 8); }
int main(int argc, char **argv) { return aligned(argc, 1) + realigned(argc) + many(1, 2, 3, 4, 5, 6, 7, argc); }
"""

FDE = re.compile(r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)")
CIE = re.compile(r"^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE")
BREG = re.compile(r"DW_OP_breg\d+ \((\w+)\): (-?\d+)$")


def readelf(*args):
    return subprocess.run(["readelf", *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def interpreted(path):
    """[(start, end, [(address, {column: rule})])] from frames-interp."""
    fdes, cies, columns, current, rows = [], {}, None, None, None
    for line in readelf("--debug-dump=frames-interp", path).splitlines():
        if match := FDE.match(line):
            current = cies.get(match[1], [])
            rows = []
            fdes.append((int(match[2], 16), int(match[3], 16), rows, current))
        elif match := CIE.match(line):
            rows = cies[match[1]] = []
        elif line.startswith("   LOC"):
            columns = line.split()[1:]
        elif columns and rows is not None and re.match(r"^[0-9a-f]{16} ", line):
            # A register stands as "r5 (rdi)"; one word a column.
            address, *values = re.sub(r"r\d+ \((\w+)\)", r"\1", line).split()
            rows.append((int(address, 16), dict(zip(columns, values))))
    # readelf prints no table for an FDE that says no more than its CIE.
    return [(s, e, rows or [(s, cie[-1][1] if cie else {})]) for s, e, rows, cie in fdes if e > s]


def expressions(path):
    """{address: (expression of the CFA in force from there on, or None; that of rbx)} from the plain dump."""
    found, at, expression, rbx, saved = {}, 0, None, None, []
    for line in readelf("--debug-dump=frames", path).splitlines():
        line = line.strip()
        if match := FDE.match(line):
            at, expression, rbx, saved = int(match[2], 16), None, None, []
        elif match := re.match(r"DW_CFA_(?:advance_loc\d?|set_loc): .*?([0-9a-f]{16})$", line):
            at = int(match[1], 16)
        elif line.startswith("DW_CFA_def_cfa_expression"):
            expression = line.split("(", 1)[1][:-1]
        elif line.startswith("DW_CFA_def_cfa"):
            expression = None
        elif line.startswith("DW_CFA_remember_state"):
            saved.append((expression, rbx))
        elif line.startswith("DW_CFA_restore_state"):
            expression, rbx = saved.pop()
        elif line.startswith("DW_CFA_expression: r3 (rbx) ("):
            rbx = line.split(") (", 1)[1][:-1]
        found[at] = expression, rbx
    return found


def cfa_of_expression(text):
    ops = [op.strip() for op in text.split(";")]
    if len(ops) == 9 and ops[1].startswith("DW_OP_breg16") and ops[4].startswith("DW_OP_lit"):
        return f"plt({ops[4][9:]})"
    base = BREG.match(ops[0])
    if len(ops) == 7 and base and ops[2:] == ["DW_OP_lit8", "DW_OP_mul", "DW_OP_plus", "DW_OP_deref", "DW_OP_plus_uconst: 8"]:
        return f"*({base[1]}{int(base[2]):+d}+8*{BREG.match(ops[1])[1]})+8"
    if not base or ops[1:2] != ["DW_OP_deref"]:
        return None
    plus = 0
    if len(ops) == 3 and ops[2].startswith("DW_OP_plus_uconst: "):
        plus = int(ops[2].split()[1])
    elif len(ops) != 2:
        return None
    return f"*({base[1]}{int(base[2]):+d}){plus:+d}"


def place_of_rbx(state, expression, cfa):
    """" rbx=..." by a state of readelf's, or "" when it is unchanged."""
    base, offset = "cfa", None
    rbx = state.get("rbx", "u")
    if rbx in ("u", "s"):
        return ""
    if cfa.startswith("cfa=*(rbp"):
        if rbx == "exp" and (match := BREG.match(expression or "")) and match[1] == "rbp":
            base, offset = "rbp", int(match[2])
    elif rbx.startswith("c"):
        offset = int(rbx[1:])
    if offset is None or offset % 8 or not 0 < -offset // 8 < 255:
        return " rbx=undefined"
    return f" rbx={base}{offset:+d}"


def expected(state, expression, rbx_expression):
    """What dump_rows should print for a state of readelf's; None: it may say unsupported."""
    if state.get("ra") == "u":
        return "end"
    cfa = state["CFA"]
    if cfa == "exp":
        cfa = cfa_of_expression(expression or "")
        if state.get("ra") == "exp" and cfa:
            saved_sp = int(re.search(r"[+-]\d+", cfa)[0])
            return f"signal rsp{saved_sp - 120:+d}"
    ra = state.get("ra", "u")
    in_register = ra if re.fullmatch(r"r\w+", ra) and cfa and cfa.startswith("rsp") else None
    if cfa is None or (ra != "c-8" and not in_register) or state.get("rsp", "u") != "u":
        return None
    rbp = state.get("rbp", "u")
    if rbp in ("u", "s"):
        rbp = "same"
    elif rbp.startswith("c"):
        rbp = f"cfa{int(rbp[1:]):+d}"
    else:
        rbp = "*rbp" if rbp == "exp" else "undefined"
    cfa = f"cfa={cfa} ra={in_register}" if in_register else f"cfa={cfa}"
    return f"{cfa} rbp={rbp}{place_of_rbx(state, rbx_expression, cfa)}"


class Rows:
    def __init__(self, path):
        out = subprocess.run([DUMP, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
        self.derived = int(re.search(r" derived (\d+)", out.stderr)[1])
        split = [line.split(" ", 1) for line in out.stdout.splitlines()]
        self.at = [int(address, 16) for address, _ in split]
        self.rule = [rule for _, rule in split]

    def __getitem__(self, address):
        i = bisect_right(self.at, address) - 1
        return self.rule[i] if i >= 0 else "none"

    def between(self, start, end):
        return self.at[bisect_right(self.at, start):bisect_right(self.at, end - 1)]


def exit_function(path):
    """The start files' function in .fini_array, by objdump: [(address, rule)], and its end. It has no FDE."""
    section = re.search(r" \.fini_array\s+FINI_ARRAY\s+([0-9a-f]+) ([0-9a-f]+) ", readelf("-SW", path))
    if not section:
        return [], 0
    with open(path, "rb") as file:
        file.seek(int(section[2], 16))
        first = int.from_bytes(file.read(8), "little")
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-M", "intel", f"--start-address={first}",
                           f"--stop-address={first + 128}", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
    code = [(int(m[1], 16), m[2]) for m in re.finditer(r"^\s*([0-9a-f]+):\s+(\S.*?)\s*$", text, re.M)]
    code = [(a, words) for a, words in code if words != "endbr64" and not words.startswith("nop")]
    if len(code) < 3 or not (code[0][1].startswith("cmp ") and code[1][1].startswith("jne ") and code[2][1] == "push   rbp"):
        return [], 0
    behind = {"push   rbp": "cfa=rsp+16 rbp=cfa-16", "mov    rbp,rsp": "cfa=rbp+16 rbp=cfa-16", "pop    rbp": "cfa=rsp+8 rbp=same"}
    out, rule = int(code[1][1].split()[1], 16), behind["pop    rbp"]
    rules = [(first, rule)]
    for address, words in code:
        if address > out:
            break
        rules.append((address, rule))
        rule = behind.get(words, rule)
    return rules, out + 1


def compare(path):
    ours, wanted, counts = Rows(path), expressions(path), {"rows": 0, "unsupported": 0, "filled": 0}
    entry = int(re.search(r"Entry point address:\s+(0x[0-9a-f]+)", readelf("-h", path))[1], 16)
    stubs = [
        (int(m[1], 16), int(m[1], 16) + int(m[2], 16))
        for m in re.finditer(r" \.(?:i?plt\S*|init|fini)\s+PROGBITS\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", readelf("-SW", path))
    ]
    rules, end = exit_function(path)
    stubs += [(rules[0][0], end)] if rules else []
    differences, done = [f"{a:x}: {ours[a]}, {rule} by its code" for a, rule in rules if ours[a] != rule], 0
    disordered = any(a >= b for a, b in zip(ours.at, ours.at[1:]))
    repeated = any(a == b for a, b in zip(ours.rule, ours.rule[1:]))
    for start, end, rows in sorted(interpreted(path), key=lambda fde: fde[0]):
        for address in [done, *ours.between(done, start)] if done < start else []:
            rule = ours[address]
            if rule == "none":
                continue
            counts["filled"] += 1
            if address == done and rule.startswith("signal ") and ours[address + 1] == "none":
                continue  # the PC while the kernel is in a trampoline's system call, its last instruction
            in_stub = any(a <= address < b for a, b in stubs)
            if ours.derived and rule.startswith(("cfa=rs", "cfa=rbp")):
                continue  # by the code itself: code.t's business
            if not (in_stub or rule == "end" and address == entry or ours[start] == "end" and start - done <= 32):
                differences.append(f"{address:x}: {rule} where no FDE is")
        starts = [address for address, _ in rows]
        for address in sorted({*starts, *ours.between(start, end), start}):
            if not max(start, done) <= address < end:
                continue
            at, state = rows[max(bisect_right(starts, address) - 1, 0)]
            want, got = expected(state, *wanted.get(at, (None, None))), ours[address]
            counts["rows"] += 1
            if start == entry:
                want = "end"
            if want is None:
                counts["unsupported"] += 1
                want = "unsupported"
            if got != want:
                differences.append(f"{address:x}: {got}, readelf says {want} {state}")
        done = max(done, end)
    if disordered or repeated:
        differences.append("rows out of order, or two alike in a row")
    return differences, counts, ours


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory, "realigned.c")
        source.write_text(REALIGNED)
        programs = []
        for flags in (["-O2"], ["-O2", "-mavx2", "-fcf-protection"], ["-O1", "-static"], ["-O2", "-Wl,-z,lazy"]):
            name = "realigned" + "".join(flags)
            program = str(source.with_name(name.replace("/", "")))
            if subprocess.run(["gcc", *flags, "-o", program, source], stderr=subprocess.DEVNULL).returncode == 0:
                programs.append(program)
        libraries = Path("/lib/x86_64-linux-gnu")
        files = [libraries / name for name in ("libc.so.6", "libcrypto.so.3", "libstdc++.so.6", "libpthread.so.0")]
        files += [Path("/lib64/ld-linux-x86-64.so.2"), Path("/usr/bin/python3.11"), *libraries.glob("libpython3.*.so.1.0")]
        files += Path("/root/.pyenv/versions/3.12.1/lib").glob("libpython3.*.so.1.0") if os.geteuid() == 0 else []
        for path in [*map(str, files), *programs]:
            if not os.path.exists(path):
                print(f"# {path} is not installed")
                continue
            differences, counts, rows = compare(path)
            summary = ", ".join(f"{count} {name}" for name, count in counts.items())
            tap.ok(not differences and counts["rows"], f"{os.path.basename(path)}: {summary}", *differences[:10])
            if path in programs:
                tap.ok(any("*rbp" in rule for rule in rows.rule), f"{os.path.basename(path)} has realigned frames")
                tap.ok("end" in rows.rule, f"{os.path.basename(path)} has an outermost frame")
            if os.path.basename(path) == "libc.so.6":
                tap.ok("signal rsp+40" in rows.rule, "libc has a signal trampoline")
                tap.ok(any("ra=rdi" in rule for rule in rows.rule), "libc's vfork() has its return address in a register")
            if os.path.basename(path).startswith("ld-linux"):
                tap.ok(any("cfa=rbx" in rule for rule in rows.rule), "lazy binding has its CFA in rbx")
    tap.done()


main()
