#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""format: strata trace --fmt has one style, keeps every word and comment, leaves what is formatted as it is, and does not change
what a script is compiled to. Needs root (attach points are looked up)."""
import ast
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

STRATA = os.environ["STRATA"]
HERE = os.path.dirname(os.path.abspath(__file__))

# name: (script, as it is formatted)
CASES = {
    "probes": ("uprobe:/bin/sh:a,uprobe:\"/b c\":d*\n,interval:s:1 / @x[1,2]/2>1&&pid==3 / { delete(@x,1); }end{}",
               "uprobe:/bin/sh:a,\nuprobe:\"/b c\":d*,\ninterval:s:1\n/@x[1, 2] / 2 > 1 && pid == 3/\n{\n  delete(@x, 1);\n}\n\nend\n{}\n"),
    "statements": ("begin{$a=1;if($a==1||!$a){print(1)}else if($a){exit();}else{while($a<3){$a++}}for($i:0..2){print($i) ;}unroll(3){$a+=2}}",
                   "begin\n{\n  $a = 1;\n  if ($a == 1 || !$a) {\n    print(1)\n  } else if ($a) {\n    exit();\n  } else {\n    while ($a < 3) {\n"
                   "      $a++\n    }\n  }\n  for ($i : 0..2) {\n    print($i);\n  }\n  unroll (3) {\n    $a += 2\n  }\n}\n"),
    "operators": ("begin { $p=(struct a*)0; $q=(int32)-3; $r=$p->b*2-(uint64)$q; $s=&$q; $t=- -$q; $u=$q- -1; --@z; @z++; $v=$q?1:2; $w=comptime(1+2); }",
                  "begin\n{\n  $p = (struct a *)0;\n  $q = (int32)-3;\n  $r = $p->b * 2 - (uint64)$q;\n  $s = &$q;\n  $t = - -$q;\n  $u = $q - -1;\n"
                  "  --@z;\n  @z++;\n  $v = $q ? 1 : 2;\n  $w = comptime (1 + 2);\n}\n"),
    "comments": ("// first\n\n\n/* second\n     stays */\nbegin /* a */ { // b\n // c\n  print(1);  // d\n\n\n\n  print(2); /* e */ print(3 /* f */);\n//g\n}\n// last",
                 "// first\n\n/* second\n     stays */\nbegin /* a */\n{ // b\n  // c\n  print(1); // d\n\n  print(2); /* e */\n  print(3 /* f */);\n  //g\n}\n// last\n"),
    "lines": ("begin { printf(\"%d %d\",\n1,\n2\n); $a = 1 +\n2; print(\n1); if ($a &&\n$a) { } }",
              "begin\n{\n  printf(\"%d %d\",\n         1,\n         2);\n  $a = 1 +\n    2;\n  print(\n    1);\n  if ($a &&\n      $a) {}\n}\n"),
    "declarations": ("#!/bin/x y\n#define A  1 \\\n   + 2\nstruct foo{int a;char*b;struct foo**c;int d:3;};\nenum e{B,C=2};config={max_map_keys=10}\nlet@m=hash(5);"
                     "macro f($x,y){$x+y*2}\nbegin{$r=(a=1,b=\"x\");$s={let $k:int32=5;$k};print(config.max_map_keys)}",
                     "#!/bin/x y\n#define A  1 \\\n   + 2\nstruct foo {\n  int a;\n  char *b;\n  struct foo **c;\n  int d : 3;\n};\nenum e {\n  B, C = 2\n};\n"
                     "config = {\n  max_map_keys = 10\n}\n\nlet @m = hash(5);\nmacro f($x, y)\n{\n  $x + y * 2\n}\n\nbegin\n{\n  $r = (a=1, b=\"x\");\n"
                     "  $s = {\n    let $k : int32 = 5;\n    $k\n  };\n  print(config.max_map_keys)\n}\n"),
    "parts that are left out": ("#if 0\nuprobe:/a/b:c/1/{print(1);}\n#else\nbegin{}\n#endif", "#if 0\nuprobe:/a/b:c\n/1/\n{\n  print(1);\n}\n#else\nbegin\n{}\n#endif\n"),
    "parameters": ("interval:s:$1{print(str($2));print($#)}", "interval:s:$1\n{\n  print(str($2));\n  print($#)\n}\n"),
    "a script that others import": ("macro a(x){x}", "macro a(x)\n{\n  x\n}\n"),
}

tap = Tap()


def strata(*arguments):
    result = subprocess.run([STRATA, "trace", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    return result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace"), result.returncode


def others():
    """The scripts of the other tests."""
    with open(os.path.join(HERE, "language.t"), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    cases = next(node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "CASES")
    scripts = []
    for case in cases.elts:
        try:
            scripts.append(ast.literal_eval(case.elts[1]))
        except ValueError:  # it is put together
            pass
    return scripts


def instructions(script):
    """What it is compiled to, without the names of places, which say where they are."""
    out, err, status = strata("--dry-run", "--unsafe", "-q", "-d", "instructions", "-e", script)
    return out, status, re.findall(r"(?:ERROR|WARNING): (.*)", err)


def holds(script):
    once, err, status = strata("--fmt", "-e", script)
    if status:
        return "refused", (script, err)
    twice = strata("--fmt", "-e", once)[0]
    if once != twice:
        return "changes again", (once, twice)
    if "".join(once.split()) != "".join(script.split()):
        return "has other words", (script, once)
    return ("", ()) if instructions(script) == instructions(once) else ("is compiled to something else", (script, once))


def main():
    for name, (script, expected) in CASES.items():
        out, err, status = strata("--fmt", "-e", script)
        tap.ok(out == expected and not status, name, out, err)
        tap.ok(strata("--fmt", "-e", out)[0] == out, f"{name}: and stays so")
    scripts = others()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(holds, scripts))
    bad = [(what, more) for what, more in results if what]
    tap.ok(len(scripts) > 100 and not bad, f"{len(scripts)} scripts of other tests: the same words and instructions", bad[:3])
    with tempfile.TemporaryDirectory() as folder:
        path, output = os.path.join(folder, "a.bt"), os.path.join(folder, "out")
        with open(path, "w", encoding="utf-8") as file:
            file.write("begin{}")
        tap.ok(strata("--fmt", path) == ("begin\n{}\n", "", 0) == strata(path, "--mode", "format"), "of a file")
        strata("--fmt", path, "-o", output)
        with open(output, encoding="utf-8") as file:
            tap.ok(file.read() == "begin\n{}\n", "-o")
    out, err, status = strata("--fmt", "-e", "begin { print(1 }")
    tap.ok(not out and "unexpected }, expected" in err and status == 1, "a script that is wrong is not formatted", out, err)
    out, err, status = strata("--fmt", "-e", "struct a b%;; /1/ { }")
    tap.ok(not out and "cannot be formatted" in err and status == 1, "nor one whose blanks mean more", out, err)
    out, err, status = strata("--fmt", "--bench", "-e", "begin { }")
    tap.ok("--bench, --test and --fmt exclude each other" in err and status == 2, "not beside --bench", err)
    tap.done()


main()
