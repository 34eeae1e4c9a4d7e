# SPDX-License-Identifier: GPL-2.0-or-later
"""What the end-to-end tests share: running strata, reading what it wrote, speaking TAP."""
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

# A test run in the background ignores these, and so would strata: by inheritance, as its users may want it.
for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    signal.signal(ignored, signal.SIG_DFL)

STRATA = os.environ.get("STRATA", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/strata"))
PYTHON = "/usr/bin/python3"
# Uses so many seconds of CPU time: how long that takes depends on the machine, how many samples it gives does not.
BUSY = "import time\nwhile time.process_time() < %s: sum(i * i for i in range(1000))"
# Says that it is there, and waits for start()'s caller to close its standard input.
READY = "import sys; print('ready'); sys.stdout.flush(); sys.stdin.readline()\n"
SCALE = tap.SCALE
LONG = tap.LONG
PATIENCE_S = 900  # until a test is taken to hang
PYTHON_FRAME = re.compile(r"^(.*) \((.*):(\d+)\)$")
THREAD_START = re.compile(r"^(_start|__libc_start\w*|clone3?|__clone3?|start_thread|thread_start)\b")


class Tap(tap.Tap):
    """Of tests that sample something."""

    def __init__(self):
        super().__init__()
        if os.geteuid() != 0:
            print("1..0 # SKIP needs root")
            sys.exit(0)


def pythons():
    """One where each Python call is two C frames or more, one with shim frames, and the system's."""
    found = [sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.%d.*/bin/python3.%d" % (minor, minor))))[:1]
             for minor in (10, 12)]
    return sum(found, []) + [PYTHON]


def version_of(python):
    return subprocess.check_output([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).decode().strip()


def folder():
    return tempfile.TemporaryDirectory(prefix="strata-e2e-")


def record(*arguments, **options):
    """Runs `strata record`; gives the finished process with text in stdout and stderr."""
    return subprocess.run([STRATA, "record"] + list(map(str, arguments)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=PATIENCE_S, universal_newlines=True, errors="replace", **options)


def until(condition):
    """Waits until something is so; False when it did not come."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def used(pid):
    """The CPU time of all threads that a process has or had, in seconds (proc(5): 14 and 15 of stat)."""
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def in_call(pid, *names):
    """Whether a process waits in one of these system calls."""
    numbers = {"x86_64": {"write": 1, "poll": 7, "ppoll": 271}, "aarch64": {"write": 64, "ppoll": 73}}[os.uname().machine]
    try:
        with open("/proc/%d/syscall" % pid) as file:
            return file.read().split()[0] in {str(numbers[name]) for name in names if name in numbers}
    except (OSError, IndexError):
        return False


def is_sampling(pid):
    """Whether strata record has attached its programs, and waits for what they bring: it waits for others before, too."""
    try:
        files = [os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid)]
    except OSError:
        return False
    return "anon_inode:bpf_link" in files and in_call(pid, "poll", "ppoll")


def start(command, **options):
    """A program that begins with READY, when it is there. It goes on when its standard input is closed."""
    target = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
    target.stdout.readline()
    return target


def record_while(during, *arguments):
    """Runs `strata record`, calls during(process) once it samples, and ends it by Ctrl-C if it does not end by itself."""
    process = subprocess.Popen([STRATA, "record"] + list(map(str, arguments)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, universal_newlines=True, errors="replace")
    try:
        until(lambda: is_sampling(process.pid) or process.poll() is not None)
        if process.poll() is None:
            during(process)
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def let_use(pid, seconds):
    """Waits until a process has used so much more CPU time."""
    end = used(pid) + seconds
    return until(lambda: used(pid) >= end)


def record_used(pid, seconds, *arguments):
    """Records a process until it has used so much more CPU time."""
    return record_while(lambda _: let_use(pid, seconds), *(arguments + ("-p", pid)))


def record_rest(target, *arguments):
    """Records what start() has started to its end. What it writes is read, so that it never waits for a reader."""
    def go(strata):
        target.stdin.close()
        threading.Thread(target=target.stdout.read, daemon=True).start()
        strata.wait(timeout=PATIENCE_S)
    done = record_while(go, *(arguments + ("-p", target.pid)))
    target.kill()
    target.wait()
    return done


def due(seconds, frequency):
    """How many samples so much CPU time gives at least: some ticks are late, or fall into the time of a hypervisor."""
    return int(0.7 * seconds * frequency)


def folded_lines(path):
    """(stack, count) of each line."""
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        for line in file:
            stack, _, count = line.rstrip("\n").rpartition(" ")
            yield stack, int(count)


def folded(path, comm=None):
    """[(frames, count)]; the first frame is the comm. With `comm` only those of it: of all processes of a machine there may be many."""
    return [(stack.split(";"), count) for stack, count in folded_lines(path) if comm is None or stack.startswith(comm + ";")]


def total(stacks):
    return sum(count for _, count in stacks)


def count(frames, start):
    """How many frames of a stack begin with this."""
    return sum(frame.startswith(start) for frame in frames)


def share(stacks, wanted):
    """The share of samples whose frames make `wanted` true."""
    return sum(count for frames, count in stacks if wanted(frames)) / max(total(stacks), 1)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def complete(stats):
    return stats["complete"] / max(stats["samples"], 1)


def early(stats):
    """
    The samples that came before their program was known, and did not become whole: the copy of the stack was not enough, or the
    ring had no room for it. How many those are, the machine's load decides.
    """
    return stats["lost"].get("late", 0) + stats["lost"].get("stack-missing", 0)


def native_name(frame):
    return frame.rpartition(" (")[0] or frame


def programs_loaded():
    """The ids of the BPF programs in the kernel."""
    bpftool = next(p for p in ("/usr/sbin/bpftool", "/usr/bin/bpftool", "/sbin/bpftool") if os.path.exists(p))
    return {p["id"] for p in json.loads(subprocess.check_output([bpftool, "-j", "prog", "list"]).decode() or "[]")}


def programs_of(pid):
    """The ids of the BPF programs that a process has descriptors of."""
    found = set()
    for fd in os.listdir("/proc/%d/fdinfo" % pid):
        try:
            with open("/proc/%d/fdinfo/%s" % (pid, fd)) as file:
                found.update(int(line.split()[1]) for line in file if line.startswith("prog_id:"))
        except OSError:
            pass
    return found


def perf_events_of(pid):
    """How many perf events a process has open."""
    found = 0
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            found += "perf_event" in os.readlink("/proc/%d/fd/%s" % (pid, fd))
        except OSError:
            pass
    return found


def go_signal_return(program):
    """Where a Go program's way back from a signal lies: sigreturn, or as newer versions of Go say, sigreturn__sigaction."""
    for line in subprocess.check_output(["nm", "-S", program], universal_newlines=True).split("\n"):
        words = line.split()
        if len(words) == 4 and re.match(r"runtime\.sigreturn(__sigaction)?\.abi0$", words[3]):
            return range(int(words[0], 16), int(words[0], 16) + int(words[1], 16))
    raise LookupError("no runtime.sigreturn in " + program)


def wrong_of_libdw(told, signal_return):
    """Of the frames that differ, those above a signal trampoline whose CFI calls it a function."""
    return len(re.findall(r"another frame at frame 1 of \d+\nverify: +0 strata +(?:%s) " %
                          "|".join(map(hex, signal_return)), "\n".join(told))) if signal_return else 0
