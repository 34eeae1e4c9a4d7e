#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""reuse: functions of a program (reuse_program.py) that frees them, so that others have their addresses, and those of their names:
each has its own name and its own file, in the maps, the predicates and the lines of a script, and in strata calls."""
import collections
import json
import os
import shutil
import subprocess

from probe_run import STRATA, refusal, run  # first: it finds the others
from interpreters import discover
from tap import Tap

TURNS = 300
WANTED, WANTED_FILE = "a00006", "made00003"
SCRIPT = """python:"%%(file)s":function-entry, python:"%%(file)s":function-return /strncmp(args.file, "made", 4) == 0/ {
    @all[args.function] = count(); @files[args.function, args.file] = count();
    printf("%%%%s %%%%s %%%%s\\n", args.kind, args.function, args.file);
}
python:"%%(file)s":function-entry /args.function == "%s"/ { @wanted = count(); }
python:"%%(file)s":function-return /args.file == "%s"/ { @wanted_file[args.function] = count(); }
python:"%%(file)s":function-entry /strncmp(args.file, "made", 4) == 0 && args.function != "%s"/ { @others = count(); }
""" % (WANTED, WANTED_FILE, WANTED)


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [line for line in file.read().split("\n") if line]


def truth_of(lines):
    """The functions with their files, and how many places two threads' code objects had."""
    return ([tuple(line.split(" ")) for line in lines if not line.startswith("places")],
            sum(int(line.split(" ")[1]) for line in lines if line.startswith("places")))


def entries(text, made, key, events):
    return [text % (of, events * count) for of, count in collections.Counter(key(one) for one in made).items()]


def check_script(tap, interpreter):
    folder, done, told, truth = run(interpreter, "reuse_program.py", [str(TURNS)], SCRIPT)
    if done.returncode or not truth:
        tap.ok(False, "%s: traced" % interpreter.label, done.stderr)
        shutil.rmtree(folder)
        return
    made, places = truth_of(read_lines(truth))
    tap.ok(places < TURNS, "%s: %d functions, the %d of threads at %d addresses" % (interpreter.label, len(made), 4 * TURNS, places))
    lines = read_lines(told)
    printed = collections.Counter(tuple(line.split(" ")) for line in lines if not line.startswith("@"))
    expected = collections.Counter((kind,) + one for one in made for kind in ("start", "return"))
    tap.ok(printed == expected, "%s: lines have their names" % interpreter.label, list((printed - expected).items())[:4],
           list((expected - printed).items())[:4], done.stderr)
    maps = collections.Counter(line for line in lines if line.startswith("@"))
    expected = collections.Counter(["@wanted: 1", "@others: %d" % (len(made) - 1)])
    expected.update(entries("@all[%s]: %d", made, lambda one: one[0], 2))
    expected.update(entries("@files[%s]: %d", made, ", ".join, 2))
    expected.update(entries("@wanted_file[%s]: %d", [one for one in made if one[1] == WANTED_FILE], lambda one: one[0], 1))
    tap.ok(maps == expected, "%s: maps and predicates have them" % interpreter.label, list((maps - expected).items())[:4],
           list((expected - maps).items())[:4], done.stderr)
    shutil.rmtree(folder)


def check_calls(tap, interpreter, options, is_wanted):
    root = interpreter.root or ""
    folder, _, _, _ = run(interpreter, "reuse_program.py", ["1"], "begin { exit(); }")
    inside = folder[len(root):]
    command = [interpreter.path, inside + "/reuse_program.py", inside + "/made", str(TURNS)]
    if root:
        command = ["chroot", root] + command
    done = subprocess.run([STRATA, "calls", "--summary", "--json", *options, "--", *command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=600, check=False)
    made, _ = truth_of(read_lines(folder + "/made"))
    functions = json.loads(done.stdout.split("\n")[-2])["functions"] if done.stdout else []
    told = collections.Counter({(one["name"], one["file"]): one["calls"] for one in functions if one["file"].startswith("made")})
    expected = collections.Counter(one for one in made if is_wanted(one[0]))
    tap.ok(told == expected, "%s: strata calls%s" % (interpreter.label, "".join(" " + word for word in options)),
           list((told - expected).items())[:4], list((expected - told).items())[:4], done.stderr)
    shutil.rmtree(folder)


def main():
    tap = Tap()
    if os.geteuid():
        print("1..0 # SKIP needs root")
        return
    for interpreter in discover():
        if refusal(interpreter.label):
            continue
        check_script(tap, interpreter)
        check_calls(tap, interpreter, (), lambda name: True)
        check_calls(tap, interpreter, ("--match", "a0*"), lambda name: name.startswith("a0"))
    tap.done()


main()
