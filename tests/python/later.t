#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""later: python:EVENT for all Pythons of the machine, and Pythons whose files appear after tracing began, where nobody looked
for them: a copy, a copy that is deleted, one in a mount namespace of its own, one below two overlays, another build. Each gets
the probes while its first process runs; from then on every call is told, once."""
import os
import re
import shutil
import signal
import subprocess
import tempfile

from probe_run import STRATA, until  # first: it finds the others
from interpreters import discover
from tap import Tap

CALLS = 200
# Calls until strata has told one, if it is to wait; then a number of them.
PROGRAM = """
import os, sys, time
told, name, calls = sys.argv[1], sys.argv[2], int(sys.argv[3])
exec("def strata_begin_%s(): pass\\ndef strata_call_%s(): pass" % (name, name))
begin, call = globals()["strata_begin_" + name], globals()["strata_call_" + name]
if "delete" in sys.argv:
    os.unlink(os.path.realpath("/proc/self/exe"))
end = time.monotonic() + 20
while told and time.monotonic() < end:
    begin()
    with open(told) as file:
        if "strata_begin_" + name + chr(10) in file.read():
            break
    time.sleep(0.002)
for i in range(calls):
    call()
"""
SCRIPT = """python:function-entry /strncmp(args.function, "strata_begin_", 13) == 0/ { printf("%s\\n", args.function); }
python:function-entry /strncmp(args.function, "strata_call_", 12) == 0/ { @[args.function] = count(); }"""


class Traced:
    """strata trace of all Pythons, and what it tells."""

    def __init__(self, folder):
        self.folder, self.told = folder, os.path.join(folder, "told")
        self.program = os.path.join(folder, "program.py")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        env = dict(os.environ, PATH="/usr/sbin:/usr/bin:/sbin:/bin")
        self.strata = subprocess.Popen([STRATA, "trace", "-o", self.told, "-e", SCRIPT], env=env, stdout=subprocess.DEVNULL,
                                       stderr=open(os.path.join(folder, "messages"), "w", encoding="utf-8"))
        until(lambda: self.strata.poll() is not None or "Attached" in self.messages())
        self.attached = self.strata.poll() is None

    def messages(self):
        with open(os.path.join(self.folder, "messages"), encoding="utf-8") as file:
            return file.read()

    def output(self):
        with open(self.told, encoding="utf-8") as file:
            return file.read()

    def run(self, python, name, *more, prefix=(), waits=True, calls=CALLS):
        command = [*prefix, python, self.program, self.told if waits else "", name, str(calls), *more]
        return subprocess.run(command, stdin=subprocess.DEVNULL, check=False, timeout=120).returncode

    def end(self):
        self.strata.send_signal(signal.SIGINT)
        self.strata.wait(60)
        return dict(re.findall(r"@\[strata_call_(\w+)\]: (\d+)", self.output()))


def in_namespace(folder, python):
    """A shell's command line that runs a copy that only its mount namespace has."""
    script = "mount -t tmpfs none '%s' && cp '%s' '%s/python' && shift && exec '%s/python' \"$@\"" % (folder, python, folder, folder)
    return ("unshare", "-m", "sh", "-c", script, "sh")


def overlays(folder, python):
    """Two overlays of the folder that has a copy: where they are mounted; None: there is no overlay here."""
    made = []
    os.makedirs(os.path.join(folder, "lower"))
    shutil.copy(python, os.path.join(folder, "lower/python"))
    for name in "one", "two":
        for part in "upper", "work", "merged":
            os.makedirs(os.path.join(folder, name, part))
        options = "lowerdir=%s/lower,upperdir=%s/%s/upper,workdir=%s/%s/work" % (folder, folder, name, folder, name)
        merged = os.path.join(folder, name, "merged")
        if subprocess.call(["mount", "-t", "overlay", "overlay", "-o", options, merged], stderr=subprocess.DEVNULL):
            for path in made:
                subprocess.call(["umount", path])
            return None
        made.append(merged)
    return made


def other_build():
    """One that is not in the usual PATH, and whose markers and content are another's; None: there is none at hand."""
    return next((i for i in discover() if i.label.startswith("pyenv-3.12")), None)


def check(tap, folder):
    system = os.path.realpath("/usr/bin/python3")
    traced = Traced(folder)
    tap.ok(traced.attached, "attached", traced.messages())
    if not traced.attached:
        return
    expected = {}
    copy = os.path.join(folder, "copy")
    shutil.copy(system, copy)
    traced.run(copy, "copy")
    traced.run(copy, "again", waits=False)
    deleted = os.path.join(folder, "deleted")
    shutil.copy(system, deleted)
    traced.run(deleted, "deleted", "delete")
    os.makedirs(os.path.join(folder, "private"))
    traced.run("python", "private", prefix=in_namespace(os.path.join(folder, "private"), system))
    expected.update({name: str(CALLS) for name in ("copy", "again", "deleted", "private")})
    merged = overlays(os.path.join(folder, "overlays"), system)
    if merged:
        traced.run(merged[0] + "/python", "one")
        traced.run(merged[1] + "/python", "two")
        expected.update(one=str(CALLS), two=str(CALLS))
    other = other_build()
    if other:
        traced.run(other.path, "other")
        traced.run(other.path, "twice", waits=False)
        expected.update(other=str(CALLS), twice=str(CALLS))
    counts = traced.end()
    # The kernel lets go of the files a while after strata has ended.
    for path in merged or []:
        until(lambda path=path: not subprocess.call(["umount", path], stderr=subprocess.DEVNULL))
    for name, what in (("copy", "a copy"), ("again", "a second process of that"), ("deleted", "one that was deleted"),
                       ("private", "in a mount namespace of its own"), ("one", "below an overlay"),
                       ("two", "the same file below another overlay: once"), ("other", "another build"),
                       ("twice", "a second process of that")):
        if name in expected:
            tap.ok(counts.get(name) == expected[name], "%s: %s calls" % (what, expected[name]), counts, traced.messages())
        else:
            tap.skip(what, "it cannot be made here")
    tap.ok(re.search(r"python: \d+ files appeared later and got the probes, [\d.]+ ms", traced.messages()),
           "how soon is told", traced.messages())


def check_refused(tap, folder):
    """What looks like a Python, and is none that is understood: it is told, and nothing else happens."""
    traced = Traced(folder)
    fake = os.path.join(folder, "fake")
    shutil.copy("/bin/true", fake)
    for i in range(3):  # a file that is none
        subprocess.call([fake])
    tap.ok(traced.attached and "fake" not in traced.messages(), "of what is no Python nothing is said", traced.messages())
    copy = os.path.join(folder, "copy")
    shutil.copy(os.path.realpath("/usr/bin/python3"), copy)
    traced.run(copy, "after")
    tap.ok(traced.end().get("after") == str(CALLS), "and the next Python has its probes", traced.messages())


def main():
    tap = Tap()
    if os.geteuid():
        print("1..0 # SKIP needs root")
        return
    for function in check, check_refused:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            function(tap, folder)
    tap.done()


main()
