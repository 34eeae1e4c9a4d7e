#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The checker proves itself, without strata and without root: a program's stacks as it sees them itself are all true, and
whatever is done to them is found. A mutant is made only where the change makes another stack for certain: lines are
spread (spread.py), so a neighbouring line is never a true one; functions that are on the stack once are dropped or swapped."""
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
sys.dont_write_bytecode = True
import check  # noqa: E402
import interpreters  # noqa: E402
import tap  # noqa: E402
import truths  # noqa: E402

SECONDS = float(os.environ.get("ORACLE_SELFTEST_SECONDS", tap.SCALE))
MUTANTS = 3000
number = 0


def ok(passed, words):
    global number
    number += 1
    print("%sok %d - %s" % ("" if passed else "not ", number, words), flush=True)
    return passed


def is_ours(frame):
    return "/scenarios/" in frame[1] or "/例え" in frame[1]


def mutate(kind, chain, generator, other):
    """The chain changed in one way, or None where that would prove nothing."""
    index = generator.randrange(3, len(chain)) if len(chain) > 3 else 0
    if index == 0 or not is_ours(chain[index]):
        return None
    functions = [f[:2] for f in chain]
    name, file, line = chain[index]
    if kind == "line + 1":
        return chain[:index] + [(name, file, line + 1)] + chain[index + 1:]
    if kind == "line - 1":
        return chain[:index] + [(name, file, line - 1)] + chain[index + 1:]
    if kind == "frame dropped":
        # A line that calls f, which calls spin, may call spin itself; a weak reference's callback runs anywhere.
        if index == len(chain) - 1 or functions.count(functions[index]) > 1 or \
                chain[index + 1][0].endswith(("spin", "würfel", "_remove")):
            return None
        return chain[:index] + chain[index + 1:]
    if kind == "frames swapped":
        if functions[index] == functions[index - 1] or len(set(functions)) < len(functions):
            return None
        return chain[:index - 1] + [chain[index], chain[index - 1]] + chain[index + 1:]
    if kind == "wrong caller":
        # The other stack's callee, below a function of another scenario, with everything above it.
        if len(other) < 6 or not is_ours(other[3]) or other[3][1] == chain[3][1] or not is_ours(other[4]):
            return None  # scenarios of one file share functions
        return chain[:4] + other[4:]
    if kind == "python frames removed":
        return chain[:generator.randrange(0, 3)]
    if kind == "shifted by one":
        # What a walk off by one call does: each frame's function with the line of the next older one.
        shifted = [(f[0], f[1], c[2]) for f, c in zip(chain[1:], chain)]
        return chain[:1] + shifted
    raise KeyError(kind)


KINDS = ("line + 1", "line - 1", "frame dropped", "frames swapped", "wrong caller", "python frames removed", "shifted by one")


def run(interpreter, folder):
    label = interpreter.label
    folded = os.path.join(folder, label + ".folded")
    program = [interpreter.path, "-W", "ignore", truths.PROGRAM]
    environment = dict(os.environ, PYTHONHASHSEED="0", TMPDIR=folder)
    try:
        found = truths.files(interpreter, folder)
    except truths.Failure as failure:
        print("# %s" % failure)
        found = []
    done = subprocess.call(program + ["--seconds", str(SECONDS), "--self-sample", folded], env=environment, timeout=900)
    if not ok(found and done == 0, "%s: both runs end well" % label):
        return
    truth = check.Truth()
    for path in found:
        truth.load(path)
    with open(folded, encoding="utf-8") as file:
        lines = file.read().split("\n")
    report = check.Checker(truth).check(lines)
    ok(report.counts["judged"] > 300 and not report.failed,
       "%s: %d stacks of the program's own are all true" % (label, report.counts["judged"]))
    for kind in report.FAULTS:
        for words in report.examples[kind]:
            print("# %s: %s" % (kind, words))
    stacks = [(role, check.python_chain(frames)) for role, frames, _ in map(check.split_stack, filter(None, lines))]
    generator = random.Random(1)
    for kind in KINDS:
        made, missed, tries = 0, [], 0
        # Some kinds fit few stacks, and a busy machine samples few: then more are drawn.
        while tries < MUTANTS or (made <= 50 and tries < 50 * MUTANTS):
            tries += 1
            role, chain = generator.choice(stacks)
            mutant = mutate(kind, chain, generator, generator.choice(stacks)[1])
            if mutant is None or mutant == chain:
                continue
            made += 1
            if truth.judge(role, mutant) is None:
                missed.append(mutant)
        ok(made > 50 and not missed, "%s: %s: %d of %d mutants found" % (label, kind, made - len(missed), made))
        for mutant in missed[:3]:
            print("# missed: %s" % ";".join("%s (%s:%d)" % (n, os.path.basename(f), l) for n, f, l in mutant[2:]))
    wrong = [(role, chain) for role, chain in stacks if any(map(is_ours, chain))
             for other in sorted(truth.roots) if other != role and truth.judge(other, chain) is None]
    ok(not wrong, "%s: no stack of one thread is true for another" % label)
    for role, chain in wrong[:3]:
        print("# %s: %s" % (role, ";".join("%s:%d" % (n, l) for n, _, l in chain)))
    native_faults(label, truth, stacks)


def another_copy(interpreter, folder):
    """A copy of the tree has the same truth, with its own names, and does not look for it."""
    copy = os.path.join(folder, "copy", "oracle")
    shutil.copytree(HERE, copy)
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import interpreters, truths; truths._find = None\n"
            "i = [i for i in interpreters.discover() if i.label == sys.argv[2]][0]\n"
            "print(*truths.files(i, sys.argv[1]), sep='\\n')")
    done = subprocess.run([sys.executable, "-B", "-c", code, copy, interpreter.label], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=dict(os.environ, STRATA_TRUTH=truths.KEPT), universal_newlines=True)
    texts = [open(path, encoding="utf-8").read() for path in done.stdout.splitlines()]
    if not ok(texts and all(copy + "/program.py" in text and HERE not in text for text in texts),
              "another copy of the tree has the same truth"):
        print("# " + done.stderr[-300:].replace("\n", "\n# "))


def fold(role, frames):
    return "%s;thread %s (1);%s 1" % (role, role, ";".join(frames))


def native_faults(label, truth, stacks):
    """What stands between and around the Python frames."""
    role, chain = next((r, c) for r, c in stacks if r == "or-main" and len(c) > 5)
    python = ["%s (%s:%d)" % f for f in chain]
    loop = "_PyEval_EvalFrameDefault.cold (libpython3.so)"

    def faults(*stack_list):
        report = check.Checker(truth).check([fold(role, ["_start (python3)"] + s) for s in stack_list])
        return {k for k in report.FAULTS if report.faults[k]}

    ok(not faults(python), "%s: a true stack has no fault" % label)
    ok(faults(python[:3] + [loop] + python[3:]) == {"leftover"}, "%s: an interpreter loop left over" % label)
    ok(faults([loop, "x (y)"] + python) == {"leftover"}, "%s: one before all Python frames" % label)
    ok(faults(python + [loop]) == {"entering"}, "%s: entering is not an excuse for every stack" % label)
    ok(not faults(*([python] * 240 + [python + [loop]])), "%s: but may be one of 241" % label)
    ok(faults(["clone3 (libc.so.6)"] + python, python) == set() and
       "impossible" in faults(["clone3 (libc.so.6)"]), "%s: no Python frames at all" % label)
    checker = check.Checker(truth)
    for kind, wanted, frames in (
            ("native", True, ["a (f:1)", "direct_middle (f:1)", "f (m)", "direct_leaf (f:1)"]),
            ("native", False, ["a (f:1)", "direct_middle (f:1)", "direct_leaf (f:1)"])):
        report = checker.report = check.Report()
        checker.rules = truth.rules
        checker.check_between(role, [check.parse_frame(f) for f in frames], 1)
        wanted = wanted and truth.version >= (3, 11)
        ok((report.faults[kind] > 0) == wanted, "%s: a native frame in a direct call: %s" % (label, wanted))
    for between, wanted in ((["list_sort_impl (python3)"], False), (["builtin_sorted (python3)"], True), ([], True)):
        report = checker.report = check.Report()
        frames = ["nested_sorts (f:1)"] + between + ["nested_inner (f:2)"]
        checker.check_between(role, [check.parse_frame(f) for f in frames], 1)
        ok((report.faults["native"] > 0) == wanted, "%s: a key function under %s" % (label, between))


def statistics():
    kinds = check.loss_kinds(os.path.join(HERE, "..", "..", "src", "abi", "loss.def"))
    good = {"samples": 10000, "complete": 9995, "lost": {"ring-full": 2, "late": 3, "sideband": 1}}
    for words, changes, wanted in (
            ("good figures", {}, False),
            ("too few complete", {"complete": 9980}, True),
            ("an unknown reason", {"lost": {"ring-full": 2, "gremlins": 3}}, True),
            ("samples without a reason", {"lost": {"ring-full": 2}}, True),
            ("a sum that does not agree", {"samples": 10001}, True)):
        report = check.Report()
        report.counts["samples"] = 9998
        check.check_stats(report, dict(good, **changes), kinds)
        ok((report.faults["stats"] > 0) == wanted, "stats: %s" % words)


def frames():
    for text, wanted in (
            ("f (a.py:3)", ("python", "f", "a.py", 3)),
            ("<listcomp> (/x y (1)/µ.py:70000)", ("python", "<listcomp>", "/x y (1)/µ.py", 70000)),
            ("std::sort<int>(int*, int*) (libx.so.1)", ("native", "std::sort<int>(int*, int*)", "libx.so.1", 0)),
            ("0x1234 (python3.11)", ("native", "0x1234", "python3.11", 0)),
            ("do_syscall_64 [k]", ("kernel", "do_syscall_64", "", 0)),
            ("[unknown 0x1]", ("mark", "[unknown 0x1]", "", 0)),
            ("nothing", ("malformed", "nothing", "", 0))):
        ok(check.parse_frame(text)[:4] == wanted, "frame: %s" % text)


def main():
    frames()
    statistics()
    with tempfile.TemporaryDirectory(prefix="oracle-selftest-") as folder:
        # An old one by line events, one with instruction events, the newest: each way in which the truth is found.
        chosen = interpreters.representative(interpreters.discover())
        for interpreter in chosen:
            run(interpreter, folder)
        another_copy(chosen[-1], folder)
    print("1..%d" % number)


main()
