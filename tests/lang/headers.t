#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""headers: macros, conditions and #include, of scripts and of the C headers that they ask for. Needs root."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

STRATA = os.environ["STRATA"]

FILES = {
    "own.h": '#pragma once\n#ifndef OWN_H\n#define OWN_H\n#include "more/inner.h"\n#define FOO INNER(3)\n'
             "struct foo { int a[FOO]; unsigned long b; };\nstatic inline int f(int x)\n{\n\tif (x) { return '}'; }\n\treturn 0;\n}\n"
             "int g(struct foo *foo), h(void);\nextern struct foo *foo_of(int) __attribute__((pure));\n"
             "typedef struct { int (*call)(int, int); } ops_t, *ops_p;\nstruct odd { struct nowhere_at_all x; };\n#endif\n",
    "more/inner.h": '#include "../own.h"\n#define INNER(x) ((x) + 1)\n',
}

# (name, script, what is printed, more arguments)
CASES = [
    ("texts, numbers and expressions", '#define RED "red"\n#define A 1\n#define B (A + 1)\nbegin { print(RED); print((A, B, B * 2)); }', "red\n(1, 2, 4)\n"),
    ("parameters", "#define MUL(x, y) ((x) * (y))\n#define SQ(x) MUL(x, x)\nbegin { print((SQ(3), SQ(SQ(2)), MUL(1 + 1, 2))); }", "(9, 16, 4)\n"),
    ("a macro by the name of a function", "#define f(x) x\nbegin { $f = 4; print($f); print(f(5)); }", "4\n5\n"),
    ("of macros that name themselves", "enum e { A = 3 };\n#define A A\n#define X Y\n#define Y X\nbegin { printf(\"%d\\n\", A); $X = 2; print($X); }", "3\n2\n"),
    ("lines that go on", "#define X \\\n  5 + \\\n  6 // not 7\n#define /* a */ Y /* b */ 7 /* c\n */\nbegin { print((X, Y)); }", "(11, 7)\n"),
    ("characters", "#define X 'a'\n#define Y '\\n'\n#define Z '\\''\nbegin { print((X, Y, Z)); }", "(97, 10, 39)\n"),
    ("words made of words", "#define SIZE(type) sizeof(type ## 32)\n#define NR(name) __NR_##name\nbegin { print((SIZE(uint), NR(read))); }", "(4, 0)\n"),
    ("#undef", "#define X 1\n#undef X\n#ifndef X\n#define X 2\n#endif\nbegin { print(X); }", "2\n"),
    ("#if, #elif, #else", "#define V 4\n#if V > 5\n#define X 1\n#elif V == 4 && !defined(W)\n#define X 2\n#else\n#define X 3\n#endif\nbegin { print(X); }", "2\n"),
    ("what is passed over", '#if 0\n#if 1\nno " script /* at all\n*/\n#else\n#error no\n#endif\n#else\n#define X 1\n#endif\nbegin { print(X); }', "1\n"),
    ("in an action", "#define X 1\nbegin {\n#ifdef X\n  print(1);\n#else\n  print(2);\n#endif\n}", "1\n"),
    ("BPFTRACE_HAVE_BTF", "#ifndef BPFTRACE_HAVE_BTF\n#error no BTF\n#endif\nbegin { print(sizeof(struct task_struct) > 0); }", "true\n"),
    ("constant expressions of enums, arrays and bit fields", "#define N 3\nenum e { A = 1 << 4, B, C = B + N };\nstruct s { char x[N * 2]; int b : N - 1; char y[sizeof(int) * 2]; };\n"
     'begin { printf("%d %d %d %d\\n", A, B, C, sizeof(struct s)); }', "16 17 20 16\n"),
    ("alignment and packed bit fields", "struct a { int x; } __attribute__((aligned(16)));\nstruct p { int a : 3; int b : 7; short c; char d : 2; } __attribute__((packed));\n"
     "begin { print((sizeof(struct a), sizeof(struct p))); }", "(16, 5)\n"),
    ("headers of the system", "#include <signal.h>\n#include <fcntl.h>\n#include <sys/socket.h>\n#include <stdio.h>\n"
     'begin { print((SIGINT, O_RDWR | O_CREAT, AF_INET6, BUFSIZ)); print(sizeof(struct sockaddr_storage)); @ = max(5); }', "(2, 66, 10, 8192)\n128\n\n\n@: 5\n"),
    ("the kernel's own types stay", "#include <linux/perf_event.h>\nbegin { print(PERF_EVENT_IOC_ENABLE); print(offsetof(struct perf_event, pmu) > 0); }", "9216\ntrue\n"),
    ("headers of the kernel that are nowhere", "#include <linux/path.h>\n#include <net/sock.h>\nbegin { print(1); }", "1\n"),
    ("quoted, beside the script", '#include "own.h"\nbegin { print((FOO, sizeof(struct foo), sizeof(ops_t), sizeof(ops_p))); }', "(4, 24, 8, 8)\n"),
    ("-I", "#include <own.h>\nbegin { print(FOO); }", "4\n", ["-I", "{folder}"]),
    ("a name made by a macro", '#define NAME "own.h"\n#include NAME\nbegin { print(FOO); }', "4\n"),
    ("--include", "begin { print(FOO); }", "4\n", ["--include", "{folder}/own.h"]),
]


def main():
    t = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        for name, script, expected, *more in CASES:
            with open(os.path.join(folder, "script.bt"), "w", encoding="utf-8") as file:
                file.write(script)
            arguments = [argument.replace("{folder}", folder) for argument in (more[0] if more else [])]
            result = subprocess.run([STRATA, "trace", "-q", *arguments, file.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
            out = result.stdout.decode(errors="replace")
            t.ok(result.returncode == 0 and out.rstrip() == expected.rstrip(), name, f"got {out!r}, expected {expected!r}", result.stderr.decode(errors="replace"))
    return t.done()


sys.exit(main())
