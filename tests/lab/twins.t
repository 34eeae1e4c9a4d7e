#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`strata inspect` of the lab's stripped builds against their unstripped twins: the parts of the loop against nm's reading of
the twin, every other fact against inspect's reading of it; and of a running process: verified. What is not made (lab.py) is
skipped; STRATA_LAB is the lab's folder."""
import glob
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
STRATA = os.environ.get("STRATA", os.path.join(HERE, "..", "..", "build", "strata"))
LAB = os.environ.get("STRATA_LAB") or "/var/tmp/strata-lab"
LOOP = re.compile(r"^_PyEval_EvalFrameDefault($|\.)|^_TAIL_CALL_")
UNREACHED = 8  # bytes of a cold part that is what the compiler left of code that nothing jumps to
WAITS = "import sys, time; print('ready', flush=True); time.sleep(60)"

number = failed = 0


def ok(passed, words, *notes):
    global number, failed
    number += 1
    failed += not passed
    print("%sok %d - %s" % ("" if passed else "not ", number, words), flush=True)
    for note in notes if not passed else ():
        print("# " + str(note)[:600])


def run(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True).stdout


def inspect(target):
    return json.loads(run(STRATA, "inspect", "--json", "--no-cache", str(target)))


def elf_file(program):
    """The file that has the interpreter in it: the program, or the libpython beside it."""
    needed = re.search(r"NEEDED.*\[(libpython[^]]*)\]", run("readelf", "-d", program))
    return os.path.join(os.path.dirname(program), needed.group(1)) if needed else program


def truth(file):
    found = set()
    for line in run("nm", "-S", file).splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2] in "tT" and LOOP.match(fields[3]) and int(fields[1], 16) > UNREACHED:
            found.add((int(fields[0], 16), int(fields[0], 16) + int(fields[1], 16)))
    return found


def parts(found):
    return {(p["start"], p["end"]) for p in found["eval_loop"] if p["end"] - p["start"] > UNREACHED}


def ways(found):
    """What each layer of the thread state gave: not by which function, for that takes its symbol."""
    return {tried["source"]: tried["result"].split(", by ")[0] for tried in found["thread_state"]["tried"]
            if ", by " in tried["result"] or tried["source"] == "thread list"}


def by_fdes(unwind):
    return unwind["text_covered"] - unwind["text_derived"]


def check(build):
    file = elf_file(build["program"])
    stripped = file + "-stripped" if file != build["program"] else build["stripped"]
    if file != build["program"]:
        subprocess.run(["strip", "-o", stripped, file], check=True)
    symbols, whole, bare = truth(file), inspect(file), inspect(stripped)
    evidence = sorted({p["evidence"] for p in bare["eval_loop"]})
    ok(symbols and parts(whole) == symbols, "%s: %d parts, as nm says" % (build["name"], len(symbols)), parts(whole) ^ symbols)
    ok(parts(bare) == symbols, "  and the same of the stripped twin, by: %s" % ", ".join(evidence), parts(bare) ^ symbols)
    ok(bare["interpreter"] == whole["interpreter"] and bare["offsets"] == whole["offsets"], "  interpreter and offsets",
       bare["interpreter"], whole["interpreter"])
    ok(bare["interpreter"]["tail_call"] == ("tailcall" in build["name"]) and
       bare["interpreter"]["free_threaded"] == ("nogil" in build["name"]), "  of the kind that it was built as")
    said, unsaid = ways(bare), ways(whole)
    ok(bare["thread_state"]["source"] and all(unsaid.get(source, said[source]) == said[source] for source in said),
       "  thread state: %s" % bare["thread_state"]["source"], said, unsaid)
    # What symbols help to find (rules by machine code, where there is no FDE) may be less without them.
    said, unsaid = bare["unwind"], whole["unwind"]
    ok(said == unsaid or (0 < unsaid["text_derived"] >= said["text_derived"] and
                          abs(by_fdes(said) - by_fdes(unsaid)) < 1e-5), "  unwind rows", said, unsaid)
    child = subprocess.Popen([build["stripped"], "-c", WAITS], stdout=subprocess.PIPE)
    child.stdout.readline()
    state = inspect(child.pid)["thread_state"]
    child.kill()
    child.wait()
    ok(state["verified"], "  a process of it: %s, verified" % state["source"], state)


def main():
    builds = sorted(glob.glob(LAB + "/builds/*/build.json"))
    for path in builds:
        with open(path, encoding="utf-8") as file:
            check(json.load(file))
    if not builds:
        print("1..0 # SKIP no builds in %s: tests/lab/lab.py makes them" % LAB)
        return 0
    print("1..%d" % number)
    return 1 if failed else 0


sys.exit(main())
