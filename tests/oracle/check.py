#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges a folded file of strata's (-t) by the truth of the program that was sampled.

    check.py --truth FILE [--stats FILE] [--losses src/abi/loss.def] [--json] FOLDED

A stack is judged by the role that its thread's name tells (roles.py). Threads without a role of the truth's (the
interpreter's start and end) are counted as unclaimed and nothing else. Of every other stack:
  impossible    the functions are not a path of the role's tree, or there is no Python frame at all
  wrong_line    the functions are, with some line not possible at its place
  leftover      an interpreter loop's native frame stands where its Python frames should be; only the innermost loop
                may, while its frame is not linked yet or not any more: counted as `entering`, at most 0.5 %; what stands
                there in a page fault, as after a fork, at most 2 %: what a fault takes is the machine's
  native        frames between Python frames are not what they must be (rules of the scenarios; from 3.11 on a Python
                function called by Python directly has no native frame before it)
  roots         more than two distinct outermost native frames: a main thread's and a started thread's are all there are
Stacks with a mark (`[truncated]`, `[unknown …]`) say themselves that something is missing: they are counted as `marked`,
and the complete share must reach 99.9 % all the same.
"""
import argparse
import collections
import json
import math
import os
import re
import sys

PYTHON_FRAME = re.compile(r"^(.+?) \((.+):(\d+)\)$", re.S)
NATIVE_FRAME = re.compile(r"^(.+) \(([^()]*(?:\([^()]*\)[^()]*)*)\)$", re.S)
THREAD_FRAME = re.compile(r"^thread (.*) \((\d+)\)$")
EVAL_LOOP = re.compile(r"^(_PyEval_EvalFrameDefault|_TAIL_CALL_\w+)(\.|$| )")
ENTERING_LIMITS = {"entering": 0.005, "entering_fault": 0.02}
PAGE_FAULT = re.compile(r"page_fault")
COMPLETE_LIMIT = 0.999

Frame = collections.namedtuple("Frame", "layer name file line text")


def parse_frame(text):
    if text.endswith(" [k]"):
        return Frame("kernel", text[:-4], "", 0, text)
    if text.startswith("[") and text.endswith("]"):
        return Frame("mark", text, "", 0, text)
    match = PYTHON_FRAME.match(text)
    if match:
        return Frame("python", match.group(1), match.group(2), int(match.group(3)), text)
    match = NATIVE_FRAME.match(text)
    if match:
        return Frame("native", match.group(1), match.group(2), 0, text)
    return Frame("malformed", text, "", 0, text)


def escape(text):
    """Names as strata writes them (profile.h, frame_format)."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join("?" if ord(c) < 32 or ord(c) == 127 else ":" if c == ";" else c for c in text)


# Functions of the standard library whose course the run for the truth cannot tell: what they do depends on which threads
# happened to be alive, or the moment at which they are called on when an object was released.
UNTOLD = {("_after_fork", "threading.py"), ("_remove", "_weakrefset.py")}
# What a thread does before the hook of threading.settrace() is asked; from 3.14 on it bears its name by then.
UNTRACED = {("_bootstrap_inner", "_set_os_name"), ("_bootstrap_inner", "set")}


def is_untold(chain):
    names = [(simple_name(name), os.path.basename(path)) for name, path, _ in chain]
    return any(name in UNTOLD for name in names) or any(
        (caller[0], callee[0]) in UNTRACED and callee[1] == "threading.py" for caller, callee in zip(names, names[1:]))


class Truth(object):
    """The trees of one program, from one or more files (children write their own)."""

    def __init__(self):
        self.children = []  # node -> {(name, file): [(line it was called from, node)]}
        self.lines = []     # node -> lines at which it can be innermost
        self.roots = collections.defaultdict(list)
        self.version = None
        self.rules = []

    def load(self, path):
        with open(path, encoding="utf-8", errors="surrogatepass") as file:
            data = json.load(file)
        base = len(self.children)
        codes = [(escape(name), escape(file)) for name, file, _ in data["codes"]]
        for code, parent, call_line, lines in data["nodes"]:
            if parent >= 0:
                self.children[base + parent].setdefault(codes[code], []).append((call_line, len(self.children)))
            self.children.append({})
            self.lines.append(frozenset(lines))
        for role, node in data["trees"].items():
            self.roots[role].append(base + node)
        self.version = tuple(data["version"])
        self.rules += [(callee, caller, re.compile(native)) for callee, caller, native in data.get("rules", ())]

    def judge(self, role, frames):
        """None for a true stack, else (fault, words). `frames` are (name, file, line), outermost first."""
        if not frames:
            return "impossible", "no Python frame"
        nodes, call_line, line_fault = self.roots[role], None, None
        by_function = nodes
        for index, (name, file, line) in enumerate(frames):
            nodes = [child for node in nodes for called_from, child in self.children[node].get((name, file), ())
                     if call_line is None or called_from == call_line]
            by_function = [child for node in by_function
                           for _, child in self.children[node].get((name, file), ())]
            if not by_function:
                caller = "%s:%d" % (frames[index - 1][0], frames[index - 1][2]) if index else "the root"
                return "impossible", "%s (%s:%d) called by %s" % (name, file, line, caller)
            if not nodes and line_fault is None:
                line_fault = "%s (%s:%d) does not call %s there" % (frames[index - 1] + (name,))
            call_line = line
        if line_fault is None and not any(call_line in self.lines[node] for node in nodes):
            possible = sorted(set().union(*(self.lines[node] for node in nodes)))
            line_fault = "%s (%s:%d) has only lines %s" % (frames[-1] + (possible[:12],))
        return ("wrong_line", line_fault) if line_fault is not None else None


class Report(object):
    FAULTS = ("malformed", "impossible", "wrong_line", "leftover", "native", "roots", "entering", "stats")

    def __init__(self):
        self.counts = collections.Counter()
        self.faults = collections.Counter()
        self.examples = collections.defaultdict(list)
        self.roles = collections.Counter()
        self.root_frames = collections.Counter()
        self.notes = []

    def fault(self, kind, count, words):
        self.faults[kind] += count
        if len(self.examples[kind]) < 5:
            self.examples[kind].append(words)

    @property
    def failed(self):
        return any(self.faults.values())


def split_stack(line):
    stack, _, count = line.rpartition(" ")
    parts = stack.split(";")
    comm, frames = parts[0], parts[1:]
    if frames:
        thread = THREAD_FRAME.match(frames[0])
        if thread:
            comm, frames = thread.group(1), frames[1:]
    return comm, [parse_frame(f) for f in frames], int(count)


def python_chain(frames):
    return [(f.name, f.file, f.line) for f in frames if f.layer == "python"]


def simple_name(qualified):
    return qualified.rpartition(".")[2]


class Checker(object):
    def __init__(self, truth):
        self.truth = truth
        self.report = Report()
        self.rule_hits = collections.Counter()

    def check(self, lines):
        stacks = []
        for line in lines:
            line = line.rstrip("\n")
            if not line:
                continue
            try:
                stacks.append(split_stack(line) + (line,))
            except ValueError:
                self.report.fault("malformed", 1, line[:200])
        symbols = {f.name for _, frames, _, _ in stacks for f in frames if f.layer == "native"}
        self.rules = []
        for rule in self.truth.rules:
            if any(rule[2].search(symbol) for symbol in symbols):
                self.rules.append(rule)
            else:
                self.report.notes.append(rule[0])
        for comm, frames, count, line in stacks:
            self.check_stack(comm, frames, count, line)
        if len(self.report.root_frames) > 2:
            for root, count in self.report.root_frames.most_common()[2:]:
                self.report.fault("roots", count, root)
        counts = self.report.counts
        for key, limit in ENTERING_LIMITS.items():
            most = limit * max(counts["judged"], 1)
            if counts[key] > most + 3 * math.sqrt(most):  # more than chance makes of so many samples
                self.report.fault("entering", counts[key], "%s: %d of %d" % (key, counts[key], counts["judged"]))
        return self.report

    def check_stack(self, comm, frames, count, line):
        report = self.report
        report.counts["samples"] += count
        if comm not in self.truth.roots:
            report.counts["unclaimed"] += count
            return
        for frame in frames:
            if frame.layer == "malformed":
                report.fault("malformed", count, frame.text)
        if any(f.layer == "mark" for f in frames):
            report.counts["marked"] += count
            return
        if is_untold(python_chain(frames)):
            report.counts["untold"] += count
            return
        report.counts["judged"] += count
        report.roles[comm] += count
        if frames and frames[0].layer == "native":
            report.root_frames[frames[0].text] += count
        fault = self.truth.judge(comm, python_chain(frames))
        if fault:
            report.fault(fault[0], count, "%s: %s, in %s" % (comm, fault[1], line))
        self.check_leftovers(comm, frames, count)
        self.check_between(comm, frames, count)

    def check_leftovers(self, comm, frames, count):
        loops = [i for i, f in enumerate(frames) if f.layer == "native" and EVAL_LOOP.match(f.name)]
        if not loops:
            return
        python = [i for i, f in enumerate(frames) if f.layer == "python"]
        # On its way in, a loop may call _Py_CheckRecursiveCall; on its way out, _Py_CheckFunctionResult or what releases
        # the frame. So native frames may stand above it, but no Python frame.
        if len(loops) == 1 and (not python or python[-1] < loops[0]):
            faults = any(f.layer == "kernel" and PAGE_FAULT.search(f.name) for f in frames[loops[0] + 1:])
            self.report.counts["entering_fault" if faults else "entering"] += count
        else:
            self.report.fault("leftover", count, "%s: %s at %d of %d" % (comm, frames[loops[0]].text, loops[0],
                                                                        len(frames)))

    def check_between(self, comm, frames, count):
        caller, between = None, []
        for frame in frames:
            if frame.layer == "native":
                between.append(frame.name)
            if frame.layer != "python":
                continue
            name = simple_name(frame.name)
            if caller is not None:
                for callee, only_caller, native in self.rules:
                    if name == callee and only_caller in (None, caller):
                        self.rule_hits[callee] += count
                        if not any(native.search(b) for b in between):
                            self.report.fault("native", count, "%s: %s under %s without %s: %s" %
                                              (comm, name, caller, native.pattern, between))
                if name.startswith("direct_") and caller.startswith("direct_") and between and \
                        self.truth.version >= (3, 11):
                    self.report.fault("native", count, "%s: %s calls %s directly, but: %s" %
                                      (comm, caller, name, between))
            caller, between = name, []


def loss_kinds(path):
    kinds = {}
    with open(path, encoding="utf-8") as file:
        for kind, key in re.findall(r'^LOSS\(\d+, \w+, (\w+), "([^"]+)"', file.read(), re.M):
            kinds[key] = kind
    return kinds


def check_stats(report, stats, kinds):
    samples, complete, lost = stats["samples"], stats["complete"], stats["lost"]
    report.counts["stats_samples"], report.counts["stats_complete"] = samples, complete
    for key in lost:
        if key not in kinds:
            report.fault("stats", 1, "unknown reason: %s" % key)
    if samples == 0:
        report.fault("stats", 1, "no samples")
        return
    if complete < COMPLETE_LIMIT * samples:
        report.fault("stats", samples - complete, "complete %.3f %%: %s" % (100.0 * complete / samples, lost))
    gone = sum(count for key, count in lost.items() if kinds.get(key) == "LOST")
    if report.counts["samples"] + gone != samples:
        report.fault("stats", 1, "%d in the folded file + %d lost are not %d samples" %
                     (report.counts["samples"], gone, samples))
    explained = sum(count for key, count in lost.items() if kinds.get(key) != "NOTE")
    if explained < samples - complete:
        report.fault("stats", 1, "%d samples are not complete, reasons for %d" % (samples - complete, explained))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--truth", action="append", required=True)
    parser.add_argument("--stats")
    parser.add_argument("--losses")
    parser.add_argument("--json", action="store_true", help="print the report as one JSON object")
    parser.add_argument("folded")
    options = parser.parse_args()
    truth = Truth()
    for path in options.truth:
        truth.load(path)
    checker = Checker(truth)
    with open(options.folded, encoding="utf-8", errors="replace", newline="\n") as file:
        report = checker.check(file)
    if options.stats:
        with open(options.stats, encoding="utf-8") as file:
            check_stats(report, json.load(file), loss_kinds(options.losses) if options.losses else {})
    if not report.counts["judged"]:
        report.fault("impossible", 1, "no stack with a role at all")
    if options.json:
        json.dump({"counts": report.counts, "faults": {k: report.faults[k] for k in Report.FAULTS},
                   "examples": report.examples, "roles": report.roles, "roots": report.root_frames,
                   "rules": checker.rule_hits, "notes": report.notes}, sys.stdout, ensure_ascii=True)
        print()
    else:
        print("counts: %s" % dict(report.counts))
        for kind in Report.FAULTS:
            print("%-10s %d" % (kind, report.faults[kind]))
            for words in report.examples[kind]:
                print("    " + words)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
