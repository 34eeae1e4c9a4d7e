#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads that work in interpreters by turns, with the GIL and without: their own, or (lent, crossed) ones that another thread
made. Every stack is one that the program had. Up to 3.9 nothing tells which of two lent interpreters a thread runs: there
(crossed) the inner frames may lack, but nothing may be out of place. Needs root."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
STRATA = os.environ.get("STRATA", os.path.join(HERE, "..", "..", "build", "strata"))
BUILD = os.environ.get("BUILD", os.path.join(HERE, "..", "..", "build"))
ROOT = r"(<module>|(Thread\._?bootstrap|_bootstrap) (Thread\._?bootstrap_inner|_bootstrap_inner) (Thread\.)?run) work"
BESIDE = re.compile(r"<module> beside( (Thread\.)?is_alive( (?!work|enters|outer_leaf|inner|leaf|free|beside)\S+)*)?$")
OUTER = re.compile(ROOT + r" outer_leaf$")
ENTERED = re.compile(ROOT + r" enters_[ab]$")
INNER = re.compile(ROOT + r" enters_([ab]) <module> inner_(?P<own>[ab])( (leaf|free)_(?P=own))?$")
# Modules that the making of an interpreter, or its code, imports; the call of a function that has no frame yet.
MAKING = re.compile(ROOT + r"(( make)?( (?!work|enters|outer_leaf|inner|leaf|free|beside)\S+)*| enters_([ab]) <module>)$|" +
                    r"<module>( make)?( (?!work|enters|outer_leaf|inner|leaf|free|beside)\S+)*$")
NAMES = re.compile(r"(^| )(work|enters_.|outer_leaf|beside|inner_.|leaf_.|free_.)( |$)")
PYTHON = re.compile(r"^(\S+) \((.*:\d+)\)$")


def minor_version(file):
    shown = subprocess.run([os.path.join(BUILD, "tests/python/show_interpreter"), file], capture_output=True, text=True).stdout
    return int(re.search(r"^version 3\.(\d+)", shown, re.M).group(1))


def record(root, program, where, mode):
    output = os.path.join(where, "out.folded")
    script = os.path.join(HERE, "sub_interpreters.py")
    command = [program, "-I", script, mode]
    copy = None
    if root != "/":
        copy = tempfile.mkdtemp(dir=os.path.join(root, "tmp"))
        shutil.copy(script, copy)
        command = ["chroot", root, program, "-I", os.path.join("/tmp", os.path.basename(copy), os.path.basename(script)), mode]
    done = subprocess.run([STRATA, "record", "-F", "797", "-o", output, "--"] + command, capture_output=True, text=True, timeout=120)
    if copy:
        shutil.rmtree(copy)
    return done, output


def classify(output):
    counts = {"outer": 0, "inner": 0, "entered": 0, "making": 0, "beside": 0, "other": 0}
    others = []
    with open(output, encoding="utf-8") as file:
        for line in file:
            stack, _, count = line.rpartition(" ")
            frames = [match.group(1) for match in map(PYTHON.match, stack.split(";")) if match]
            text = " ".join(frames)
            if not NAMES.search(text):
                continue
            kind = ("outer" if OUTER.search(text) else "inner" if INNER.search(text) else
                    "entered" if ENTERED.search(text) else "beside" if BESIDE.match(text) else "making" if MAKING.search(text) else "other")
            counts[kind] += int(count)
            if kind == "other":
                others.append(line.rstrip())
    return counts, others


def main():
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root")
        return
    number = 0
    listed = subprocess.run([os.path.join(HERE, "interpreters")], capture_output=True, text=True).stdout
    for line, mode in [(line, mode) for line in listed.splitlines() for mode in ("own", "lent", "crossed")]:
        root, program, file = line.split("\t")
        with tempfile.TemporaryDirectory() as where:
            done, output = record(root, program, where, mode)
            if done.returncode == 77:
                continue
            counts, others = classify(output) if done.returncode == 0 else ({"outer": 0, "other": 1, "beside": 0}, [done.stderr])
        number += 1
        total = sum(counts.values()) - counts["beside"]
        good = done.returncode == 0 and counts["other"] <= total * 0.01 and counts["outer"] > total * 0.3
        if good and (mode != "crossed" or minor_version(file) > 9):
            good = counts["inner"] > total * 0.3 and counts["entered"] <= total * 0.03
        elif good:
            good = counts["inner"] + counts["entered"] > total * 0.3
        print("%s %d - %s, %s: %s" % ("ok" if good else "not ok", number, file, mode, counts), flush=True)
        for other in others[:3]:
            print("#", other)
    print("1..%d" % number if number else "1..0 # SKIP no CPython that can make interpreters")


main()
