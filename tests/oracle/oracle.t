#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""strata's stacks against the truth, on every CPython at hand (interpreters.py), and by check.py's criteria.

ORACLE_SECONDS (20 times TEST_SCALE, of CPU time) and ORACLE_HZ (199) say how long and how often. strata starts the newest
interpreter (in the long form every second), and attaches to the others while they run. Unless ORACLE_HZ is set, all are sampled
more often, for less time: 10 times as often those that it attaches to, 1.5 times the others. ORACLE_ONLY is a regular expression of labels; STRATA_LAB is a folder of roots of other systems to chroot into.
`--table` prints a markdown table at the end. Needs root."""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../e2e")]
sys.dont_write_bytecode = True
import e2e  # noqa: E402
import interpreters  # noqa: E402
import truths  # noqa: E402

STRATA = os.environ.get("STRATA", os.path.join(HERE, "..", "..", "build", "strata"))
SECONDS = float(os.environ.get("ORACLE_SECONDS", 20 * e2e.SCALE))
HZ = int(os.environ.get("ORACLE_HZ", "199"))
# One that is attached to is known before its first sample: as many samples in less time lack no more of its beginning. In 2 s of
# CPU time the program goes seven times through what it does, or more often.
# Of one that is started the first 10 ms are late: three samples at 298 Hz, and four may be for 99.9 % of 4,000.
ATTACHED_FASTER, STARTED_FASTER = (1, 1) if "ORACLE_HZ" in os.environ else (10, 1.5)
LOSSES = os.path.join(HERE, "..", "..", "src", "abi", "loss.def")
CRITERIA = (
    ("impossible", "impossible stacks: 0"),
    ("wrong_line", "wrong lines: 0"),
    ("leftover", "interpreter loops without their Python frames: 0"),
    ("entering", "samples between entering the loop and linking the frame: at most 0.5 %, and 2 % in page faults"),
    ("native", "native frames between Python frames are what they must be"),
    ("roots", "stacks reach the thread's outermost frame"),
    ("stats", "complete at least 99.9 %, a known reason for each of the rest, sums agree"),
    ("malformed", "every line can be parsed"),
)


class Failure(Exception):
    pass


class Run(object):
    """One interpreter: the truth, then the same program under strata."""

    def __init__(self, interpreter, attach, folder):
        self.interpreter = interpreter
        self.attach = attach
        self.folder = folder
        self.lab = None
        self.environment = None
        self.result = None
        self.failure = None

    def go(self):
        try:
            self.sample()
        except Failure as failure:
            self.failure = str(failure)
        except (OSError, truths.Failure, ValueError, KeyError, subprocess.SubprocessError) as error:
            self.failure = "%s: %s" % (type(error).__name__, error)
        finally:
            if self.lab:
                shutil.rmtree(self.lab, ignore_errors=True)
        return self

    def sample(self):
        label = self.interpreter.label
        program, inside, outside = truths.lay_out(self.interpreter, self.folder)
        self.lab = outside if outside != self.folder else None
        # The program's generated modules lie in TMPDIR: the same for both runs, and removed with our folder.
        self.environment = dict(os.environ, PYTHONHASHSEED="0", TMPDIR=inside)
        found = truths.files_inside(self.interpreter, program, inside, outside)
        folded, stats = "%s/%s.folded" % (self.folder, label), "%s/%s.json" % (self.folder, label)
        faster = ATTACHED_FASTER if self.attach else STARTED_FASTER
        seconds = SECONDS / faster
        record = ["-F", str(int(HZ * faster)), "-t", "-o", folded, "--stats", stats]
        if self.attach:
            ready = "%s.ready" % label
            target = subprocess.Popen(program + ["--seconds", "1e9", "--ready", inside + "/" + ready],
                                      env=self.environment, stdout=subprocess.DEVNULL)
            try:
                self.wait_for(outside + "/" + ready, target)
                done = e2e.record_used(target.pid, seconds, "--children", *record)
                if done.returncode != 0:
                    raise Failure("strata record -p: status %d: %s" % (done.returncode, done.stderr[-300:]))
            finally:
                target.kill()
                target.wait()
        else:
            self.call([STRATA, "record"] + record + ["--"] + program + ["--seconds", str(seconds)], "strata record --")
        check = [sys.executable, os.path.join(HERE, "check.py"), "--json", "--stats", stats, "--losses", LOSSES]
        for truth in found:
            check += ["--truth", truth]
        judged = subprocess.run(check + [folded], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=e2e.PATIENCE_S)
        if judged.returncode not in (0, 1) or not judged.stdout:
            raise Failure("check.py: " + judged.stderr.decode()[-300:])
        self.result = json.loads(judged.stdout.decode())

    def call(self, command, what, **more):
        done = subprocess.run(command, env=dict(self.environment, **more), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              timeout=e2e.PATIENCE_S)
        if done.returncode != 0:
            raise Failure("%s: status %d: %s" % (what, done.returncode, done.stderr.decode(errors="replace")[-300:]))

    @staticmethod
    def wait_for(path, target):
        if not e2e.until(lambda: os.path.exists(path) or target.poll() is not None) or target.poll() is not None:
            raise Failure("the program did not begin")


class Tap(object):
    def __init__(self):
        self.number = 0
        self.failed = 0

    def ok(self, passed, words, notes=()):
        self.number += 1
        self.failed += not passed
        print("%sok %d - %s" % ("" if passed else "not ", self.number, words))
        for note in notes:
            print("# " + note.replace("\n", "\n# "))
        sys.stdout.flush()


def complete_share(result):
    counts = result["counts"]
    return 100.0 * counts.get("stats_complete", 0) / max(counts.get("stats_samples", 0), 1)


def report(tap, run):
    how = "attached" if run.attach else "started"
    label = "%s (%s)" % (run.interpreter.label, how)
    tap.ok(run.result is not None, "%s: recorded" % label, [run.failure] if run.failure else [])
    if run.result is None:
        return
    counts, faults = run.result["counts"], run.result["faults"]
    print("# %s: %d samples, %d judged, %d unclaimed, %d marked, %d entering, complete %.3f %%" %
          (label, counts.get("samples", 0), counts.get("judged", 0), counts.get("unclaimed", 0),
           counts.get("marked", 0), counts.get("entering", 0), complete_share(run.result)))
    if run.result["notes"]:
        print("# rules without symbols here: " + ", ".join(sorted(set(run.result["notes"]))))
    for kind, words in CRITERIA:
        tap.ok(faults[kind] == 0, "%s: %s" % (label, words),
               ["%d samples" % faults[kind]] * (faults[kind] > 0) + run.result["examples"].get(kind, []))


def table(runs):
    print("\n| interpreter | mode | samples | impossible | wrong lines | without Python frames | entering | native order "
          "| complete |\n|---|---|---|---|---|---|---|---|---|")
    for run in runs:
        mode = "attached" if run.attach else "started"
        if run.result is None:
            print("| %s | %s | failed | | | | | | |" % (run.interpreter.label, mode))
            continue
        counts, faults = run.result["counts"], run.result["faults"]
        print("| %s | %s | %d | %d | %d | %d | %.2f %% | %d | %.3f %% |" % (
            run.interpreter.label, mode, counts.get("judged", 0), faults["impossible"], faults["wrong_line"],
            faults["leftover"], 100.0 * counts.get("entering", 0) / max(counts.get("judged", 0), 1),
            faults["native"], complete_share(run.result)))


def main():
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root")
        return 0
    if not os.access(STRATA, os.X_OK):
        print("1..0 # SKIP no program at %s: set STRATA" % STRATA)
        return 1
    found = [i for i in interpreters.discover() if re.search(os.environ.get("ORACLE_ONLY", ""), i.label)]
    for minor in range(6, 15):
        if not any(i.version[1] == minor for i in found):
            print("# no CPython 3.%d at hand: not tested" % minor)
    tap = Tap()
    runs = []
    with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
        if os.environ.get("ORACLE_KEEP"):
            folder = os.environ["ORACLE_KEEP"]
            os.makedirs(folder, exist_ok=True)
        started = found[::-2] if e2e.LONG else found[-1:]
        # These first: they take longest.
        todo = [Run(interpreter, interpreter not in started, folder)
                for interpreter in started + [i for i in found if i not in started]]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for run in pool.map(Run.go, todo):
                runs.append(run)
                report(tap, run)
    tap.ok(bool(runs), "at least one interpreter was at hand")
    print("1..%d" % tap.number)
    if "--table" in sys.argv:
        table(runs)
    return 1 if tap.failed else 0


sys.exit(main())
