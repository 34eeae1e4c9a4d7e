#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""record --tasks: every stack of a task begins with the task's name, beside a program whose tasks know their names, come and
go, and run functions of their own; on every interpreter at hand. Of some kinds the short form takes a few interpreters, one of
each way in which tasks are found. ORACLE_ONLY is a regular expression of labels."""
import collections
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../oracle")]
sys.dont_write_bytecode = True
import e2e  # noqa: E402
import interpreters  # noqa: E402

ONLY = os.environ.get("ORACLE_ONLY", "")
SECONDS, HZ = (0.6 * e2e.SCALE, 499) if e2e.LONG else (0.3, 997)
with open(os.path.join(HERE, "tasks_program.py"), encoding="utf-8") as program:
    SOURCE = program.read()
OWN = re.compile(r"^((?:begin|burn|renamed)_\d+) \(<string>:")
LOOP = re.compile(r"^(Handle\._run|_run|_run_once|BaseEventLoop\._run_once|run_forever|BaseEventLoop\.run_forever) \(.*/asyncio/")


def shown(name):
    """As a frame of the folded format has it: names of more than 256 bytes are cut."""
    if name is None:
        return "[task unnamed]"
    name = name[:256] + u"\u2026" if len(name) > 256 else name
    return "[task %s]" % re.sub(r"[\x00-\x1f]", "?", name.replace(";", ":"))


def command(interpreter, seconds, *modes):
    prefix = ["chroot", interpreter.root] if interpreter.root else []
    return prefix + [interpreter.path, "-c", SOURCE, str(seconds)] + list(modes)


def record(where, target, *arguments):
    """The stacks, and the name of the task of each function."""
    out, told = where + "/t.folded", []

    def rest(strata):
        target.stdin.close()
        told.append(target.stdout.read())
        strata.wait(timeout=e2e.PATIENCE_S)
    done = e2e.record_while(rest, "--tasks", "-o", out, *(arguments + ("-p", target.pid)))
    target.wait()
    return e2e.folded(out), dict(json.loads(told[0].decode())), done.stderr


def judge(stacks, names):
    """How many samples of functions of tasks bear their task's name, keep the loop's frames, say `unknown`, bear another name."""
    verdict, notes = collections.Counter(), []
    for frames, count in stacks:
        own = [m.group(1) for m in map(OWN.match, frames) if m]
        task = [frame for frame in frames if frame.startswith("[task ")]
        if not own and not task:
            continue
        if frames[1].startswith(("[incomplete", "[truncated")):
            if task:
                verdict["wrong" if own and task != [shown(names[own[0]])] else "cut"] += count
            continue
        if not own:  # the functions of all tasks
            what = "named" if len(task) == 1 and frames[1] == task[0] else "wrong"
        elif not task:
            what = "kept" if any(map(LOOP.match, frames)) else "other"
        elif task == ["[task unknown]"]:
            what = "unknown"
        else:
            right = frames[1:2] == task == [shown(names[own[0]])] and not any(map(LOOP.match, frames))
            what = "named" if right else "wrong"
        verdict[what] += count
        if what in ("wrong", "other", "kept"):
            notes.append("%s: %s, of %s" % (what, ";".join(frames)[:500], own and names[own[0]]))
    return verdict, notes


def running(tap, where, interpreter):
    label = interpreter.label
    stacks, names, said = record(where, e2e.start(command(interpreter, SECONDS)), "-F", HZ)
    verdict, notes = judge(stacks, names)
    tap.ok(verdict["named"] and not verdict["wrong"] and not verdict["other"],
           "%s: samples bear their task's name: %s" % (label, dict(verdict)), said, *notes)
    # What the kernel part was told before the first sample, it tells from the first sample on.
    tap.ok(not verdict["kept"], "%s: all of them" % label, *notes)
    loops = [frames for frames, _ in stacks if any(f.startswith("no_loop (") for f in frames)]
    tap.ok(loops and not any(f.startswith("[task ") for frames in loops for f in frames),
           "%s: a thread without an event loop runs no task" % label, said, "%d stacks of it" % len(loops), *loops[:3])


def waiting(tap, where, interpreter):
    stacks, names, said = record(where, e2e.start(command(interpreter, 1, "sleep")), "--off-cpu")
    verdict, notes = judge(stacks, names)
    tap.ok(verdict["named"] and not verdict["wrong"] and not verdict["kept"] and not verdict["other"],
           "%s: waits, too" % interpreter.label, dict(verdict), said, *notes)
    asleep = [f for f, _ in stacks if f[1].startswith("[task ") and f[-1].startswith("[waiting: ")]
    tap.ok(asleep, "%s: with what they wait for" % interpreter.label, said, [f for f, _ in stacks][:5])


def begun(tap, where, interpreter):
    """By strata: what runs tasks is not imported yet when it begins to sample."""
    out = where + "/b.folded"
    done = e2e.record("--tasks", "-F", 2 * HZ, "-o", out, "--", *command(interpreter, 2 * SECONDS))
    names = dict(json.loads(done.stdout.partition("ready\n")[2] or "{}"))
    verdict, notes = judge(e2e.folded(out), names)
    tap.ok(verdict["named"] and not verdict["wrong"] and not verdict["other"],
           "%s: of a program that strata starts" % interpreter.label, dict(verdict), done.stderr, *notes)


def other_kinds(tap, where, interpreter):
    label = interpreter.label
    stacks, names, said = record(where, e2e.start(command(interpreter, SECONDS, "plain")), "-F", HZ)
    verdict, notes = judge(stacks, names)
    tap.ok(verdict["kept"] and not verdict["wrong"] and not verdict["named"],
           "%s: stacks of tasks that are not _asyncio's keep the loop's frames" % label, dict(verdict), said, *notes)
    if interpreter.version >= (3, 12):
        stacks, names, said = record(where, e2e.start(command(interpreter, SECONDS, "eager")), "-F", HZ)
        verdict, notes = judge(stacks, names)
        tap.ok(verdict["named"] and not verdict["wrong"] and not verdict["kept"], "%s: eager tasks" % label, dict(verdict), said,
               *notes)


def uvloop(tap, where, interpreter):
    label = interpreter.label
    if subprocess.call([interpreter.path, "-c", "import uvloop"], stderr=subprocess.DEVNULL):
        tap.skip("%s: uvloop" % label, "it has no uvloop")
        return
    stacks, names, said = record(where, e2e.start(command(interpreter, SECONDS, "uvloop")), "-F", HZ)
    verdict, notes = judge(stacks, names)
    tap.ok(verdict["named"] and not sum(verdict[what] for what in ("wrong", "kept", "other")), "%s: uvloop: %s" % (
        label, dict(verdict)), said, *notes)


def off(tap, where, interpreter):
    """Without the option nothing is different."""
    out = where + "/o.folded"
    e2e.record_rest(e2e.start(command(interpreter, 0.5)), "-F", HZ, "-o", out)
    stacks = e2e.folded(out)
    tap.ok(stacks and not any(f.startswith("[task ") for frames, _ in stacks for f in frames), "without --tasks there are none")


def main():
    tap = e2e.Tap()
    found = [i for i in interpreters.discover() if re.search(ONLY, i.label)]
    with e2e.folder() as where:
        for interpreter in found:
            running(tap, where, interpreter)
        some = found if e2e.LONG or ONLY else interpreters.representative_and_312(found)
        for interpreter in some:
            begun(tap, where, interpreter)
        versions = {i.version[:2]: i for i in some}
        for version in sorted(versions):
            other_kinds(tap, where, versions[version])
        of_all = {i.version[:2]: i for i in found}
        for version in sorted(of_all)[::4]:
            waiting(tap, where, of_all[version])
        for interpreter in [i for i in found if not i.root and i.path.startswith("/usr/bin/")][:1]:
            uvloop(tap, where, interpreter)
        if found:
            off(tap, where, found[-1])
    tap.done()


main()
