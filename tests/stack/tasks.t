#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""strata stack --tasks: the tasks of a program that knows them, on every interpreter at hand: those of C code, and Python's own;
and on some of them, in the long form on all: one that blocks the loop, those of uvloop where it is installed, and tasks that come
and go while they are read."""
import collections
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../e2e"), os.path.join(HERE, "../oracle")]
sys.dont_write_bytecode = True
import e2e  # noqa: E402
import interpreters  # noqa: E402

ONLY = os.environ.get("ORACLE_ONLY", "")
TIMES = int(os.environ.get("TASKS_TIMES", 12 * e2e.SCALE if e2e.LONG else 6))
CHILDREN = 200
with open(os.path.join(HERE, "tasks_program.py")) as program:
    SOURCE = program.read()
# A task that has returned, and is kept in that moment by what it leaves behind.
RETURNED = """
import asyncio, time
class Slow:
    def __del__(self):
        print("ready", flush=True)
        time.sleep(1000)
async def leaf():
    slow = Slow()
    await asyncio.sleep(0)
async def main():
    await asyncio.get_event_loop().create_task(leaf())
asyncio.new_event_loop().run_until_complete(main())
"""
LINES = {m.group(2): number for number, line in enumerate(SOURCE.split("\n"), 1)
         for m in [re.match(r"(.*)  # (\w+)$", line)] if m}
MAIN = [number for number, line in enumerate(SOURCE.split("\n"), 1) if line.endswith("# main")]

# For each: its own functions, innermost first; what it waits for; who awaits it, by its outermost function.
EXPECTED = [
    ("sleeper", ["sleeper"], "sleep", []),
    ("locked", ["locked"], "lock", []),
    ("evented", ["evented"], "event", []),
    ("queued", ["queued"], "queue", []),
    ("received", ["received"], "socket", []),
    ("streamed", ["streamed"], "socket", []),
    ("own_await", ["forever", "deeper", "own_await"], "future", []),
    ("generator_user", ["numbers", "generator_user"], "sleep", []),
    ("gatherer", ["gatherer"], "gather", []),
    ("nested", ["nested"], "gather", []),
    ("inner_a", ["forever", "inner_a"], "future", ["nested"]),
    ("inner_b", ["forever", "inner_b"], "future", ["nested"]),
    (None, ["forever", "inner_c"], "future", ["nested"]),
    ("awaits_task", ["awaits_task"], "task", []),
    ("of-awaits_task", ["sleeper"], "sleep", ["awaits_task"]),
    ("shielder", ["shielder"], "shield", []),
    ("of-shielder", ["sleeper"], "sleep", ["shielder"]),
    ("wait_for", ["wait_for"], "wait_for", []),
    ("of-wait_for", ["sleeper"], "sleep", ["wait_for"]),
    ("waiter", ["waiter"], "wait", []),
] + [("of-waiter", ["sleeper"], "sleep", ["waiter"])] * 3 + [
    ("child-%d" % i, ["forever", "deeper", "child"], "future", ["gatherer"]) for i in range(CHILDREN)]
GROUP = [("grouper", ["grouper"], "task-group", []), ("member", ["forever", "member"], "future", ["grouper"])]


def expected(version, mode):
    wanted = list(EXPECTED) + (GROUP if version >= (3, 11) else [])
    for i, (name, functions, kind, by) in enumerate(wanted):
        if name == "wait_for" and version >= (3, 12):  # it awaits what it is given
            kind = "task"
        if name == "received" and (version < (3, 7) or mode == "uvloop"):  # sock_recv() is a function that returns a future
            kind = "future"
        wanted[i] = name, functions, kind, by
    if mode == "block":
        wanted += [("blocker", ["block", "blocker"], None, ["main"]), (None, ["main"], "task", [])]
    else:
        wanted += [(None, ["main"], "future", [])]
    return wanted


def own(task):
    return [(f["name"], f["line"]) for f in task["frames"] if f.get("file") == "<string>"]


def summary(tasks, named):
    by_id = {task["id"]: task for task in tasks}
    found = collections.Counter()
    for task in tasks:
        name = task["name"] if named and not re.match(r"Task-\d+$", task["name"] or "") else None
        functions = own(task)
        lines = tuple(n for n, line in functions if n != "main" and line != LINES[n])
        found[name, tuple(n for n, _ in functions), task["waiting"] and task["waiting"]["kind"],
              tuple(sorted(own(by_id[by])[-1][0] for by in task["awaited_by"])), lines] += 1
    return found


class Program:
    def __init__(self, interpreter, *how, source=SOURCE):
        command = (["chroot", interpreter.root] if interpreter.root else []) + [interpreter.path]
        self.process = subprocess.Popen(command + ["-c", source] + list(how), stdout=subprocess.PIPE,
                                        env=dict(os.environ, TASKS=str(CHILDREN)))
        self.pid = self.process.pid

    def __enter__(self):
        self.process.stdout.readline()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def has_uvloop(interpreter):
    command = (["chroot", interpreter.root] if interpreter.root else []) + [interpreter.path, "-c", "import uvloop"]
    return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


def take(pid, *how):
    done = subprocess.run([e2e.STRATA, "stack", "--tasks", str(pid)] + list(how), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=e2e.PATIENCE_S)
    return done.stdout.decode() if done.returncode == 0 else done.stderr.decode()


def check_all(tap, interpreter, mode):
    label, named = "%s, %s" % (interpreter.label, mode or "C"), interpreter.version >= (3, 8)
    wanted = collections.Counter((name if named else None, tuple(functions), kind, tuple(by), ())
                                 for name, functions, kind, by in expected(interpreter.version, mode))
    with Program(interpreter, *([mode] if mode else [])) as program:
        for _ in range(20):  # the loop may not have begun to wait
            process = json.loads(take(program.pid, "--json"))
            if summary(process["tasks"], named) == wanted:
                break
        for _ in range(20):  # a busy machine may not give one moment of all threads within 50 ms
            frozen = json.loads(take(program.pid, "--json", "--freeze"))
            if "frozen_ms" in frozen:
                break
        text = take(program.pid)
    found = summary(process["tasks"], named)
    tap.ok(found == wanted, "%s: %d tasks, what they wait for, and who awaits them" % (label, len(process["tasks"])),
           *(["missing %r" % (m,) for m in list((wanted - found).items())[:4]] +
             ["not expected %r" % (m,) for m in list((found - wanted).items())[:4]]))
    tap.ok(process["tasks_known"] and not process["tasks_limits"] and all(t["consistent"] for t in process["tasks"]),
           label + ": all, each consistent", process["tasks_limits"])
    tap.ok(summary(frozen["tasks"], named) == wanted, label + ": the same with --freeze")
    running = [t for t in process["tasks"] if t["state"] == "running"]
    threads = [t["tid"] for t in process["threads"]]
    tap.ok([own(t)[-1][0] for t in running] == (["blocker"] if mode == "block" else []) and
           all(t["tid"] in threads for t in running), label + ": what runs, and in which thread", running)
    tap.ok("\ntasks: %d\n" % sum(wanted.values()) in text and
           re.search(r"^task \S+: waiting for gather, %d awaitables\n    gatherer \(<string>:%d\)$" %
                     (CHILDREN, LINES["gatherer"]), text, re.M) and
           re.search(r"^task \S+: waiting for socket" + ("" if mode == "uvloop" else r", fd \d+ socket:"), text, re.M) and
           re.search(r"^task \S+: waiting for shield of \S+$", text, re.M), label + ": as text", text[:400])


def has_returned(task):
    """The last moment of a task: its coroutine has returned, and the loop has not marked the task done yet."""
    return task["state"] == "running" and not task["frames"]


def impossible(task, tasks):
    """What cannot be true of a task that comes and goes."""
    functions = own(task)
    if has_returned(task):
        return None
    # One that runs may be in what its coroutine calls.
    while task["state"] == "running" and functions and functions[0][0].split(".")[-1] in ("spawn", "<listcomp>"):
        functions = functions[1:]
    outermost = functions[-1][0] if functions else None
    chains = {"leaf": [["leaf"], ["leaf_inner", "leaf"]], "worker": [["worker"]], "main": [["main"]]}
    if [n for n, _ in functions] not in chains.get(outermost, []):
        return "functions", task
    if any(line != LINES[n] for n, line in functions[1:] if n != "main"):
        return "lines", task
    kinds = {"leaf": "sleep", "worker": "gather", "main": "gather"}
    if task["waiting"] and task["waiting"]["kind"] != kinds[outermost]:
        return "waiting", task
    by = [tasks[i]["name"] for i in task["awaited_by"]]
    if outermost == "leaf" and task["name"] and by not in ([], [task["name"].replace("leaf", "worker")]):
        return "awaited_by", task, by
    return None


def check_churn(tap, interpreter):
    label, tasks, inconsistent, awaited, running, returned, wrong = interpreter.label, 0, 0, 0, 0, 0, []
    with Program(interpreter, "churn") as program:
        for turn in range(TIMES):
            process = json.loads(take(program.pid, "--json", *(["--freeze"] if turn % 3 == 0 else [])))
            by_id = {task["id"]: task for task in process["tasks"]}
            for task in process["tasks"]:
                tasks += 1
                inconsistent += not task["consistent"]
                awaited += bool(task["awaited_by"])
                running += task["state"] == "running"
                returned += has_returned(task)
                if task["consistent"]:
                    found = impossible(task, by_id)
                    wrong += [found] if found else []
    tap.ok(tasks > 8 * TIMES and not wrong, "%s: %d tasks that come and go: none impossible" % (label, tasks),
           len(wrong), *wrong[:3])
    tap.ok(returned * 20 < tasks, "%s: few that have just returned: %d" % (label, returned))
    tap.ok(awaited > 4 * TIMES, label + ": and who awaits them", awaited)
    print("# %s: %d tasks, %d not consistent, %d with one who awaits them, %d running, of which %d have returned" %
          (label, tasks, inconsistent, awaited, running, returned))


def check_returned(tap, interpreter):
    with Program(interpreter, source=RETURNED) as program:
        tasks = json.loads(take(program.pid, "--json"))["tasks"]
    found = sorted((t["state"], [f["name"] for f in t["frames"]], len(t["awaited_by"]), t["consistent"]) for t in tasks)
    tap.equal(found, [("running", [], 1, True), ("waiting", ["main"], 0, True)],
              interpreter.label + ": a task that has just returned runs, and has no function")


def check_none(tap):
    with Program(interpreters.discover()[0], "block") as program:
        tap.ok(json.loads(take(program.pid, "--json"))["tasks"], "with tasks")
        done = subprocess.run([e2e.STRATA, "stack", "--json", str(program.pid)], stdout=subprocess.PIPE,
                              timeout=e2e.PATIENCE_S)
        process = json.loads(done.stdout)
        tap.ok(process["tasks"] == [] and "tasks_known" not in process, "without --tasks: an empty list")
    sleeper = subprocess.Popen(["sleep", "1000"])
    try:
        tap.ok("tasks" not in take(sleeper.pid), "a process without Python: no tasks")
    finally:
        sleeper.kill()
        sleeper.wait()


def main():
    tap = e2e.Tap()
    found = interpreters.discover()
    some = found if e2e.LONG or ONLY else interpreters.representative_and_312(found)
    for interpreter in found:
        if re.search(ONLY, interpreter.label):
            for mode in "", "plain":
                check_all(tap, interpreter, mode)
            if interpreter not in some:
                continue
            check_all(tap, interpreter, "block")
            if has_uvloop(interpreter):
                check_all(tap, interpreter, "uvloop")
            else:
                tap.skip(interpreter.label + ", uvloop", "it has no uvloop package")
            check_churn(tap, interpreter)
            check_returned(tap, interpreter)
    if not ONLY:
        check_none(tap)
    tap.done()


main()
