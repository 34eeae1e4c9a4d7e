#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs dtrace-utils' own unit tests against strata through a link named dtrace, and judges them as its runtest.sh does.

    STRATA=build/strata dtrace_suite.py [-j JOBS] [-t SECONDS] [-o FILE] SUITE [GROUP|GROUP/TEST]...

SUITE is a checkout of dtrace-utils (branch devel). C triggers are compiled into its test/triggers; what does not compile
here is missing. Left out, each with its reason counted: groups that need fbt, the network, lockstat, cpc, sdt or the C
library of dtrace; tests that use those or dtrace -h and -G; and those that the suite itself skips or expects to fail.
Prints passed/failed for each group; FILE gets a line for each test that failed: why, its name. Needs root, gawk, tclsh.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED_GROUPS = {"fbtprovider", "ip", "tcp", "udp", "lockstat", "cpc", "mib", "sdt", "pcap", "consumer"}
NEEDS = re.compile(r"(?m)^\s*(?:(?:fbt|sdt|cpc|ip|tcp|udp|lockstat|mib|rawtp|rawfbt):|fbt::)|"
                   r"-[lnPfm] *['\"]?(?:fbt|sdt|cpc|ip|tcp|udp|lockstat|mib|rawtp)\b|"
                   r"\$dtrace\b.* -(?:G|h|[a-zA-Z]*[Gh]) |-ldtrace|test_libdir")
HEX = re.compile(rb"0x[0-9a-f]+")


class Suite:
    def __init__(self, folder, work, dtrace, seconds):
        self.folder, self.work, self.dtrace, self.seconds = os.path.realpath(folder), work, dtrace, seconds
        self.cpp = "-DARCH_x86_64 -I%s/include -I%s/uts/common" % (self.folder, self.folder)

    def options(self, test, name):
        """The text after @@NAME in the test or the test.options above it; None: there is none."""
        pattern = re.compile(r"@@%s(?: *:| |$)(.*)" % re.escape(name))
        files = [test]
        folder = os.path.dirname(test)
        while folder.startswith(self.folder + "/test"):
            files.append(folder + "/test.options")
            folder = os.path.dirname(folder)
        for file in files:
            if os.path.isfile(file):
                with open(file, errors="replace") as f:
                    for line in f:
                        match = pattern.search(line.rstrip("\n"))
                        if match:
                            return re.sub(r"\*/$", "", match.group(1).strip()).strip()
        return None

    def trigger_flags(self):
        """{trigger: flags}, as the suite's own build has them."""
        flags = {"ustack-tst-mtspin": ["-pthread"]}
        with open(self.folder + "/test/triggers/Build") as f:
            for name, text in re.findall(r"(?m)^([\w-]+)_(?:CFLAGS|LDFLAGS|LIBS) := *(.*)$", f.read()):
                flags.setdefault(name, []).extend(text.split())
        return flags

    def triggers(self):
        """Compiles those that compile, and the suite's own tools."""
        flags = self.trigger_flags()
        for folder in (self.folder + "/test/triggers", self.folder + "/test/utils"):
            for name in sorted(os.listdir(folder)):
                base, ext = os.path.splitext(name)
                if ext != ".c" or os.path.exists(folder + "/" + base) or name.startswith(("libproc", "usdt")):
                    continue
                subprocess.run(["gcc", "-std=gnu99", "-D_GNU_SOURCE", "-O1", "-o", folder + "/" + base,
                                folder + "/" + name, *flags.get(base, [])], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, check=False)

    def tests(self, wanted):
        """(group, file)"""
        unit = self.folder + "/test/unittest"
        found = []
        for group in sorted(os.listdir(unit)):
            if not os.path.isdir(unit + "/" + group):
                continue
            for at, _, names in sorted(os.walk(unit + "/" + group)):
                for name in sorted(names):
                    path = os.path.join(at, name)
                    if not name.startswith(".") and os.path.splitext(name)[1] in (".d", ".sh", ".c"):
                        if not wanted or group in wanted or path[len(unit) + 1:] in wanted:
                            found.append((group, path))
        return found

    def left_out(self, group, test):
        """Why this one is not judged; None: it is."""
        if group in SKIPPED_GROUPS:
            return "group " + group
        if test.endswith(".c"):
            return "needs dtrace's C library"
        with open(test, errors="replace") as f:
            text = f.read()
        if NEEDS.search(text):
            return "needs fbt, network, cpc, lockstat, sdt, -G or -h"
        for name in ("skip", "xfail"):
            if self.options(test, name) is not None:
                return "@@" + name
        base = os.path.splitext(test)[0]
        if os.path.exists(base + ".x") and subprocess.run(
                ["bash", base + ".x"], env=self.environment(test, self.work), cwd=self.folder, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
            return "its .x file says so"
        if self.trigger(test) and not os.access(self.trigger(test).split()[0], os.X_OK):
            return "its trigger does not compile here"
        return None

    def trigger(self, test):
        base = os.path.splitext(test)[0]
        if os.path.exists(base + ".t"):
            return base + ".t"
        name = self.options(test, "trigger")
        return None if name in (None, "", "none") else self.folder + "/test/triggers/" + name

    def environment(self, test, folder, flags="", pid=""):
        env = dict(os.environ, _DTRACE_TESTING="t", LANGUAGE="C", LC_ALL="C", dtrace=self.dtrace, tmpdir=folder, _test=test,
                   test_cppflags=self.cpp, dt_flags=flags, arch="x86_64", test_libdir="installed", test_ldflags="",
                   tst=os.path.splitext(test)[0], timeout=str(self.seconds), _pid=pid,
                   DTRACE_OPT_CPPARGS="-fno-diagnostics-show-caret -fdiagnostics-color=never "
                                      "-fno-diagnostics-show-option -fno-show-column")
        env.pop("BASH_ENV", None)
        return env

    def run(self, test):
        """None, or why it failed."""
        tries = int(self.options(test, "reinvoke-failure") or 0) + 1
        why = None
        for _ in range(tries):
            why = self.run_once(test)
            if why is None:
                break
        return why

    def run_once(self, test):
        folder = tempfile.mkdtemp(dir=self.work)
        try:
            return self.judged(test, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def judged(self, test, folder):
        name, base = os.path.basename(test), os.path.splitext(test)[0]
        is_script = test.endswith(".sh")
        relative = os.path.relpath(test, self.folder)
        raw, tag = self.cpp, None
        if re.match(r"(err|drp)\.D[_A-Z]", name):
            raw += " -xerrtags" if name.startswith("err") else " -xdroptags"
            tag = name.split(".")[1]
        opts = self.options(test, "runtest-opts") or ""
        opts = subprocess.run(["bash", "-c", 'eval printf %%s \\""%s"\\"' % opts], env=self.environment(
            test, folder, pid="$_pid"), stdout=subprocess.PIPE, text=True, check=False).stdout if opts else ""
        trigger, background = self.trigger(test), None
        timing = self.options(test, "trigger-timing") or "synchro"
        limit = max(self.seconds, int(self.options(test, "timeout") or 0))
        flags = (raw if is_script else raw + " -s " + relative) + (" " + opts if opts else "")
        if not trigger and not is_script and not re.match(r"(tst|err|drp)\.", name) and self.options(
                test, "trigger") != "none":
            flags += " -e"
        if trigger and timing != "synchro":
            delay = {"before": "0", "after": "1"}.get(timing, timing)
            # bash asks for the size of its window on the way, with the ioctl() that some tests wait for.
            background = subprocess.Popen(["dash", "-c", "sleep %s; exec %s" % (delay, trigger)], cwd=self.folder,
                                          start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            flags = flags.replace("$_pid", str(background.pid))
            if timing == "before":
                self.wait_for_exec(background.pid)
        env = self.environment(relative, folder, flags, str(background.pid) if background else "")
        with open(test, errors="replace") as f:
            first = f.readline()
        if first.split()[:1] == ["#!dtrace"]:
            copy = folder + "/interpreter.d"
            with open(test, errors="replace") as f, open(copy, "w") as out:
                out.write(f.read().replace("#!dtrace ", "#!%s " % self.dtrace, 1))
            os.chmod(copy, 0o755)
            command = [copy] + raw.split()
        elif is_script:
            command = [test, self.dtrace] if os.access(test, os.X_OK) else ["bash", test, self.dtrace]
        else:
            command = [self.dtrace] + flags.split()
        if trigger and timing == "synchro":
            command += ["-c", trigger]
        status, out, err = self.command(command, env, limit)
        if background:
            try:
                os.killpg(background.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            background.wait()
        if first.startswith("#!dtrace"):
            out, err = (x.replace(copy.encode(), relative.encode()) for x in (out, err))
        return self.verdict(test, base, folder, env, tag, status, out, err)

    @staticmethod
    def wait_for_exec(pid):
        """Until the shell has become the trigger, for ten seconds at most."""
        for _ in range(1000):
            try:
                if os.path.basename(os.readlink("/proc/%d/exe" % pid)) not in ("dash", "python3"):
                    break
                with open("/proc/%d/cmdline" % pid, "rb") as f:
                    if not f.read().startswith(b"dash\0-c"):
                        break
            except OSError:
                break
            time.sleep(0.01)

    def command(self, command, env, limit):
        with open("/dev/null") as null, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            # timeout ends it even when this runner has been killed.
            child = subprocess.Popen(["timeout", "-k", "5", str(limit + 15)] + command, cwd=self.folder, env=env, stdin=null, stdout=out, stderr=err,
                                     start_new_session=True)
            try:
                status = child.wait(timeout=limit)
            except subprocess.TimeoutExpired:
                status = 124
                for number in (signal.SIGTERM, signal.SIGKILL):
                    try:
                        os.killpg(child.pid, number)
                        child.wait(timeout=5)
                    except (ProcessLookupError, subprocess.TimeoutExpired):
                        pass
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            out.seek(0)
            err.seek(0)
            return status, out.read(), err.read()

    def verdict(self, test, base, folder, env, tag, status, out, err):
        found = tag is None or ("[%s]" % tag).encode() in err
        if err:
            out += b"-- @@stderr --\n" + err
        why = None
        post = base + ".r.p"
        if os.access(post, os.X_OK):
            with open(folder + "/raw", "wb") as f:
                f.write(out)
            with open(folder + "/raw", "rb") as f:
                done = subprocess.run([post], stdin=f, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                      cwd=self.folder, env=env, check=False)
            if done.returncode:
                why = "postprocessor failed"
            else:
                out = done.stdout
        out = re.sub(rb"at BPF pc [1-9][0-9]*", b"at BPF pc NNN", HEX.sub(b"{ptr}", out))
        expected = 1 if os.path.basename(test).startswith("err.") else 0
        result = base + ".x86_64.r" if os.path.exists(base + ".x86_64.r") else base + ".r"
        if os.path.exists(result):
            with open(result, "rb") as f:
                want = f.read()
            order = list if self.options(test, "nosort") is not None else sorted
            if order(want.split(b"\n")) != order(out.split(b"\n")):
                why = "output"
        if not found:
            why = "tag " + tag
        elif status == 124 and self.options(test, "timeout-success") is None:
            why = "time limit"
        elif status not in (expected, 124):
            why = "status %d" % status
        self.keep(test, out if why else None)
        return why

    def keep(self, test, out):
        """What a failed test printed, in WORK/out."""
        name = self.work + "/out/" + os.path.relpath(test, self.folder + "/test/unittest").replace("/", "+")
        os.makedirs(self.work + "/out", exist_ok=True)
        if out is not None:
            with open(name, "wb") as f:
                f.write(out)
        elif os.path.exists(name):
            os.unlink(name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("-t", type=int, default=20)
    parser.add_argument("-o")
    parser.add_argument("-w", default=None, help="folder for what failed tests print (WORK/out)")
    parser.add_argument("suite")
    parser.add_argument("groups", nargs="*")
    args = parser.parse_args()
    for tool in ("gawk", "tclsh"):
        if not shutil.which(tool):
            sys.exit("the suite needs %s, which is not there" % tool)
    work = args.w or tempfile.mkdtemp(prefix="dsuite")
    os.makedirs(work, exist_ok=True)
    dtrace = work + "/dtrace"
    if os.path.lexists(dtrace):
        os.unlink(dtrace)
    os.symlink(os.path.realpath(os.environ["STRATA"]), dtrace)
    suite = Suite(args.suite, work, dtrace, args.t)
    listed = subprocess.run([dtrace, "-l"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    with open(work + "/providers", "w") as f:
        f.write("\n".join(sorted({line.split()[1] for line in listed.stdout.splitlines() if len(line.split()) > 1})) + "\n")
    suite.triggers()
    left, judged = collections.Counter(), []
    for group, test in suite.tests(set(args.groups)):
        reason = suite.left_out(group, test)
        if reason:
            left[reason] += 1
        else:
            judged.append((group, test))
    groups = collections.defaultdict(lambda: [0, 0])
    with concurrent.futures.ThreadPoolExecutor(args.j) as pool, open(args.o or os.devnull, "w", buffering=1) as failed:
        for (group, test), why in zip(judged, pool.map(lambda x: suite.run(x[1]), judged)):
            groups[group][0] += why is None
            groups[group][1] += 1
            if why:
                print("%s\t%s" % (why, os.path.relpath(test, suite.folder + "/test/unittest")), file=failed)
    for group, (good, of) in sorted(groups.items()):
        print("%-14s %4d of %4d" % (group, good, of))
    for reason, count in sorted(left.items()):
        print("left out: %4d %s" % (count, reason))
    good, of = sum(x[0] for x in groups.values()), sum(x[1] for x in groups.values())
    print("passed %d of %d (%.1f %%)" % (good, of, 100 * good / max(of, 1)))
    if not args.w:
        shutil.rmtree(work, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
