#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""imports: what import adds to a script, and what it refuses, pointing at the line of the file that is meant. Needs root."""
import os
import re
import subprocess
import sys
import tempfile

STRATA = os.environ["STRATA"]

FILES = {
    "main.bt": 'import "helpers.bt";\nimport "./helpers.bt";\nimport "lib/";\nconfig = { max_strlen = 32 }\n'
               'begin { greet(TEN); print((sizeof(struct pair), (enum color)1)); of_lib(); @shared[1] = 1; }\n',
    "helpers.bt": '#!/usr/bin/env strata trace\nimport "types.h";\nlet @shared = lruhash(10);\n'
                  'macro greet(x) { printf("hello %d\\n", x); }\nbegin { print("first"); }\n',
    "types.h": "#ifndef TYPES_H\n#define TYPES_H\n#define TEN 10\nstruct pair { int a; short b; };\nenum color { RED, GREEN };\n#endif\n",
    "lib/a.bt": 'import "../types.h"; macro of_lib() { print(sizeof(in_lib_t)); }',
    "lib/b.h": "typedef struct { char c[3]; } in_lib_t;",
    "lib/README": "no script",
    "lib/deeper/c.bt": "no script either",
    "probe.bt": "interval:s:1,\nsoftware:page-faults:1 { }",
    "late.bt": '\n\nbegin { print(*(uint8 *)1); }',
    "cycle_a.bt": 'import "cycle_b.bt"; begin { }',
    "cycle_b.bt": '\nimport "cycle_a.bt"; begin { }',
    "self.bt": 'import "self.bt"; begin { }',
    "round/a.bt": 'import "../round"; begin { }',
    "list.bt": 'import "probe.bt";',
    "undefined.bt": "// two\nbegin {\n\tprint($x); }",
    "end.bt": "begin {\n  print(1",
    "prototype.h": "struct a { int x; };\nint f(void); extern int v;\nstatic inline int g(int x)\n{\n\tif (x) { return 1; }\n\treturn 0;\n}\nstruct b { struct a a[2]; };",
    "wrong.h": "struct a { int x; };\n5;",
    "config.bt": "config = { max_strlen = 3 }",
    "macro.bt": "macro wrong(x) {\n  x + $nope\n}",
    "text.txt": "begin { }",
    "code.bpf.c": "int f(void) { return 1; }",
    "open/x.bt": "begin { }",
    "writable.bt": "begin { }",
    "large.bt": "//" + "x" * (1 << 20),
    "code/x.bpf.c": "",
    **{f"many/{i:03}.bt": f"{'// ' + 'x' * i}\nmacro m{i}() {{ {i} + $wrong }}" for i in range(100)},
    **{f"deep{i}.bt": f'import "deep{i + 1}.bt";' for i in range(40)},
}

# (name, arguments of strata trace, what is printed, or a pattern for it)
GOOD = [
    ("a script, a header and a folder", ["main.bt"], "first\nhello 10\n(8, GREEN)\n3\n\n\n@shared[1]: 1\n"),
    ("of -e, from the working directory", ["-e", 'import "helpers.bt"; import "lib"; begin { of_lib(); clear(@shared); }'], "first\n3\n"),
    ("an absolute path", ["-e", 'import "{folder}/helpers.bt"; begin { greet(1); clear(@shared); }'], "first\nhello 1\n"),
    ("-l", ["-l", "-e", 'import "probe.bt"; begin { }'], "interval:s:\nsoftware:page-faults:\n"),
    ("-l of a file", ["-l", "list.bt"], "interval:s:\nsoftware:page-faults:\n"),
    ("a script with probes in what it imports only", ["-e", 'import "main.bt";'], None),
    ("a header with functions", ["-e", 'import "prototype.h"; begin { print(sizeof(struct b)); }'], "8\n"),
    ("dots in a path", ["-e", 'import "lib/deeper/../../lib"; begin { print(1); }'], "1\n"),
]

# name: (program, what is said, FILE:LINE:COLUMN of it, the part of the line that is underlined)
BAD = {
    "import.file": ('import "nowhere.bt"; begin { }', r"cannot import nowhere\.bt: No such file", "stdin:1:8", '"nowhere.bt"'),
    "import.file in no folder": ('import "no/where.bt"; begin { }', r"cannot import no/where\.bt: No such file", "stdin:1:8", '"no/where.bt"'),
    "import.file of a pipe": ('import "pipe.bt"; begin { }', r"it is no regular file", "stdin:1:8", '"pipe.bt"'),
    "import.kind": ('import "text.txt"; begin { }', r"only files that end with \.bt or \.h", "stdin:1:8", '"text.txt"'),
    "import.program": ('import "code.bpf.c"; begin { }', r"no compiler for C", "stdin:1:8", '"code.bpf.c"'),
    "import.program in a folder": ('import "code"; begin { }', r"cannot import code/x\.bpf\.c", "stdin:1:8", '"code"'),
    "import.writable": ('import "open/x.bt"; begin { }', r"everybody may write to the folder", "stdin:1:8", '"open/x.bt"'),
    "import.writable folder": ('import "open"; begin { }', r"everybody may write to the folder", "stdin:1:8", '"open"'),
    "import.writable file": ('import "writable.bt"; begin { }', r"everybody may write to it", "stdin:1:8", '"writable.bt"'),
    "import.size": ('import "large.bt"; begin { }', r"longer than 1 MiB", "stdin:1:8", '"large.bt"'),
    "import.cycle": ('import "cycle_a.bt"; begin { }', r"cycle_a\.bt is imported by what it imports", "cycle_b.bt:2:8", '"cycle_a.bt"'),
    "import.cycle of the script": (["self.bt"], r"self\.bt is imported by what it imports", "self.bt:1:8", '"self.bt"'),
    "import.cycle by a folder": ('import "round/a.bt";', r"round/a\.bt is imported by what it imports", "round/a.bt:1:8", '"../round"'),
    "import.depth": ('import "deep0.bt"; begin { }', r"more than 32 files", "deep31.bt:1:8", '"deep32.bt"'),
    "import.place": ('begin { } import "types.h";', r"before probes, macros and maps", "stdin:1:11", 'import "types.h"'),
    "import.config": ('import "config.bt"; begin { }', r"has no settings", "config.bt:1:1", "config"),
    "parse.unexpected import": ("import types.h; begin { }", r"a path in quotation marks", "stdin:1:8", "types"),
    "parse.unexpected end of an import": ('import "types.h" begin { }', r"expected \";\"", "stdin:1:18", "begin"),
    "parse.unexpected in a header": ('import "wrong.h"; begin { }', r"as this is a header", "wrong.h:2:1", "5"),
    "parse.end of an imported script": ('import "end.bt"; begin { }', r"the script ends where", "end.bt:2:10", None),
    "an error in an imported script": ('import "undefined.bt"; begin { }', r"undeclared variable: \$x", "undefined.bt:3:8", "$x"),
    "an error in an imported macro": ('import "macro.bt"; begin { print(wrong(1)); }', r"\$nope", "macro.bt:2:7", "$nope"),
    "an error behind the imports": ('import "helpers.bt";\nimport "lib"; begin {\n  print($late); }', r"\$late", "stdin:3:9", "$late"),
    "an error in one of many files": ('import "many"; begin { print(m50()); }', r"\$wrong", "many/050.bt:2:20", "$wrong"),
}


def run(folder, arguments):
    arguments = [argument.replace("{folder}", folder) for argument in arguments]
    result = subprocess.run([STRATA, "trace", "-q", *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
    return result.returncode, result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace")


def make(folder):
    os.chmod(folder, 0o755)
    for name, text in FILES.items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), mode=0o755, exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(file.name, 0o644)
    os.mkfifo(os.path.join(folder, "pipe.bt"), 0o600)
    os.chmod(os.path.join(folder, "open"), 0o777)
    os.chmod(os.path.join(folder, "writable.bt"), 0o646)


def points_at(said, pattern, place, underlined):
    lines = said.split("\n")
    at = [i for i, line in enumerate(lines) if "ERROR: " in line]
    if not at or not re.match(re.escape(place) + r"-\d+: ERROR: .*" + pattern, lines[at[0]]):
        return False
    marks = lines[at[0] + 2]
    begin = len(marks) - len(marks.lstrip(" "))
    return underlined is None or lines[at[0] + 1][begin:begin + len(marks.strip())] == underlined


class Tests:
    number = failed = 0

    def ok(self, good, name, *seen):
        self.number += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.number} - {name}")
        if not good:
            print("".join(f"# {line}\n" for what in seen for line in str(what).split("\n")), end="")


def main():
    t = Tests()
    with tempfile.TemporaryDirectory() as folder:
        make(folder)
        for name, arguments, expected in GOOD:
            status, out, err = run(folder, arguments)
            if expected is None:
                t.ok(status == 1 and "has no settings" in err, name, status, out, err)
            else:
                t.ok(status == 0 and out.rstrip() == expected.rstrip() and "ERROR" not in err, name, status, out, err)
        status, out, err = run(folder, ["-k", "-e", 'import "late.bt";'])
        t.ok(status == 0 and out.strip() == "0" and re.search(r"^late\.bt:3:\d+-\d+: WARNING: ", err, re.M), "a warning of the running script", status, out, err)
        status, out, err = run(folder, ["-k", "-f", "json", "-e", 'import "late.bt";'])
        t.ok(status == 0 and '"filename": "late.bt", "line": 3' in out, "a warning as JSON", status, out, err)
        for name, (program, pattern, place, underlined) in BAD.items():
            arguments = program if isinstance(program, list) else ["-e", program]
            status, out, err = run(folder, arguments)
            t.ok(status == 1 and points_at(err, pattern, place, underlined), name, status, out, err)
    print(f"1..{t.number}")
    return t.failed > 0


sys.exit(main())
