#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""record --source: what a report has of source files, and that it has none that the process's user could not read."""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import e2e  # noqa: E402

OTHER = 65534
SECRET = "a secret of root's"
# Runs a function of each of these names for a while, then says so and waits.
PROGRAM = r"""
import sys, time
def busy(path):
    names = {}
    exec(compile("\ndef f(end):\n    n = 0\n    while clock() < end:\n        n += 1\n", path, "exec"), {"clock": time.process_time}, names)
    names["f"](time.process_time() + 0.2)
for path in sys.argv[1:]:
    busy(path)
print("ready"); sys.stdout.flush()
"""
WAITS = PROGRAM + "sys.stdin.readline()\n"
# Becomes root, who runs something harmless.
GRANTED = r"""
#define _GNU_SOURCE
#include <unistd.h>
int main(int argc, char **argv)
{
	(void)argc;
	return setresgid(0, 0, 0) || setresuid(0, 0, 0) || execv("/usr/bin/python3", argv);
}
"""


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def as_other():
    os.setgroups([])
    os.setresgid(OTHER, OTHER, OTHER)
    os.setresuid(OTHER, OTHER, OTHER)


def sources(path):
    """The page's source files by path, and its whole text."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL).group(1))
    return {one["path"]: one for one in data["sources"]}, page


def hostile(tap, where):
    open_, secret = write(where + "/open.py", "# for everybody\n" * 9), write(where + "/secret.py", SECRET + "\n" * 9, 0o600)
    os.mkdir(where + "/private", 0o700)
    hidden = write(where + "/private/hidden.py", SECRET + "\n" * 9)
    huge = write(where + "/huge.py", "# %s\n" % SECRET * 100000)
    os.symlink(secret, where + "/link.py")
    os.mkfifo(where + "/fifo.py", 0o666)
    with open(where + "/binary.py", "wb") as file:
        file.write(b"\xff\xfe\0" + SECRET.encode())
    names = [open_, secret, hidden, huge, where + "/link.py", where + "/fifo.py", where + "/binary.py", "/dev/zero", "/proc/1/environ",
             "../" * 20 + secret, "<string>", where + "/none.py"]
    program = write(where + "/program.py", "import sys\nsys.stdin.readline()\n" + WAITS)
    target = subprocess.Popen([e2e.PYTHON, program] + names, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=as_other)
    try:
        def go(_):
            target.stdin.write(b"\n")
            target.stdin.flush()
            target.stdout.readline()
        done = e2e.record_while(go, "--source", "-F", 499, "-o", where + "/x.html", "-o", where + "/x.folded", "-p", target.pid)
    finally:
        target.kill()
        target.wait()
    found, page = sources(where + "/x.html")
    sampled = {frame for frames, _ in e2e.folded(where + "/x.folded") for frame in frames}
    tap.equal(done.returncode, 0, "recorded")
    tap.ok(all(any("(%s:" % name in frame for frame in sampled) for name in names), "all files were named", sorted(sampled))
    tap.equal(sorted(found), sorted([open_, program]), "only what the user may read, and is text, is in the report")
    tap.ok(SECRET not in page and "PATH=" not in page, "and nothing else")
    tap.equal([found[open_]["text"], found[open_]["pids"], found[open_]["changed"]], ["# for everybody\n" * 9, [target.pid], False],
              "as it is")
    for words in ("over 1 MiB", "not there, or not readable", "no text in UTF-8"):
        tap.ok(words in done.stderr, "the summary says: " + words, done.stderr)


def other_rights(tap, where):
    """The pid of the one who named root's file is root's when it is read."""
    secret = where + "/secret.py"
    write(where + "/granted.c", GRANTED)
    subprocess.check_call(["cc", "-o", where + "/granted", where + "/granted.c"])
    os.chmod(where + "/granted", 0o4755)
    rest = write(where + "/rest.py", PROGRAM + "sys.stdin.readline()\n")
    program = write(where + "/evil.py", "import sys\nsys.stdin.readline()\n" + PROGRAM +
                    "import os\nos.execv(%r, ['python3', %r, %r])\n" % (where + "/granted", rest, where + "/open.py"))
    target = subprocess.Popen([e2e.PYTHON, program, secret], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=as_other)
    try:
        def go(_):
            target.stdin.write(b"\n")
            target.stdin.flush()
            target.stdout.readline()
            target.stdout.readline()
        done = e2e.record_while(go, "--source", "-F", 499, "-o", where + "/y.html", "-o", where + "/y.folded", "-p", target.pid)
        with open("/proc/%d/status" % target.pid) as file:
            tap.ok("Uid:\t0\t0\t0\t0" in file.read(), "the process has become root's")
    finally:
        target.kill()
        target.wait()
    stacks = e2e.folded(where + "/y.folded")
    tap.ok(all(e2e.share(stacks, lambda frames: any(name in frame for frame in frames)) for name in ("secret.py", "rest.py")),
           "it was sampled before and after")
    found, page = sources(where + "/y.html")
    tap.ok(SECRET not in page and not found, "root's file is not read for it", sorted(found))
    tap.ok("it is not certain with whose rights to read" in done.stderr, "which is told", done.stderr)


def ended(tap, where):
    program = write(where + "/short.py", PROGRAM.replace("0.2", "1"))
    done = e2e.record("--source", "-F", 199, "-o", where + "/z.html", "--", e2e.PYTHON, program, where + "/open.py")
    found, _ = sources(where + "/z.html")
    tap.ok(done.returncode == 0 and {program, where + "/open.py"} <= set(found), "a command that has ended", sorted(found), done.stderr)
    native = write(where + "/native.c", "#include <time.h>\nvolatile int n;\nint main(void)\n{\n\twhile (clock() < CLOCKS_PER_SEC / 2)\n\t\tn++;\n}\n")
    subprocess.check_call(["cc", "-g", "-o", where + "/native", native])
    done = e2e.record("--source", "--lines", "-o", where + "/n.html", "--", where + "/native")
    found, page = sources(where + "/n.html")
    tap.ok(native in found and "volatile int n" in found[native]["text"], "a native program's, with --lines", sorted(found), done.stderr)
    done = e2e.record("-o", where + "/w.html", "--", e2e.PYTHON, program, where + "/open.py")
    tap.equal(sources(where + "/w.html")[0], {}, "none without --source")


CAPABILITIES = "+bpf,+perfmon,+sys_ptrace,+syslog"


def unprivileged(tap, where):
    """strata is run by another user than root, with the capabilities that sampling takes: it reads what that user may read, of this
    user's processes only."""
    mine, theirs = where + "/unprivileged", write(where + "/theirs.py", "import sys\nsys.stdin.readline()\n" + WAITS.replace("0.2", "1"))
    os.mkdir(mine)
    os.chown(mine, OTHER, OTHER)
    strata = shutil.copy(e2e.STRATA, where + "/strata")
    os.chmod(strata, 0o755)
    secret = write(where + "/secret2.py", SECRET + "\n" * 9, 0o600)
    open_ = write(where + "/open2.py", "# for everybody\n" * 9)
    user = ["setpriv", "--reuid=%d" % OTHER, "--regid=%d" % OTHER, "--clear-groups", "--inh-caps=" + CAPABILITIES,
            "--ambient-caps=" + CAPABILITIES]
    command = user + [strata, "record", "--source", "-F", "499", "-o", mine + "/u.html", "-o", mine + "/u.folded"]
    program = write(where + "/mine.py", PROGRAM)

    def run(arguments, **options):
        return subprocess.run(command + arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=e2e.PATIENCE_S, cwd=mine, env=dict(os.environ, XDG_CACHE_HOME=mine), **options)
    done = run(["--", e2e.PYTHON, program, open_, secret])
    if done.returncode and "not permitted" in done.stderr:
        tap.skip("as another user than root", done.stderr.strip())
        return
    sampled = {frame for frames, _ in e2e.folded(mine + "/u.folded") for frame in frames}
    found, page = sources(mine + "/u.html")
    tap.ok(all(any("(%s:" % name in frame for frame in sampled) for name in (open_, secret)), "not root: both files were named", sampled)
    tap.ok(open_ in found and secret not in found and SECRET not in page, "not root: what the user may read", sorted(found))
    tap.ok("not there, or not readable" in done.stderr, "not root: the other one is told", done.stderr)
    target = subprocess.Popen([e2e.PYTHON, theirs, open_], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        target.stdin.write(b"\n")
        target.stdin.flush()
        done = run(["-d", "2", "-p", str(target.pid)])
    finally:
        target.kill()
        target.wait()
    found, page = sources(mine + "/u.html")
    tap.ok(not found and "not certain with whose rights" in done.stderr, "not root: nothing is read for root's processes", sorted(found), done.stderr)


def wrong(tap, where):
    done = e2e.record("--source", "-o", where + "/x.folded", "--", "true")
    tap.equal([done.returncode, done.stderr.strip().splitlines()[0]], [2, "strata: --source: goes with an output NAME.html"], "no page, no source")
    done = e2e.record("--source", "--function", "-o", where + "/x.html", "--", "true")
    tap.equal(done.returncode, 2, "not with --function")


def main():
    tap = e2e.Tap()
    with e2e.folder() as where:
        os.chmod(where, 0o755)
        wrong(tap, where)
        hostile(tap, where)
        other_rights(tap, where)
        ended(tap, where)
        unprivileged(tap, where)
    tap.done()


main()
