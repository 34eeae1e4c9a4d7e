#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Go's changes of stacks, in a program that knows its own (stacks.go): each sample goes on to its goroutine's start, by calls
that the program made there."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import e2e  # noqa: E402
import go  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 0.35 * e2e.SCALE
# Of the first samples of a program, and of a function of a few instructions that leaves the thread's stack for good.
NOT_ASKED = ("late", "stack-missing", "no-mapping")
SWITCHES = ("systemstack", "morestack", "asmcgocall", "cgocallback")


def sorting(levels):
    """The sort in C, whose comparison is Go's, and sorts again."""
    again = "( sortAgain( %s)?)?" % sorting(levels - 1) if levels else ""
    return ("sortSome( sortSome.func1)?( _Cfunc_sortInC( asmcgocall( sort( cgocallback( compare%s)?)?)?)?)?"
            % again)


# What is done, the calls above eight of dive(), those of another goroutine, and what must have been seen. The function that a `go`
# statement with arguments starts is named func1 by older compilers, gowrap1 since Go 1.22.
WORKS = {
    "allocate": ("allocate", None, "allocate systemstack"),
    "map": ("growMap", None, "growMap systemstack"),
    "stack": ("growStack", r"growStack\.(func|gowrap)1( grow( deep){0,201})?", "deep morestack"),
    "collect": ("collect", None, "dive collect"),
    "clock": ("look", None, "look vdso"),
    "channel": ("pass", r"pass\.(func|gowrap)1( give)?", "(pass|give) systemstack"),
    "c": ("callC( %s)?" % sorting(2), None, "(sort cgocallback .*){2}compare sortAgain .* sort"),
    "spawn": ("spawn( vfork)?", None, "spawn vfork"),
}


def words_of(frames):
    """The program's own calls, those of C, and the changes of stacks."""
    words = []
    for frame in frames:
        name = re.sub(r"\.abi0$", "", e2e.native_name(frame))
        if name.startswith("main."):
            words.append(name[5:])
        elif name.rpartition(".")[2] in SWITCHES and name.startswith("runtime."):
            words.append(name[8:])
        elif name == "qsort_r":
            words.append("sort")
        elif name == "syscall.rawVforkSyscall":
            words.append("vfork")
        elif frame.endswith("([vdso])") and words[-1:] != ["vdso"]:
            words.append("vdso")
    return " ".join(words)


def allowed(work, frames):
    """Whether the program had this stack."""
    call, other, _ = WORKS[work]
    words = words_of(frames)
    switch = "( (systemstack|morestack))?( systemstack)?( asmcgocall)?( vdso)?"
    ways = [r"main", r"main\.func1(( dive){0,7}| used|( dive){8}( %s)?)" % call] + ([other] if other else [])
    if re.fullmatch(r"((systemstack|morestack|asmcgocall|vdso) ?)*", words):
        return True  # the runtime's own
    # _cgoexp_... is C's way in; the root is that of a goroutine, or of the program in C that called Run().
    if re.fullmatch("cgocallback( Run)?( main)?" + switch, words):
        return frames[0].startswith("_start")
    return frames[0].startswith("runtime.goexit") and any(re.fullmatch(way + switch, words) for way in ways)


def judge(tap, where, program, work):
    done = e2e.record("-F", 1999, "-o", where + "/x.folded", "--stats", where + "/x.json", "--", program, work, SECONDS)
    if not tap.equal(done.returncode, 0, work + ": recorded"):
        print("# " + done.stderr[-400:].replace("\n", "\n# "))
        return
    stats, stacks = e2e.load(where + "/x.json"), e2e.folded(where + "/x.folded")
    asked = stats["samples"] - sum(stats["lost"].get(reason, 0) for reason in NOT_ASKED)
    tap.ok(asked > e2e.due(SECONDS, 1999) / 2 and stats["complete"] >= 0.99 * asked, "%s: %d of %d samples complete" % (
        work, stats["complete"], stats["samples"]), stats["lost"])
    whole = [(frames[1:], count) for frames, count in stacks if frames[0] == "stacks" and not frames[1].startswith("[")]
    wrong = [frames for frames, _ in whole if not allowed(work, frames)]
    tap.equal([words_of(frames) for frames in wrong[:2]], [], "%s: stacks that the program had, each of %d" % (work, len(whole)))
    seen = e2e.total([(f, c) for f, c in whole if re.search(WORKS[work][2] + r"\b", words_of(f))])
    tap.ok(seen >= 3, "%s: %s in %d samples" % (work, WORKS[work][2][:40], seen))


def judge_stripped(tap, where, program, words):
    """Without names there is no telling what it had: how many reach their outermost frame."""
    done = e2e.record("-F", 1999, "-o", where + "/x.folded", "--stats", where + "/x.json", "--", program, "c", SECONDS)
    tap.equal(done.returncode, 0, words + ": recorded")
    stats = e2e.load(where + "/x.json")
    asked = stats["samples"] - sum(stats["lost"].get(reason, 0) for reason in NOT_ASKED)
    tap.ok(asked > e2e.due(SECONDS, 1999) / 2 and stats["complete"] >= 0.99 * asked, "%s: %d of %d samples complete" % (
        words, stats["complete"], stats["samples"]), stats["lost"])


def build(compiler, where, *options, output="stacks"):
    subprocess.run([compiler, "build"] + list(options) + ["-o", where + "/" + output, HERE + "/stacks.go"], check=True,
                   env=go.environment())


def judge_toolchain(tap, where, compiler):
    build(compiler, where)
    for work in WORKS:
        judge(tap, where, where + "/stacks", work)
    # C that Go's own linker took in has no .eh_frame any more.
    build(compiler, where, "-ldflags=-linkmode=internal")
    judge(tap, where, where + "/stacks", "c")
    # Then the tables are among other data, and the loader writes where the functions are.
    build(compiler, where, "-buildmode=pie")
    judge(tap, where, where + "/stacks", "c")
    # In a library the loader says where a thread's g is.
    build(compiler, where, "-buildmode=c-shared", output="libstacks.so")
    subprocess.run(["gcc", "-xc", "-", "-o", where + "/stacks", "-L" + where, "-lstacks", "-Wl,-rpath," + where],
                   input=b"void Run(void); int main(void) { Run(); }", check=True)
    for work in ("allocate", "stack", "clock", "c"):
        judge(tap, where, where + "/stacks", work)
    build(compiler, where, "-buildmode=pie")
    subprocess.run(["strip", "-o", where + "/stripped", where + "/stacks"], check=True)
    judge_stripped(tap, where, where + "/stripped", "position-independent, stripped")


tap = e2e.Tap()
if not go.toolchains():
    tap.skip("Go", "no go")
for version, compiler in go.toolchains():
    print("# " + version)
    with e2e.folder() as where:
        judge_toolchain(tap, where, compiler)
tap.done()
