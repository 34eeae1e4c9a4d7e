#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""names: what predicates of Python's probes compare args.function and args.file with, and what never comes, is told at the
end with names that are near; nothing is told of what came."""
import os
import shutil
import subprocess
import sys
import tempfile

from probe_run import STRATA  # first: it finds the others
from tap import Tap

PROGRAM = """def foo(): pass
def food(): pass
def bar(): pass
class Some:
    def method(self): pass
for i in range(3):
    foo(); food(); bar(); Some().method()
"""
# 5000 functions of other names, then one that is near: more than are kept, the last ones are.
MANY = """import types
for i in range(5000):
    exec("def other_%d(): pass\\nother_%d()" % (i, i))
def foo(): pass
foo()
"""
ENTRY, RETURN = "python:function-entry", "python:function-return"


def main():
    tap = Tap()
    work = tempfile.mkdtemp()
    program, many = os.path.join(work, "strata_names.py"), os.path.join(work, "many.py")
    for path, text in ((program, PROGRAM), (many, MANY)):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def told(script, run=program, *options):
        done = subprocess.run([STRATA, "trace", *options, "-c", sys.executable + " -S " + run, "-e", script],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False)
        if done.returncode:
            tap.ok(False, script, done.stderr)
        return [line for line in done.stderr.split("\n") if line.startswith("strata: ")]

    def check(what, got, *expected):
        tap.ok(got == ["strata: " + line for line in expected], what, *got)

    def predicate(text, probe=ENTRY):
        return "%s /%s/ { @ = count(); } " % (probe, text)

    fooo, foo = 'args.function == "fooo"', 'args.function == "foo"'
    check("a function that is not called", told(predicate(fooo)), "no function 'fooo' was called; near it: foo, food")
    check("one line for two probes", told(predicate(fooo) + predicate(fooo, RETURN)),
          "no function 'fooo' was called; near it: foo, food")
    check("none with -q", told(predicate(fooo), program, "-q"))
    check("one that is called", told(predicate(foo)))
    check("called in one of two probes", told(predicate(foo) + predicate(foo, "python:exception")))
    check("one whose predicate fails for another reason", told(predicate(foo + " && args.line == 4711")))
    check("no name is near", told(predicate('args.function == "something_else"')),
          "no function 'something_else' was called")
    check("the last part of a qualified name", told(predicate('args.function == "metod"')),
          "no function 'metod' was called; near it: " + ("Some.method" if sys.version_info >= (3, 11) else "method"))
    check("a file, by the end of its path", told(predicate('"strata_nmes.py" == args.file')),
          "no function of the file 'strata_nmes.py' was called; near it: " + program)
    check("both of a choice", told(predicate(fooo + ' || args.function == "baar"')),
          "no function 'fooo' was called; near it: foo, food", "no function 'baar' was called; near it: bar")
    check("the other of a choice", told(predicate(foo + ' || args.function == "baar"')),
          "no function 'baar' was called; near it: bar")
    check("compared only if something else is true", told(predicate('args.file == "%s" && %s' % (program, fooo))),
          "args.function was never 'fooo' where the predicate came to compare it; near it: foo, food")
    check("where the function is called, but never compared", told(predicate('args.line == 4711 && ' + foo)),
          "args.function was never 'foo' where the predicate came to compare it")
    check("what a negation wants is another name", told(predicate("!(%s)" % fooo) + predicate('args.function != "fooo"')))
    check("exceptions", told(predicate(fooo, "python:exception")), "args.function was never 'fooo'")
    check("bytes that control a terminal", told(predicate('args.function == "x\\x1b[1m"')),
          "no function 'x\\x1b[1m' was called")
    check("more functions than are kept", told(predicate(fooo), many), "no function 'fooo' was called; near it: foo")
    shutil.rmtree(work)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
