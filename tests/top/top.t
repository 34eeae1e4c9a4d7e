#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""strata top: as text, beside what the program says about itself; and on a terminal, driven by tmux. ORACLE_ONLY is a regular
expression of labels of interpreters for the GIL's column; STACK_ALL=1 takes every one at hand."""
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../e2e"), os.path.join(HERE, "../oracle")]
sys.dont_write_bytecode = True
import e2e  # noqa: E402
import interpreters  # noqa: E402

TAP = e2e.Tap()
ok = TAP.ok

# Uses CPU time in two functions, three parts to one, and writes how much in each.
PROGRAM = """import sys, time

def spend(until):
    x = 0
    while time.process_time() < until:
        for i in range(200):
            x += i * i
    return x

def hot(until):
    return spend(until)

def warm(until):
    return spend(until)

used = {"hot": 0.0, "warm": 0.0}
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end:
    for function, share in ((hot, 0.06), (warm, 0.02)):
        before = time.process_time()
        function(before + share)
        used[function.__name__] += time.process_time() - before
    sys.stdout.flush()
print(*used.values(), file=open(sys.argv[2], "w"))
"""


# Rests most of the time: for what needs a sample or two only.
RESTING = """import sys, time
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    before = time.process_time()
    while time.process_time() < before + 0.01: pass
    time.sleep(0.09)
"""


def top(*arguments, **how):
    return subprocess.run([e2e.STRATA, "top", *arguments], capture_output=True, text=True, timeout=120, **how)


def rows(window):
    """NAME → (own %, total %, own s, total s, GIL % or None) of a window's text."""
    found = {}
    for line in window.splitlines():
        match = re.match(r" *([0-9.]+) +([0-9.]+) +([0-9.]+) +([0-9.]+) +(-|[0-9.]+)(?: +(?:-|[0-9.]+))?  (.+)$", line)
        if match:
            found[match[6]] = tuple(None if x == "-" else float(x) for x in match.groups()[:5])
    return found


def windows(text):
    return [w for w in re.split(r"(?m)^(?=window [0-9]+: )", text) if w.strip()]


def test_batch(folder):
    script, said = os.path.join(folder, "spend.py"), os.path.join(folder, "said")
    with open(script, "w", encoding="utf-8") as out:
        out.write(PROGRAM)
    for by, hot, warm in (("function", f"hot ({script})", f"warm ({script})"),
                          ("line", f"hot ({script}:11)", f"warm ({script}:14)")):
        run = top("--batch", "1000", "-F", "1999", "-i", "0.25", "--rows", "0", "--by", by, "--", e2e.PYTHON, script, "1.5", said)
        ok(run.returncode == 0, f"by {by}: a command until it ends", run.stderr)
        last = [rows(w) for w in windows(run.stdout)]
        ok(len(last) >= 6, "  a window each quarter of a second", f"{len(last)}")
        totals = {}
        for window in last:
            totals.update({name: row[3] for name, row in window.items()})
        with open(said, encoding="utf-8") as file:
            truth = [float(x) for x in file.read().split()]
        for name, used in ((hot, truth[0]), (warm, truth[1])):
            # 3,000 samples: one sigma is 2 % of the smaller one.
            ok(abs(totals.get(name, 0) - used) < 0.1 * used, f"  {name.split()[0]}: as much as it says itself",
               f"{totals.get(name)} s, itself {used:.2f} s")
    run = top("--batch", "1000", "-i", "0.25", "--layers", "Python", "--rows", "1", "--", e2e.PYTHON, script, "1", said)
    first = [list(rows(w)) for w in windows(run.stdout)]
    first = [w for w in first if w]  # it may have had no CPU in a window
    ok(sum(w == [f"spend ({script})"] for w in first) >= len(first) - 2, "Python only: what it calls is its own", f"{first}")
    ok("and " in run.stdout and " more" in run.stdout, "and how many rows are not there")
    for by, wanted in (("process", r"[0-9]+ python3(\.[0-9]+)?"), ("threads", r"[0-9]+ python3(\.[0-9]+)? \(pid [0-9]+\)"), ("cgroup", r"/.*")):
        run = top("--batch", "1", "-i", "1", "-F", "997", "--by", by, "--", e2e.PYTHON, "-c", RESTING, "3")
        ok(any(re.fullmatch(wanted, name) for w in windows(run.stdout) for name in rows(w)), f"by {by}", run.stdout + run.stderr)
    test_cgroup()
    run = top("--batch", "1", "-i", "0.5", "--filter", "nothing has this name", "--", e2e.PYTHON, "-c", RESTING, "1000")
    ok(run.stdout.startswith("window 1: ") and not rows(run.stdout), "a filter that nothing passes", run.stdout + run.stderr)
    ok(run.returncode == 128 + 15, "the command is ended after the last window", run.returncode)
    run = top("--batch", "3", "--", "sh", "-c", "exit 7")
    ok(run.returncode == 7, "the command's exit status", run.stdout + run.stderr)
    return script, said


def test_cgroup():
    """A unit of our own, where there are cgroups of version 2; on some machines beside those of version 1."""
    mounts = [line.split() for line in open("/proc/mounts", encoding="utf-8")]
    mount = next((m[1] for m in mounts if m[2] == "cgroup2"), None)
    if not mount:
        return TAP.skip("cgroups", "none of version 2")
    unit = f"strata-test-{os.getpid()}.service"
    os.mkdir(f"{mount}/{unit}")
    try:
        for by, wanted in (("cgroup", "/" + unit), ("container", unit)):
            run = top("--batch", "1000", "-i", "0.5", "-F", "997", "--by", by, "--", "sh", "-c",
                      f'echo $$ >"$0" && exec "$@"', f"{mount}/{unit}/cgroup.procs", e2e.PYTHON, "-c", RESTING, "1")
            ok(any(wanted in rows(w) for w in windows(run.stdout)), f"by {by}: one of our own", run.stdout + run.stderr)
    finally:
        e2e.until(lambda: not open(f"{mount}/{unit}/cgroup.procs", encoding="utf-8").read())
        os.rmdir(f"{mount}/{unit}")


def gil_windows(interpreter, folder, by, interval, seconds, threads):
    """The rows of each window of tests/top/gil.py, and what that says of itself."""
    said = os.path.join(folder, "said")
    run = top("--batch", "1000", "-F", "1999", "-i", interval, "--rows", "0", "--by", by, "--", interpreter.path, os.path.join(HERE, "gil.py"),
              str(seconds), str(threads), said)
    if run.returncode:
        return [], run.stderr
    with open(said, encoding="utf-8") as file:
        return [rows(w) for w in windows(run.stdout)], [float(x) for x in file.read().split()]


def test_gil(folder):
    """Who holds the GIL on the CPU: the program holds it in one function, and not in what another one calls."""
    here = [i for i in interpreters.discover() if i.root is None]
    only = os.environ.get("ORACLE_ONLY", "")
    for one in here if only or os.environ.get("STACK_ALL") else interpreters.representative(here):
        if not re.search(only, one.label):
            continue
        # One window: in the last one of many, which may be as short as can be, a single sample is a large share.
        found, truth = gil_windows(one, folder, "function", "600", 1, 0)
        if not ok(found, f"{one.label}: by function", truth):
            continue
        sums = {}
        for name in ("hold", "release"):
            mine = [row for window in found for text, row in window.items() if text.startswith(name + " (")]
            # The share of its CPU time; the first samples may come before the runtime is known.
            sums[name] = [sum(row[1] for row in mine), sum(row[4] or 0 for row in mine), mine[-1][4] if mine else None]
        if one.label.endswith("-nogil"):
            ok(sums["hold"][2] is None, f"{one.label}: free-threaded: none", sums)
            continue
        # The interpreter takes the GIL for each call of time.process_time(), and zlib.crc32() begins with it.
        ok(sums["hold"][1] >= 0.98 * sums["hold"][0] > 0, f"{one.label}: held where it is held", (sums, truth))
        ok(sums["release"][1] <= 0.02 * sums["release"][0], f"{one.label}: not where it is not", (sums, truth))
        found, truth = gil_windows(one, folder, "threads", "0.25", 1, 8)
        held = [sum(row[4] or 0 for row in window.values()) for window in found]
        busy = [sum(row[1] for row in window.values()) for window in found]
        # Threads that compete use the CPU without the GIL while they wait for it and take it.
        count, share, all_share = len(held) - 2, sum(held[1:-1]), sum(busy[1:-1])
        ok(0 < share <= 102 * count, f"{one.label}: 8 threads: one at a time", (held, busy))
        ok(share >= 0.9 * min(all_share, 100 * count), f"{one.label}: one of them has it for {share / count:.0f} %, of {all_share / count:.0f} % of a CPU",
           (held, busy))
    run = top("--batch", "2", "-i", "0.5", "--by", "threads", "--", "sh", "-c", "while :; do :; done")
    mine = [row for window in windows(run.stdout) for name, row in rows(window).items() if " sh (pid " in name]
    ok(mine and all(row[4] is None for row in mine), "a program without Python has no GIL", run.stdout)


# Waits for a second each time, for less than a window, for ever; and runs a tenth of the time.
WAITER = """import os, threading, time
def long():
    while True: time.sleep(1.13)
def short():
    while True: time.sleep(0.07)
def never():
    os.read(os.pipe()[0], 1)
for f in long, short, never:
    threading.Thread(target=f, daemon=True).start()
end = time.monotonic() + 7
while time.monotonic() < end:
    before = time.process_time()
    while time.process_time() < before + 0.01: pass
    time.sleep(0.09)
"""


def test_waits(folder):
    script = os.path.join(folder, "waiter.py")
    with open(script, "w", encoding="utf-8") as out:
        out.write(WAITER)
    waiter = subprocess.Popen([e2e.PYTHON, script])
    try:
        e2e.until(lambda: len(os.listdir(f"/proc/{waiter.pid}/task")) == 4)
        run = top("-p", str(waiter.pid), "--off-cpu", "--batch", "1000", "-i", "0.5", "--rows", "0", "--layers", "Python")
    finally:
        waiter.kill()
        waiter.wait()
    found = windows(run.stdout)
    ok(len(found) > 6 and run.returncode == 0, "time off the CPU, until the process ends", run.stderr)
    # The first window may have begun before a thread waited, and the last one after the end.
    for name in "long", "short", "never":
        shares = [sum(row[0] for text, row in rows(w).items() if text.startswith(name + " (")) for w in found[1:-1]]
        # A wait that is short when a window ends is in the next one: so of short waits only the sum is known.
        if name == "short":
            shares = [sum(shares) / len(shares)]
        ok(all(95 <= share <= 105 for share in shares), f"  {name}: in each window all the time", shares)
    spent = sum(float(re.match(r"window [0-9]+: ([0-9.]+) s", w)[1]) for w in found)
    last = {text.split(" (")[0]: row[2] for w in found for text, row in rows(w).items()}
    ok(all(abs(last[name] - spent) <= 0.05 + 0.01 * spent for name in ("long", "never")), "  and no time is counted twice",
       (spent, last))
    run = top("--wall", "-F", "199", "--batch", "1000", "-i", "0.5", "--rows", "0", "--by", "thread", "--", e2e.PYTHON,
              os.path.join(HERE, "gil.py"), "1", "8", os.path.join(folder, "said"))
    held, awaited, waits = 0, 0, 0
    for line in run.stdout.splitlines():
        match = re.match(r" *[0-9.]+ +([0-9.]+) +[0-9.]+ +[0-9.]+ +([0-9.]+) +([0-9.]+)  [0-9]+ ", line)
        if match:
            waits, held, awaited = waits + float(match[1]), held + float(match[2]), awaited + float(match[3])
    ok(held > 0 and 5 * held <= awaited <= waits, "8 threads with one GIL: one holds it, the others wait", (held, awaited, waits))


def test_wrong():
    for arguments, status, text in ((["--by", "weather", "--batch", "1"], 2, "known are function, line"),
                                    (["--batch", "0"], 2, "from 1 on"), (["-i", "0.01", "--batch", "1"], 2, "from 0.1 s"),
                                    (["--filter", "(", "--batch", "1"], 1, "regular expression"),
                                    (["--filter", "((a{1,255}){1,255}){1,255}", "--batch", "1"], 1, "{}"),
                                    (["-p", "999999999"], 1, "999999999"), ([], 1, "--batch"), (["--wall", "--off-cpu", "--batch", "1"], 2, "give one"), (["--", "ls"], 2, "--batch")):
        run = top(*arguments, stdin=subprocess.DEVNULL)
        ok(run.returncode == status and text in run.stderr and run.stderr.count("\n") == 1, f"wrong: {' '.join(arguments)}",
           f"{run.returncode}: {run.stderr}")


class Screen:
    """A terminal that tmux emulates."""

    def __init__(self, folder, command, columns=80, lines=24):
        # A server of its own: one that was told to end may still take a command.
        self.tmux = ["tmux", "-f", "/dev/null", "-S", os.path.join(tempfile.mkdtemp(dir=folder), "tmux")]
        subprocess.run([*self.tmux, "new-session", "-d", "-x", str(columns), "-y", str(lines),
                        f"{command}; echo ended: $?; exec cat"], check=True,
                       env={**os.environ, "LC_ALL": "C.UTF-8"})

    def text(self, *options):
        return subprocess.run([*self.tmux, "capture-pane", "-p", *options], capture_output=True, text=True, check=False).stdout

    def keys(self, *keys):
        subprocess.run([*self.tmux, "send-keys", *keys], check=True)

    def resize(self, columns, lines):
        subprocess.run([*self.tmux, "resize-window", "-x", str(columns), "-y", str(lines)], check=True)

    def shows(self, pattern, *options, patience=60):
        """Waits until the screen has it."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if re.search(pattern, self.text(*options), re.MULTILINE):
                return True
            time.sleep(0.05)
        return False

    def check(self, pattern, name):
        ok(self.shows(pattern), name, self.text())

    def end(self):
        subprocess.run([*self.tmux, "kill-server"], capture_output=True, check=False)


def test_screen(folder, script, said):
    worker = subprocess.Popen([e2e.PYTHON, script, "100000", said])
    saved = os.path.join(folder, "window.folded")
    screen = Screen(folder, f"{e2e.STRATA} top -p {worker.pid} -i 0.5")
    try:
        screen.check(rf"\A *strata top: pid {worker.pid}  99 Hz, window 0\.5 s", "the head says what is sampled")
        screen.check(r"^CPU [0-9.]+ % of [0-9]+  [0-9]+ samples  [0-9.]+ % complete.*Python [0-9]+ %", "and how well")
        screen.check(r"^ *[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+  spend \(", "rows have figures")
        screen.keys("t")
        screen.check(r"by function, total first\n.*\n *[0-9.]+ +([0-9.]+) .*\n *[0-9.]+ +\1 ", "t: the most total time first")
        screen.keys("Down", "Down", "/")
        screen.keys("hot", "Enter")
        screen.check(r"by function, total first, /hot/\n.*\n.*  hot \(.*\n\n", "a filter")
        screen.keys("Enter")
        screen.check(r"of its [0-9.]+ s \([0-9.]+ s in all\) have this stack.*\n(.*\n)* *hot \(.*\n *<module> \(", "Enter: its stack")
        screen.keys("Escape", "/", "BSpace", "BSpace", "BSpace", "Enter")
        screen.keys("5")
        screen.check(rf"by process.*\n.*\n.*  {worker.pid} python3", "processes")
        screen.keys("?")
        screen.check(r"hottest stack of the row", "help")
        screen.keys("x", "1", "m", "m", "/", "waiting", "Enter")  # how many other rows have more time, the machine decides
        screen.check(r"\A.*\nwall [0-9.]+ %  .*\n(.*\n)+ *[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.-]+ +[0-9.-]+  \[waiting: preempted\]",
                     "m: on the CPU and off it")
        screen.keys("/", *["BSpace"] * 7, "Enter", "m", "y")
        screen.check(r"\A.*\nCPU [0-9.]+ % of .*\nby function, total first, Python only", "back to the CPU; layers")
        screen.keys("Space")
        screen.check(r"paused", "a pause")
        screen.keys("w", *["BSpace"] * 8, saved, "Enter")
        screen.check(r"wrote .*window\.folded", "a window is written")
        with open(saved, encoding="utf-8") as file:
            ok("hot (" in file.read(), "it has the stacks")
        screen.keys("w", "x", "Enter")
        screen.check(r"suffix names no format", "a wrong name costs nothing but a message")
        screen.keys("Space")
        screen.resize(40, 8)
        screen.check(r"\A.*\n.*\n.*\n +own% total%  function\n( *[0-9.]+ +[0-9.]+  .*\n){3}\?", "40 columns, 8 lines")
        screen.resize(20, 3)
        screen.check(r"\Astrata top: pid [0-9]*\nCPU.*\n\?", "20 columns, 3 lines")
        screen.resize(120, 40)
        screen.check(r"^ *[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+  spend \(", "and back")
        ok("\033[38;5;179m" in screen.text("-e") or "\033[33m" in screen.text("-e"), "Python has its colour", repr(screen.text("-e")[:500]))
        worker.kill()
        worker.wait()
        screen.check(r" ended ", "the process ends: what there was stays on the screen")
        screen.keys("1")
        screen.keys("q")
        screen.check(r"^ended: 0", "q ends it")
    finally:
        worker.kill()
        worker.wait()
        screen.end()

    screen = Screen(folder, f"NO_COLOR=1 {e2e.STRATA} top -F 49")
    try:
        screen.check(r"^CPU ", "NO_COLOR")
        ok(not re.search("\033\\[([0-9;]*;)?(3[0-8]|9[0-7])[0-9;]*m", screen.text("-e")), "  nothing is coloured", repr(screen.text("-e")[:500]))
        screen.keys("C-c")
        screen.check(r"^ended: 0", "Ctrl-C ends it")
    finally:
        screen.end()

    screen = Screen(folder, f"TERM=dumb {e2e.STRATA} top")
    try:
        screen.check(r"^ended: (0|1)", "a terminal that cannot be drawn on")
        ok("--batch" in screen.text(), "  says what to do", screen.text())
    finally:
        screen.end()


def main():
    with tempfile.TemporaryDirectory() as folder:
        script, said = test_batch(folder)
        test_gil(folder)
        test_waits(folder)
        test_wrong()
        test_screen(folder, script, said)
    TAP.done()


main()
