#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""machines: outside src/arch the code names no machine: no register, no offset in its pt_regs, no instruction, no relocation,
no constant of its own. Comments may. Who has to says why, here.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)
WORD = re.compile(r"\b(?:\w*(?:x86|amd64|aarch64|arm64)\w*|r(?:ax|bx|cx|dx|si|di|bp|sp|ip)|e?flags_cs|orig_ax|fsbase|x29|x30|"
                  r"tp_value|pstate|0xcc|struct\s+(?:user_)?pt_regs|user_regs_struct)\b", re.I)
# File: what it may name, and why.
MAY = {
    "runtime/python/interpreter_parts.h": ({"EM_X86_64"}, "layouts.def is read from builds for one machine"),
    "unwind/cfi.c": ({"CFA_AARCH64_NEGATE_RA_STATE"}, "so DWARF calls an instruction that each machine must skip"),
}


def code(text):
    """Without comments; strings stay."""
    return COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else "\n" * found[0].count("\n"), text)


def named(text):
    """[(line, word)]"""
    return [(number, found[0]) for number, line in enumerate(code(text).split("\n"), 1) for found in WORD.finditer(line)]


def sources():
    for folder, _, names in sorted(os.walk(os.path.join(ROOT, "src"))):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), os.path.join(ROOT, "src"))
            if name.endswith((".c", ".h")) and not path.startswith("arch/"):
                yield path


def main():
    tap = Tap()
    cases = {"EM_X86_64 == m": 1, "/* rax */ a": 0, "// rax": 0, 'f("%rax");': 1, '"/*" rsp "*/"': 1, "grab(0xcc)": 1,
             "bpf_task_pt_regs(t)": 0, "struct pt_regs *r": 1, "spares rapid 0xccd": 0, "R_AARCH64_RELATIVE": 1}
    wrong = [text for text, count in cases.items() if len(named(text)) != count]
    tap.ok(not wrong, "what is a machine's name", *wrong)
    unused = {(path, word) for path, (words, _) in MAY.items() for word in words}
    bad = []
    for path in sources():
        with open(os.path.join(ROOT, "src", path), encoding="utf-8") as file:
            for line, word in named(file.read()):
                if word in MAY.get(path, ((), ""))[0]:
                    unused.discard((path, word))
                else:
                    bad.append(f"src/{path}:{line}: {word}")
    tap.ok(not bad, "nothing outside src/arch names a machine", *bad)
    tap.ok(not unused, "and nobody is allowed what is not there", *map(str, sorted(unused)))
    tap.done()


main()
